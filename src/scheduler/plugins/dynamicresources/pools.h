/* pools.h - the devices that ResourceSlices publish, who has taken them, and what selectors say
 * of them.
 *
 * Devices stand in pools (driver, pool name); of a pool only the newest generation counts. A pool
 * is made of its slices when somebody looks at it after a change. Sets of devices are bitmaps over
 * the pool, 64 devices a word: those that are taken, and those that a selector accepts, evaluated
 * once for each change of the pool. A node sees words of pools, in the order in which devices are
 * tried: by driver, pool, slice, device.
 *
 * What is held is counted by name, whether a slice publishes the device at the moment or not.
 * Loop thread; no I/O, no clock.
 */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_POOLS_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_POOLS_H
#include "api/dra.h"
#include "base/map.h"
#include "base/vec.h"

struct attr_column;
struct card_hold;
struct cards;
struct cel_expr;
struct match;
struct node;
struct nodesel;
struct objects;

struct dra_gates { /* features; all false: those of a cluster without them */
    bool admin_access, prioritized_list;
    bool partitionable, taints, taint_rules, consumable, binding_conditions;
};

struct counter_use { /* a device needs so much of a counter of its pool */
    uint32_t counter;
    struct qty value;
};

/* ---- pools ----------------------------------------------------------------------------------- */

struct pool_device {
    const struct slice_device *d;   /* of the slice */
    uint32_t slice;                 /* of the pool's */
    struct holding *holding;        /* NULL: no claim has it */
    device_taintlist taints;        /* its own and those of rules; none while that gate is off */
    const struct counter_use *uses; /* of the pool's counters */
    uint32_t nuses;
};
struct pool_slice {
    const struct resource_slice *slice;
    const struct nodesel *where; /* NULL: see its other members */
    uint32_t first, n;           /* devices */
};
struct pool {
    const char *driver, *name; /* in key */
    char *key;                 /* "driver/name" */
    struct pools *in;
    struct vec_of(struct kobj *) all; /* its slices of every generation, by name; with references */
    const char *node;                 /* all of them are this node's; NULL: see the slices */
    bool current;                     /* what follows is */

    struct arena *arena;
    struct pool_slice *slices; /* of the newest generation */
    struct pool_device *devices;
    uint32_t nslices, ndevices, nwords;
    bool complete;
    const char *invalid; /* why, wherever it is seen; NULL: it is not */
    bool repeats;        /* some name is there twice: a node that sees both cannot use the pool */
    bool binds;          /* some device has binding conditions */
    uint64_t *usable;    /* that the gates let be given */
    uint64_t *taken;     /* wholly */
    const struct qty *counters; /* what they have in all; counters.c */
    uint32_t ncounters;
    struct vec_of(struct match *) matches; /* by number of the selection; NULL: not looked at */
    struct vec_of(struct attr_column *) columns; /* by number of the attribute */
};
static inline const struct pool_device *pool_device(const struct pool *p, uint32_t word,
                                                    unsigned bit)
{
    return &p->devices[word * 64 + bit];
}
static inline const struct pool_slice *pool_slice_of(const struct pool *p,
                                                     const struct pool_device *d)
{
    return &p->slices[d->slice];
}
/* Makes the pool of its slices, unless it is. */
void pool_refresh(struct pool *p);

/* ---- who has what ---------------------------------------------------------------------------- */

struct holding {     /* a device that somebody has; in the map under its name */
    uint32_t whole;  /* claims that have all of it */
    uint32_t shares; /* claims that have a part */
    struct vec_of(const struct device_result *) parts; /* those parts */
    struct vec_of(struct holder {
        const char *claim;      /* "namespace/name"; the caller's */
        struct card_hold *card; /* as others hear of it; NULL: they do not know the device */
    }) holders;
    char key[]; /* "driver/pool/device" */
};

struct pools {
    const struct dra_gates gates;
    struct map by_key;                 /* struct pool by "driver/name" */
    struct map holdings;               /* by "driver/pool/device" */
    struct map nodes;                  /* struct node_devices by name */
    struct vec_of(struct pool *) wide; /* pools that are not of one node */
    uint64_t wide_version;             /* grows with each change of these */
    uint64_t wide_taken;               /* the same of who has their devices */
    struct vec_of(uint64_t) versions;  /* of each node, by number */
    struct vec_of(uint32_t) unused;    /* numbers of nodes that have gone */
    uint64_t clock;                    /* of versions */
    struct verdict_column *columns;    /* verdicts.c; NULL: none yet */
    uint64_t column_clock;
    struct vec_of(struct kobj *) rules; /* DeviceTaintRules by name; with references */
    struct selections *selections;      /* selectors.c */
    struct cards *cards;                /* NULL: nobody else hands out devices; cardlink.c */
    kstrlist card_attributes;           /* that identify a card; borrowed */
};
struct pools *pools_new(const struct dra_gates *gates);
struct pools *pools_free(struct pools *in);
DEFINE_CLEANUP(pools_free, struct pools *)

/* New or changed; gone. */
void pools_put_slice(struct pools *in, struct kobj *slice);
void pools_remove_slice(struct pools *in, const struct kobj *slice);
/* A DeviceTaintRule: new or changed; gone. Without the gate for them they count for nothing. */
void pools_put_rule(struct pools *in, struct kobj *rule);
void pools_remove_rule(struct pools *in, const struct kobj *rule);
/* The claim ("namespace/name", kept as long as it holds) has these devices; it has them no more.
 * Results of administrators take nothing. The allocation is borrowed until it is given back. */
void pools_hold(struct pools *in, const struct claim_allocation *a, const char *claim);
void pools_give(struct pools *in, const struct claim_allocation *a, const char *claim);

/* ---- what a node sees ------------------------------------------------------------------------ */

struct view_word { /* up to 64 devices */
    struct pool *pool;
    uint32_t word;
    uint64_t visible;   /* on this node, and may be given at all */
    uint64_t elsewhere; /* cards that DeviceShare has given away */
};
struct node_devices {
    struct pools *in;
    struct vec_of(struct pool *) local; /* pools of this node alone */
    uint32_t number;                    /* among all nodes; used again when the node has gone */
    bool current, cards_current;
    bool gone; /* the node is; the record goes with its last pool */
    uint64_t wide_version;
    /* derived */
    struct arena *arena;
    struct view_word *words;
    uint32_t nwords;
    struct view_pool {
        struct pool *pool;
        bool invalid; /* as this node sees it */
    } * pools;        /* all of the node, also those that give nothing */
    uint32_t npools;
    bool has_invalid;
    const char *bad_selector; /* a slice whose node selector cannot be understood; NULL: none */
    char name[];
};
/* The record of a node, which stays while the pools do. */
struct node_devices *pools_node(struct pools *in, const char *name);
/* Grows with each change of what searches look at, on whatever node. */
static inline uint64_t pools_clock(const struct pools *in)
{
    return in->clock + in->wide_version + in->wide_taken;
}
/* A search on the node may have another outcome from now on. */
static inline void node_devices_changed(struct node_devices *n)
{
    n->in->versions.items[n->number] = ++n->in->clock;
}
/* The node's labels or its pools may have changed. */
static inline void node_devices_touch(struct node_devices *n)
{
    n->current = false;
    node_devices_changed(n);
}
/* The node has gone: its record too, unless a pool is its. */
void pools_forget_node(struct pools *in, const char *name);
void node_devices_rebuild(struct node_devices *n, const struct node *node);
void node_devices_look(struct node_devices *n); /* what has DeviceShare given away? */
static inline void node_devices_refresh(struct node_devices *n, const struct node *node)
{
    if (!n->current || n->wide_version != n->in->wide_version)
        node_devices_rebuild(n, node);
    if (!n->cards_current)
        node_devices_look(n);
}
/* Devices of the word that are wholly taken, by whomever. */
static inline uint64_t view_taken(const struct view_word *w)
{
    return w->pool->taken[w->word] | w->elsewhere;
}

/* ---- cardlink.c: cards that DeviceShare knows too --------------------------------------------- */

/* From here on what either side holds is known to the other. attributes: names of those that
 * identify a card, of one domain or of all; they live as long as the pools. Once. */
void pools_link(struct pools *in, struct cards *cards, const kstrlist *attributes);
void pools_unlink(struct pools *in);
/* The holders of a device have changed, or its slice has. */
void cardlink_hold(struct pool *p, uint32_t device);
/* The same of a device that this slice lists, whether the pool is current or not. */
void cardlink_hold_listed(struct pool *p, const struct slice_spec *s, const struct slice_device *d,
                          struct holding *h);
/* The pod to which DeviceShare has given the device, or a part of it, on the node (NULL: on its
 * own); NULL: none. */
const char *cardlink_holder(const struct node_devices *n, const struct pool *p,
                            const struct pool_device *d);

/* ---- selectors.c: what selectors and constraints say of devices ------------------------------- */

struct selection { /* the selectors of a class and those of a request */
    uint32_t number;
    uint64_t serial; /* numbers are used again, serials are not */
    uint64_t used;   /* when, by a count */
    char *class_name;
    struct selector {
        struct cel_expr *expr; /* NULL: `broken` says why not */
        char *broken;
        bool of_class;
        uint32_t index;
    } * selectors;
    uint32_t n;
    char key[]; /* of the map */
};
struct match {        /* of one selection, over one pool */
    uint64_t serial;  /* of the selection; 0: not all devices have been looked at yet */
    uint64_t of;      /* the same, also then */
    uint32_t nlooked; /* devices that have been */
    uint64_t *accepted, *failed;
    char **failures; /* [device]: "class C: selector #0: ..." or "selector #1: ..."; NULL */
    uint32_t nfailures;
};
enum attr_type { ATTR_ABSENT, ATTR_INT, ATTR_BOOL, ATTR_STRING, ATTR_VERSION };
struct attr_value {
    enum attr_type type;
    union {
        int64_t i; /* also bool */
        const char *s;
    };
};
struct attr_column { /* of one attribute, over one pool */
    uint64_t serial;
    struct attr_value values[]; /* [device] */
};
bool attr_value_equal(struct attr_value a, struct attr_value b);

struct selections *selections_new(void);
struct selections *selections_free(struct selections *s);
/* The one with these selectors. It may be forgotten when many others have been asked for since, not
 * before SELECTIONS_MAX. */
enum {
    PLAN_ASKS_MAX = 512,
    SELECTIONS_MAX = PLAN_ASKS_MAX + 8, /* plans of one attempt differ in extended resources */
};
const struct selection *selection_of(struct selections *s, const struct device_class *class,
                                     const device_selectorlist *selectors);
struct patience {               /* how long something may take; NULL: as long as it needs */
    bool (*is_over)(void *arg); /* true from some moment on */
    void *arg;
};
static inline bool patience_is_over(const struct patience *p)
{
    return p && p->is_over(p->arg);
}
/* NULL: the time was over. What has been found out until then is kept for the next call. */
const struct match *match_make(struct pool *p, const struct selection *s,
                               const struct patience *patience);
static inline const struct match *match_until(struct pool *p, const struct selection *s,
                                              const struct patience *patience)
{
    const struct match *m = s->number < p->matches.n ? p->matches.items[s->number] : NULL;
    return m && m->serial == s->serial ? m : match_make(p, s, patience);
}
static inline const struct match *match_of(struct pool *p, const struct selection *s)
{
    return match_until(p, s, NULL);
}
/* The number of an attribute; as selections. *ret_serial tells its use of the number. */
uint32_t attribute_number(struct selections *s, const char *name, uint64_t *ret_serial);
const struct attr_column *attr_column_make(struct pool *p, uint32_t number, uint64_t serial,
                                           const char *name);
static inline const struct attr_column *attr_column_of(struct pool *p, uint32_t number,
                                                       uint64_t serial, const char *name)
{
    const struct attr_column *c = number < p->columns.n ? p->columns.items[number] : NULL;
    return c && c->serial == serial ? c : attr_column_make(p, number, serial, name);
}
void pool_drop_derived(struct pool *p); /* matches and columns */
#endif
