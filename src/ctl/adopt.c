/* adopt.c - koordctl adopt: what becomes of a running Koordinator, and a values file for our chart.
 */
#include "ctl/adopt.h"

#include <fcntl.h>
#include <unistd.h>

#include "ctl/get.h"
#include "sys/file.h"

static const char *const fate_names[] = { "kept", "changed", "unused", "missing" };

void adopt_add(struct adoption *x, enum adopt_fate fate, const char *note, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf what = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&what, fmt, ap);
    va_end(ap);
    vec_push(&x->rows,
             ((struct adopt_row){
                 .fate = fate, .note = note, .what = arena_strdup(x->arena, strbuf_str(&what)) }));
}

void adopt_set(struct adoption *x, const char *path, struct kj_mval *v)
{
    struct kj_mval *at = x->values;
    const char *dot;

    for (; (dot = strchr(path, '.')); path = dot + 1) {
        struct kj_mval *next = kj_mgetn(at, path, (size_t)(dot - path));
        if (!next) {
            kj_msetn(x->d, at, path, (size_t)(dot - path), kj_mobj(x->d));
            next = kj_mgetn(at, path, (size_t)(dot - path));
        }
        at = next;
    }
    kj_mset(x->d, at, path, v);
}

/* ---- showing --------------------------------------------------------------------------------- */

static void put_source(const struct adoption *x, struct strbuf *out)
{
    const struct kj_val *chart = kj_path(kj_root(x->release), "chart.metadata");

    if (x->release)
        strbuf_appendf(out, "release %s in namespace %s, chart koordinator-%s",
                       kj_str_or(kj_get(kj_root(x->release), "name"), ""), x->release_ns,
                       kj_str_or(kj_get(chart, "version"), "?"));
    else
        strbuf_appendf(out, "what runs in namespace %s; Helm has no record of it", x->ns);
}

static void put_rows(const struct adoption *x, struct strbuf *out)
{
    strbuf_append(out, "Read: ");
    put_source(x, out);
    strbuf_append(out, "\n\n");
    for (enum adopt_fate fate = ADOPT_KEPT; fate <= ADOPT_MISSING; fate++)
        vec_foreach(&x->rows, i) {
            const struct adopt_row *r = &x->rows.items[i];
            if (r->fate == fate)
                strbuf_appendf(out, "%-8s %s%s%s%s\n", fate_names[fate], r->what,
                               *r->note ? " (" : "", r->note, *r->note ? ")" : "");
        }
    ctl_clean(out);
}

static void put_tree(const struct adoption *x, const char *form, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mobj(d), *list = kj_marr(d);
    CLEANUP(kj_doc_free) struct kj_doc *values = kj_freeze(x->values);

    vec_foreach(&x->rows, i) {
        struct kj_mval *row = kj_mobj(d);
        kj_mset(d, row, "becomes", kj_mstr(d, fate_names[x->rows.items[i].fate]));
        kj_mset(d, row, "what", kj_mstr(d, x->rows.items[i].what));
        kj_mset(d, row, "note", kj_mstr(d, x->rows.items[i].note));
        kj_mpush(list, row);
    }
    kj_mset(d, root, "found", list);
    kj_mset(d, root, "values", kj_mcopy(d, kj_root(values)));
    tree_put(form, root, out);
}

static void put_values(const struct adoption *x, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *values = kj_freeze(x->values);

    strbuf_append(out, "# Made by koordctl adopt from ");
    put_source(x, out);
    strbuf_append(out, ".\n");
    ctl_clean(out);
    kj_write_yaml(kj_root(values), out);
}

/* What a person does next. */
static void put_advice(const struct adoption *x, struct strbuf *out)
{
    strbuf_appendf(out, "\nWrote %s. Next:\n  helm ", x->o->out);
    if (x->release)
        strbuf_appendf(out, "upgrade %s packaging/chart --namespace %s --values %s\n",
                       kj_str_or(kj_get(kj_root(x->release), "name"), ""), x->release_ns,
                       x->o->out);
    else
        strbuf_appendf(out, "install koord packaging/chart --take-ownership --values %s\n",
                       x->o->out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_file(struct adoption *x)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    put_values(x, &text);
    if (streq(x->o->out, "-"))
        return ctl_print(x->c, &text) ? CTL_OK : CTL_FAILED;
    if (access(x->o->out, F_OK) == 0)
        return ctl_fail(x->c, "%s is there already; --out names another file", x->o->out);
    if (file_write_atomic(AT_FDCWD, x->o->out, strbuf_str(&text), text.len, 0644, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    return CTL_OK;
}

/* With --out=- the values are the result, and the rows go to stderr. */
static int show(struct adoption *x)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    bool piped = streq(x->o->out, "-");

    int code = write_file(x);
    if (code != CTL_OK)
        return code;
    if (streq(x->c->o.output, "json") || streq(x->c->o.output, "yaml"))
        put_tree(x, x->c->o.output, &out);
    else
        put_rows(x, &out);
    if (piped) {
        fputs(strbuf_str(&out), x->c->err);
        return CTL_OK;
    }
    if (!streq(x->c->o.output, "json") && !streq(x->c->o.output, "yaml"))
        put_advice(x, &out);
    return ctl_print(x->c, &out) ? CTL_OK : CTL_FAILED;
}

static int adopt(struct adoption *x)
{
    int code = adopt_read_release(x);

    if (code != CTL_OK)
        return code;
    adopt_values(x);
    code = adopt_workloads(x);
    if (code != CTL_OK)
        return code;
    adopt_gates(x);
    adopt_configmaps(x);
    adopt_webhooks(x);
    if (!streq(x->ns, "koordinator-system"))
        adopt_set(x, "installation.namespace", kj_mstr(x->d, x->ns));
    return show(x);
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *arena = arena_new();
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct adoption x = { .c = c,
                          .o = options,
                          .programs = c->parts ? c->parts->adopt : NULL,
                          .ns = installation_ns(c),
                          .arena = arena,
                          .d = d,
                          .values = kj_mobj(d) };

    if (flags_nargs(c->flags))
        return ctl_usage(c, "adopt takes no arguments");
    int code = ctl_connect(c);
    if (code == CTL_OK)
        code = adopt(&x);
    vec_fini(&x.rows);
    kj_doc_free(x.release);
    return code;
}

#define O(member) .off = offsetof(struct adopt_options, member)
static const struct flag flags[] = {
    { "release", FLAG_STR, O(release),
      .help = "`name` of the Helm release, when there are several" },
    { "out", FLAG_STR, O(out), .def = "koord-values.yaml",
      .help = "`file` for the values; -: stdout" },
};
#undef O

const struct ctl_command ctl_command_adopt = {
    .name = "adopt",
    .help = "Make values for koord's chart from a running Koordinator",
    .about =
        "Reads the Helm release of Koordinator, or what runs where Helm knows of none: arguments,\n"
        "feature gates, ConfigMaps, webhooks. Says what is kept, changed, without effect or not\n"
        "there yet, and writes a values file. Changes nothing in the cluster. The namespace is\n"
        "koordinator-system unless -n names another.\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct adopt_options),
    .run = run,
};
