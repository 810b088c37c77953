/* sources.c - the table of device sources, and what they know together. */
#include "koordlet/device/sources.h"

#include "koordlet/collect/collect.h"
#include "koordlet/device/entries.h"

const struct device_source *const device_sources[] = { &device_source_gpu, &device_source_rdma,
                                                       &device_source_xpu, NULL };

uint32_t device_report_gpus(void *arg, struct arena *a, struct nodemetric_gpu **ret)
{
    const struct gpu_infos *g = collect_device_infos(arg, device_source_gpu.type);

    if (!g || g->n == 0)
        return 0;
    *ret = arena_newn0(a, g->n, struct nodemetric_gpu);
    for (uint32_t i = 0; i < g->n; i++)
        (*ret)[i] = (struct nodemetric_gpu){ g->items[i].uuid, g->items[i].minor,
                                             (double)g->items[i].memory_total };
    return g->n;
}

static bool is_set_up(const struct collect_env *e, const struct device_source *src)
{
    for (uint32_t i = 0; e->devices && e->devices[i]; i++)
        if (e->devices[i] == src)
            return e->device_selves[i] != NULL;
    return false;
}

/* *ret NULL: this node has no such source. */
static int infos_of(const struct collect_env *e, const struct device_source *src, const void **ret,
                    struct kerr *err)
{
    *ret = collect_device_infos(e, src->type);
    if (!*ret && is_set_up(e, src))
        return kerr_set(err, -EAGAIN, "the devices of type %s are not known yet", src->type);
    return 0;
}

/* What files describe stands in place of what the driver of NVIDIA's says. */
static int add_gpus(struct entries *out, const struct collect_env *e, struct kerr *err)
{
    const void *infos;

    int r = infos_of(e, &device_source_xpu, &infos, err);
    const struct xpu_infos *x = infos;
    if (r < 0)
        return r;
    if (x && x->problem)
        return kerr_set(err, -EINVAL, "%s", x->problem);
    if (x && x->devices.n > 0) {
        entries_of_xpus(out, x);
        return 0;
    }
    if (e->o->xpu_only_from_files)
        return 0;
    r = infos_of(e, &device_source_gpu, &infos, err);
    if (r == 0 && infos)
        entries_of_gpus(out, infos);
    return r;
}

int device_report_all(void *arg, struct arena *a, struct device_report_in *ret, struct kerr *err)
{
    const struct collect_env *e = arg;
    struct device_report_in in = { 0 };
    struct entries out = { a, &in, 0 };
    const void *rdma;

    int r = add_gpus(&out, e, err);
    if (r == 0)
        r = infos_of(e, &device_source_rdma, &rdma, err);
    if (r < 0)
        return r;
    if (rdma)
        entries_of_rdma(&out, rdma);
    *ret = in;
    return 0;
}
