/* internal.h - what the files of the plugin share beside the library of allocation. */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_INTERNAL_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_INTERNAL_H
#include "scheduler/plugins/dynamicresources/allocate.h"

struct arena;
struct extended;
struct claimcache;
struct kobj;
struct kjw;
struct ks_cycle;
struct ks_pod;
struct loop;
struct nodesel;

struct dra { /* the plugin in one profile */
    struct claimcache *cache;
    struct loop *loop;      /* NULL: searches are not timed */
    nsec_t timeout;         /* 0: none */
    nsec_t binding_timeout; /* 0: devices have no binding conditions */
    bool extends;           /* feature gate DRAExtendedResource */
    struct arena *scratch;  /* of the search on one node */
    uint64_t ids;           /* shares of devices that were named without a loop */
    struct kobj *unused;    /* a claim that is to be deallocated, until the attempt has ended */
    struct kobj *unused_by; /* the pod that was asked for; NULL: none */
    bool deletes;           /* that claim is deleted, not only deallocated */
};

struct dra_variant {                       /* what is to be allocated on some of the nodes */
    const struct resource_claim **missing; /* claims without devices */
    uint32_t nmissing;
    struct plan *plan;             /* for them; NULL: there are none, or `failure` says why not */
    const char *failure;           /* of the plan, or of the first node that failed */
    struct verdict_column *column; /* of the plan, while it has this serial */
    uint64_t column_serial;
    bool searches;                       /* counts are not enough */
    bool late;                           /* there was no time to make the plan */
    const struct special_claim *special; /* the last of the claims; NULL: none is to be made */
};
struct kept_outcome {
    struct pick *picks;
    uint32_t n;
};
struct dra_state {                        /* of an attempt */
    const struct resource_claim **claims; /* of the pod, in its order */
    const struct nodesel **where;         /* of those that are allocated; NULL: everywhere */
    bool *broken; /* of these: their devices have not become ready, or failed */
    uint32_t n;
    bool placed;                  /* some claim is allocated: the node must suit it too */
    struct dra_variant *variants; /* the first: the pod's own claims */
    uint32_t nvariants;
    uint8_t *of_row;            /* [row]: which of them; NULL: the first */
    struct extended *extended;  /* NULL: no class backs what the pod asks for */
    int64_t *scores;            /* [row], where requests have alternatives; otherwise NULL */
    uint8_t *said;              /* [row]: what filter() said; 0: nothing, or that the row fits */
    struct kept_outcome **kept; /* [row]: of a search that took long; NULL: there is none */
    uint64_t clock;             /* of the pools, when this was found out */
    nsec_t deadline;            /* by the stopwatch; 0: none */
};
static inline struct dra_variant *variant_at(const struct dra_state *st, uint32_t row)
{
    return &st->variants[st->of_row ? st->of_row[row] : 0];
}
struct dra_row {
    struct node_devices *devices;
    uint32_t number; /* of it */
};

/* May the claim, which is allocated, be used on the node? */
bool claim_is_available(const struct dra_state *st, uint32_t claim, const struct node *n);
/* For koordctl explain:
 *   claims: name, and allocated, available; or requests: name, class, count or all, devices (that
 *           the node sees), accepted (by the selectors), and of these taken, tainted, free, holders
 *           (claims) and deviceShare (pods); failed: selectors fail on so many
 *   fails:  what there is no choice for; absent: there is one */
void dra_show(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
              struct kjw *w);
#endif
