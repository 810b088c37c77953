/* limits.c - how many pods may be on the move at once: in the cluster, on a node, in a namespace,
 * of a workload. */
#include "base/strbuf.h"
#include "descheduler/migration/checks.h"
#include "descheduler/migration/workloads.h"

static bool below(enum limit l, const char *name, int64_t count, int64_t max, struct limit_hit *hit)
{
    if (count < max)
        return true;
    if (hit)
        *hit = (struct limit_hit){ .name = name, .limit = l, .count = count, .max = max };
    return false;
}

/* Limits of nil, and of 0 and less, are off. */
static bool check_plain(const struct checks *c, enum limit l, enum tally_scope s,
                        const struct pod *p, struct limit_hit *hit)
{
    static const struct {
        const char *name;
        enum eviction_gate gate;
        enum tally_by by;
    } limits[] = {
        [LIMIT_GLOBALLY] = { "MaxMigratingGlobally", GATE_MAX_MIGRATING_GLOBALLY, TALLY_CLUSTER },
        [LIMIT_NODE] = { "MaxMigratingPerNode", GATE_MAX_MIGRATING_PER_NODE, TALLY_NODE },
        [LIMIT_NAMESPACE] = { "MaxMigratingPerNamespace", GATE_MAX_MIGRATING_PER_NAMESPACE,
                              TALLY_NAMESPACE },
    };
    const struct opt_i32 max = l == LIMIT_GLOBALLY ? c->args->max_migrating_globally
                               : l == LIMIT_NODE   ? c->args->max_migrating_per_node
                                                   : c->args->max_migrating_per_namespace;

    if (!max.set || max.v <= 0 || args_skip(c->args, limits[l].gate))
        return true;
    return below(l, limits[l].name, jobtally_count(c->tally, limits[l].by, s, p), max.v, hit);
}

/* Its controller deletes pods past any budget, or is about to: not ours to make fewer. */
static bool check_change(const struct workload_state *w, int64_t max, struct limit_hit *hit)
{
    if (w->known != WORKLOAD_FOUND)
        return true;
    if (w->changing)
        return below(LIMIT_WORKLOAD, "WorkloadChanging", 0, 0, hit);
    return below(LIMIT_WORKLOAD, "WorkloadNotReady", w->missing, max, hit);
}

static bool check_workload(const struct checks *c, enum tally_scope s, const struct pod *p,
                           struct limit_hit *hit)
{
    const struct migration_args *a = c->args;
    const struct owner_ref *o = kobj_controller(&p->obj);

    if (!o)
        return true;
    const struct workload_state *w = workloads_find(c->workloads, p->obj.meta.ns, o);
    if (w->known == WORKLOAD_REFUSED || w->known == WORKLOAD_AWAITED)
        return below(LIMIT_WORKLOAD, "WorkloadUnknown", 0, 0, hit);
    int64_t moving = jobtally_count(c->tally, TALLY_WORKLOAD, s, p);
    if (moving && !args_skip(a, GATE_MAX_MIGRATING_PER_WORKLOAD) &&
        !below(LIMIT_WORKLOAD, "MaxMigratingPerWorkload", moving,
               max_of(w->replicas, a->max_migrating_per_workload), hit))
        return false;
    if (args_skip(a, GATE_MAX_UNAVAILABLE_PER_WORKLOAD))
        return true;
    int64_t max = max_of(w->replicas, a->max_unavailable_per_workload);
    /* Pods that are moved and up are not among those that are down. */
    int64_t unavailable =
        w->known == WORKLOAD_FOUND ? w->down + jobtally_count_up(c->tally, s, p) : moving;
    return below(LIMIT_WORKLOAD, "MaxUnavailablePerWorkload", unavailable, max, hit) &&
           check_change(w, max, hit);
}

bool check_limit(const struct checks *c, enum limit l, enum tally_scope s, const struct pod *p,
                 struct limit_hit *hit)
{
    return l == LIMIT_WORKLOAD ? check_workload(c, s, p, hit) : check_plain(c, l, s, p, hit);
}

bool check_limits(const struct checks *c, enum tally_scope s, const struct pod *p,
                  struct limit_hit *hit)
{
    if (pod_wants_eviction(p))
        return true;
    for (unsigned l = 0; l < LIMITS; l++)
        if (!check_limit(c, (enum limit)l, s, p, hit))
            return false;
    return true;
}

/* ---- in words -------------------------------------------------------------------------------- */

static void workload_text(const struct checks *c, enum tally_scope s, const struct pod *p,
                          const struct limit_hit *hit, struct strbuf *out)
{
    const struct owner_ref *o = kobj_controller(&p->obj);
    const struct workload_state *w = workloads_find(c->workloads, p->obj.meta.ns, o);
    const char *kind = w->kind ? w->kind : o->kind, *name = w->name ? w->name : o->name;

    if (streq(hit->name, "WorkloadChanging")) {
        strbuf_appendf(out, "%s %s/%s %s", kind, p->obj.meta.ns, name, w->changing);
        return;
    }
    if (streq(hit->name, "WorkloadUnknown")) {
        strbuf_appendf(out, "%s %s/%s %s", kind, p->obj.meta.ns, name,
                       w->known == WORKLOAD_AWAITED ? "is being asked for" : "cannot be read");
        return;
    }
    strbuf_appendf(out, "%s %s/%s: %lld pods %s, and %lld may be", kind, p->obj.meta.ns, name,
                   (long long)hit->count,
                   streq(hit->name, "MaxMigratingPerWorkload") ? "are being moved"
                                                               : "are unavailable or being moved",
                   (long long)hit->max);
    if (jobtally_count(c->tally, TALLY_WORKLOAD, s, p)) {
        strbuf_append(out, "; held by ");
        jobtally_holders(c->tally, TALLY_WORKLOAD, s, p, out);
    }
}

void limit_text(const struct checks *c, enum tally_scope s, const struct pod *p,
                const struct limit_hit *hit, struct strbuf *out)
{
    static const enum tally_by by[] = { [LIMIT_GLOBALLY] = TALLY_CLUSTER,
                                        [LIMIT_NODE] = TALLY_NODE,
                                        [LIMIT_NAMESPACE] = TALLY_NAMESPACE };

    if (hit->limit == LIMIT_WORKLOAD) {
        workload_text(c, s, p, hit, out);
        return;
    }
    strbuf_appendf(out, "%lld pods are being moved", (long long)hit->count);
    if (hit->limit == LIMIT_NODE)
        strbuf_appendf(out, " from node %s", p->node_name);
    else if (hit->limit == LIMIT_NAMESPACE)
        strbuf_appendf(out, " in namespace %s", p->obj.meta.ns);
    strbuf_appendf(out, ", and %lld may be; held by ", (long long)hit->max);
    jobtally_holders(c->tally, by[hit->limit], s, p, out);
}
