/* items.c - the items of a list, named. */
#include "apiserver/apply/items.h"

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

/* Marks what is repeated and drops the later ones from both lists. */
static void drop_repeated(struct items *items)
{
    size_t kept = 0;

    for (size_t i = 0; i < items->n; i++) {
        struct item *it = (struct item *)(uintptr_t)items->by_element[i];
        if (kept && by_bytes(items->by_element[kept - 1]->element, it->element) == 0) {
            ((struct item *)(uintptr_t)items->by_element[kept - 1])->repeated = true;
            it->element.p = NULL;
        } else {
            items->by_element[kept++] = it;
        }
    }
    if (kept == items->n)
        return;
    struct item *list = arena_newn0(items->arena, kept + 1, struct item);
    size_t n = 0;
    for (size_t i = 0; i < items->n; i++)
        if (items->list[i].element.p)
            list[n++] = items->list[i];
    items->list = list;
    items->n = n;
    for (size_t i = 0; i < n; i++)
        items->by_element[i] = &list[i];
    qsort(items->by_element, n, sizeof *items->by_element, by_element);
}

void items_read(const struct shape *s, const struct kj_val *list, struct items *ret)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    struct str key;

    *ret = (struct items){ .arena = arena_new() };
    ret->list = arena_newn0(ret->arena, kj_len(list) + 1, struct item);
    ret->by_element = arena_newn0(ret->arena, kj_len(list) + 1, const struct item *);
    while (kj_type(list) == KJ_ARR && kj_next(&it, &key, &v)) {
        strbuf_reset(&text);
        if (shape_element(s, v, &text, NULL) < 0)
            continue;
        struct item *item = &ret->list[ret->n];
        item->element =
            (struct str){ arena_strndup(ret->arena, strbuf_str(&text), text.len), text.len };
        item->value = v;
        ret->by_element[ret->n++] = item;
    }
    qsort(ret->by_element, ret->n, sizeof *ret->by_element, by_element);
    drop_repeated(ret);
}

const struct item *items_find(const struct items *items, struct str element)
{
    size_t lo = 0, hi = items->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int d = by_bytes(items->by_element[mid]->element, element);
        if (d == 0)
            return items->by_element[mid];
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

void items_fini(struct items *items)
{
    items->arena = arena_free(items->arena);
}
