/* reslist.h - resource lists: names to quantities, as in requests, allocatable and annotations.
 *
 * A value type over memory that somebody else owns (an object's block or an arena): sorted by name,
 * never changed in place. Functions that make a list take an arena and borrow the names. In a
 * schema table a list is KF_MAP_OF(struct x, member, "requests", KF_QTY, .flags = KF_INTERN_KEYS).
 */
#ifndef KOORD_API_RESLIST_H
#define KOORD_API_RESLIST_H
#include "json/schema.h"

struct resqty {
    const char *name;
    struct qty value;
};
typedef KLIST(struct resqty) reslist; /* sorted by name; all zero is the empty list */

/* NULL when the name is absent. Binary search. */
const struct qty *reslist_find(const reslist *l, const char *name);
/* 0 when absent. */
struct qty reslist_get(const reslist *l, const char *name);
static inline bool reslist_has(const reslist *l, const char *name)
{
    return reslist_find(l, name) != NULL;
}

/* A copy with one entry set or left out. */
reslist reslist_with(const reslist *l, const char *name, struct qty value, struct arena *a);
reslist reslist_without(const reslist *l, const char *name, struct arena *a);

/* The JSON text of an annotation: {"cpu":"4","memory":"8Gi"}. JSON null is the empty list. */
int reslist_decode_text(const char *text, struct arena *a, reslist *ret, struct kerr *err);
void reslist_encode(const reslist *l, struct strbuf *out);
/* Same names and numerically equal quantities. */
bool reslist_equal(const reslist *a, const reslist *b);

/* How Koordinator counts: cpu in milli, everything else (batch-cpu too) in whole units, rounded up.
 */
int64_t resource_count(const char *name, struct qty q);
/* The way back: cpu from milli, memory in binary format, everything else decimal. */
struct qty resource_from_count(const char *name, int64_t count);

/* A list that is the whole of a JSON text, for tables. */
struct reslist_value {
    reslist v;
};
extern const struct kschema reslist_value_schema;
#endif
