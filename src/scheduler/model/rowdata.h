/* rowdata.h - what plugins derive from rows: a struct and a few numbers for each node, made from
 * the node, the objects that belong to it and its pods.
 *
 * A plugin declares what it wants (struct ks_row_data); the model owns the memory, one block for
 * all rows and one array for each number, and moves it with the rows. Through the journal it knows
 * which rows changed: those are filled anew, once, before the plugin sees them the next time.
 * Changes that are only tried (overlay.h) are on a copy, and the row gets back what it had, to the
 * byte. Loop thread.
 */
#ifndef KOORD_SCHEDULER_MODEL_ROWDATA_H
#define KOORD_SCHEDULER_MODEL_ROWDATA_H
#include "scheduler/model/rows.h"

struct kind;
struct pod;

enum { KS_ROW_COLUMNS = 20 }; /* at most */

struct ks_fill { /* one row is filled */
    const struct ks_nodes *nodes;
    uint32_t row;
    nsec_t now; /* wall clock */
    void *data; /* to be written: zeros, or what the last fill of this row has left */
    int64_t
        *column; /* [columns]: to be written; zeros, in add_pod() and remove_pod() as they are */
    /* data is what was left, and nothing changed since but the pods and what is known of them. */
    bool pods_only;
    /* To be set: from this time on it says something else. A time that has passed counts too: it
     * comes again when the clock is set back. 0: nothing of it depends on time. */
    nsec_t valid_until;
    /* To be set: objects of the plugin's other kinds, which do not belong to the node, were looked
     * at, and the next state of such an object may make a difference. */
    bool reads_objects;
};

struct ks_row_data {
    uint32_t size;    /* of the struct; 0: only numbers */
    uint32_t columns; /* how many numbers */
    bool pods;        /* it depends on the pods of the row too */
    /* Few pods need it: it is current only in attempts whose pre_filter calls ks_rows_refresh().
     * For plugins whose verdicts are not reused. */
    bool on_demand;
    /* A function of the row, of services of the plugin (which say ks_touch_row()), and of now. */
    void (*fill)(void *self, struct ks_fill *f);
    /* Instead of filling anew when one pod came to the row, or left it: the list of the row says so
     * already. Each exactly undoes the other. NULL: the row is filled anew. */
    void (*add_pod)(void *self, struct ks_fill *f, const struct pod *p);
    void (*remove_pod)(void *self, struct ks_fill *f, const struct pod *p);
    /* The end of a struct that was filled, or of zeros: frees what it points to. NULL: it owns
     * nothing. */
    void (*drop)(void *self, void *data);
    /* A struct that owns something, once more; `to` is all zeros. NULL: it is filled anew. */
    void (*copy)(void *self, void *to, const void *from);
};

struct ks_rows { /* as a plugin sees it: c->rows */
    char *data;
    size_t stride;
    int64_t *const *column; /* [column][row] */
};
/* Whoever reads a row may complete what fill() has put off, in this row. */
static inline void *ks_row(const struct ks_rows *r, uint32_t row)
{
    return r->data + row * r->stride;
}
/* What services know of the pods of this node has changed: its row is another one now, and row data
 * that depends on pods is filled anew. */
void ks_touch_row(const struct ks_nodes *n, const char *node);

/* ---- for the framework ----------------------------------------------------------------------- */

struct rowset; /* of one plugin */
/* kinds, statuses: that the plugin reads, as in struct ks_plugin. Everything given must outlive the
 * set, and the set ends before the cache. */
struct rowset *rowset_new(const struct ks_nodes *n, const struct ks_row_data *d, void *self,
                          const struct kind *const *kinds, const struct kind *const *statuses);
struct rowset *rowset_free(struct rowset *s);
const struct ks_rows *rowset_rows(const struct rowset *s);
/* Somebody is about to read it; he has read it. In between it follows overlays. */
void rowset_begin(struct rowset *s);
void rowset_end(struct rowset *s);
/* All rows are made current. Cheap when nothing has changed. */
void rowset_sync(struct rowset *s, nsec_t now);
/* Fills each row once more and compares. -EBADMSG: it is not the same. For tests. */
int rowset_verify(struct rowset *s, nsec_t now, struct kerr *err);
/* More in a column of its own, or less; taken back with the overlay's other changes. */
void overlay_add_own(struct rowset *s, uint32_t row, uint32_t column, int64_t delta);
#endif
