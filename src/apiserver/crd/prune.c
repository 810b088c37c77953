/* prune.c - fields that a structural schema does not know: told, and dropped. */
#include "apiserver/crd/internal.h"
#include "apiserver/schema/types.h"
#include "base/map.h"

enum { FEW_MEMBERS = 16, PROBLEMS_MAX = 100 };

static bool is_resource_field(struct str key)
{
    return str_eqz(key, "apiVersion") || str_eqz(key, "kind") || str_eqz(key, "metadata");
}

/* ---- telling ------------------------------------------------------------------------------------
 */

struct finding {
    struct strbuf path;
    struct vec_of(char *) unknown, twice;
    struct kerr *err;
    int code;
};

static void tell(struct finding *f, bool twice)
{
    if (f->unknown.n + f->twice.n >= PROBLEMS_MAX)
        return;
    char *text =
        xasprintf("%s field \"%s\"", twice ? "duplicate" : "unknown", strbuf_str(&f->path));
    if (twice)
        vec_push(&f->twice, text);
    else
        vec_push(&f->unknown, text);
}

static size_t path_push(struct strbuf *path, struct str key)
{
    size_t before = path->len;
    if (before)
        strbuf_appendc(path, '.');
    strbuf_appendn(path, key.p, key.n);
    return before;
}

static void find_twice(struct finding *f, const struct kj_val *obj)
{
    struct kj_iter it = kj_iter(obj), before;
    const struct kj_val *v;
    struct str key, other;
    CLEANUP(map_fini) struct map seen = { 0 };
    bool many = kj_len(obj) > FEW_MEMBERS;

    for (size_t i = 0; kj_next(&it, &key, &v); i++) {
        bool twice = false;
        if (many) {
            twice = map_put(&seen, key.p, key.n, (void *)(uintptr_t)v) != NULL;
        } else {
            before = kj_iter(obj);
            for (size_t j = 0; j < i && !twice && kj_next(&before, &other, &v); j++)
                twice = str_eq(key, other);
        }
        if (twice) {
            size_t at = path_push(&f->path, key);
            tell(f, true);
            strbuf_truncate(&f->path, at);
        }
    }
}

/* unknown field "foo" of a metadata becomes unknown field "spec.template.metadata.foo". */
static void on_meta_problem(void *arg, const char *text)
{
    struct finding *f = arg;
    const char *quote = strchr(text, '"');
    size_t n = quote ? strcspn(quote + 1, "\"") : 0;
    size_t at = path_push(&f->path, (struct str){ quote ? quote + 1 : "", n });
    tell(f, !str_starts(text, "unknown"));
    strbuf_truncate(&f->path, at);
}

static void check_meta(struct finding *f, const struct kj_val *meta)
{
    struct kerr why = { 0 };

    if (kj_type(meta) != KJ_OBJ || f->code < 0)
        return;
    if (types_check(&meta_object_meta, meta, on_meta_problem, f, &why) == 0)
        return;
    CLEANUP(strbuf_fini) struct strbuf value = STRBUF_INIT;
    kj_write(meta, 0, &value);
    f->code = kerr_api(f->err, -EINVAL, KR_BAD_REQUEST, "%.60s: Invalid value: %.80s: %s",
                       strbuf_str(&f->path), strbuf_str(&value), why.text);
}

/* The schema of what is below additionalProperties: true (or false, which validation refuses):
 * values of any type, and objects whose members nobody specifies. */
static const struct snode bare = { .type = S_ANY };

/* What holds for a member. NULL: nothing, it is kept as it is. */
static const struct snode *below(const struct snode *n, struct str key, bool *known)
{
    const struct snode *m = snode_member(n, key.p, key.n, known);

    *known = *known || n->additional_none;
    return m || !(n->additional_any || n->additional_none) ? m : &bare;
}

/* And for the items of a list. */
static const struct snode *items_of(const struct snode *n)
{
    return n == &bare ? n : n->items;
}

/* n NULL: below something that is kept as it is. */
static void check(struct finding *f, const struct snode *n, const struct kj_val *v, bool root)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    struct str key;
    bool resource = root || (n && n->embedded);

    if (kj_type(v) == KJ_ARR) {
        size_t at = f->path.len;
        for (size_t i = 0; kj_next(&it, &key, &m); i++) {
            strbuf_appendf(&f->path, "[%zu]", i);
            check(f, n ? items_of(n) : NULL, m, false);
            strbuf_truncate(&f->path, at);
        }
        return;
    }
    if (kj_type(v) != KJ_OBJ)
        return;
    find_twice(f, v);
    while (kj_next(&it, &key, &m)) {
        bool known = true;
        const struct snode *sub = n ? below(n, key, &known) : NULL;
        size_t at = path_push(&f->path, key);
        if (resource && is_resource_field(key)) {
            if (str_eqz(key, "metadata"))
                check_meta(f, m);
        } else if (!known && !n->preserve) {
            tell(f, false);
        } else {
            check(f, sub, m, false);
        }
        strbuf_truncate(&f->path, at);
    }
}

static int by_text(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

int crd_check(const struct crd_schema *s, const struct kj_val *obj, crd_problem_fn fn, void *arg,
              struct kerr *err)
{
    struct finding f = { .err = err };

    check(&f, s->root, obj, true);
    vec_foreach(&f.twice, i) {
        if (f.code == 0)
            fn(arg, f.twice.items[i]);
        free(f.twice.items[i]);
    }
    if (f.unknown.n)
        qsort(f.unknown.items, f.unknown.n, sizeof f.unknown.items[0], by_text);
    vec_foreach(&f.unknown, i) {
        if (f.code == 0)
            fn(arg, f.unknown.items[i]);
        free(f.unknown.items[i]);
    }
    vec_fini(&f.twice);
    vec_fini(&f.unknown);
    strbuf_fini(&f.path);
    return f.code;
}

bool has_unknown(const struct snode *n, const struct kj_val *v)
{
    struct finding f = { 0 };

    check(&f, n, v, false);
    bool any = f.unknown.n > 0;
    vec_foreach(&f.unknown, i)
        free(f.unknown.items[i]);
    vec_foreach(&f.twice, i)
        free(f.twice.items[i]);
    vec_fini(&f.unknown);
    vec_fini(&f.twice);
    strbuf_fini(&f.path);
    return any;
}

/* ---- dropping -----------------------------------------------------------------------------------
 */

static void prune(const struct snode *n, struct kj_mdoc *d, struct kj_mval *v, bool root)
{
    struct vec_of(struct str) gone = { 0 };
    struct kj_miter it = kj_miter(v);
    struct kj_mval *m;
    struct str key;
    bool resource = root || n->embedded;

    if (kj_mtype(v) == KJ_ARR) {
        while (items_of(n) && kj_mnext(&it, &key, &m))
            prune(items_of(n), d, m, false);
        return;
    }
    if (kj_mtype(v) != KJ_OBJ)
        return;
    while (kj_mnext(&it, &key, &m)) {
        bool known;
        const struct snode *sub = below(n, key, &known);
        if (resource && is_resource_field(key)) {
            if (str_eqz(key, "metadata"))
                types_prune(&meta_object_meta, d, m);
        } else if (!known && !n->preserve) {
            vec_push(&gone, key);
        } else if (sub) {
            prune(sub, d, m, false);
        }
    }
    vec_foreach(&gone, i)
        kj_mdel(v, gone.items[i].p, gone.items[i].n);
    vec_fini(&gone);
}

void crd_prune(const struct crd_schema *s, struct kj_mdoc *d, struct kj_mval *obj)
{
    prune(s->root, d, obj, true);
}
