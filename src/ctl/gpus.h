/* gpus.h - koordctl gpus: the GPUs of nodes, who has them, and what is too fragmented.
 *
 * This room reads the cluster and draws the answer; the scheduler that knows it is handed in by
 * main, as for explain.h.
 */
#ifndef KOORD_CTL_GPUS_H
#define KOORD_CTL_GPUS_H
#include "base/base.h"

struct kj_val;
struct strbuf;

/* Asks the scheduler that explain->open() made and that has all objects; node NULL: all nodes. The
 * answer is JSON, which -o json shows:
 *   nodes: name, model, partitions (Honor, Prefer; absent: none), cards: minor, healthy, numaNode,
 *   pcie, core and coreFree in percent, memory and memoryFree in bytes, holders: name, core, memory
 *   free: percent of all cards; requests: percent, cards, fits, usable (percent) */
typedef int (*gpus_fn)(void *self, const char *node, struct strbuf *json, struct kerr *err);

/* gpus_text.c */
void gpus_text(const struct kj_val *answer, struct strbuf *out);
#endif
