/* rows.h - the cluster as a struct of arrays: one row per node, one column per resource.
 *
 * What attempts and plugins read; model/columns.c owns the arrays. Rows move only between attempts.
 * Everything here is borrowed and belongs to the loop thread.
 */
#ifndef KOORD_SCHEDULER_MODEL_ROWS_H
#define KOORD_SCHEDULER_MODEL_ROWS_H
#include "base/base.h"

struct node;
struct nodecache;
struct pod;

struct ks_span {
    uint32_t begin, end;
};

/* The resources with a column of a fixed number; further ones follow in order of appearance. */
enum { KS_MCPU, KS_MEMORY, KS_EPHEMERAL, KS_PODS, KS_FIXED };
/* No column: no node has this resource. */
#define KS_NO_COLUMN UINT32_MAX
#define KS_NO_ROW    UINT32_MAX
/* The columns used_mcpu_nz and used_memory_nz, for those who change one (ks_overlay_add). */
#define KS_USED_MCPU_NZ   (UINT32_MAX - 1)
#define KS_USED_MEMORY_NZ (UINT32_MAX - 2)
/* Allocatable values end here and requests one bit further up, so that sums and a hundredfold stay
 * within 64 bits and an absurd request fits nowhere. */
#define KS_ALLOC_MAX   (INT64_C(1) << 56)
#define KS_REQUEST_MAX (INT64_C(1) << 57)

enum { KS_JOURNAL = 1024 };
enum { KS_NODE_UNSCHEDULABLE = 1, KS_NODE_TAINT_HARD = 2, KS_NODE_TAINT_PREFER = 4 };

struct ks_podlist { /* pods on a node, assumed ones too, in no order that means anything */
    const struct pod **items;
    uint32_t n;
    uint32_t naffinity; /* the first so many have podAffinity or podAntiAffinity */
};

struct ks_history {          /* which row changed when */
    uint64_t generation;     /* of the last change */
    const uint64_t *changed; /* [row]: generation of its last change */
    const uint32_t *journal; /* [generation % KS_JOURNAL]: the row that changed then */
};

struct ks_nodes { /* one row a node, [0, n); rows move only between attempts */
    uint32_t n, nres;
    int64_t *const *alloc, *const *used; /* [resource][row]; cpu in milli, the rest in units */
    const int64_t *used_mcpu_nz;         /* as used, but each container counts for something */
    const int64_t *used_memory_nz;
    const char *const *resource;    /* [resource]: its name */
    const struct node *const *node; /* always the latest state, also when nothing changed */
    const uint8_t *flags;           /* KS_NODE_* */
    const struct ks_podlist *pods;
    struct ks_history changes;      /* of rows: the node, its objects, its pods */
    struct ks_history node_changes; /* the same without pods */
    uint64_t layout;                /* grows when a row comes, goes or moves, or a column comes */
    uint32_t npods, naffinity;      /* sums over all rows; ntaints_prefer: rows with such a taint */
    uint32_t ntaints_prefer;
    /* [row]: how many changes of an overlay it has; NULL: there is no overlay. Such a row is not as
     * its generation says. */
    const uint32_t *overlaid;
    const struct nodecache *of;
};
/* KS_NO_ROW when there is no such node; KS_NO_COLUMN when no node has such a resource. */
uint32_t ks_row_of(const struct ks_nodes *n, const char *node);
uint32_t ks_column_of(const struct ks_nodes *n, const char *resource);
/* Somebody reads these annotations of nodes: from now on a node that differs in them has changed.
 * keys: constants, NULL after the last; NULL: none. */
void ks_read_annotations(const struct ks_nodes *n, const char *const *keys);

/* The rows below n that changed after a generation, each once, in no particular order:
 * struct ks_changed it = ks_changed_since(...); while ((row = ks_changed_next(&it)) != KS_NO_ROW).
 * Where the journal does not reach back that far, all rows are looked at. */
struct ks_changed {
    const struct ks_history *of;
    uint64_t since, at; /* at: generations up to here have been seen */
    uint32_t n, row;    /* row: the next to look at, when all are */
    bool all;
};
static inline struct ks_changed ks_changed_since(const struct ks_history *h, uint32_t n,
                                                 uint64_t since)
{
    return (struct ks_changed){
        .of = h, .since = since, .at = since, .n = n, .all = h->generation - since > KS_JOURNAL
    };
}
static inline uint32_t ks_changed_next(struct ks_changed *it)
{
    const struct ks_history *h = it->of;

    for (; it->all && it->row < it->n; it->row++)
        if (h->changed[it->row] > it->since)
            return it->row++;
    while (!it->all && it->at < h->generation) {
        uint32_t row = h->journal[++it->at % KS_JOURNAL];
        if (row < it->n && h->changed[row] == it->at) /* otherwise it stands there again, later */
            return row;
    }
    return KS_NO_ROW;
}
#endif
