/* selector.h - label, node and field selectors: compiled once, matched without allocating.
 *
 * A compiled selector lives in the arena it was made in, and borrows the strings it was made from
 * when that is a struct (they live as long as their object); a parsed text is copied. All are
 * immutable and safe to use on any thread.
 */
#ifndef KOORD_API_SELECTOR_H
#define KOORD_API_SELECTOR_H
#include "api/types.h"

/* ---- labels ---------------------------------------------------------------------------------- */

struct labelsel; /* requirements, ANDed, sorted by key */

/* "app=web,tier in (fe,be),!legacy,n>4". */
int labelsel_parse(const char *text, size_t n, struct arena *a, struct labelsel **ret,
                   struct kerr *err);
/* A LabelSelector: NULL matches nothing, an empty one everything. */
int labelsel_from(const struct label_selector *s, struct arena *a, struct labelsel **ret,
                  struct kerr *err);
/* All pairs equal (a pod's nodeSelector, a Service's selector); values are not validated. */
struct labelsel *labelsel_from_map(const kstrmap *m, struct arena *a);
/* A copy with one more requirement key=value. */
struct labelsel *labelsel_and(const struct labelsel *s, const char *key, const char *value,
                              struct arena *a);

bool labelsel_matches(const struct labelsel *s, const kstrmap *labels);
bool labelsel_is_everything(const struct labelsel *s); /* no requirement at all */
/* Canonical text, as the API server and client-go print it; "" for everything and nothing. */
void labelsel_format(const struct labelsel *s, struct strbuf *out);

/* ---- nodes ----------------------------------------------------------------------------------- */

struct nodesel; /* terms, ORed */

/* Never fails: a term that cannot be understood matches no node, the others still do. A NULL
 * selector and one without usable terms match no node. */
struct nodesel *nodesel_from(const struct node_selector *s, struct arena *a);
/* One term (a preferred one). An empty term matches no node. */
struct nodesel *nodesel_from_term(const struct node_selector_term *t, struct arena *a);
/* What the API server would say: the first term that cannot be understood; 0 when all can. */
int nodesel_check(const struct nodesel *s, struct kerr *err);
/* 1 or 0; -EINVAL when no term matches and one could not be understood. */
int nodesel_match(const struct nodesel *s, const kstrmap *labels, const char *node_name);

/* ---- fields ---------------------------------------------------------------------------------- */

struct fieldsel; /* "status.phase!=Failed,spec.nodeName=n1" */

int fieldsel_parse(const char *text, size_t n, struct arena *a, struct fieldsel **ret,
                   struct kerr *err);
/* The value of a field of the object; NULL counts as "". */
typedef const char *(*fieldsel_get_fn)(const void *obj, const char *field);
bool fieldsel_matches(const struct fieldsel *s, fieldsel_get_fn get, const void *obj);
void fieldsel_format(const struct fieldsel *s, struct strbuf *out);
/* The fields it asks for, to refuse those a kind does not support: NULL after the last. */
const char *fieldsel_field(const struct fieldsel *s, size_t i);
#endif
