/* heap.c - binary heap of intrusive nodes. */
#include "base/heap.h"

void heap_init(struct heap *h, heap_less_fn less)
{
    *h = (struct heap){ .less = less };
}

void heap_fini(struct heap *h)
{
    free(h->items);
    *h = (struct heap){ .less = h->less };
}

static void place(struct heap *h, size_t i, struct heap_node *node)
{
    h->items[i] = node;
    node->pos = i + 1;
}

/* Moves the hole at i towards the root until node may fill it. */
static void sift_up(struct heap *h, size_t i, struct heap_node *node)
{
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!h->less(node, h->items[parent]))
            break;
        place(h, i, h->items[parent]);
        i = parent;
    }
    place(h, i, node);
}

static void sift_down(struct heap *h, size_t i, struct heap_node *node)
{
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->less(h->items[child + 1], h->items[child]))
            child++;
        if (!h->less(h->items[child], node))
            break;
        place(h, i, h->items[child]);
    }
    place(h, i, node);
}

void heap_push(struct heap *h, struct heap_node *node)
{
    assert(node->pos == 0);
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 16;
        h->items = xreallocarray(h->items, h->cap, sizeof *h->items);
    }
    h->n++;
    sift_up(h, h->n - 1, node);
}

/* Settles node at i, whichever way its key moved. */
static void settle(struct heap *h, size_t i, struct heap_node *node)
{
    if (i > 0 && h->less(node, h->items[(i - 1) / 2]))
        sift_up(h, i, node);
    else
        sift_down(h, i, node);
}

void heap_remove(struct heap *h, struct heap_node *node)
{
    size_t i = node->pos - 1;

    assert(node->pos != 0 && i < h->n && h->items[i] == node);
    struct heap_node *last = h->items[--h->n];
    node->pos = 0;
    if (last != node)
        settle(h, i, last);
}

struct heap_node *heap_pop(struct heap *h)
{
    struct heap_node *first = heap_first(h);
    if (first)
        heap_remove(h, first);
    return first;
}

void heap_fix(struct heap *h, struct heap_node *node)
{
    assert(node->pos != 0 && node->pos <= h->n && h->items[node->pos - 1] == node);
    settle(h, node->pos - 1, node);
}
