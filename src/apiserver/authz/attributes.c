/* attributes.c - what a request asks for, read from method and target alone, by the rules of
 * kube-apiserver's request info: authorization comes before anybody looks whether it is served. */
#include <ctype.h>
#include <strings.h>

#include "apiserver/authz/authorizer.h"
#include "base/arena.h"
#include "net/url.h"

enum { PARTS_MAX = 16 }; /* more belong to the path of a proxied request: of no interest here */

struct parts {
    const char *items[PARTS_MAX];
    size_t n;
};

static void split(const char *path, struct arena *a, struct parts *p)
{
    const char *end = path + strlen(path);

    p->n = 0;
    while (*path == '/')
        path++;
    while (end > path && end[-1] == '/')
        end--;
    while (path < end && p->n < PARTS_MAX) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        size_t k = (size_t)((slash ? slash : end) - path);
        p->items[p->n++] = arena_strndup(a, path, k);
        path += k + (slash != NULL);
    }
}

static void shift(struct parts *p, size_t n)
{
    memmove(p->items, p->items + n, (p->n - n) * sizeof p->items[0]);
    p->n -= n;
}

static const char *verb_of(const char *method)
{
    static const char *const verbs[][2] = { { "POST", "create" }, { "GET", "get" },
                                            { "HEAD", "get" },    { "PUT", "update" },
                                            { "PATCH", "patch" }, { "DELETE", "delete" } };

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (streq(verbs[i][0], method))
            return verbs[i][1];
    return "";
}

static const char *lower(const char *text, struct arena *a)
{
    char *l = arena_strdup(a, text);

    for (char *p = l; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return l;
}

/* The one object that a list or watch is restricted to by its field selector; "": not to one. */
static const char *selected_name(const char *selector, struct arena *a)
{
    static const char field[] = "metadata.name";

    for (const char *p = selector; p && *p;) {
        size_t n = strcspn(p, ","), k = sizeof field - 1;
        if (n > k && memcmp(p, field, k) == 0 && p[k] == '=') {
            k += p[k + 1] == '=' ? 2 : 1;
            const char *name = arena_strndup(a, p + k, n - k);
            bool plain = !strpbrk(name, "/%\\") && !streq(name, ".") && !streq(name, "..");
            return plain ? name : "";
        }
        p += n + (p[n] == ',');
    }
    return "";
}

static void refine_verb(const char *target, struct arena *a, struct authz_attributes *r)
{
    if (*r->name)
        return;
    if (streq(r->verb, "delete"))
        r->verb = "deletecollection";
    if (!streq(r->verb, "get") && !streq(r->verb, "watch"))
        return;
    const char *watch = url_query_get(target, "watch", a);
    if (streq(r->verb, "get"))
        r->verb = watch && strcasecmp(watch, "false") != 0 && !streq(watch, "0") ? "watch" : "list";
    r->name = selected_name(url_query_get(target, "fieldSelector", a), a);
}

static bool is_namespace_sub(const char *part)
{
    return streq(part, "status") || streq(part, "finalize");
}

static bool read_resource(struct parts *p, const char *method, struct authz_attributes *r)
{
    r->version = p->items[0];
    shift(p, 1);
    r->verb = verb_of(method);
    if (streq(p->items[0], "watch") || streq(p->items[0], "proxy")) {
        if (p->n < 2)
            return false;
        r->verb = p->items[0];
        shift(p, 1);
    }
    if (streq(p->items[0], "namespaces") && p->n > 1) {
        r->ns = p->items[1];
        if (p->n > 2 && !is_namespace_sub(p->items[2]))
            shift(p, 2);
    }
    r->resource = p->items[0];
    if (p->n > 1)
        r->name = p->items[1];
    if (p->n > 2 && !streq(r->verb, "proxy"))
        r->subresource = p->items[2];
    return true;
}

bool authz_attributes_of(const char *method, const char *target, struct arena *a,
                         struct authz_attributes *ret)
{
    const char *path = url_unescape(target, strcspn(target, "?#"), false, a);
    struct parts p;

    *ret = (struct authz_attributes)AUTHZ_ATTRIBUTES_INIT;
    if (!path)
        return false;
    ret->path = path;
    ret->verb = lower(method, a);
    split(path, a, &p);
    bool core = p.n >= 3 && streq(p.items[0], "api"),
         grouped = p.n >= 4 && streq(p.items[0], "apis");
    ret->is_path = !core && !grouped;
    if (ret->is_path)
        return true;
    if (grouped)
        ret->group = p.items[1];
    shift(&p, grouped ? 2 : 1);
    if (!read_resource(&p, method, ret))
        return false;
    refine_verb(target, a, ret);
    return true;
}
