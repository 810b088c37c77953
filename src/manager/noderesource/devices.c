/* devices.c - plugins GPUDeviceResource and RDMADeviceResource: totals of a Device object appear as
 * resources and labels of its node (manager 5.6, 5.7). */
#include "manager/noderesource/plugin.h"

enum { PERCENT_OF_A_CARD = 100 };
static const enum nr_resource gpu_resources[] = {
    NR_RES_GPU,        NR_RES_GPU_CORE, NR_RES_GPU_MEMORY, NR_RES_GPU_MEMORY_RATIO,
    NR_RES_GPU_SHARED, NR_RES_NPU_CORE, NR_RES_NPU_CPU,    NR_RES_NPU_DVPP,
};

static uint32_t count_healthy(const struct device *d, const char *type)
{
    uint32_t n = 0;

    for (uint32_t i = 0; d && i < d->devices.n; i++)
        n += d->devices.items[i].health && streq(d->devices.items[i].type, type);
    return n;
}

/* ---- GPU ------------------------------------------------------------------------------------- */

static void sum_gpus(const struct device *d, struct nr_result *r)
{
    for (uint32_t i = 0; i < d->devices.n; i++) {
        const struct device_info *info = &d->devices.items[i];
        if (!info->health || !streq(info->type, "gpu"))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(gpu_resources); k++) {
            enum nr_resource name = gpu_resources[k];
            const struct qty *q = reslist_find(&info->resources, nr_resource_names[name]);
            if (q)
                nr_set(r, name, qty_add(r->items[name].value, *q));
        }
    }
}

static int gpu_calculate(const struct nr_input *in, struct arena *a, struct nr_result *r,
                         struct kerr *err)
{
    uint32_t n = count_healthy(in->device, "gpu");

    (void)a, (void)err;
    if (n == 0) {
        for (size_t k = 0; k < ARRAY_LEN(gpu_resources); k++)
            nr_reset(r, gpu_resources[k]);
        r->outcome[NR_GPU].reset = "reset node gpu resources";
        r->outcome[NR_GPU].reset_why =
            in->device ? "the Device has no healthy GPU" : "the node has no Device";
        return 0;
    }
    const kstrmap *labels = &in->device->obj.meta.labels;
    const char *vendor = str_or(kstrmap_get(labels, LABEL_GPU_VENDOR), "");
    sum_gpus(in->device, r);
    if ((*vendor == '\0' || streq(vendor, "nvidia")) && r->items[NR_RES_GPU_CORE].state == NR_VALUE)
        nr_set(r, NR_RES_GPU, r->items[NR_RES_GPU_CORE].value);
    if (in->sync_gpu_shared)
        nr_set(r, NR_RES_GPU_SHARED, qty_from_i64((int64_t)n * PERCENT_OF_A_CARD, QTY_DECIMAL_SI));
    for (size_t k = 0; k < NR_LABELS; k++)
        r->labels[k] = kstrmap_get(labels, nr_label_keys[k]);
    return 0;
}

/* Names without a value are left alone: they belong to somebody else, or colocation is off. */
static void want_devices(const struct nr_result *r, const enum nr_resource *names, size_t n,
                         struct nr_plan *p)
{
    for (size_t i = 0; i < n; i++)
        if (r->items[names[i]].state != NR_UNSET)
            nr_want_item(r, names[i], p);
}

static int gpu_prepare(const struct nr_input *in, const struct nr_result *r, struct arena *a,
                       struct nr_plan *p, struct kerr *err)
{
    (void)in, (void)a, (void)err;
    want_devices(r, gpu_resources, ARRAY_LEN(gpu_resources), p);
    for (size_t k = 0; k < NR_LABELS; k++)
        p->labels[k] = r->labels[k];
    return 0;
}

static bool gpu_labels_differ(const struct nr_input *in, const struct nr_plan *p)
{
    for (size_t k = 0; k < NR_LABELS; k++) {
        const char *have = kstrmap_get(&in->node->obj.meta.labels, nr_label_keys[k]);
        if (p->labels[k] && (!have || !streq(have, p->labels[k])))
            return true;
    }
    return false;
}

const struct nr_plugin nr_plugin_gpu = {
    .name = "GPUDeviceResource",
    .calculate = gpu_calculate,
    .prepare = gpu_prepare,
    .watched = 1u << NR_RES_GPU | 1u << NR_RES_GPU_CORE | 1u << NR_RES_GPU_MEMORY |
               1u << NR_RES_GPU_MEMORY_RATIO | 1u << NR_RES_GPU_SHARED | 1u << NR_RES_NPU_CORE |
               1u << NR_RES_NPU_CPU | 1u << NR_RES_NPU_DVPP,
    .meta_differs = gpu_labels_differ,
};

/* ---- RDMA ------------------------------------------------------------------------------------ */

static int rdma_calculate(const struct nr_input *in, struct arena *a, struct nr_result *r,
                          struct kerr *err)
{
    uint32_t n = count_healthy(in->device, "rdma");

    (void)a, (void)err;
    if (n > 0) {
        nr_set(r, NR_RES_RDMA, qty_from_i64((int64_t)n * PERCENT_OF_A_CARD, QTY_DECIMAL_SI));
        return 0;
    }
    nr_reset(r, NR_RES_RDMA);
    r->outcome[NR_RDMA].reset = "reset node rdma resources";
    r->outcome[NR_RDMA].reset_why =
        in->device ? "the Device has no healthy RDMA device" : "the node has no Device";
    return 0;
}

static int rdma_prepare(const struct nr_input *in, const struct nr_result *r, struct arena *a,
                        struct nr_plan *p, struct kerr *err)
{
    static const enum nr_resource rdma[] = { NR_RES_RDMA };

    (void)in, (void)a, (void)err;
    want_devices(r, rdma, ARRAY_LEN(rdma), p);
    return 0;
}

const struct nr_plugin nr_plugin_rdma = {
    .name = "RDMADeviceResource",
    .calculate = rdma_calculate,
    .prepare = rdma_prepare,
    .watched = 1u << NR_RES_RDMA,
};
