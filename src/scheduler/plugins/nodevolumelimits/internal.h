/* internal.h - what the files of NodeVolumeLimits share: tables by row. */
#ifndef KOORD_SCHEDULER_NODEVOLUMELIMITS_INTERNAL_H
#define KOORD_SCHEDULER_NODEVOLUMELIMITS_INTERNAL_H
#include "base/vec.h"
#include "scheduler/plugins/nodevolumelimits/csi.h"
#include "scheduler/plugins/volume/rows.h"

#define NO_LIMIT INT32_MAX

struct attached { /* a volume on a node */
    uint64_t id, driver;
};
struct volset { /* sorted by id, each once */
    struct attached *items;
    uint32_t n, cap;
    bool settled; /* stays so as long as the pods do */
};
void volset_fini(struct volset *s);
bool volset_has(const struct volset *s, uint64_t id);

/* ---- limits: how many volumes of a driver a node takes ----------------------------------------
 */

struct limit_col {
    char *driver;
    int32_t *limit; /* [row]; NO_LIMIT */
    bool any;       /* some row has one */
};
struct csilimits {
    struct vec_of(struct limit_col) cols;
    uint64_t csi_generation, node_generation;
};
void csilimits_fini(struct csilimits *l);
/* Columns stay put from here to the next begin. */
void csilimits_begin(struct csilimits *l, const struct objects *w, const struct ks_nodes *nodes);
/* NULL: no node has a limit for this driver. */
const int32_t *csilimits_get(struct csilimits *l, const struct objects *w,
                             const struct ks_nodes *nodes, const char *driver);

/* ---- attachments: VolumeAttachments by row ----------------------------------------------------
 */

struct volattached {
    uint32_t *count; /* [row] */
    struct volset *sets;
    uint32_t cap;
    bool settled;
    uint64_t generation, pv_generation, node_generation;
};
void volattached_fini(struct volattached *a);
void volattached_refresh(struct volattached *a, const struct objects *w,
                         const struct ks_nodes *nodes);

/* ---- usage: the volumes of the pods of a row --------------------------------------------------
 */

struct volusage {
    struct volusage_row {
        uint64_t changed, objects; /* as of when */
        struct volset set;
    } * rows;
    uint32_t cap;
};
void volusage_fini(struct volusage *u);
void volusage_reserve(struct volusage *u, uint32_t rows);
/* What the pods of the row use; s is emptied first. */
void volusage_collect(const struct objects *w, const struct ks_nodes *nodes, uint32_t row,
                      struct volset *s);
/* The same, remembered. Not in a trial. */
const struct volset *volusage_row(struct volusage *u, const struct objects *w,
                                  const struct ks_nodes *nodes, uint32_t row);
#endif
