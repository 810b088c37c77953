/* hostapp.h - the host applications of the NodeSLO, for those who measure them. */
#ifndef KOORD_KOORDLET_HOSTAPP_H
#define KOORD_KOORDLET_HOSTAPP_H
#include "koordlet/collect/collect_int.h"

struct host_app {
    struct track track;
    char *name, *dir, *priority, *qos;
    struct gauge *cpu, *memory; /* NULL until recorded */
    bool seen;
};
struct host_apps {
    struct vec_of(struct host_app *) apps;
    struct track_reader *reader;
    struct metric *gauges; /* NULL: without */
    const char *node_name;
};
/* What the NodeSLO names now; others are closed. -EAGAIN: there is no NodeSLO yet. */
int host_apps_follow(struct host_apps *h, struct collect_env *e, struct kerr *err);
void host_apps_fini(struct host_apps *h);
#endif
