/* run_device.c - device requests, and which devices of a node a pod gets. */
#include "api/pod.h"
#include "api/protocol/device.h"
#include "api/protocol/keys.h"
#include "base/intern.h"
#include "runners.h"
#include "scheduler/plugins/deviceshare/allocate.h"

/* The list as whole numbers, under the key unless it is empty. */
static void write_counts(struct kjw *w, const char *key, const reslist *l)
{
    if (l->n == 0)
        return;
    kjw_obj(w, key);
    for (uint32_t i = 0; i < l->n; i++)
        kjw_i64(w, l->items[i].name, resource_count(l->items[i].name, l->items[i].value));
    kjw_end(w);
}

static int run_normalize(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw w = kjw_to(got);
    struct device_requests d;
    reslist requests;

    kj_write(kj_get(in, "requests"), 0, &text);
    if (reslist_decode_text(strbuf_str(&text), a, &requests, err) < 0)
        return err->code;
    kjw_obj(&w, NULL);
    if (device_requests_parse(&requests, a, &d, err) < 0) {
        kjw_str(&w, "error", err->text);
        kjw_end(&w);
        return 0;
    }
    kjw_obj(&w, "requests");
    write_counts(&w, "gpu", &d.gpu);
    write_counts(&w, "rdma", &d.rdma);
    write_counts(&w, "fpga", &d.fpga);
    kjw_end(&w);
    if (d.gpu.n > 0) {
        kjw_obj(&w, "gpu");
        kjw_i64(&w, "count", d.gpu_count);
        write_counts(&w, "perInstance", &d.gpu_per_instance);
        kjw_bool(&w, "shared", d.gpu_shared);
        kjw_end(&w);
    }
    kjw_end(&w);
    return 0;
}

/* The text of a refusal is exact: users see it. */
static bool same_normalize(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *error = kj_get(out, "error");

    return error ? kj_equal(error, kj_get(got, "error")) : golden_same(out, got);
}

/* ---- allocate -------------------------------------------------------------------------------- */

static struct kobj *object_of(const struct kind *k, const struct kj_val *v,
                              struct kj_scratch *scratch, struct kerr *err)
{
    struct kobj *o = NULL;

    (void)kobj_decode(k, v, scratch, &o, err);
    return o;
}

static int add_existing(const struct kj_val *pods, struct devrow *row, struct arena *a,
                        struct kj_scratch *scratch, struct kerr *err)
{
    for (size_t i = 0; i < kj_len(pods); i++) {
        CLEANUP(kobj_unref) struct kobj *o = object_of(&kind_pod, kj_at(pods, i), scratch, err);
        struct device_allocations d;
        const struct held *items;
        if (!o)
            return err->code;
        int r = device_allocations_read(&o->meta.annotations, a, &d, err);
        if (r < 0)
            return r;
        uint32_t n = held_of(&d, a, &items);
        devrow_add(row, items, n);
    }
    return 0;
}

/* The default weights, one for each. */
static struct device_scorer scorer_of(const char *strategy)
{
    struct device_scorer s = { .most = streq(strategy, "MostAllocated") };

    s.weight[DEVICE_GPU][GPU_MEMORY] = s.weight[DEVICE_GPU][GPU_RATIO] = 1;
    s.weight[DEVICE_RDMA][0] = s.weight[DEVICE_FPGA][0] = 1;
    return s;
}

static void write_refusal(struct kjw *w, const char *stage, const struct ks_texts *why)
{
    kjw_bool(w, "feasible", false);
    kjw_str(w, "stage", stage);
    kjw_str(w, "message", ks_texts_join(why));
}

static uint64_t numa_of(const struct kj_val *ids)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < kj_len(ids); i++)
        mask |= UINT64_C(1) << (kj_i64_or(kj_at(ids, i), 0) & 63);
    return mask;
}

static void allocate_on(const struct kj_val *in, const struct devrow *row, struct kobj *pod,
                        const struct kobj *device, struct arena *a, struct kjw *w)
{
    struct ks_texts why = { .arena = a };
    struct device_result got = { 0 };
    struct device_scorer scorer = scorer_of(kj_str_or(kj_get(in, "scoringStrategy"), ""));
    struct wish *wish = NULL;

    enum ks_code code = wish_read(pod_of(pod), NULL, a, &wish, &why);
    if (code == KS_SKIP) {
        kjw_bool(w, "feasible", true);
        kjw_bool(w, "skip", true);
        return;
    }
    if (code != KS_SUCCESS) {
        write_refusal(w, "prefilter", &why);
        return;
    }
    const struct device_try t = {
        .row = row,
        .wish = wish,
        .scorer = &scorer,
        .arena = a,
        .reserving = true,
        .numa = numa_of(kj_get(in, "numaNodes")),
    };
    if (devices_allocate(&t, &got, &why) != KS_SUCCESS) {
        write_refusal(w, "filter", &why);
        return;
    }
    const char *text = held_format(got.items, got.n, device_of(device), a);
    kjw_bool(w, "feasible", true);
    kjw_raw(w, "allocations", text, strlen(text));
}

static int run_allocate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kobj_unref)
    struct kobj *device = object_of(&kind_device, kj_get(in, "device"), scratch, err);
    CLEANUP(kobj_unref) struct kobj *pod = object_of(&kind_pod, kj_get(in, "pod"), scratch, err);
    struct kjw w = kjw_to(got);
    struct devrow row;
    const char *bad;

    if (!device || !pod)
        return err->code;
    devrow_make(&row, inventory_new(device_of(device), NULL, false, a, &bad));
    int r = add_existing(kj_get(in, "existingPods"), &row, a, scratch, err);
    kjw_obj(&w, NULL);
    if (r == 0)
        allocate_on(in, &row, pod, device, a, &w);
    kjw_end(&w);
    devrow_fini(&row);
    return r;
}

/* What follows "err: " is the words of a JSON library; the rest of a refusal is exact. */
static bool same_allocate(const struct kj_val *out, const struct kj_val *got)
{
    const char *want = kj_str_or(kj_get(out, "message"), "");
    const char *is = kj_str_or(kj_get(got, "message"), ""), *err = strstr(want, ", err: ");

    if (!err)
        return golden_same(out, got);
    return strncmp(want, is, (size_t)(err - want) + 7) == 0 &&
           kj_equal(kj_get(out, "stage"), kj_get(got, "stage")) &&
           kj_equal(kj_get(out, "feasible"), kj_get(got, "feasible"));
}

const struct golden_runner golden_device[] = {
    { "allocate", run_allocate, same_allocate },
    { "normalize", run_normalize, same_normalize },
    { NULL, NULL, NULL },
};
