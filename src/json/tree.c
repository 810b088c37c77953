/* tree.c - on whole trees of either form: equality, sorted members, depth. */
#include "json/kj_int.h"

/* ---- sorted members -------------------------------------------------------------------------- */

static int key_cmp(const char *a, size_t an, const char *b, size_t bn)
{
    int c = memcmp(a, b, MIN(an, bn));
    return c ? c : (an > bn) - (an < bn);
}

static int member_cmp(const void *pa, const void *pb)
{
    const struct kj_member *a = pa, *b = pb;
    int c = key_cmp(a->key, a->key_len, b->key, b->key_len);
    return c ? c : (a->pos > b->pos) - (a->pos < b->pos);
}

struct kj_index kj_index_of(const yyjson_val *obj, bool mut)
{
    struct kj_index ix = { NULL, 0 };
    size_t n = kj_ylen(obj), kept = 0;
    bool sorted = true;

    if (n == 0)
        return ix;
    ix.m = xnewn0(n, struct kj_member);
    const yyjson_val *k = kj_first(obj, mut);
    for (size_t i = 0; i < n; i++) {
        const yyjson_val *v = kj_val_of_key(k, mut);
        ix.m[i] = (struct kj_member){ k->uni.str, kj_ylen(k), v, i };
        if (i > 0 && sorted)
            sorted = member_cmp(&ix.m[i - 1], &ix.m[i]) < 0;
        k = kj_sibling(v, mut);
    }
    if (!sorted)
        qsort(ix.m, n, sizeof ix.m[0], member_cmp);
    for (size_t i = 0; i < n; i++) {
        const struct kj_member *m = &ix.m[i];
        if (i + 1 < n && key_cmp(m->key, m->key_len, m[1].key, m[1].key_len) == 0)
            continue; /* a later duplicate wins */
        ix.m[kept++] = *m;
    }
    ix.n = kept;
    return ix;
}

const struct kj_member *kj_index_find(const struct kj_index *ix, const char *key, size_t n)
{
    size_t lo = 0, hi = ix->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = key_cmp(key, n, ix->m[mid].key, ix->m[mid].key_len);
        if (c == 0)
            return &ix->m[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

void kj_index_fini(struct kj_index *ix)
{
    free(ix->m);
    *ix = (struct kj_index){ NULL, 0 };
}

/* ---- equality -------------------------------------------------------------------------------- */

static bool tree_equal(const yyjson_val *a, const yyjson_val *b, bool mut);

/* A document and one made of it (kj_mborrow(), kj_view()) share most of their texts. */
static bool same_text(const yyjson_val *a, const yyjson_val *b)
{
    const size_t n = kj_ylen(a);
    return n == kj_ylen(b) &&
           (a->uni.str == b->uni.str || kj_same_bytes(a->uni.str, b->uni.str, n));
}

static bool arr_equal(const yyjson_val *a, const yyjson_val *b, bool mut)
{
    size_t n = kj_ylen(a);

    if (n != kj_ylen(b))
        return false;
    if (n == 0)
        return true;
    a = kj_first(a, mut);
    b = kj_first(b, mut);
    for (size_t i = 0; i < n; i++, a = kj_sibling(a, mut), b = kj_sibling(b, mut))
        if (!tree_equal(a, b, mut))
            return false;
    return true;
}

/* Do both have the same keys in the same order? The usual case, and no memory needed. */
static bool same_keys(const yyjson_val *a, const yyjson_val *b, bool mut)
{
    size_t n = kj_ylen(a);

    if (n != kj_ylen(b))
        return false;
    if (n == 0)
        return true;
    a = kj_first(a, mut);
    b = kj_first(b, mut);
    for (size_t i = 0; i < n; i++) {
        if (!same_text(a, b))
            return false;
        a = kj_sibling(kj_val_of_key(a, mut), mut);
        b = kj_sibling(kj_val_of_key(b, mut), mut);
    }
    return true;
}

/* Is there another member with this key among the `left` ones that follow? */
static bool key_comes_again(const yyjson_val *key, size_t left, bool mut)
{
    const yyjson_val *k = key;
    while (left-- > 0) {
        k = kj_sibling(kj_val_of_key(k, mut), mut);
        if (kj_key_is(k, key->uni.str, kj_ylen(key)))
            return true;
    }
    return false;
}

static bool obj_equal(const yyjson_val *a, const yyjson_val *b, bool mut)
{
    if (same_keys(a, b, mut)) {
        size_t n = kj_ylen(a);
        const yyjson_val *x = n ? kj_first(a, mut) : NULL, *y = n ? kj_first(b, mut) : NULL;
        for (size_t i = 0; i < n; i++) {
            const yyjson_val *xv = kj_val_of_key(x, mut), *yv = kj_val_of_key(y, mut);
            if (!tree_equal(xv, yv, mut) && !key_comes_again(x, n - i - 1, mut))
                return false;
            x = kj_sibling(xv, mut);
            y = kj_sibling(yv, mut);
        }
        return true;
    }
    CLEANUP(kj_index_fini) struct kj_index ia = kj_index_of(a, mut);
    CLEANUP(kj_index_fini) struct kj_index ib = kj_index_of(b, mut);
    if (ia.n != ib.n)
        return false;
    for (size_t i = 0; i < ia.n; i++)
        if (key_cmp(ia.m[i].key, ia.m[i].key_len, ib.m[i].key, ib.m[i].key_len) != 0 ||
            !tree_equal(ia.m[i].val, ib.m[i].val, mut))
            return false;
    return true;
}

static bool is_number(const yyjson_val *v)
{
    unsigned t = v->tag & YYJSON_TYPE_MASK;
    return t == YYJSON_TYPE_NUM || t == YYJSON_TYPE_RAW;
}

static bool tree_equal(const yyjson_val *a, const yyjson_val *b, bool mut)
{
    if (is_number(a) || is_number(b))
        return is_number(a) && is_number(b) && kj_number_equal(a, b);
    if ((a->tag & YYJSON_TYPE_MASK) != (b->tag & YYJSON_TYPE_MASK))
        return false;
    switch (a->tag & YYJSON_TYPE_MASK) {
    case YYJSON_TYPE_BOOL: return (a->tag & YYJSON_SUBTYPE_MASK) == (b->tag & YYJSON_SUBTYPE_MASK);
    case YYJSON_TYPE_STR: return same_text(a, b);
    case YYJSON_TYPE_ARR: return arr_equal(a, b, mut);
    case YYJSON_TYPE_OBJ: return obj_equal(a, b, mut);
    default: return true; /* null */
    }
}

bool kj_equal(const struct kj_val *a, const struct kj_val *b)
{
    if (!a || !b)
        return a == b;
    return tree_equal(kj_y(a), kj_y(b), false);
}

bool kj_mequal(const struct kj_mval *a, const struct kj_mval *b)
{
    if (!a || !b)
        return a == b;
    return tree_equal(kj_my_scalar(a), kj_my_scalar(b), true);
}

bool kj_mdepth_ok(const yyjson_mut_val *v, int max)
{
    const yyjson_val *ctn = (const yyjson_val *)v;

    if (!kj_is_ctn(ctn))
        return true;
    if (max == 0)
        return false;
    size_t n = kj_ylen(ctn);
    const yyjson_val *c = n ? kj_first(ctn, true) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (kj_is_obj(ctn))
            c = kj_val_of_key(c, true);
        if (!kj_mdepth_ok((const yyjson_mut_val *)c, max - 1))
            return false;
        c = kj_sibling(c, true);
    }
    return true;
}
