/* amount.c - cpu and memory together. */
#include "manager/noderesource/amount.h"

#include <math.h>

static struct qty divide(struct qty q, unsigned n)
{
    return qty_from_milli(i64_from_f64(ceil((double)qty_milli(q) / n)), (enum qty_format)q.format);
}

struct nr_amount nr_divide(struct nr_amount a, unsigned n)
{
    return (struct nr_amount){ divide(a.cpu, n), divide(a.memory, n) };
}
