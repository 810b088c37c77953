/* plugin.h - the contract between the scheduler and its plugins.
 *
 * Extension points, names and codes are kube-scheduler's, so its documentation explains ours; but
 * where Go asks about one node, we ask about a span of nodes: the cluster is a struct of arrays,
 * and a cheap check is a loop without branches. A plugin is pure over what it is given: no I/O, no
 * locks, no clock but the cycle's; spans may run on different workers. A member that is NULL takes
 * no part. Everything handed to a plugin is borrowed for the call.
 *
 * A plugin is compiled in and stands in plugins/registry.c; `abi` and `size` come first so that
 * loading by dlopen can be added later without breaking anybody.
 */
#ifndef KOORD_SCHEDULER_PLUGIN_H
#define KOORD_SCHEDULER_PLUGIN_H
#include "base/base.h"
#include "scheduler/framework/service.h"
#include "scheduler/framework/subject.h"
#include "scheduler/model/requests.h"
#include "scheduler/model/rowdata.h"
#include "json/schema.h"

struct arena;
struct attempt;
struct gates;
struct kind;
struct kobj;
struct kube;
struct loop;
struct metrics;
struct node;
struct nodecache;
struct pod;
struct objects;
struct service_set;
struct service_table;

enum { KS_PLUGIN_ABI = 5 };
enum { KS_SCORE_MAX = 100 };

/* Loops over columns are built twice, and the better one is chosen when the program starts. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define KOORD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define KOORD_CLONES
#endif

enum ks_code {
    KS_SUCCESS,
    KS_ERROR,         /* internal failure: retry */
    KS_UNSCHEDULABLE, /* preemption may help */
    KS_UNRESOLVABLE,  /* preemption cannot help */
    KS_WAIT,          /* permit: hold the pod; pre_bind, post_filter: the answer comes later */
    KS_SKIP,          /* pre_filter, pre_score, pre_bind: leave this plugin out of this attempt */
    KS_PENDING        /* waits for another component: requeue without back-off */
};
struct ks_reason {
    enum ks_code code;
    const char *text;
};
/* ---- the pod in question --------------------------------------------------------------------- */

struct ks_pod {
    const struct pod *pod;
    struct requests requests;
};

/* ---- one attempt ----------------------------------------------------------------------------- */

/* Texts collected for people; strings live in the arena or for ever. */
struct ks_texts {
    struct arena *arena;
    const char **items;
    uint32_t n, cap;
};
void ks_texts_add(struct ks_texts *t, const char *text);
void ks_texts_addf(struct ks_texts *t, const char *fmt, ...) PRINTF(2, 3);
/* All of them, with commas between; "no reason given" when there is none. */
const char *ks_texts_join(const struct ks_texts *t);

struct ks_only { /* rows that a pre_filter narrows the attempt to; all others are left out */
    const uint32_t *rows; /* in the arena; each once */
    uint32_t n;
    bool set;
};
struct ks_cycle {
    const struct ks_nodes *nodes;
    struct arena *arena; /* lives as long as the state that is made in it; not for spans */
    nsec_t now;          /* wall clock */
    uint64_t serial;     /* of the attempt: no other one of the plugin's has it */
    void *state;         /* what this plugin's pre_filter returned; from score on, its pre_score */
    const struct ks_rows *rows; /* this plugin's row data; NULL: it declares none */
    /* From pre_score on: rows that are no candidates. Their scores are not used. NULL for a LOCAL
     * plugin: it answers for every row, whoever is a candidate today. */
    const uint8_t *rejected;
    bool complete; /* somebody reads all scores: no shortcut for equal ones */
};

/* ---- overlays -------------------------------------------------------------------------------- */

/* Changes of rows that are tried and taken back: in transform() for the whole attempt, in plans for
 * as long as the plugin wants. They are undone in reverse order, to the byte, so they nest. Rows
 * that were changed in transform() are evaluated anew for this attempt; all others keep what is
 * known of them. Plugins whose state counts pods are told (add_pod, remove_pod) from pre_filter on,
 * and row data is as the rows are when filters are asked the next time.
 */
struct ks_overlay;
void ks_overlay_add_pod(struct ks_overlay *o, uint32_t row, struct kobj *pod);
void ks_overlay_remove_pod(struct ks_overlay *o, uint32_t row, const struct pod *pod);
/* One that was removed is there again. */
void ks_overlay_restore_pod(struct ks_overlay *o, uint32_t row, const struct pod *pod);
/* More in use in a column (also KS_USED_MCPU_NZ, KS_USED_MEMORY_NZ); negative: less. */
void ks_overlay_add(struct ks_overlay *o, uint32_t row, uint32_t column, int64_t delta);
/* The same in a column of the plugin's own row data; c is the plugin's. */
void ks_overlay_add_own(struct ks_overlay *o, const struct ks_cycle *c, uint32_t row,
                        uint32_t column, int64_t delta);
/* All changes after a mark are taken back. */
uint32_t ks_overlay_mark(const struct ks_overlay *o);
void ks_overlay_rollback(struct ks_overlay *o, uint32_t mark);
/* The pod of the attempt, to be changed; in transform() only. Nothing is reused then. */
struct ks_pod *ks_overlay_pod(struct ks_overlay *o);

/* Row data that is on_demand is wanted: from here to the end of the attempt it is current. */
void ks_rows_refresh(const struct ks_cycle *c);

/* ---- cluster events -------------------------------------------------------------------------- */

enum ks_resource {
    KS_RES_POD, /* in hints: both of the next */
    KS_RES_ASSIGNED_POD,
    KS_RES_UNSCHEDULABLE_POD,
    KS_RES_NODE,
    KS_RES_PV,
    KS_RES_PVC,
    KS_RES_STORAGE_CLASS,
    KS_RES_CSI_NODE,
    KS_RES_CSI_DRIVER,
    KS_RES_CSI_CAPACITY,
    KS_RES_VOLUME_ATTACHMENT,
    KS_RES_RESOURCE_CLAIM,
    KS_RES_RESOURCE_SLICE,
    KS_RES_DEVICE_CLASS,
    KS_RES_OTHER /* of another kind that some plugin reads; events and hints name it */
};
enum {
    KS_ADD = 1 << 0,
    KS_DELETE = 1 << 1,
    KS_NODE_ALLOCATABLE = 1 << 2,
    KS_NODE_LABEL = 1 << 3,
    KS_NODE_TAINT = 1 << 4,
    KS_NODE_CONDITION = 1 << 5,
    KS_NODE_ANNOTATION = 1 << 6,
    KS_NODE_FEATURE = 1 << 7,
    KS_POD_LABEL = 1 << 8,
    KS_POD_SCALE_DOWN = 1 << 9,
    KS_POD_TOLERATION = 1 << 10,
    KS_POD_GATES_GONE = 1 << 11,
    KS_POD_CLAIM = 1 << 12,
    KS_UPDATE = 0x1ffc,
    KS_ALL = 0x1fff
};
struct ks_event {
    enum ks_resource resource;
    uint32_t action;                 /* KS_ADD ..., usually one bit */
    const struct kobj *before, *now; /* NULL when there is none */
    const struct kind *kind;         /* KS_RES_OTHER: of the objects */
};
struct ks_hint { /* an event that may make a pod schedulable which this plugin rejected */
    enum ks_resource resource;
    uint32_t actions;
    /* true: worth another attempt. NULL: always. */
    bool (*worth)(void *self, const struct ks_event *e, const struct pod *p);
    const struct kind *kind; /* KS_RES_OTHER: which of the plugin's kinds */
};

/* ---- binding --------------------------------------------------------------------------------- */

struct ks_reservation;
struct ks_reservation_hooks; /* framework/reservation.h */

struct ks_bind { /* a pod on its way to its node; lives until the outcome is known */
    struct kobj *pod;
    const char *node;
    const struct ks_bind_ops *ops; /* of the engine, or of a test that stands in for it */
    /* The resourceVersion that the subject's object has by the last answer of the server; NULL:
     * nothing is known but what the caches say. */
    const char *version;
};
struct ks_bind_ops { /* what follows from the calls below */
    void (*done)(struct ks_bind *b, enum ks_code code, const char *why);
    void (*write)(struct ks_bind *b, bool label, const char *key, const char *value);
    void (*annotations)(const struct ks_bind *b, struct kjw *w);
};
/* The end of a pre_bind that returned KS_WAIT; exactly once, from a later turn. */
static inline UNUSED void ks_bind_done(struct ks_bind *b, enum ks_code code, const char *why)
{
    b->ops->done(b, code, why);
}
/* To be written on the pod. Annotations travel with the binding: they are there with the node, or
 * not at all. Labels and keys that go (value NULL) are written before, all plugins' in one request,
 * and taken back if the binding comes to nothing. What is there already is not written. */
static inline UNUSED void ks_bind_annotate(struct ks_bind *b, const char *key, const char *value)
{
    b->ops->write(b, false, key, value);
}
static inline UNUSED void ks_bind_label(struct ks_bind *b, const char *key, const char *value)
{
    b->ops->write(b, true, key, value);
}
/* For the subject: writes the member "annotations" of a binding's metadata, those that plugins
 * have set. */
static inline UNUSED void ks_bind_annotations(const struct ks_bind *b, struct kjw *w)
{
    b->ops->annotations(b, w);
}

/* What a plugin may keep for life. loop and kube are NULL where there is no cluster (explaining
 * from files): then pre_bind and the like are never called. */
struct ks_env {
    struct loop *loop;
    struct kube *kube;
    const struct objects *objects; /* objects of the kinds that plugins declare */
    const struct ks_nodes *nodes;  /* NULL where configurations are only checked */
    struct scheduler *scheduler;
    struct metrics *metrics;             /* the program's (component/metrics.h); NULL: none */
    const struct gates *gates;           /* for ks_gate() */
    struct service_table *service_table; /* for profile_new(); NULL: the profile has its own */
    const struct service_set *services;  /* for ks_service_find() */
    bool network_topology;               /* --enable-network-topology-manager */
};
/* Is the feature gate on? It must be one of framework/gates.c. */
bool ks_gate(const struct ks_env *env, const char *name);
/* Pods held by permit. allow: this plugin has no objection any more. reject: also a pod that has
 * its permits and waits for its turn. */
void ks_allow(const struct ks_env *env, struct kuid uid, const char *plugin);
void ks_reject(const struct ks_env *env, struct kuid uid, const char *plugin, const char *why);
enum ks_nomination {                       /* of a pod that is rejected while it is held */
                     KS_NOMINATION_NONE,   /* it has none any more */
                     KS_NOMINATION_BEFORE, /* it has the one again that it had before its attempt */
                     KS_NOMINATION_ITS_NODE /* the node that was chosen for it */
};
struct ks_rejection {
    const char *why;
    enum ks_nomination nomination;
    /* One of many for the same reason: it gets its condition and no event. Room that was taken and
     * given back within one turn is no news for other pods. */
    bool quiet;
};
void ks_reject_as(const struct ks_env *env, struct kuid uid, const char *plugin,
                  const struct ks_rejection *r);
/* A pod that waits anywhere gets its attempt now. */
void ks_activate(const struct ks_env *env, struct kuid uid);
/* The same, but not before its back-off is over. */
void ks_retry(const struct ks_env *env, struct kuid uid);
/* The condition of a pod that waits for an attempt says why; there is no event. Only where the
 * scheduler leads. */
void ks_tell(const struct ks_env *env, struct kuid uid, const char *why);
/* A warning about an object of a plugin, by the profile that runs it. */
void ks_warn_about(const struct ks_env *env, const struct kobj *object, const char *reason,
                   const char *note);
/* Pods that wait for this key of the plugin (waits_for) are worth another attempt; the others are
 * not looked at. */
void ks_wake(const struct ks_env *env, const char *plugin, uint64_t key);
/* next() of some plugin has a pod to name: attempts begin though the queue has none that is ready.
 */
void ks_ask_next(const struct ks_env *env);
/* An event about the pod (or what it stands for), for people: a warning of the action Scheduling.
 */
void ks_warn(const struct ks_env *env, const struct pod *p, const char *reason, const char *note);
/* The same, and nothing is wrong. */
void ks_note(const struct ks_env *env, const struct pod *p, const char *reason, const char *note);
/* What is nominated for a pod that waits is given up. Only where the scheduler leads. */
void ks_unnominate(const struct ks_env *env, struct kuid uid);
/* Does the pod wait here for an attempt? Nothing that an earlier one took for it is of use then. */
bool ks_waits(const struct ks_env *env, struct kuid uid);
/* Are victims of this pod being evicted right now? */
bool ks_making_room(const struct ks_env *env, struct kuid uid);
/* Is this the placeholder of an object that is never deleted to make room? */
bool ks_stays(const struct ks_env *env, struct kuid uid);

/* ---- what a configuration may say about a plugin ----------------------------------------------
 */

enum ks_point { /* extension points, in the order of an attempt */
                KS_POINT_QUEUE_SORT,
                KS_POINT_PRE_ENQUEUE,
                KS_POINT_PRE_FILTER,
                KS_POINT_FILTER,
                KS_POINT_POST_FILTER,
                KS_POINT_PRE_SCORE,
                KS_POINT_SCORE,
                KS_POINT_RESERVE,
                KS_POINT_PERMIT,
                KS_POINT_PRE_BIND,
                KS_POINT_BIND,
                KS_POINT_POST_BIND,
                KS_POINTS
};
/* .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) */
#define KS_AT(point) (1u << KS_POINT_##point)

struct ks_args_context { /* other parts of the configuration that args may depend on */
    /* Resources that extenders manage and the scheduler must ignore. */
    const char *const *ignored;
    uint32_t nignored;
};
struct ks_args {                  /* pluginConfig.args; the plugin's folder has the table */
    const struct kschema *schema; /* of the struct that create() gets */
    /* Defaults that the table cannot express; after the table's. c is never NULL. May be NULL. */
    void (*fill)(void *args, const struct ks_args_context *c, struct arena *a);
    /* Checks that the table cannot express; a message begins with the field's path. May be NULL. */
    int (*check)(const void *args, struct kerr *err);
};

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

/* A plugin that hands out what belongs to NUMA nodes: numa_admit() (framework/numa.h) asks all of
 * them, in the order of the profile, on which NUMA nodes of a row the pod may be. Pure. */
struct numa_lists;
struct ks_numa {
    /* Adds what would do, resource by resource, to out. Anything but a success rejects the row. */
    enum ks_code (*hints)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          uint32_t row, struct numa_lists *out, struct ks_texts *why);
    /* Would it be enough on these NUMA nodes? mask 0: on all of them. why may be NULL. */
    enum ks_code (*allocate)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                             uint32_t row, uint64_t mask, struct ks_texts *why);
    /* For the plugin that knows the policies of nodes: on which NUMA nodes of the row shall the pod
     * be, by numa_admit(); mask 0: it does not matter. NULL: another one knows. For
     * numa_affinity(). */
    enum ks_code (*place)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          uint32_t row, uint64_t *ret_mask, struct ks_texts *why);
};

/* ---- jobs ------------------------------------------------------------------------------------ */

struct ks_job {          /* what a pod belongs to, for people (scheduler-core 11.2) */
    const char *key;     /* "namespace/name" */
    uint32_t waiting;    /* pods of it that have a node in our mind and wait for the others */
    struct ks_job_slot { /* where these are, by the name of the node */
        const char *node;
        uint32_t n;
    } * slots;
    uint32_t nslots;
    bool follows; /* it was not looked for a node: another pod of the job found none */
};
struct ks_suggestion { /* what would help a pod that found no node (scheduler-core 11.2) */
    const char *type;  /* one word */
    const char *message;
};

/* ---- the plugin ------------------------------------------------------------------------------ */

/* How verdicts and scores may be used again for a pod of the same shape: same namespace, labels,
 * controller, spec, and annotations that some plugin of the profile declares. What LOCAL plugins
 * say is shared by more pods: of labels they read those that they declare (pod_labels), of owners
 * the kinds, and volumes not at all.
 *
 * A row is the node (labels, taints, unschedulable, allocatable resources, images, and annotations
 * that some plugin declares), the objects that belong to it (model/nodekinds.h), its pods, and the
 * row data of plugins. A change of a row concerns that row only. Everything is made anew when rows
 * come or go, or when an object of another kind changes that such a plugin reads: not for its
 * status alone, unless the plugin says that it reads statuses.
 *
 * A state that is kept must not point into nodes, pods or objects, which are replaced when they
 * change. Only what belongs to the shape stays: what such a plugin may read of the pod. */
enum ks_reuse {
    KS_REUSE_GLOBAL, /* never: also a function of other things of the pod, or of time */
    KS_REUSE_DOMAIN, /* other rows count too: refresh() brings the state up to date, then filter and
                      * score run over all rows */
    KS_REUSE_LOCAL   /* f(shape, row): computed again for rows that changed */
};
struct ks_dirty { /* rows that changed, each once */
    const uint32_t *rows;
    uint32_t n;
    uint32_t nnodes; /* of the first so many also the node changed, or an object that belongs to
                      * it; of the others pods alone */
};

struct ks_plugin {
    uint32_t abi, size;
    const char *name;
    const struct ks_reason *reasons; /* [0] is "fits" */
    enum ks_reuse reuse;
    const struct kind *const *kinds; /* read from env->objects; ends with NULL. NULL: none */
    /* Those of them whose status counts too. Of kinds that belong to nodes it always does. */
    const struct kind *const *statuses;
    /* Those of them without which it works too: where the server does not have the kind, or does
     * not let us read it, nobody waits for its objects. */
    const struct kind *const *optional;
    /* Those of them that are read only where a feature gate is on. Ends with kind NULL; NULL: none.
     */
    const struct ks_gated_kind {
        const struct kind *kind;
        const char *gate;
    } * gated;
    /* Keys of annotations that are read, of nodes and of the pod that looks for one. They end with
     * NULL; NULL: none. */
    const char *const *node_annotations, *const *pod_annotations;
    /* The same of the pod's labels, for a LOCAL plugin; others may read all of them. */
    const char *const *pod_labels;
    const struct ks_row_data *row; /* what it derives from rows: c->rows. NULL: nothing */

    /* Where a configuration may enable it: bits by KS_AT(). Upstream's plugin may have points that
     * ours does without, and the reverse. 0: the points that it implements. */
    uint32_t points;
    /* Only name, points and args are known, so that configurations which name the plugin are
     * accepted and checked. Profiles leave it out, and users are told. */
    bool planned;
    const struct ks_args *args; /* NULL: it has none, and whatever a user writes is ignored */

    /* args: the struct of args->schema, with defaults and checked; it lives as long as the
     * instance. NULL for a plugin without args. */
    int (*create)(const struct ks_env *env, const void *args, void **ret_self, struct kerr *err);
    void (*destroy)(void *self);
    const struct ks_service *const *services; /* that it provides; ends with NULL. NULL: none */

    /* For a plugin whose verdicts and scores are reused and depend on something that is neither pod
     * nor row nor object: another number, higher than before, when that has changed. Everything is
     * made anew then. Asked at the start of each attempt; NULL: there is no such thing. */
    uint64_t (*version)(void *self);

    /* Exactly one plugin of a profile orders the queue: true when a goes before b. */
    bool (*before)(const struct pod *a, nsec_t a_since, const struct pod *b, nsec_t b_since);
    /* May the pod enter the queue at all? Otherwise `why` says what it waits for. */
    enum ks_code (*pre_enqueue)(void *self, const struct pod *p, struct ks_texts *why);
    bool gates_silently;       /* what it says is not written on the pod: it stands there already */
    bool frees_nominated_node; /* of a pod that it keeps out: others may have that room */
    const struct ks_hint *hints; /* NULL, and it can reject pods: every event counts */
    uint32_t nhints;
    /* The key whose ks_wake() may help a pod that this plugin rejects, or keeps out of the queue;
     * 0: none. Asked when it goes to wait, and again when it changes. With this member a plugin
     * without hints hears of no events. */
    uint64_t (*waits_for)(void *self, const struct pod *p);

    /* Once per attempt, before the nodes are looked at. A rejection here rejects all nodes. With
     * KS_SKIP the state is still kept, for pre_score. */
    enum ks_code (*pre_filter)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                               void **ret_state, struct ks_only *only, struct ks_texts *why);
    /* Rows have changed since the state was made or refreshed. false: make it anew.
     * DOMAIN: brings the state of pre_filter up to date. Also one that came with KS_SKIP: *skip
     * says so, and may change.
     * LOCAL: for a plugin that prepares something from all nodes. Called only when nodes changed,
     * and changes nothing: does it still hold? c->state and *skip are those of pre_filter, or, for
     * a plugin without one, those of pre_score. */
    bool (*refresh)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                    const struct ks_dirty *d, bool *skip);
    /* why[i]: 0 or an index into reasons. skip[i] != 0: an earlier plugin said no, the answer is
     * unused. Writes every row of the span. */
    void (*filter)(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                   const uint8_t *skip, uint8_t *restrict why);
    /* The reason of rows where filter() failed: that is no verdict, and ends the attempt as an
     * error with the texts of such a row. 0: it never does. */
    uint8_t filter_error;
    /* Texts for one row that filter() rejected, when one reason is not enough. */
    void (*explain)(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                    struct ks_texts *out);
    /* What it knows of a row that people want to see beside its verdict or score (koordctl
     * explain): members of a JSON object. c is filter's. */
    void (*show)(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                 struct kjw *w);
    /* In an overlay `other` was added to the row, or removed from it; the row's columns and list
     * of pods say so already. For a plugin whose state counts pods. Each exactly undoes the other:
     * the state is used again afterwards. Also called for a state that came with KS_SKIP, which
     * stays skipped. */
    void (*add_pod)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                    const struct pod *other, uint32_t row);
    void (*remove_pod)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       const struct pod *other, uint32_t row);

    enum ks_code (*pre_score)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                              void **ret_state, struct ks_texts *why);
    /* Without normalize(): within [0, KS_SCORE_MAX] for every row, also for those that were turned
     * down. The scores of all rows are kept, since the next pod like this one may have others. */
    void (*score)(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                  int64_t *restrict out);
    /* Brings the scores of the candidates (skip[i] == 0) into [0, KS_SCORE_MAX]. */
    void (*normalize)(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                      int64_t *scores);
    /* Does normalize() of this instance do what ks_normalize() does? Then what it makes is kept.
     * NULL: only if it is that function. */
    bool (*scales)(void *self);

    /* After the choice, before the binding; c->state is pre_filter's. unreserve() exactly undoes
     * reserve(), and must bear being called for a pod that was not reserved. */
    enum ks_code (*reserve)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            uint32_t row, struct ks_texts *why);
    void (*unreserve)(void *self, const struct pod *p, const char *node);
    /* It has just refused to reserve a row, which filter() lets pass: which other candidates would
     * it refuse too? As filter(); they are not tried. For a plugin whose filter must not look as
     * closely as its reserve. NULL: each is tried. */
    void (*would_refuse)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why);
    /* KS_WAIT: hold the pod, at most *ret_timeout, until ks_allow() or ks_reject(). */
    enum ks_code (*permit)(void *self, const struct pod *p, const char *node, nsec_t *ret_timeout,
                           struct ks_texts *why);
    /* KS_SUCCESS: pre_bind() has work to do that may take time. KS_SKIP: nothing to do. Anything
     * else is the end of this binding. */
    enum ks_code (*pre_flight)(void *self, const struct pod *p, const char *node,
                               struct ks_texts *why);
    /* May that work wait for others than the API server? Then the pod's nominatedNodeName tells for
     * whom the room is kept. NULL, with pre_flight(): it may. */
    bool (*pre_bind_waits)(void *self, const struct pod *p);
    /* KS_WAIT: ks_bind_done() tells the outcome. The binding may be given up before: cancel(). */
    enum ks_code (*pre_bind)(void *self, struct ks_bind *b, struct ks_texts *why);
    void (*cancel)(void *self, struct ks_bind *b);
    /* How this pod is bound, and by that what it is (subject.h); NULL: the next bind plugin knows.
     * A function of the pod alone. */
    const struct ks_subject *(*bind)(void *self, const struct pod *p);
    void (*post_bind)(void *self, const struct pod *p, const char *node);

    /* The job of a pod that has just found no node; texts live in the arena or longer. False: it is
     * of none. */
    bool (*job)(void *self, const struct pod *p, struct arena *a, struct ks_job *ret);
    /* The attempt is over and found no node: what could people do about it? The first that knows
     * something is heard; texts live in the arena or longer. False: nothing. */
    bool (*suggest)(void *self, struct attempt *a, struct ks_suggestion *ret);

    const struct ks_numa *numa; /* NULL: nothing of it belongs to NUMA nodes */

    /* No node fits: make room, and what follows (framework/preemption.h). */
    const struct ks_post_filter *post_filter;
    bool seeks_victims; /* and that counts as an attempt to preempt */

    /* ---- what koord-scheduler adds (scheduler-core 10) ---- */

    /* The next four are asked where the plugin is enabled as a pre_filter, in that order.
     *
     * Before pre_filter: may change rows for this attempt (reserved room given back to its owner)
     * and the pod itself, both through the overlay. KS_SKIP: nothing to do. What it returns is
     * c->state in pre_filter. */
    enum ks_code (*transform)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                              struct ks_overlay *o, void **ret_state, struct ks_texts *why);
    /* After all pre_filters: may narrow the rows further. KS_SKIP: nothing to say. */
    enum ks_code (*after_pre_filter)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     struct ks_only *only, struct ks_texts *why);
    /* The one row for the pod, found in another way than by filters and scores over all of them:
     * for instance by a plan for all pods of a job (a->plan: with the gate
     * EnableInlineBatchSchedule the engine places all of them at once). The filters still judge it;
     * the other rows are left out. KS_SKIP: the usual way. KS_SUCCESS without a row is an error;
     * anything else rejects the pod: slots that it has put into a->rejectors are rejectors too, so
     * that what they wait for brings the pod back. Only the first plugin with this member is asked.
     */
    enum ks_code (*find_one)(void *self, struct attempt *a, uint32_t *ret_row,
                             struct ks_texts *why);
    /* Rows to try first, in this order: the first that passes all filters is taken; none does: the
     * usual way. Only the first plugin with this member is asked, when nobody found the one row. */
    uint32_t (*prefer)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       const uint32_t **ret_rows);
    /* After the choice, with the gate ResizePod: what the pod shall ask for on this node.
     * p->requests may be changed: it is what counts there until the server confirms the pod, and
     * what reserve() sees. Names in `more` are the pod's own, those of columns, or constants.
     * KS_SKIP: nothing changed. Anything else but a success is an error: all reservations are
     * undone. c->state is pre_filter's. */
    enum ks_code (*resize)(void *self, const struct ks_cycle *c, struct ks_pod *p, uint32_t row,
                           struct ks_texts *why);
    /* Asked before the queue is: the pod that must go next, whatever the order and its back-off
     * say, and even if this plugin's own pre_enqueue keeps it out of the queue; false: no wish. A
     * pod that is not in the queue, on its way or kept out by another plugin is passed over, and
     * the question is repeated, unless the answer is. All plugins of all profiles are asked, in
     * order, until one names a pod that can be tried; a pod that is named again and again is tried
     * again and again. */
    bool (*next)(void *self, struct kuid *ret_uid);

    /* After the choice, also of an only candidate, before resize: the reservation that the pod
     * takes on this row. No success: the row does not do, and the next best is tried. c->state is
     * pre_filter's. */
    enum ks_code (*nominate)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                             uint32_t row, struct ks_texts *why);
    /* That one; NULL: none. state: pre_filter's. For ks_nominated(). */
    const struct ks_reservation *(*nominated)(void *self, void *state, uint32_t row);
    /* Number i of those that the pod may use on the row; NULL behind the last. */
    const struct ks_reservation *(*usable)(void *self, void *state, uint32_t row, uint32_t i);
    /* Number i of the running pods whose room the pod of a reservation takes over on the row; NULL
     * behind the last. For ks_pre_allocated(). */
    const struct pod *(*pre_allocated)(void *self, void *state, uint32_t row, uint32_t i);
    /* How the plugin takes part in reservations of others; NULL: it does not. */
    const struct ks_reservation_hooks *reservations;
};

/* For .normalize: the best score becomes 100; reversed: the smallest raw value is the best. */
void ks_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                  int64_t *scores);
void ks_normalize_reversed(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                           int64_t *scores);

/* A plugin that has nothing better than a question about one node: call it from filter(). */
typedef uint8_t (*ks_row_fn)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                             uint32_t row);
void ks_filter_rows(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                    const uint8_t *skip, uint8_t *restrict why, ks_row_fn fn);
#endif
