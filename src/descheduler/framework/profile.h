/* profile.h - the plugins of one profile, and the evictor that they share.
 *
 * A profile is made from a configuration and lives until the next one that does not have it. Its
 * plugins are created when it is, and act (rounds, controllers) from kd_profile_start() on. Loop
 * thread only.
 */
#ifndef KOORD_DESCHEDULER_PROFILE_H
#define KOORD_DESCHEDULER_PROFILE_H
#include "descheduler/framework/plugin.h"

struct labelsel;
struct metric;
struct moves;

/* ---- from the configuration ------------------------------------------------------------------- */

struct kd_enabled {
    const struct kd_plugin *const *items; /* in the order of the configuration */
    uint32_t n;
};
struct kd_plugin_args {
    const struct kd_plugin *plugin;
    const void *args;
};
struct kd_profile_config { /* must live as long as the profile, or until kd_profile_update() */
    const char *name;
    const struct labelsel *nodes; /* NULL: all */
    struct kd_enabled points[KD_POINTS];
    const struct kd_plugin_args *args;
    uint32_t nargs;
};

/* ---- limits of a round ------------------------------------------------------------------------ */

struct kd_limits {
    struct opt_i64 per_node, per_namespace, total;
};
struct limiter; /* how many were evicted in this round, over all profiles */
struct limiter *limiter_new(void);
struct limiter *limiter_free(struct limiter *l); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(limiter_free, struct limiter *)
void limiter_set(struct limiter *l, const struct kd_limits *limits);
void limiter_reset(struct limiter *l); /* a round begins */
uint64_t limiter_count(const struct limiter *l);

/* ---- who wants to know ------------------------------------------------------------------------ */

struct kd_decision {
    const char *profile, *plugin, *reason;
    const struct pod *pod;
    bool evicted;    /* or it would be: a dry run */
    const char *why; /* then "", else what refused it */
};
struct kd_node_class { /* what a plugin makes of a node */
    const char *profile, *plugin, *class;
    const char *node;
    const char *detail; /* for people: use and thresholds */
};
struct kd_observer { /* members may be NULL */
    void (*decided)(void *arg, const struct kd_decision *d);
    void (*node)(void *arg, const struct kd_node_class *c);
    void *arg;
};

/* ---- profiles --------------------------------------------------------------------------------- */

struct kd_shared {     /* what all profiles of a descheduler share; must outlive them */
    struct kd_env env; /* without profile and evictor */
    struct informer *nodes, *pods;
    const struct labelsel *include; /* nodes of the configuration; NULL: all */
    struct limiter *limiter;
    struct moves *moves;                /* NULL: no memory of moves */
    bool dry_run, at_once;              /* as in struct kd_round */
    const struct kd_observer *observer; /* NULL: nobody */
};
struct kd_profile;
struct kd_profile *kd_profile_new(const struct kd_shared *s, const struct kd_profile_config *c,
                                  unsigned index, struct kerr *err);
struct kd_profile *kd_profile_free(struct kd_profile *p); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(kd_profile_free, struct kd_profile *)
/* Plugins that are in both configurations and can go on with other args do so. On an error nothing
 * has changed. */
int kd_profile_update(struct kd_profile *p, const struct kd_profile_config *c, unsigned index,
                      struct kerr *err);
const char *kd_profile_name(const struct kd_profile *p);
/* The objects of the kinds that its plugins name are there. */
bool kd_profile_synced(const struct kd_profile *p);
void kd_profile_start(struct kd_profile *p);

/* ---- a round ---------------------------------------------------------------------------------- */

/* One turn of a point's plugins, in their order: 1 while there is more, 0 when they have finished;
 * negative when one of them failed, with the texts of all in err. view: the same for all turns. */
struct kd_profile_run;
struct kd_profile_run *kd_profile_run_new(struct kd_profile *p, enum kd_point point,
                                          const struct kd_view *v);
struct kd_profile_run *kd_profile_run_free(
    struct kd_profile_run *r); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(kd_profile_run_free, struct kd_profile_run *)
int kd_profile_run_turn(struct kd_profile_run *r, struct kerr *err);

/* What keeps a pod where it is, asked of all filters; false and why->text when something does. */
bool kd_profile_may_go(struct kd_profile *p, const struct kd_view *v, const struct pod *pod,
                       struct kd_why *why);
#endif
