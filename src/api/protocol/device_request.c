/* device_request.c - legal device requests, and what they come down to (api 4.2,
 * sched-device 2). */
#include "api/protocol/device.h"

#include "base/num.h"

/* GPU resources, each a bit, in the order of their names. */
enum {
    NPU_CORE = 1 << 0,
    NPU_CPU = 1 << 1,
    NPU_DVPP = 1 << 2,
    AMD = 1 << 3,
    DCU = 1 << 4,
    GPU = 1 << 5,
    CORE = 1 << 6,
    MEMORY = 1 << 7,
    RATIO = 1 << 8,
    SHARED = 1 << 9,
    NVIDIA = 1 << 10
};
static const struct {
    const char *name;
    unsigned bit;
} gpu_names[] = {
    { RES_AMD_GPU, AMD },       { RES_DCU_GPU, DCU },       { RES_NPU_CORE, NPU_CORE },
    { RES_NPU_CPU, NPU_CPU },   { RES_NPU_DVPP, NPU_DVPP }, { RES_GPU, GPU },
    { RES_GPU_CORE, CORE },     { RES_GPU_MEMORY, MEMORY }, { RES_GPU_MEMORY_RATIO, RATIO },
    { RES_GPU_SHARED, SHARED }, { RES_NVIDIA_GPU, NVIDIA },
};
static const unsigned legal_sets[] = {
    NVIDIA,
    AMD,
    DCU,
    GPU,
    MEMORY,
    RATIO,
    CORE | MEMORY,
    CORE | RATIO,
    NPU_CORE | RATIO,
    SHARED | MEMORY,
    SHARED | RATIO,
    SHARED | CORE | MEMORY,
    SHARED | CORE | RATIO,
    SHARED | NPU_CORE | NPU_CPU | MEMORY,
    SHARED | NPU_CORE | NPU_CPU | NPU_DVPP | MEMORY,
};

bool device_percentage_valid(int64_t value)
{
    return value <= 100 || value % 100 == 0;
}

static int64_t value_of(const reslist *l, const char *name)
{
    return qty_value(reslist_get(l, name));
}

static int check_unit(const reslist *requests, const char *name, struct kerr *err)
{
    struct qty q = reslist_get(requests, name);
    char text[QTY_TEXT_MAX];

    if (device_percentage_valid(qty_value(q)))
        return 0;
    qty_print(q, text);
    return kerr_set(err, -EINVAL, "invalid resource unit %s: %s", name, text);
}

static int bad_set(const reslist *gpu, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (uint32_t i = 0; i < gpu->n; i++)
        strbuf_appendf(&b, "%s%s", i ? " " : "", gpu->items[i].name);
    return kerr_set(err, -EINVAL, "invalid resource device requests: [%s]", strbuf_str(&b));
}

/* Spread over s cards: whole parts, of at most one card each. */
static bool shares_evenly(int64_t value, int64_t s)
{
    return s > 0 && value % s == 0 && value / s <= 100;
}

/* The set is legal; are the amounts? */
static bool gpu_amounts_valid(const reslist *gpu, unsigned set)
{
    int64_t core = value_of(gpu, RES_GPU_CORE), ratio = value_of(gpu, RES_GPU_MEMORY_RATIO);
    int64_t shared = value_of(gpu, RES_GPU_SHARED);

    if (set & NPU_CPU)
        return shared <= 1 && value_of(gpu, RES_NPU_DVPP) <= 100;
    if (set & SHARED)
        return shares_evenly(core, shared) && shares_evenly(ratio, shared);
    return device_percentage_valid(core) && device_percentage_valid(ratio);
}

/* The GPU part of the requests, zeros left out; *ret_set tells which names. */
static reslist gpu_part(const reslist *requests, struct arena *a, unsigned *ret_set)
{
    reslist gpu = { 0 };

    *ret_set = 0;
    for (size_t i = 0; i < ARRAY_LEN(gpu_names); i++) {
        const struct qty *q = reslist_find(requests, gpu_names[i].name);

        if (!q || qty_is_zero(*q))
            continue;
        *ret_set |= gpu_names[i].bit;
        gpu = reslist_with(&gpu, gpu_names[i].name, *q, a);
    }
    return gpu;
}

static reslist core_and_ratio(int64_t percent, struct arena *a)
{
    struct qty q = qty_from_i64(percent, QTY_DECIMAL_SI);
    reslist l = { 0 };

    l = reslist_with(&l, RES_GPU_CORE, q, a);
    return reslist_with(&l, RES_GPU_MEMORY_RATIO, q, a);
}

/* Whole cards become percent; everything else is kept. */
static reslist normalize_gpu(const reslist *gpu, unsigned set, struct arena *a)
{
    if (set & (NVIDIA | AMD | DCU))
        return core_and_ratio(i64_mul_sat(qty_value(gpu->items[0].value), 100), a);
    if (set & GPU)
        return core_and_ratio(qty_value(gpu->items[0].value), a);
    return *gpu;
}

static void gpu_instances(struct device_requests *d, struct arena *a)
{
    int64_t shared = value_of(&d->gpu, RES_GPU_SHARED);
    int64_t ratio = value_of(&d->gpu, RES_GPU_MEMORY_RATIO);
    bool by_ratio = reslist_has(&d->gpu, RES_GPU_MEMORY_RATIO);
    reslist one = { 0 };

    d->gpu_count = shared > 0 ? shared : ratio > 100 && ratio % 100 == 0 ? ratio / 100 : 1;
    for (uint32_t i = 0; i < d->gpu.n; i++) {
        const char *name = d->gpu.items[i].name;

        if (streq(name, RES_GPU_SHARED) || (by_ratio && streq(name, RES_GPU_MEMORY)))
            continue;
        int64_t each = qty_value(d->gpu.items[i].value) / d->gpu_count;
        one = reslist_with(
            &one, name,
            qty_from_i64(each, streq(name, RES_GPU_MEMORY) ? QTY_BINARY_SI : QTY_DECIMAL_SI), a);
    }
    d->gpu_per_instance = one;
    d->gpu_shared = !by_ratio || ratio / d->gpu_count < 100;
}

static reslist only(const reslist *requests, const char *name, struct arena *a)
{
    const struct qty *q = reslist_find(requests, name);
    reslist l = { 0 };

    return q && !qty_is_zero(*q) ? reslist_with(&l, name, *q, a) : l;
}

int device_requests_parse(const reslist *requests, struct arena *a, struct device_requests *ret,
                          struct kerr *err)
{
    static const char *const percentages[] = { RES_GPU, RES_RDMA, RES_FPGA };
    struct device_requests d = { 0 };
    unsigned set;
    bool legal = false;

    for (size_t i = 0; i < ARRAY_LEN(percentages); i++)
        if (check_unit(requests, percentages[i], err) < 0)
            return -EINVAL;
    reslist gpu = gpu_part(requests, a, &set);
    for (size_t i = 0; i < ARRAY_LEN(legal_sets); i++)
        legal = legal || legal_sets[i] == set;
    if (set && !(legal && gpu_amounts_valid(&gpu, set)))
        return bad_set(&gpu, err);
    if (set) {
        d.gpu = normalize_gpu(&gpu, set, a);
        gpu_instances(&d, a);
    }
    d.rdma = only(requests, RES_RDMA, a);
    d.fpga = only(requests, RES_FPGA, a);
    *ret = d;
    return 0;
}

/* ---- the webhook ----------------------------------------------------------------------------- */

static bool asks_for_gpu(const reslist *l)
{
    return reslist_has(l, RES_GPU) || reslist_has(l, RES_GPU_CORE) ||
           reslist_has(l, RES_GPU_MEMORY) || reslist_has(l, RES_GPU_MEMORY_RATIO) ||
           reslist_has(l, RES_GPU_SHARED);
}

static void set_both(struct resources *r, const char *name, struct qty q, struct arena *a)
{
    r->requests = reslist_with(&r->requests, name, q, a);
    r->limits = reslist_with(&r->limits, name, q, a);
}

/* Cards for so many percent. */
static int64_t cards(int64_t percent)
{
    return percent > 100 && percent % 100 == 0 ? percent / 100 : 1;
}

bool device_resources_fill(struct resources *r, struct arena *a)
{
    const struct qty *gpu, *by;
    bool changed = false;

    if (!asks_for_gpu(&r->requests) && !asks_for_gpu(&r->limits))
        return false;
    if ((gpu = reslist_find(&r->requests, RES_GPU))) {
        struct qty q = *gpu;

        set_both(r, RES_GPU_CORE, q, a);
        set_both(r, RES_GPU_MEMORY_RATIO, q, a);
        r->requests = reslist_without(&r->requests, RES_GPU, a);
        r->limits = reslist_without(&r->limits, RES_GPU, a);
        changed = true;
    }
    if (!reslist_has(&r->requests, RES_GPU_SHARED)) {
        by = reslist_find(&r->requests, RES_GPU_MEMORY_RATIO);
        if (!by)
            by = reslist_find(&r->requests, RES_GPU_CORE);
        set_both(r, RES_GPU_SHARED, qty_from_i64(by ? cards(qty_value(*by)) : 1, QTY_DECIMAL_SI),
                 a);
        changed = true;
    }
    return changed;
}
