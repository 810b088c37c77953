/* columns.h - resources by number: quotas keep amounts in integer columns, one per resource that
 * some quota names in its max, min or weight. Pods cannot add columns.
 *
 * A set of columns is a bit mask, so there are at most 64. Amounts are whole numbers as Koordinator
 * counts them (cpu in milli, everything else in units, rounded up), at most QUOTA_AMOUNT_MAX.
 */
#ifndef KOORD_QUOTA_COLUMNS_H
#define KOORD_QUOTA_COLUMNS_H
#include "api/reslist.h"

enum { QUOTA_COLUMNS_MAX = 64 };
#define QUOTA_AMOUNT_MAX (INT64_C(1) << 62)

struct quota_columns { /* all zero is an empty table */
    char *name[QUOTA_COLUMNS_MAX];
    uint32_t n;
};
void quota_columns_fini(struct quota_columns *c);
/* The number of a resource, -1: no quota names it. */
int quota_columns_find(const struct quota_columns *c, const char *name);
/* The same, and it is given one; -1: the table is full. */
int quota_columns_add(struct quota_columns *c, const char *name);

/* An amount as it is counted; between 0 and `most`. */
int64_t column_amount(const char *name, struct qty q, int64_t most);

#define columns_foreach(c, set)         \
    for (uint64_t c##_rest_ = (set), c; \
         c##_rest_ && (c = (uint64_t)__builtin_ctzll(c##_rest_), 1); c##_rest_ &= c##_rest_ - 1)

/* The list of the columns in `set`, sorted by name; vals[column * stride]. Names are borrowed from
 * the table. */
reslist quota_columns_list(const struct quota_columns *c, uint64_t set, const int64_t *vals,
                           size_t stride, struct arena *a);
/* "cpu:4,memory:8Gi", sorted as text; "<empty>" for none. */
const char *quota_columns_text(const struct quota_columns *c, uint64_t set, const int64_t *vals,
                               size_t stride, struct arena *a);
/* "[cpu memory]", sorted. */
const char *quota_columns_names(const struct quota_columns *c, uint64_t set, struct arena *a);
#endif
