/* reach.h - from which nodes something can be reached, over columns of label values.
 *
 * A volume's affinity, the topology of a class or of a pool of storage: nearly always "the zone is
 * one of these". Such a question compares a number in the column of that label; anything else goes
 * through a compiled selector. Made in an attempt's arena, on the loop thread.
 */
#ifndef KOORD_SCHEDULER_VOLUME_REACH_H
#define KOORD_SCHEDULER_VOLUME_REACH_H
#include "api/storage.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/model/labels.h"

struct reach_req { /* the label's value is one of these */
    const struct ks_label *label;
    const uint32_t *ids; /* values that no node has are left out */
    uint32_t n;
};
struct reach {
    enum { REACH_ANYWHERE, REACH_NOWHERE, REACH_LABELS, REACH_TERMS, REACH_SELECTOR } kind;
    const struct reach_req *reqs; /* REACH_LABELS: all must hold */
    uint32_t n;
    const struct nodesel *terms;
    const struct labelsel *selector;
};
struct reach_maker {
    const struct ks_nodes *nodes;
    struct arena *arena;
};
/* A volume's required node affinity; NULL: anywhere. */
struct reach reach_affinity(const struct reach_maker *m, const struct node_selector *s);
/* One of a class's allowedTopologies. */
struct reach reach_topology(const struct reach_maker *m, const struct topology_term *t);
/* Where a CSIStorageCapacity is; NULL: nowhere. */
struct reach reach_selector(const struct reach_maker *m, const struct label_selector *s);
bool reach_row(const struct reach *r, const struct ks_nodes *nodes, uint32_t row);

/* Things in order of preference, each with its reach: which is the first for a row? */
struct places {
    const struct reach *reach; /* [n], the caller's */
    uint32_t n;
    uint32_t *wide; /* those that no value of a label leads to */
    uint32_t nwide;
    struct places_slot *slots; /* label and value -> things, a hash table */
    uint32_t mask;
    struct places_link *links;
    const struct ks_label **labels;
    uint32_t nlabels;
};
void places_init(struct places *p, const struct reach *reach, uint32_t n, struct arena *a);
/* A thing that is taken is passed over; taken may be NULL. UINT32_MAX: none. */
uint32_t places_first(const struct places *p, const struct ks_nodes *nodes, uint32_t row,
                      bool (*taken)(const void *arg, uint32_t thing), const void *arg);
#endif
