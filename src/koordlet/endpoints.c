/* endpoints.c - what koordlet serves over HTTP (koordlet-metrics 1.5), and readiness. */
#include "base/strbuf.h"
#include "component/metrics.h"
#include "component/serve.h"
#include "koordlet/agent_int.h"

static void reply_metrics(struct httpd_req *r, struct metrics *const *regs, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    for (size_t i = 0; i < n; i++)
        metrics_write(&regs[i], 1, &out);
    serve_metrics(r, strbuf_str(&out), out.len);
}

static void on_metrics(void *arg, struct httpd_req *r)
{
    const struct agent *a = arg;
    reply_metrics(r, (struct metrics *const[]){ a->env.internal, a->external }, 2);
}

static void on_internal(void *arg, struct httpd_req *r)
{
    const struct agent *a = arg;
    reply_metrics(r, (struct metrics *const[]){ a->env.internal }, 1);
}

static void on_external(void *arg, struct httpd_req *r)
{
    const struct agent *a = arg;
    reply_metrics(r, (struct metrics *const[]){ a->external }, 1);
}

/* By which path containers got what the hooks gave them, and whether those work. */
static void on_hooks(void *arg, struct httpd_req *r)
{
    const struct agent *a = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    delivery_json(a->delivery, &out);
    httpd_reply(r, 200, "application/json", out.data, out.len);
}

/* A socket that is there says little: what counts is the session. */
static void look_at_nri(struct agent *a)
{
    char why[256];

    if (a->delivery)
        caps_set_nri(&a->caps, delivery_nri_connected(a->delivery, why, sizeof why), why);
}

static void on_capabilities(void *arg, struct httpd_req *r)
{
    struct agent *a = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    look_at_nri(a);
    caps_json(&a->caps, &a->env.o->gates, &out);
    httpd_reply(r, 200, "application/json", out.data, out.len);
}

/* What is written and why: JSON, or a text for people with ?format=text. */
static void on_plan(void *arg, struct httpd_req *r)
{
    const struct agent *a = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    bool text = strstr(httpd_target(r), "format=text") != NULL;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    if (text)
        executor_table(a->executor, &out);
    else
        executor_json(a->executor, &out);
    httpd_reply(r, 200, text ? "text/plain; charset=utf-8" : "application/json", out.data, out.len);
}

/* All reasons in one line, as many as fit. */
static int check_ready(void *arg, struct kerr *err)
{
    const struct agent *a = arg;
    CLEANUP(strbuf_fini) struct strbuf all = STRBUF_INIT;
    const char *why;

    for (size_t i = 0; (why = agent_missing(a, i)); i++)
        strbuf_appendf(&all, "%s%s", i ? "; " : "", why);
    return all.len ? kerr_set(err, -EAGAIN, "%s", strbuf_str(&all)) : 0;
}

/* One reason a line: what /readyz says in short. */
static void on_missing(void *arg, struct httpd_req *r)
{
    const struct agent *a = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *why;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    for (size_t i = 0; (why = agent_missing(a, i)); i++)
        strbuf_appendf(&out, "%s\n", why);
    httpd_reply(r, out.len ? 503 : 200, "text/plain; charset=utf-8", strbuf_str(&out), out.len);
}

void agent_serve(struct agent *a, struct serve *s)
{
    serve_handle(s, "/metrics", on_metrics, a);
    serve_handle(s, "/internal-metrics", on_internal, a);
    serve_handle(s, "/external-metrics", on_external, a);
    serve_handle(s, "/capabilities", on_capabilities, a);
    serve_handle(s, "/missing", on_missing, a);
    serve_handle(s, "/plan", on_plan, a);
    if (a->delivery)
        serve_handle(s, "/hooks", on_hooks, a);
    if (a->audit && gates_on(&a->env.o->gates, GATE_AUDIT_EVENTS_HTTP))
        serve_handle(s, "/events", audit_serve, a->audit);
    serve_add_check(s, SERVE_READYZ, "agent", check_ready, a);
}
