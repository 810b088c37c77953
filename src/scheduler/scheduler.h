/* scheduler.h - koord-scheduler as a library: gives pods without a node the best one there is.
 *
 * Lives on the loop it is given and talks through the kube it is given; both stay the caller's and
 * must outlive it. Watches pods, nodes and what its plugins read from scheduler_watch() on, and
 * places the pods that name one of its profiles from scheduler_lead() on. Loop thread only; do not
 * free it from inside a callback of its kube.
 */
#ifndef KOORD_SCHEDULER_SCHEDULER_H
#define KOORD_SCHEDULER_SCHEDULER_H
#include "base/base.h"
#include "net/http.h"

struct gates;
struct kind;
struct ks_registered;
struct kube;
struct loop;
struct metrics;
struct profile_config;
struct sched_extender;
struct scheduler;
struct serve;
struct strbuf;

struct scheduler_opts {
    /* What is in force until scheduler_reload(); needed only by scheduler_new(). NULL: the default
     * plugins for each of the names. */
    const struct profile_config *profiles;
    unsigned nprofiles;
    const struct sched_extender *extenders; /* those that may not be ignored come first */
    size_t nextenders;
    http_dial_fn extender_dial; /* for tests; NULL: sockets */
    void *extender_dial_arg;
    const struct ks_registered *plugins; /* which exist; NULL: ks_registry */
    const char *const *scheduler_names;  /* ends with NULL; NULL: "koord-scheduler" alone */
    const char *instance;      /* for events, usually "koord-scheduler-HOST"; NULL: the name */
    struct metrics *metrics;   /* NULL: not counted; must outlive the scheduler */
    const struct gates *gates; /* of framework/gates.h, for plugins; NULL: defaults; must live on */
    const struct kind *const
        *unwatched; /* kinds that count as empty; ends with NULL; must live on */
    /* Plugins whose controllers run here while we lead: "*", "Name", "-Name", the first that is
     * exact decides. NULL: all; must live on. */
    const char *const *controller_plugins;
    size_t ncontroller_plugins;
    nsec_t backoff_initial, backoff_max; /* 0: 1 s and 10 s */
    nsec_t unschedulable_max;            /* 0: 5 min */
    nsec_t confirm_after;  /* an accepted binding nobody confirmed is asked about; 0: 30 s */
    unsigned max_binding;  /* bindings under way; 0: 256 */
    unsigned debug_scores; /* the debug flags s and f of scheduler_serve() at the start */
    bool debug_filters;
    bool debug_diagnosis;          /* the flag d: why a pod found no node, as JSON in the log */
    bool debug_diagnosis_blocking; /* db: written before the next attempt */
    unsigned diagnosis_queue, diagnosis_a_turn; /* otherwise; 0: 1000 wait, 10 a turn */
    nsec_t monitor_period, monitor_timeout;     /* attempts that take too long; 0: nobody looks */
    bool resize_pods;    /* plugins may change what a pod asks for on the node that was chosen */
    bool nominated_once; /* SkipFilterWithNominatedPods: attempt_input */
    bool foreign_nominations; /* CrossSchedulerNomination: nominated pods of other schedulers count
                               */
    bool network_topology;    /* plugins keep the tree of the network, for gangs */
    bool verify_reuse; /* for tests: every attempt is made again from nothing, and compared */
};
/* NULL with err set when the options or a plugin are at fault. */
struct scheduler *scheduler_new(struct loop *l, struct kube *k, const struct scheduler_opts *o,
                                struct kerr *err);
/* Fills the caches and the queue and keeps them so, without deciding or writing anything. */
void scheduler_watch(struct scheduler *s);
/* Decides from now on, once the caches are complete. After scheduler_watch(), once. */
void scheduler_lead(struct scheduler *s);
void scheduler_start(struct scheduler *s); /* both */
/* Bindings under way are left to the server. NULL is fine; always returns NULL. */
struct scheduler *scheduler_free(struct scheduler *s);
DEFINE_CLEANUP(scheduler_free, struct scheduler *)
/* New profiles and extenders (nothing else of the options counts) from the next attempt on; pods
 * on their way keep the old ones. On an error nothing changes. -EBUSY: pods of the profiles before
 * the last reload are still on their way. */
int scheduler_reload(struct scheduler *s, const struct scheduler_opts *o, struct kerr *err);

/* The debug flags s, f, d and db, /metrics/resources, /apis/v1/__services__ and /apis/v1/nodes/.
 * The scheduler must outlive the server. ready: is this instance the one that schedules? NULL:
 * always. */
void scheduler_serve(struct scheduler *s, struct serve *serve, bool (*leads)(void *arg), void *arg);

struct scheduler_stats {
    uint64_t attempts;
    uint64_t scheduled; /* bindings the server accepted */
    uint64_t failed;    /* attempts without a node */
    uint64_t errors;    /* attempts that went wrong: mostly bindings refused or lost */
    uint64_t victims;   /* pods evicted to make room */
    uint64_t reused;    /* attempts that could use what an equal pod had found out */
    size_t pending;     /* pods without a node, in whatever place */
    size_t ready, backoff, unschedulable, gated, binding, waiting; /* waiting: for a permit */
    size_t nominated;
    size_t nodes, pods, assumed; /* of the cache */
};
struct scheduler_stats scheduler_stats(const struct scheduler *s);
/* All caches hold what the API server had at the start. */
bool scheduler_synced(const struct scheduler *s);
/* Adds the cache up again and compares; for tests and the debug signal. */
int scheduler_verify(const struct scheduler *s, struct kerr *err);
/* Cache and queue as text, then how the cache differs from the informers: for the debug signal. */
void scheduler_dump(const struct scheduler *s, struct strbuf *out);
#endif
