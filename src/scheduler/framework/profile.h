/* profile.h - a set of plugins for one scheduler name: who takes part where, in which order.
 *
 * Loop thread. Holds no pods and no nodes. A plugin is named by its slot; sets of plugins are bits.
 * The slots of those that filter come first and in the order in which they filter.
 */
#ifndef KOORD_SCHEDULER_PROFILE_H
#define KOORD_SCHEDULER_PROFILE_H
#include "base/vec.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/service_table.h"

struct arena;
struct stopwatch;
struct hint_stopwatch;

extern const char *const ks_point_names[KS_POINTS]; /* "queueSort", as in configuration files */

struct ks_registered { /* plugins/registry.c */
    const struct ks_plugin *plugin;
    int64_t weight;  /* of its score, in the default profile */
    bool by_default; /* part of the default profile */
};
extern const struct ks_registered ks_registry[]; /* ends with plugin NULL; the default order */
/* NULL: no such plugin, or only planned. */
const struct ks_registered *ks_registered_find(const char *plugin);
const char *ks_code_name(enum ks_code c); /* as upstream's: "UnschedulableAndUnresolvable" */
bool ks_implements(const struct ks_plugin *pl, enum ks_point point);
/* May a configuration enable it there? */
bool ks_extends(const struct ks_plugin *pl, enum ks_point point);

/* What a profile is made from: for each point the plugins in order. Filled by config/. */
struct profile_entry {
    const char *plugin;
    int64_t weight; /* of KS_POINT_SCORE; 0 counts as 1 */
};
struct profile_args {
    const char *plugin;
    const void *args; /* by args_decode(); a plugin that is not listed gets its defaults */
};
struct profile_config { /* everything is borrowed, and needed only by profile_new() */
    const char *scheduler_name;
    struct profile_set {
        const struct profile_entry *items;
        uint32_t n;
    } points[KS_POINTS];
    const struct profile_args *args;
    uint32_t nargs;
};
/* Every plugin of a table that is on by default, at every point that it implements. */
struct profile_config profile_config_default(const struct ks_registered *table,
                                             const char *scheduler_name, struct arena *a);

/* Koordinator's extension points, where plugins of KS_POINT_PRE_FILTER take part. */
enum profile_extra {
    PROFILE_TRANSFORM,
    PROFILE_AFTER_PRE_FILTER,
    PROFILE_FIND_ONE,
    PROFILE_PREFER,
    PROFILE_EXTRAS
};
/* One slot more is for extenders (extender/): they stand outside and hear of every event. */
enum { PROFILES_MAX = 8 }; /* in force at a time */
enum { PROFILE_PLUGINS_MAX = 63, PROFILE_EXTENDER = PROFILE_PLUGINS_MAX };
struct profile_slot {
    const struct ks_plugin *plugin;
    void *self;
    void *args; /* NULL: it has none */
    int64_t weight;
    struct rowset *rows; /* NULL: it derives nothing from rows */
};
enum { PROFILE_KINDS_MAX = 24 };
struct profile_keys vec_of(const char *);
struct profile {
    char *scheduler_name;
    struct arena *arena; /* of the args */
    uint32_t n;
    struct profile_kind { /* read by plugins whose verdicts are reused, and not of a node */
        const struct kind *kind;
        bool status; /* counts too */
    } reused[PROFILE_KINDS_MAX];
    uint32_t nreused;
    struct profile_keys pod_annotations; /* read by some plugin */
    struct profile_keys pod_labels;      /* read by some LOCAL plugin */
    struct service_set services;
    struct service_table *own_services; /* when there is no other table; NULL: there is */
    uint32_t ncreated;                  /* slots whose plugin was created */
    uint64_t keyed;                     /* slots of plugins that wake by key */
    uint64_t with_rows;                 /* slots with row data that is not on demand */
    uint64_t hooked;                    /* slots that take part in reservations */
    int nominates;                      /* the slot that nominates them; -1: none */
    struct profile_slot slots[PROFILE_PLUGINS_MAX];
    struct profile_point {
        uint8_t slots[PROFILE_PLUGINS_MAX];
        uint32_t n;
        uint64_t set;
    } points[KS_POINTS], extras[PROFILE_EXTRAS];
};

struct profile *profile_new(const struct profile_config *c, const struct ks_registered *table,
                            const struct ks_env *env, struct kerr *err);
struct profile *profile_free(struct profile *p);
DEFINE_CLEANUP(profile_free, struct profile *)
/* The slot of a plugin, -1 when it is not in the profile. */
int profile_slot(const struct profile *p, const char *name);
/* for (uint32_t i = 0; (s = profile_at(p, point, i)); i++) */
static inline const struct profile_slot *profile_at(const struct profile *p, enum ks_point point,
                                                    uint32_t i)
{
    return i < p->points[point].n ? &p->slots[p->points[point].slots[i]] : NULL;
}

/* Changes with every object that verdicts and scores which are reused could depend on. Plugins that
 * are asked each time (KS_REUSE_GLOBAL) see the object cache as it is: what they read does not
 * count. */
uint64_t profile_objects_generation(const struct profile *p, const struct objects *w);
/* The slot that holds the pod back, or -1; `why` gets its reasons. */
int profile_pre_enqueue(const struct profile *p, const struct pod *pod, struct ks_texts *why);
/* The same; w is told how long it took, and may be NULL. */
int profile_pre_enqueue_timed(const struct profile *p, const struct pod *pod, struct ks_texts *why,
                              struct stopwatch *w);
/* Would all pre_enqueues but that of the plugin of this name let the pod in? */
bool profile_others_let_in(const struct profile *p, const struct pod *pod, const char *plugin);
/* Should a be tried before b? */
bool profile_before(const struct profile *p, const struct pod *a, nsec_t a_since,
                    const struct pod *b, nsec_t b_since);
/* Undoes all reservations, in reverse order. w: as above. */
void profile_unreserve(const struct profile *p, const struct pod *pod, const char *node,
                       struct stopwatch *w);

/* ---- events ---------------------------------------------------------------------------------- */

/* The slots that registered for an event. */
uint64_t profile_listeners(const struct profile *p, const struct ks_event *e);
/* Is a pod that these slots rejected worth another attempt after the event? */
bool profile_worth(const struct profile *p, uint64_t rejectors, const struct ks_event *e,
                   const struct pod *pod);
/* The same; hints that are asked are told to w, which may be NULL. */
bool profile_worth_timed(const struct profile *p, uint64_t rejectors, const struct ks_event *e,
                         const struct pod *pod, struct hint_stopwatch *w);
#endif
