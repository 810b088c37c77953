/* amount.h - cpu and memory together, in exact quantities: what the formulas calculate with.
 *
 * Values only, no memory. An absent resource is 0. The format of a result is that of its left side,
 * so that what is calculated from a node's capacity is written as its capacity is.
 */
#ifndef KOORD_MANAGER_AMOUNT_H
#define KOORD_MANAGER_AMOUNT_H
#include "api/protocol/keys.h"
#include "api/reslist.h"
#include "base/num.h"

struct nr_amount {
    struct qty cpu, memory;
};

static inline struct nr_amount nr_amount_of(const reslist *l)
{
    return (struct nr_amount){ reslist_get(l, RES_CPU), reslist_get(l, RES_MEMORY) };
}
static inline struct nr_amount nr_add(struct nr_amount a, struct nr_amount b)
{
    return (struct nr_amount){ qty_add(a.cpu, b.cpu), qty_add(a.memory, b.memory) };
}
static inline struct nr_amount nr_sub(struct nr_amount a, struct nr_amount b)
{
    return (struct nr_amount){ qty_sub(a.cpu, b.cpu), qty_sub(a.memory, b.memory) };
}
static inline struct qty qty_max(struct qty a, struct qty b)
{
    return qty_cmp(b, a) > 0 ? b : a;
}
static inline struct qty qty_min(struct qty a, struct qty b)
{
    return qty_cmp(b, a) < 0 ? b : a;
}
static inline struct nr_amount nr_max(struct nr_amount a, struct nr_amount b)
{
    return (struct nr_amount){ qty_max(a.cpu, b.cpu), qty_max(a.memory, b.memory) };
}
static inline struct nr_amount nr_min(struct nr_amount a, struct nr_amount b)
{
    return (struct nr_amount){ qty_min(a.cpu, b.cpu), qty_min(a.memory, b.memory) };
}
/* Nothing below 0. */
static inline struct nr_amount nr_clamp(struct nr_amount a)
{
    return nr_max(a, (struct nr_amount){ 0 });
}

/* trunc(milli * ratio) in double precision, as upstream scales cpu; and the same of whole units. */
static inline struct qty qty_scale_milli(struct qty q, double ratio)
{
    return qty_from_milli(i64_from_f64((double)qty_milli(q) * ratio), (enum qty_format)q.format);
}
static inline struct qty qty_scale_value(struct qty q, double ratio)
{
    return qty_from_i64(i64_from_f64((double)qty_value(q) * ratio), (enum qty_format)q.format);
}
static inline double percent_ratio(int64_t percent)
{
    return (double)percent / 100.0;
}
/* percent of cpu by its milli-value, of memory by its bytes. */
static inline struct nr_amount nr_scale(struct nr_amount a, double cpu_ratio, double memory_ratio)
{
    return (struct nr_amount){ qty_scale_milli(a.cpu, cpu_ratio),
                               qty_scale_value(a.memory, memory_ratio) };
}
/* An n-th, each rounded up to the next milli. */
struct nr_amount nr_divide(struct nr_amount a, unsigned n);
#endif
