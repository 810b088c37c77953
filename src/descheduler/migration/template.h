/* template.h - the Reservation that a job makes for its pod (descheduler 4.9). */
#ifndef KOORD_DESCHEDULER_MIGRATION_TEMPLATE_H
#define KOORD_DESCHEDULER_MIGRATION_TEMPLATE_H
#include "api/koord/podmigrationjob.h"

struct kj_val;
struct strbuf;

struct template_opts {
    nsec_t now;          /* wall clock: the order of Reservations */
    bool without_claims; /* feature gate DisablePVCReservation */
};
/* May the job's template become a Reservation? The message begins with the field's path. NULL (no
 * template) may. */
int template_check(const char *json, struct kerr *err);
/* The Reservation as JSON. pod: the whole document, as the server has it. */
int template_render(const struct podmigrationjob *j, const struct kj_val *pod,
                    const struct template_opts *o, struct strbuf *out, struct kerr *err);
#endif
