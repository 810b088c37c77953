/* run_koordlet_report.c - what the agent reports: NodeMetric and NodeResourceTopology. */
#include "base/intern.h"
#include "base/vec.h"
#include "koordlet/report/nodemetric.h"
#include "koordlet/report/topology.h"
#include "koordlet/states/states_int.h"
#include "run_koordlet.h"

/* ---- nodemetric ------------------------------------------------------------------------------ */

#define NOW (INT64_C(1763200000) * NSEC_PER_SEC)

/* [[seconds before now, cores, bytes], ...], newest first. */
static int feed(struct metriccache *mc, enum metric_kind cpu, enum metric_kind mem,
                const char *const *labels, const struct kj_val *samples, struct kerr *err)
{
    struct series *c = metriccache_open(mc, cpu, labels), *m = metriccache_open(mc, mem, labels);
    int r = 0;

    for (size_t i = kj_len(samples); r == 0 && i-- > 0;) {
        const struct kj_val *s = kj_at(samples, i);
        int64_t ms = NOW / NSEC_PER_MSEC - (int64_t)llround(number(kj_at(s, 0)) * 1000);
        r = series_append(c, ms, number(kj_at(s, 1)), err);
        if (r == 0)
            r = series_append(m, ms, number(kj_at(s, 2)), err);
    }
    series_close(c);
    series_close(m);
    return r;
}

static int feed_all(struct metriccache *mc, const struct kj_val *in, struct arena *a,
                    struct kerr *err)
{
    static const enum metric_kind kinds[] = { M_NODE_CPU,   M_NODE_MEMORY, M_SYS_CPU,
                                              M_SYS_MEMORY, M_POD_CPU,     M_POD_MEMORY };
    struct kj_iter it = kj_iter(kj_get(in, "podSamples"));
    const struct kj_val *samples;
    struct str uid;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        metriccache_retain(mc, kinds[i], NSEC_PER_SEC, 7200 * NSEC_PER_SEC);
    int r = feed(mc, M_NODE_CPU, M_NODE_MEMORY, NULL, kj_get(in, "nodeSamples"), err);
    if (r == 0)
        r = feed(mc, M_SYS_CPU, M_SYS_MEMORY, NULL, kj_get(in, "systemSamples"), err);
    while (r == 0 && kj_next(&it, &uid, &samples)) {
        const char *const labels[] = { arena_strndup(a, uid.p, uid.n) };
        r = feed(mc, M_POD_CPU, M_POD_MEMORY, labels, samples, err);
    }
    return r;
}

int run_nodemetric(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(metriccache_free) struct metriccache *mc = metriccache_new();
    CLEANUP(podset_unref) struct podset *pods = NULL;
    struct nodemetric_status status;
    struct collect_policy policy;
    struct kjw w = kjw_to(got);

    policy_decode(kj_get(in, "spec"), &policy, err);
    int r = feed_all(mc, in, a, err);
    if (r == 0)
        r = golden_pods(kj_get(in, "pods"), scratch, &pods, err);
    if (r < 0)
        return r;
    nodemetric_build(
        &(struct nodemetric_in){ .now = NOW, .mc = mc, .policy = &policy, .pods = pods }, a,
        &status, NULL);
    nodemetric_write(&status, &w, NULL);
    return 0;
}

/* Quantities may differ by one milli-core or one byte. */
static bool near_usage(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *v;
    struct str key;

    for (struct kj_iter it = kj_iter(out); kj_next(&it, &key, &v);) {
        const char *x = kj_str_or(v, ""), *y = kj_str_or(kj_getn(got, key.p, key.n), "");
        struct qty want, have;
        if (qty_parse(x, strlen(x), &want, NULL) < 0 || qty_parse(y, strlen(y), &have, NULL) < 0)
            return false;
        struct qty off = qty_sub(want, have);
        if (llabs(str_eqz(key, "cpu") ? qty_milli(off) : qty_value(off)) > 1)
            return false;
    }
    return kj_len(out) == kj_len(got);
}

static bool same_tree(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *v;
    struct str key;

    if (kj_type(out) == KJ_ARR && kj_len(out) == 0) /* empty lists are left out */
        return kj_len(got) == 0;
    if (kj_type(out) != kj_type(got) || kj_len(out) != kj_len(got))
        return false;
    if (kj_type(out) != KJ_OBJ && kj_type(out) != KJ_ARR)
        return kj_equal(out, got);
    for (size_t i = 0; kj_type(out) == KJ_ARR && i < kj_len(out); i++)
        if (!same_tree(kj_at(out, i), kj_at(got, i)))
            return false;
    for (struct kj_iter it = kj_iter(out); kj_type(out) == KJ_OBJ && kj_next(&it, &key, &v);) {
        const struct kj_val *mine = kj_getn(got, key.p, key.n);
        if (!(str_eqz(key, "resources") ? near_usage(v, mine) : same_tree(v, mine)))
            return false;
    }
    return true;
}

bool same_nodemetric(const struct kj_val *out, const struct kj_val *got)
{
    return same_tree(kj_get(out, "nodeMetric"), kj_get(got, "nodeMetric")) &&
           same_tree(kj_get(out, "podsMetric"), kj_get(got, "podsMetric"));
}

/* ---- topology -------------------------------------------------------------------------------- */

static kstrmap decode_map(const struct kj_val *v, struct arena *a)
{
    kstrmap m = { arena_newn0(a, kj_len(v) + 1, struct kstrpair), 0 };
    const struct kj_val *value;
    struct str key;

    for (struct kj_iter it = kj_iter(v); kj_next(&it, &key, &value);)
        m.items[m.n++] = (struct kstrpair){ arena_strndup(a, key.p, key.n), kj_str_or(value, "") };
    return m;
}

/* Not by the decoder of /configz: these vectors go past its defaults. */
static struct kubelet_config decode_config(const struct kj_val *v, struct arena *a)
{
    return (struct kubelet_config){
        .cpu_manager_policy = kj_str_or(kj_get(v, "cpuManagerPolicy"), ""),
        .cpu_manager_options = decode_map(kj_get(v, "cpuManagerPolicyOptions"), a),
        .reserved_system_cpus = kj_str_or(kj_get(v, "reservedSystemCPUs"), ""),
        .kube_reserved = decode_map(kj_get(v, "kubeReserved"), a),
        .system_reserved = decode_map(kj_get(v, "systemReserved"), a),
        .topology_policy = kj_str_or(kj_get(v, "topologyManagerPolicy"), ""),
        .topology_scope = kj_str_or(kj_get(v, "topologyManagerScope"), ""),
    };
}

static void decode_cpus(const struct kj_val *v, struct arena *a, struct cpu_info *c)
{
    int32_t last = -1;

    c->cpus = arena_newn0(a, kj_len(v) + 1, struct cpu_place);
    for (size_t i = 0; i < kj_len(v); i++) {
        const struct kj_val *p = kj_at(v, i);
        c->cpus[c->n++] = (struct cpu_place){ .cpu = (int32_t)kj_i64_or(kj_at(p, 0), 0),
                                              .core = (int32_t)kj_i64_or(kj_at(p, 1), 0),
                                              .socket = (int32_t)kj_i64_or(kj_at(p, 2), 0),
                                              .node = (int32_t)kj_i64_or(kj_at(p, 3), 0) };
        last = MAX(last, c->cpus[i].node);
    }
    c->nnodes = (uint32_t)(last + 1);
}

static void decode_numa(const struct kj_val *v, struct arena *a, struct numa_info *m)
{
    m->nodes = arena_newn0(a, kj_len(v) + 1, struct numa_info_node);
    m->n = (uint32_t)kj_len(v);
    for (uint32_t i = 0; i < m->n; i++)
        m->nodes[i] =
            (struct numa_info_node){ .id = (int32_t)i,
                                     .mem_total_kb = (uint64_t)kj_i64_or(kj_at(v, i), 0) };
}

static void write_map(struct kjw *w, const char *key, const kstrmap *m, bool parsed)
{
    if (m->n == 0)
        return;
    kjw_obj(w, key);
    for (uint32_t i = 0; i < m->n; i++) {
        const struct kstrpair *p = &m->items[i];
        if (parsed)
            kjw_raw(w, p->key, p->value, strlen(p->value));
        else
            kjw_str(w, p->key, p->value);
    }
    kjw_end(w);
}

/* The object as it is created; only the annotations are read again. */
static int write_topology(const struct topology *t, const struct node *n, struct strbuf *got,
                          struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, part = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kjw w = kjw_to(got);

    topology_object(t, n, &text);
    int r = kj_parse(text.data, text.len, KJ_RAW_NUMBERS, &doc, err);
    if (r < 0)
        return r;
    kjw_obj(&w, NULL);
    write_map(&w, "annotations", &t->annotations, true);
    write_map(&w, "labels", &t->labels, false);
    kj_write(kj_get(kj_root(doc), "topologyPolicies"), 0, &part);
    kjw_raw(&w, "topologyPolicies", part.data, part.len);
    strbuf_reset(&part);
    kj_write(kj_get(kj_root(doc), "zones"), 0, &part);
    kjw_raw(&w, "zones", part.data, part.len);
    kjw_end(&w);
    return 0;
}

int run_topology(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(podset_unref) struct podset *pods = NULL;
    CLEANUP(kobj_unref) struct kobj *node = NULL;
    struct kubelet_config config = decode_config(kj_get(in, "kubeletConfig"), a);
    struct cpu_info cpu = { .refs = 1 };
    struct numa_info numa = { .refs = 1 };
    struct topology t;

    int r = kobj_decode(&kind_node, kj_get(in, "node"), scratch, &node, err);
    if (r == 0)
        r = golden_pods(kj_get(in, "pods"), scratch, &pods, err);
    if (r < 0)
        return r;
    decode_cpus(kj_get(in, "cpus"), a, &cpu);
    decode_numa(kj_get(in, "memoryKB"), a, &numa);
    struct topology_in input = { .cpu = &cpu,
                                 .numa = &numa,
                                 .node = node_of(node),
                                 .pods = pods,
                                 .kubelet = kj_get(in, "kubeletConfig") ? &config : NULL,
                                 .cpu_manager_state =
                                     str_of(kj_str_or(kj_get(in, "cpuManagerState"), "")) };
    if (topology_compute(&input, a, &t, err) < 0)
        return write_error(got, err);
    return write_topology(&t, node_of(node), got, err);
}

static bool same_qty(const struct kj_val *out, const struct kj_val *got)
{
    const char *x = kj_str_or(out, ""), *y = kj_str_or(got, "");
    struct qty a, b;

    return qty_parse(x, strlen(x), &a, NULL) == 0 && qty_parse(y, strlen(y), &b, NULL) == 0 &&
           qty_cmp(a, b) == 0;
}

static const struct kj_val *find_resource(const struct kj_val *list, const struct kj_val *like)
{
    for (size_t i = 0; i < kj_len(list); i++)
        if (kj_equal(kj_get(kj_at(list, i), "name"), kj_get(like, "name")))
            return kj_at(list, i);
    return NULL;
}

static bool same_zone(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *want = kj_get(out, "resources"), *have = kj_get(got, "resources");

    for (size_t i = 0; i < kj_len(want); i++) {
        const struct kj_val *x = kj_at(want, i), *y = find_resource(have, x);
        if (!same_qty(kj_get(x, "capacity"), kj_get(y, "capacity")) ||
            !same_qty(kj_get(x, "allocatable"), kj_get(y, "allocatable")) ||
            !same_qty(kj_get(x, "available"), kj_get(y, "available")))
            return false;
    }
    return kj_len(want) == kj_len(have) && kj_equal(kj_get(out, "name"), kj_get(got, "name")) &&
           kj_equal(kj_get(out, "type"), kj_get(got, "type"));
}

/* Details of the CPUs are in the answer only. */
static bool same_annotations(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *v;
    struct str key;

    for (struct kj_iter it = kj_iter(out); kj_next(&it, &key, &v);)
        if (!kj_equal(v, kj_getn(got, key.p, key.n)))
            return false;
    return kj_len(got) == kj_len(out) + 2;
}

bool same_topology(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *want = kj_get(out, "zones"), *have = kj_get(got, "zones");

    if (kj_get(out, "error") || kj_get(got, "error"))
        return kj_get(out, "error") && kj_get(got, "error");
    for (size_t i = 0; i < kj_len(want); i++)
        if (!same_zone(kj_at(want, i), kj_at(have, i)))
            return false;
    return kj_len(want) == kj_len(have) &&
           same_annotations(kj_get(out, "annotations"), kj_get(got, "annotations")) &&
           kj_equal(kj_get(out, "topologyPolicies"), kj_get(got, "topologyPolicies")) &&
           (kj_get(out, "labels") ? kj_equal(kj_get(out, "labels"), kj_get(got, "labels"))
                                  : !kj_get(got, "labels"));
}
