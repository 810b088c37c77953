/* policy_types.c - expressions of a policy checked against the types of the kinds that it matches:
 * status.typeChecking, which kube-controller-manager writes elsewhere. It changes no verdict. */
#include <stdio.h>

#include "apiserver/admission/policy_int.h"
#include "apiserver/crd/internal.h"
#include "apiserver/registry/resources.h"
#include "apiserver/schema/tables.h"
#include "apiserver/store/store.h"
#include "base/klog.h"
#include "base/map.h"
#include "cel/schema.h"

enum {
    KINDS_MAX = 10, /* of a rule that are looked at */
    /* All of it happens in one turn of the server, which others wait for. */
    CHECKS_MAX = 2000,     /* expressions, those of variables included */
    WARNINGS_MAX = 1 << 18 /* bytes: no further one is looked for then */
};

/* ---- types of kinds -------------------------------------------------------------------------- */

struct types {
    struct arena *a;
    struct map made; /* cel_type by the name of the t_type */
};

static const struct cel_type *type_of(struct types *t, const struct t_type *type);

static const struct cel_type *field_type(struct types *t, const struct t_field *f)
{
    const struct cel_type *elem = &cel_dyn; /* int-or-string, what has no schema */

    switch ((enum t_kind)f->kind) {
    case T_STR:
    case T_DUR: elem = &cel_string; break;
    case T_BOOL: elem = &cel_bool; break;
    case T_I32:
    case T_I64: elem = &cel_int; break;
    case T_NUM: elem = &cel_double; break;
    case T_TIME:
    case T_MICRO: elem = &cel_timestamp; break;
    case T_BYTES: elem = &cel_bytes; break;
    case T_STRS: elem = cel_type_list(t->a, &cel_string); break;
    case T_OBJ: elem = f->type->either ? &cel_dyn : type_of(t, f->type); break;
    case T_QTY: return NULL; /* has no type upstream, so that nobody may ask for it */
    case T_IOS:
    case T_ANY: break;
    }
    return f->shape == T_LIST  ? cel_type_list(t->a, elem)
           : f->shape == T_MAP ? cel_type_map(t->a, &cel_string, elem)
                               : elem;
}

static int by_name(const void *a, const void *b)
{
    struct str x = ((const struct cel_field *)a)->name, y = ((const struct cel_field *)b)->name;
    int c = memcmp(x.p, y.p, MIN(x.n, y.n));
    return c ? c : (x.n > y.n) - (x.n < y.n);
}

static const struct cel_type *type_of(struct types *t, const struct t_type *type)
{
    struct cel_type *out = map_getz(&t->made, type->name);
    uint32_t n = 0;

    if (out)
        return out;
    out = arena_new0(t->a, struct cel_type);
    *out = (struct cel_type){ .kind = CT_OBJECT, .name = type->name, .size_max = CEL_SIZE_UNKNOWN };
    (void)map_putz(&t->made, type->name, out); /* before its fields: some contain themselves */
    while (type->fields[n].name)
        n++;
    struct cel_field *fields = arena_newn0(t->a, 2 * n + 1, struct cel_field);
    for (uint32_t i = 0; i < n; i++) {
        struct cel_field f = { .json = str_of(type->fields[i].name) };
        f.type = field_type(t, &type->fields[i]);
        if (!f.type || !cel_field_name(t->a, f.json, &f.name))
            continue;
        fields[out->n_fields++] = f;
        if (!str_eq(f.name, f.json)) { /* "namespace" may be written as it is, too */
            f.name = f.json;
            fields[out->n_fields++] = f;
        }
    }
    qsort(fields, out->n_fields, sizeof *fields, by_name);
    out->fields = fields;
    return out;
}

/* Of a custom resource: its schema, with all of metadata. */
static const struct cel_type *custom_type(struct types *t, const struct resource *r)
{
    const struct kj_val *schema = kj_path(kj_root(r->crd->doc), "schema.openAPIV3Schema");
    const struct cel_type *root = schema ? cel_schema_type(t->a, schema, r->kind, true) : NULL;

    if (!root || root->kind != CT_OBJECT)
        return NULL;
    struct cel_type *out = arena_new0(t->a, struct cel_type);
    struct cel_field *fields = arena_newn0(t->a, root->n_fields + 1, struct cel_field);
    *out = *root;
    if (root->n_fields)
        memcpy(fields, root->fields, root->n_fields * sizeof *fields);
    for (uint32_t i = 0; i < root->n_fields; i++)
        if (str_eqz(fields[i].json, "metadata"))
            fields[i].type = type_of(t, &meta_object_meta);
    out->fields = fields;
    return out;
}

static const struct cel_type *resource_type(struct types *t, const struct resource *r)
{
    return r->crd ? custom_type(t, r) : r->type ? type_of(t, r->type) : NULL;
}

/* ---- which kinds ----------------------------------------------------------------------------- */

struct matched {
    const struct resource *list[KINDS_MAX * 4];
    size_t n;
};

static int by_kind(const void *a, const void *b)
{
    const struct resource *x = *(const struct resource *const *)a,
                          *y = *(const struct resource *const *)b;
    int c = strcmp(x->group, y->group);

    c = c ? c : strcmp(x->version, y->version);
    return c ? c : strcmp(x->kind, y->kind);
}

static bool has_star(const struct kj_val *list)
{
    for (size_t i = 0; i < kj_len(list); i++)
        if (strchr(kj_str_or(kj_at(list, i), ""), '*'))
            return true;
    return kj_len(list) == 0;
}

static bool names(const struct kj_val *list, const char *text)
{
    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_at(list, i), ""), text))
            return true;
    return false;
}

/* Rules with a star in groups or versions are passed over, as are subresources. */
static void match_rule(const struct apiserver *s, const struct kj_val *rule, struct matched *m)
{
    const struct kj_val *groups = kj_get(rule, "apiGroups"),
                        *versions = kj_get(rule, "apiVersions");
    const struct resource *r;
    size_t count = 0;

    if (has_star(groups) || has_star(versions))
        return;
    for (size_t i = 0; (r = res_table_at(s->resources, i)) && count < KINDS_MAX; i++) {
        if (!names(groups, r->group) || !names(versions, r->version) ||
            !names(kj_get(rule, "resources"), r->plural) || m->n == ARRAY_LEN(m->list))
            continue;
        count++;
        size_t k = 0;
        while (k < m->n && m->list[k] != r)
            k++;
        m->list[k] = r;
        m->n += k == m->n;
    }
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* A kind, and the variables of the policy where objects are of its type. */
struct checked_kind {
    const struct resource *r;
    const struct cel_type *object; /* NULL: of no known type, nothing is checked */
    struct admitexpr_variables variables;
    struct cel_expr **exprs; /* of the variables */
};

struct checking {
    struct apiserver *s;
    const struct kj_val *spec;
    struct types types;
    struct matched matched;
    struct checked_kind *kinds;    /* matched.n */
    const struct cel_type *params; /* NULL: unknown */
    size_t checks, bytes;          /* made; of their warnings */
};

static struct admitexpr_env env_of(const struct checking *c, const struct checked_kind *k)
{
    return (struct admitexpr_env){ .params = c->params != NULL,
                                   .authorizer = true,
                                   .variables = &k->variables.type,
                                   .object = k->object,
                                   .params_type = c->params };
}

static void add_variables(struct checking *c, struct checked_kind *k)
{
    const struct kj_val *list = kj_get(c->spec, "variables"), *v;
    const struct admitexpr_env env = env_of(c, k);
    size_t n = 0;

    c->checks += k->object ? kj_len(list) : 0;
    if (c->checks > CHECKS_MAX)
        k->object = NULL;
    k->exprs = arena_newn0(c->types.a, kj_len(list) + 1, struct cel_expr *);
    admitexpr_variables_init(&k->variables, c->types.a, kj_len(list));
    for (struct kj_iter it = kj_iter(list); k->object && kj_next(&it, NULL, &v); n++) {
        CLEANUP(strbuf_fini) struct strbuf ignored = STRBUF_INIT;
        const struct kj_val *text = kj_get(v, "expression");
        struct str one = { kj_str_or(text, ""), kj_str(text) ? kj_len(text) : 0 };
        (void)admitexpr_compile(&env, one, NULL, &k->exprs[n], &ignored);
        admitexpr_variables_add(&k->variables, str_of(kj_str_or(kj_get(v, "name"), "")),
                                k->exprs[n]);
    }
}

static void add_kinds(struct checking *c)
{
    c->kinds = arena_newn0(c->types.a, c->matched.n + 1, struct checked_kind);
    for (size_t i = 0; i < c->matched.n; i++) {
        c->kinds[i].r = c->matched.list[i];
        c->kinds[i].object = resource_type(&c->types, c->matched.list[i]);
        add_variables(c, &c->kinds[i]);
    }
}

static void free_kinds(struct checking *c)
{
    for (size_t i = 0; i < c->matched.n; i++)
        for (size_t k = 0; k < kj_len(kj_get(c->spec, "variables")); k++)
            cel_expr_free(c->kinds[i].exprs[k]);
}

/* What is wrong with an expression where objects are of this kind; false: nothing. */
static bool check_kind(struct checking *c, const struct checked_kind *k, struct str text,
                       struct strbuf *why)
{
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    const struct admitexpr_env env = env_of(c, k);

    if (!k->object || ++c->checks > CHECKS_MAX || c->bytes > WARNINGS_MAX ||
        admitexpr_compile(&env, text, NULL, &e, why) != -EINVAL)
        return false;
    c->bytes += why->len;
    return true;
}

static void check_text(struct checking *c, const struct kj_val *text, const char *field, size_t i,
                       struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf all = STRBUF_INIT;
    struct str t = { kj_str_or(text, ""), kj_str(text) ? kj_len(text) : 0 };
    static const char prefix[] = "compilation failed: ";

    for (size_t k = 0; k < c->matched.n && t.n; k++) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        const struct resource *r = c->kinds[k].r;
        if (!check_kind(c, &c->kinds[k], t, &why))
            continue;
        const char *said = strbuf_str(&why);
        said += str_starts(said, prefix) ? sizeof prefix - 1 : 0;
        strbuf_appendf(&all, "%s%s/%s, Kind=%s: %s\n", all.len ? "\n" : "", r->group, r->version,
                       r->kind, said);
    }
    if (!all.len)
        return;
    char ref[64];
    (void)snprintf(ref, sizeof ref, "spec.validations[%zu].%s", i, field);
    kjw_obj(w, NULL);
    kjw_str(w, "fieldRef", ref);
    kjw_str(w, "warning", strbuf_str(&all));
    kjw_end(w);
}

static const struct cel_type *params_type(struct checking *c)
{
    const struct kj_val *kind = kj_get(c->spec, "paramKind");
    const char *version = kj_str_or(kj_get(kind, "apiVersion"), ""), *slash = strchr(version, '/');
    const struct resource *r;

    for (size_t i = 0; kind && (r = res_table_at(c->s->resources, i)); i++) {
        size_t n = slash ? (size_t)(slash - version) : 0;
        if (streq(r->kind, kj_str_or(kj_get(kind, "kind"), "")) && strlen(r->group) == n &&
            memcmp(r->group, version, n) == 0 && streq(r->version, slash ? slash + 1 : version))
            return resource_type(&c->types, r);
    }
    return NULL;
}

static void write_warnings(struct apiserver *s, const struct kj_val *spec, struct kjw *w)
{
    struct checking c = { .s = s, .spec = spec, .types = { .a = arena_new() } };
    const struct kj_val *rules = kj_path(spec, "matchConstraints.resourceRules"),
                        *list = kj_get(spec, "validations");

    for (size_t i = 0; i < kj_len(rules); i++)
        match_rule(s, kj_at(rules, i), &c.matched);
    qsort(c.matched.list, c.matched.n, sizeof c.matched.list[0], by_kind);
    c.params = params_type(&c);
    add_kinds(&c);
    for (size_t i = 0; i < kj_len(list); i++) {
        check_text(&c, kj_get(kj_at(list, i), "expression"), "expression", i, w);
        check_text(&c, kj_get(kj_at(list, i), "messageExpression"), "messageExpression", i, w);
    }
    free_kinds(&c);
    map_fini(&c.types.made);
    arena_free(c.types.a);
}

/* ---- the status ------------------------------------------------------------------------------ */

static void on_stored(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)arg, (void)rev;
    if (err)
        KLOG_E(err, "Failed to store the status of a ValidatingAdmissionPolicy");
}

void policy_status_update(struct apiserver *s, const struct store_event *e)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *status = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kerr err = { 0 };
    char next[24];

    if (e->type == STORE_DELETED || kj_parse(e->doc, e->n, KJ_RAW_NUMBERS, &doc, &err) < 0)
        return;
    int64_t generation = kj_i64_or(kj_path(kj_root(doc), "metadata.generation"), 0);
    if (generation <= kj_i64_or(kj_path(kj_root(doc), "status.observedGeneration"), 0))
        return;
    struct kjw w = kjw_to(&text);
    kjw_obj(&w, NULL);
    kjw_i64(&w, "observedGeneration", generation);
    kjw_obj(&w, "typeChecking");
    kjw_arr(&w, "expressionWarnings");
    size_t empty = text.len;
    write_warnings(s, kj_get(kj_root(doc), "spec"), &w);
    bool none = text.len == empty;
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    if (kj_parse(text.data, text.len, 0, &status, &err) < 0)
        return;
    struct kj_mval *obj = kj_mcopy(d, kj_root(doc)), *now = kj_mcopy(d, kj_root(status));
    if (none)
        kj_mset(d, now, "typeChecking", kj_mobj(d));
    if (kj_path(kj_root(doc), "status.conditions"))
        kj_mset(d, now, "conditions", kj_mcopy(d, kj_path(kj_root(doc), "status.conditions")));
    kj_mset(d, obj, "status", now);
    (void)snprintf(next, sizeof next, "%llu", (unsigned long long)store_next_revision(s->store));
    kj_mset(d, kj_mget(obj, "metadata"), "resourceVersion", kj_mstr(d, next));
    kj_mwrite(obj, 0, &out);
    if (store_put(s->store, &e->key, e->rev, out.data, out.len, on_stored, NULL, &err) < 0 &&
        err.code != -ESTALE && err.code != -ENOENT) /* a later write comes here too */
        KLOG_E(&err, "Failed to update the status of a ValidatingAdmissionPolicy",
               KV_S("name", e->key.name));
}
