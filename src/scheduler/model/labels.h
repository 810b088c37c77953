/* labels.h - the values of a label of the nodes, by row and as small numbers.
 *
 * Topology keys, zones of volumes, places of local disks: plugins ask for the same few labels of
 * every node. The column of a key is made when somebody asks for it, and kept up to date through
 * the history of the nodes: only those that changed are looked at again. Equal values have equal
 * numbers as long as the column lives. Loop thread.
 */
#ifndef KOORD_SCHEDULER_MODEL_LABELS_H
#define KOORD_SCHEDULER_MODEL_LABELS_H
#include "scheduler/model/rows.h"

struct ks_label {
    const char *key;
    uint64_t serial;          /* another serial: values are numbered anew */
    const uint32_t *id;       /* [row]; 0: the node has no such label */
    const char *const *value; /* [id] that some node has or had; value[0] is NULL */
    uint32_t n;               /* ids are below n */
};
/* Valid until the next attempt begins. */
const struct ks_label *ks_label(const struct ks_nodes *nodes, const char *key);
/* 0 when no node has or had this value. */
uint32_t ks_label_id(const struct ks_label *l, const char *value);

/* ---- for the node cache ---------------------------------------------------------------------- */

struct labels;
struct labels *labels_new(void);
struct labels *labels_free(struct labels *l);
const struct ks_label *labels_get(struct labels *l, const struct ks_nodes *nodes, const char *key);
/* An attempt begins: columns beyond a few dozen go, those that were not asked for longest first.
 * Pods name keys, so there may be any number of them. */
void labels_begin(struct labels *l);
#endif
