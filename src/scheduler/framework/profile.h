/* profile.h - a set of plugins with their weights, and the runs over all of them.
 *
 * Loop thread. Holds no pods and no nodes; everything of one attempt lives in the arena of its
 * cycle. A plugin is named by its slot, its place in the profile's order; sets of plugins are bits.
 */
#ifndef KOORD_SCHEDULER_PROFILE_H
#define KOORD_SCHEDULER_PROFILE_H
#include "scheduler/framework/plugin.h"

struct loop;
struct strbuf;

enum { PROFILE_PLUGINS_MAX = 64 };
struct profile_slot {
    const struct ks_plugin *plugin;
    void *self;
    int64_t weight;
};
struct profile {
    uint32_t n;
    struct profile_slot slots[PROFILE_PLUGINS_MAX];
};
struct ks_registered { /* plugins/registry.c */
    const struct ks_plugin *plugin;
    int64_t weight; /* of its score, in the default profile */
};
extern const struct ks_registered ks_registry[]; /* ends with plugin NULL; the default order */

/* With every plugin of the table. */
struct profile *profile_new(const struct ks_registered *table, struct kerr *err);
struct profile *profile_free(struct profile *p);
DEFINE_CLEANUP(profile_free, struct profile *)
/* The slot of a plugin, -1 when it is not in the profile. */
int profile_slot(const struct profile *p, const char *name);

/* The slot that holds the pod back, or -1; `why` gets its reasons. */
int profile_pre_enqueue(const struct profile *p, const struct pod *pod, struct ks_texts *why);

/* ---- one attempt ----------------------------------------------------------------------------- */

struct verdicts { /* arrays live in the cycle's arena */
    uint32_t n, feasible;
    uint8_t *by;        /* slot + 1 of the first plugin that rejected the row; 0: a candidate */
    uint8_t *why;       /* that plugin's reason */
    void **state;       /* per slot */
    uint64_t rejectors; /* slots */
    const char *pre_filter_text; /* set when a pre_filter rejected all; then by[] is all set */
};
void profile_filter(const struct profile *p, struct ks_cycle *c, const struct ks_pod *pod,
                    struct verdicts *v);
/* total[row] of the candidates, weighted. */
int64_t *profile_score(const struct profile *p, struct ks_cycle *c, const struct ks_pod *pod,
                       const struct verdicts *v);
/* A random one among the best candidates. */
uint32_t profile_pick(const struct verdicts *v, const int64_t *total, struct loop *l);
/* "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable." */
void profile_explain(const struct profile *p, struct ks_cycle *c, const struct ks_pod *pod,
                     const struct verdicts *v, struct strbuf *out);

/* All in order, or none: what was done is undone in reverse order. The slot that refused, or -1. */
int profile_reserve(const struct profile *p, const struct pod *pod, const char *node,
                    struct ks_texts *why);
void profile_unreserve(const struct profile *p, const struct pod *pod, const char *node);

/* ---- events ---------------------------------------------------------------------------------- */

/* The slots that registered for an event. */
uint64_t profile_listeners(const struct profile *p, const struct ks_event *e);
/* Is a pod that these slots turned down worth another attempt after the event? */
bool profile_worth(const struct profile *p, uint64_t rejectors, const struct ks_event *e,
                   const struct pod *pod);
#endif
