/* amounts.c - amounts of a device (sched-device 2). */
#include "scheduler/plugins/deviceshare/amounts.h"

#include "api/protocol/device.h"
#include "api/protocol/keys.h"

static const char *const kind_names[DEVICE_KINDS] = {
    [DEVICE_GPU] = DEVICE_TYPE_GPU,
    [DEVICE_RDMA] = DEVICE_TYPE_RDMA,
    [DEVICE_FPGA] = DEVICE_TYPE_FPGA,
};
static const char *const resource_names[DEVICE_KINDS][DEVICE_RESOURCES] = {
    [DEVICE_GPU] = { RES_GPU_CORE, RES_GPU_MEMORY, RES_GPU_MEMORY_RATIO, RES_NPU_CORE, RES_NPU_CPU,
                     RES_NPU_DVPP },
    [DEVICE_RDMA] = { RES_RDMA },
    [DEVICE_FPGA] = { RES_FPGA },
};

int device_kind_of(const char *type)
{
    for (int k = 0; k < DEVICE_KINDS; k++)
        if (streq(kind_names[k], str_or(type, "")))
            return k;
    return -1;
}

const char *device_kind_name(enum device_kind kind)
{
    return kind_names[kind];
}

const char *device_resource_name(enum device_kind kind, uint32_t resource)
{
    return resource < DEVICE_RESOURCES ? resource_names[kind][resource] : NULL;
}

struct amounts amounts_of(enum device_kind kind, const reslist *l, const char **bad)
{
    struct amounts x = { 0 };

    for (uint32_t i = 0; i < DEVICE_RESOURCES && resource_names[kind][i]; i++) {
        const struct qty *q = reslist_find(l, resource_names[kind][i]);
        if (!q)
            continue;
        int64_t value = qty_value(*q);
        if (bad && (value < 0 || value > AMOUNT_MAX))
            *bad = resource_names[kind][i];
        amounts_set(&x, i, MIN(MAX(value, 0), AMOUNT_MAX));
    }
    return x;
}

static struct qty qty_of(uint32_t resource, enum device_kind kind, int64_t value)
{
    return qty_from_i64(value, kind == DEVICE_GPU && resource == GPU_MEMORY ? QTY_BINARY_SI
                                                                            : QTY_DECIMAL_SI);
}

reslist amounts_list(enum device_kind kind, const struct amounts *x, struct arena *a)
{
    reslist l = { 0 };

    for (uint32_t i = 0; i < DEVICE_RESOURCES && resource_names[kind][i]; i++)
        if (amounts_has(x, i))
            l = reslist_with(&l, resource_names[kind][i], qty_of(i, kind, x->v[i]), a);
    return l;
}

void amounts_complete(struct amounts *x, const struct amounts *total)
{
    bool memory = amounts_has(x, GPU_MEMORY), ratio = amounts_has(x, GPU_RATIO);
    int64_t all = total->v[GPU_MEMORY];

    if (memory == ratio || all <= 0)
        return;
    if (ratio)
        amounts_set(x, GPU_MEMORY, i64_muldiv(x->v[GPU_RATIO], all, 100));
    else
        amounts_set(x, GPU_RATIO, i64_from_f64((double)x->v[GPU_MEMORY] / (double)all * 100));
}
