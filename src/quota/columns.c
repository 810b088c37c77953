/* columns.c - resources by number, and their texts (sched-quota 0, 10). */
#include "quota/columns.h"

#include "api/protocol/protocol.h"
#include "base/strbuf.h"

void quota_columns_fini(struct quota_columns *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        free(c->name[i]);
    c->n = 0;
}

int quota_columns_find(const struct quota_columns *c, const char *name)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (streq(c->name[i], name))
            return (int)i;
    return -1;
}

int quota_columns_add(struct quota_columns *c, const char *name)
{
    int at = quota_columns_find(c, name);

    if (at >= 0)
        return at;
    if (c->n == QUOTA_COLUMNS_MAX)
        return -1;
    c->name[c->n] = xstrdup(name);
    return (int)c->n++;
}

int64_t column_amount(const char *name, struct qty q, int64_t most)
{
    int64_t count = resource_count(name, q);

    return count < 0 ? 0 : MIN(count, most);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct resqty *)x)->name, ((const struct resqty *)y)->name);
}

reslist quota_columns_list(const struct quota_columns *c, uint64_t set, const int64_t *vals,
                           size_t stride, struct arena *a)
{
    reslist out = { .items = arena_newn0(a, (size_t)__builtin_popcountll(set) + 1, struct resqty) };

    columns_foreach(i, set) {
        out.items[out.n++] =
            (struct resqty){ .name = c->name[i],
                             .value = resource_from_count(c->name[i], vals[i * stride]) };
    }
    if (out.n > 1)
        qsort(out.items, out.n, sizeof *out.items, by_name);
    return out;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static const char *join(const char **texts, size_t n, const char *between, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (n > 1)
        qsort(texts, n, sizeof *texts, by_text);
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&b, "%s%s", i ? between : "", texts[i]);
    return arena_strdup(a, strbuf_str(&b));
}

const char *quota_columns_text(const struct quota_columns *c, uint64_t set, const int64_t *vals,
                               size_t stride, struct arena *a)
{
    const char *texts[QUOTA_COLUMNS_MAX];
    size_t n = 0;

    if (set == 0)
        return "<empty>";
    columns_foreach(i, set) {
        struct qty q = resource_from_count(c->name[i], vals[i * stride]);
        texts[n++] = arena_printf(a, "%s:%s", c->name[i], qty_format(q, a));
    }
    return join(texts, n, ",", a);
}

const char *quota_columns_names(const struct quota_columns *c, uint64_t set, struct arena *a)
{
    const char *texts[QUOTA_COLUMNS_MAX];
    size_t n = 0;

    columns_foreach(i, set)
        texts[n++] = c->name[i];
    return arena_printf(a, "[%s]", join(texts, n, " ", a));
}
