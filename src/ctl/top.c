/* top.c - koordctl top nodes|pods: who uses what, once or for as long as somebody looks. */
#include "ctl/top.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/node.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "loop/loop.h"

#define LOOK_EVERY (10 * NSEC_PER_MSEC) /* whether all lists are complete */
enum { ROWS_AROUND = 3 };               /* of a terminal: header, what is left out, cursor */

struct top_options {
    bool watch, all_namespaces, no_headers;
    const char *sort_by;
    nsec_t interval;
};

struct top {
    struct ctl *c;
    const struct top_options *o;
    struct top_view view;
    bool pods, json, is_terminal, said_lost;
};

/* ---- until there is something to show -------------------------------------------------------- */

static bool is_needed(const struct top *t, const char *resource)
{
    return streq(resource, "nodemetrics") || streq(resource, t->pods ? "pods" : "nodes");
}

static int refuse(const struct top *t, const struct dash_source *s)
{
    const char *dot = *s->group ? "." : "";

    if (s->state == DASH_ABSENT)
        return ctl_fail(t->c,
                        "the server has no %s%s%s; is Koordinator installed? (%s crds prints its "
                        "CustomResourceDefinitions)",
                        s->resource, dot, s->group, t->c->program);
    return ctl_fail(t->c,
                    "top needs the right to list and watch %s%s%s: %s; ask for a role that allows "
                    "it, or choose another --context",
                    s->resource, dot, s->group, s->problem);
}

/* CTL_OK when everything needed is well, or may be again. */
static int check_sources(const struct top *t)
{
    struct dash_source s;

    for (size_t i = 0; dash_source(t->view.dash, i, &s); i++)
        if (is_needed(t, s.resource) && (s.state == DASH_FORBIDDEN || s.state == DASH_ABSENT))
            return refuse(t, &s);
    return CTL_OK;
}

static bool is_lost(const struct top *t, struct dash_source *ret)
{
    for (size_t i = 0; dash_source(t->view.dash, i, ret); i++)
        if (ret->state == DASH_LOST)
            return true;
    return false;
}

static int settle(struct top *t)
{
    struct dash_source s;
    int code = CTL_OK;

    while (code == CTL_OK && !dash_settled(t->view.dash)) {
        ctl_wait(t->c, LOOK_EVERY);
        code = check_sources(t);
        if (code == CTL_OK && is_lost(t, &s))
            return ctl_fail(t->c, "cannot list %s: %s", s.resource, s.problem);
    }
    return code == CTL_OK ? check_sources(t) : code;
}

/* ---- showing --------------------------------------------------------------------------------- */

static size_t terminal_rows(const struct top *t)
{
    struct winsize w;

    if (!t->is_terminal || ioctl(fileno(t->c->out), TIOCGWINSZ, &w) < 0 || w.ws_row <= ROWS_AROUND)
        return 0;
    return (size_t)(w.ws_row - ROWS_AROUND);
}

static bool show(struct top *t)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (t->o->watch && !t->json) {
        t->view.max_rows = terminal_rows(t);
        if (t->is_terminal)
            strbuf_append(&out, "\033[H\033[J"); /* from the top, the rest cleared */
    }
    if (t->json)
        (t->pods ? top_pods_json : top_nodes_json)(&t->view, &out);
    else
        (t->pods ? top_pods : top_nodes)(&t->view, &out);
    return ctl_print(t->c, &out);
}

/* What is shown stays the last that was known: said once, until the server is back. */
static void say_lost(struct top *t)
{
    struct dash_source s;
    bool lost = is_lost(t, &s);

    if (lost && !t->said_lost)
        fprintf(t->c->err, "the API server does not answer (%s); trying again\n", s.problem);
    t->said_lost = lost;
}

static int follow(struct top *t)
{
    for (;;) {
        ctl_wait(t->c, t->o->interval);
        int code = check_sources(t);
        if (code != CTL_OK)
            return code;
        say_lost(t);
        if (!show(t))
            return CTL_FAILED;
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static int take_words(struct top *t, const char **names)
{
    struct ctl *c = t->c;
    const char *what = flags_arg(c->flags, 0);

    if (!what)
        return ctl_usage(c, "top: of what? %s top nodes, or %s top pods", c->program, c->program);
    t->pods = streq(what, "pods") || streq(what, "pod") || streq(what, "po");
    if (!t->pods && !streq(what, "nodes") && !streq(what, "node") && !streq(what, "no"))
        return ctl_usage(c, "top shows nodes or pods, not '%.40s'", what);
    if (!t->pods && t->o->all_namespaces)
        return ctl_usage(c, "nodes have no namespace: leave out -A");
    for (size_t i = 1; i < flags_nargs(c->flags); i++)
        names[i - 1] = flags_arg(c->flags, i);
    t->view.names = names;
    t->view.nnames = flags_nargs(c->flags) - 1;
    const char *form = str_empty(c->o.output) ? "table" : c->o.output;
    t->json = streq(form, "json");
    if (!t->json && !streq(form, "table") && !streq(form, "wide"))
        return ctl_usage(c, "top prints a table or -o json, not %s", form);
    return CTL_OK;
}

static enum top_order order_of(const char *word)
{
    return streq(word, "name") ? TOP_BY_NAME : streq(word, "memory") ? TOP_BY_MEMORY : TOP_BY_CPU;
}

/* A server that cannot be talked with is complained about as by every other command. */
static int try_server(struct ctl *c)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const struct kube_req r = { .verb = KUBE_LIST, .kind = &kind_node, .limit = 1 };
    struct kerr err = { 0 };

    if (ctl_call(c, &r, &body, &err) < 0 && err.reason != KR_FORBIDDEN)
        return ctl_complain(c, &err);
    return CTL_OK;
}

static int run_in(struct top *t)
{
    struct ctl *c = t->c;
    const struct dash_opts o = { .ns = t->o->all_namespaces ? NULL : ctl_namespace(c),
                                 .no_pods = !t->pods,
                                 .no_moves = true };
    CLEANUP(dash_free) struct dash *d = dash_new(c->kube, &o);

    t->view.dash = d;
    t->view.order = order_of(t->o->sort_by);
    t->view.with_ns = t->o->all_namespaces;
    t->view.no_headers = t->o->no_headers;
    t->is_terminal = isatty(fileno(c->out)) == 1;
    t->view.colour = t->is_terminal && !c->no_color;
    int code = settle(t);
    if (code == CTL_OK && !show(t))
        code = CTL_FAILED;
    return code == CTL_OK && t->o->watch ? follow(t) : code;
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(mem_free) const char **names = xnewn0(flags_nargs(c->flags) + 1, const char *);
    struct top t = { .c = c, .o = options };

    int code = take_words(&t, names);
    if (code == CTL_OK)
        code = ctl_connect(c);
    if (code == CTL_OK)
        code = try_server(c);
    return code == CTL_OK ? run_in(&t) : code;
}

static const char *const orders[] = { "cpu", "memory", "name", NULL };
#define O(member) .off = offsetof(struct top_options, member)
static const struct flag flags[] = {
    { "watch", FLAG_BOOL, O(watch), .letter = 'w', .help = "show it again and again" },
    { "interval", FLAG_DUR, O(interval), .def = "2s", .min = 100 * NSEC_PER_MSEC,
      .max = 3600 * NSEC_PER_SEC, .help = "`time` between two tables of --watch" },
    { "sort-by", FLAG_STR, O(sort_by), .def = "cpu", .choices = orders,
      .help = "`order` of the rows: cpu, memory or name" },
    { "all-namespaces", FLAG_BOOL, O(all_namespaces), .letter = 'A',
      .help = "pods of all namespaces" },
    { "no-headers", FLAG_BOOL, O(no_headers), .help = "rows only" },
};
#undef O

const struct ctl_command ctl_command_top = {
    .name = "top",
    .args = "nodes|pods [NAME...]",
    .help = "Show who uses the nodes: services, batch jobs, the system",
    .about =
        "Figures are those of the latest NodeMetric; one of more than three minutes counts as\n"
        "none. Percentages of a node are of its capacity, those of a pod of its requests.\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct top_options),
    .run = run,
};
