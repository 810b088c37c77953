/* openapi_schema.c - the schemas of built-in and custom kinds in OpenAPI. */
#include "apiserver/crd/crd.h"
#include "apiserver/http/openapi_int.h"
#include "apiserver/http/served.h"
#include "base/map.h"

static bool is_wanted(const struct resource *r, const char *group, const char *version)
{
    return !group || (streq(r->group, group) && streq(r->version, version));
}

/* The group backwards. */
static const char *custom_name(struct arena *a, const struct resource *r)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    for (const char *end = r->group + strlen(r->group); end > r->group;) {
        const char *p = end;
        while (p > r->group && p[-1] != '.')
            p--;
        strbuf_appendn(&b, p, (size_t)(end - p));
        strbuf_appendc(&b, '.');
        end = p > r->group ? p - 1 : p;
    }
    strbuf_appendf(&b, "%s.%s", r->version, r->kind);
    return arena_strdup(a, b.data);
}

/* Reviews have a table, but are not stored by it. */
const struct t_type *openapi_type(const struct resource *r)
{
    return r->type || r->crd ? r->type : types_find(r->group, r->version, r->kind);
}

const char *openapi_schema_name(struct arena *a, const struct resource *r)
{
    const struct t_type *t = openapi_type(r);
    return t ? t->name : custom_name(a, r);
}

uint64_t openapi_hash(const struct api_call *c, const char *group, const char *version)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct resource *r;

    strbuf_append(&b, apiserver_version(c->s));
    for (size_t i = 0; (r = res_table_at(apiserver_resources(c->s), i)); i++)
        if (is_wanted(r, group, version))
            strbuf_appendf(&b, ";%s %s %s %s %s %llx", group ? "" : r->group,
                           group ? "" : r->version, r->plural, r->kind, str_or(r->subresources, ""),
                           r->crd ? (unsigned long long)crd_schema_hash(r->crd) : 0);
    return hash_stable(b.data, b.len);
}

/* ---- custom kinds ---------------------------------------------------------------------------- */

static void simplify(struct kj_mdoc *d, struct kj_mval *schema);

static void simplify_members(struct kj_mdoc *d, struct kj_mval *map)
{
    struct kj_mval *v;
    struct str key;

    if (kj_mtype(map) == KJ_OBJ)
        for (struct kj_miter it = kj_miter(map); kj_mnext(&it, &key, &v);)
            simplify(d, v);
}

static bool is_nullable(const struct kj_mval *schema)
{
    return kj_mget(schema, "nullable") != NULL; /* false is not stored */
}

/* Fields that may be null may be missing. */
static void relax_required(struct kj_mdoc *d, struct kj_mval *schema)
{
    CLEANUP(map_fini) struct map nullable = { 0 };
    struct kj_mval *kept = kj_marr(d), *v;
    struct str key;

    for (struct kj_miter it = kj_miter(kj_mget(schema, "properties")); kj_mnext(&it, &key, &v);)
        if (is_nullable(v))
            map_put(&nullable, key.p, key.n, v);
    bool any = is_nullable(kj_mget(schema, "additionalProperties"));
    if (!any && nullable.n == 0)
        return;
    for (struct kj_miter it = kj_miter(kj_mget(schema, "required")); kj_mnext(&it, NULL, &v);)
        if (!any && !map_getz(&nullable, str_or(kj_mstr_get(v), "")))
            kj_mpush(kept, kj_mclone(d, v));
    kj_mdel(schema, "required", strlen("required"));
    if (kj_mlen(kept))
        kj_mset(d, schema, "required", kept);
}

/* Version 2 has no alternatives, and no null: what has them may be anything. kubectl would refuse
 * what is not among the properties of an object that keeps unknown fields, and cannot read lists of
 * unknown items: these have no type either. */
static void simplify(struct kj_mdoc *d, struct kj_mval *schema)
{
    static const char *const unknown[] = { "oneOf", "anyOf", "allOf", "not" };

    if (kj_mtype(schema) != KJ_OBJ)
        return;
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        kj_mdel(schema, unknown[i], strlen(unknown[i]));
    bool keeps = kj_mget(schema, "x-kubernetes-preserve-unknown-fields");
    relax_required(d, schema);
    if (is_nullable(schema) || keeps) {
        kj_mdel(schema, "properties", 10);
        kj_mdel(schema, "items", 5);
    }
    const char *type = str_or(kj_mstr_get(kj_mget(schema, "type")), "");
    if (is_nullable(schema) || kj_mget(schema, "x-kubernetes-int-or-string") ||
        (keeps && streq(type, "object")) || (streq(type, "array") && !kj_mget(schema, "items")))
        kj_mdel(schema, "type", 4);
    kj_mdel(schema, "nullable", 8);
    simplify_members(d, kj_mget(schema, "properties"));
    simplify(d, kj_mget(schema, "items"));
    simplify(d, kj_mget(schema, "additionalProperties"));
}

static struct kj_mval *text_schema(struct kj_mdoc *d, const char *field)
{
    struct kj_mval *v = kj_mobj(d);

    kj_mset(d, v, "description", kj_mstr(d, types_describe_field("", field)));
    kj_mset(d, v, "type", kj_mstr(d, "string"));
    return v;
}

static struct kj_mval *meta_schema(struct kj_mdoc *d, enum openapi_version v)
{
    struct kj_mval *ref = kj_mobj(d), *list = kj_marr(d), *schema = kj_mobj(d);
    CLEANUP(mem_free)
    char *to = xasprintf("#/%s/%s", v == OPENAPI_V2 ? "definitions" : "components/schemas",
                         meta_object_meta.name);

    kj_mset(d, ref, "$ref", kj_mstr(d, to));
    if (v == OPENAPI_V2) {
        kj_mset(d, ref, "description", kj_mstr(d, types_describe_field("", "metadata")));
        return ref;
    }
    kj_mpush(list, ref);
    kj_mset(d, schema, "allOf", list);
    kj_mset(d, schema, "description", kj_mstr(d, types_describe_field("", "metadata")));
    return schema;
}

static void set_gvk(struct kj_mdoc *d, struct kj_mval *schema, const struct resource *r,
                    const char *kind)
{
    struct kj_mval *gvk = kj_mobj(d), *list = kj_marr(d);

    kj_mset(d, gvk, "group", kj_mstr(d, r->group));
    kj_mset(d, gvk, "kind", kj_mstr(d, kind));
    kj_mset(d, gvk, "version", kj_mstr(d, r->version));
    kj_mpush(list, gvk);
    kj_mset(d, schema, "x-kubernetes-group-version-kind", list);
}

static void set_selectable(struct kj_mdoc *d, struct kj_mval *schema, const struct resource *r)
{
    const struct kj_val *fields = crd_schema_selectable(r->crd);
    struct kj_mval *list = kj_marr(d);

    for (size_t i = 0; i < kj_len(fields); i++) {
        struct kj_mval *v = kj_mobj(d);
        const char *path = kj_str_or(kj_get(kj_at(fields, i), "jsonPath"), "");
        kj_mset(d, v, "fieldPath", kj_mstr(d, path + (*path == '.')));
        kj_mpush(list, v);
    }
    if (kj_len(fields))
        kj_mset(d, schema, "x-kubernetes-selectable-fields", list);
}

/* The fields that every object has. */
static void add_common(struct kj_mdoc *d, struct kj_mval *schema, enum openapi_version v)
{
    struct kj_mval *props = kj_mget(schema, "properties");

    if (kj_mtype(props) != KJ_OBJ) {
        props = kj_mobj(d);
        kj_mset(d, schema, "properties", props);
    }
    kj_mset(d, props, "apiVersion", text_schema(d, "apiVersion"));
    kj_mset(d, props, "kind", text_schema(d, "kind"));
    kj_mset(d, props, "metadata", meta_schema(d, v));
}

/* The schema of a custom resource. Where its root keeps unknown fields, version 2 says no more than
 * that it is an object: kubectl would refuse whatever is not among its properties. */
static void write_custom(struct kjw *w, struct arena *a, const struct resource *r,
                         enum openapi_version v)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct kj_val *own = crd_schema_openapi(r->crd);
    struct kj_mval *schema;

    if (v == OPENAPI_V2 && kj_bool(kj_get(own, "x-kubernetes-preserve-unknown-fields"), false)) {
        schema = kj_mobj(d);
        kj_mset(d, schema, "type", kj_mstr(d, "object"));
    } else {
        schema = kj_mcopy(d, own);
        if (v == OPENAPI_V2)
            simplify(d, schema);
        add_common(d, schema, v);
    }
    set_gvk(d, schema, r, r->kind);
    set_selectable(d, schema, r);
    kj_mwrite(schema, 0, &text);
    kjw_raw(w, custom_name(a, r), text.data, text.len);
}

static void write_custom_list(struct kjw *w, struct arena *a, const struct resource *r)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *schema = kj_mobj(d), *props = kj_mobj(d), *items = kj_mobj(d),
                   *item = kj_mobj(d), *meta = kj_mobj(d), *required = kj_marr(d);
    CLEANUP(mem_free) char *about = xasprintf("A list of objects of the kind %s.", r->kind);
    CLEANUP(mem_free) char *ref = xasprintf("#/definitions/%s", custom_name(a, r));
    CLEANUP(mem_free) char *list_meta = xasprintf("#/definitions/%s", meta_list_meta.name);

    kj_mset(d, schema, "description", kj_mstr(d, about));
    kj_mset(d, schema, "type", kj_mstr(d, "object"));
    kj_mpush(required, kj_mstr(d, "items"));
    kj_mset(d, schema, "required", required);
    kj_mset(d, item, "$ref", kj_mstr(d, ref));
    kj_mset(d, items, "description", kj_mstr(d, types_describe_field("", "items")));
    kj_mset(d, items, "type", kj_mstr(d, "array"));
    kj_mset(d, items, "items", item);
    kj_mset(d, meta, "$ref", kj_mstr(d, list_meta));
    kj_mset(d, props, "apiVersion", text_schema(d, "apiVersion"));
    kj_mset(d, props, "items", items);
    kj_mset(d, props, "kind", text_schema(d, "kind"));
    kj_mset(d, props, "metadata", meta);
    kj_mset(d, schema, "properties", props);
    set_gvk(d, schema, r, r->list_kind);
    kj_mwrite(schema, 0, &text);
    kjw_raw(w, arena_printf(a, "%sList", custom_name(a, r)), text.data, text.len);
}

/* ---- all ------------------------------------------------------------------------------------- */

struct roots vec_of(struct t_root);

/* What is no resource: bodies and answers of requests, and documents of discovery. */
static void add_others(struct roots *roots)
{
    static const char authentication[] = "authentication.k8s.io";
    const struct t_root more[] = {
        { .type = &meta_list_meta },
        { &meta_status, "", "v1", "Status", false },
        { &meta_api_versions, "", "v1", "APIVersions", false },
        { &meta_api_group, "", "v1", "APIGroup", false },
        { &meta_api_group_list, "", "v1", "APIGroupList", false },
        { &meta_api_resource_list, "", "v1", "APIResourceList", false },
        { types_find("autoscaling", "v1", "Scale"), "autoscaling", "v1", "Scale", false },
        { types_find("policy", "v1", "Eviction"), "policy", "v1", "Eviction", false },
        { types_find(authentication, "v1", "TokenRequest"), authentication, "v1", "TokenRequest",
          false },
    };

    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        vec_push(roots, more[i]);
}

/* A type that is a kind of every built-in group version. */
static void add_everywhere(struct roots *roots, const struct res_table *t,
                           const struct t_type *type, const char *kind)
{
    const struct resource *r;

    for (size_t i = 0; (r = res_table_at(t, i)); i++) {
        struct t_root *last = roots->n ? &roots->items[roots->n - 1] : NULL;
        bool again = last && last->type == type && streq(last->group, r->group) &&
                     streq(last->version, r->version);
        if (!r->crd && !again)
            vec_push(roots, ((struct t_root){ type, r->group, r->version, kind, false }));
    }
}

void openapi_write_schemas(struct kjw *w, struct api_call *c, enum openapi_version v,
                           const char *group, const char *version)
{
    struct roots roots = { 0 };
    const struct res_table *t = apiserver_resources(c->s);
    const struct resource *r;

    for (size_t i = 0; (r = res_table_at(t, i)); i++)
        if (is_wanted(r, group, version) && openapi_type(r))
            vec_push(&roots, ((struct t_root){ openapi_type(r), r->group, r->version, r->kind,
                                               served_has_verb(r, "list") }));
    vec_push(&roots, ((struct t_root){ .type = &meta_object_meta }));
    if (v == OPENAPI_V2) {
        add_others(&roots);
        add_everywhere(&roots, t, &meta_delete_options, "DeleteOptions");
        add_everywhere(&roots, t, &meta_watch_event, "WatchEvent");
    }
    types_openapi(v, roots.items, roots.n, w);
    vec_fini(&roots);
    for (size_t i = 0; (r = res_table_at(t, i)); i++) {
        if (!is_wanted(r, group, version) || !r->crd)
            continue;
        write_custom(w, c->arena, r, v);
        if (v == OPENAPI_V2)
            write_custom_list(w, c->arena, r);
    }
}
