/* schema.c - a structural schema compiled into nodes, once per served version. */
#include "apiserver/crd/internal.h"
#include "cel/cel.h"

static const struct snode *compile(struct crd_schema *s, const struct kj_val *v);

static enum s_type type_of(const char *name)
{
    static const char *const names[] = {
        [S_OBJECT] = "object",   [S_ARRAY] = "array",   [S_STRING] = "string",
        [S_INTEGER] = "integer", [S_NUMBER] = "number", [S_BOOLEAN] = "boolean"
    };
    for (size_t i = S_OBJECT; i < ARRAY_LEN(names); i++)
        if (streq(names[i], name))
            return (enum s_type)i;
    return S_ANY;
}

static const struct kj_val *value_or_null(const struct kj_val *v, const char *key,
                                          enum kj_type type)
{
    const struct kj_val *m = kj_get(v, key);
    return kj_type(m) == type ? m : NULL;
}

static struct regex *pattern_of(struct crd_schema *s, const char *go)
{
    struct regex *r = NULL;

    /* A quantity's pattern stands in a schema dozens of times. */
    vec_foreach(&s->regexes, i)
        if (regex_is(s->regexes.items[i], go))
            return s->regexes.items[i];
    if (regex_new(go, &r, NULL) < 0)
        return NULL;
    vec_push(&s->regexes, r);
    return r;
}

static struct snodes compile_list(struct crd_schema *s, const struct kj_val *list)
{
    struct snodes out = { NULL, kj_len(list) };
    if (kj_type(list) != KJ_ARR || !out.n)
        return (struct snodes){ 0 };
    const struct snode **nodes = arena_newn0(s->arena, out.n, const struct snode *);
    for (size_t i = 0; i < out.n; i++)
        nodes[i] = compile(s, kj_at(list, i));
    out.list = nodes;
    return out;
}

static bool has_rules(const struct kj_val *v)
{
    static const char *const keys[] = {
        "minimum",  "maximum",       "multipleOf",    "minLength",   "maxLength", "minItems",
        "maxItems", "minProperties", "maxProperties", "uniqueItems", "enum",      "required",
        "pattern",  "format",        "anyOf",         "oneOf",       "allOf",     "not"
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (kj_get(v, keys[i]))
            return true;
    return false;
}

static const struct srules *compile_rules(struct crd_schema *s, const struct kj_val *v)
{
    if (!has_rules(v))
        return NULL;
    struct srules *r = arena_new0(s->arena, struct srules);
    r->min = value_or_null(v, "minimum", KJ_NUM);
    r->max = value_or_null(v, "maximum", KJ_NUM);
    r->multiple_of = value_or_null(v, "multipleOf", KJ_NUM);
    r->excl_min = kj_bool(kj_get(v, "exclusiveMinimum"), false);
    r->excl_max = kj_bool(kj_get(v, "exclusiveMaximum"), false);
    r->unique = kj_bool(kj_get(v, "uniqueItems"), false);
    r->min_len = kj_i64_or(kj_get(v, "minLength"), -1);
    r->max_len = kj_i64_or(kj_get(v, "maxLength"), -1);
    r->min_items = kj_i64_or(kj_get(v, "minItems"), -1);
    r->max_items = kj_i64_or(kj_get(v, "maxItems"), -1);
    r->min_props = kj_i64_or(kj_get(v, "minProperties"), -1);
    r->max_props = kj_i64_or(kj_get(v, "maxProperties"), -1);
    r->values = value_or_null(v, "enum", KJ_ARR);
    r->required = value_or_null(v, "required", KJ_ARR);
    r->format = kj_str(kj_get(v, "format"));
    r->pattern = kj_str(kj_get(v, "pattern"));
    if (r->pattern)
        r->re = pattern_of(s, r->pattern);
    r->any_of = compile_list(s, kj_get(v, "anyOf"));
    r->one_of = compile_list(s, kj_get(v, "oneOf"));
    r->all_of = compile_list(s, kj_get(v, "allOf"));
    if (kj_type(kj_get(v, "not")) == KJ_OBJ)
        r->not_ = compile(s, kj_get(v, "not"));
    return r;
}

static int by_name(const void *a, const void *b)
{
    const struct sprop *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void compile_props(struct crd_schema *s, const struct kj_val *v, struct snode *n)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *m;
    struct str key;
    struct sprop *props = arena_newn0(s->arena, kj_len(v) ? kj_len(v) : 1, struct sprop);

    while (kj_next(&it, &key, &m)) {
        props[n->nprops].name = key.p; /* NUL-terminated in the document */
        props[n->nprops].node = compile(s, m);
        n->cel_below |= props[n->nprops].node->cel_below;
        n->defaults_below |= props[n->nprops++].node->defaults_below;
    }
    qsort(props, n->nprops, sizeof props[0], by_name);
    n->props = props;
}

static void compile_children(struct crd_schema *s, const struct kj_val *v, struct snode *n)
{
    const struct kj_val *additional = kj_get(v, "additionalProperties");

    if (kj_type(kj_get(v, "properties")) == KJ_OBJ)
        compile_props(s, kj_get(v, "properties"), n);
    if (kj_type(kj_get(v, "items")) == KJ_OBJ)
        n->items = compile(s, kj_get(v, "items"));
    if (kj_type(additional) == KJ_OBJ)
        n->additional = compile(s, additional);
    n->additional_any = kj_bool(additional, false);
    n->additional_none = !kj_bool(additional, true);
    n->defaults_below |= n->def || (n->items && n->items->defaults_below) ||
                         (n->additional && n->additional->defaults_below);
    n->cel_below |=
        (n->items && n->items->cel_below) || (n->additional && n->additional->cel_below);
}

/* anyOf: [{type: integer}, {type: string}], as every int-or-string has it. */
static bool is_plain_any_of(const struct srules *r)
{
    const struct snode *const *l = r->any_of.list;
    return r->any_of.n == 2 && !r->one_of.n && !r->all_of.n && !r->not_ && !l[0]->rules &&
           !l[1]->rules && l[0]->type == S_INTEGER && l[1]->type == S_STRING;
}

static const struct snode *compile_node(struct crd_schema *s, const struct kj_val *v, bool root)
{
    struct snode *n = arena_new0(s->arena, struct snode);
    const char *list = kj_str_or(kj_get(v, "x-kubernetes-list-type"), "");

    n->type = (uint8_t)type_of(kj_str_or(kj_get(v, "type"), ""));
    n->list = streq(list, "set") ? S_LIST_SET : streq(list, "map") ? S_LIST_MAP : S_ATOMIC;
    n->nullable = kj_bool(kj_get(v, "nullable"), false);
    n->preserve = kj_bool(kj_get(v, "x-kubernetes-preserve-unknown-fields"), false);
    n->embedded = kj_bool(kj_get(v, "x-kubernetes-embedded-resource"), false);
    n->int_or_string = kj_bool(kj_get(v, "x-kubernetes-int-or-string"), false);
    n->atomic_map = streq(kj_str_or(kj_get(v, "x-kubernetes-map-type"), ""), "atomic");
    n->list_keys = value_or_null(v, "x-kubernetes-list-map-keys", KJ_ARR);
    n->def = kj_get(v, "default");
    n->rules = compile_rules(s, v);
    n->plain_any_of = n->int_or_string && n->rules && is_plain_any_of(n->rules);
    compile_children(s, v, n);
    rules_compile(s, v, n, root);
    n->cel_below |= n->ncel > 0;
    return n;
}

static const struct snode *compile(struct crd_schema *s, const struct kj_val *v)
{
    return compile_node(s, v, false);
}

void schema_compile(struct crd_schema *s, const struct kj_val *open_api, bool root)
{
    s->root = compile_node(s, open_api, root);
}

void schema_fini(struct crd_schema *s)
{
    vec_foreach(&s->regexes, i)
        regex_free(s->regexes.items[i]);
    vec_fini(&s->regexes);
    vec_foreach(&s->exprs, i)
        cel_expr_free(s->exprs.items[i]);
    vec_fini(&s->exprs);
}

static const struct snode *snode_prop(const struct snode *n, const char *name, size_t len)
{
    size_t lo = 0, hi = n ? n->nprops : 0;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const char *have = n->props[mid].name;
        size_t n_have = strlen(have);
        int c = memcmp(have, name, MIN(n_have, len)); /* keys may hold any bytes */
        if (c == 0)
            c = n_have < len ? -1 : n_have > len;
        if (c == 0)
            return n->props[mid].node;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const struct snode *snode_member(const struct snode *n, const char *key, size_t len, bool *known)
{
    const struct snode *m = snode_prop(n, key, len);

    *known = m || n->additional || n->additional_any;
    return m ? m : n->additional;
}
