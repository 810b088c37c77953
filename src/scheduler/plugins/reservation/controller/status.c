/* status.c - what the status of a Reservation should say (sched-reservation 6, 12). */
#include "scheduler/plugins/reservation/controller/status.h"

#include "api/podresources.h"
#include "base/arena.h"
#include "controllers/conditions.h"

static void set_ready(struct reservation_status *s, enum cond_status status, const char *reason,
                      const char *message, nsec_t now, struct arena *a)
{
    const struct timed_condition c = { .type = RESERVATION_CONDITION_READY,
                                       .status = status,
                                       .reason = reason,
                                       .message = message,
                                       .last_probe_time = now };
    conditions_renew(&s->conditions, &c, now, a);
}

void resv_status_expire(const struct reservation *r, const char *why, nsec_t now, struct arena *a,
                        struct reservation_status *ret)
{
    *ret = r->status;
    ret->phase = RESERVATION_FAILED;
    set_ready(ret, COND_FALSE, RESERVATION_REASON_EXPIRED, why, now, a);
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

bool resv_status_use(const struct reservation *r, struct kobj *const *pods, size_t n, nsec_t now,
                     struct arena *a, struct reservation_status *ret)
{
    uint32_t nowners;
    struct owner *owners = find_owners(r, pods, n, a, &nowners);
    reslist allocated = sum_requests(&r->status.allocatable, owners, nowners, a);

    if (has_owners(&r->status, owners, nowners) && reslist_equal(&r->status.allocated, &allocated))
        return false;
    *ret = r->status;
    ret->allocated = allocated;
    put_owners(ret, owners, nowners, a);
    if (reservation_is_once(r)) {
        ret->phase = RESERVATION_SUCCEEDED;
        set_ready(ret, COND_FALSE, RESERVATION_REASON_SUCCEEDED, "", now, a);
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

bool resv_status_fault(const struct reservation *r, const char *fault, nsec_t now, struct arena *a,
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
