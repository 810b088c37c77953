/* spread.h - PodTopologySpread inside (scheduler-core 8.11): pods of one kind over the domains (a
 * zone, a rack, a node) that a label of the nodes makes.
 *
 * A rule is one constraint of a pod, ready for use. Which row lies in which domain is settled when
 * the rules are made, for it changes with the nodes only; how many pods each row and each domain
 * has is kept, and corrected for rows whose pods changed. So an attempt is one pass over the rows
 * for each rule.
 */
#ifndef KOORD_SCHEDULER_SPREAD_H
#define KOORD_SCHEDULER_SPREAD_H
#include "api/pod.h"
#include "scheduler/framework/nodematch.h"
#include "scheduler/framework/plugin.h"

struct labelsel;

struct spread { /* the plugin: what it was configured with */
    const struct objects *objects;
    const struct topology_spread *defaults; /* for pods that have no constraint of their own */
    uint32_t ndefaults;
    bool system; /* the defaults are the built-in ones: nodes need not have all keys */
};

/* Pods of one workload share their labels, so most answers of a selector were given before. Good
 * for one pass: later another list may lie at the same address. */
enum { SPREAD_MEMO = 16 };
struct spread_memo {
    const struct kstrpair *labels;
    bool matches;
};

struct spread_rule {
    const char *key;
    const struct labelsel *selector;
    int32_t max_skew, min_domains;
    bool counts; /* false: the selector is {}, which counts nobody */
    bool self;   /* the pod itself matches */
    bool honor_affinity, honor_taints;
    bool per_node; /* a score by the node's own pods: the domains do not count */
    /* rows */
    uint32_t *at;    /* [row] its domain; 0: the node lacks the label */
    uint32_t *into;  /* [row] the domain that its pods count in; 0: none */
    int32_t *pods;   /* [row] matching pods */
    uint64_t serial; /* of the numbers of the label's values, */
    uint32_t *ids;   /* [domain] which are these */
    /* Domains are numbered from 1; the first nknown are those that pods can count in. */
    int32_t *count; /* [domain] matching pods; count[0] is more than any limit */
    uint32_t ndomains, nknown;
    uint32_t empty; /* the domain of the value "", 0 when there is none */
    int32_t min;    /* the smallest count of the known domains, */
    uint32_t nmin;  /* and how many have it */
    struct spread_memo memo[SPREAD_MEMO];
};

struct spread_state {
    struct spread_rule *rules; /* the hard ones first */
    uint32_t n, nhard;
    struct nodematch match;
    uint8_t honors;          /* the facts of a row that some rule looks at */
    uint8_t *facts;          /* [row] these: does the pod's affinity match, are taints tolerated? */
    uint8_t *ignored;        /* [row] gets no score: a key is missing that must be there */
    int32_t *now;            /* [rule] room for a count */
    const char *soft_failed; /* why there are no soft rules; NULL */
};

/* ---- rules.c --------------------------------------------------------------------------------- */

int spread_create(const struct ks_env *env, const void *args, void **ret_self, struct kerr *err);

struct spread_rules {
    struct spread_rule *items; /* without rows */
    uint32_t n;
};
/* The pod's constraints with this action, or the defaults that hold for it. */
int spread_rules_of(const struct spread *s, const struct pod *p, enum spread_action action,
                    struct arena *a, struct spread_rules *ret, struct kerr *err);

/* ---- domains.c ------------------------------------------------------------------------------- */

/* NULL when a hard rule cannot be understood. */
struct spread_state *spread_state_new(const struct spread *s, const struct ks_cycle *c,
                                      const struct pod *p, struct kerr *err);
/* The nodes of these rows changed. false: one is in another domain, or counts where it did not. */
bool spread_rows_hold(const struct spread_state *st, const struct ks_cycle *c, const struct pod *p,
                      const uint32_t *rows, uint32_t n);
/* The pods of these rows changed. */
void spread_recount(struct spread_state *st, const struct ks_cycle *c, const struct pod *p,
                    const uint32_t *rows, uint32_t n);
/* A pod is taken to be on the row (by = 1), or not any more (-1): hard rules only. */
void spread_shift(struct spread_state *st, const struct pod *p, const struct pod *other,
                  uint32_t row, int32_t by);

/* ---- score.c --------------------------------------------------------------------------------- */

enum ks_code spread_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                              void **ret_state, struct ks_texts *why);
void spread_score(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                  int64_t *restrict out);
void spread_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                      int64_t *scores);

/* ---- hints.c --------------------------------------------------------------------------------- */

enum { SPREAD_HINTS = 2 };
extern const struct ks_hint spread_hints[SPREAD_HINTS];
#endif
