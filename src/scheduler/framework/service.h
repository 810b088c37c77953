/* service.h - services: state that a plugin shares with its instances in other profiles, with the
 * instances of the next configuration, and with other plugins. Part of the contract (plugin.h).
 *
 * Every profile has its own instance of a plugin, and a changed configuration makes new ones while
 * pods are on their way under the old. What all of them must know (who has taken what) is a
 * service. The plugin that provides it names it in .services; it is made before the first plugin
 * that needs it and destroyed after the last one, and whatever concerns it happens once, however
 * many profiles run the plugin: it hears of each pod once, its REST paths are served once, and its
 * controller runs once.
 *
 *     KS_SERVICE(gangs, struct gangs)                in the header of the provider
 *     const struct ks_service gangs_service = {...}  in its source
 *     self->gangs = gangs_of(env);                   in create() of whoever uses it
 *
 * Loop thread.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_SERVICE_H
#define KOORD_SCHEDULER_FRAMEWORK_SERVICE_H
#include "base/base.h"

struct arena;
struct controller_env;
struct controllers;
struct kind;
struct kjw;
struct kobj;
struct ks_env;
struct node;
struct pod;

/* ---- pods ------------------------------------------------------------------------------------ */

/* A service is told of every pod that has not ended, whichever scheduler is responsible for it.
 *
 * After a start, and when a service is new, nothing is told until all informers are complete; then
 * all pods come in the order of their creation (then by namespace and name), so that what is
 * derived from them is the same after a restart, and objects of other kinds are known before the
 * pods that name them. From then on each change comes as it happens.
 *
 * For one pod the order is: pending any number of times, placed, changed any number of times, gone.
 * Each may be the first (but a pod that was not there does not go), and gone is the last. While a
 * pod is pending, assumed and forgotten come in turns; placed ends an assumption too, on whichever
 * node that was. A pod may be placed on a node that is not known yet, or not any more.
 *
 * The pod is told of before the cache and the queue know of the change. `before` is what was told
 * last, NULL when nothing was. The service may wake, activate or reject other pods from inside.
 * Members may be NULL. Pods are borrowed for the call: kobj_ref() keeps one. */
struct ks_pod_handler {
    void (*pending)(void *service, const struct pod *before, const struct pod *now);
    void (*placed)(void *service, const struct pod *before, const struct pod *now);
    void (*changed)(void *service, const struct pod *before, const struct pod *now);
    void (*gone)(void *service, const struct pod *last);
    /* A node was chosen here, and plugins are about to reserve. */
    void (*assumed)(void *service, const struct pod *p, const char *node);
    /* That came to nothing. Plugins have unreserved, unless the pod went while the server was
     * binding it: then they do when the server has answered. */
    void (*forgotten)(void *service, const struct pod *p, const char *node);
};

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A service is told of every node, also before its pods: before NULL: it is new; now NULL: it went.
 * Those that are there when a service is made stand in env->nodes; it is not told of them. Borrowed
 * for the call. */
typedef void (*ks_node_fn)(void *service, const struct node *before, const struct node *now);

/* ---- REST paths ------------------------------------------------------------------------------ */

struct ks_get {                /* a request */
    const char *const *params; /* what stands in place of the pattern's :names, in their order */
    const char *target;        /* as it was sent, with its query */
    struct arena *arena;       /* dies with the answer */
};
const char *ks_get_query(const struct ks_get *g, const char *key); /* "?key=..."; NULL: absent */

/* GET /apis/v1/plugins/<name of the service>/<pattern> */
struct ks_path {
    const char
        *pattern; /* "gang/:namespace/:name"; a :name stands for one segment that is not "" */
    /* Writes one JSON value, in one turn. A negative code refuses, with the message as it is in
     * err: KR_NOT_FOUND becomes 404, everything else 500. */
    int (*get)(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err);
};

/* ---- controllers ----------------------------------------------------------------------------- */

/* What writes to the API server by itself, for the whole cluster: it runs only where the scheduler
 * leads, unless --controller-plugins leaves the plugin out. */
struct ks_controller {
    /* All caches are complete and the service has heard of all pods. Makes controllers in `all`
     * (controllers/controller.h), which act from then on; env is theirs, with the scheduler's
     * informers, and may be copied. Returns what stop() gets. */
    void *(*start)(void *service, struct controllers *all, const struct controller_env *env);
    /* The scheduler does not lead any more, or the service ends. They do not act any more; frees
     * them. NULL: there is nothing to free. */
    void (*stop)(void *started);
};

/* ---- objects that get nodes like pods -------------------------------------------------------- */

/* For each object of a kind (a Reservation) the scheduler keeps a placeholder: a pod that is
 * queued, gets a node and takes room there, of which services hear, and that no API server knows.
 * How the object is bound says the plugin's `bind` (subject.h). A placeholder that is evicted to
 * make room has its object deleted: its priority decides for whom, unless the object stays. */
struct ks_placeholder {
    const struct kind *kind; /* one of the plugin's kinds */
    /* With a reference for the caller. Its UID is that of the object, it names a scheduler, and it
     * has a node as soon as the object has one. Its status says what the subject's waits() wrote
     * (the condition PodScheduled, the nominated node): what a pod does not say is written again.
     * NULL: the object needs none, or not any more. A function of the object alone. */
    struct kobj *(*pod)(void *service, const struct kobj *object);
    bool stays; /* the object is not deleted to make room, whatever its priority; ks_stays() */
};

/* ---- the service ----------------------------------------------------------------------------- */

struct ks_service {
    const char *name; /* of the plugin that provides it */
    /* args: as that plugin's create() gets them; here they live as long as the service. It may keep
     * env, and does not look for other services. */
    int (*create)(const struct ks_env *env, const void *args, void **ret, struct kerr *err);
    void (*destroy)(void *service); /* NULL: nothing to do */
    /* A profile with other args gets one of its own; otherwise those of the first count for all. */
    bool per_args;
    const struct ks_pod_handler *pods;        /* NULL: it does not listen */
    ks_node_fn node;                          /* NULL: nodes are nothing to it */
    const struct ks_path *paths;              /* ends with pattern NULL. NULL: it serves nothing */
    const struct ks_controller *controller;   /* NULL: it writes nothing by itself */
    const struct ks_placeholder *placeholder; /* NULL: nothing but pods gets nodes by it */
};

/* For create() of a plugin: NULL when no plugin of the profile provides it. */
void *ks_service_find(const struct ks_env *env, const struct ks_service *key);
#define KS_SERVICE(prefix, type)                                     \
    extern const struct ks_service prefix##_service;                 \
    static inline UNUSED type *prefix##_of(const struct ks_env *env) \
    {                                                                \
        return ks_service_find(env, &prefix##_service);              \
    }
#endif
