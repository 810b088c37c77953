/* missing.h - what would have to change before a pod fits a node. Internal to explain/. */
#ifndef KOORD_SCHEDULER_OBSERVE_EXPLAIN_MISSING_H
#define KOORD_SCHEDULER_OBSERVE_EXPLAIN_MISSING_H
#include "scheduler/observe/explain/whatif.h"

struct attempt;

/* Of a row that was rejected; in the attempt's arena. Not only the first plugin that said no is
 * asked, but all. scratch: two zeroes for each row, which may serve many calls. */
struct whatif_change *missing_find(struct attempt *a, uint32_t row, uint8_t *scratch,
                                   uint32_t *ret_n);
#endif
