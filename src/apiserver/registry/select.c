/* select.c - label and field selectors on stored documents; a document is parsed only when needed.
 */
#include "api/selector/selector.h"

#include "apiserver/registry/internal.h"
#include "json/schema.h"

struct selection {
    const struct resource *res;
    struct labelsel *labels; /* NULL: any */
    struct fieldsel *fields;
    bool by_key; /* no more than metadata.name and metadata.namespace is asked for */
    struct arena *scratch;
    const struct store_key *key; /* during a match */
};

static const char *object_field(const struct selection *s, const struct kj_val *obj,
                                const char *path)
{
    const struct res_strategy *st = s->res->strategy;
    if (streq(path, "metadata.name"))
        return s->key ? s->key->name : "";
    if (streq(path, "metadata.namespace"))
        return s->key ? s->key->ns : "";
    if (s->res->crd)
        return crd_field(s->res->crd, obj, path, s->scratch);
    return st && st->field ? st->field(obj, path, s->scratch) : NULL;
}

struct field_ctx {
    const struct selection *s;
    const struct kj_val *obj;
};

static const char *get_field(const void *ctx, const char *path)
{
    const struct field_ctx *f = ctx;
    return object_field(f->s, f->obj, path);
}

static int check_fields(struct selection *s, struct kerr *err)
{
    const struct res_strategy *st = s->res->strategy;
    const char *f;

    for (size_t i = 0; (f = fieldsel_field(s->fields, i)); i++) {
        if (streq(f, "metadata.name") || streq(f, "metadata.namespace"))
            continue;
        if (!object_field(s, NULL, f)) {
            if (s->res->crd || (st && st->field))
                return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "field label not supported: %s", f);
            return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                            "\"%s\" is not a known field selector: only \"metadata.name\", "
                            "\"metadata.namespace\"",
                            f);
        }
        s->by_key = false;
    }
    return 0;
}

int selection_new(struct api_call *c, struct selection **ret, struct kerr *err)
{
    struct selection *s;
    int e;

    *ret = NULL;
    /* A term without field and value selects everything. */
    if (c->field_selector && (streq(c->field_selector, "=") || streq(c->field_selector, "==")))
        c->field_selector = NULL;
    if (!c->label_selector && !c->field_selector)
        return 0;
    s = arena_new0(c->arena, struct selection);
    s->res = c->res;
    s->by_key = true;
    s->scratch = c->arena;
    if (c->label_selector) {
        e = labelsel_parse(c->label_selector, strlen(c->label_selector), c->arena, &s->labels, err);
        if (e < 0) {
            err->reason = KR_BAD_REQUEST;
            return e;
        }
        s->by_key = false;
    }
    if (c->field_selector) {
        e = fieldsel_parse(c->field_selector, strlen(c->field_selector), c->arena, &s->fields, err);
        if (e == 0)
            e = check_fields(s, err);
        if (e < 0) {
            err->reason = KR_BAD_REQUEST;
            return e;
        }
    }
    *ret = s;
    return 0;
}

static int by_label_key(const void *a, const void *b)
{
    const struct kstrpair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* Keys of a parsed document do not end with NUL: copy what is compared. */
static kstrmap labels_of(const struct kj_val *obj, struct arena *a)
{
    const struct kj_val *labels = kj_path(obj, "metadata.labels"), *v;
    size_t n = kj_type(labels) == KJ_OBJ ? kj_len(labels) : 0;
    struct kstrpair *pairs = arena_newn0(a, n + 1, struct kstrpair);
    struct kj_iter it = kj_iter(labels);
    struct str key;
    kstrmap m = { 0 };

    for (n = 0; kj_next(&it, &key, &v); n++)
        pairs[n] = (struct kstrpair){ arena_strndup(a, key.p, key.n), kj_str_or(v, "") };
    qsort(pairs, n, sizeof *pairs, by_label_key);
    m.items = pairs;
    m.n = (uint32_t)n;
    return m;
}

static bool match_labels(const struct selection *s, const struct kj_val *obj)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const kstrmap labels = labels_of(obj, a);

    return labelsel_matches(s->labels, &labels);
}

bool selector_matches(const struct kj_val *selector, const struct kj_val *obj)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const kstrmap labels = labels_of(obj, a);
    struct label_selector s = { 0 };
    struct labelsel *compiled;

    return kj_decode(&label_selector_schema, selector, 0, a, &s, NULL) == 0 &&
           labelsel_from(&s, a, &compiled, NULL) == 0 && labelsel_matches(compiled, &labels);
}

bool selection_match(struct selection *sel, const struct store_key *k, const char *doc, size_t n,
                     struct kj_doc **parsed)
{
    struct field_ctx ctx = { sel, NULL };
    bool yes = true;

    if (!sel)
        return true;
    if (!sel->by_key && !*parsed && object_load(sel->res, doc, n, parsed, NULL) < 0)
        return false;
    ctx.obj = *parsed ? kj_root(*parsed) : NULL;
    sel->key = k;
    /* Field getters may need room for a made-up value: it must not grow with the watch's age. */
    sel->scratch = arena_new_sized(256);
    if (sel->fields)
        yes = fieldsel_matches(sel->fields, get_field, &ctx);
    if (yes && sel->labels)
        yes = match_labels(sel, ctx.obj);
    sel->scratch = arena_free(sel->scratch);
    sel->key = NULL;
    return yes;
}
