/* preallocate.h - a reservation takes over the room of running pods (sched-reservation 9). */
#ifndef KOORD_SCHEDULER_RESERVATION_PREALLOCATE_H
#define KOORD_SCHEDULER_RESERVATION_PREALLOCATE_H
#include "scheduler/plugins/reservation/state.h"

struct pre_pod { /* a pod that may be taken over */
    const struct pod *pod;
    struct requests requests;
    int64_t *wants; /* [request of the reserve pod] */
    int64_t rank;   /* the higher the earlier */
    bool selected;
};
struct pre_row {
    uint32_t row;
    struct pre_pod *items;
    uint32_t n;
    int64_t *gone, gone_pods; /* what they counted for */
};
struct preallocation {
    bool required, multiple, cluster;
    bool prefer_none;    /* where there is room, no pod is taken over */
    const char *refusal; /* why it cannot be done at all; NULL: it can */
    struct pre_row *rows;
    uint32_t n, *at; /* [row]: place in rows + 1 */
    struct pre_pod **chosen;
    uint32_t nchosen, chosen_row;
};
struct pre_shortage {
    uint32_t by_node;
    struct ks_texts *why; /* NULL: nobody reads it */
};

/* st->pre is set, if the reserve pod's reservation wants it. */
void preallocate_make(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      struct ks_overlay *o);
bool preallocate_fits(const struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      uint32_t row, struct pre_shortage *s);
void preallocate_texts(const struct resv_state *st, const struct pre_shortage *s,
                       struct ks_texts *out);
int64_t preallocate_score(const struct resv_state *st, const struct ks_cycle *c,
                          const struct ks_pod *p, uint32_t row);
/* Which pods are taken over on the row that was chosen; before the reserve pod is assumed there. */
void preallocate_choose(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                        uint32_t row);

/* prewrite.c - their annotations are written before the reservation gets its node, all of them or
 * none. */
struct prewrites;
struct prewrites *prewrites_new(struct kube *kube, const struct reservations *cache);
struct prewrites *prewrites_free(struct prewrites *w);
/* pre_bind of a reserve pod: KS_SKIP when there is nothing to write. */
enum ks_code prewrites_start(struct prewrites *w, struct ks_bind *b, const struct resv *r);
void prewrites_cancel(struct prewrites *w, struct ks_bind *b);
/* The reservation does not get its node: what was written is taken back. */
void prewrites_undo(struct prewrites *w, struct kuid reservation);
#endif
