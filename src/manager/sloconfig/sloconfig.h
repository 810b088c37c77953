/* sloconfig.h - the ConfigMap slo-controller-config, key by key: decoded, merged, kept.
 *
 * Each key holds a strategy of the cluster and strategies of nodes by label selector. A key is
 * decoded into a section, where the cluster's strategy lies over the default and each node's over
 * the cluster's. The live configuration keeps one section per key: a bad key keeps its last good
 * section and disturbs no other.
 *
 * No I/O, no clock. Sections are immutable and live as long as the live configuration keeps them,
 * until the next sloconfig_sync() (manager 2, api-config 1).
 */
#ifndef KOORD_MANAGER_SLOCONFIG_H
#define KOORD_MANAGER_SLOCONFIG_H
#include "api/selector/selector.h"
#include "manager/sloconfig/strategies.h"

#define SLO_CONFIG_NAMESPACE "koordinator-system"
#define SLO_CONFIG_NAME      "slo-controller-config"

enum slo_key {
    SLO_COLOCATION,
    SLO_THRESHOLD,
    SLO_QOS,
    SLO_BURST,
    SLO_SYSTEM,
    SLO_HOST_APPS,
    SLO_NORMALIZATION,
    SLO_AMPLIFICATION,
    SLO_KEYS
};

/* What is to be known of a key. */
struct slo_key_info {
    const char *key;                /* "colocation-config" */
    const struct kschema *strategy; /* of the cluster's and of each node's */
    const void *defaults;           /* NULL: all zero */
    bool cluster_strategy;          /* the cluster's fields stand under "clusterStrategy", the nodes
                                       under "nodeStrategies"; else at the root, and "nodeConfigs" */
    bool no_merge;                  /* a node's strategy replaces the cluster's as a whole */
    bool empty_is_absent;           /* the empty text counts as no text; else it is a bad one */
    bool null_is_empty;             /* null counts as {}; else it is a bad text */
    const char *event;              /* reason of the event about a bad text */
    const char *subject;            /* "failed to unmarshal <subject>, err: ..." */
};
extern const struct slo_key_info slo_keys[SLO_KEYS];

struct slo_node_entry {
    const char *name;                      /* "" when not given */
    const struct label_selector *selector; /* NULL: absent, matches no node */
    const char *selector_json;             /* as written; NULL: absent */
    const struct labelsel *labels;         /* NULL: cannot be read, matches no node */
    const void *own, *merged;              /* strategies: as given; what counts for the node */
    const char *problem;                   /* why selector or strategy do not count; NULL: fine */
};
struct slo_section {
    const void *own;    /* the cluster's strategy as given; NULL: absent */
    const void *merged; /* what counts where no node entry does */
    KLIST(struct slo_node_entry) nodes;
};

/* Reads the text of a key, without judging values. -EINVAL for what Go's decoder refuses. */
int slo_section_decode(enum slo_key key, const char *text, struct arena *a, struct slo_section *ret,
                       struct kerr *err);
/* Values out of range: an error when the cluster's are; a node entry with bad values counts like
 * the cluster's strategy, and says so in its problem. */
int slo_section_check(enum slo_key key, struct slo_section *s, struct arena *a, struct kerr *err);
/* Of a key that is absent. */
void slo_section_default(enum slo_key key, struct slo_section *ret);
/* The first entry whose selector matches the labels; NULL: none does. */
const struct slo_node_entry *slo_section_match(const struct slo_section *s, const kstrmap *labels);
/* The strategy of a node with these labels: merged of the first match, else of the cluster. */
const void *slo_section_of(const struct slo_section *s, const kstrmap *labels);

/* ---- the live configuration ------------------------------------------------------------------ */

struct sloconfig;
struct sloconfig *sloconfig_new(void); /* defaults everywhere; colocation is not available yet */
struct sloconfig *sloconfig_free(struct sloconfig *c);
DEFINE_CLEANUP(sloconfig_free, struct sloconfig *)

struct slo_sync {
    unsigned changed;          /* bits 1 << key: strategies differ from before */
    struct kerr bad[SLO_KEYS]; /* code < 0: refused, the last good value stays */
};
/* Takes over the data of the ConfigMap; NULL: there is none. */
void sloconfig_sync(struct sloconfig *c, const kstrmap *data, struct slo_sync *ret);
/* Never NULL. */
const struct slo_section *sloconfig_get(const struct sloconfig *c, enum slo_key key);
/* Was colocation-config, or that there is none, ever taken over? Until then nothing is calculated.
 * Of the other keys the default counts. */
bool sloconfig_available(const struct sloconfig *c);
/* The key of the last sync was refused; or, for colocation, the ConfigMap is absent. */
bool sloconfig_in_error(const struct sloconfig *c, enum slo_key key);
#endif
