/* patch_json.c - JSON patch (RFC 6902), as kube-apiserver applies it.
 *
 * Its library reads the RFC loosely, and clients have come to depend on that: replace of a missing
 * member adds it, copy of a missing member gives null, test of a missing member against null holds,
 * an index may be negative (from the end) or have leading zeros, and numbers are equal only when
 * written alike. Limits as there: the number of operations, and the bytes that copies may add.
 */
#include "json/patch.h"

#include "json/kj_int.h"

#include <stdio.h>

enum { PATCH_MAX_OPS = 10000, PATCH_MAX_COPY_BYTES = 3 << 20 };

struct jpatch {
    struct kj_mdoc *d;
    struct kj_mval *root;
    size_t copied;
    struct kerr *err;
};

struct place {
    struct kj_mval *in; /* object or array */
    struct strbuf key;  /* the last token, unescaped */
    int depth;          /* of `in`; the root is 1 */
};

static void place_fini_p(struct place *p)
{
    strbuf_fini(&p->key);
}

static int invalid(struct jpatch *p, const char *fmt, ...) PRINTF(2, 3);
static int invalid(struct jpatch *p, const char *fmt, ...)
{
    char text[200];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return kerr_api(p->err, -EINVAL, KR_INVALID, "%s", text);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* The index of a token. Go's Atoi: a sign and zeros in front are fine. */
static bool token_index(const struct strbuf *key, int64_t *ret)
{
    const char *s = strbuf_str(key);
    size_t i = *s == '-' || *s == '+';
    int64_t v = 0;

    if (i == key->len)
        return false;
    for (; i < key->len; i++)
        if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, s[i] - '0', &v))
            return false;
    *ret = *s == '-' ? -v : v;
    return true;
}

/* Where the token points in a list of n; negative counts from the end. */
static bool resolve_index(const struct strbuf *key, size_t n, size_t *ret)
{
    int64_t i;

    if (!token_index(key, &i))
        return false;
    if (i < 0)
        i += (int64_t)n;
    if (i < 0 || i >= (int64_t)n)
        return false;
    *ret = (size_t)i;
    return true;
}

static void unescape(const char *s, size_t n, struct strbuf *out)
{
    strbuf_reset(out);
    for (size_t i = 0; i < n; i++) {
        bool escape = s[i] == '~' && i + 1 < n && (s[i + 1] == '0' || s[i + 1] == '1');
        strbuf_appendc(out, !escape ? s[i] : s[i + 1] == '1' ? '/' : '~');
        i += escape;
    }
}

/* The member or item; NULL when an object does not have it. False: not a place in this list. */
static bool place_get(const struct place *at, struct kj_mval **ret)
{
    size_t i;

    *ret = NULL;
    if (kj_mtype(at->in) == KJ_OBJ) {
        *ret = kj_mgetn(at->in, strbuf_str(&at->key), at->key.len);
        return true;
    }
    if (!resolve_index(&at->key, kj_mlen(at->in), &i))
        return false;
    *ret = kj_mat(at->in, i);
    return true;
}

/* Walks to the container that holds the last token. False when the way is missing. What stands
 * before the first slash is ignored, as there. */
static bool find_place(struct jpatch *p, const char *path, size_t n, struct place *ret)
{
    const char *end = path + n, *slash = memchr(path, '/', n);

    ret->in = p->root;
    ret->depth = 1;
    if (!slash)
        return false;
    for (;;) {
        const char *token = slash + 1;
        slash = memchr(token, '/', (size_t)(end - token));
        unescape(token, (size_t)((slash ? slash : end) - token), &ret->key);
        if (!slash)
            return true;
        struct kj_mval *next;
        if (!place_get(ret, &next) || (kj_mtype(next) != KJ_OBJ && kj_mtype(next) != KJ_ARR))
            return false;
        ret->in = next;
        ret->depth++;
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

/* v takes its place below `at`; it must not make the document deeper than documents may be. */
static int check_depth(struct jpatch *p, const struct place *at, struct kj_mval *v)
{
    if (at->depth < KJ_DEPTH_MAX && kj_mdepth_ok(kj_my(v), KJ_DEPTH_MAX - at->depth))
        return 0;
    return invalid(p, "the patch nests too deep: more than %d levels", KJ_DEPTH_MAX);
}

static int place_add(struct jpatch *p, const struct place *at, struct kj_mval *v, const char *path)
{
    size_t n = kj_mlen(at->in), i;

    if (kj_mtype(at->in) == KJ_OBJ) {
        kj_msetn(p->d, at->in, strbuf_str(&at->key), at->key.len, v);
        return 0;
    }
    if (streq(strbuf_str(&at->key), "-")) {
        kj_mpush(at->in, v);
        return 0;
    }
    if (!resolve_index(&at->key, n + 1, &i))
        return invalid(p, "error in add for path: '%s': Unable to access invalid index: %s", path,
                       strbuf_str(&at->key));
    kj_minsert(at->in, i, v);
    return 0;
}

static int place_remove(struct jpatch *p, const struct place *at, const char *op, const char *path)
{
    size_t i;

    if (kj_mtype(at->in) == KJ_OBJ) {
        if (kj_mdel(at->in, strbuf_str(&at->key), at->key.len))
            return 0;
        return invalid(p, "error in %s for path: '%s': Unable to remove nonexistent key: %s", op,
                       path, strbuf_str(&at->key));
    }
    if (!resolve_index(&at->key, kj_mlen(at->in), &i))
        return invalid(p, "error in %s for path: '%s': Unable to access invalid index: %s", op,
                       path, strbuf_str(&at->key));
    kj_mdel_at(at->in, i);
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

struct op {
    const char *kind, *path, *from;
    size_t path_len, from_len;
    const struct kj_val *value; /* NULL when absent */
};

static int op_add(struct jpatch *p, const struct op *op)
{
    __attribute__((cleanup(place_fini_p))) struct place at = { 0 };

    if (!find_place(p, op->path, op->path_len, &at))
        return invalid(p,
                       "add operation does not apply: doc is missing path: \"%s\": missing value",
                       op->path);
    struct kj_mval *v = kj_mcopy(p->d, op->value);
    int r = check_depth(p, &at, v);
    return r < 0 ? r : place_add(p, &at, v, op->path);
}

static int op_remove(struct jpatch *p, const struct op *op)
{
    __attribute__((cleanup(place_fini_p))) struct place at = { 0 };

    if (!find_place(p, op->path, op->path_len, &at))
        return invalid(
            p, "remove operation does not apply: doc is missing path: \"%s\": missing value",
            op->path);
    return place_remove(p, &at, "remove", op->path);
}

static int op_replace(struct jpatch *p, const struct op *op)
{
    __attribute__((cleanup(place_fini_p))) struct place at = { 0 };
    enum kj_type t = kj_type(op->value);
    struct kj_mval *old;
    size_t i;

    if (op->path_len == 0) {
        if (t != KJ_OBJ && t != KJ_ARR)
            return invalid(p, "replace operation value must be object or array");
        p->root = kj_mcopy(p->d, op->value);
        return 0;
    }
    if (!find_place(p, op->path, op->path_len, &at))
        return invalid(p,
                       "replace operation does not apply: doc is missing path: %s: missing value",
                       op->path);
    if (!place_get(&at, &old))
        return invalid(p, "replace operation does not apply: doc is missing key: %s: missing value",
                       op->path);
    struct kj_mval *v = kj_mcopy(p->d, op->value);
    int r = check_depth(p, &at, v);
    if (r < 0)
        return r;
    if (kj_mtype(at.in) == KJ_OBJ)
        kj_msetn(p->d, at.in, strbuf_str(&at.key), at.key.len, v);
    else if (resolve_index(&at.key, kj_mlen(at.in), &i))
        kj_mreplace_at(at.in, i, v);
    return 0;
}

static int op_move(struct jpatch *p, const struct op *op)
{
    __attribute__((cleanup(place_fini_p))) struct place from = { 0 }, to = { 0 };
    struct kj_mval *v;

    if (!find_place(p, op->from, op->from_len, &from))
        return invalid(p,
                       "move operation does not apply: doc is missing from path: %s: missing value",
                       op->from);
    if (!place_get(&from, &v))
        return invalid(p, "error in move for path: '%s': Unable to access invalid index: %s",
                       op->from, strbuf_str(&from.key));
    int r = place_remove(p, &from, "move", op->from);
    if (r < 0)
        return r;
    if (!find_place(p, op->path, op->path_len, &to))
        return invalid(
            p, "move operation does not apply: doc is missing destination path: %s: missing value",
            op->path);
    if (to.depth > from.depth)
        r = check_depth(p, &to, v);
    return r < 0 ? r : place_add(p, &to, v, op->path);
}

/* About what the value takes as JSON text; enough to bound what copies can build up. */
static size_t text_size(const struct kj_mval *v)
{
    struct kj_miter it = kj_miter(v);
    struct kj_mval *c;
    struct str key;
    size_t n = kj_mtype(v) == KJ_STR ? kj_mlen(v) + 2 : 2;

    while (kj_mnext(&it, &key, &c))
        n += key.n + 4 + text_size(c);
    return n;
}

static int op_copy(struct jpatch *p, const struct op *op)
{
    __attribute__((cleanup(place_fini_p))) struct place from = { 0 }, to = { 0 };
    struct kj_mval *v;

    if (!find_place(p, op->from, op->from_len, &from))
        return invalid(p,
                       "copy operation does not apply: doc is missing from path: %s: missing value",
                       op->from);
    if (!place_get(&from, &v))
        return invalid(p, "error in copy for from: '%s': Unable to access invalid index: %s",
                       op->from, strbuf_str(&from.key));
    if (!find_place(p, op->path, op->path_len, &to))
        return invalid(
            p, "copy operation does not apply: doc is missing destination path: %s: missing value",
            op->path);
    if (v) {
        p->copied += text_size(v);
        if (p->copied > PATCH_MAX_COPY_BYTES)
            return kerr_api(p->err, -E2BIG, KR_TOO_LARGE,
                            "Unable to complete the copy, the accumulated size increase of copy is "
                            "%zu, exceeding the limit %d",
                            p->copied, PATCH_MAX_COPY_BYTES);
        int r = check_depth(p, &to, v);
        if (r < 0)
            return r;
    }
    return place_add(p, &to, kj_mclone(p->d, v), op->path);
}

/* Alike as texts: 1 and 1.0 are not. */
static bool same_value(const struct kj_mval *a, const struct kj_mval *b)
{
    struct kj_miter ia = kj_miter(a), ib = kj_miter(b);
    struct kj_mval *x, *y;
    struct str key;

    if (kj_mtype(a) != kj_mtype(b))
        return false;
    switch (kj_mtype(a)) {
    case KJ_NUM: {
        char ta[64], tb[64];
        size_t na = kj_num_text((const struct kj_val *)a, ta, sizeof ta);
        size_t nb = kj_num_text((const struct kj_val *)b, tb, sizeof tb);
        bool real_a = (kj_my(a)->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_REAL;
        bool real_b = (kj_my(b)->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_REAL;
        if (na >= sizeof ta || nb >= sizeof tb)
            return kj_mequal(a, b);
        return real_a == real_b && na == nb && memcmp(ta, tb, na) == 0;
    }
    case KJ_ARR:
        if (kj_mlen(a) != kj_mlen(b))
            return false;
        while (kj_mnext(&ia, NULL, &x) && kj_mnext(&ib, NULL, &y))
            if (!same_value(x, y))
                return false;
        return true;
    case KJ_OBJ: {
        if (kj_mlen(a) != kj_mlen(b))
            return false;
        CLEANUP(kj_index_fini) struct kj_index ix = kj_index_of(kj_my_scalar(b), true);
        while (kj_mnext(&ia, &key, &x)) {
            const struct kj_member *m = kj_index_find(&ix, key.p, key.n);
            if (!m || !same_value(x, (const struct kj_mval *)m->val))
                return false;
        }
        return true;
    }
    default: return kj_mequal(a, b);
    }
}

static int op_test(struct jpatch *p, const struct op *op)
{
    __attribute__((cleanup(place_fini_p))) struct place at = { 0 };
    struct kj_mval *v = p->root;

    if (op->path_len > 0) {
        if (!find_place(p, op->path, op->path_len, &at))
            return invalid(p, "test operation does not apply: is missing path: %s: missing value",
                           op->path);
        if (!place_get(&at, &v))
            return invalid(p, "error in test for path: '%s': Unable to access invalid index: %s",
                           op->path, strbuf_str(&at.key));
    }
    struct kj_mval *want = kj_mcopy(p->d, op->value); /* null when there is none */
    bool absent = !v || kj_mtype(v) == KJ_NULL;
    if (absent ? kj_mtype(want) == KJ_NULL : same_value(v, want))
        return 0;
    return invalid(p, "testing value %s failed: test failed", op->path);
}

/* ---- the patch ------------------------------------------------------------------------------- */

static int text_of(struct jpatch *p, const struct kj_val *o, const char *kind, const char *name,
                   const char **ret, size_t *ret_len)
{
    const struct kj_val *v = kj_get(o, name);

    *ret = kj_str(v);
    *ret_len = kj_len(v);
    if (*ret)
        return 0;
    return invalid(p, "%s operation failed to decode %s: missing value", kind, name);
}

static int apply_op(struct jpatch *p, const struct kj_val *o)
{
    static const struct {
        const char *kind;
        bool has_from;
        int (*apply)(struct jpatch *p, const struct op *op);
    } ops[] = { { "add", false, op_add },         { "remove", false, op_remove },
                { "replace", false, op_replace }, { "move", true, op_move },
                { "copy", true, op_copy },        { "test", false, op_test } };
    struct op op = { .kind = kj_str_or(kj_get(o, "op"), "unknown"), .value = kj_get(o, "value") };

    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (!streq(op.kind, ops[i].kind))
            continue;
        int r = text_of(p, o, op.kind, "path", &op.path, &op.path_len);
        if (r == 0 && ops[i].has_from)
            r = text_of(p, o, op.kind, "from", &op.from, &op.from_len);
        return r < 0 ? r : ops[i].apply(p, &op);
    }
    return invalid(p, "Unexpected kind: %.60s", op.kind);
}

int kj_patch_json(struct kj_mdoc *d, const struct kj_val *doc, const struct kj_val *patch,
                  struct kj_mval **ret, struct kerr *err)
{
    struct jpatch p = { .d = d, .err = err };
    struct kj_iter it = kj_iter(patch);
    const struct kj_val *o;

    if (kj_type(doc) != KJ_OBJ && kj_type(doc) != KJ_ARR)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "the document is no object and no array");
    if (kj_type(patch) != KJ_ARR && kj_type(patch) != KJ_NULL) /* null: no operations */
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "error decoding patch: a JSON patch is an array of operations");
    if (kj_len(patch) > PATCH_MAX_OPS)
        return kerr_api(err, -E2BIG, KR_TOO_LARGE,
                        "The allowed maximum operations in a JSON patch is %d, got %zu",
                        PATCH_MAX_OPS, kj_len(patch));
    struct kj_iter check = it;
    while (kj_next(&check, NULL, &o))
        if (kj_type(o) != KJ_OBJ && kj_type(o) != KJ_NULL)
            return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                            "error decoding patch: an operation is no object");
    p.root = kj_mcopy(d, doc);
    while (kj_next(&it, NULL, &o)) {
        int r = apply_op(&p, o);
        if (r < 0)
            return r;
    }
    *ret = p.root;
    return 0;
}
