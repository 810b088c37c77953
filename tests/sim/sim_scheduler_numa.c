/* sim_scheduler_numa.c - pods with CPUs of their own, and topologies of nodes that come late,
 * change and vanish. What a binding says of CPUs is judged by what the server holds.
 */
#include "sim_scheduler.h"

#include <stdio.h>

#include "api/protocol/keys.h"
#include "base/strbuf.h"
#include "json/kj.h"

#define TOPOLOGIES "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
enum { CPUS = 8 }; /* of every machine: two sockets with two cores of two threads */

static bool is_reserved(const struct sim_node *n, unsigned cpu)
{
    return cpu == 0 && n->zone == 0;
}

static void put_topology(struct sim *s, struct sim_node *n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_append(&b,
                  "{\"metadata\":{\"annotations\":{\"" ANNO_CPU_TOPOLOGY "\":\"{\\\"detail\\\":[");
    for (int i = 0; i < CPUS; i++)
        strbuf_appendf(&b, "%s{\\\"id\\\":%d,\\\"core\\\":%d,\\\"socket\\\":%d,\\\"node\\\":%d}",
                       i ? "," : "", i, i / 2, i / 4, i / 4);
    strbuf_append(&b, "]}\"");
    if (is_reserved(n, 0))
        strbuf_append(&b, ",\"" ANNO_NODE_RESERVATION "\":\"{\\\"reservedCPUs\\\":\\\"0\\\"}\"");
    strbuf_appendf(&b, "}},\"zones\":[],\"topologyPolicies\":[\"%s\"]}",
                   sim_chance(s, 50) ? "None" : "");
    fake_put(s->fake, TOPOLOGIES, n->name, strbuf_str(&b));
    n->has_topology = true;
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

    if (n->has_topology && sim_chance(s, 40)) {
        fake_delete(s->fake, TOPOLOGIES, n->name);
        n->has_topology = false;
    } else {
        put_topology(s, n);
    }
}

/* ---- judged ---------------------------------------------------------------------------------- */

void numa_judge_bind(struct sim *s, const struct sim_scheduler *by, struct sim_pod *p,
                     const struct kj_val *body)
{
    const char *text = kj_str(kj_get(kj_path(body, "metadata.annotations"), ANNO_RESOURCE_STATUS));
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    p->cpus = (struct cpuset){ 0 };
    if (!text != !p->pinned)
        sim_fail(s, "%s was bound %s CPUs", p->name, text ? "with" : "without");
    if (!text)
        return;
    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0)
        sim_fail(s, "%s: %s", p->name, err.text);
    const char *list = kj_str_or(kj_get(kj_root(doc), "cpuset"), "");
    if (cpuset_parse(list, strlen(list), &p->cpus, &err) < 0)
        sim_fail(s, "%s: %s", p->name, err.text);
    if ((int)cpuset_count(&p->cpus) * 1000 != p->mcpu)
        sim_fail(s, "%s asked for %dm and got the CPUs %s", p->name, p->mcpu, list);
    cpuset_foreach(&p->cpus, cpu)
        if (cpu >= CPUS || is_reserved(&s->nodes[p->node], (unsigned)cpu))
            sim_fail(s, "%s got CPU %d of %s", p->name, cpu, s->nodes[p->node].name);
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        struct cpuset both = cpuset_intersect(&o->cpus, &p->cpus);
        if (o == p || !o->alive || o->node != p->node ||
            (o->by != by->number && o->bound >= by->born) || cpuset_is_empty(&both))
            continue;
        sim_fail(s, "%s got CPU %d of %s, which %s has", p->name, cpuset_next(&both, 0),
                 s->nodes[p->node].name, o->name);
    }
    s->n.pinned++;
}

bool numa_fits(const struct sim *s, const struct sim_pod *p, int node)
{
    const struct sim_node *n = &s->nodes[node];
    int free = 0;

    if (!p->pinned)
        return true;
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        bool taken = is_reserved(n, cpu);
        for (int i = 0; i < s->npods && !taken; i++) {
            const struct sim_pod *o = &s->pods[i];
            taken = o->alive && o->node == node && cpuset_has(&o->cpus, cpu);
        }
        free += !taken;
    }
    return n->has_topology && free * 1000 >= p->mcpu;
}
