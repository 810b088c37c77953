/* reslist.c - building resource lists and their JSON texts. */
#include "api/reslist.h"
#include "api/protocol/keys.h"

const struct qty *reslist_find(const reslist *l, const char *name)
{
    size_t lo = 0, hi = l->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(l->items[mid].name, name);

        if (c == 0)
            return &l->items[mid].value;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

struct qty reslist_get(const reslist *l, const char *name)
{
    const struct qty *q = reslist_find(l, name);

    return q ? *q : (struct qty){ 0 };
}

reslist reslist_with(const reslist *l, const char *name, struct qty value, struct arena *a)
{
    reslist out = { .items = arena_newn0(a, l->n + 1, struct resqty) };
    uint32_t i = 0;

    for (; i < l->n && strcmp(l->items[i].name, name) < 0; i++)
        out.items[out.n++] = l->items[i];
    out.items[out.n++] = (struct resqty){ .name = name, .value = value };
    if (i < l->n && streq(l->items[i].name, name))
        i++;
    for (; i < l->n; i++)
        out.items[out.n++] = l->items[i];
    return out;
}

reslist reslist_without(const reslist *l, const char *name, struct arena *a)
{
    reslist out = { 0 };

    if (!reslist_has(l, name))
        return *l;
    out.items = arena_newn0(a, l->n, struct resqty);
    for (uint32_t i = 0; i < l->n; i++)
        if (!streq(l->items[i].name, name))
            out.items[out.n++] = l->items[i];
    return out;
}

static const struct kfield reslist_value_fields[] = {
    KF_MAP_OF(struct reslist_value, v, "", KF_QTY),
};
const struct kschema reslist_value_schema = {
    .name = "ResourceList",
    .size = sizeof(struct reslist_value),
    .nfields = 1,
    .fields = reslist_value_fields,
    .bare = true,
};

int reslist_decode_text(const char *text, struct arena *a, reslist *ret, struct kerr *err)
{
    struct reslist_value value;

    if (kj_decode_text(&reslist_value_schema, text, strlen(text), 0, a, &value, err) < 0)
        return err ? err->code : -EINVAL;
    *ret = value.v;
    return 0;
}

void reslist_encode(const reslist *l, struct strbuf *out)
{
    struct reslist_value value = { *l };

    kj_encode(&reslist_value_schema, &value, out);
}

bool reslist_equal(const reslist *a, const reslist *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!streq(a->items[i].name, b->items[i].name) ||
            qty_cmp(a->items[i].value, b->items[i].value) != 0)
            return false;
    return true;
}

int64_t resource_count(const char *name, struct qty q)
{
    return streq(name, RES_CPU) ? qty_milli(q) : qty_value(q);
}

struct qty resource_from_count(const char *name, int64_t count)
{
    if (streq(name, RES_CPU))
        return qty_from_milli(count, QTY_DECIMAL_SI);
    return qty_from_i64(count, streq(name, RES_MEMORY) ? QTY_BINARY_SI : QTY_DECIMAL_SI);
}
