/* dashboard.c - koordctl dashboard: the page, with the person's own kubeconfig and rights. */
#include "ctl/dashboard.h"

#include <signal.h>

#include "client/kube.h"
#include "ctl/ctl.h"
#include "dash/dash.h"
#include "dash/web.h"
#include "loop/loop.h"

struct dashboard {
    struct dash *dash;
    struct web *web;
};

int dashboard_new(struct kube *k, const struct dashboard_opts *o, struct dashboard **ret,
                  struct kerr *err)
{
    CLEANUP(dashboard_free) struct dashboard *d = xnew0(struct dashboard);

    d->dash = dash_new(k, &(struct dash_opts){ .ns = o->ns });
    if (web_new(d->dash, &d->web, err) < 0 || web_listen(d->web, o->listen, err) < 0)
        return kerr_wrap(err, "dashboard");
    *ret = take(d);
    return 0;
}

struct dashboard *dashboard_free(struct dashboard *d)
{
    if (!d)
        return NULL;
    web_free(d->web);
    dash_free(d->dash);
    free(d);
    return NULL;
}

void dashboard_url(const struct dashboard *d, struct strbuf *out)
{
    web_url(d->web, out);
}

/* ---- the command ----------------------------------------------------------------------------- */

struct dashboard_options {
    const char *listen;
};

static void on_signal(struct loop *l, int signum, void *arg)
{
    (void)signum, (void)arg;
    loop_stop(l);
}

static bool say_where(struct ctl *c, const struct dashboard *d)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    strbuf_append(&out, "dashboard   ");
    dashboard_url(d, &out);
    strbuf_appendf(&out,
                   "\ncluster     %s\n\nThe URL works once, in the first browser that opens it. "
                   "Ctrl-C ends the dashboard.\n",
                   str_or(c->config.server, "as configured"));
    return ctl_print(c, &out);
}

static int run(struct ctl *c, const void *options)
{
    const struct dashboard_options *o = options;
    const struct dashboard_opts of = { o->listen, str_empty(c->o.ns) ? NULL : c->o.ns };
    CLEANUP(dashboard_free) struct dashboard *d = NULL;
    struct kerr err = { 0 };

    if (flags_nargs(c->flags) > 0)
        return ctl_usage(c, "dashboard takes no arguments");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    if (dashboard_new(c->kube, &of, &d, &err) < 0 ||
        loop_on_signal(c->loop, SIGINT, on_signal, NULL, &err) < 0 ||
        loop_on_signal(c->loop, SIGTERM, on_signal, NULL, &err) < 0)
        return ctl_fail(c, "%s", err.text);
    if (!say_where(c, d))
        return CTL_FAILED;
    loop_run(c->loop);
    return CTL_OK;
}

#define O(member) .off = offsetof(struct dashboard_options, member)
static const struct flag flags[] = {
    { "listen", FLAG_STR, O(listen), .def = "127.0.0.1:0",
      .help = "`address` of the page, on loopback; port 0 is a free one" },
};
#undef O

const struct ctl_command ctl_command_dashboard = {
    .name = "dashboard",
    .help = "Show a cluster in the browser",
    .about =
        "Utilisation over time, nodes by load, one node with its pods, what waits and why. You\n"
        "see what your kubeconfig may read: with -n the pods of one namespace only. The page\n"
        "is part of this program, is served on loopback, and changes nothing.\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct dashboard_options),
    .run = run,
};
