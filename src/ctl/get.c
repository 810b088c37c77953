/* get.c - koordctl get: objects of any kind, listed, named or watched. */
#include "ctl/get.h"

#include "ctl/resource.h"

/* ---- printing what came ---------------------------------------------------------------------- */

struct rows vec_of(struct ctl_table_row *);

static int collect_rows(struct get *g, const struct kj_val *root, void *arg, struct kerr *err)
{
    struct rows *rows = arg;
    struct kj_iter it = get_items(root);
    const struct kj_val *row;
    struct str key;

    int r = ctl_table_learn(&g->table, root, err);
    if (r < 0)
        return r;
    while (kj_next(&it, &key, &row))
        vec_push(rows, ctl_table_row(&g->table, row, "ADDED"));
    return 0;
}

static void put_rows(struct get *g, struct rows *rows, struct strbuf *out)
{
    vec_foreach(rows, i) {
        ctl_table_put(&g->table, rows->items[i], out);
        free(rows->items[i]);
    }
    vec_fini(rows);
}

static void say_nothing_found(struct get *g)
{
    if (g->ns)
        fprintf(g->c->err, "No resources found in %s namespace.\n", g->ns);
    else
        fprintf(g->c->err, "No resources found\n");
}

/* The server knows the kind no more than we know why: 404 of a list is about the type. */
static int complain(struct get *g, const char *name, const struct kerr *err)
{
    bool of_type = err->reason == KR_NOT_FOUND && (!name || str_starts(err->text, "the server "));

    if (!of_type)
        return ctl_complain(g->c, err);
    return ctl_fail(g->c,
                    "the server has no resource type %s%s%s; is its CustomResourceDefinition "
                    "installed? (%s crds prints Koordinator's)",
                    g->kind->plural, *g->kind->group ? "." : "", g->kind->group, g->c->program);
}

static int list_table(struct get *g)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct rows rows = { 0 };
    struct kerr err = { 0 };

    int r = get_pages(g, collect_rows, &rows, &err);
    bool none = rows.n == 0;
    put_rows(g, &rows, &out);
    if (r < 0)
        return complain(g, NULL, &err);
    if (none)
        say_nothing_found(g);
    return ctl_print(g->c, &out) ? CTL_OK : CTL_FAILED;
}

struct collected {
    struct kj_mdoc *d;
    struct kj_mval *items;
    struct strbuf *names;
};

static int collect_objects(struct get *g, const struct kj_val *root, void *arg, struct kerr *err)
{
    struct collected *to = arg;
    struct kj_iter it = get_items(root);
    const struct kj_val *obj;
    struct str key;

    (void)err;
    while (kj_next(&it, &key, &obj)) {
        if (to->names)
            object_put(g, obj, to->names);
        else
            kj_mpush(to->items, object_complete(g, to->d, obj));
    }
    return 0;
}

/* A List with its items in the order of the server, as kubectl prints it. */
static int put_list(struct get *g, struct collected *from, struct strbuf *out)
{
    struct kj_mdoc *d = from->d;
    struct kj_mval *list = kj_mobj(d), *meta = kj_mobj(d);

    kj_mset(d, meta, "resourceVersion", kj_mstr(d, ""));
    kj_mset(d, list, "apiVersion", kj_mstr(d, "v1"));
    kj_mset(d, list, "items", from->items);
    kj_mset(d, list, "kind", kj_mstr(d, "List"));
    kj_mset(d, list, "metadata", meta);
    tree_put(g->form, list, out);
    return ctl_print(g->c, out) ? CTL_OK : CTL_FAILED;
}

static int list_objects(struct get *g)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    bool names = streq(g->form, "name");
    struct collected to = { d, kj_marr(d), names ? &out : NULL };
    struct kerr err = { 0 };

    if (get_pages(g, collect_objects, &to, &err) < 0)
        return complain(g, NULL, &err);
    if (!names)
        return put_list(g, &to, &out);
    return ctl_print(g->c, &out) ? CTL_OK : CTL_FAILED;
}

/* ---- objects by name ------------------------------------------------------------------------- */

static int get_one(struct get *g, const char *name, struct rows *rows, struct collected *to)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = {
        .verb = KUBE_GET, .kind = g->kind, .ns = g->ns, .name = name, .as_table = g->is_table
    };
    struct kerr err = { 0 };

    int e = ctl_call(g->c, &r, &body, &err);
    if (e < 0 && err.reason == KR_NOT_FOUND && g->o->ignore_not_found)
        return CTL_OK;
    if (e < 0)
        return complain(g, name, &err);
    e = kj_parse(body.data, body.len, 0, &doc, &err);
    if (e == 0 && g->is_table)
        e = ctl_table_learn(&g->table, kj_root(doc), &err);
    if (e < 0)
        return ctl_complain(g->c, &err);
    const struct kj_val *root = kj_root(doc), *row = kj_at(kj_get(root, "rows"), 0);
    if (g->is_table)
        vec_push(rows, ctl_table_row(&g->table, row ? row : root, NULL));
    else if (to->names)
        object_put(g, root, to->names);
    else
        kj_mpush(to->items, object_complete(g, to->d, root));
    return CTL_OK;
}

/* One object is printed as itself, several as a List; one that is missing does not hide others. */
static int get_names(struct get *g)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    bool names = streq(g->form, "name");
    struct collected to = { d, kj_marr(d), names ? &out : NULL };
    struct rows rows = { 0 };
    int code = CTL_OK;

    for (size_t i = 0; i < g->nnames; i++) {
        int one = get_one(g, g->names[i], &rows, &to);
        code = MAX(code, one);
    }
    put_rows(g, &rows, &out);
    size_t found = kj_mlen(to.items);
    if (found > 0 && g->nnames == 1)
        tree_put(g->form, kj_mat(to.items, 0), &out);
    else if (found > 0)
        return MAX(code, put_list(g, &to, &out));
    return ctl_print(g->c, &out) ? code : CTL_FAILED;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* "nodes/n1" is "nodes n1". */
static int take_words(struct get *g)
{
    struct flags *f = g->c->flags;
    const char *word = flags_arg(f, 0), *slash = word ? strchr(word, '/') : NULL;
    size_t n = flags_nargs(f);

    if (!word)
        return ctl_usage(g->c, "get: which kind? For instance: %s get nodes", g->c->program);
    if (slash && n > 1)
        return ctl_usage(g->c, "write KIND NAME... or KIND/NAME, not both");
    g->word = arena_strndup(g->arena, word, slash ? (size_t)(slash - word) : strlen(word));
    g->nnames = slash ? 1 : n - 1;
    g->names = arena_newn0(g->arena, n, const char *);
    for (size_t i = 0; i < g->nnames; i++)
        g->names[i] = slash ? slash + 1 : flags_arg(f, i + 1);
    return CTL_OK;
}

static int check_usage(struct get *g)
{
    const struct get_options *o = g->o;

    if (strchr(g->word, ','))
        return ctl_usage(g->c, "'%.80s': one kind at a time", g->word);
    for (size_t i = 0; i < g->nnames; i++)
        if (!*g->names[i] || strpbrk(g->names[i], "/%") || streq(g->names[i], "."))
            return ctl_usage(g->c, "'%.80s' cannot be the name of an object", g->names[i]);
    if (g->nnames && (*o->selector || *o->field_selector))
        return ctl_usage(g->c, "a name and a selector cannot be given together");
    if (g->nnames && o->all_namespaces)
        return ctl_usage(g->c, "an object cannot be named across all namespaces (-A)");
    if (g->nnames > 1 && (o->watch || o->watch_only))
        return ctl_usage(g->c, "one name at a time with --watch");
    if (o->watch_events && !o->watch && !o->watch_only)
        return ctl_usage(g->c, "--output-watch-events needs --watch");
    return CTL_OK;
}

/* A single object is watched by a selector of its name. */
static int watch_name(struct get *g, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kerr err = { 0 };

    if (ctl_call(g->c,
                 &(struct kube_req){ .verb = KUBE_GET, .kind = g->kind, .ns = g->ns, .name = name },
                 &body, &err) < 0)
        return complain(g, name, &err);
    g->field_selector = arena_printf(g->arena, "metadata.name=%s", name);
    return get_watch(g);
}

static int run_in(struct get *g)
{
    const struct get_options *o = g->o;

    int code = take_words(g);
    if (code == CTL_OK)
        code = check_usage(g);
    if (code == CTL_OK)
        code = ctl_connect(g->c);
    if (code == CTL_OK)
        code = resource_find(g->c, g->word, &g->kind);
    if (code != CTL_OK)
        return code;
    if (g->kind->namespaced && !o->all_namespaces)
        g->ns = ctl_namespace(g->c);
    ctl_table_init(&g->table,
                   &(struct ctl_table_opts){ .wide = streq(g->form, "wide"),
                                             .with_ns = g->kind->namespaced && o->all_namespaces,
                                             .with_event = o->watch_events,
                                             .no_headers = o->no_headers });
    if (o->watch || o->watch_only)
        code = g->nnames ? watch_name(g, g->names[0]) : get_watch(g);
    else if (g->nnames)
        code = get_names(g);
    else
        code = g->is_table ? list_table(g) : list_objects(g);
    ctl_table_fini(&g->table);
    return code;
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct get_options *o = options;
    struct get g = { .c = c, .o = o, .arena = a, .field_selector = o->field_selector };

    g.form = *c->o.output ? c->o.output : "table";
    g.is_table = streq(g.form, "table") || streq(g.form, "wide");
    int code = run_in(&g);
    free(g.version);
    return code;
}

#define O(member) .off = offsetof(struct get_options, member)
static const struct flag flags[] = {
    { "selector", FLAG_STR, O(selector), .letter = 'l', .help = "label `selector`, as kubectl's" },
    { "field-selector", FLAG_STR, O(field_selector), .help = "field `selector`, as kubectl's" },
    { "watch", FLAG_BOOL, O(watch), .letter = 'w', .help = "then follow the changes" },
    { "watch-only", FLAG_BOOL, O(watch_only), .help = "only the changes, with --watch" },
    { "output-watch-events", FLAG_BOOL, O(watch_events),
      .help = "with --watch: say which rows were added, modified, deleted" },
    { "all-namespaces", FLAG_BOOL, O(all_namespaces), .letter = 'A',
      .help = "objects of all namespaces" },
    { "no-headers", FLAG_BOOL, O(no_headers), .help = "rows only" },
    { "ignore-not-found", FLAG_BOOL, O(ignore_not_found),
      .help = "an object that does not exist is no failure" },
    { "chunk-size", FLAG_INT, O(chunk), .def = "500", .max = INT32_MAX,
      .help = "objects asked for at a time; 0: all at once" },
};
#undef O

const struct ctl_command ctl_command_get = {
    .name = "get",
    .args = "KIND [NAME...]",
    .help = "Show objects of a cluster",
    .about = "Kinds go by plural, singular or short name, with a group where needed:\n"
             "  nodes, po, reservation, deployments.apps, elasticquota.scheduling.sigs.k8s.io\n",
    .flags = flags,
    .nflags = ARRAY_LEN(flags),
    .options_size = sizeof(struct get_options),
    .run = run,
};
