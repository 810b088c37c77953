/* fuzz_topology.c - what nodes say of their CPUs, and pods of those that they hold.
 *
 * The input is {"node":{..},"topology":{..},"pods":[{..}],"cpus":4,"bind":"FullPCPUs",
 * "required":true}: a Node, its NodeResourceTopology, pods with resource-status, and a request.
 * However odd the annotations are, a CPU that the machine lacks, that is set aside or that a pod
 * has is never chosen, and what is chosen is as much as was asked for.
 */
#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "scheduler/plugins/nodenumaresource/grants.h"
#include "scheduler/plugins/nodenumaresource/holders.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kobj *object(struct kj_scratch *s, const struct kind *k, const struct kj_val *v)
{
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    return v && kobj_decode(k, v, s, &o, &err) == 0 ? o : NULL;
}

/* What the pod's annotation says it holds; a refusal says why. */
static void hold(struct grants *g, struct kj_scratch *s, const struct kj_val *pod,
                 const struct machine *m, struct holders *h)
{
    CLEANUP(kobj_unref) struct kobj *o = object(s, &kind_pod, pod);
    struct numa_allocation *x = arena_new0(g->scratch, struct numa_allocation);
    struct resource_status status;
    struct kerr err = { 0 };

    if (!o)
        return;
    int r = resource_status_read(&o->meta.annotations, g->scratch, &status, &err);
    if (r > 0)
        r = grants_read(g, &status, x, &err);
    assert(r >= 0 || err.text[0] != '\0');
    for (uint32_t i = 0; r > 0 && i < x->nparts; i++)
        assert(x->part[i].numa_id < NUMA_MAX && x->part[i].resource < g->names.n &&
               x->part[i].amount > 0);
    if (r > 0 && m)
        holders_add(h, m, &x->cpus, CPU_EXCLUSIVE_NONE);
}

static void choose(const struct site *s, const struct holders *h, const struct kj_val *input)
{
    const struct machine *m = s->machine;
    struct cpu_want want = { .required = kj_bool(kj_get(input, "required"), false) };
    struct cpuset got, free = holders_available(h, m, &s->reserved);
    int64_t need = kj_i64_or(kj_get(input, "cpus"), 1);

    want.request.need = need < 0 ? 0 : (unsigned)MIN(need, (int64_t)CPUSET_MAX);
    want.request.bind = cpu_bind_policy_parse(kj_str_or(kj_get(input, "bind"), ""));
    if (holders_choose(h, m, &s->reserved, &want, &got))
        return;
    struct cpuset taken = holders_taken(h, m), twice = cpuset_intersect(&got, &taken);
    struct cpuset aside = cpuset_intersect(&got, &s->reserved);
    struct cpuset outside = cpuset_minus(&got, &m->all), strange = cpuset_minus(&got, &free);
    assert(cpuset_is_empty(&twice) && cpuset_is_empty(&aside) && cpuset_is_empty(&outside));
    assert(cpuset_is_empty(&strange) && cpuset_count(&got) == want.request.need);
}

static void feed(struct grants *g, struct kj_scratch *s, const struct kj_val *input)
{
    CLEANUP(kobj_unref) struct kobj *node = object(s, &kind_node, kj_get(input, "node"));
    CLEANUP(kobj_unref)
    struct kobj *nrt = object(s, &kind_noderesourcetopology, kj_get(input, "topology"));
    const struct kj_val *pods = kj_get(input, "pods");
    struct holders h = { 0 };
    const char *bad = NULL;

    if (!node)
        return;
    struct site *site = site_new(&g->machines, &g->names, node_of(node),
                                 nrt ? noderesourcetopology_of(nrt) : NULL, g->scratch, &bad);
    assert(!bad == !site->bad && site->nzones <= ZONES_MAX && site->ratio >= 1);
    for (uint32_t z = 1; z < site->nzones; z++)
        assert(site->zone[z - 1].id < site->zone[z].id);
    if (site->machine)
        holders_init(&h, site->machine, 1);
    for (size_t i = 0; i < kj_len(pods); i++)
        hold(g, s, kj_at(pods, i), site->machine, &h);
    if (site->machine)
        choose(site, &h, input);
    holders_fini(&h);
    site_unref(site);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_scratch *s = kj_scratch_new(strings);
    struct grants g = { .scratch = arena_new() };
    struct kerr err = { 0 };

    numa_names_init(&g.names);
    if (kj_parse((const char *)data, size, KJ_RAW_NUMBERS, &doc, &err) == 0)
        feed(&g, s, kj_root(doc));
    machines_fini(&g.machines);
    numa_names_fini(&g.names);
    arena_free(g.scratch);
    kj_scratch_free(s);
    return 0;
}
