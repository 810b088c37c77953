/* plugin_texts.h - small pods and nodes as texts for the fixtures: a name or UID and a spec. */
#ifndef KOORD_SCHEDULER_TEST_PLUGIN_TEXTS_H
#define KOORD_SCHEDULER_TEST_PLUGIN_TEXTS_H
#include "scheduler/test/plugin_checks.h"

/* Good for three calls. */
static inline UNUSED const char *pod_text(const char *uid, const char *spec)
{
    static char text[3][1024];
    static int next;
    char *at = text[next++ % 3];

    (void)snprintf(at, sizeof text[0],
                   "{'metadata':{'name':'p','namespace':'ns','uid':'%s'},'spec':{%s}}", uid, spec);
    return at;
}

/* Good for three calls. */
static inline UNUSED const char *node_text(const char *name, const char *spec)
{
    static char text[3][512];
    static int next;
    char *at = text[next++ % 3];

    (void)snprintf(at, sizeof text[0], "{'metadata':{'name':'%s'},'spec':{%s}}", name, spec);
    return at;
}
#define TOLERATES(t) pod_text("p", "'tolerations':[{" t "}]")
#endif
