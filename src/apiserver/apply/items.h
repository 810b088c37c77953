/* items.h - the items of a list with the elements of a path that name them. */
#ifndef KOORD_APISERVER_APPLY_ITEMS_H
#define KOORD_APISERVER_APPLY_ITEMS_H
#include "apiserver/apply/shape.h"
#include "base/arena.h"
#include "json/kj.h"

struct item {
    struct str element;
    const struct kj_val *value;
    bool repeated; /* a later item has the same element */
};
struct items {
    struct arena *arena; /* of all of it */
    struct item *list;
    size_t n;
    const struct item **by_element;
};

/* Of a list with names (SHAPE_SET, SHAPE_LIST); an item without its keys has no name and is left
 * out. Items that repeat one are there once, as the first, marked. */
void items_read(const struct shape *s, const struct kj_val *list, struct items *ret);
const struct item *items_find(const struct items *items, struct str element);
void items_fini(struct items *items);
static inline UNUSED void items_fini_p(struct items *items)
{
    items_fini(items);
}
#endif
