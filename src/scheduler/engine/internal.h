/* internal.h - what the files of the scheduler share. Loop thread only. */
#ifndef KOORD_SCHEDULER_ENGINE_INTERNAL_H
#define KOORD_SCHEDULER_ENGINE_INTERNAL_H
#include "api/kobj.h"
#include "base/vec.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/observe/smetrics.h"
#include "scheduler/queue/podqueue.h"
#include "scheduler/scheduler.h"

struct batch;
struct binding;
struct caches;
struct consult;
struct diagnosis;
struct extenders;
struct informer;
struct kube_req;
struct monitor;
struct preemption;
struct preemptions;
struct recorder;
struct reports;
struct strbuf;
struct times;

struct active_profile { /* a profile in force, or one that pods on their way still use */
    struct profile *profile;
    struct recorder *recorder; /* events name the scheduler of the pod */
    struct smetrics *metrics;
    struct times *times;
    uint32_t users; /* bindings under way */
};

struct chooser {
    struct active_profile *active;
    uint32_t slot;
};

struct waitlist { /* of bindings, in the order of their coming */
    struct binding *first, *last;
    unsigned n;
};

enum { SCHEDULER_KINDS_MAX = 24 };
struct scheduler {
    struct loop *loop;
    struct kube *kube;
    struct ks_env env;
    struct metrics *registry;
    const struct ks_registered *plugins;
    char *instance;
    struct active_profile *profiles[PROFILES_MAX];
    unsigned nprofiles;
    struct vec_of(struct chooser) choosers;   /* plugins that are asked which pod goes next */
    struct active_profile *old[PROFILES_MAX]; /* replaced, with users until lately */
    unsigned nold;
    unsigned max_binding;
    nsec_t confirm_after;
    struct nodecache *cache;
    struct nominator *nominator;
    struct objects *objects;
    struct service_table *services;
    struct shapes *shapes;
    struct podqueue *queue;
    struct caches *caches; /* the informers; controllers of plugins read them too */
    struct informer *pods, *nodes;
    struct informer *others[SCHEDULER_KINDS_MAX]; /* of the kinds that plugins read */
    unsigned nothers;
    struct uidmap placeholders; /* by the UID of their objects */
    struct reports *reports;
    struct preemptions *preemptions;
    struct qmetrics *qmetrics;
    struct monitor *monitor;
    struct diagnosis *diagnosis;
    struct extenders *extenders; /* NULL: none */
    http_dial_fn extender_dial;
    void *extender_dial_arg;
    struct consult *consult;    /* extenders are asked about a pod: no attempt begins meanwhile */
    struct arena *arena;        /* of the attempt */
    struct timer *pump, *sweep; /* next attempts; look for bindings nobody confirmed */
    struct timer *reap;         /* replaced profiles that nobody uses any more */
    struct timer *tell_unclaimed;
    struct vec_of(struct kobj *) unclaimed; /* they were kept out, and gave up a nominated node */
    struct binding *bindings;               /* under way */
    struct uidmap bindings_by_uid;
    unsigned nbindings;
    unsigned nheld;         /* of these are BIND_HELD; they are not counted as work under way */
    struct waitlist line;   /* nor are these: they have their permits, and wait for room */
    struct waitlist doomed; /* to be undone when what is being undone now is */
    bool undoing;
    bool unsaid_holds; /* pods are held since this turn */
    uint64_t turn;     /* of attempts */
    bool verify_reuse, resize_pods, nominated_once, foreign_nominations;
    bool batches;  /* gate EnableInlineBatchSchedule */
    bool batching; /* permits are asked for all pods of a job: none goes on before the last */
    const struct kind *const *unwatched;   /* ends with NULL; NULL: none */
    const char *const *controller_plugins; /* NULL: all */
    size_t ncontroller_plugins;
    struct recorder *controller_events; /* NULL: no controller has run yet */
    bool leading;                       /* attempts begin when we lead */
    bool synced;                        /* and all caches are complete */
    bool unsaid; /* pods were gated while caches were not complete; people were not told */
    unsigned debug_scores; /* the best so many go to the log; 0: none */
    bool debug_filters;
    bool (*leads)(void *arg); /* NULL: this instance schedules */
    void *leads_arg;
    nsec_t attempt_began;
    uint64_t attempts, scheduled, failed, errors, victims;
};

/* "namespace/name" for log lines: KV_S("pod", LOG_KEY(pod)). */
static inline const char *log_key(const struct kobj *o, char *buf, size_t size)
{
    kobj_key(o, buf, size);
    return buf;
}
#define LOG_KEY(o) log_key((o), (char[KOBJ_KEY_MAX]){ 0 }, KOBJ_KEY_MAX)

/* scheduler.c */
void scheduler_wake(struct scheduler *s);        /* there may be something to do in the next turn */
void scheduler_watch_bound(struct scheduler *s); /* an accepted binding waits for confirmation */
void scheduler_recheck_gated(struct scheduler *s); /* plugins may let them in, or say more now */
/* The profile that the pod names, NULL when the pod is not ours. */
struct active_profile *scheduler_profile(const struct scheduler *s, const struct pod *p);
void scheduler_profile_done(struct scheduler *s, struct active_profile *p); /* one user less */

/* handlers.c - news from the informers. */
void watch_init(struct scheduler *s);
void watch_kinds(struct scheduler *s); /* informers for what plugins of the profiles read */
/* Profiles changed: pods that are ours now come to the queue, those that are not leave it. */
void watch_requeue(struct scheduler *s);
void watch_free(struct scheduler *s);
/* A new state of a pod, and its end. before: the state before, or NULL. */
void watch_pod_news(struct scheduler *s, const struct kobj *before, struct kobj *pod);
void watch_pod_end(struct scheduler *s, const struct kobj *last);
void watch_pod_gone(struct scheduler *s, const struct kobj *pod); /* tells who waits for room */
/* The same after an attempt was given up: it does not help the pod itself. */
void watch_room_free(struct scheduler *s, const struct kobj *pod);

/* placeholder.c - pods in place of objects that get nodes like pods. */
void placeholder_news(struct scheduler *s, const struct kobj *object); /* of any kind */
void placeholder_gone(struct scheduler *s, const struct kobj *object);
void placeholder_refresh(struct scheduler *s); /* there may be new services */
bool placeholder_is_made(const struct scheduler *s, const struct kind *k); /* of such objects? */
struct service_instance;
void placeholder_service_ends(struct scheduler *s, const struct service_instance *ends);
/* Iterate: size_t it = 0; while ((pod = placeholder_next(s, &it))) ... Do not change them. */
struct kobj *placeholder_next(const struct scheduler *s, size_t *it);
struct kobj *placeholder_find(const struct scheduler *s, struct kuid uid); /* NULL: none */
bool placeholder_stays(const struct scheduler *s, struct kuid uid); /* for no pod it makes way */
void placeholder_free_all(struct scheduler *s);

/* notify.c - services of plugins are told of pods. */
/* Services that are new are told of all pods, once the informers are complete. False: there is no
 * such service, or it is not the time. */
bool notify_all(struct scheduler *s);
/* A new state of a pod, before anything else is done about it. before: the state before, or NULL */
void notify_pod(struct scheduler *s, const struct kobj *before, const struct kobj *pod);
void notify_gone(struct scheduler *s, const struct kobj *last); /* it has ended */
/* nodecache_assume() and nodecache_forget(), which services hear of too. */
int notify_assume(struct scheduler *s, struct kobj *pod, const char *node,
                  const struct requests *requests, struct kerr *err);
bool notify_forget(struct scheduler *s, const struct kobj *pod);

/* control.c - controllers of plugins. */
void control_init(struct scheduler *s);
void control_start(struct scheduler *s); /* those that should run and do not, if this is the time */
void control_stop(struct scheduler *s);

/* cycle.c - one attempt for a pod that was popped. */
void cycle_run(struct scheduler *s, struct kobj *pod);
struct attempt_input cycle_input(const struct scheduler *s, const struct active_profile *active,
                                 struct kobj *pod);
/* The attempt itself. advice: of extenders that were asked before; NULL: none. */
void cycle_try(struct scheduler *s, struct active_profile *active, struct kobj *pod,
               const struct attempt_advice *advice);
struct failure;
struct post_filter_outcome;
/* No node was found and all have been asked: plugins hear of it, and the plan is carried out, if
 * there is one. f: how the pod's nomination changes. */
void cycle_outcome(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                   const struct post_filter_outcome *o, struct failure *f);
/* What a plugin's answer means that is no success: it rejected the pod, or went wrong. */
struct failure failure_of(enum ks_code code, uint32_t slot);
void cycle_failed(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                  const struct failure *f);
/* The pod is assumed and reserved on the row, which filters let pass. False: *why says who did not
 * let it, *ret_sum which slots. */
bool cycle_take(struct scheduler *s, struct active_profile *active, struct attempt *a, uint32_t row,
                struct failure *ret_sum, struct strbuf *why);

/* batch.c - the pods of a job are placed in one piece (scheduler-core 10.3). */
bool batch_is_wanted(const struct scheduler *s, const struct attempt *a);
/* By the plan of the attempt, which ends. */
void batch_run(struct scheduler *s, struct active_profile *active, struct attempt *a);
/* A binding of the batch is refused a permit or comes to nothing; or it is over. */
void batch_refused(struct batch *b, const char *why);
void batch_failed(struct batch *b, bool error, bool prebind);
void batch_left(struct batch *b, bool bound);

/* consult.c - extenders are asked in the middle of an attempt. True: it goes on when they have
 * answered. */
bool consult_candidates(struct scheduler *s, struct active_profile *active, struct kobj *pod);
/* Plans to make room, the best first. f and its message are copied. */
bool consult_victims(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                     const struct preemption *plans, const struct failure *f);
/* The pod is gone, its attempt is over. */
void consult_drop(struct scheduler *s, struct kuid uid);
void consult_free(struct scheduler *s);

/* subject.c - what a pod of the queue stands for: mostly itself. */
struct subject {
    const struct ks_subject *how;
    void *self; /* of the plugin that binds it */
    int slot;   /* of that plugin; -1: none of the profile's does, it is a pod */
};
/* active NULL: a pod that is not ours any more. Good as long as the profile is. */
struct subject subject_of(const struct active_profile *active, const struct pod *p);
const struct kobj *subject_object(const struct subject *x, const struct pod *p); /* NULL: gone */
/* Fills in whom the request is about; false: it is gone. */
bool subject_request(const struct subject *x, const struct pod *p, struct kube_req *r);
const char *subject_plugin(const struct subject *x, const struct active_profile *active);

/* bind.c - from the choice of a node to the answer of the server. */
/* batch: the one that it is part of; NULL: none. */
void binding_start(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                   const char *node, struct batch *batch);
void binding_verify(struct scheduler *s, struct kobj *pod, const char *node);
void binding_free_all(struct scheduler *s);
struct binding *binding_find(const struct scheduler *s, struct kuid uid); /* NULL: none */
/* The pod is on its way and not yet sent to the server: it is given up, with this reason. False:
 * there is no such pod. */
bool binding_reject(struct scheduler *s, struct kuid uid, const char *plugin, const char *why);
size_t binding_waiting(const struct scheduler *s); /* for a permit */
/* The turn is over: the conditions of pods that are still held say so. */
void permit_say(struct scheduler *s);
/* Profiles were replaced: who waits for a plugin that its profile does not have any more is tried
 * again without it. */
void permit_new_profiles(struct scheduler *s);
bool binding_room(const struct scheduler *s); /* may one more be under way? */
void binding_move_line(struct scheduler *s);  /* as many go on as there is room for */

/* preempt.c - making room: victims go, the pods for which they do keep their claims. */
struct preemptions *preemptions_new(struct scheduler *s);
struct preemptions *preemptions_free(struct preemptions *p);
/* pod: whose attempt led to it. Other pods that the plan nominates are nominated here. */
void preempt_start(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                   const struct preemption *what);
/* Victims of this pod are being evicted right now: it should not be tried. */
bool preempt_under_way(const struct scheduler *s, struct kuid uid);

/* report.c - what people see: events, and the condition PodScheduled. */
struct reports *reports_new(struct scheduler *s);
struct reports *reports_free(struct reports *r);
enum nomination { NOMINATION_CLEAR, NOMINATION_KEEP, NOMINATION_SET };
/* The attempt for a pod in flight has failed: back to the queue, with an event and a condition. */
struct failure {
    bool error;         /* something went wrong; otherwise the pod just does not fit */
    uint64_t rejectors; /* slots that rejected it; none: it backs off */
    uint64_t pending;   /* of these: they wait for another component */
    const char *message;
    enum nomination nomination;
    const char *node; /* NOMINATION_SET */
    bool quiet;       /* there is no event */
};
void report_failure(struct scheduler *s, struct kobj *pod, const struct failure *f);
void report_scheduled(struct active_profile *active, const struct kobj *pod, const char *node);
/* A pod is held before its attempt, or after it: its condition says why. */
void report_held(struct scheduler *s, struct kobj *pod, const char *reason, const char *message);
/* The same without an event, for one of many. */
void report_waits(struct scheduler *s, struct kobj *pod, const char *message);
/* Nothing but the nominated node changes. node "": none. */
void report_nominated(struct scheduler *s, struct kobj *pod, const char *node);
/* What the server says of the pod's nominated node is out of date: ours is still to be written. */
bool report_nominates(const struct scheduler *s, struct kuid uid);
/* A binding begins, or the pod is gone: what was still to be written is out of date. */
void report_drop(struct scheduler *s, struct kuid uid);
#endif
