/* reservation.c - the mutating webhook of Reservations: profiles act on them as on pods, but for
 * namespaces and resources (manager 8.1). */
#include "manager/webhook/profile_steps.h"
#include "manager/webhook/webhook_int.h"

static int by_profiles(struct webhook_call *c)
{
    struct profiles_done done;

    return profiles_run(c, true, &done);
}

const struct webhook_step reservation_mutate_steps[] = {
    { "ClusterColocationProfile", by_profiles },
    { NULL, NULL },
};
