/* bench_quota.c - quota trees alone: 10,000 quotas in three levels, four resources, 100,000 pods.
 *
 *     bench_quota        one line: words with numbers
 */
#include <stdio.h>
#include <time.h>

#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "quota/admit.h"
#include "quota/fairshare.h"
#include "json/kj.h"

enum { TOPS = 10, MIDDLES = 99, LEAVES = 10, PODS = 100000, ROUNDS = 20, SIBLINGS = 2000 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* one thread that never waits */
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct bench {
    struct quota_forest *forest;
    struct kj_scratch *scratch;
    struct arena *arena;
    struct vec_of(struct kobj *) pods;
    unsigned quotas;
};

static struct kobj *object(struct bench *b, const struct kind *k, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), b->scratch, &o, &err) < 0) {
        fprintf(stderr, "%s: %s\n", json, err.text);
        exit(1);
    }
    return o;
}

static void put(struct bench *b, const char *name, const char *parent, int max)
{
    CLEANUP(kobj_unref)
    struct kobj *o = object(
        b, &kind_elasticquota,
        arena_printf(
            b->arena,
            "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{\"%s\":\"%s\"}},"
            "\"spec\":{\"max\":{\"cpu\":\"%d\",\"memory\":\"%dGi\",\"nvidia.com/gpu\":\"%d\","
            "\"rdma\":\"%d\"},\"min\":{\"cpu\":\"%d\",\"memory\":\"%dGi\"}}}",
            name, LABEL_QUOTA_PARENT, parent, max, max, max, max, max / 10, max / 10));
    struct kerr err = { 0 };

    if (forest_put(b->forest, elasticquota_of(o), &err) < 0) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        exit(1);
    }
    b->quotas++;
}

static void make_tree(struct bench *b)
{
    for (int i = 0; i < TOPS; i++) {
        const char *top = arena_printf(b->arena, "t%d", i);
        put(b, top, QUOTA_ROOT_NAME, 100000);
        for (int k = 0; k < MIDDLES; k++) {
            const char *middle = arena_printf(b->arena, "m%d-%d", i, k);
            put(b, middle, top, 5000);
            for (int j = 0; j < LEAVES; j++)
                put(b, arena_printf(b->arena, "l%d-%d-%d", i, k, j), middle, 1000);
        }
    }
}

static void make_pods(struct bench *b)
{
    for (unsigned i = 0; i < PODS; i++) {
        unsigned leaf = i * 7919u % (TOPS * MIDDLES * LEAVES);
        struct kobj *o = object(
            b, &kind_pod,
            arena_printf(b->arena,
                         "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"n\",\"uid\":"
                         "\"00000000-0000-4000-8000-%012u\",\"labels\":{\"%s\":\"l%u-%u-%u\"}},"
                         "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
                         "\"cpu\":\"%u\",\"memory\":\"4Gi\",\"nvidia.com/gpu\":\"1\",\"rdma\":"
                         "\"1\"}}}]}}",
                         i, i + 1, LABEL_QUOTA_NAME, leaf / LEAVES / MIDDLES,
                         leaf / LEAVES % MIDDLES, leaf % LEAVES, 1 + i % 7));
        vec_push(&b->pods, o);
    }
}

static void add_total(struct bench *b, int64_t by)
{
    struct resqty items[] = {
        { "cpu", qty_from_i64(by, QTY_DECIMAL_SI) },
        { "memory", qty_from_i64(by << 30, QTY_BINARY_SI) },
        { "nvidia.com/gpu", qty_from_i64(by, QTY_DECIMAL_SI) },
        { "rdma", qty_from_i64(by, QTY_DECIMAL_SI) },
    };

    forest_add_total(b->forest, &(reslist){ .items = items, .n = 4 }, 1);
}

/* Pods are told of, get their node, and go: three events each. */
static double pod_events(struct bench *b)
{
    double began = now_us();

    vec_foreach(&b->pods, i)
        forest_put_pod(b->forest, pod_of(b->pods.items[i]), false);
    vec_foreach(&b->pods, i)
        forest_assign_pod(b->forest, b->pods.items[i]->meta.uid, true);
    return (now_us() - began) / (2.0 * PODS);
}

static void read_all(struct bench *b, struct quota **all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t keys;
        (void)quota_values(b->forest, all[i], QUOTA_RUNTIME, &keys);
    }
}

static double all_runtimes(struct bench *b)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n;
    struct quota **all = forest_list(b->forest, NULL, a, &n);
    double best = 1e12;

    for (int r = 0; r < ROUNDS; r++) {
        add_total(b, r % 2 ? 20000 : 10000); /* every level changes */
        double began = now_us();
        read_all(b, all, n);
        double took = now_us() - began;
        best = took < best ? took : best;
    }
    return best;
}

static double admissions(struct bench *b)
{
    struct admit_rules rules = { .runtime = true };
    double began = now_us();
    unsigned fits = 0;

    vec_foreach(&b->pods, i) {
        struct quota_pod p;
        struct admit_verdict v;
        forest_pod(b->forest, b->pods.items[i]->meta.uid, &p);
        struct admit_request r = { .keys = p.keys, .amount = p.amount, .preemptible = true };
        admit_own(b->forest, forest_charged(b->forest, b->pods.items[i]->meta.uid), &rules, &r, &v);
        fits += v.code == ADMIT_OK;
    }
    if (fits > PODS)
        exit(1);
    return (now_us() - began) / PODS;
}

static double siblings(void)
{
    struct share_member *m = xnewn0(SIBLINGS, struct share_member);
    struct share_scratch s = { 0 };
    double best = 1e12;

    for (int r = 0; r < ROUNDS; r++) {
        double began = now_us();
        for (int k = 0; k < 2; k++) {
            for (uint32_t i = 0; i < SIBLINGS; i++)
                m[i] = (struct share_member){ .request = (int64_t)(i * 7919 % 1000) << 20,
                                              .floor = (int64_t)(i * 31 % 300) << 20,
                                              .weight = (int64_t)(1 + i % 50) << 30,
                                              .lends = i % 3 };
            share_split(m, SIBLINGS, (int64_t)800000 << 20, &s, NULL);
        }
        double took = now_us() - began;
        best = took < best ? took : best;
    }
    share_scratch_fini(&s);
    free(m);
    return best;
}

int main(void)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(arena_free) struct arena *arena = arena_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(forest_free)
    struct quota_forest *f = forest_new(&(struct quota_options){ .scale_min = true });
    struct bench b = { .forest = f, .scratch = scratch, .arena = arena };

    add_total(&b, 100000);
    make_tree(&b);
    size_t quotas_only = forest_bytes(f);
    make_pods(&b);
    double event = pod_events(&b);
    double runtimes = all_runtimes(&b), admit = admissions(&b);
    printf(
        "quota event_us=%.3f prefilter_us=%.3f runtimes_ms=%.3f siblings_ms=%.3f quota_bytes=%.0f "
        "pod_bytes=%.0f\n",
        event, admit, runtimes / 1e3, siblings() / 1e3, (double)quotas_only / b.quotas,
        (double)(forest_bytes(f) - quotas_only) / PODS);
    vec_foreach(&b.pods, i)
        kobj_unref(b.pods.items[i]);
    vec_fini(&b.pods);
    return 0;
}
