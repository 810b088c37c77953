/* reservation.c - Reservation: capacity that is kept for pods to come (sched-reservation). */
#include "api/pod.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/plugin.h"

/* ---- life ------------------------------------------------------------------------------------ */

static int resv_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    struct resv_plugin *x = xnew0(struct resv_plugin);

    (void)err;
    x->env = *env;
    x->args = args;
    x->cache = reservations_of(env);
    *ret_self = x;
    return 0;
}

static void resv_destroy(void *self)
{
    free(self);
}

/* ---- binding --------------------------------------------------------------------------------- */

static const struct ks_subject *resv_bind(void *self, const struct pod *p)
{
    const struct resv_plugin *x = self;
    return reservations_is_reserve_pod(x->cache, p) ? &resv_subject : NULL;
}

static const struct kind *const kinds[] = { &kind_reservation, NULL };
static const struct ks_service *const services[] = { &reservations_service, NULL };

const struct ks_plugin ks_plugin_reservation = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Reservation",
    .planned = true,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(POST_FILTER) | KS_AT(PRE_SCORE) |
              KS_AT(SCORE) | KS_AT(RESERVE) | KS_AT(PRE_BIND) | KS_AT(BIND),
    .args = &reservation_args,
    .kinds = kinds,
    .services = services,
    .create = resv_create,
    .destroy = resv_destroy,
    .bind = resv_bind,
};
