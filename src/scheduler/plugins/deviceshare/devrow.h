/* devrow.h - what a row has of devices, and what of them is in use (sched-device 3).
 *
 * Row data of the plugin: made from the inventory of the node and the holdings of its pods, so
 * overlays (victims that go, reserved room that is given back) are seen like everything else. What
 * owners hold of a reservation counts once. The columns let one pass over all rows drop most of
 * them before the allocator looks at any. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_DEVROW_H
#define KOORD_SCHEDULER_DEVICESHARE_DEVROW_H
#include "scheduler/plugins/deviceshare/holdings.h"

struct card_left { /* for quick answers; -1: it is not listed, or the card is not healthy */
    int64_t memory;
    int32_t first; /* the kind's first resource: the compute of a GPU */
    int32_t ratio;
};
/* Sums over the cards: of a GPU's first three resources, RDMA, FPGA. */
enum { GPU_SUMMED = GPU_RATIO + 1, ROW_SUMS = GPU_SUMMED + 2 };
struct devrow {
    struct inventory *inv; /* NULL: the node never had a Device */
    struct amounts *used;  /* [cards] */
    struct card_left *left;
    uint16_t *vf_refs; /* [inv->nvfs]: how many pods have it */
    int64_t total[ROW_SUMS], free[ROW_SUMS];
};
enum {                /* columns */
       ROW_DEVICES,   /* not 0: there is an inventory */
       ROW_SPECIAL,   /* devrow_is_special() */
       ROW_GPUS,      /* how many GPUs there are, healthy or not */
       ROW_GPUS_FREE, /* GPUs with 100 percent of compute and memory free */
       ROW_GPU_CORE,  /* the most that is free of it on one GPU */
       ROW_GPU_MEMORY,
       ROW_GPU_RATIO,
       ROW_RDMAS,
       ROW_RDMA,
       ROW_FPGAS,
       ROW_FPGA,
       ROW_COLUMNS
};
extern const struct ks_row_data devrow_data;

/* One row by itself, for people who ask and for tests. */
void devrow_init(struct devrow *r, struct holdings *h, const struct node *node,
                 const struct ks_podlist *pods);
void devrow_fini(struct devrow *r);
/* The claim that has the card, or a part of it; NULL: none. */
const char *devrow_claim(const struct devrow *r, const struct holdings *h, uint32_t card);
/* What is held has changed since the row was made. */
void devrow_recount(struct devrow *r, struct holdings *h, const struct ks_podlist *pods);
/* The same from an inventory, whose reference it takes; then one holding after the other, which
 * changes `used` and `vf_refs` alone. */
void devrow_make(struct devrow *r, struct inventory *inv);
void devrow_add(struct devrow *r, const struct held *items, uint32_t n);

/* Are GPUs given away by partition only, or may pods need more than amounts? */
static inline bool devrow_is_special(const struct devrow *r)
{
    return r->inv && r->inv->flags & (INVENTORY_HONOR | INVENTORY_WELL_PLANNED);
}
/* What somebody holds of a card: with the memory of a GPU's share, and the share of its memory,
 * whichever of them was written. */
struct amounts devrow_held(const struct devrow *r, uint32_t card, const struct held *item);
/* What is free of a card. */
struct amounts devrow_free(const struct devrow *r, uint32_t card);
#endif
