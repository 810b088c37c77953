/* allocate_int.h - the files of the allocator among themselves. */
#ifndef KOORD_SCHEDULER_DEVICESHARE_ALLOCATE_INT_H
#define KOORD_SCHEDULER_DEVICESHARE_ALLOCATE_INT_H
#include "scheduler/plugins/deviceshare/allocate.h"

struct view {              /* the row as this try may use it; by number of the card */
    struct amounts *total; /* nothing listed: not a candidate, or not healthy */
    struct amounts *free;
    uint8_t *used;              /* in the whole row, whether it is a candidate or not */
    bool present[DEVICE_KINDS]; /* something of the kind is left in the view */
};
void view_make(const struct device_try *t, struct view *v);

struct picks { /* cards that are chosen */
    uint32_t *card;
    const struct card_vf **vf; /* NULL: none */
    uint32_t n;
};
struct allocating {
    const struct device_try *t;
    const struct inventory *inv;
    struct view view;
    struct ks_texts *why; /* may be NULL */
    int64_t count[DEVICE_KINDS];
    struct amounts each[DEVICE_KINDS];
    bool in_play[DEVICE_KINDS];
    struct picks picks[DEVICE_KINDS];
    const char *gpu_template;
};
enum ks_code allocating_refuse(struct allocating *x, enum ks_code code, const char *text);

/* gpu.c. KS_SKIP: nothing was decided, the next way is tried. */
enum ks_code gpu_find_template(struct allocating *x);
enum ks_code gpu_pick_partition(struct allocating *x);
enum ks_code gpu_pick_near(struct allocating *x);

static inline bool allocating_must(const struct allocating *x, uint32_t card)
{
    return x->t->must && x->t->must[card];
}
/* Does a device have what is wanted of each? */
static inline bool allocating_fits(const struct allocating *x, enum device_kind kind, uint32_t card)
{
    return x->view.total[card].has && amounts_fit(&x->each[kind], &x->view.free[card]);
}
#endif
