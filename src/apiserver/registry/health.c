/* health.c - /healthz, /livez and /readyz, whole and by check, with upstream's names where there is
 * such a check here: "etcd" is the store. */
#include "apiserver/registry/internal.h"
#include "net/url.h"

enum { LIVE = 1, READY = 2, HEALTH = 4, ALL = LIVE | READY | HEALTH };

/* Why it fails; NULL: it does not. */
static const char *check_nothing(const struct apiserver *s)
{
    (void)s;
    return NULL;
}

/* Reads go on whatever the disk does; but who cannot write is no use to most clients. */
static const char *check_store(const struct apiserver *s)
{
    const struct kerr *err = store_failing(s->store);
    return err ? err->text : NULL;
}

static const char *check_shutdown(const struct apiserver *s)
{
    return s->stopping ? "the server is stopping" : NULL;
}

static const struct {
    const char *name;
    unsigned roots;
    const char *(*check)(const struct apiserver *s);
} checks[] = {
    { "ping", ALL, check_nothing },
    { "log", ALL, check_nothing },
    { "etcd", READY | HEALTH, check_store }, /* a restart would not help a full disk: not LIVE */
    { "etcd-readiness", READY, check_store },
    { "informer-sync", READY, check_nothing },
    { "shutdown", READY, check_shutdown },
    { "store", READY | HEALTH, check_store }, /* our own name of it */
};

static unsigned root_of(const char *path, const char **ret_rest)
{
    static const struct {
        const char *path;
        unsigned root;
    } roots[] = { { "/healthz", HEALTH }, { "/livez", LIVE }, { "/readyz", READY } };

    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        const char *rest = path + strlen(roots[i].path);
        if (str_starts(path, roots[i].path) && (!*rest || *rest == '/')) {
            *ret_rest = *rest == '/' ? rest + 1 : rest;
            return roots[i].root;
        }
    }
    return 0;
}

static bool is_excluded(const char *target, const char *name)
{
    static const char key[] = "exclude=";
    size_t n = strlen(name);

    for (const char *p = target; (p = strstr(p, key)); p++) {
        const char *v = p + sizeof key - 1;
        if ((p[-1] == '?' || p[-1] == '&') && strncmp(v, name, n) == 0 && (!v[n] || v[n] == '&'))
            return true;
    }
    return false;
}

bool health_handle(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *only = "";
    unsigned root = root_of(c->path, &only);
    bool sick = false, known = !*only;

    for (size_t i = 0; root && i < ARRAY_LEN(checks); i++) {
        if (!(checks[i].roots & root) || (*only && !streq(only, checks[i].name)))
            continue;
        known = true;
        const char *why = is_excluded(c->target, checks[i].name) ? NULL : checks[i].check(c->s);
        sick |= why != NULL;
        if (why)
            strbuf_appendf(&b, "[-]%s failed: %s\n", checks[i].name, why);
        else
            strbuf_appendf(&b, "[+]%s %s\n", checks[i].name,
                           is_excluded(c->target, checks[i].name) ? "excluded: ok" : "ok");
    }
    if (!root || !known)
        return false;
    if (sick || (url_query_get(c->target, "verbose", c->arena) && !*only))
        strbuf_appendf(&b, "%.*s check %s\n", (int)strcspn(c->path + 1, "/"), c->path + 1,
                       sick ? "failed" : "passed");
    else
        strbuf_reset(&b), strbuf_append(&b, "ok");
    c->reply_type = "text/plain; charset=utf-8";
    api_reply(c, sick ? 500 : 200, b.data, b.len);
    return true;
}
