/* serve_health.c - /healthz, /livez and /readyz, with Kubernetes' texts. */
#include "base/klog.h"
#include "component/metrics.h"
#include "component/serve_int.h"
#include "net/url.h"

static const struct endpoint {
    const char *name;
    unsigned bit;
} endpoints[] = { { "healthz", SERVE_HEALTHZ },
                  { "livez", SERVE_LIVEZ },
                  { "readyz", SERVE_READYZ } };

void serve_add_check(struct serve *s, unsigned where, const char *name, serve_check_fn fn,
                     void *arg)
{
    vec_push(&s->checks, ((struct serve_check){ xstrdup(name), where, fn, arg }));
}

static int ping(void *arg, struct kerr *err)
{
    (void)arg, (void)err;
    return 0; /* that we answer is the answer */
}

/* ---- ?exclude=a&exclude=b -------------------------------------------------------------------- */

struct excluded {
    struct vec_of(const char *) names;
    struct vec_of(bool) used;
};

static void find_excluded(const char *target, struct arena *a, struct excluded *ret)
{
    const char *p = strchr(target, '?');

    for (p = p ? p + 1 : NULL; p;) {
        size_t n = strcspn(p, "&#");
        if (n > 8 && memcmp(p, "exclude=", 8) == 0) {
            const char *name = url_unescape(p + 8, n - 8, true, a);
            if (name) {
                vec_push(&ret->names, name);
                vec_push(&ret->used, false);
            }
        }
        p = p[n] == '&' ? p + n + 1 : NULL;
    }
}

static bool is_excluded(struct excluded *ex, const char *name)
{
    bool found = false;

    vec_foreach(&ex->names, i) {
        if (!streq(ex->names.items[i], name))
            continue;
        ex->used.items[i] = true;
        found = true;
    }
    return found;
}

static void put_unmatched(const struct excluded *ex, struct strbuf *out)
{
    bool any = false;

    vec_foreach(&ex->names, i) {
        if (ex->used.items[i])
            continue;
        strbuf_append(out,
                      any ? "," : "warn: some health checks cannot be excluded: no matches for ");
        strbuf_append_quoted(out, ex->names.items[i], strlen(ex->names.items[i]));
        any = true;
    }
    if (any)
        strbuf_appendc(out, '\n');
}

/* ---- /metrics/slis --------------------------------------------------------------------------- */

static const struct metric_desc last_desc = {
    "kubernetes_healthcheck",
    "The last result of a health check: 1 well, 0 not.",
    METRIC_GAUGE,
    .labels = { "name", "type" },
};
static const struct metric_desc total_desc = {
    "kubernetes_healthchecks_total",
    "Results of health checks so far.",
    METRIC_COUNTER,
    .labels = { "name", "type", "status" },
};

static void note_result(struct serve *s, const char *check, const char *endpoint, bool well)
{
    struct metric *last = metrics_add(s->slis, &last_desc);
    struct metric *total = metrics_add(s->slis, &total_desc);

    gauge_set(metric_gauge(last, METRIC_VALUES(check, endpoint)), well);
    counter_inc(metric_counter(total, METRIC_VALUES(check, endpoint, well ? "success" : "error")));
}

static void on_slis(void *arg, struct httpd_req *r)
{
    struct serve *s = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    metrics_write(&s->slis, 1, &out);
    serve_metrics(r, strbuf_str(&out), out.len);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Runs the checks; returns how many failed. Reasons go to the log only: the path is public. */
static unsigned run_checks(struct serve *s, const struct endpoint *e, struct excluded *ex,
                           struct strbuf *out)
{
    unsigned failed = 0;

    vec_foreach(&s->checks, i) {
        const struct serve_check *c = &s->checks.items[i];
        struct kerr err = { 0 };
        if (!(c->where & e->bit))
            continue;
        if (is_excluded(ex, c->name)) {
            strbuf_appendf(out, "[+]%s excluded: ok\n", c->name);
            continue;
        }
        bool well = c->fn(c->arg, &err) == 0;
        note_result(s, c->name, e->name, well);
        if (well) {
            strbuf_appendf(out, "[+]%s ok\n", c->name);
        } else {
            strbuf_appendf(out, "[-]%s failed: reason withheld\n", c->name);
            KLOG_I(2, "Health check failed", KV_S("endpoint", e->name), KV_S("check", c->name),
                   KV_S("err", err.text));
            failed++;
        }
    }
    put_unmatched(ex, out);
    return failed;
}

static void answer_all(struct serve *s, const struct endpoint *e, struct httpd_req *r)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct excluded ex = { 0 };

    find_excluded(httpd_target(r), a, &ex);
    unsigned failed = run_checks(s, e, &ex, &out);
    vec_fini(&ex.names);
    vec_fini(&ex.used);
    if (failed) {
        serve_text(r, 500, "%s%s check failed", strbuf_str(&out), e->name);
        return;
    }
    if (url_query_get(httpd_target(r), "verbose", a))
        strbuf_appendf(&out, "%s check passed\n", e->name);
    else
        strbuf_reset(&out), strbuf_append(&out, "ok");
    serve_plain(r, 200, "text/plain; charset=utf-8", out.data, out.len);
}

static void answer_one(struct serve *s, const struct endpoint *e, const char *name,
                       struct httpd_req *r)
{
    vec_foreach(&s->checks, i) {
        const struct serve_check *c = &s->checks.items[i];
        struct kerr err = { 0 };
        if (!(c->where & e->bit) || !streq(c->name, name))
            continue;
        if (c->fn(c->arg, &err) == 0)
            serve_plain(r, 200, "text/plain; charset=utf-8", "ok", 2);
        else
            serve_text(r, 500, "internal server error: %s", err.text);
        return;
    }
    serve_text(r, 404, "404 page not found");
}

static void on_health(void *arg, struct httpd_req *r)
{
    struct serve *s = arg;
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    const char *path = serve_path(r, a) + 1;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        const struct endpoint *e = &endpoints[i];
        size_t n = strlen(e->name);
        if (!str_starts(path, e->name))
            continue;
        if (path[n] == '\0' || streq(path + n, "/"))
            answer_all(s, e, r);
        else
            answer_one(s, e, path + n + 1, r);
        return;
    }
}

void serve_health_init(struct serve *s)
{
    serve_add_check(s, SERVE_HEALTHZ | SERVE_LIVEZ | SERVE_READYZ, "ping", ping, NULL);
    s->slis = metrics_new();
    serve_handle(s, "/metrics/slis", on_slis, s);
    serve_handle(s, "/healthz", on_health, s);
    serve_handle(s, "/healthz/", on_health, s);
    serve_handle(s, "/livez", on_health, s);
    serve_handle(s, "/livez/", on_health, s);
    serve_handle(s, "/readyz", on_health, s);
    serve_handle(s, "/readyz/", on_health, s);
}
