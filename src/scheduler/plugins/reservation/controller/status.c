/* status.c - what the status of a Reservation should say (sched-reservation 6, 12). */
#include "scheduler/plugins/reservation/controller/status.h"

#include "api/podresources.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "controllers/conditions.h"

static void set_ready(struct reservation_status *s, uint8_t status, const char *reason,
                      const char *message, nsec_t now, struct arena *a)
{
    const struct timed_condition c = { .type = RESERVATION_CONDITION_READY,
                                       .status = status,
                                       .reason = reason,
                                       .message = message,
                                       .last_probe_time = now };
    conditions_renew(&s->conditions, &c, now, a);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void expire(const struct reservation *r, const char *why, bool warning, nsec_t now,
                   struct arena *a, struct resv_plan *ret)
{
    *ret = (struct resv_plan){ .writes = true,
                               .to = r->status,
                               .reason = RESERVATION_REASON_EXPIRED,
                               .text = why,
                               .warning = warning };
    ret->to.phase = RESERVATION_FAILED;
    set_ready(&ret->to, COND_FALSE, RESERVATION_REASON_EXPIRED, why, now, a);
}

/* An end before its beginning is most likely a mistake, and says so. */
static const char *why_it_ends(const struct reservation *r, const struct reservation_end *end,
                               bool never_was, struct arena *a)
{
    char when[KTIME_TEXT_MAX], ttl[KTIME_TEXT_MAX];

    ktime_format(end->when, when);
    kdur_format(r->spec.ttl_ns.v, ttl);
    if (!streq(end->field, "spec.ttl"))
        return arena_printf(a, "%s: %s %s", end->field, when,
                            never_was ? "was before its creation" : "has passed");
    if (never_was)
        return arena_printf(a, "%s: %s is below 0", end->field, ttl);
    return arena_printf(a, "%s: %s have passed since its creation", end->field, ttl);
}

/* ---- owners ---------------------------------------------------------------------------------- */

struct owner {
    const struct pod *pod;
    char uid[KUID_TEXT_MAX];
};

static int by_uid(const void *a, const void *b)
{
    return strcmp(((const struct owner *)a)->uid, ((const struct owner *)b)->uid);
}

static struct owner *find_owners(const struct reservation *r, struct kobj *const *pods, size_t n,
                                 struct arena *a, uint32_t *ret_n)
{
    struct owner *owners = arena_newn0(a, n + 1, struct owner);

    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pod *p = pod_of(pods[i]);
        if (pod_is_terminal(p) || !streq(str_or(p->node_name, ""), r->status.node_name))
            continue;
        owners[*ret_n].pod = p;
        kuid_format(p->obj.meta.uid, owners[(*ret_n)++].uid, KUID_TEXT_MAX);
    }
    qsort(owners, *ret_n, sizeof *owners, by_uid);
    return owners;
}

/* What they take of what is reserved; other resources come from the node. */
static reslist sum_requests(const reslist *names, const struct owner *owners, uint32_t n,
                            struct arena *a)
{
    reslist sum = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        reslist one = pod_requests(owners[i].pod, NULL, a);
        for (uint32_t k = 0; k < one.n; k++) {
            const struct resqty *q = &one.items[k];
            if (reslist_has(names, q->name))
                sum = reslist_with(&sum, q->name, qty_add(reslist_get(&sum, q->name), q->value), a);
        }
    }
    return sum;
}

/* Whatever the order of those that are stored: another program may have written them. */
static bool has_owners(const struct reservation_status *s, const struct owner *owners, uint32_t n)
{
    if (s->current_owners.n != n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < n && !kuid_equal(s->current_owners.items[k].uid, owners[i].pod->obj.meta.uid))
            k++;
        if (k == n)
            return false;
    }
    return true;
}

static void put_owners(struct reservation_status *s, const struct owner *owners, uint32_t n,
                       struct arena *a)
{
    s->current_owners.items = arena_newn0(a, n + 1, struct object_ref);
    s->current_owners.n = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct objmeta *m = &owners[i].pod->obj.meta;
        s->current_owners.items[i] =
            (struct object_ref){ .ns = m->ns, .name = m->name, .uid = m->uid };
    }
}

/* False: the status says so already. */
static bool tell_owners(const struct reservation *r, const struct resv_facts *f, struct arena *a,
                        struct reservation_status *ret)
{
    uint32_t nowners;
    struct owner *owners = find_owners(r, f->pods, f->npods, a, &nowners);
    reslist allocated = sum_requests(&r->status.allocatable, owners, nowners, a);

    if (has_owners(&r->status, owners, nowners) && reslist_equal(&r->status.allocated, &allocated))
        return false;
    *ret = r->status;
    ret->allocated = allocated;
    put_owners(ret, owners, nowners, a);
    if (reservation_is_once(r)) {
        ret->phase = RESERVATION_SUCCEEDED;
        set_ready(ret, COND_FALSE, RESERVATION_REASON_SUCCEEDED, "", f->now, a);
    }
    return true;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Without a node it is never tried, so nobody else writes this condition. */
static bool fault_of_pending(const char *fault, nsec_t now, struct arena *a,
                             struct reservation_status *s)
{
    const struct timed_condition c = { .type = RESERVATION_CONDITION_SCHEDULED,
                                       .status = COND_FALSE,
                                       .reason = RESERVATION_REASON_UNSCHEDULABLE,
                                       .message = fault,
                                       .last_probe_time = now };
    return fault && conditions_set(&s->conditions, &c, now, a);
}

/* The first of what is wrong, or NULL. One without a node may wait for its owners to be mended. */
static const char *fault_of(const struct reservation *r, struct arena *a)
{
    struct kerr err = { 0 };
    int code =
        reservation_has_node(r) ? reservation_check_use(r, a, &err) : reservation_check(r, a, &err);

    return code < 0 ? arena_strdup(a, err.text) : NULL;
}

/* False: the conditions say so already. */
static bool tell_fault(const struct reservation *r, const char *fault, nsec_t now, struct arena *a,
                       struct reservation_status *ret)
{
    const struct timed_condition *ready =
        conditions_find(&r->status.conditions, RESERVATION_CONDITION_READY);
    bool said = ready && streq(ready->reason, RESERVATION_REASON_INVALID);

    *ret = r->status;
    if (!reservation_has_node(r))
        return fault_of_pending(fault, now, a, ret);
    if (fault ? said && streq(ready->message, fault) : !said)
        return false;
    if (fault)
        set_ready(ret, COND_FALSE, RESERVATION_REASON_INVALID, fault, now, a);
    else
        set_ready(ret, COND_TRUE, RESERVATION_REASON_AVAILABLE, "", now, a);
    return true;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static void plan_living(const struct reservation *r, const struct resv_facts *f, struct arena *a,
                        struct resv_plan *ret)
{
    const char *fault = fault_of(r, a);

    if (tell_fault(r, fault, f->now, a, &ret->to)) {
        ret->writes = true;
        ret->warning = true;
        ret->text = fault;
        if (fault)
            ret->reason = reservation_has_node(r) ? RESERVATION_REASON_INVALID : "FailedScheduling";
    } else if (reservation_has_node(r)) {
        ret->writes = tell_owners(r, f, a, &ret->to);
    }
}

void resv_plan_status(const struct reservation *r, const struct resv_facts *f, struct arena *a,
                      struct resv_plan *ret)
{
    struct reservation_end end;
    bool ends = reservation_end(r, &end), never_was = ends && end.when <= r->obj.meta.created;

    *ret = (struct resv_plan){ .again = ends ? end.when - f->now : 0 };
    if (ends && end.when <= f->now)
        expire(r, why_it_ends(r, &end, never_was, a), never_was, f->now, a, ret);
    else if (reservation_has_node(r) && f->node == RESV_NODE_GONE)
        expire(r, arena_printf(a, "status.nodeName: node \"%s\" is gone", r->status.node_name),
               true, f->now, a, ret);
    else if (reservation_has_node(r) && f->node == RESV_NODE_NOT_KNOWN)
        ret->asks_for_node = true;
    else
        plan_living(r, f, a, ret);
}
