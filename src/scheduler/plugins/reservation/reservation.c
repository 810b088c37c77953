/* reservation.c - Reservation: capacity that is kept for pods to come.
 *
 * Not implemented yet: the name, the extension points and the args are known, so that
 * configurations which name it are accepted and checked.
 */
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/args.h"

const struct ks_plugin ks_plugin_reservation = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Reservation",
    .planned = true,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(POST_FILTER) | KS_AT(PRE_SCORE) |
              KS_AT(SCORE) | KS_AT(RESERVE) | KS_AT(PRE_BIND) | KS_AT(BIND),
    .args = &reservation_args,
};
