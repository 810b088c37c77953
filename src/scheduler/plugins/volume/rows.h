/* rows.h - how many volumes of a sort the pods of each row have: to look closer where it matters.
 *
 * Brought up to date before each use; only rows that changed are counted again. In an overlay
 * the counts are those of before: the plugin is told of the row by add_pod and remove_pod, and
 * looks closer there.
 */
#ifndef KOORD_SCHEDULER_VOLUME_ROWS_H
#define KOORD_SCHEDULER_VOLUME_ROWS_H
#include "api/pod.h"
#include "scheduler/framework/plugin.h"

struct volrows {
    bool (*counts)(const struct pod_volume *v);
    uint32_t *count; /* [row] */
    uint32_t cap;
    uint64_t generation;
};
void volrows_fini(struct volrows *r);
void volrows_refresh(struct volrows *r, const struct ks_nodes *nodes);
#endif
