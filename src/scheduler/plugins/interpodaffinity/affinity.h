/* affinity.h - what the files of InterPodAffinity share.
 *
 * Whom a term of a pod means is a question of labels and namespaces (terms.c). Every pod on a node
 * then counts for something in the domains of that node: the nodes with its value of a topology
 * key (domains.c). What a pod counts for is the same for all pods with the same labels, or the same
 * terms, so it is found out once (effects.c). Verdict and score of a row are sums over its domains.
 */
#ifndef KOORD_SCHEDULER_AFFINITY_H
#define KOORD_SCHEDULER_AFFINITY_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"

struct affinity_args;
struct labelsel;

/* ---- terms ----------------------------------------------------------------------------------- */

struct term { /* borrows from the pod it was made of */
    const struct pod_affinity_term *spec;
    const struct labelsel *pods;
    const struct labelsel *namespaces; /* NULL: by name only */
    int32_t weight;                    /* of a preferred one */
    struct topo *topo;                 /* set for the terms of a state */
};
struct termlist {
    struct term *items;
    uint32_t n;
};
struct podterms {
    struct termlist affinity, anti; /* required */
    struct termlist prefer, avoid;  /* preferred affinity and anti-affinity */
    bool select_namespaces;         /* some term has a namespaceSelector */
};
/* Does the pod have terms of any kind? */
bool podterms_any(const struct pod *p);
/* A list with a term that cannot be understood is left empty, and the first such term is told. */
int podterms_compile(const struct pod *p, struct arena *a, struct podterms *ret, struct kerr *err);
/* A pod as terms see it. ns_labels NULL: a namespace that is not known. */
struct seen_pod {
    const char *ns;
    const kstrmap *labels, *ns_labels;
};
/* own_ns: the namespace of the pod that has the term. */
bool term_matches(const struct term *t, const char *own_ns, const struct seen_pod *other);
bool termlist_match_all(const struct termlist *l, const char *own_ns, const struct seen_pod *other);
bool termlist_match_any(const struct termlist *l, const char *own_ns, const struct seen_pod *other);
/* Labels of a namespace; NULL when there is no such. */
const kstrmap *namespace_labels(const struct objects *w, const char *ns);

/* ---- domains --------------------------------------------------------------------------------- */

struct sums {
    int32_t affinity;    /* pods that match all required affinity terms of ours */
    int32_t anti;        /* pods times required anti-affinity terms of ours that match them */
    int32_t existing;    /* required anti-affinity terms of pods there that match ours */
    int32_t preferences; /* how many terms made the score */
    int64_t score;
};
enum { /* why a row is rejected; bits */
       BAD_NO_KEY = 1,
       BAD_FAR = 2, /* no pod there that the affinity asks for */
       BAD_ANTI = 4,
       BAD_EXISTING = 8
};
struct topo { /* a topology key, and the domains that its values make */
    struct topo *next;
    const char *key;
    bool wanted;          /* by a required affinity term of ours */
    uint64_t serial;      /* of the numbers of the label's values, which are those of domains */
    uint32_t ndomains;    /* numbered from 1 */
    uint32_t *domain;     /* [row]; 0: without the key. NULL: no node has it */
    struct sums *rows;    /* [row]: what its own pods count for */
    struct sums *domains; /* [domain] */
    uint8_t *bad;         /* [domain]: BAD_*, from domains */
    int64_t *score;       /* [domain], from domains */
    struct sums total;
};
struct topo *topo_new(const struct ks_nodes *nodes, const char *key, struct arena *a);
/* The nodes of these rows changed. false: one is in another domain now. */
bool topo_holds(const struct topo *t, const struct ks_nodes *nodes, const uint32_t *rows,
                uint32_t n);
void topo_want(struct topo *t); /* a required affinity term of ours has this key */
void topo_add(struct topo *t, uint32_t row, const struct sums *d, int sign);
void topo_clear_row(struct topo *t, uint32_t row);

/* ---- counting -------------------------------------------------------------------------------- */

struct affinity_state { /* for pods of one shape */
    struct arena *arena;
    struct podterms own;
    bool any_own, scores;
    bool matches_itself; /* ours matches all its required affinity terms */
    struct topo *topos;
};
struct topo *state_topo(struct affinity_state *st, const struct ks_nodes *nodes, const char *key);

/* What pods count for, remembered for one call: no pod dies meanwhile, so addresses tell. */
enum { MEMO_SLOTS = 1024 };
struct memo_slot {
    const void *key;
    const char *ns;
    uint64_t call;
    const struct effects *effects;
};
struct affinity_self {
    const struct objects *objects;
    const struct affinity_args *args;
    struct arena *scratch; /* of one call */
    uint64_t call;
    struct memo_slot by_labels[MEMO_SLOTS], by_terms[MEMO_SLOTS];
};
struct counting { /* one call */
    struct affinity_self *self;
    struct affinity_state *st;
    const struct ks_nodes *nodes;
    struct seen_pod pod; /* ours */
};
struct counting counting_begin(struct affinity_self *self, struct affinity_state *st,
                               const struct ks_nodes *nodes, const struct pod *p);
void counting_pod(struct counting *k, const struct pod *other, uint32_t row, int sign);
/* Adds all pods of a row, of which nothing counts so far. */
void counting_row(struct counting *k, uint32_t row);
void counting_all(struct counting *k);

extern const struct ks_hint affinity_hints[];
enum { AFFINITY_HINTS = 2 };
#endif
