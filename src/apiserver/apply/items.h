/* items.h - the items of a list with the elements of a path that name them. */
#ifndef KOORD_APISERVER_APPLY_ITEMS_H
#define KOORD_APISERVER_APPLY_ITEMS_H
#include "apiserver/apply/shape.h"
#include "base/arena.h"
#include "json/kj.h"

struct item {
    struct str element;
    const struct kj_val *value;
    bool repeated; /* others have the same element */
};
struct items {
    struct arena *arena; /* of all of it */
    struct item *list;
    size_t n;
    struct item **by_element; /* sorted */
};

/* Of a list with names (SHAPE_SET, SHAPE_LIST), in its order; an item without its keys has no name
 * and is left out. */
void items_read(const struct shape *s, const struct kj_val *list, struct items *ret);
/* The first of this name. */
const struct item *items_find(const struct items *items, struct str element);
/* Those of this name in both lists are the same, one by one. */
bool items_same(const struct items *x, const struct items *y, struct str element);
void items_fini(struct items *items);
static inline UNUSED void items_fini_p(struct items *items)
{
    items_fini(items);
}
#endif
