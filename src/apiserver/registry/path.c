/* path.c - what the path of a request asks for. */
#include "apiserver/registry/internal.h"
#include "net/url.h"

enum { SEGMENTS_MAX = 16 };

/* Unescaped segments; one between two slashes is empty, which nothing is called. -1: one cannot be
 * read. -2: there are too many, or one hides a slash. */
static int split(struct api_call *c, const char **seg)
{
    const char *p = c->target, *end = p + strcspn(p, "?#");
    int n = 0;

    while (end > p && end[-1] == '/')
        end--;
    while (p < end) {
        p += *p == '/';
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t k = (size_t)((slash ? slash : end) - p);
        if (n == SEGMENTS_MAX)
            return -2;
        seg[n] = url_unescape(p, k, false, c->arena);
        if (!seg[n])
            return -1;
        if (strchr(seg[n], '/'))
            return -2;
        n++;
        p += k;
    }
    return n;
}

/* The rest after group and version: [namespaces NS] RESOURCE [NAME [SUB]]. */
static int parse_object(struct api_call *c, const char *group, const char *version,
                        const char **seg, int n, struct kerr *err)
{
    const struct res_table *t = c->s->resources;
    const struct resource *r;
    bool scoped = false;

    if (n >= 3 && streq(seg[0], "namespaces") &&
        !(streq(group, "") && n == 3 && (streq(seg[2], "status") || streq(seg[2], "finalize")))) {
        c->ns = seg[1];
        scoped = true;
        seg += 2;
        n -= 2;
    }
    r = res_table_find(t, group, version, seg[0]);
    bool proxy = n > 3 && streq(seg[2], "proxy"); /* the rest is somebody else's path */
    if (!r || (n > 3 && !proxy) || (scoped && !r->namespaced) ||
        (!scoped && r->namespaced && n > 1) || streq(c->ns, ".") || streq(c->ns, "..") ||
        (scoped && !*c->ns))
        return api_err_not_served(err);
    if (n > 1)
        c->name = seg[1];
    const char *why = path_segment_problem(str_of(c->name));
    if (why)
        return api_err(c, err, -EINVAL, KR_BAD_REQUEST, "Name parameter invalid: \"%s\": %s",
                       c->name, why);
    if (n > 2) {
        c->sub = seg[2];
        if (!resource_has_sub(r, c->sub))
            return api_err_not_served(err);
    }
    c->res = resource_ref(r);
    return 0;
}

/* Namespaces are deleted one by one. */
static bool is_namespaces(const struct resource *r)
{
    return !*r->group && streq(r->plural, "namespaces");
}

static int find_verb(struct api_call *c, struct kerr *err)
{
    bool named = *c->name, sub = *c->sub;
    bool scoped = !c->res->namespaced || *c->ns; /* a collection one may write to */
    const char *m = c->method;

    if (streq(m, "GET"))
        c->verb = named ? API_GET : API_LIST;
    else if (streq(m, "POST") && scoped && named == sub)
        c->verb = API_CREATE;
    else if (streq(m, "PUT") && named)
        c->verb = API_UPDATE;
    else if (streq(m, "PATCH") && named)
        c->verb = API_PATCH;
    else if (streq(m, "DELETE") && named && !sub)
        c->verb = API_DELETE;
    else if (streq(m, "DELETE") && !named && scoped && !is_namespaces(c->res))
        c->verb = API_DELETE_COLLECTION;
    else
        return api_err_method(err);
    return 0;
}

/* The old form of a watch: /api/v1/watch/pods, /api/v1/watch/namespaces/x/pods/y. */
static void turn_to_watch(struct api_call *c)
{
    if (c->verb == API_GET && !*c->sub) {
        c->field_selector = arena_printf(c->arena, "metadata.name=%s", c->name);
        c->name = "";
        c->verb = API_LIST;
    }
    if (c->verb == API_LIST)
        c->verb = API_WATCH;
}

int path_parse(struct api_call *c, bool *ret_page, struct kerr *err)
{
    const char *seg[SEGMENTS_MAX];
    const char *group, *version;
    int skip, n = split(c, seg);

    *ret_page = false;
    c->path = url_unescape(c->target, strcspn(c->target, "?#"), false, c->arena);
    c->ns = c->name = c->sub = "";
    if (n == -1 || !c->path) {
        *ret_page = true;
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "400 Bad Request");
    }
    if (n < 0)
        return api_err_not_served(err);
    if (n > 2 && streq(seg[0], "api")) {
        group = "", version = seg[1], skip = 2;
    } else if (n > 3 && streq(seg[0], "apis")) {
        group = seg[1], version = seg[2], skip = 3;
    } else {
        c->verb = API_NONE;
        return 0;
    }
    if (skip == 3 && (!*group || !res_table_has_group(c->s->resources, group, NULL))) {
        *ret_page = true;
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "404 page not found");
    }
    bool watch = n > skip + 1 && streq(seg[skip], "watch") && streq(c->method, "GET");
    skip += watch;
    int e = parse_object(c, group, version, seg + skip, n - skip, err);
    if (e == 0)
        e = find_verb(c, err);
    if (e == 0 && watch)
        turn_to_watch(c);
    return e;
}
