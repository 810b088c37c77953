/* demo.h - inside koordctl demo: a day on hollow nodes, first without koord, then with it.
 *
 *   demo.c        the command: two runs with one seed, and the table at the end
 *   demo_run.c    one run: the system on a virtual clock, minute by minute; what is measured
 *   demo_load.c   what people do in that day: services, batch jobs, a noisy neighbour, a sale
 *   demo_tell.c   the story, as it goes
 *
 * Both runs do the same things at the same times; only what runs in the cluster differs. All of it
 * is what `koordctl up` runs (struct up_system), on a clock of its own. Loop thread.
 */
#ifndef KOORD_CTL_DEMO_H
#define KOORD_CTL_DEMO_H
#include "base/vec.h"
#include "ctl/ctl.h"
#include "ctl/up.h"

struct informer;

/* Monday, 5 January 2026, 00:00 UTC: the valley of all services. */
#define DEMO_MIDNIGHT (INT64_C(1767571200) * NSEC_PER_SEC)
#define DEMO_MINUTE   (60 * NSEC_PER_SEC)
/* The node on which old services use much more than they request. */
#define DEMO_HOT_NODE "node-7"

struct demo_plan {
    unsigned nodes, hours;
    uint64_t seed;
};
struct demo_result {
    struct up_use use;
    uint64_t evicted;
    nsec_t longest_wait; /* of a pod for its node */
};

struct demo_job { /* of batch; gone once all of its pods have succeeded */
    char name[32];
    unsigned left;
};
struct demo {
    struct ctl *c;
    const struct up_system *system;
    void *self;
    struct demo_plan plan;
    bool koord;
    struct loop *loop;
    struct intern *strings;
    struct kube *kube; /* the system's */
    struct informer *pods;
    unsigned minute;
    struct vec_of(struct demo_job) jobs;
    unsigned next_job;
    nsec_t longest_wait;
    struct kerr err; /* the first request that failed */
};

/* demo_run.c */
int demo_run(struct ctl *c, const struct demo_plan *p, bool koord, struct demo_result *ret);
/* Creates an object: JSON. What fails ends the run. */
void demo_create(struct demo *d, const char *json);
void demo_scale(struct demo *d, const char *deployment, unsigned replicas);
void demo_patch_config(struct demo *d, const char *json); /* slo-controller-config */
void demo_delete_job(struct demo *d, const char *name);
unsigned demo_waiting(const struct demo *d); /* pods without a node */
/* Minute of the run at which something happens: a share of the whole, in 24ths. */
unsigned demo_at(const struct demo *d, unsigned hour_of_24);

/* demo_load.c */
void demo_load_begin(struct demo *d);  /* before the first minute */
void demo_load_minute(struct demo *d); /* every minute */
/* One more pod of this job has done its work. */
void demo_load_succeeded(struct demo *d, const char *job);

/* demo_tell.c */
void demo_tell_begin(struct demo *d);
void demo_tell_minute(struct demo *d);
void demo_say(struct demo *d, const char *fmt, ...) PRINTF(2, 3); /* with the time of day */
#endif
