/* forest_int.h - what the files of the forest share. */
#ifndef KOORD_QUOTA_FOREST_INT_H
#define KOORD_QUOTA_FOREST_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "quota/fairshare.h"
#include "quota/forest.h"
#include "quota/podtable.h"

enum quota_sort {
    QUOTA_PLAIN,
    QUOTA_ROOT,    /* of a tree */
    QUOTA_SPECIAL, /* system, default: below the root, but not sharing with the others */
    QUOTA_OUTSIDE  /* not a quota: pods that belong to none */
};

/* What a pod may ask for at most: beyond it fits nowhere, and 2,000 of them can be summed up. */
#define POD_AMOUNT_MAX (INT64_C(1) << 52)

enum { SEEN_REQUEST, SEEN_NP_REQUEST, SEEN_USED, SEEN_NP_USED, SEENS };

struct total_amount { /* of a tree's total: resources that no quota names have amounts too */
    char *name;
    __int128 count;
    uint32_t givers;
};
struct totals vec_of(struct total_amount); /* by name */

struct quota {
    char *name, *ns, *parent_name;
    struct quota_tree *tree;
    struct quota *parent; /* NULL: root, or waiting for it */
    struct quota **children;
    uint32_t nchildren, children_cap;
    uint32_t id, pods, npods; /* pods: number of the first one */
    int64_t *v;               /* [column][field]: what is computed together stands together */
    uint64_t max_keys, min_keys, weight_keys;
    uint64_t seen[SEENS];  /* amounts that were there once */
    uint64_t runtime_keys; /* what the parent shares out */
    uint64_t level_keys;   /* what was shared out among the children the last time */
    uint64_t dirty;        /* columns to be shared out among the children again */
    uint64_t overflowed;   /* columns with sums that had to be cut */
    uint64_t version;      /* of its runtime */
    uint64_t uses;         /* how often its sums changed */
    kstrlist namespaces;   /* owned */
    struct totals total;   /* of its tree, when it is the head */
    uint8_t sort;          /* enum quota_sort */
    bool is_parent, lends, head, ignores_default;
    bool remap; /* its pods may belong elsewhere now */
};

struct quota_tree {
    char *id;
    struct quota *root;
    uint32_t nquotas;
    uint32_t refs[QUOTA_COLUMNS_MAX]; /* quotas that have the column in their max */
    uint64_t keys;                    /* columns with such quotas */
    int64_t total[QUOTA_COLUMNS_MAX];
    uint64_t total_keys; /* 0: nothing is known of the total */
    bool total_dirty;
};

struct quota_users vec_of(struct quota *);
struct ns_entry { /* quotas that claim a namespace by annotation */
    struct quota_users quotas;
    char name[];
};

struct quota_forest {
    struct quota_options options;
    struct quota_columns columns;
    uint32_t width; /* columns that quotas have room for */
    struct map by_name, by_namespace;
    struct quota_users by_id; /* NULL: a number that is free */
    struct vec_of(uint32_t) free_ids;
    struct vec_of(struct quota_tree *) trees;
    struct quota_tree *tree; /* the default one */
    struct quota *def, *system, *outside;
    struct quota_users heads;
    struct totals nodes;
    uint32_t waiting; /* quotas that wait for a parent */
    bool remap;       /* some quota's pods may belong elsewhere now */
    struct podtable pods;
    struct share_scratch scratch;
    struct vec_of(struct share_member) members;
    struct quota_users path;
    struct arena *arena; /* for one call */
};

static inline int64_t *quota_cell(const struct quota *q, uint64_t column)
{
    return q->v + column * QUOTA_FIELDS;
}
static inline uint64_t all_columns(const struct quota_forest *f)
{
    return f->columns.n == 64 ? UINT64_MAX : (UINT64_C(1) << f->columns.n) - 1;
}
/* What a quota asks its parent for. */
static inline int64_t quota_limited(const struct quota *q, uint64_t column)
{
    const int64_t *v = quota_cell(q, column);

    return q->max_keys >> column & 1 ? MIN(v[QUOTA_REQUEST], v[QUOTA_MAX]) : v[QUOTA_REQUEST];
}

/* ---- sums.c: amounts on their way up --------------------------------------------------------- */

/* A quota with all that it has joins its parent, or leaves it. */
void sums_join(struct quota_forest *f, struct quota *q, int sign);
/* One of its pods is charged or released. */
void sums_charge(struct quota_forest *f, struct quota *q, const struct podrec *r, int sign);
/* Only as used. */
void sums_assign(struct quota_forest *f, struct quota *q, const struct podrec *r, int sign);
/* For a quota that has no parent at the moment: what follows from its max, min and pods. */
void sums_restart(struct quota_forest *f, struct quota *q);

/* ---- totals.c -------------------------------------------------------------------------------- */

void totals_add(struct totals *t, const reslist *l, int sign);
void totals_fini(struct totals *t);
/* The total of a tree is current, and its first level knows. */
void totals_settle(struct quota_forest *f, struct quota_tree *t);
void totals_mark(struct quota_forest *f); /* of all trees */

/* ---- mapping.c: pods and their quotas -------------------------------------------------------- */

/* A quota comes, goes or claims other namespaces: pods that this may concern are looked at again
 * before the next question. */
void mapping_mark(struct quota_forest *f, struct quota *q);
void mapping_claim(struct quota_forest *f, struct quota *q, kstrlist namespaces);
void mapping_settle(struct quota_forest *f);
/* All of them belong elsewhere: the quota goes. */
void mapping_evacuate(struct quota_forest *f, struct quota *q);
void mapping_fini(struct quota_forest *f);
/* There are new columns: what do the pods request of them? */
void mapping_widen(struct quota_forest *f);
#endif
