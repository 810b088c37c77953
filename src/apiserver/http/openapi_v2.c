/* openapi_v2.c - /openapi/v2: one document with all paths, operations, parameters and definitions,
 * for generators of clients and for clients of old.
 *
 * It has more than a megabyte, and few ask for it: it is written when somebody does, and nothing of
 * it is kept. Its ETag is made of what it is made of, so that a client that has it costs nothing.
 */
#include <ctype.h>

#include "apiserver/http/openapi.h"
#include "apiserver/http/openapi_int.h"
#include "apiserver/http/served.h"
#include "apiserver/registry/internal.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."
#define ANSWERS \
    "[\"application/json\",\"application/yaml\",\"application/vnd.kubernetes.protobuf\"]"
#define STREAMS                                                                           \
    "[\"application/json\",\"application/yaml\",\"application/vnd.kubernetes.protobuf\"," \
    "\"application/json;stream=watch\",\"application/vnd.kubernetes.protobuf;stream=watch\"]"

/* ---- parameters ------------------------------------------------------------------------------ */

static const struct parameter {
    const char *name, *in, *type, *text;
} parameters[] = {
    { "allowWatchBookmarks", "query", "boolean",
      "Whether a watch is told now and then how far it has come." },
    { "continue", "query", "string", "The token of the answer before, for the next page." },
    { "dryRun", "query", "string", "All: everything is done but storing." },
    { "fieldManager", "query", "string", "Who sets the fields, for managedFields." },
    { "fieldSelector", "query", "string", "Limits the list of returned objects by their fields." },
    { "fieldValidation", "query", "string",
      "What happens to unknown and duplicate fields: Ignore, Warn or Strict." },
    { "force", "query", "boolean", "Whether an apply takes fields that others own." },
    { "gracePeriodSeconds", "query", "integer", "How long the object has to end by itself." },
    { "labelSelector", "query", "string", "Limits the list of returned objects by their labels." },
    { "limit", "query", "integer", "How many objects a page has at most." },
    { "name", "path", "string", "The name of the object." },
    { "namespace", "path", "string", "The namespace of the object." },
    { "orphanDependents", "query", "boolean", "Deprecated: use propagationPolicy." },
    { "pretty", "query", "string", "true: the answer is written for people." },
    { "propagationPolicy", "query", "string",
      "What becomes of dependents: Orphan, Background or Foreground." },
    { "resourceVersion", "query", "string", "How new the answer has to be." },
    { "resourceVersionMatch", "query", "string",
      "How resourceVersion is meant: NotOlderThan or Exact." },
    { "sendInitialEvents", "query", "boolean",
      "Whether a watch begins with the objects that are there." },
    { "timeoutSeconds", "query", "integer", "How long a list or watch may take." },
    { "watch", "query", "boolean",
      "Watch for changes to the described resources: the answer is a stream of events." },
};
/* By what a path or operation takes. */
static const char *const in_lists[] = { "allowWatchBookmarks",
                                        "continue",
                                        "fieldSelector",
                                        "labelSelector",
                                        "limit",
                                        "resourceVersion",
                                        "resourceVersionMatch",
                                        "sendInitialEvents",
                                        "timeoutSeconds",
                                        "watch",
                                        NULL };
static const char *const in_writes[] = { "dryRun", "fieldManager", "fieldValidation", NULL };
static const char *const in_patches[] = { "dryRun", "fieldManager", "fieldValidation", "force",
                                          NULL };
static const char *const in_deletions[] = { "dryRun", "gracePeriodSeconds", "orphanDependents",
                                            "propagationPolicy", NULL };

static void write_parameters_section(struct kjw *w)
{
    kjw_obj(w, "parameters");
    for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
        const struct parameter *p = &parameters[i];
        kjw_obj(w, p->name);
        kjw_bool(w, "uniqueItems", true);
        kjw_str(w, "type", p->type);
        kjw_str(w, "description", p->text);
        kjw_str(w, "name", p->name);
        kjw_str(w, "in", p->in);
        if (streq(p->in, "path"))
            kjw_bool(w, "required", true);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_parameter(struct kjw *w, struct arena *a, const char *name)
{
    kjw_obj(w, NULL);
    kjw_str(w, "$ref", arena_printf(a, "#/parameters/%s", name));
    kjw_end(w);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* "rbacAuthorization" of rbac.authorization.k8s.io, "core" of "". */
static const char *group_word(struct arena *a, const char *group)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    size_t n = strlen(group);

    if (!n)
        return "core";
    if (str_ends(group, ".k8s.io"))
        n -= strlen(".k8s.io");
    for (size_t i = 0; i < n; i++) {
        bool gap = group[i] == '.' || group[i] == '-';
        char c = group[i + gap];
        i += gap;
        strbuf_appendc(&b, gap ? (char)toupper((unsigned char)c) : c);
    }
    return arena_strdup(a, b.data);
}

static const char *capital(struct arena *a, const char *word)
{
    char *s = arena_strdup(a, word);
    *s = (char)toupper((unsigned char)*s);
    return s;
}

/* ---- operations ------------------------------------------------------------------------------ */

struct writer {
    struct kjw *w;
    struct api_call *c;
    const struct resource *r;
    const char *tag, *group; /* "core_v1", "CoreV1" */
};
struct operation {
    const char *method, *action, *verb, *text; /* verb: the beginning of its operationId */
    const char *id;                            /* the end */
    const char *consumes, *produces;
    const char *body, *answer; /* definitions; NULL: none */
    bool created, accepted;    /* may also answer 201, 202 */
    const char *const *query;
    const char *kind, *kind_group, *kind_version; /* of the answer */
};

static void write_schema_ref(struct writer *x, const char *name)
{
    kjw_obj(x->w, "schema");
    kjw_str(x->w, "$ref", arena_printf(x->c->arena, "#/definitions/%s", name));
    kjw_end(x->w);
}

static void write_response(struct writer *x, const char *code, const char *text, const char *answer)
{
    kjw_obj(x->w, code);
    kjw_str(x->w, "description", text);
    if (answer && streq(answer, "string"))
        kjw_raw(x->w, "schema", "{\"type\":\"string\"}", 17);
    else if (answer)
        write_schema_ref(x, answer);
    kjw_end(x->w);
}

static void write_body(struct writer *x, const struct operation *op)
{
    kjw_obj(x->w, NULL);
    kjw_str(x->w, "name", "body");
    kjw_str(x->w, "in", "body");
    if (!streq(op->method, "delete"))
        kjw_bool(x->w, "required", true);
    write_schema_ref(x, op->body);
    kjw_end(x->w);
}

static void write_operation(struct writer *x, const struct operation *op)
{
    struct kjw *w = x->w;
    struct arena *a = x->c->arena;

    kjw_obj(w, op->method);
    kjw_str(w, "description", op->text);
    kjw_raw(w, "consumes", str_or(op->consumes, "[\"*/*\"]"),
            strlen(str_or(op->consumes, "[\"*/*\"]")));
    kjw_raw(w, "produces", str_or(op->produces, ANSWERS), strlen(str_or(op->produces, ANSWERS)));
    kjw_raw(w, "schemes", "[\"https\"]", 9);
    kjw_arr(w, "tags");
    kjw_str(w, NULL, x->tag);
    kjw_end(w);
    kjw_str(w, "operationId", arena_printf(a, "%s%s%s", op->verb, x->group, op->id));
    if (op->body || op->query) {
        kjw_arr(w, "parameters");
        if (op->body)
            write_body(x, op);
        for (size_t i = 0; op->query && op->query[i]; i++)
            write_parameter(w, a, op->query[i]);
        kjw_end(w);
    }
    kjw_obj(w, "responses");
    write_response(x, "200", "OK", op->answer);
    if (op->created)
        write_response(x, "201", "Created", op->answer);
    if (op->accepted)
        write_response(x, "202", "Accepted", op->answer);
    write_response(x, "401", "Unauthorized", NULL);
    kjw_end(w);
    if (op->action) {
        kjw_str(w, "x-kubernetes-action", op->action);
        kjw_obj(w, "x-kubernetes-group-version-kind");
        kjw_str(w, "group", op->kind ? op->kind_group : x->r->group);
        kjw_str(w, "kind", op->kind ? op->kind : x->r->kind);
        kjw_str(w, "version", op->kind ? op->kind_version : x->r->version);
        kjw_end(w);
    }
    kjw_end(w);
}

/* ---- paths of a resource --------------------------------------------------------------------- */

static const char *patch_types(const struct resource *r)
{
    return r->crd ? "[\"application/json-patch+json\",\"application/merge-patch+json\","
                    "\"application/apply-patch+yaml\"]"
                  : "[\"application/json-patch+json\",\"application/merge-patch+json\","
                    "\"application/strategic-merge-patch+json\",\"application/apply-patch+yaml\"]";
}

static const char *say(struct writer *x, const char *what)
{
    return arena_printf(x->c->arena, "%s %s", what, x->r->kind);
}

static void end_path(struct writer *x, bool named, bool in_namespace)
{
    kjw_arr(x->w, "parameters");
    if (named)
        write_parameter(x->w, x->c->arena, "name");
    if (in_namespace)
        write_parameter(x->w, x->c->arena, "namespace");
    write_parameter(x->w, x->c->arena, "pretty");
    kjw_end(x->w);
    kjw_end(x->w);
}

static const char *path_of(struct writer *x, bool in_namespace, const char *rest)
{
    const struct resource *r = x->r;

    return arena_printf(x->c->arena, "/%s%s%s/%s%s%s", *r->group ? "apis/" : "api/", r->group,
                        *r->group ? arena_printf(x->c->arena, "/%s", r->version) : r->version,
                        in_namespace ? "namespaces/{namespace}/" : "", r->plural, rest);
}

static void write_collection(struct writer *x, const char *name, const char *list)
{
    const struct resource *r = x->r;
    struct arena *a = x->c->arena;
    const char *id = arena_printf(a, "%s%s", r->namespaced ? "Namespaced" : "", r->kind);

    kjw_obj(x->w, path_of(x, r->namespaced, ""));
    if (served_has_verb(r, "list"))
        write_operation(x, &(struct operation){ .method = "get",
                                                .action = "list",
                                                .verb = "list",
                                                .text = say(x, "List or watch objects of the kind"),
                                                .id = id,
                                                .produces = STREAMS,
                                                .answer = list,
                                                .query = in_lists });
    if (served_has_verb(r, "create"))
        write_operation(x, &(struct operation){ .method = "post",
                                                .action = "post",
                                                .verb = "create",
                                                .text = say(x, "Create an object of the kind"),
                                                .id = id,
                                                .body = name,
                                                .answer = name,
                                                .created = true,
                                                .accepted = true,
                                                .query = in_writes });
    if (served_has_verb(r, "deletecollection"))
        write_operation(x, &(struct operation){ .method = "delete",
                                                .action = "deletecollection",
                                                .verb = "delete",
                                                .text = say(x, "Delete all selected objects of the "
                                                               "kind"),
                                                .id = arena_printf(a, "Collection%s", id),
                                                .body = META "DeleteOptions",
                                                .answer = META "Status",
                                                .query = in_lists });
    end_path(x, false, r->namespaced);
}

/* sub: a subresource of the same kind, whose verbs are its own; NULL: the object. */
static bool object_has_verb(const struct resource *r, const struct subresource *sub,
                            const char *verb)
{
    return sub ? strstr(sub->verbs, verb) != NULL : served_has_verb(r, verb);
}

static void write_object(struct writer *x, const char *name, const struct subresource *sub)
{
    const struct resource *r = x->r;
    struct arena *a = x->c->arena;
    const char *suffix = sub ? capital(a, sub->name) : "";
    const char *rest = sub ? arena_printf(a, "/{name}/%s", sub->name) : "/{name}";
    const char *id = arena_printf(a, "%s%s%s", r->namespaced ? "Namespaced" : "", r->kind, suffix);

    kjw_obj(x->w, path_of(x, r->namespaced, rest));
    if (object_has_verb(r, sub, "get"))
        write_operation(x, &(struct operation){ .method = "get",
                                                .action = "get",
                                                .verb = "read",
                                                .text = say(x, "Read an object of the kind"),
                                                .id = id,
                                                .answer = name });
    if (object_has_verb(r, sub, "update"))
        write_operation(x, &(struct operation){ .method = "put",
                                                .action = "put",
                                                .verb = "replace",
                                                .text = say(x, "Replace an object of the kind"),
                                                .id = id,
                                                .body = name,
                                                .answer = name,
                                                .created = true,
                                                .query = in_writes });
    if (object_has_verb(r, sub, "delete"))
        write_operation(x, &(struct operation){ .method = "delete",
                                                .action = "delete",
                                                .verb = "delete",
                                                .text = say(x, "Delete an object of the kind"),
                                                .id = id,
                                                .body = META "DeleteOptions",
                                                .answer = returns_deleted(r) ? name : META "Status",
                                                .accepted = true,
                                                .query = in_deletions });
    if (object_has_verb(r, sub, "patch"))
        write_operation(x, &(struct operation){ .method = "patch",
                                                .action = "patch",
                                                .verb = "patch",
                                                .text = say(x, "Change parts of an object of the "
                                                               "kind"),
                                                .id = id,
                                                .consumes = patch_types(r),
                                                .body = META "Patch",
                                                .answer = name,
                                                .created = true,
                                                .query = in_patches });
    end_path(x, true, r->namespaced);
}

/* The kind that a subresource takes and gives, other than that of the resource. */
static void write_foreign(struct writer *x, const struct subresource *sub, const char *suffix)
{
    struct arena *a = x->c->arena;
    const char *version = *sub->version ? sub->version : "v1";
    const struct t_type *t = types_find(sub->group, version, sub->kind);
    const char *id =
        arena_printf(a, "%s%s%s", x->r->namespaced ? "Namespaced" : "", x->r->kind, suffix);
    static const struct {
        const char *verb, *method, *action, *word;
        const char *const *query;
    } rows[] = { { "get", "get", "get", "read", NULL },
                 { "create", "post", "post", "create", in_writes },
                 { "update", "put", "put", "replace", in_writes },
                 { "patch", "patch", "patch", "patch", in_patches } };

    if (!t)
        return; /* streams, which no generator makes use of */
    kjw_obj(x->w, path_of(x, x->r->namespaced, arena_printf(a, "/{name}/%s", sub->name)));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool patch = streq(rows[i].verb, "patch"), body = !streq(rows[i].verb, "get");
        if (!strstr(sub->verbs, rows[i].verb))
            continue;
        write_operation(x, &(struct operation){ .method = rows[i].method,
                                                .action = rows[i].action,
                                                .verb = rows[i].word,
                                                .text = arena_printf(a, "%s the %s of a %s",
                                                                     capital(a, rows[i].word),
                                                                     sub->name, x->r->kind),
                                                .id = id,
                                                .consumes = patch ? patch_types(x->r) : NULL,
                                                .body = patch  ? META "Patch"
                                                        : body ? t->name
                                                               : NULL,
                                                .answer = t->name,
                                                .created = body,
                                                .accepted = streq(rows[i].verb, "create"),
                                                .query = rows[i].query,
                                                .kind = sub->kind,
                                                .kind_group = sub->group,
                                                .kind_version = version });
    }
    end_path(x, true, x->r->namespaced);
}

static void write_log(struct writer *x)
{
    kjw_obj(x->w, path_of(x, true, "/{name}/log"));
    write_operation(x, &(struct operation){ .method = "get",
                                            .action = "get",
                                            .verb = "read",
                                            .text = "Read the log of a Pod",
                                            .id = "NamespacedPodLog",
                                            .answer = "string" });
    end_path(x, true, true);
}

static void write_subresources(struct writer *x, const char *name)
{
    for (size_t i = 0; i < served_nsubs; i++) {
        const struct subresource *sub = &served_subs[i];
        if (!resource_has_sub(x->r, sub->name))
            continue;
        const char *suffix = capital(x->c->arena, sub->name);
        if (streq(sub->name, "log"))
            write_log(x);
        else if (sub->kind)
            write_foreign(x, sub, suffix);
        else
            write_object(x, name, sub);
    }
}

static void write_resource(struct kjw *w, struct api_call *c, const struct resource *r)
{
    struct arena *a = c->arena;
    const char *word = group_word(a, r->group), *name = openapi_schema_name(a, r);
    const char *list = arena_printf(a, "%sList", name);
    struct writer x = { .w = w,
                        .c = c,
                        .r = r,
                        .tag = arena_printf(a, "%s_%s", word, r->version),
                        .group =
                            arena_printf(a, "%s%s", capital(a, word), capital(a, r->version)) };

    write_collection(&x, name, list);
    if (served_has_verb(r, "get"))
        write_object(&x, name, NULL);
    write_subresources(&x, name);
    if (!r->namespaced || !served_has_verb(r, "list"))
        return;
    kjw_obj(w, path_of(&x, false, ""));
    write_operation(&x, &(struct operation){ .method = "get",
                                             .action = "list",
                                             .verb = "list",
                                             .text = say(&x, "List or watch objects of the kind"),
                                             .id = arena_printf(a, "%sForAllNamespaces", r->kind),
                                             .produces = STREAMS,
                                             .answer = list,
                                             .query = in_lists });
    end_path(&x, false, false);
}

/* ---- discovery ------------------------------------------------------------------------------- */

static void write_path(struct kjw *w, struct api_call *c, const char *path, const char *tag,
                       const struct operation *op)
{
    struct writer x = { .w = w, .c = c, .tag = tag, .group = "" };

    kjw_obj(w, path);
    write_operation(&x, op);
    kjw_end(w);
}

static void write_get(struct kjw *w, struct api_call *c, const char *path, const char *tag,
                      const char *id, const char *text, const char *answer)
{
    write_path(w, c, path, tag,
               &(struct operation){
                   .method = "get", .verb = "get", .id = id, .text = text, .answer = answer });
}

/* What tells others how to check the tokens of service accounts. */
static void write_openid(struct kjw *w, struct api_call *c)
{
    static const char issuer[] = "ServiceAccountIssuerOpenID";

    write_path(w, c, "/.well-known/openid-configuration/", "WellKnown",
               &(struct operation){ .method = "get",
                                    .verb = "get",
                                    .id = arena_printf(c->arena, "%sConfiguration", issuer),
                                    .text = "Get where the keys of service accounts are",
                                    .produces = "[\"application/json\"]",
                                    .answer = "string" });
    write_path(w, c, "/openid/v1/jwks/", "openid",
               &(struct operation){ .method = "get",
                                    .verb = "get",
                                    .id = arena_printf(c->arena, "%sKeyset", issuer),
                                    .text = "Get the public keys of service accounts",
                                    .produces = "[\"application/jwk-set+json\"]",
                                    .answer = "string" });
}

static void write_discovery(struct kjw *w, struct api_call *c)
{
    struct arena *a = c->arena;
    struct names groups = { 0 };

    write_get(w, c, "/api/", "core", "CoreAPIVersions", "Get the versions of the core group",
              META "APIVersions");
    write_get(w, c, "/api/v1/", "core_v1", "CoreV1APIResources", "Get the resources of core/v1",
              META "APIResourceList");
    write_get(w, c, "/apis/", "apis", "APIVersions", "Get all groups", META "APIGroupList");
    write_get(w, c, "/version/", "version", "CodeVersion", "Get the version of the server",
              "io.k8s.apimachinery.pkg.version.Info");
    served_groups(apiserver_resources(c->s), &groups);
    vec_foreach(&groups, i) {
        const char *group = groups.items[i], *word = group_word(a, group);
        struct names versions = { 0 };
        write_get(w, c, arena_printf(a, "/apis/%s/", group), word,
                  arena_printf(a, "%sAPIGroup", capital(a, word)), "Get the versions of a group",
                  META "APIGroup");
        served_versions(apiserver_resources(c->s), group, &versions);
        vec_foreach(&versions, k) {
            const char *v = versions.items[k];
            write_get(w, c, arena_printf(a, "/apis/%s/%s/", group, v),
                      arena_printf(a, "%s_%s", word, v),
                      arena_printf(a, "%s%sAPIResources", capital(a, word), capital(a, v)),
                      "Get the resources of a group version", META "APIResourceList");
        }
        vec_fini(&versions);
    }
    vec_fini(&groups);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void write_definitions(struct kjw *w, struct api_call *c)
{
    static const char patch[] = "{\"description\":\"A patch, of the type that the request names.\","
                                "\"type\":\"object\"}";
    static const char info[] =
        "{\"description\":\"The version of the server.\",\"type\":\"object\",\"required\":["
        "\"major\",\"minor\",\"gitVersion\",\"gitCommit\",\"gitTreeState\",\"buildDate\","
        "\"goVersion\",\"compiler\",\"platform\"],\"properties\":{\"buildDate\":{\"type\":"
        "\"string\"},\"compiler\":{\"type\":\"string\"},\"emulationMajor\":{\"type\":\"string\"},"
        "\"emulationMinor\":{\"type\":\"string\"},\"minCompatibilityMajor\":{\"type\":"
        "\"string\"},\"minCompatibilityMinor\":{\"type\":\"string\"},\"gitCommit\":{\"type\":"
        "\"string\"},"
        "\"gitTreeState\":{\"type\":\"string\"},\"gitVersion\":{\"type\":\"string\"},"
        "\"goVersion\":{\"type\":\"string\"},\"major\":{\"type\":\"string\"},\"minor\":{\"type\":"
        "\"string\"},\"platform\":{\"type\":\"string\"}}}";

    kjw_obj(w, "definitions");
    openapi_write_schemas(w, c, OPENAPI_V2, NULL, NULL);
    kjw_raw(w, META "Patch", patch, sizeof patch - 1);
    kjw_raw(w, "io.k8s.apimachinery.pkg.version.Info", info, sizeof info - 1);
    kjw_end(w);
}

static void openapi_v2_write(struct api_call *c, struct strbuf *out)
{
    static const char security[] =
        "{\"BearerToken\":{\"description\":\"Bearer Token authentication\",\"type\":\"apiKey\","
        "\"name\":\"authorization\",\"in\":\"header\"}}";
    struct kjw writer = kjw_to(out), *w = &writer;
    const struct resource *r;

    kjw_obj(w, NULL);
    kjw_str(w, "swagger", "2.0");
    kjw_obj(w, "info");
    kjw_str(w, "title", "Kubernetes");
    kjw_str(w, "version", apiserver_version(c->s));
    kjw_end(w);
    kjw_obj(w, "paths");
    write_discovery(w, c);
    write_openid(w, c);
    for (size_t i = 0; (r = res_table_at(apiserver_resources(c->s), i)); i++)
        if (openapi_type(r) || r->crd)
            write_resource(w, c, r);
    kjw_end(w);
    write_definitions(w, c);
    write_parameters_section(w);
    kjw_raw(w, "securityDefinitions", security, sizeof security - 1);
    kjw_raw(w, "security", "[{\"BearerToken\":[]}]", 20);
    kjw_end(w);
}

/* The form that stands first among those the client takes. */
static bool wants_protobuf(const struct api_call *c)
{
    const char *binary = c->accept ? strstr(c->accept, "proto-openapi.spec.v2") : NULL;
    const char *json = c->accept ? strstr(c->accept, "application/json") : NULL;

    return binary && (!json || binary < json);
}

static void reply_protobuf(struct api_call *c, const struct strbuf *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    if (kj_parse(json->data, json->len, KJ_RAW_NUMBERS, &doc, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    openapi_gnostic(kj_root(doc), &b);
    c->reply_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    api_reply(c, 200, b.data, b.len);
}

void openapi_v2_reply(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    bool binary = wants_protobuf(c);
    uint64_t hash = openapi_hash(c, NULL, NULL);

    c->reply_etag =
        arena_printf(c->arena, "\"%016llX%s\"", (unsigned long long)hash, binary ? "P" : "");
    if (c->if_none_match && strstr(c->if_none_match, c->reply_etag)) {
        api_reply(c, 304, "", 0);
        return;
    }
    openapi_v2_write(c, &b);
    if (binary)
        reply_protobuf(c, &b);
    else
        api_reply(c, 200, b.data, b.len);
}
