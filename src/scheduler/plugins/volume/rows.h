/* rows.h - how many volumes of a sort pods have: for columns that tell where to look closer. Pure.
 */
#ifndef KOORD_SCHEDULER_VOLUME_ROWS_H
#define KOORD_SCHEDULER_VOLUME_ROWS_H
#include "api/pod.h"
#include "scheduler/framework/plugin.h"

typedef bool (*volume_sort_fn)(const struct pod_volume *v);
int64_t volumes_of_pod(const struct pod *p, volume_sort_fn counts);
int64_t volumes_of_pods(const struct ks_podlist *pods, volume_sort_fn counts);
#endif
