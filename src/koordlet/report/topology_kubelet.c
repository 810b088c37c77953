/* topology_kubelet.c - what the kubelet keeps for itself and what it has pinned. */
#include "api/protocol/cpu.h"
#include "base/vec.h"
#include "koordlet/report/takecpus.h"
#include "koordlet/report/topology_int.h"
#include "json/kj.h"

/* ---- reserved CPUs --------------------------------------------------------------------------- */

static int reserved_cpu_of(const kstrmap *m, struct qty *ret, struct kerr *err)
{
    const char *text = kstrmap_get(m, RES_CPU);

    *ret = (struct qty){ 0 };
    return text ? qty_parse(text, strlen(text), ret, err) : 0;
}

/* How many CPUs the settings ask for, rounded up. */
static int reserved_count(const struct kubelet_config *k, int64_t *ret, struct kerr *err)
{
    struct qty kube, sys;

    int r = reserved_cpu_of(&k->kube_reserved, &kube, err);
    if (r == 0)
        r = reserved_cpu_of(&k->system_reserved, &sys, err);
    if (r < 0)
        return r;
    *ret = qty_value(qty_add(kube, sys));
    if (*ret <= 0)
        return kerr_set(err, -EINVAL, "the static policy requires a CPU reservation above zero");
    return 0;
}

int kubelet_reserved_cpus(const struct kubelet_config *k, const struct cpu_info *c,
                          struct cpuset *ret, struct kerr *err)
{
    struct cpuset all = cpu_info_set(c), set;
    int64_t n;

    if (!str_empty(k->reserved_system_cpus)) { /* goes before the amounts */
        int r = cpuset_parse(k->reserved_system_cpus, strlen(k->reserved_system_cpus), &set, err);
        if (r < 0)
            return kerr_wrap(err, "reservedSystemCPUs");
        if (cpuset_is_empty(&set) || !cpuset_subset(&set, &all))
            return kerr_set(err, -EINVAL, "reservedSystemCPUs: not CPUs of this node");
        *ret = set;
        return 0;
    }
    int r = reserved_count(k, &n, err);
    if (r == 0)
        r = cpus_take(c, &all, n, ret, err);
    return r;
}

const char *kubelet_topology_policy(const struct kubelet_config *k)
{
    static const struct {
        const char *policy, *container, *pod;
    } words[] = {
        { "single-numa-node", "SingleNUMANodeContainerLevel", "SingleNUMANodePodLevel" },
        { "restricted", "RestrictedContainerLevel", "RestrictedPodLevel" },
        { "best-effort", "BestEffortContainerLevel", "BestEffortPodLevel" },
    };
    const char *scope = str_or(k ? k->topology_scope : NULL, "");

    for (size_t i = 0; k && i < ARRAY_LEN(words); i++) {
        if (!streq(words[i].policy, str_or(k->topology_policy, "")))
            continue;
        if (streq(scope, "container"))
            return words[i].container;
        if (streq(scope, "pod"))
            return words[i].pod;
    }
    return "None";
}

/* ---- the checkpoint -------------------------------------------------------------------------- */

/* Its CPUs are the scheduler's business, or the QoS class says that it has none of its own. */
static bool is_ours(const struct npod *p, struct arena *a)
{
    enum qos_class q = qos_raw(&p->obj->meta.labels);
    struct cpuset bound;

    return q == QOS_LS || q == QOS_BE || pod_bound_cpus(p, a, &bound);
}

/* A list that cannot be read counts for nothing; the other containers do. */
static struct cpuset cpus_of_entry(const struct kj_val *containers)
{
    struct cpuset all = { 0 }, one;
    const struct kj_val *text;
    struct str name;

    for (struct kj_iter it = kj_iter(containers); kj_next(&it, &name, &text);) {
        const char *s = kj_str_or(text, "");
        if (cpuset_parse(s, strlen(s), &one, NULL) == 0)
            all = cpuset_union(&all, &one);
    }
    return all;
}

/* Go's decoder does not tell null from absent, and stops at any other type. */
static bool is_a(const struct kj_val *v, enum kj_type t)
{
    return kj_type(v) == t || kj_type(v) == KJ_NULL || kj_type(v) == KJ_ABSENT;
}

static bool entries_are_sane(const struct kj_val *entries)
{
    const struct kj_val *containers, *cpus;
    struct str name;

    if (!is_a(entries, KJ_OBJ))
        return false;
    for (struct kj_iter pods = kj_iter(entries); kj_next(&pods, &name, &containers);) {
        if (!is_a(containers, KJ_OBJ))
            return false;
        for (struct kj_iter it = kj_iter(containers); kj_next(&it, &name, &cpus);)
            if (!is_a(cpus, KJ_STR))
                return false;
    }
    return true;
}

struct allocs vec_of(struct pod_cpu_alloc);

static int by_uid(const void *a, const void *b)
{
    const struct pod_cpu_alloc *x = a, *y = b;
    return strcmp(x->uid, y->uid);
}

static void add_entries(const struct topology_in *in, const struct kj_val *entries, struct arena *a,
                        struct allocs *out, struct cpuset *ret_taken)
{
    const struct kj_val *containers;
    struct str uid;

    for (struct kj_iter it = kj_iter(entries); kj_next(&it, &uid, &containers);) {
        const char *id = arena_strndup(a, uid.p, uid.n);
        const struct npod *p = podset_find(in->pods, id);
        struct cpuset cpus = cpus_of_entry(containers);

        if (cpuset_is_empty(&cpus) || (p && is_ours(p, a)))
            continue;
        *ret_taken = cpuset_union(ret_taken, &cpus);
        vec_push(out, ((struct pod_cpu_alloc){ .ns = p ? p->obj->meta.ns : "",
                                               .name = p ? p->obj->meta.name : "",
                                               .uid = id,
                                               .cpuset = cpuset_format(&cpus, a),
                                               .managed_by_kubelet = true }));
    }
}

int kubelet_allocs(const struct topology_in *in, struct arena *a, struct strbuf *out,
                   struct cpuset *ret_taken, struct kerr *err)
{
    static const char trying[] =
        "failed to calculate Kubelet allocated cpus, err: failed to cal GuaranteedCpu, err";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct allocs allocs = { 0 };

    if (in->cpu_manager_state.n == 0)
        return 0;
    if (kj_parse(in->cpu_manager_state.p, in->cpu_manager_state.n, 0, &doc, err) < 0)
        return kerr_wrap(err, "%s", trying);
    const struct kj_val *entries = kj_get(kj_root(doc), "entries");
    if (!is_a(kj_root(doc), KJ_OBJ) || !entries_are_sane(entries))
        return kerr_set(err, -EINVAL, "%s: cpu_manager_state has a member of another type", trying);
    add_entries(in, entries, a, &allocs, ret_taken);
    if (allocs.n) {
        qsort(allocs.items, allocs.n, sizeof *allocs.items, by_uid);
        pod_cpu_allocs_encode(&(struct pod_cpu_allocs){ { allocs.items, (uint32_t)allocs.n } },
                              out);
    }
    vec_fini(&allocs);
    return 0;
}
