/* koord_scheduler_int.h - what the files of the program koord-scheduler share. */
#ifndef KOORD_MAIN_KOORD_SCHEDULER_INT_H
#define KOORD_MAIN_KOORD_SCHEDULER_INT_H
#include "component/service.h"
#include "main/koord_scheduler.h"
#include "scheduler/config/config.h"

struct kind;

enum { UNWATCHED_MAX = 8 };

struct program_state {
    struct run *run;
    const struct sched_options *o;
    struct config *config;   /* of the start; what takes a restart to change stays from it */
    struct sched_config now; /* in force: the file's, and over it the flags that were given */
    struct config_watch *watch;
    struct service_opts service_opts;
    struct service *service;
    const struct kind *unwatched[UNWATCHED_MAX];
    struct scheduler *scheduler;
    struct explainer *explainer;
    struct barrier *barrier;
    char *plain; /* address of the plain port */
    bool watching;
};

/* koord_scheduler_settings.c: the configuration, and the flags that count more. */
int settings_load(struct program_state *p, struct kerr *err);
int settings_write(const struct program_state *p, struct kerr *err); /* --write-config-to */
void settings_log(const struct sched_config *c); /* what it asks for and is not here yet */
struct service_opts settings_service(struct program_state *p);
int settings_make_scheduler(struct program_state *p, struct kerr *err);
void settings_watch(struct program_state *p); /* a changed file takes effect */
#endif
