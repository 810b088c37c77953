/* rest.c - the REST paths of a scheduler (scheduler-core 11.4). */
#include "scheduler/observe/rest.h"

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "component/serve.h"
#include "net/url.h"
#include "scheduler/observe/debug.h"
#include "json/kj.h"

#define SERVICES_PATH "/apis/v1/__services__"
#define NODES_PATH    "/apis/v1/nodes/"
#define PLUGINS_PATH  "/apis/v1/plugins/"

static void answer_json(struct httpd_req *r, int status, const struct strbuf *body)
{
    httpd_reply(r, status, "application/json", body->data, body->len);
}

static void answer_message(struct httpd_req *r, int status, const char *message)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "message", message);
    kjw_end(&w);
    answer_json(r, status, &body);
}

static bool leads(const struct scheduler *s, struct httpd_req *r)
{
    static const char text[] = "{\"message\": \"the instance is not leader\"}";

    if (!s->leads || s->leads(s->leads_arg))
        return true;
    httpd_reply(r, 503, "application/json", text, sizeof text - 1);
    return false;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void on_node(void *arg, struct httpd_req *r)
{
    const struct scheduler *s = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD") || !leads(s, r))
        return;
    const char *path = serve_path(r, a);
    const char *name = path && str_starts(path, NODES_PATH) ? path + strlen(NODES_PATH) : "";
    if (debug_node(s->cache, name, &body))
        answer_json(r, 200, &body);
    else
        answer_message(r, 404, arena_printf(a, "cannot find node %s", name));
}

/* ---- plugins --------------------------------------------------------------------------------- */

/* The segments of the path as they are called for by the pattern: those that it names are equal,
 * the others become params. NULL: another path. */
static const char *const *match(const char *pattern, const char *path, struct arena *a)
{
    const char **params = arena_newn0(a, strlen(pattern) / 2 + 1, const char *);
    size_t n = 0;

    for (;; pattern++, path++) {
        size_t want = strcspn(pattern, "/"), have = strcspn(path, "/");
        if (*pattern == ':' && have > 0)
            params[n++] = url_unescape(path, have, false, a);
        else if (want != have || memcmp(pattern, path, want) != 0)
            return NULL;
        if (*pattern == ':' && !params[n - 1])
            return NULL;
        pattern += want;
        path += have;
        if (!*pattern || !*path)
            return *pattern == *path ? params : NULL;
    }
}

/* The first service of this name with a path that matches; others of its kind have other args. */
static const struct ks_path *find_path(const struct scheduler *s, const char *plugin, size_t len,
                                       const char *path, struct ks_get *g, void **ret_service)
{
    const struct service_instance *i = service_table_first(s->services);

    for (; i; i = i->next) {
        if (strlen(i->key->name) != len || memcmp(i->key->name, plugin, len) != 0)
            continue;
        *ret_service = i->self;
        for (const struct ks_path *p = i->key->paths; p && p->pattern; p++)
            if ((g->params = match(p->pattern, path, g->arena)))
                return p;
    }
    return NULL;
}

const char *ks_get_query(const struct ks_get *g, const char *key)
{
    return url_query_get(g->target, key, g->arena);
}

static void on_plugin(void *arg, struct httpd_req *r)
{
    const struct scheduler *s = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct ks_get g = { .target = httpd_target(r), .arena = a };
    struct kerr err = { 0 };
    void *service = NULL;

    if (!serve_allow(r, "GET, HEAD") || !leads(s, r))
        return;
    const char *path = arena_strndup(a, g.target, strcspn(g.target, "?"));
    const char *plugin = path + strlen(PLUGINS_PATH);
    size_t len = strcspn(plugin, "/");
    const struct ks_path *p =
        plugin[len] ? find_path(s, plugin, len, plugin + len + 1, &g, &service) : NULL;
    if (!p) {
        serve_text(r, 404, "404 page not found");
        return;
    }
    struct kjw w = kjw_to(&body);
    if (p->get(service, &g, &w, &err) < 0)
        answer_message(r, err.reason == KR_NOT_FOUND ? 404 : 500, err.text);
    else
        answer_json(r, 200, &body);
}

/* ---- which there are ------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void on_services(void *arg, struct httpd_req *r)
{
    const struct scheduler *s = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct vec_of(const char *) paths = { 0 };
    const char *last = "";

    if (!serve_allow(r, "GET, HEAD") || !leads(s, r))
        return;
    vec_push(&paths, SERVICES_PATH);
    vec_push(&paths, NODES_PATH ":nodeName");
    for (const struct service_instance *i = service_table_first(s->services); i; i = i->next)
        for (const struct ks_path *p = i->key->paths; p && p->pattern; p++)
            vec_push(&paths, arena_printf(a, PLUGINS_PATH "%s/%s", i->key->name, p->pattern));
    qsort(paths.items, paths.n, sizeof *paths.items, by_text);
    struct kjw w = kjw_to(&body);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "GET");
    vec_foreach(&paths, i) {
        if (!streq(paths.items[i], last)) /* two services may have the same */
            kjw_str(&w, NULL, paths.items[i]);
        last = paths.items[i];
    }
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&paths);
    answer_json(r, 200, &body);
}

void rest_serve(struct scheduler *s, struct serve *serve)
{
    serve_handle(serve, SERVICES_PATH, on_services, s);
    serve_handle(serve, NODES_PATH, on_node, s);
    serve_handle(serve, PLUGINS_PATH, on_plugin, s);
}
