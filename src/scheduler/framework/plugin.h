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

struct arena;
struct kj_val;
struct kobj;
struct node;
struct pod;

enum { KS_PLUGIN_ABI = 1 };
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
    KS_WAIT,          /* permit only */
    KS_SKIP,          /* pre_filter, pre_score: leave this plugin out of this attempt */
    KS_PENDING        /* waits for another component: requeue without back-off */
};
struct ks_reason {
    enum ks_code code;
    const char *text;
};
struct ks_span {
    uint32_t begin, end;
};

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The resources with a column of a fixed number; further ones follow in order of appearance. */
enum { KS_MCPU, KS_MEMORY, KS_EPHEMERAL, KS_PODS, KS_FIXED };
/* No column: no node has this resource. */
#define KS_NO_COLUMN UINT32_MAX
/* Allocatable values end here and requests one bit further up, so that sums and a hundredfold stay
 * within 64 bits and an absurd request fits nowhere. */
#define KS_ALLOC_MAX   (INT64_C(1) << 56)
#define KS_REQUEST_MAX (INT64_C(1) << 57)

enum { KS_NODE_UNSCHEDULABLE = 1, KS_NODE_TAINT_HARD = 2, KS_NODE_TAINT_PREFER = 4 };

struct ks_nodes { /* one row a node, [0, n); rows move only between attempts */
    uint32_t n, nres;
    int64_t *const *alloc, *const *used; /* [resource][row]; cpu in milli, the rest in units */
    const int64_t *used_mcpu_nz;         /* as used, but each container counts for something */
    const int64_t *used_memory_nz;
    const char *const *resource; /* [resource]: its name */
    const struct node *const *node;
    const uint8_t *flags;    /* KS_NODE_* */
    const uint64_t *changed; /* generation of the last change, over all rows */
};

/* ---- the pod in question --------------------------------------------------------------------- */

struct ks_request { /* of a resource that is not one of the fixed */
    const char *name;
    int64_t count;
    uint32_t column; /* or KS_NO_COLUMN */
};
struct ks_pod {
    const struct pod *pod;
    int64_t request[KS_FIXED];        /* request[KS_PODS] is 1 */
    int64_t score_mcpu, score_memory; /* with defaults for containers that ask for nothing */
    const struct ks_request *more;
    uint32_t nmore;
};

/* ---- one attempt ----------------------------------------------------------------------------- */

struct ks_cycle {
    const struct ks_nodes *nodes;
    struct arena *arena; /* dies with the attempt; not for spans */
    nsec_t now;          /* monotonic */
    void *state;         /* what this plugin's pre_filter or pre_score returned */
    /* From pre_score on: rows that are no candidates. Their scores are not used. */
    const uint8_t *rejected;
};

/* Texts collected for people; strings live in the arena or for ever. */
struct ks_texts {
    struct arena *arena;
    const char **items;
    uint32_t n, cap;
};
void ks_texts_add(struct ks_texts *t, const char *text);

/* ---- cluster events -------------------------------------------------------------------------- */

enum ks_resource { KS_RES_POD, KS_RES_ASSIGNED_POD, KS_RES_UNSCHEDULABLE_POD, KS_RES_NODE };
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
};
struct ks_hint { /* an event that may make a pod schedulable which this plugin turned down */
    enum ks_resource resource;
    uint32_t actions;
    /* true: worth another attempt. NULL: always. */
    bool (*worth)(void *self, const struct ks_event *e, const struct pod *p);
};

/* ---- the plugin ------------------------------------------------------------------------------ */

/* How verdicts and scores may be used again for a pod of the same shape. */
enum ks_reuse {
    KS_REUSE_GLOBAL, /* never */
    KS_REUSE_DOMAIN, /* a placement dirties the rows the plugin names */
    KS_REUSE_LOCAL   /* f(shape, row): computed again for rows that changed */
};

struct ks_plugin {
    uint32_t abi, size;
    const char *name;
    const struct ks_reason *reasons; /* [0] is "fits" */
    enum ks_reuse reuse;

    int (*create)(const struct kj_val *args, void **ret_self, struct kerr *err);
    void (*destroy)(void *self);

    /* May the pod enter the queue at all? Otherwise `why` says what it waits for. */
    enum ks_code (*pre_enqueue)(void *self, const struct pod *p, struct ks_texts *why);
    const struct ks_hint *hints; /* NULL with a filter: every event counts */
    uint32_t nhints;

    /* Once per attempt, before the nodes are looked at. A rejection here rejects all nodes. */
    enum ks_code (*pre_filter)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                               void **ret_state, struct ks_texts *why);
    /* why[i]: 0 or an index into reasons. skip[i] != 0: an earlier plugin said no, the answer is
     * unused. Writes every row of the span. */
    void (*filter)(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                   const uint8_t *skip, uint8_t *restrict why);
    /* Texts for one row that filter() rejected, when one reason is not enough. */
    void (*explain)(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                    struct ks_texts *out);

    enum ks_code (*pre_score)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                              void **ret_state);
    void (*score)(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                  int64_t *restrict out);
    /* Brings the scores of the candidates (skip[i] == 0) into [0, KS_SCORE_MAX]. */
    void (*normalize)(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                      int64_t *scores);

    /* After the choice, before the binding. unreserve() exactly undoes reserve(), and must bear
     * being called for a pod that was not reserved. */
    enum ks_code (*reserve)(void *self, const struct pod *p, const char *node,
                            struct ks_texts *why);
    void (*unreserve)(void *self, const struct pod *p, const char *node);

    /* Not served yet; profile_new() refuses a plugin that has them. They have their place so that
     * the struct does not change under its users. */
    void (*add_pod)(void *self, const struct ks_cycle *c, const struct pod *p, uint32_t row);
    void (*remove_pod)(void *self, const struct ks_cycle *c, const struct pod *p, uint32_t row);
    enum ks_code (*post_filter)(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                const uint8_t *rejected_by, struct ks_texts *why);
    enum ks_code (*permit)(void *self, const struct pod *p, const char *node, nsec_t *ret_timeout,
                           struct ks_texts *why);
    enum ks_code (*pre_bind)(void *self, const struct pod *p, const char *node,
                             struct ks_texts *why);
    void (*post_bind)(void *self, const struct pod *p, const char *node);
};

/* For .normalize: the best score becomes 100; reversed: the smallest raw value is the best. */
void ks_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                  int64_t *scores);
void ks_normalize_reversed(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                           int64_t *scores);
#endif
