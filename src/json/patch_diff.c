/* patch_diff.c - the JSON patch (RFC 6902) that leads from one document to another.
 *
 * Written as text: that is what becomes of it anyway. Members are compared by key, items of lists
 * by position, after those that are equal at both ends were set aside; so an item that was put in
 * or taken out is one operation, wherever it stands. The first document is a parsed one, the second
 * its changed copy: the copy is walked as it is.
 */
#include "json/kj_int.h"
#include "json/patch.h"

struct differ {
    struct strbuf *out; /* NULL: only counts */
    struct strbuf path; /* of one operation */
    size_t ops;
};
/* Where we are: written out only when something differs there. */
struct place {
    const struct place *up; /* NULL: the root */
    const char *key;        /* NULL: an item of a list */
    size_t n;               /* length of the key, or the index */
};

enum { FROM = false, TO = true }; /* `mut` of the two sides, see kj_int.h */

static void diff_values(struct differ *f, const struct place *at, const yyjson_val *from,
                        const yyjson_val *to);

/* ---- operations ------------------------------------------------------------------------------ */

static void append_key(struct strbuf *out, const char *key, size_t n)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (key[i] != '~' && key[i] != '/')
            continue;
        strbuf_appendn(out, key + from, i - from);
        strbuf_appendn(out, key[i] == '~' ? "~0" : "~1", 2);
        from = i + 1;
    }
    strbuf_appendn(out, key + from, n - from);
}

static void append_path(struct strbuf *out, const struct place *at)
{
    if (!at->up)
        return;
    append_path(out, at->up);
    strbuf_appendc(out, '/');
    if (at->key)
        append_key(out, at->key, at->n);
    else
        strbuf_append_i64(out, (int64_t)at->n);
}

/* value: of the second document; NULL: none. */
static void write_op(struct differ *f, const struct place *at, const char *op,
                     const yyjson_val *value)
{
    f->ops++;
    if (!f->out)
        return;
    strbuf_reset(&f->path);
    append_path(&f->path, at);
    strbuf_append(f->out, f->ops > 1 ? ",{\"op\":\"" : "{\"op\":\"");
    strbuf_append(f->out, op);
    strbuf_append(f->out, "\",\"path\":");
    kj_append_string(f->out, strbuf_str(&f->path), f->path.len);
    if (value) {
        strbuf_append(f->out, ",\"value\":");
        kj_mwrite((const struct kj_mval *)value, 0, f->out);
    }
    strbuf_appendc(f->out, '}');
}

/* ---- objects --------------------------------------------------------------------------------- */

/* A borrowed copy (kj_mborrow) that has the members it had: the keys are the same texts. Since a
 * copy has each key once, so has the first. */
static bool in_step(const yyjson_val *from, const yyjson_val *to)
{
    size_t n = kj_ylen(from);

    if (n != kj_ylen(to))
        return false;
    const yyjson_val *a = n ? kj_first(from, FROM) : NULL, *b = n ? kj_first(to, TO) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (a->uni.str != b->uni.str || a->tag != b->tag)
            return false;
        a = kj_sibling(kj_val_of_key(a, FROM), FROM);
        b = kj_sibling(kj_val_of_key(b, TO), TO);
    }
    return true;
}

static void diff_in_step(struct differ *f, const struct place *at, const yyjson_val *from,
                         const yyjson_val *to)
{
    size_t n = kj_ylen(from);
    const yyjson_val *a = n ? kj_first(from, FROM) : NULL, *b = n ? kj_first(to, TO) : NULL;

    for (size_t i = 0; i < n; i++) {
        const yyjson_val *x = kj_val_of_key(a, FROM), *y = kj_val_of_key(b, TO);
        const struct place here = { at, a->uni.str, kj_ylen(a) };
        diff_values(f, &here, x, y);
        a = kj_sibling(x, FROM);
        b = kj_sibling(y, TO);
    }
}

/* Few members, each key once: what objects look like nearly everywhere. Needs no memory. */
struct small {
    const yyjson_val *keys[KJ_SMALL_OBJ], *vals[KJ_SMALL_OBJ];
    size_t n;
};

static inline bool small_of(const yyjson_val *obj, bool mut, struct small *ret)
{
    ret->n = kj_ylen(obj);
    if (ret->n == 0)
        return true;
    if (ret->n > KJ_SMALL_OBJ)
        return false;
    const yyjson_val *k = kj_first(obj, mut);
    for (size_t i = 0; i < ret->n; i++) {
        for (size_t j = 0; !mut && j < i; j++) /* a mutable object has each key once */
            if (kj_key_is(ret->keys[j], k->uni.str, kj_ylen(k)))
                return false;
        ret->keys[i] = k;
        ret->vals[i] = kj_val_of_key(k, mut);
        k = kj_sibling(ret->vals[i], mut);
    }
    return true;
}

/* hint: where it probably is, since a copy that was changed keeps the order. */
static const yyjson_val *small_find(const struct small *s, const yyjson_val *key, size_t hint)
{
    const char *text = key->uni.str;
    size_t n = kj_ylen(key);

    if (hint < s->n && kj_key_is(s->keys[hint], text, n))
        return s->vals[hint];
    for (size_t i = 0; i < s->n; i++)
        if (kj_key_is(s->keys[i], text, n))
            return s->vals[i];
    return NULL;
}

static void diff_small(struct differ *f, const struct place *at, const struct small *from,
                       const struct small *to)
{
    for (size_t i = 0; i < from->n; i++) {
        const yyjson_val *key = from->keys[i], *now = small_find(to, key, i);
        const struct place here = { at, key->uni.str, kj_ylen(key) };
        if (now)
            diff_values(f, &here, from->vals[i], now);
        else
            write_op(f, &here, "remove", NULL);
    }
    for (size_t i = 0; i < to->n; i++) {
        const yyjson_val *key = to->keys[i];
        if (!small_find(from, key, i))
            write_op(f, &(struct place){ at, key->uni.str, kj_ylen(key) }, "add", to->vals[i]);
    }
}

static void diff_large(struct differ *f, const struct place *at, const yyjson_val *from,
                       const yyjson_val *to)
{
    CLEANUP(kj_index_fini) struct kj_index a = kj_index_of(from, FROM);
    CLEANUP(kj_index_fini) struct kj_index b = kj_index_of(to, TO);

    for (size_t i = 0; i < a.n; i++)
        if (!kj_index_find(&b, a.m[i].key, a.m[i].key_len))
            write_op(f, &(struct place){ at, a.m[i].key, a.m[i].key_len }, "remove", NULL);
    for (size_t i = 0; i < b.n; i++) {
        const struct kj_member *was = kj_index_find(&a, b.m[i].key, b.m[i].key_len);
        const struct place here = { at, b.m[i].key, b.m[i].key_len };
        if (was)
            diff_values(f, &here, was->val, b.m[i].val);
        else
            write_op(f, &here, "add", b.m[i].val);
    }
}

static void diff_objects(struct differ *f, const struct place *at, const yyjson_val *from,
                         const yyjson_val *to)
{
    struct small x, y;

    if (in_step(from, to))
        diff_in_step(f, at, from, to);
    else if (small_of(from, FROM, &x) && small_of(to, TO, &y))
        diff_small(f, at, &x, &y);
    else
        diff_large(f, at, from, to);
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct items {
    const yyjson_val **v;
    size_t n;
};

static struct items items_of(const yyjson_val *arr, bool mut)
{
    struct items it = { NULL, kj_ylen(arr) };

    if (it.n == 0)
        return it;
    it.v = xcalloc(it.n, sizeof *it.v);
    const yyjson_val *v = kj_first(arr, mut);
    for (size_t i = 0; i < it.n; i++, v = kj_sibling(v, mut))
        it.v[i] = v;
    return it;
}

static bool is_equal(const yyjson_val *from, const yyjson_val *to)
{
    struct differ f = { .out = NULL };

    diff_values(&f, &(struct place){ NULL, NULL, 0 }, from, to);
    return f.ops == 0;
}

static void diff_items(struct differ *f, const struct place *at, const struct items *a,
                       const struct items *b)
{
    size_t head = 0, tail = 0, least = MIN(a->n, b->n);

    /* Of lists of the same length each item is compared once, with the one in its place. */
    if (a->n != b->n) {
        while (head < least && is_equal(a->v[head], b->v[head]))
            head++;
        while (tail < least - head && is_equal(a->v[a->n - 1 - tail], b->v[b->n - 1 - tail]))
            tail++;
    }
    for (size_t i = head; i < least - tail; i++)
        diff_values(f, &(struct place){ at, NULL, i }, a->v[i], b->v[i]);
    for (size_t i = a->n - tail; i > least - tail; i--)
        write_op(f, &(struct place){ at, NULL, i - 1 }, "remove", NULL);
    for (size_t i = least - tail; i < b->n - tail; i++)
        write_op(f, &(struct place){ at, NULL, i }, "add", b->v[i]);
}

static void diff_lists(struct differ *f, const struct place *at, const yyjson_val *from,
                       const yyjson_val *to)
{
    struct items a = items_of(from, FROM), b = items_of(to, TO);

    diff_items(f, at, &a, &b);
    free(a.v);
    free(b.v);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Scalars of both forms read alike. Most are short texts that did not change. */
static bool same_scalar(const yyjson_val *a, const yyjson_val *b)
{
    if ((a->tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_STR && a->tag == b->tag)
        return a->uni.str == b->uni.str || kj_same_bytes(a->uni.str, b->uni.str, kj_ylen(a));
    return kj_equal(kj_from(a), kj_from(b));
}

static void diff_values(struct differ *f, const struct place *at, const yyjson_val *from,
                        const yyjson_val *to)
{
    bool nested = kj_is_ctn(from) && kj_is_ctn(to) && kj_is_obj(from) == kj_is_obj(to);

    if (nested && kj_is_obj(from))
        diff_objects(f, at, from, to);
    else if (nested)
        diff_lists(f, at, from, to);
    else if (kj_is_ctn(from) || kj_is_ctn(to) || !same_scalar(from, to))
        write_op(f, at, "replace", to);
}

size_t kj_diff_json(const struct kj_val *from, const struct kj_mval *to, struct strbuf *out)
{
    struct differ f = { .out = out };
    const struct place root = { NULL, NULL, 0 };

    strbuf_appendc(out, '[');
    diff_values(&f, &root, kj_y(from), (const yyjson_val *)kj_my(to));
    strbuf_appendc(out, ']');
    strbuf_fini(&f.path);
    return f.ops;
}
