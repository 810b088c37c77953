/* rowdata_int.h - what the files about row data share, and what the node cache and its overlay tell
 * them. Internal to model/.
 */
#ifndef KOORD_SCHEDULER_MODEL_ROWDATA_INT_H
#define KOORD_SCHEDULER_MODEL_ROWDATA_INT_H
#include "scheduler/model/nodecache_int.h"
#include "scheduler/model/rowdata.h"

enum {
    ROW_STALE_PODS = 1,
    ROW_STALE_NODE = 2, /* anything */
    ROW_STALE = ROW_STALE_PODS | ROW_STALE_NODE,
    ROW_LISTED = 4,
    ROW_AS_IF = 8,          /* of an overlay: what it was is set aside */
    ROW_READS_OBJECTS = 16, /* of the plugin's other kinds */
};

struct aside { /* a row as it was before the overlay; its bytes stand beside */
    uint32_t row;
    uint8_t flags; /* ROW_STALE: it changed meanwhile, or was out of date */
    nsec_t until;
};
struct rowset {
    struct ks_rows view;
    const struct ks_row_data *decl;
    void *self;
    struct nodecache *cache;
    const struct kind *const *kinds, *const *statuses;
    int64_t *columns[KS_ROW_COLUMNS];
    uint8_t *flags;  /* [row] */
    nsec_t *until;   /* [row]: 0, or when it runs out; NULL: no row ever does */
    nsec_t earliest; /* of these, or earlier */
    nsec_t now;      /* when that was looked at last */
    uint32_t cap;
    uint32_t *list, nlist; /* rows that are ROW_LISTED */
    uint32_t nreading;     /* rows and asides that are ROW_READS_OBJECTS */
    uint64_t generation, node_generation, objects_generation;
    uint32_t users;
    struct vec_of(struct aside) asides;
    char *aside_bytes;
    size_t aside_size; /* of one: struct and numbers */
    struct rowset *next;
};

/* rowdata.c */
void rowset_drop(const struct rowset *s, void *data);
nsec_t rowset_until(const struct rowset *s, uint32_t row);
struct aside *rowset_find_aside(const struct rowset *s, uint32_t row);
/* The row as it is now, with or without an overlay, is out of date. */
void rowset_mark(struct rowset *s, uint32_t row, uint8_t stale);
/* What the journal says. */
void rowset_catch_up(struct rowset *s);
/* A pod came to the row, or left it: the plugin knows what that means. */
void rowset_change(struct rowset *s, uint32_t row, const struct pod *p, bool added);
static inline int64_t rowset_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* rowdata_overlay.c */
/* A row goes; the last one takes its place. */
void rowsets_remove(struct nodecache *c, uint32_t row, uint32_t last);
/* A pod came to the row or left it. since: the generation of the rows before. */
void rowsets_pod(struct nodecache *c, uint32_t row, const struct pod *p, bool added,
                 uint64_t since);
/* The first change of a row in an overlay is about to be made; the last is about to be undone. */
void rowsets_enter(struct nodecache *c, uint32_t row);
void rowsets_leave(struct nodecache *c, uint32_t row);
/* Another sum of the row, in an overlay. */
void rowsets_used(struct nodecache *c, uint32_t row);
void rowset_undo_own(struct rowset *s, uint32_t row, uint32_t column, int64_t delta);
#endif
