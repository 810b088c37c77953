/* checks.c - what keeps a pod where it is for good, and the filter of plugins. */
#include "descheduler/migration/checks.h"

#include "api/selector/selector.h"
#include "base/strbuf.h"
#include "descheduler/framework/view.h"
#include "descheduler/migration/workloads.h"

const char *const base_check_texts[BASE_CHECKS] = {
    [BASE_DAEMONSET] = "pod is a DaemonSet pod",
    [BASE_MIRROR] = "pod is a mirror pod",
    [BASE_STATIC] = "pod is a static pod",
    [BASE_BARE] = "pod does not have any ownerRefs",
    [BASE_BARE_NOT_FAILED] = "pod does not have any ownerRefs and is not in failed phase",
    [BASE_CRITICAL] = "pod has system critical priority",
    [BASE_PRIORITY] = "pod has higher priority than specified priority class threshold",
    [BASE_LOCAL_STORAGE] =
        "pod has local storage and descheduler is not configured with evictLocalStoragePods",
    [BASE_PVC] = "pod has a PVC and descheduler is configured to ignore PVC pods",
    [BASE_LABELS] = "pod labels do not match the labelSelector filter in the policy parameter",
};

enum { CRITICAL_PRIORITY = 2000000000 };

static bool is_daemonset_pod(const struct pod *p)
{
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (streq(p->obj.meta.owners.items[i].kind, "DaemonSet"))
            return true;
    return false;
}

static bool has_annotation(const struct pod *p, const char *key)
{
    return kstrmap_get(&p->obj.meta.annotations, key) != NULL;
}

static bool has_local_storage(const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.n; i++)
        if (p->volumes.items[i].host_path || p->volumes.items[i].empty_dir)
            return true;
    return false;
}

static bool has_claim(const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.n; i++)
        if (p->volumes.items[i].claim)
            return true;
    return false;
}

/* What it is, whatever the args say. */
static unsigned check_nature(const struct pod *p)
{
    const char *source = kstrmap_get(&p->obj.meta.annotations, "kubernetes.io/config.source");
    unsigned fails = 0;

    if (is_daemonset_pod(p))
        fails |= 1u << BASE_DAEMONSET;
    if (has_annotation(p, "kubernetes.io/config.mirror"))
        fails |= 1u << BASE_MIRROR;
    if (source && !streq(source, "api"))
        fails |= 1u << BASE_STATIC;
    return fails;
}

static unsigned check_owner(const struct migration_args *a, const struct pod *p)
{
    if (p->obj.meta.owners.n || a->evict_all_bare_pods || args_skip(a, GATE_BARE_PODS))
        return 0;
    if (!a->evict_failed_bare_pods)
        return 1u << BASE_BARE;
    return p->status.phase == POD_FAILED ? 0 : 1u << BASE_BARE_NOT_FAILED;
}

static unsigned check_priority(const struct migration_args *a, const struct pod *p)
{
    const struct priority_threshold *t = a->priority_threshold;
    const struct opt_i32 priority = p->spec->priority;
    unsigned fails = 0;

    if (a->evict_system_critical_pods || !priority.set)
        return 0;
    if (priority.v >= CRITICAL_PRIORITY && !args_skip(a, GATE_SYSTEM_CRITICAL))
        fails |= 1u << BASE_CRITICAL;
    if (t && t->value.set && priority.v >= t->value.v && !args_skip(a, GATE_PRIORITY_THRESHOLD))
        fails |= 1u << BASE_PRIORITY;
    return fails;
}

unsigned check_base(const struct migration_args *a, const struct pod *p)
{
    unsigned fails = check_nature(p) | check_owner(a, p) | check_priority(a, p);

    if (!a->evict_local_storage_pods && !args_skip(a, GATE_LOCAL_STORAGE) && has_local_storage(p))
        fails |= 1u << BASE_LOCAL_STORAGE;
    if (a->ignore_pvc_pods && !args_skip(a, GATE_PVC) && has_claim(p))
        fails |= 1u << BASE_PVC;
    if (a->selector && !args_skip(a, GATE_LABEL_SELECTOR) &&
        !labelsel_matches(a->selector, &p->obj.meta.labels))
        fails |= 1u << BASE_LABELS;
    return fails;
}

bool pod_wants_eviction(const struct pod *p)
{
    return has_annotation(p, ANNO_DESCHEDULER_EVICT);
}

static bool contains(const kstrlist *l, const char *s)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], s))
            return true;
    return false;
}

bool check_scheduler(const struct migration_args *a, const struct pod *p)
{
    return !streq(a->default_job_mode, MIGRATION_MODE_RESERVATION_FIRST) ||
           contains(&a->scheduler_names, kd_pod_scheduler(p));
}

static bool check_namespace(const struct migration_args *a, const struct pod *p)
{
    const struct namespaces *n = a->namespaces;

    if (!n || args_skip(a, GATE_NAMESPACES))
        return true;
    return n->include.n ? contains(&n->include, p->obj.meta.ns)
                        : !contains(&n->exclude, p->obj.meta.ns);
}

static bool is_never_evicted(const struct pod *p)
{
    int32_t cost = 0;
    return eviction_cost(&p->obj.meta.annotations, &cost, NULL) == 0 && cost == EVICTION_COST_NEVER;
}

static bool no(struct strbuf *why, const char *text)
{
    if (why)
        strbuf_append(why, text);
    return false;
}

/* Moving one of too few would take all of them. */
static enum check_answer check_replicas(const struct checks *c, const struct pod *p,
                                        struct strbuf *why)
{
    const struct migration_args *a = c->args;
    const struct owner_ref *o = kobj_controller(&p->obj);

    if (!o || args_skip(a, GATE_EXPECTED_REPLICAS))
        return CHECK_YES;
    const struct workload_state *w = workloads_find(c->workloads, p->obj.meta.ns, o);
    if (w->known == WORKLOAD_AWAITED)
        return CHECK_LATER;
    if (w->known == WORKLOAD_REFUSED) {
        if (why)
            strbuf_appendf(why, "its owner %s %s cannot be read", o->kind, o->name);
        return CHECK_NO;
    }
    if (a->skip_check_expected_replicas.set && a->skip_check_expected_replicas.v)
        return CHECK_YES;
    int64_t n = w->replicas;
    if (n != 1 && n != max_of(n, a->max_migrating_per_workload) &&
        n != max_of(n, a->max_unavailable_per_workload))
        return CHECK_YES;
    if (why)
        strbuf_appendf(why, "%s %s has %lld replicas, too few for one to be moved", o->kind,
                       o->name, (long long)n);
    return CHECK_NO;
}

enum check_answer check_permanent(const struct checks *c, const struct pod *p, struct strbuf *why)
{
    if (pod_wants_eviction(p))
        return CHECK_YES;
    if (!check_namespace(c->args, p))
        return no(why, "its namespace is left out by the configuration") ? CHECK_YES : CHECK_NO;
    if (is_never_evicted(p))
        return no(why, "its eviction cost says that it is never evicted") ? CHECK_YES : CHECK_NO;
    unsigned fails = check_base(c->args, p);
    if (fails)
        return no(why, base_check_texts[__builtin_ctz(fails)]) ? CHECK_YES : CHECK_NO;
    return check_replicas(c, p, why);
}

bool check_filter(const struct checks *c, const struct pod *p, struct strbuf *why)
{
    struct limit_hit hit;

    if (jobtally_has(c->tally, p))
        return no(why, "there is a PodMigrationJob for it");
    if (jobtally_rejected(c->tally, p))
        return no(why, "a person has rejected a PodMigrationJob for it");
    if (!check_scheduler(c->args, p))
        return no(why, "its scheduler makes no Reservations (schedulerNames)");
    switch (check_permanent(c, p, why)) {
    case CHECK_NO: return false;
    case CHECK_LATER: return no(why, "its owner is being asked for");
    case CHECK_YES: break;
    }
    if (check_limits(c, TALLY_ALL, p, &hit))
        return true;
    if (why)
        limit_text(c, TALLY_ALL, p, &hit, why);
    return false;
}
