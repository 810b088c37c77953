/* discovery.c - /api, /apis and below: what is served, in the old form and in the aggregated one.
 *
 * Documents are written anew for each request: clients cache them, and some tens of kilobytes are
 * written faster than a cache would be kept right.
 */
#include "apiserver/http/discovery.h"
#include "apiserver/authn/accounts.h"

#include <ctype.h>
#include <stdio.h>

#include "apiserver/authn/openid.h"
#include "apiserver/http/openapi.h"
#include "apiserver/http/protobuf.h"
#include "apiserver/http/served.h"
#include "base/b64.h"
#include "base/map.h"
#include "net/digest.h"

/* ---- what the client takes ----------------------------------------------------------------------
 */

/* The next clause of an Accept header; "": there is none. */
static const char *next_clause(struct arena *a, const char **p)
{
    size_t n = strcspn(*p, ",");
    const char *clause = arena_strndup(a, *p, n);

    *p += n;
    *p += **p == ',';
    return clause;
}

/* The version of the aggregated form that the client prefers; NULL: the old form. */
static const char *aggregated_version(const struct api_call *c)
{
    for (const char *p = accept_by_preference(c); *p;) {
        const char *clause = next_clause(c->arena, &p);
        bool known = strstr(clause, "application/json") || strstr(clause, PROTOBUF_TYPE);
        if (known && strstr(clause, "as=APIGroupDiscoveryList"))
            return strstr(clause, "v=v2beta1") ? "v2beta1" : "v2";
        if (known || strstr(clause, "*/*"))
            return NULL;
    }
    return NULL;
}

/* The media type of the first clause that we have an answer for; NULL: JSON. */
static const char *form_of(const struct api_call *c)
{
    for (const char *p = accept_by_preference(c); *p;) {
        const char *clause = next_clause(c->arena, &p);
        if (strstr(clause, PROTOBUF_TYPE))
            return PROTOBUF_TYPE;
        if (strstr(clause, "application/yaml"))
            return "application/yaml";
        if (strstr(clause, "application/json") || strstr(clause, "*/*"))
            return NULL;
    }
    return NULL;
}

/* A document of the old form. */
static void reply_form(struct api_call *c, const struct strbuf *doc)
{
    discovery_reply(c, form_of(c), doc);
}

/* ---- parts of both forms ------------------------------------------------------------------------
 */

/* While a definition is being deleted its objects can still be changed, but clients are not told.
 */
static bool writes(const char *verb)
{
    return streq(verb, "create") || streq(verb, "patch") || streq(verb, "update");
}

static void write_verbs(struct kjw *w, const struct resource *r)
{
    static const char *const verbs[] = { "create", "delete", "deletecollection", "get",
                                         "list",   "patch",  "update",           "watch" };
    kjw_arr(w, "verbs");
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (served_has_verb(r, verbs[i]) && !(r->terminating && writes(verbs[i])))
            kjw_str(w, NULL, verbs[i]);
    kjw_end(w);
}

/* Of the version in which objects are stored: the first 8 bytes of the SHA-256 of its name. */
static void write_storage_hash(struct kjw *w, const struct resource *r)
{
    CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;
    const char *version = r->hashed_as ? r->hashed_as : r->stored_as;
    uint8_t sum[DIGEST_SIZE];

    if (!served_has_verb(r, "create") || !served_has_verb(r, "get"))
        return;
    if (version)
        strbuf_appendf(&name, "%s/%s", version, r->kind);
    else
        strbuf_appendf(&name, "%s/%s/%s", r->group, r->version, r->kind);
    digest_sha256(name.data, name.len, sum);
    b64_encode(sum, 8, &text);
    kjw_str(w, "storageVersionHash", text.data);
}

/* "pod" of Pod, where the table has no singular. */
static void write_singular(struct kjw *w, const char *key, const struct resource *r)
{
    CLEANUP(mem_free) char *lower = xstrdup(str_empty(r->singular) ? r->kind : r->singular);
    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    kjw_str(w, key, lower);
}

static void write_list(struct kjw *w, const char *key, const char *comma_separated)
{
    if (str_empty(comma_separated))
        return;
    kjw_arr(w, key);
    for (const char *p = comma_separated; *p;) {
        size_t n = strcspn(p, ",");
        kjw_strn(w, NULL, p, n);
        p += n;
        p += *p == ',';
    }
    kjw_end(w);
}

/* What a subresource takes and gives: the object itself, or a kind of its own. */
static const char *sub_kind(const struct resource *r, const struct subresource *s, char *buf,
                            size_t size)
{
    if (streq(s->name, "proxy")) {
        (void)snprintf(buf, size, "%sProxyOptions", r->kind);
        return buf;
    }
    return s->kind ? s->kind : r->kind;
}

/* ---- the old form -------------------------------------------------------------------------------
 */

static void write_old_resource(struct kjw *w, const struct resource *r)
{
    kjw_obj(w, NULL);
    kjw_str(w, "name", r->plural);
    write_singular(w, "singularName", r);
    kjw_bool(w, "namespaced", r->namespaced);
    kjw_str(w, "kind", r->kind);
    write_verbs(w, r);
    write_list(w, "shortNames", r->short_names);
    write_list(w, "categories", r->categories);
    write_storage_hash(w, r);
    kjw_end(w);
    for (size_t i = 0; i < served_nsubs; i++) {
        const struct subresource *s = &served_subs[i];
        char name[256];
        if (!resource_has_sub(r, s->name))
            continue;
        (void)snprintf(name, sizeof name, "%s/%s", r->plural, s->name);
        kjw_obj(w, NULL);
        kjw_str(w, "name", name);
        kjw_str(w, "singularName", "");
        kjw_bool(w, "namespaced", r->namespaced);
        if (*s->group) {
            kjw_str(w, "group", s->group);
            kjw_str(w, "version", s->version);
        }
        kjw_str(w, "kind", sub_kind(r, s, name, sizeof name));
        write_list(w, "verbs", s->verbs);
        kjw_end(w);
    }
}

static void reply_resources(struct api_call *c, const char *group, const char *version)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    struct res_list list = { 0 };

    served_list(apiserver_resources(c->s), group, version, &list);
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "APIResourceList");
    if (*group)
        kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "groupVersion", *group ? arena_printf(c->arena, "%s/%s", group, version) : version);
    kjw_arr(&w, "resources");
    vec_foreach(&list, i)
        write_old_resource(&w, list.items[i]);
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&list);
    reply_form(c, &b);
}

static void write_version(struct kjw *w, struct arena *a, const char *key, const char *group,
                          const char *version)
{
    kjw_obj(w, key);
    kjw_str(w, "groupVersion", arena_printf(a, "%s/%s", group, version));
    kjw_str(w, "version", version);
    kjw_end(w);
}

static void write_group(struct kjw *w, struct api_call *c, const char *group, bool alone)
{
    struct names versions = { 0 };

    served_versions(apiserver_resources(c->s), group, &versions);
    kjw_obj(w, NULL);
    if (alone) {
        kjw_str(w, "kind", "APIGroup");
        kjw_str(w, "apiVersion", "v1");
    }
    kjw_str(w, "name", group);
    kjw_arr(w, "versions");
    vec_foreach(&versions, i)
        write_version(w, c->arena, NULL, group, versions.items[i]);
    kjw_end(w);
    write_version(w, c->arena, "preferredVersion", group, versions.items[0]);
    kjw_end(w);
    vec_fini(&versions);
}

static void reply_groups(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    struct names groups = { 0 };

    served_groups(apiserver_resources(c->s), &groups);
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "APIGroupList");
    kjw_str(&w, "apiVersion", "v1");
    kjw_arr(&w, "groups");
    vec_foreach(&groups, i)
        write_group(&w, c, groups.items[i], false);
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&groups);
    reply_form(c, &b);
}

static void reply_group(struct api_call *c, const char *group)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kjw w = kjw_to(&b);
    write_group(&w, c, group, true);
    reply_form(c, &b);
}

static void reply_versions(struct api_call *c)
{
    static const char text[] =
        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":"
        "[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"127.0.0.1\"}]}";
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    strbuf_append(&b, text);
    reply_form(c, &b);
}

static void reply_paths(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct res_table *t = apiserver_resources(c->s);
    struct kjw w = kjw_to(&b);
    struct names groups = { 0 };

    served_groups(t, &groups);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "paths");
    kjw_str(&w, NULL, "/api");
    kjw_str(&w, NULL, "/api/v1");
    kjw_str(&w, NULL, "/apis");
    vec_foreach(&groups, i) {
        struct names versions = { 0 };
        served_versions(t, groups.items[i], &versions);
        kjw_str(&w, NULL, arena_printf(c->arena, "/apis/%s", groups.items[i]));
        vec_foreach(&versions, k)
            kjw_str(&w, NULL,
                    arena_printf(c->arena, "/apis/%s/%s", groups.items[i], versions.items[k]));
        vec_fini(&versions);
    }
    static const char *const rest[] = { "/healthz",    "/livez",  "/openapi/v2",
                                        "/openapi/v3", "/readyz", "/version" };
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        kjw_str(&w, NULL, rest[i]);
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&groups);
    c->pretty = true;
    api_reply(c, 200, b.data, b.len);
}

/* ---- the aggregated form ------------------------------------------------------------------------
 */

static void write_kind(struct kjw *w, const char *group, const char *version, const char *kind)
{
    kjw_obj(w, "responseKind");
    kjw_str(w, "group", group);
    kjw_str(w, "version", version);
    kjw_str(w, "kind", kind);
    kjw_end(w);
}

static void write_new_resource(struct kjw *w, const struct resource *r)
{
    /* Built-in kinds leave out what the group and version above say; custom ones do not. */
    const char *group = r->crd ? r->group : "", *version = r->crd ? r->version : "";
    bool open = false;

    kjw_obj(w, NULL);
    kjw_str(w, "resource", r->plural);
    write_kind(w, group, version, r->kind);
    kjw_str(w, "scope", r->namespaced ? "Namespaced" : "Cluster");
    write_singular(w, "singularResource", r);
    write_verbs(w, r);
    write_list(w, "shortNames", r->short_names);
    write_list(w, "categories", r->categories);
    for (size_t i = 0; i < served_nsubs; i++) {
        const struct subresource *s = &served_subs[i];
        if (!resource_has_sub(r, s->name))
            continue;
        if (!open)
            kjw_arr(w, "subresources");
        open = true;
        kjw_obj(w, NULL);
        kjw_str(w, "subresource", s->name);
        char name[256];
        const char *kind = sub_kind(r, s, name, sizeof name);
        if (s->kind)
            write_kind(w, s->group, s->version, kind);
        else
            write_kind(w, group, version, kind);
        write_list(w, "verbs", s->verbs);
        kjw_end(w);
    }
    if (open)
        kjw_end(w);
    kjw_end(w);
}

static void write_new_group(struct kjw *w, const struct res_table *t, const char *group)
{
    struct names versions = { 0 };

    served_versions(t, group, &versions);
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    if (*group)
        kjw_str(w, "name", group);
    kjw_end(w);
    kjw_arr(w, "versions");
    vec_foreach(&versions, i) {
        struct res_list list = { 0 };
        served_list(t, group, versions.items[i], &list);
        kjw_obj(w, NULL);
        kjw_str(w, "version", versions.items[i]);
        kjw_arr(w, "resources");
        vec_foreach(&list, k)
            write_new_resource(w, list.items[k]);
        kjw_end(w);
        kjw_str(w, "freshness", "Current");
        kjw_end(w);
        vec_fini(&list);
    }
    kjw_end(w);
    kjw_end(w);
    vec_fini(&versions);
}

static void reply_aggregated(struct api_call *c, bool core, const char *version)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct res_table *t = apiserver_resources(c->s);
    struct kjw w = kjw_to(&b);
    struct names groups = { 0 };

    if (core)
        vec_push(&groups, "");
    else
        served_groups(t, &groups);
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "APIGroupDiscoveryList");
    kjw_str(&w, "apiVersion", arena_printf(c->arena, "apidiscovery.k8s.io/%s", version));
    kjw_raw(&w, "metadata", "{}", 2);
    kjw_arr(&w, "items");
    vec_foreach(&groups, i)
        write_new_group(&w, t, groups.items[i]);
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&groups);
    discovery_reply(c,
                    arena_printf(c->arena, "%s;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList",
                                 str_or(form_of(c), "application/json"), version),
                    &b);
}

/* ---- answers ------------------------------------------------------------------------------------
 */

void discovery_reply(struct api_call *c, const char *type, const struct strbuf *doc)
{
    c->reply_etag =
        arena_printf(c->arena, "\"%016llX\"", (unsigned long long)hash_stable(doc->data, doc->len));
    c->reply_type = type;
    if (c->if_none_match && strstr(c->if_none_match, c->reply_etag))
        api_reply(c, 304, "", 0);
    else
        api_reply(c, 200, doc->data, doc->len);
}

/* The segments after a prefix: "/apis/" of "/apis/apps/v1/" gives apps, v1. -1: more than two. */
static int split(struct api_call *c, const char *rest, const char *seg[2])
{
    int n = 0;
    for (const char *p = rest; *p;) {
        size_t len = strcspn(p, "/");
        if (len) {
            if (n == 2)
                return -1;
            seg[n++] = arena_strndup(c->arena, p, len);
        }
        p += len;
        p += *p == '/';
    }
    return n;
}

static void refuse(struct api_call *c, bool known)
{
    struct kerr err = { 0 };
    if (known)
        api_err_method(&err);
    else
        api_err_not_served(&err);
    api_fail(c, &err);
}

static bool handle_core(struct api_call *c)
{
    const char *seg[2], *as = aggregated_version(c);
    int n = split(c, c->path + strlen("/api"), seg);

    bool known = n == 0 || (n == 1 && streq(seg[0], "v1"));

    if (!known || !api_reads(c))
        refuse(c, known);
    else if (n == 0 && as)
        reply_aggregated(c, true, as);
    else if (n == 0)
        reply_versions(c);
    else
        reply_resources(c, "", "v1");
    return true;
}

static bool handle_groups(struct api_call *c)
{
    const struct res_table *t = apiserver_resources(c->s);
    const char *seg[2], *as = aggregated_version(c);
    int n = split(c, c->path + strlen("/apis"), seg);

    if (n < 0 || (n > 0 && !res_table_has_group(t, seg[0], NULL)))
        return false;
    if (n == 0 && as) {
        reply_aggregated(c, false, as);
    } else if (n == 0) {
        reply_groups(c);
    } else if (n == 1) {
        reply_group(c, seg[0]);
    } else if (!api_reads(c) || !res_table_has_group(t, seg[0], seg[1])) {
        refuse(c, res_table_has_group(t, seg[0], seg[1]));
    } else {
        reply_resources(c, seg[0], seg[1]);
    }
    return true;
}

static bool is_under(const char *path, const char *root)
{
    size_t n = strlen(root);
    return str_starts(path, root) && (!path[n] || path[n] == '/');
}

bool discovery_handle(struct api_call *c)
{
    if (streq(c->path, "/")) {
        reply_paths(c);
        return true;
    }
    if (is_under(c->path, "/api"))
        return handle_core(c);
    if (is_under(c->path, "/apis"))
        return handle_groups(c);
    if (is_under(c->path, "/openapi/v3"))
        return openapi_handle(c);
    if (openid_handle(c))
        return true;
    if (streq(c->path, "/openapi/v2")) {
        openapi_v2_reply(c);
        return true;
    }
    return false;
}
