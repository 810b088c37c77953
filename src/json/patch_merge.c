/* patch_merge.c - JSON merge patch (RFC 7386), as kube-apiserver applies it.
 *
 * One difference from the RFC, kept because clients see it: nulls inside a new value are dropped
 * also in objects that stand inside lists (the RFC drops them only down to the first list), unless
 * the value replaces an object by something that is none.
 */
#include "json/patch.h"

#include "json/objedit.h"

/* v without null members, at any depth; null items of lists stay. */
static void prune_nulls(struct kj_mdoc *d, struct kj_mval *v)
{
    struct kj_miter it = kj_miter(v);
    struct kj_mval *c;
    struct str key;

    if (kj_mtype(v) == KJ_ARR) {
        while (kj_mnext(&it, NULL, &c))
            prune_nulls(d, c);
        return;
    }
    if (kj_mtype(v) != KJ_OBJ)
        return;
    bool found = false;
    while (kj_mnext(&it, &key, &c)) {
        found |= kj_mtype(c) == KJ_NULL;
        prune_nulls(d, c);
    }
    if (!found)
        return;
    struct objedit e;
    objedit_open(&e, d, v);
    for (size_t i = 0; i < e.n; i++)
        if (kj_mtype(kj_mfrom(e.m[i].val)) == KJ_NULL)
            e.m[i].val = NULL;
    objedit_close(&e);
}

static void merge_object(struct kj_mdoc *d, struct kj_mval *doc, struct kj_mval *patch);

static struct kj_mval *merge_value(struct kj_mdoc *d, struct kj_mval *cur, struct kj_mval *patch)
{
    if (!cur || kj_mtype(cur) != KJ_OBJ) {
        prune_nulls(d, patch);
        return patch;
    }
    if (kj_mtype(patch) != KJ_OBJ)
        return patch;
    merge_object(d, cur, patch);
    return cur;
}

/* Both are ours to take apart. */
static void merge_object(struct kj_mdoc *d, struct kj_mval *doc, struct kj_mval *patch)
{
    struct objedit e, p;

    objedit_open(&e, d, doc);
    objedit_open(&p, d, patch);
    for (size_t i = 0; i < p.n; i++) {
        const char *key = p.m[i].key->uni.str;
        size_t n = kj_ylen((const yyjson_val *)p.m[i].key);
        struct kj_mval *v = kj_mfrom(p.m[i].val);
        p.m[i].val = NULL; /* it moves */
        if (kj_mtype(v) == KJ_NULL)
            objedit_del(&e, key, n);
        else
            objedit_set(&e, key, n, merge_value(d, objedit_get(&e, key, n), v));
    }
    objedit_close(&p);
    objedit_close(&e);
}

int kj_patch_merge(struct kj_mdoc *d, const struct kj_val *doc, const struct kj_val *patch,
                   struct kj_mval **ret, struct kerr *err)
{
    enum kj_type dt = kj_type(doc), pt = kj_type(patch);

    if (dt == KJ_NULL || dt == KJ_ABSENT)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "Invalid JSON Document");
    if (pt != KJ_OBJ && pt != KJ_ARR)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "Invalid JSON Patch");
    struct kj_mval *p = kj_mcopy(d, patch);
    if (dt == KJ_OBJ && pt == KJ_OBJ) {
        struct kj_mval *v = kj_mcopy(d, doc);
        merge_object(d, v, p);
        *ret = v;
    } else {
        prune_nulls(d, p);
        *ret = p;
    }
    return 0;
}

/* ---- the way back ---------------------------------------------------------------------------- */

static struct kj_mval *diff_objects(struct kj_mdoc *d, const struct kj_val *from,
                                    const struct kj_val *to)
{
    CLEANUP(kj_index_fini) struct kj_index a = kj_index_of(kj_y(from), false);
    CLEANUP(kj_index_fini) struct kj_index b = kj_index_of(kj_y(to), false);
    struct kj_mval *patch = kj_mobj(d);

    for (size_t i = 0; i < a.n; i++)
        if (!kj_index_find(&b, a.m[i].key, a.m[i].key_len))
            kj_madd(kj_ymdoc(d), kj_my(patch), a.m[i].key, a.m[i].key_len, kj_my(kj_mnull(d)));
    for (size_t i = 0; i < b.n; i++) {
        const struct kj_member *was = kj_index_find(&a, b.m[i].key, b.m[i].key_len);
        const struct kj_val *now = kj_from(b.m[i].val), *old = was ? kj_from(was->val) : NULL;
        struct kj_mval *v;
        if (old && kj_equal(old, now))
            continue;
        if (kj_type(old) == KJ_OBJ && kj_type(now) == KJ_OBJ)
            v = diff_objects(d, old, now);
        else
            v = kj_mcopy(d, now);
        kj_madd(kj_ymdoc(d), kj_my(patch), b.m[i].key, b.m[i].key_len, kj_my(v));
    }
    return patch;
}

struct kj_mval *kj_diff_merge(struct kj_mdoc *d, const struct kj_val *from, const struct kj_val *to)
{
    if (kj_type(from) == KJ_OBJ && kj_type(to) == KJ_OBJ)
        return diff_objects(d, from, to);
    return kj_equal(from, to) ? kj_mobj(d) : kj_mcopy(d, to);
}
