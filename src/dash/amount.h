/* amount.h - CPU and memory together: sums that saturate, counts of a resource list. */
#ifndef KOORD_DASH_AMOUNT_H
#define KOORD_DASH_AMOUNT_H
#include "api/reslist.h"
#include "base/num.h"
#include "dash/dash.h"

static inline void amount_add(struct dash_amount *to, struct dash_amount a)
{
    to->mcpu = i64_add_sat(to->mcpu, a.mcpu);
    to->bytes = i64_add_sat(to->bytes, a.bytes);
}
/* What a is more than b, in each of both; nothing is less than nothing. */
static inline struct dash_amount amount_beyond(struct dash_amount a, struct dash_amount b)
{
    return (struct dash_amount){ MAX(i64_sub_sat(a.mcpu, b.mcpu), (int64_t)0),
                                 MAX(i64_sub_sat(a.bytes, b.bytes), (int64_t)0) };
}
/* Lists are untrusted: what is negative counts as nothing. */
static inline struct dash_amount amount_of(const reslist *l, const char *cpu, const char *memory)
{
    struct dash_amount a = { resource_count(cpu, reslist_get(l, cpu)),
                             resource_count(memory, reslist_get(l, memory)) };
    return amount_beyond(a, (struct dash_amount){ 0, 0 });
}
#endif
