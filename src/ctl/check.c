/* check.c - koordctl check: can koord be installed here, and does it work here. */
#include "ctl/check.h"

#include "ctl/get.h"

static const char *const level_names[] = { "ok", "note", "warn", "FAIL" };
static const char *const level_words[] = { "ok", "note", "warning", "failure" };
static const char *const state_names[] = { "on", "part", "off", "unknown" };

void check_add(struct check *k, const char *section, enum finding_level level, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < text.len; i++) /* one finding, one line */
        if (text.data[i] == '\n')
            text.data[i] = ' ';
    vec_push(&k->findings, ((struct finding){ .section = section,
                                              .level = level,
                                              .text = arena_strdup(k->arena, strbuf_str(&text)) }));
}

const char *check_cause(const struct check *k, const struct kerr *err)
{
    return arena_strdup(k->arena, ctl_cause(err));
}

/* ---- showing --------------------------------------------------------------------------------- */

static unsigned count(const struct check *k, enum finding_level level)
{
    unsigned n = 0;

    vec_foreach(&k->findings, i)
        n += k->findings.items[i].level == level;
    return n;
}

static void put_features(const struct check *k, struct strbuf *out)
{
    int name = 0, needs = 0;

    vec_foreach(&k->features, i) {
        name = MAX(name, (int)strlen(k->features.items[i].name));
        needs = MAX(needs, (int)strlen(k->features.items[i].needs));
    }
    strbuf_appendf(out, "\n%-*s  %-4s  %-*s  %s\n", name, "FEATURE", "HERE", needs, "NEEDS", "WHY");
    vec_foreach(&k->features, i) {
        const struct feature_row *f = &k->features.items[i];
        strbuf_appendf(out, "%-*s  %-4s  %-*s  %s", name, f->name, state_names[f->state], needs,
                       f->needs, f->why);
        while (out->data[out->len - 1] == ' ')
            strbuf_truncate(out, out->len - 1);
        strbuf_appendc(out, '\n');
    }
}

static void put_text(const struct check *k, struct strbuf *out)
{
    const char *section = "";

    vec_foreach(&k->findings, i) {
        const struct finding *f = &k->findings.items[i];
        if (!streq(section, f->section))
            strbuf_appendf(out, "%s%s\n", i ? "\n" : "", f->section);
        section = f->section;
        strbuf_appendf(out, "  %-5s %s\n", level_names[f->level], f->text);
    }
    put_features(k, out);
    unsigned failures = count(k, FINDING_FAIL), warnings = count(k, FINDING_WARN);
    if (failures)
        strbuf_appendf(out, "\n%s: %u failure%s, %u warning%s.\n",
                       k->installed ? "koord does not work as it should"
                                    : "koord cannot be installed yet",
                       failures, failures > 1 ? "s" : "", warnings, warnings == 1 ? "" : "s");
    else
        strbuf_appendf(out, "\n%s, %u warning%s.\n",
                       k->installed ? "koord works" : "koord can be installed", warnings,
                       warnings == 1 ? "" : "s");
    ctl_clean(out);
}

static struct kj_mval *findings_json(const struct check *k, struct kj_mdoc *d)
{
    struct kj_mval *list = kj_marr(d);

    vec_foreach(&k->findings, i) {
        const struct finding *f = &k->findings.items[i];
        struct kj_mval *one = kj_mobj(d);
        kj_mset(d, one, "section", kj_mstr(d, f->section));
        kj_mset(d, one, "level", kj_mstr(d, level_words[f->level]));
        kj_mset(d, one, "text", kj_mstr(d, f->text));
        kj_mpush(list, one);
    }
    return list;
}

static struct kj_mval *features_json(const struct check *k, struct kj_mdoc *d)
{
    struct kj_mval *list = kj_marr(d);

    vec_foreach(&k->features, i) {
        const struct feature_row *f = &k->features.items[i];
        struct kj_mval *one = kj_mobj(d);
        kj_mset(d, one, "feature", kj_mstr(d, f->name));
        kj_mset(d, one, "needs", kj_mstr(d, f->needs));
        kj_mset(d, one, "state", kj_mstr(d, state_names[f->state]));
        kj_mset(d, one, "why", kj_mstr(d, f->why));
        kj_mpush(list, one);
    }
    return list;
}

static void put_tree(const struct check *k, const char *form, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mobj(d);

    kj_mset(d, root, "installed", kj_mbool(d, k->installed));
    kj_mset(d, root, "failures", kj_mi64(d, count(k, FINDING_FAIL)));
    kj_mset(d, root, "warnings", kj_mi64(d, count(k, FINDING_WARN)));
    kj_mset(d, root, "findings", findings_json(k, d));
    kj_mset(d, root, "features", features_json(k, d));
    tree_put(form, root, out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int look(struct check *k)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };

    if (!check_version(k, &err))
        return ctl_complain(k->c, &err);
    check_programs(k);
    check_crds(k);
    check_leases(k);
    check_webhooks(k);
    check_rights(k);
    check_nodes(k);
    check_features(k);
    if (streq(k->c->o.output, "json") || streq(k->c->o.output, "yaml"))
        put_tree(k, k->c->o.output, &out);
    else
        put_text(k, &out);
    return !ctl_print(k->c, &out) || count(k, FINDING_FAIL) ? CTL_FAILED : CTL_OK;
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *arena = arena_new();
    struct check k = { .c = c, .o = options, .ns = installation_ns(c), .arena = arena };

    if (flags_nargs(c->flags))
        return ctl_usage(c, "check takes no arguments");
    int code = ctl_connect(c);
    if (code == CTL_OK)
        code = look(&k);
    vec_fini(&k.findings);
    vec_fini(&k.features);
    vec_fini(&k.node_features);
    kj_doc_free(k.pods);
    return code;
}

static const struct flag flags[] = {
    { "nodes", FLAG_BOOL, .off = offsetof(struct check_options, nodes), .def = "true",
      .help = "also ask the koordlet of every node what it can do there" },
};

const struct ctl_command ctl_command_check = {
    .name = "check",
    .help = "Tell whether koord can be installed in a cluster, or works in it",
    .about =
        "Looks at versions, programs, CRDs, leases and who holds them, webhooks, rights and what\n"
        "each node can do; ends with a table of the features: what each needs, whether it is\n"
        "on here, and why not. Changes nothing. The namespace is koordinator-system unless -n\n"
        "names another. Exit code 1: something has failed.\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct check_options),
    .run = run,
};
