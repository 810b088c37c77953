/* cronjob.h - inside the CronJob controller.
 *
 *   cronjob.c        news, what one pass does: which scheduled time is due, and its Job
 *   cronjob_view.c   what a pass sees: the CronJob's Jobs, the status they make, what is history
 *   tzone.c          time zones
 *
 * The Job of a scheduled time has one name, and says in an annotation which time it is for. So a
 * create that is repeated finds the first one, and a time counts as dealt with as soon as its Job
 * is seen, even when the process ended before it could write that into the status.
 */
#ifndef KOORD_CLUSTER_CRONJOB_H
#define KOORD_CLUSTER_CRONJOB_H
#include "cluster/internal.h"
#include "sys/cron_schedule.h"
#include "sys/tzone.h"

#define CRON_SCHEDULED "batch.kubernetes.io/cronjob-scheduled-timestamp"

struct cronview { /* lists are the arena's */
    struct cluster *c;
    const struct cronjob *cj;
    kobjvec jobs;           /* that it controls */
    struct cron_status now; /* the status as it should be */
};
/* With events about what has happened since the last status. */
void cronview_init(struct cronview *v, struct cluster *c, const struct cronjob *cj,
                   struct informer *jobs, struct arena *a);
void cronview_fini(struct cronview *v);
/* Jobs that have ended, beyond the limits of the history. */
void cronview_prune(struct batch *b, const struct cronview *v);
/* Ends all Jobs that are active, and takes them off that list. */
void cronview_replace(struct batch *b, struct cronview *v);
void cron_status_write(struct batch *b, const struct cronjob *cj, const struct cron_status *now);

/* "<CronJob>-<minutes since 1970>" */
const char *cron_job_name(const struct cronjob *cj, int64_t scheduled, struct arena *a);
#endif
