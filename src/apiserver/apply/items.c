/* items.c - the items of a list, named. */
#include "apiserver/apply/items.h"

enum { TEXT_USUAL = 64 }; /* bytes of an element, so that one piece of memory does for most lists */

static int by_bytes(struct str x, struct str y)
{
    int d = memcmp(x.p, y.p, MIN(x.n, y.n));

    return d ? d : (x.n > y.n) - (x.n < y.n);
}

/* Equal ones in the order of the list. */
static int by_element(const void *x, const void *y)
{
    const struct item *a = *(const struct item *const *)x, *b = *(const struct item *const *)y;
    int d = by_bytes(a->element, b->element);

    return d ? d : (a > b) - (a < b);
}

static void find_repeated(struct items *items)
{
    for (size_t i = 1; i < items->n; i++) {
        struct item *last = items->by_element[i - 1], *it = items->by_element[i];
        if (by_bytes(last->element, it->element) == 0)
            last->repeated = it->repeated = true;
    }
}

void items_read(const struct shape *s, const struct kj_val *list, struct items *ret)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    const size_t n = kj_type(list) == KJ_ARR ? kj_len(list) : 0;

    *ret = (struct items){ 0 };
    if (n == 0)
        return;
    ret->arena = arena_new_sized(n * (sizeof(struct item) + sizeof(struct item *) + TEXT_USUAL));
    ret->list = arena_newn0(ret->arena, n, struct item);
    ret->by_element = arena_newn0(ret->arena, n, struct item *);
    while (kj_next(&it, NULL, &v)) {
        strbuf_reset(&text);
        if (shape_element(s, v, &text, NULL) < 0)
            continue;
        struct item *item = &ret->list[ret->n];
        item->element =
            (struct str){ arena_strndup(ret->arena, strbuf_str(&text), text.len), text.len };
        item->value = v;
        ret->by_element[ret->n++] = item;
    }
    if (ret->n < 2)
        return;
    qsort(ret->by_element, ret->n, sizeof *ret->by_element, by_element);
    find_repeated(ret);
}

/* The place of the first of this name, or where it would be. */
static size_t place_of(const struct items *items, struct str element)
{
    size_t lo = 0, hi = items->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (by_bytes(items->by_element[mid]->element, element) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static const struct item *named(const struct items *items, size_t at, struct str element)
{
    const struct item *it = at < items->n ? items->by_element[at] : NULL;

    return it && by_bytes(it->element, element) == 0 ? it : NULL;
}

const struct item *items_find(const struct items *items, struct str element)
{
    return named(items, place_of(items, element), element);
}

bool items_same(const struct items *x, const struct items *y, struct str element)
{
    size_t i = place_of(x, element), j = place_of(y, element);
    const struct item *a, *b;

    do {
        a = named(x, i++, element);
        b = named(y, j++, element);
    } while (a && b && kj_equal(a->value, b->value));
    return !a && !b;
}

void items_fini(struct items *items)
{
    items->arena = arena_free(items->arena);
}
