/* internal.h - what the files of NodeVolumeLimits share: what is known of each row. */
#ifndef KOORD_SCHEDULER_NODEVOLUMELIMITS_INTERNAL_H
#define KOORD_SCHEDULER_NODEVOLUMELIMITS_INTERNAL_H
#include "base/vec.h"
#include "scheduler/plugins/nodevolumelimits/csi.h"
#include "scheduler/plugins/volume/rows.h"

struct attached { /* a volume on a node */
    uint64_t id, driver;
};
struct volset { /* sorted by id, each once */
    struct attached *items;
    uint32_t n, cap;
    bool settled; /* stays so as long as the pods do */
};
bool volset_has(const struct volset *s, uint64_t id);

struct limited { /* a driver that some row has a limit for */
    uint64_t driver;
    uint32_t rows; /* how many */
};
struct volumes {
    const struct objects *objects;
    struct vec_of(struct limited) drivers;
};

/* ---- row data --------------------------------------------------------------------------------- */

enum {
    COUNTABLE, /* volumes of the row's pods that may count */
    ATTACHED,  /* VolumeAttachments of the node */
    TIGHTEST,  /* the lowest limit that it has for a driver */
    VOLUMES_COLUMNS
};
struct volume_limit { /* so many volumes of a driver the node takes */
    uint64_t driver;
    int64_t count;
};
struct volrow {
    struct volume_limit *limits;
    uint32_t nlimits;
    bool migrated; /* the node says so: csi_is_migrated() */
    struct volset attached;
    struct volset pods; /* what they use; put off until somebody asks */
    bool pods_made;
};
extern const struct ks_row_data volumes_row;

bool volume_is_countable(const struct pod_volume *v);
/* INT64_MAX: there is none. */
int64_t volrow_limit(const struct volrow *r, uint64_t driver);
/* What the pods of the row use. */
const struct volset *volrow_pods(struct volrow *r, const struct objects *w,
                                 const struct ks_nodes *nodes, uint32_t row);
/* Does some row have a limit for the driver? */
bool volumes_limited(const struct volumes *v, uint64_t driver);
#endif
