/* patch_diff.c - the JSON patch (RFC 6902) that leads from one document to another.
 *
 * Written as text: that is what becomes of it anyway. Members are compared by key, items of lists
 * by position, after those that are equal at both ends were set aside; so an item that was put in
 * or taken out is one operation, wherever it stands.
 */
#include "json/kj_int.h"
#include "json/patch.h"

struct differ {
    struct strbuf *out, path;
    size_t ops;
};

static void diff_values(struct differ *f, const yyjson_val *from, const yyjson_val *to);

/* ---- operations ------------------------------------------------------------------------------ */

static void write_op(struct differ *f, const char *op, const yyjson_val *value)
{
    strbuf_appendf(f->out, "%s{\"op\":\"%s\",\"path\":", f->ops++ ? "," : "", op);
    kj_append_string(f->out, strbuf_str(&f->path), f->path.len);
    if (value) {
        strbuf_append(f->out, ",\"value\":");
        kj_write(kj_from(value), 0, f->out);
    }
    strbuf_appendc(f->out, '}');
}

/* One step down; the caller goes back by the length that is returned. */
static size_t enter_key(struct differ *f, const char *key, size_t n)
{
    size_t len = f->path.len;

    strbuf_appendc(&f->path, '/');
    for (size_t i = 0; i < n; i++) {
        if (key[i] == '~' || key[i] == '/')
            strbuf_append(&f->path, key[i] == '~' ? "~0" : "~1");
        else
            strbuf_appendc(&f->path, key[i]);
    }
    return len;
}

static size_t enter_index(struct differ *f, size_t i)
{
    size_t len = f->path.len;

    strbuf_appendc(&f->path, '/');
    strbuf_append_i64(&f->path, (int64_t)i);
    return len;
}

static void op_at(struct differ *f, size_t index, const char *op, const yyjson_val *value)
{
    size_t len = enter_index(f, index);

    write_op(f, op, value);
    strbuf_truncate(&f->path, len);
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Few members with the same keys in the same order, each once: what a copy that was changed looks
 * like nearly everywhere. Needs neither memory nor a search. */
static bool same_keys(const yyjson_val *a, const yyjson_val *b)
{
    const yyjson_val *seen[KJ_SMALL_OBJ];
    size_t n = kj_ylen(a);

    if (n != kj_ylen(b) || n > KJ_SMALL_OBJ)
        return false;
    if (n == 0)
        return true;
    a = kj_first(a, false);
    b = kj_first(b, false);
    for (size_t i = 0; i < n; i++) {
        if (!kj_key_is(a, b->uni.str, kj_ylen(b)))
            return false;
        for (size_t j = 0; j < i; j++)
            if (kj_key_is(seen[j], a->uni.str, kj_ylen(a)))
                return false;
        seen[i] = a;
        a = kj_sibling(a + 1, false);
        b = kj_sibling(b + 1, false);
    }
    return true;
}

static void diff_member(struct differ *f, const char *key, size_t n, const yyjson_val *from,
                        const yyjson_val *to)
{
    size_t len = enter_key(f, key, n);

    if (from && to)
        diff_values(f, from, to);
    else
        write_op(f, to ? "add" : "remove", to);
    strbuf_truncate(&f->path, len);
}

static void diff_in_order(struct differ *f, const yyjson_val *from, const yyjson_val *to)
{
    size_t n = kj_ylen(from);

    if (n == 0)
        return;
    from = kj_first(from, false);
    to = kj_first(to, false);
    for (size_t i = 0; i < n; i++) {
        diff_member(f, from->uni.str, kj_ylen(from), from + 1, to + 1);
        from = kj_sibling(from + 1, false);
        to = kj_sibling(to + 1, false);
    }
}

static void diff_objects(struct differ *f, const yyjson_val *from, const yyjson_val *to)
{
    if (same_keys(from, to)) {
        diff_in_order(f, from, to);
        return;
    }
    CLEANUP(kj_index_fini) struct kj_index a = kj_index_of(from, false);
    CLEANUP(kj_index_fini) struct kj_index b = kj_index_of(to, false);
    for (size_t i = 0; i < a.n; i++)
        if (!kj_index_find(&b, a.m[i].key, a.m[i].key_len))
            diff_member(f, a.m[i].key, a.m[i].key_len, a.m[i].val, NULL);
    for (size_t i = 0; i < b.n; i++) {
        const struct kj_member *was = kj_index_find(&a, b.m[i].key, b.m[i].key_len);
        diff_member(f, b.m[i].key, b.m[i].key_len, was ? was->val : NULL, b.m[i].val);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct items {
    const yyjson_val **v;
    size_t n;
};

static struct items items_of(const yyjson_val *arr)
{
    struct items it = { NULL, kj_ylen(arr) };

    if (it.n == 0)
        return it;
    it.v = xcalloc(it.n, sizeof *it.v);
    const yyjson_val *v = kj_first(arr, false);
    for (size_t i = 0; i < it.n; i++, v = kj_sibling(v, false))
        it.v[i] = v;
    return it;
}

static bool equal(const yyjson_val *a, const yyjson_val *b)
{
    return kj_equal(kj_from(a), kj_from(b));
}

static void diff_items(struct differ *f, const struct items *a, const struct items *b)
{
    size_t head = 0, tail = 0, least = MIN(a->n, b->n);

    /* Of lists of the same length each item is compared once, with the one in its place. */
    if (a->n != b->n) {
        while (head < least && equal(a->v[head], b->v[head]))
            head++;
        while (tail < least - head && equal(a->v[a->n - 1 - tail], b->v[b->n - 1 - tail]))
            tail++;
    }
    for (size_t i = head; i < least - tail; i++) {
        size_t len = enter_index(f, i);
        diff_values(f, a->v[i], b->v[i]);
        strbuf_truncate(&f->path, len);
    }
    for (size_t i = a->n - tail; i > least - tail; i--)
        op_at(f, i - 1, "remove", NULL);
    for (size_t i = least - tail; i < b->n - tail; i++)
        op_at(f, i, "add", b->v[i]);
}

static void diff_lists(struct differ *f, const yyjson_val *from, const yyjson_val *to)
{
    struct items a = items_of(from), b = items_of(to);

    diff_items(f, &a, &b);
    free(a.v);
    free(b.v);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void diff_values(struct differ *f, const yyjson_val *from, const yyjson_val *to)
{
    enum kj_type a = kj_type(kj_from(from)), b = kj_type(kj_from(to));

    if (a == KJ_OBJ && b == KJ_OBJ)
        diff_objects(f, from, to);
    else if (a == KJ_ARR && b == KJ_ARR)
        diff_lists(f, from, to);
    else if (a != b || !equal(from, to))
        write_op(f, "replace", to);
}

size_t kj_diff_json(const struct kj_val *from, const struct kj_val *to, struct strbuf *out)
{
    struct differ f = { .out = out };

    strbuf_appendc(out, '[');
    diff_values(&f, kj_y(from), kj_y(to));
    strbuf_appendc(out, ']');
    strbuf_fini(&f.path);
    return f.ops;
}
