/* descheduler.h - koord-descheduler as a library: moves pods that had better run elsewhere.
 *
 * Lives on the loop it is given and talks through the kube it is given; both stay the caller's and
 * must outlive it. Watches from descheduler_watch() on; rounds and controllers act from
 * descheduler_lead() on. Loop thread only; do not free it from inside a callback of its kube.
 */
#ifndef KOORD_DESCHEDULER_DESCHEDULER_H
#define KOORD_DESCHEDULER_DESCHEDULER_H
#include "base/base.h"

struct desched_config;
struct descheduler;
struct gates;
struct kd_observer;
struct kd_placer;
struct kd_view;
struct kd_why;
struct kube;
struct loop;
struct metrics;
struct pod;

struct descheduler_opts {
    /* config/config.h; what is in force until descheduler_reload(). It must live as long as it is
     * in force. */
    const struct desched_config *config;
    const char *instance;           /* for events, usually "koord-descheduler-HOST" */
    struct metrics *metrics;        /* NULL: not counted; must outlive the descheduler */
    const struct gates *gates;      /* of framework/gates.h; NULL: defaults; must live on */
    const struct kd_placer *placer; /* the scheduler's own attempt; NULL: none; must live on */
    const char *moves_ns; /* of the ConfigMap koord-descheduler-moves; NULL: koordinator-system */
    bool no_moves;        /* nothing is remembered */
    /* Somebody asks what would be done: rounds are dry runs whatever the configuration says, what
     * several rounds must agree on counts as agreed, and controllers stay off. NULL: nobody. */
    const struct kd_observer *observer;
    void (*round_done)(void *arg, const struct kerr *err); /* err NULL: it went well; may be NULL */
    void *round_arg;
};
/* NULL with err set when a plugin is at fault. */
struct descheduler *descheduler_new(struct loop *l, struct kube *k,
                                    const struct descheduler_opts *o, struct kerr *err);
/* NULL is fine; always returns NULL. */
struct descheduler *descheduler_free(struct descheduler *d);
DEFINE_CLEANUP(descheduler_free, struct descheduler *)
/* Fills the caches and keeps them so, without writing anything. */
void descheduler_watch(struct descheduler *d);
bool descheduler_synced(const struct descheduler *d);
/* Acts from now on: rounds every deschedulingInterval, or one; controllers of plugins. */
void descheduler_lead(struct descheduler *d);
/* A new configuration from the next round on. On an error nothing changes. -EBUSY: a round is
 * under way. */
int descheduler_reload(struct descheduler *d, const struct desched_config *c, struct kerr *err);

/* What keeps a pod where it is, by the filters of the profile; NULL: of the first. False and a text
 * when something does. */
bool descheduler_may_go(struct descheduler *d, const char *profile, const struct kd_view *v,
                        const struct pod *p, struct kd_why *why);
/* The cluster at this moment, to be freed with kd_view_free(). */
struct kd_view *descheduler_view(struct descheduler *d);

struct descheduler_stats {
    uint64_t rounds, failed;
    uint64_t evicted; /* in the last round: accepted by the evict plugin, dry runs too */
    size_t nodes, pods, cache_bytes;
    nsec_t busy, longest_turn; /* of rounds, measured */
};
struct descheduler_stats descheduler_stats(const struct descheduler *d);
#endif
