/* heap.h - binary heap of intrusive nodes: O(log n) push, pop, remove and re-order of any item.
 *
 *     struct job { struct heap_node hn; nsec_t due; };
 *     static bool earlier(const struct heap_node *a, const struct heap_node *b) {...}
 */
#ifndef KOORD_BASE_HEAP_H
#define KOORD_BASE_HEAP_H
#include "base/base.h"

struct heap_node {
    size_t pos; /* index + 1 while queued, 0 otherwise */
};
typedef bool (*heap_less_fn)(const struct heap_node *a, const struct heap_node *b);

struct heap {
    struct heap_node **items;
    size_t n, cap;
    heap_less_fn less;
};

void heap_init(struct heap *h, heap_less_fn less);
void heap_fini(struct heap *h); /* does not touch the nodes */
void heap_push(struct heap *h, struct heap_node *node);
struct heap_node *heap_pop(struct heap *h); /* NULL when empty */
void heap_remove(struct heap *h, struct heap_node *node);
void heap_fix(struct heap *h, struct heap_node *node); /* its key changed */
static inline struct heap_node *heap_first(const struct heap *h)
{
    return h->n ? h->items[0] : NULL;
}
static inline bool heap_has(const struct heap_node *node)
{
    return node->pos != 0;
}
#endif
