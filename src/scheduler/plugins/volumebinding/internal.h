/* internal.h - what the files of VolumeBinding share.
 *
 * match.c decides over an attempt's state; stock.c knows the volumes that are free; assumed.c keeps
 * what was decided until the API server shows it; bind.c writes it there and waits. What is taken
 * (holds.c), and so the stock, is one for all profiles: also for those of the next configuration.
 */
#ifndef KOORD_SCHEDULER_VOLUMEBINDING_INTERNAL_H
#define KOORD_SCHEDULER_VOLUMEBINDING_INTERNAL_H
#include "scheduler/framework/service.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/uidmap.h"
#include "scheduler/plugins/volume/claims.h"
#include "scheduler/plugins/volume/reach.h"
#include "scheduler/plugins/volumebinding/stock.h"

struct kube_call;
struct timer;

struct binder {
    struct ks_env env;
    nsec_t timeout;
    struct holds *holds;
    struct uidmap reservations;                  /* by pod */
    struct objects_listener on_volume, on_claim; /* who waits for them looks again */
};

/* ---- match.c: the attempt ---------------------------------------------------------------------
 */

/* Bits of a verdict: upstream gives all reasons that apply. */
enum { VB_CONFLICT = 1, VB_NO_VOLUME = 2, VB_NO_SPACE = 4, VB_NO_PV = 8, VB_VERDICTS = 16 };

struct delayed { /* a claim that waits for the node of its first pod */
    const struct pvc *claim;
    const struct storage_class *class;
    uint32_t selected; /* the row of the node it must be provisioned for */
    bool is_selected;
    const struct pv *prebound; /* a volume that is this claim's already */
    struct reach prebound_reach;
    struct volchoice free; /* or these */
    /* otherwise one is to be made */
    bool provisions, anywhere, tracked; /* tracked: pools of storage tell how much is left */
    struct places topologies, pools;
};
struct bound { /* a claim that has its volume */
    bool missing;
    struct reach reach;
};
struct volmatch {
    struct bound *bound;
    struct delayed *delayed; /* those with a selected node first, then by size */
    uint32_t nbound, ndelayed;
    bool everywhere; /* nothing to look at */
};
/* KS_SUCCESS, KS_UNRESOLVABLE or KS_ERROR with a text. *ret is NULL when the pod has no claims. */
enum ks_code volmatch_make(struct binder *b, const struct ks_cycle *c, const struct pod *p,
                           struct volmatch **ret, struct ks_texts *why);
/* Rows with a free volume for the one claim that there is are those that will do. */
bool volmatch_is_simple(const struct volmatch *m);
/* VB_*. choice[ndelayed]: the volume that a claim gets here; NULL: it is to be provisioned. */
uint8_t volmatch_row(const struct volmatch *m, const struct ks_nodes *nodes, uint32_t row,
                     const struct pv **choice);

/* ---- holds.c: what is taken by pods on their way to a node -------------------------------------
 */

struct hold {                 /* a volume that a claim gets, or a claim that a node gets */
    struct kuid uid;          /* of obj */
    struct kobj *obj, *claim; /* claim: of a volume */
    char *node;               /* of a claim */
    uint32_t refs;
};
struct holds {
    const struct objects *objects; /* NULL: there is none */
    struct uidmap volumes, claims; /* struct hold */
    struct volstock *stock;
};
KS_SERVICE(volume_holds, struct holds)
void holds_take_volume(struct holds *h, struct kobj *volume, struct kobj *claim);
void holds_take_claim(struct holds *h, struct kobj *claim, const char *node);
void holds_give_volume(struct holds *h, const struct kobj *volume);
void holds_give_claim(struct holds *h, const struct kobj *claim);
/* NULL when nobody holds it. */
const struct hold *holds_volume(const struct holds *h, const struct pv *v);
const char *holds_node(const struct holds *h, const struct pvc *c);

/* ---- assumed.c: what each of these pods will have ----------------------------------------------
 */

struct step {
    struct kobj *volume; /* NULL: to be provisioned */
    struct kobj *claim;
    struct kobj *sent; /* the object as it was when the change was sent; NULL: there was none */
};
struct assumed {
    struct kuid uid; /* of pod */
    struct kobj *pod, *node;
    struct binder *binder;
    struct step *steps;
    uint32_t n;
    /* while it is written */
    struct ks_bind *bind;
    uint32_t at;
    struct kube_call *call;
    struct timer *timer;
    bool waits; /* all is written */
    nsec_t deadline;
};
void assumed_new(struct binder *b, const struct volmatch *m, const struct pv *const *choice,
                 const struct pod *p, const struct node *node);
struct assumed *assumed_find(const struct binder *b, struct kuid pod);
void assumed_free(struct assumed *r);

/* ---- bind.c ------------------------------------------------------------------------------------
 */

void writing_start(struct assumed *r, struct ks_bind *bind);
void writing_stop(struct assumed *r); /* nothing more is heard of it */
/* A claim or volume has changed: who waits for it looks at once. */
void writing_news(void *binder, struct kobj *before, struct kobj *now);
#endif
