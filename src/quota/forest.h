/* forest.h - quota trees: who may use how much (sched-quota 2 to 9, 12).
 *
 * A forest holds the quotas of all trees, what each pod is charged with, and the totals. Its state
 * is a function of the objects that it was told of, not of the order in which it heard of them:
 * each pod remembers the quota that it is charged to, and moves when labels, namespaces, keys of
 * max or quotas change. (Two things remember the past on purpose: a quota whose new state is
 * refused keeps the last good one, and amounts that were there once are shown as 0.)
 *
 * An event of a pod costs the depth of its quota. Runtimes are exact whenever they are read: a
 * change marks the level that it concerns, and the first reader computes that level once, for all
 * siblings.
 *
 * No I/O, no clock. Objects are borrowed for the call, but pods are kept by reference. Loop thread.
 */
#ifndef KOORD_QUOTA_FOREST_H
#define KOORD_QUOTA_FOREST_H
#include "api/koord/quota.h"
#include "api/pod.h"
#include "quota/columns.h"

struct quota;
struct quota_forest;
struct quota_tree;

struct quota_options {
    bool scale_min;       /* enableMinQuotaScale */
    bool trees;           /* gate MultiQuotaTree */
    bool guarantee;       /* gate ElasticQuotaGuaranteeUsage */
    bool no_default;      /* gate DisableDefaultQuota */
    bool ignore_overhead; /* gate ElasticQuotaIgnorePodOverhead */
};

/* Amounts of a quota, one of each for every column. */
enum quota_field {
    QUOTA_MAX,
    QUOTA_MIN,
    QUOTA_WEIGHT,
    QUOTA_SCALED_MIN, /* autoScaleMin: min, or less when there is not enough for all mins */
    QUOTA_SELF_REQUEST,
    QUOTA_SELF_NP_REQUEST, /* NP: of pods that are not preemptible */
    QUOTA_SELF_USED,
    QUOTA_SELF_NP_USED,
    QUOTA_CHILD_REQUEST, /* its pods, and its children's requests up to their max */
    QUOTA_REQUEST,       /* the same, at least min if it does not lend */
    QUOTA_NP_REQUEST,
    QUOTA_USED,
    QUOTA_NP_USED,
    QUOTA_ALLOCATED,
    QUOTA_GUARANTEED,
    QUOTA_RUNTIME,
    QUOTA_FIELDS
};

/* ---- life ------------------------------------------------------------------------------------ */

struct quota_forest *forest_new(const struct quota_options *o);
struct quota_forest *forest_free(struct quota_forest *f);
DEFINE_CLEANUP(forest_free, struct quota_forest *)
const struct quota_columns *forest_columns(const struct quota_forest *f);
/* enableMinQuotaScale of a new configuration. */
void forest_scale_mins(struct quota_forest *f, bool on);
size_t forest_bytes(const struct quota_forest *f); /* memory, without the pods' objects */

/* ---- quotas ---------------------------------------------------------------------------------- */

/* A new quota or the new state of one, found by name. Also of the built-in ones, which are always
 * there: root, system and default. A state that is wrong changes nothing; err says what is wrong:
 * -EINVAL for good, -ENOENT when only the parent is missing. A new quota without its parent waits
 * for it outside of its tree: its pods are charged, and have no room. */
int forest_put(struct quota_forest *f, const struct elasticquota *q, struct kerr *err);
/* Its pods move to where they belong now, its children wait for a parent. The built-in ones lose
 * only what the object said. */
void forest_remove(struct quota_forest *f, const char *name);
/* Max of the system and the default quota while there is no object. */
void forest_set_special(struct quota_forest *f, const char *name, const reslist *max);

struct quota *forest_find(const struct quota_forest *f, const char *name); /* NULL: not known */
struct quota *forest_at(const struct quota_forest *f, uint32_t id);        /* by quota_id() */
/* All quotas in the order of their names, those of all trees; `tree` NULL: all. The built-in root
 * is left out. */
struct quota **forest_list(const struct quota_forest *f, const char *tree, struct arena *a,
                           uint32_t *ret_n);

/* ---- totals ---------------------------------------------------------------------------------- */

/* What a node adds to the default tree, or takes away again (sign -1). */
void forest_add_total(struct quota_forest *f, const reslist *allocatable, int sign);

/* ---- pods ------------------------------------------------------------------------------------ */

/* A pod is there, or has changed. assigned: it counts as used, too. */
void forest_put_pod(struct quota_forest *f, const struct pod *p, bool assigned);
void forest_remove_pod(struct quota_forest *f, struct kuid uid);
/* Reserve and unreserve; nothing for a pod that is not known. */
void forest_assign_pod(struct quota_forest *f, struct kuid uid, bool assigned);

/* The quota that a pod belongs to, known or not; NULL: none (gate DisableDefaultQuota). */
struct quota *forest_resolve(struct quota_forest *f, const struct pod *p);
/* The quota that a known pod is charged to; NULL: not known, or to none. */
struct quota *forest_charged(struct quota_forest *f, struct kuid uid);

struct quota_pod { /* a pod that is charged to a quota */
    const struct pod *pod;
    bool assigned, preemptible;
    uint64_t keys;
    const int64_t *amount; /* by column */
};
/* Pods of one quota, not of those below: for (uint32_t at = 0; quota_next_pod(f, q, &at, &p);) */
bool quota_next_pod(struct quota_forest *f, const struct quota *q, uint32_t *at,
                    struct quota_pod *ret);
bool forest_pod(struct quota_forest *f, struct kuid uid, struct quota_pod *ret);
/* What a pod requests as quotas count it, in the arena. */
reslist forest_request_list(const struct quota_forest *f, const struct pod *p, struct arena *a);
/* The same by column; amounts of QUOTA_COLUMNS_MAX columns. Returns the keys. */
uint64_t forest_request(const struct quota_forest *f, const reslist *l, int64_t *amounts);

/* ---- reading --------------------------------------------------------------------------------- */

const char *quota_name(const struct quota *q);
const char *quota_namespace(const struct quota *q); /* of its object; "": there is none */
const char *quota_tree_name(const struct quota *q);
uint32_t quota_id(const struct quota *q);           /* not 0; of no other quota while it lives */
struct quota *quota_above(const struct quota *q);   /* the parent; NULL: root, or it has none yet */
bool quota_is_root(const struct quota *q);          /* the built-in root of its tree */
bool quota_is_special(const struct quota *q);       /* system or default */
bool quota_waits_for_parent(const struct quota *q); /* it, or one above it */
const char *quota_parent_name(const struct quota *q); /* as it was asked for */
bool quota_parent_flag(const struct quota *q);        /* its label is-parent */
bool quota_lends(const struct quota *q);
bool quota_heads_tree(const struct quota *q); /* its label is-root */
uint64_t quota_runtime_version(const struct quota *q);
/* Another number whenever what is used of the quota, or its runtime, may have changed; new limits
 * aside. */
uint64_t quota_stamp(struct quota_forest *f, struct quota *q);
uint32_t quota_children(const struct quota *q, struct quota *const **ret); /* by name */
/* Columns of max: what counts for the pods of the quota. */
uint64_t quota_keys(const struct quota *q);
/* The amounts of a field by column, values[column * QUOTA_FIELDS]; *ret_keys: those that it has.
 * Runtimes and scaled mins are computed first where something changed. */
const int64_t *quota_values(struct quota_forest *f, struct quota *q, enum quota_field field,
                            uint64_t *ret_keys);
reslist quota_list(struct quota_forest *f, struct quota *q, enum quota_field field,
                   struct arena *a);
static inline int64_t quota_at(const int64_t *values, uint64_t column)
{
    return values[column * QUOTA_FIELDS];
}

/* ---- how a runtime came about ---------------------------------------------------------------- */

struct share_watcher;
/* The children of a quota share what it has of one resource once more; nothing changes. Members are
 * those of quota_children(). */
void quota_explain(struct quota_forest *f, struct quota *parent, uint64_t column,
                   const struct share_watcher *w);
/* What the children of a quota share; *ret_known false: it is not known, so mins are not scaled. */
int64_t quota_total(struct quota_forest *f, struct quota *parent, uint64_t column, bool *ret_known);
#endif
