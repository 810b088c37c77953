/* koord_scheduler_int.h - what the files of the program koord-scheduler share. */
#ifndef KOORD_MAIN_KOORD_SCHEDULER_INT_H
#define KOORD_MAIN_KOORD_SCHEDULER_INT_H
#include "main/koord_scheduler.h"
#include "scheduler/config/config.h"

struct counter;
struct kind;

enum { UNWATCHED_MAX = 8 };

struct program_state {
    struct run *run;
    const struct sched_options *o;
    struct config *config;   /* of the start; what takes a restart to change stays from it */
    struct sched_config now; /* in force: the file's, and over it the flags that were given */
    struct config_watch *watch;
    struct timer *again, *waiting; /* waiting: for the caches, before the election */
    struct kube *kube;
    const struct kind *unwatched[UNWATCHED_MAX];
    struct scheduler *scheduler;
    struct explainer *explainer;
    struct barrier *barrier;
    struct serve *serve;
    struct delegate *delegate;
    struct leader *leader;
    char *identity, *instance;
    struct election_watchdog watchdog;
    struct counter *loaded, *refused;
    bool leading, watching;
};

/* koord_scheduler_settings.c: the configuration, and the flags that count more. */
int settings_load(struct program_state *p, struct kerr *err);
int settings_write(const struct program_state *p, struct kerr *err); /* --write-config-to */
void settings_log(const struct sched_config *c); /* what it asks for and is not here yet */
int settings_make_scheduler(struct program_state *p, struct kerr *err);
void settings_watch(struct program_state *p); /* a changed file takes effect */
#endif
