/* reservation_life.c - phases, end and faults of a Reservation (sched-reservation 3, 12). */
#include "api/koord/reservation_life.h"

#include "api/protocol/reservation.h"
#include "api/selector/selector.h"

#define DEFAULT_TTL (24 * 3600 * NSEC_PER_SEC) /* of the CRD */

bool reservation_is_expired(const struct reservation *r)
{
    const timed_conditionlist *l = &r->status.conditions;
    uint32_t i = 0;

    while (i < l->n && !streq(l->items[i].type, RESERVATION_CONDITION_READY))
        i++;
    return r->status.phase == RESERVATION_FAILED && i < l->n && l->items[i].status == COND_FALSE &&
           streq(l->items[i].reason, RESERVATION_REASON_EXPIRED);
}

bool reservation_end(const struct reservation *r, struct reservation_end *ret)
{
    const struct opt_i64 *ttl = &r->spec.ttl_ns;
    struct reservation_end end = { r->spec.expires, "spec.expires" };
    nsec_t by_ttl;
    bool counts = ttl->set && !(r->spec.expires && ttl->v == DEFAULT_TTL);

    if (ttl->set && ttl->v == 0)
        return false;
    /* A sum beyond the end of time never comes. */
    if (counts && !__builtin_add_overflow(r->obj.meta.created, ttl->v, &by_ttl) &&
        (!end.when || by_ttl < end.when))
        end = (struct reservation_end){ by_ttl, "spec.ttl" };
    if (!end.when)
        return false;
    *ret = end;
    return true;
}

int reservation_check(const struct reservation *r, struct arena *a, struct kerr *err)
{
    struct pod_template t;

    if (!r->spec.template)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "spec.template: Required value: the reservation misses the template spec");
    if (reservation_template(r, a, &t, err) < 0)
        return err->code;
    if (r->spec.owners.n == 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "spec.owners: Required value: the reservation misses the owner spec");
    if (!r->spec.ttl_ns.set && !r->spec.expires)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "spec.ttl: Required value: the reservation misses the expiration spec");
    return 0;
}

int reservation_check_use(const struct reservation *r, struct arena *a, struct kerr *err)
{
    struct reservation_restricted_options options;
    struct labelsel *unused;

    for (uint32_t i = 0; i < r->spec.owners.n; i++) {
        const struct label_selector *s = r->spec.owners.items[i].label_selector;
        if (s && labelsel_from(s, a, &unused, err) < 0)
            return kerr_wrap(err, "spec.owners[%u].labelSelector", i);
    }
    if (r->spec.allocate_policy == ALLOCATE_RESTRICTED &&
        reservation_restricted_options_read(&r->obj.meta.annotations, a, &options, err) < 0)
        return kerr_wrap(err, "metadata.annotations[%s]", ANNO_RESERVATION_RESTRICTED);
    return 0;
}
