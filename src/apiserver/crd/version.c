/* version.c - one served version of a definition: its schema, and the struct resource it becomes.
 */
#include "apiserver/crd/conversion.h"
#include "apiserver/crd/internal.h"
#include "apiserver/http/served.h"
#include "base/map.h"

static const char *text(struct crd_schema *s, const struct kj_val *v, const char *key)
{
    return arena_strdup(s->arena, kj_str_or(kj_get(v, key), ""));
}

/* ["a","b"] as "a,b"; NULL when empty. */
static const char *joined(struct crd_schema *s, const struct kj_val *list)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    for (size_t i = 0; i < kj_len(list); i++)
        strbuf_appendf(&b, "%s%s", i ? "," : "", kj_str_or(kj_at(list, i), ""));
    return b.len ? arena_strdup(s->arena, b.data) : NULL;
}

static const char *column_description(struct crd_schema *s, const struct kj_val *c)
{
    const char *given = kj_str_or(kj_get(c, "description"), "");
    if (*given)
        return arena_strdup(s->arena, given);
    return arena_printf(s->arena, "Custom resource definition column (in JSONPath format): %s",
                        kj_str_or(kj_get(c, "jsonPath"), ""));
}

static void add_columns(struct crd_schema *s, const struct kj_val *list)
{
    size_t n = kj_len(list);
    struct res_column *c = arena_newn0(s->arena, n ? n + 1 : 2, struct res_column);

    s->res.columns = c;
    s->res.ncolumns = n ? n + 1 : 2;
    *c++ = (struct res_column){ .name = "Name", .type = "string", .json_path = ".metadata.name" };
    if (!n)
        *c = (struct res_column){ .name = "Age",
                                  .type = "date",
                                  .json_path = ".metadata.creationTimestamp" };
    for (size_t i = 0; i < n; i++, c++) {
        const struct kj_val *v = kj_at(list, i);
        c->name = text(s, v, "name");
        c->type = text(s, v, "type");
        c->priority = (int)kj_i64_or(kj_get(v, "priority"), 0);
        c->json_path = text(s, v, "jsonPath");
        c->description = column_description(s, v);
    }
}

static void add_subresources(struct crd_schema *s, const struct kj_val *sub)
{
    const struct kj_val *scale = kj_get(sub, "scale");
    bool status = kj_type(kj_get(sub, "status")) == KJ_OBJ;

    if (kj_type(scale) == KJ_OBJ) { /* paths as kj_path() wants them, without the first dot */
        const char *selector = text(s, scale, "labelSelectorPath");
        s->scale.spec_replicas = text(s, scale, "specReplicasPath") + 1;
        s->scale.status_replicas = text(s, scale, "statusReplicasPath") + 1;
        s->scale.selector = *selector ? selector + 1 : NULL;
    }
    s->res.has_status = status;
    s->res.subresources = s->scale.spec_replicas ? (status ? "status,scale" : "scale")
                          : status               ? "status"
                                                 : NULL;
}

static const char *stored_as(struct crd_schema *s, const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "versions"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (kj_bool(kj_get(v, "storage"), false))
            return arena_printf(s->arena, "%s/%s", s->res.group, kj_str_or(kj_get(v, "name"), ""));
    return NULL;
}

/* What is told of a deprecated version without words of its own: which newer one to use. */
static const char *deprecation(struct crd_schema *s, const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "versions"));
    const struct resource *r = &s->res;
    const char *best = r->version;
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        const char *name = kj_str_or(kj_get(v, "name"), "");
        if (kj_bool(kj_get(v, "served"), false) && !kj_bool(kj_get(v, "deprecated"), false) &&
            version_compare(name, best) < 0)
            best = name;
    }
    if (best == r->version)
        return arena_printf(s->arena, "%s/%s %s is deprecated", r->group, r->version, r->kind);
    return arena_printf(s->arena, "%s/%s %s is deprecated; use %s/%s %s", r->group, r->version,
                        r->kind, r->group, best, r->kind);
}

static uint64_t hash_of(const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    kj_write(v, 0, &b);
    return hash_stable(b.data, b.len);
}

struct crd_schema *crd_version_new(const struct kj_val *definition, const struct kj_val *version)
{
    const struct kj_val *spec = kj_get(definition, "spec"), *names = kj_get(spec, "names");
    struct crd_schema *s = xnew0(struct crd_schema);
    struct resource *r = &s->res;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    s->arena = arena_new();
    s->doc = kj_freeze(kj_mcopy(d, version));
    const struct kj_val *v = kj_root(s->doc);
    s->hash = hash_of(v);
    s->since = strtoull(kj_str_or(kj_path(definition, "metadata.resourceVersion"), "0"), NULL, 10);
    schema_compile(s, kj_path(v, "schema.openAPIV3Schema"), true);
    r->group = text(s, spec, "group");
    r->version = text(s, v, "name");
    r->kind = text(s, names, "kind");
    r->list_kind = text(s, names, "listKind");
    r->plural = text(s, names, "plural");
    r->singular = text(s, names, "singular");
    r->short_names = joined(s, kj_get(names, "shortNames"));
    r->categories = joined(s, kj_get(names, "categories"));
    r->namespaced = streq(kj_str_or(kj_get(spec, "scope"), ""), "Namespaced");
    r->generation = true;
    r->store_res = arena_printf(s->arena, "%s.%s", r->plural, r->group);
    r->crd = s;
    r->stored_as = stored_as(s, spec);
    if (kj_bool(kj_get(v, "deprecated"), false))
        r->deprecated = kj_str_or(kj_get(v, "deprecationWarning"), deprecation(s, spec));
    add_subresources(s, kj_get(v, "subresources"));
    add_columns(s, kj_get(v, "additionalPrinterColumns"));
    return s;
}

static struct crd_schema *crd_schema_free(struct crd_schema *s)
{
    if (!s)
        return NULL;
    schema_fini(s);
    crd_conversion_unref(s->conversion);
    kj_doc_free(s->doc);
    arena_free(s->arena);
    free(s);
    return NULL;
}

void crd_schema_release(const struct resource *r)
{
    crd_schema_free(r->crd);
}

const struct kj_val *crd_schema_openapi(const struct crd_schema *s)
{
    return kj_path(kj_root(s->doc), "schema.openAPIV3Schema");
}

const struct kj_val *crd_schema_selectable(const struct crd_schema *s)
{
    return kj_get(kj_root(s->doc), "selectableFields");
}

bool crd_may_lack_defaults(const struct crd_schema *s, uint64_t rev)
{
    return s->root->defaults_below && rev < s->since;
}

uint64_t crd_schema_hash(const struct crd_schema *s)
{
    return s->hash;
}

void crd_subresource(struct apiserver *s, struct api_call *c)
{
    const struct crd_schema *crd = c->res->crd;
    struct kerr err = { 0 };

    (void)s;
    if (streq(c->sub, "scale") && crd->scale.spec_replicas) {
        api_scale(c, &crd->scale);
        return;
    }
    api_err_method(&err);
    api_fail(c, &err);
}
