/* sim_scheduler_numa.c - pods with CPUs of their own and with parts of NUMA nodes, on nodes whose
 * topologies come late, change and vanish. What a binding says of them is judged by what the server
 * holds, and by the node and the topology that the scheduler saw when it chose.
 */
#include "sim_scheduler.h"

#include <stdio.h>

#include "api/protocol/cpu.h"
#include "api/protocol/keys.h"
#include "api/reslist.h"
#include "base/strbuf.h"
#include "json/kj.h"

#define TOPOLOGIES "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
enum { CPUS = 8, THREADS = 2, NODE_CPUS = CPUS / SIM_NUMA_NODES, NODE_MIB = 1536 };

static const char *const policy_words[] = { "None", "BestEffort", "Restricted",
                                            "SingleNUMANodePodLevel" };

static int numa_of(unsigned cpu)
{
    return (int)cpu / NODE_CPUS;
}

/* ---- topologies ------------------------------------------------------------------------------ */

static void reserve_cpu(struct sim *s, struct sim_node *n, struct strbuf *b, const char *key,
                        const char *before, const char *after)
{
    unsigned cpu = (unsigned)sim_below(s, CPUS);

    if (!sim_chance(s, 12))
        return;
    strbuf_appendf(b, ",\"%s\":\"%s\\\"%u\\\"%s\"", key, before, cpu, after);
    cpuset_add(&n->topology.reserved, cpu);
}

/* The four who keep CPUs for themselves. */
static void write_reserved(struct sim *s, struct sim_node *n, struct strbuf *b)
{
    reserve_cpu(s, n, b, ANNO_NODE_RESERVATION, "{\\\"reservedCPUs\\\":", "}");
    reserve_cpu(s, n, b, ANNO_SYSTEM_QOS_RESOURCE, "{\\\"cpuset\\\":", "}");
    reserve_cpu(s, n, b, ANNO_KUBELET_CPU_MANAGER,
                "{\\\"policy\\\":\\\"static\\\",\\\"reservedCPUs\\\":", "}");
    reserve_cpu(s, n, b, ANNO_POD_CPU_ALLOCS,
                "[{\\\"uid\\\":\\\"u\\\",\\\"managedByKubelet\\\":true,\\\"cpuset\\\":", "}]");
}

static void put_topology(struct sim *s, struct sim_node *n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct sim_topology *t = &n->topology;

    *t = (struct sim_topology){ .machine = sim_chance(s, 95), .zones = sim_chance(s, 90) };
    t->policy = sim_chance(s, 50) ? NUMA_POLICY_NONE : sim_below(s, (int)ARRAY_LEN(policy_words));
    strbuf_appendf(&b, "{\"metadata\":{\"annotations\":{\"" ANNO_CPU_TOPOLOGY "\":\"{%s",
                   t->machine ? "\\\"detail\\\":[" : "");
    for (int i = 0; i < CPUS; i++)
        strbuf_appendf(&b, "%s{\\\"id\\\":%d,\\\"core\\\":%d,\\\"socket\\\":%d,\\\"node\\\":%d}",
                       i ? "," : "", i, i / THREADS, i / NODE_CPUS, i / NODE_CPUS);
    strbuf_append(&b, "]}\"");
    write_reserved(s, n, &b);
    strbuf_append(&b, "}},\"zones\":[");
    for (int z = 0; z < SIM_NUMA_NODES && t->zones; z++)
        strbuf_appendf(&b,
                       "%s{\"name\":\"node-%d\",\"type\":\"Node\",\"resources\":[{\"name\":\"cpu\","
                       "\"allocatable\":\"%d\"},{\"name\":\"memory\",\"allocatable\":\"%dMi\"}]}",
                       z ? "," : "", z, NODE_CPUS, NODE_MIB);
    strbuf_appendf(&b, "],\"topologyPolicies\":[\"%s\"]}", policy_words[t->policy]);
    fake_put(s->fake, TOPOLOGIES, n->name, strbuf_str(&b));
    t->revision = fake_revision(s->fake);
    vec_push(&n->topologies, *t);
}

void numa_new_topologies(struct sim *s)
{
    for (int k = 0; k < SIM_NODES; k++)
        if (sim_chance(s, 60)) /* the others come later, or never */
            put_topology(s, &s->nodes[k]);
}

void numa_change_topology(struct sim *s)
{
    struct sim_node *n = &s->nodes[sim_below(s, SIM_NODES)];

    if (n->topology.revision && sim_chance(s, 40)) {
        fake_delete(s->fake, TOPOLOGIES, n->name);
        n->topology = (struct sim_topology){ 0 };
    } else {
        put_topology(s, n);
    }
}

/* ---- nodes and pods -------------------------------------------------------------------------- */

void numa_any_policies(struct sim *s, struct sim_node *n)
{
    n->now.bind = sim_chance(s, 85) ? SIM_BIND_ANY : 1 + sim_below(s, 2);
    n->now.ratio = sim_chance(s, 85) ? 100 : 150 + 50 * sim_below(s, 2);
}

const char *numa_labels(const struct sim_node *n)
{
    return n->now.bind == SIM_BIND_FULL ? "\"" LABEL_NODE_CPU_BIND_POLICY "\":\"FullPCPUsOnly\","
           : n->now.bind == SIM_BIND_SPREAD ? "\"" LABEL_NODE_CPU_BIND_POLICY
                                              "\":\"SpreadByPCPUs\","
                                            : "";
}

const char *numa_annotations(const struct sim_node *n)
{
    return n->now.ratio == 150   ? "\"" ANNO_AMPLIFICATION_RATIO "\":\"{\\\"cpu\\\":1.5}\","
           : n->now.ratio == 200 ? "\"" ANNO_AMPLIFICATION_RATIO "\":\"{\\\"cpu\\\":2}\","
                                 : "";
}

const char *numa_annotation(const struct sim_pod *p)
{
    return p->bind == SIM_BIND_FULL ? "\"" ANNO_RESOURCE_SPEC
                                      "\":\"{\\\"requiredCPUBindPolicy\\\":\\\"FullPCPUs\\\"}\""
           : p->bind == SIM_BIND_SPREAD
               ? "\"" ANNO_RESOURCE_SPEC
                 "\":\"{\\\"requiredCPUBindPolicy\\\":\\\"SpreadByPCPUs\\\"}\""
               : "";
}

/* ---- judged ---------------------------------------------------------------------------------- */

struct seen { /* what the scheduler saw when it chose */
    const struct sim_version *node;
    const struct sim_topology *topology; /* without a revision: none */
    bool bound;                          /* the pod is, there */
};

static struct seen seen_by(struct sim *s, const struct sim_pod *p, const struct sim_hold *h)
{
    static const struct sim_topology none;
    const struct sim_node *n = &s->nodes[p->node];
    struct seen x = { .topology = h->topology ? NULL : &none };

    vec_foreach(&n->versions, i)
        if (n->versions.items[i].revision == h->revision)
            x.node = &n->versions.items[i];
    vec_foreach(&n->topologies, i)
        if (n->topologies.items[i].revision == h->topology)
            x.topology = &n->topologies.items[i];
    if (!x.node || !x.topology)
        sim_fail(s, "%s was bound to %s, as that never was", p->name, n->name);
    x.bound = p->pinned || (x.node->bind && p->mcpu > 0);
    return x;
}

/* One that this scheduler must know: its own, or from before it was born. */
static bool is_known(const struct sim_scheduler *by, const struct sim_pod *p,
                     const struct sim_pod *o)
{
    return o->alive && o->node == p->node && (o->by == by->number || o->bound < by->born);
}

static int count_cores(const struct cpuset *cpus)
{
    int cores = 0;

    for (unsigned cpu = 0; cpu < CPUS; cpu += THREADS)
        cores += cpuset_has(cpus, cpu) || cpuset_has(cpus, cpu + 1);
    return cores;
}

static void judge_cpus(struct sim *s, const struct sim_scheduler *by, const struct sim_pod *p,
                       const struct seen *x)
{
    int n = (int)cpuset_count(&p->cpus), bind = x->node->bind ? x->node->bind : p->bind;

    if (n * 1000 != (x->bound ? p->mcpu : 0))
        sim_fail(s, "%s asked for %dm and got %d CPUs of its own", p->name, p->mcpu, n);
    if (x->bound && !x->topology->machine)
        sim_fail(s, "%s got CPUs of a machine that nobody knows", p->name);
    cpuset_foreach(&p->cpus, cpu)
        if (cpu >= CPUS || cpuset_has(&x->topology->reserved, (unsigned)cpu))
            sim_fail(s, "%s got CPU %d of %s", p->name, cpu, s->nodes[p->node].name);
    if ((x->bound && bind == SIM_BIND_FULL && count_cores(&p->cpus) * THREADS != n) ||
        (x->bound && bind == SIM_BIND_SPREAD && count_cores(&p->cpus) != n))
        sim_fail(s, "%s got %d CPUs of %d cores", p->name, n, count_cores(&p->cpus));
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        struct cpuset both = cpuset_intersect(&o->cpus, &p->cpus);
        if (o != p && is_known(by, p, o) && !cpuset_is_empty(&both))
            sim_fail(s, "%s got CPU %d of %s, which %s has", p->name, cpuset_next(&both, 0),
                     s->nodes[p->node].name, o->name);
    }
    s->n.pinned += n > 0;
    s->n.reserved_cpus += n > 0 && !cpuset_is_empty(&x->topology->reserved);
}

static int amplified(int mcpu, int percent)
{
    return (mcpu * percent + 99) / 100;
}

static int cpus_in(const struct cpuset *cpus, int numa)
{
    int n = 0;

    cpuset_foreach(cpus, cpu)
        n += numa_of((unsigned)cpu) == numa;
    return n;
}

/* What is counted of a NUMA node, with bound CPUs as they weigh; those of the pod itself as it asks
 * for them, which is what upstream compares. */
static struct sim_room held_of(const struct sim *s, const struct sim_scheduler *by,
                               const struct sim_pod *p, int numa, const struct seen *x)
{
    struct sim_room sum = { 0 };
    int bound = 0;

    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        if (by ? !is_known(by, p, o) : !(o->alive && o->node == p->node))
            continue;
        sum.mcpu += o->parts[numa].mcpu;
        sum.mib += o->parts[numa].mib;
        bound += o == p ? 0 : 1000 * cpus_in(&o->cpus, numa);
    }
    if (x->topology->machine && (sum.mcpu || sum.mib))
        sum.mcpu += amplified(bound, x->node->ratio) - bound;
    return sum;
}

static int capacity_of(const struct seen *x, int numa)
{
    int reserved = x->topology->machine ? cpus_in(&x->topology->reserved, numa) : 0;

    return amplified(1000 * (NODE_CPUS - reserved), x->node->ratio);
}

/* While the pod was on its way others came, when the node or its topology may have had more: in one
 * of the states since then all of it fits. */
static bool holds_since(const struct sim *s, const struct sim_scheduler *by,
                        const struct sim_pod *p, int numa, const struct seen *x)
{
    const struct sim_node *n = &s->nodes[p->node];

    vec_foreach(&n->versions, i)
        vec_foreach(&n->topologies, k) {
            const struct seen y = { &n->versions.items[i], &n->topologies.items[k], x->bound };
            if (y.node->revision < x->node->revision ||
                y.topology->revision < x->topology->revision)
                continue;
            struct sim_room held = held_of(s, by, p, numa, &y);
            if (held.mcpu <= capacity_of(&y, numa) && held.mib <= NODE_MIB)
                return true;
        }
    return false;
}

/* On one NUMA node, or as the policy says; and no NUMA node gives more than it has. */
static void judge_parts(struct sim *s, const struct sim_scheduler *by, const struct sim_pod *p,
                        const struct seen *x)
{
    int mcpu = 0, mib = 0, nodes = 0;

    for (int z = 0; z < SIM_NUMA_NODES; z++) {
        const struct sim_room *part = &p->parts[z];
        mcpu += part->mcpu;
        mib += part->mib;
        nodes += part->mcpu || part->mib;
        if (x->bound && x->topology->policy && cpus_in(&p->cpus, z) * 1000 != part->mcpu)
            sim_fail(s, "%s has %d CPUs of NUMA node %d, and %dm are counted", p->name,
                     cpus_in(&p->cpus, z), z, part->mcpu);
        if (!part->mcpu && !part->mib)
            continue;
        struct sim_room held = held_of(s, by, p, z, x);
        if (!holds_since(s, by, p, z, x))
            sim_fail(s, "%s is too much for NUMA node %d of %s: %dm of %dm, %d of %dMi", p->name, z,
                     s->nodes[p->node].name, held.mcpu, capacity_of(x, z), held.mib, NODE_MIB);
    }
    if (x->topology->policy == NUMA_POLICY_SINGLE_NODE && nodes != 1)
        sim_fail(s, "%s is on %d NUMA nodes", p->name, nodes);
    bool counted = x->topology->policy != NUMA_POLICY_NONE;
    if (mcpu != (counted ? p->mcpu : 0) || mib != (counted ? p->mib : 0))
        sim_fail(s, "%s asked for %dm and %dMi, and %dm and %dMi are counted", p->name, p->mcpu,
                 p->mib, mcpu, mib);
    s->n.aligned += counted;
}

/* Bound CPUs are real ones: on a node that amplifies they weigh more (sched-numa 4.1). */
static void judge_amplified(struct sim *s, const struct sim_scheduler *by, const struct sim_pod *p,
                            const struct seen *x)
{
    const struct sim_node *n = &s->nodes[p->node];
    int shared = 0, bound = 0;

    if (x->node->ratio == 100)
        return;
    s->n.amplified++;
    for (int i = 0; i < s->npods; i++)
        if (is_known(by, p, &s->pods[i]))
            *(cpuset_is_empty(&s->pods[i].cpus) ? &shared : &bound) += s->pods[i].mcpu;
    vec_foreach(&n->versions, i) { /* as above */
        const struct sim_version *v = &n->versions.items[i];
        if (v->revision >= x->node->revision && shared + amplified(bound, v->ratio) <= v->room.mcpu)
            return;
    }
    sim_fail(s, "%s is too much for %s, where %dm are shared and %dm bound", p->name, n->name,
             shared, bound);
}

static int amount(const struct kj_val *v, const char *name)
{
    const char *text = kj_str_or(kj_get(v, name), "0");
    struct qty q;

    return qty_parse(text, strlen(text), &q, NULL) < 0 ? -1 : (int)(resource_count(name, q));
}

static int mebibytes(const struct kj_val *v)
{
    const char *text = kj_str_or(kj_get(v, "memory"), "0");
    struct qty q;

    return qty_parse(text, strlen(text), &q, NULL) < 0 ? -1 : (int)(qty_value(q) >> 20);
}

static void read_status(struct sim *s, struct sim_pod *p, const char *text)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0)
        sim_fail(s, "%s: %s", p->name, err.text);
    const char *list = kj_str_or(kj_get(kj_root(doc), "cpuset"), "");
    if (cpuset_parse(list, strlen(list), &p->cpus, &err) < 0)
        sim_fail(s, "%s: %s", p->name, err.text);
    const struct kj_val *parts = kj_get(kj_root(doc), "numaNodeResources");
    for (size_t i = 0; i < kj_len(parts); i++) {
        const struct kj_val *v = kj_at(parts, i);
        int64_t z = kj_i64_or(kj_get(v, "node"), 0);
        if (z < 0 || z >= SIM_NUMA_NODES)
            sim_fail(s, "%s got a part of a NUMA node that is not there: %s", p->name, text);
        p->parts[z].mcpu += amount(kj_get(v, "resources"), "cpu");
        p->parts[z].mib += mebibytes(kj_get(v, "resources"));
    }
}

void numa_judge_bind(struct sim *s, const struct sim_scheduler *by, struct sim_pod *p,
                     const struct sim_hold *h, const struct kj_val *body)
{
    const char *text = kj_str(kj_get(kj_path(body, "metadata.annotations"), ANNO_RESOURCE_STATUS));

    if (!(s->parts & SIM_NUMA))
        return;
    struct seen x = seen_by(s, p, h);
    p->cpus = (struct cpuset){ 0 };
    memset(p->parts, 0, sizeof p->parts);
    if (!text != !(x.bound || x.topology->policy))
        sim_fail(s, "%s was bound %s CPUs or NUMA nodes", p->name, text ? "with" : "without");
    if (text)
        read_status(s, p, text);
    judge_cpus(s, by, p, &x);
    judge_parts(s, by, p, &x);
    judge_amplified(s, by, p, &x);
}

/* ---- does it fit? ---------------------------------------------------------------------------- */

static struct cpuset free_cpus(const struct sim *s, int node, int bind)
{
    struct cpuset free = { 0 }, usable = { 0 };

    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        bool taken = cpuset_has(&s->nodes[node].topology.reserved, cpu);
        for (int i = 0; i < s->npods && !taken; i++) {
            const struct sim_pod *o = &s->pods[i];
            taken = o->alive && o->node == node && cpuset_has(&o->cpus, cpu);
        }
        if (!taken)
            cpuset_add(&free, cpu);
    }
    for (unsigned cpu = 0; cpu < CPUS; cpu += THREADS) {
        bool both = cpuset_has(&free, cpu) && cpuset_has(&free, cpu + 1);
        for (unsigned i = cpu; i < cpu + THREADS; i++)
            if (cpuset_has(&free, i) && (bind != SIM_BIND_FULL || both) &&
                (bind != SIM_BIND_SPREAD || i == cpu || !cpuset_has(&free, cpu)))
                cpuset_add(&usable, i);
    }
    return usable;
}

/* On one of the NUMA nodes alone. */
static bool fits_numa(const struct sim *s, const struct sim_pod *p, int node,
                      const struct cpuset *free)
{
    const struct sim_node *n = &s->nodes[node];
    const struct seen x = { .node = &n->now, .topology = &n->topology };
    struct sim_pod there = { .node = node };

    for (int z = 0; z < SIM_NUMA_NODES && n->topology.zones; z++) {
        struct sim_room held = held_of(s, NULL, &there, z, &x);
        if (held.mcpu + p->mcpu <= capacity_of(&x, z) && held.mib + p->mib <= NODE_MIB &&
            (!p->pinned || cpus_in(free, z) * 1000 >= p->mcpu))
            return true;
    }
    return false;
}

bool numa_fits(const struct sim *s, const struct sim_pod *p, int node)
{
    const struct sim_node *n = &s->nodes[node];
    int weight = amplified(p->mcpu, n->now.ratio);

    if (!(s->parts & SIM_NUMA))
        return true;
    for (int i = 0; i < s->npods; i++)
        if (s->pods[i].alive && s->pods[i].node == node)
            weight += amplified(s->pods[i].mcpu, n->now.ratio);
    if (n->now.bind || (n->now.ratio > 100 && weight + 2 * SIM_KEPT_MCPU > n->now.room.mcpu))
        return false;
    struct cpuset free = free_cpus(s, node, p->bind);
    if (p->pinned && (!n->topology.machine || (int)cpuset_count(&free) * 1000 < p->mcpu))
        return false;
    return n->topology.policy == NUMA_POLICY_NONE || fits_numa(s, p, node, &free);
}
