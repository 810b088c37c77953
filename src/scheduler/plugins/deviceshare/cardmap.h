/* cardmap.h - the GPUs of nodes, who has them, and how much of what is free is too fragmented for
 * common requests, as JSON: what koordctl gpus shows.
 *
 * Asked of a cluster of objects (whatif.h) or of a running scheduler: it only reads. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_CARDMAP_H
#define KOORD_SCHEDULER_DEVICESHARE_CARDMAP_H
#include "scheduler/plugins/deviceshare/holdings.h"

struct strbuf;

/* {"nodes":[{"name":..,"model":..,"partitions":"Honor","cards":[{"minor":0,"healthy":true,
 *    "numaNode":0,"pcie":"0","core":100,"coreFree":50,"memory":N,"memoryFree":N,
 *    "holders":[{"name":"ns/a","core":50,"memory":N}]}]}],
 *  "free":150,"requests":[{"percent":50,"cards":1,"fits":3,"usable":150}]}
 * free: percent of compute on healthy cards of all nodes that are shown; usable: how much of it
 * pods of this request could use, without taking cards of a partition apart. node NULL: all that
 * have GPUs, by name. -ENOENT: no such node, or it has no GPUs. */
int cardmap_write(struct holdings *h, const char *node, struct strbuf *json, struct kerr *err);
#endif
