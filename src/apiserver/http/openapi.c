/* openapi.c - OpenAPI v3 documents, as far as kubectl reads them.
 *
 * It reads the index, then the document of the object's group: the parameters of "patch" (does the
 * server validate fields and dry-run?), the body types of "patch" (strategic merge?), and the
 * schemas with their merge keys. So paths name the operations and those parameters, no more.
 *
 * The index gives each document a hash in its address, by which clients cache it for good: it must
 * change with the content and be the same after a restart. It is made from what the document is
 * made of: the server's version, the kinds, and the definitions of custom ones.
 */
#include "apiserver/http/openapi.h"

#include "apiserver/http/discovery.h"
#include "apiserver/http/openapi_int.h"
#include "apiserver/http/served.h"
#include "base/map.h"

static bool in_version(const struct resource *r, const char *group, const char *version)
{
    return streq(r->group, group) && streq(r->version, version);
}

/* "api/v1", "apis/apps/v1": how a document is called. */
static const char *doc_name(struct arena *a, const struct resource *r)
{
    return *r->group ? arena_printf(a, "apis/%s/%s", r->group, r->version)
                     : arena_printf(a, "api/%s", r->version);
}

/* ---- the index ----------------------------------------------------------------------------------
 */

static void reply_index(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kjw w = kjw_to(&b);
    const struct resource *r;

    kjw_obj(&w, NULL);
    kjw_obj(&w, "paths");
    for (size_t i = 0; (r = res_table_at(apiserver_resources(c->s), i)); i++) {
        const char *name = doc_name(c->arena, r);
        if (map_putz(&seen, name, (void *)(uintptr_t)r))
            continue;
        kjw_obj(&w, name);
        kjw_str(&w, "serverRelativeURL",
                arena_printf(c->arena, "/openapi/v3/%s?hash=%016llX", name,
                             (unsigned long long)openapi_hash(c, r->group, r->version)));
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    api_reply(c, 200, b.data, b.len);
}

/* ---- operations ---------------------------------------------------------------------------------
 */

static void write_parameter(struct kjw *w, const char *in, const char *name, const char *type)
{
    kjw_obj(w, NULL);
    kjw_str(w, "name", name);
    kjw_str(w, "in", in);
    if (streq(in, "path"))
        kjw_bool(w, "required", true);
    kjw_obj(w, "schema");
    kjw_str(w, "type", type);
    kjw_bool(w, "uniqueItems", true);
    kjw_end(w);
    kjw_end(w);
}

static void write_ref(struct kjw *w, const char *key, struct arena *a, const char *name)
{
    kjw_obj(w, key);
    kjw_str(w, "$ref", arena_printf(a, "#/components/schemas/%s", name));
    kjw_end(w);
}

/* content: comma-separated body types, NULL: no body. */
struct operation {
    const char *method, *action, *content;
    bool writes, forces;
};

static void write_body(struct kjw *w, struct api_call *c, const struct resource *r,
                       const struct operation *op)
{
    bool patch = streq(op->method, "patch");

    kjw_obj(w, "requestBody");
    kjw_obj(w, "content");
    for (const char *p = op->content; *p;) {
        size_t n = strcspn(p, ",");
        kjw_obj(w, arena_strndup(c->arena, p, n));
        if (patch)
            kjw_raw(w, "schema", "{\"type\":\"object\"}", 17);
        else
            write_ref(w, "schema", c->arena, openapi_schema_name(c->arena, r));
        kjw_end(w);
        p += n;
        p += *p == ',';
    }
    kjw_end(w);
    kjw_bool(w, "required", true);
    kjw_end(w);
}

static void write_operation(struct kjw *w, struct api_call *c, const struct resource *r,
                            const struct operation *op)
{
    kjw_obj(w, op->method);
    if (op->writes) {
        kjw_arr(w, "parameters");
        write_parameter(w, "query", "dryRun", "string");
        if (op->content) {
            write_parameter(w, "query", "fieldManager", "string");
            write_parameter(w, "query", "fieldValidation", "string");
        }
        if (op->forces)
            write_parameter(w, "query", "force", "boolean");
        kjw_end(w);
    }
    if (op->content)
        write_body(w, c, r, op);
    kjw_obj(w, "responses");
    kjw_obj(w, "200");
    kjw_str(w, "description", "OK");
    kjw_end(w);
    kjw_end(w);
    kjw_str(w, "x-kubernetes-action", op->action);
    kjw_obj(w, "x-kubernetes-group-version-kind");
    kjw_str(w, "group", r->group);
    kjw_str(w, "version", r->version);
    kjw_str(w, "kind", r->kind);
    kjw_end(w);
    kjw_end(w);
}

#define BODY "application/json,application/yaml"

static void write_collection(struct kjw *w, struct api_call *c, const struct resource *r)
{
    static const struct operation list = { "get", "list", NULL, false, false };
    static const struct operation post = { "post", "post", BODY, true, false };

    if (served_has_verb(r, "list"))
        write_operation(w, c, r, &list);
    write_operation(w, c, r, &post);
}

static void write_item(struct kjw *w, struct api_call *c, const struct resource *r)
{
    static const struct operation get = { "get", "get", NULL, false, false };
    static const struct operation put = { "put", "put", BODY, true, false };
    static const struct operation delete = { "delete", "delete", NULL, true, false };
    struct operation patch = { "patch", "patch",
                               r->crd ? "application/json-patch+json,application/merge-patch+json"
                                      : "application/json-patch+json,application/merge-patch+json,"
                                        "application/strategic-merge-patch+json",
                               true, true };
    write_operation(w, c, r, &get);
    if (served_has_verb(r, "update")) {
        write_operation(w, c, r, &put);
        write_operation(w, c, r, &patch);
    }
    write_operation(w, c, r, &delete);
}

static void write_path(struct kjw *w, struct api_call *c, const struct resource *r, bool item)
{
    const char *base = doc_name(c->arena, r);

    kjw_obj(w, arena_printf(c->arena, "/%s/%s%s%s", base,
                            r->namespaced ? "namespaces/{namespace}/" : "", r->plural,
                            item ? "/{name}" : ""));
    if (item)
        write_item(w, c, r);
    else
        write_collection(w, c, r);
    kjw_arr(w, "parameters");
    if (item)
        write_parameter(w, "path", "name", "string");
    if (r->namespaced)
        write_parameter(w, "path", "namespace", "string");
    kjw_end(w);
    kjw_end(w);
}

/* ---- documents ----------------------------------------------------------------------------------
 */

static void reply_document(struct api_call *c, const char *group, const char *version)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    const struct resource *r;

    kjw_obj(&w, NULL);
    kjw_str(&w, "openapi", "3.0.0");
    kjw_obj(&w, "info");
    kjw_str(&w, "title", "Kubernetes");
    kjw_str(&w, "version", apiserver_version(c->s));
    kjw_end(&w);
    kjw_obj(&w, "paths");
    for (size_t i = 0; (r = res_table_at(apiserver_resources(c->s), i)); i++) {
        if (!in_version(r, group, version) || (!openapi_type(r) && !r->crd))
            continue;
        write_path(&w, c, r, false);
        if (served_has_verb(r, "get"))
            write_path(&w, c, r, true);
    }
    kjw_end(&w);
    kjw_obj(&w, "components");
    kjw_obj(&w, "schemas");
    openapi_write_schemas(&w, c, OPENAPI_V3, group, version);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    discovery_reply(c, NULL, &b);
}

bool openapi_handle(struct api_call *c)
{
    const char *rest = c->path + strlen("/openapi/v3");
    const char *slash;

    if (!*rest || streq(rest, "/")) {
        reply_index(c);
        return true;
    }
    if (streq(rest, "/api/v1")) {
        reply_document(c, "", "v1");
        return true;
    }
    if (!str_starts(rest, "/apis/") || !(slash = strchr(rest + 6, '/')))
        return false;
    const char *group = arena_strndup(c->arena, rest + 6, (size_t)(slash - rest - 6));
    if (!*group || !res_table_has_group(apiserver_resources(c->s), group, slash + 1))
        return false;
    reply_document(c, group, slash + 1);
    return true;
}
