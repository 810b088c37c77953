/* nodecache_int.h - what nodecache.c and overlay.c share. */
#ifndef KOORD_SCHEDULER_MODEL_NODECACHE_INT_H
#define KOORD_SCHEDULER_MODEL_NODECACHE_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/model/columns.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/overlay.h"
#include "scheduler/model/uidmap.h"

struct cnode {
    char *name;
    struct kobj *obj;   /* NULL while only pods are known */
    uint32_t row;       /* while obj is set */
    struct cpod **pods; /* beside list.items */
    struct ks_podlist list;
    uint32_t cap, nhuge;
};

struct cpod {
    struct kuid uid; /* first: uidmap */
    struct kobj *pod;
    struct cnode *node;
    uint32_t at;        /* in its node's list */
    int64_t confirm_by; /* 0: not bound yet, or confirmed */
    bool assumed, huge, affinity;
    bool away;             /* an overlay has removed it: lists and sums are without it */
    struct cpod *spare;    /* overlay.c: the next of those that overlays had added */
    struct share *share;   /* it takes room of another; NULL: it does not */
    struct holder *holder; /* it keeps room for others; then `requests` is what they left */
    struct requests requests;
};

/* Changes that are taken back, in order: overlay.c. */
struct overlay {
    struct overlay_entry {
        enum overlay_kind kind;
        uint32_t row;
        struct cpod *pod; /* OVERLAY_ADDED, _REMOVED, _RESTORED */
        uint32_t at;      /* _REMOVED: its place in the list of the node */
        uint32_t column;  /* _USED, _OWN */
        int64_t delta;
        struct rowset *set; /* _OWN: whose column */
    } * log;
    uint32_t n, cap;
    uint32_t *count; /* [row]: its changes in the log */
    uint32_t *rows;  /* in the log, each once, in the order of their first changes */
    uint32_t nrows, rows_cap;
    struct cpod *spare; /* pods that were added and taken back: they come again */
    uint32_t nspare;
    uint32_t nown; /* entries that are OVERLAY_OWN */
};

struct nodecache {
    struct columns cols;
    struct cnode **rows; /* [row], as many as the columns have room for */
    uint32_t rows_cap;
    struct map nodes;              /* name -> struct cnode */
    struct uidmap pods;            /* struct cpod */
    struct uidmap shares, holders; /* shares.c */
    size_t assumed;
    uint64_t attempts;             /* how many serial numbers were given out */
    const struct objects *objects; /* NULL: none */
    struct objects_listener listener;
    struct reading { /* apart: whoever reads the rows may say what of */
        struct labels *labels;
        struct vec_of(const char *) annotations; /* of nodes */
        struct rowset *sets;                     /* what plugins derive from rows */
        struct nodecache *cache;
    } * reading;
    struct arena *arena; /* for one call */
    struct overlay overlay;
};

/* A pod on no node yet. requests NULL: what it says itself. */
struct cpod *cpod_new(struct nodecache *c, struct kobj *pod, const struct requests *requests);
void cpod_free(struct cpod *p);
/* The pod comes to the node, or goes; lists and sums follow. */
void cnode_attach(struct nodecache *c, struct cpod *p, struct cnode *n);
void cnode_detach(struct nodecache *c, struct cpod *p);
/* Exactly undoes the last cnode_detach() of its node; at: where the pod was in the list. */
void cnode_reattach(struct nodecache *c, struct cpod *p, uint32_t at);

/* The sums of a row once more, from its pods. */
void nodecache_recount(struct nodecache *c, struct cnode *n);

/* shares.c: a pod of the cache came to its node, or left it; it is new to the cache, or its end. */
void shares_pod_moved(struct nodecache *c, struct cpod *p, bool came);
void shares_pod_new(struct nodecache *c, struct cpod *p);
void shares_pod_gone(struct cpod *p);
void shares_fini(struct nodecache *c);
int shares_verify(const struct nodecache *c, struct kerr *err);

void overlay_fini(struct nodecache *c);
/* One more change of a row, which the caller makes next. */
struct overlay_entry *overlay_push(struct nodecache *c, enum overlay_kind kind, uint32_t row);
/* The pod is gone for good, wherever it was: nothing about it is to be undone. */
void overlay_forget(struct nodecache *c, const struct cpod *p);
/* The changes of used columns of a row once more, after its sums were made anew. */
void overlay_use_again(struct nodecache *c, uint32_t row);
#endif
