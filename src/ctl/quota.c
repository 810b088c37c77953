/* quota.c - koordctl quota tree | explain NAME | what-if --set NAME.min.cpu=40: quotas as the
 * scheduler computes them, from the objects of the cluster. */
#include "ctl/quota.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "json/kj.h"

enum { PAGE = 500 };

struct quota_objects { /* of the cluster; references */
    struct vec_of(struct kobj *) quotas, nodes, pods;
};

struct quota_edit { /* --set NAME.min.cpu=40 */
    const char *quota, *resource;
    char field; /* 'i' min, 'a' max */
    struct qty value;
};
struct quota_edits {
    struct quota_edit *items;
    size_t n;
};

struct quota_command {
    const char *resource;
    struct flag_list set;
};

/* ---- reading --------------------------------------------------------------------------------- */

static void objects_fini_p(struct quota_objects *o)
{
    vec_foreach(&o->quotas, i)
        kobj_unref(o->quotas.items[i]);
    vec_foreach(&o->nodes, i)
        kobj_unref(o->nodes.items[i]);
    vec_foreach(&o->pods, i)
        kobj_unref(o->pods.items[i]);
    vec_fini(&o->quotas);
    vec_fini(&o->nodes);
    vec_fini(&o->pods);
}

static void keep(struct quota_objects *o, const struct kind *k, struct kobj *x)
{
    if (k == &kind_elasticquota)
        vec_push(&o->quotas, x);
    else if (k == &kind_node)
        vec_push(&o->nodes, x);
    else
        vec_push(&o->pods, x);
}

static int read_page(struct ctl *c, const struct kind *k, const struct strbuf *body,
                     struct quota_objects *o, struct strbuf *token, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *item;
    struct str key;

    if (kj_parse(strbuf_str(body), body->len, 0, &doc, err) < 0)
        return kerr_wrap(err, "the server's list of %s", k->plural);
    strbuf_reset(token);
    strbuf_appendf(token, "%s", kj_str_or(kj_path(kj_root(doc), "metadata.continue"), ""));
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &item);) {
        struct kobj *x = NULL;
        struct kerr bad = { 0 };
        if (kobj_decode(k, item, kube_scratch(c->kube), &x, &bad) == 0)
            keep(o, k, x);
        else /* one malformed object must not keep us from all the others */
            (void)ctl_fail(c, "left out %s %s: %s", k->kind,
                           kj_str_or(kj_path(item, "metadata.name"), "without name"), bad.text);
    }
    return 0;
}

static int read_kind(struct ctl *c, const struct kind *k, struct quota_objects *o, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, token = STRBUF_INIT;
    struct kube_req r = { .verb = KUBE_LIST, .kind = k, .limit = PAGE };

    if (k == &kind_pod)
        r.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
    do {
        r.continue_token = token.len ? strbuf_str(&token) : NULL;
        int e = ctl_call(c, &r, &body, err);
        if (e == 0)
            e = read_page(c, k, &body, o, &token, err);
        if (e < 0)
            return e;
    } while (token.len);
    return 0;
}

/* ---- the forest ------------------------------------------------------------------------------ */

/* The quota with the edits that name it. */
static const struct elasticquota *edited(const struct elasticquota *q, const struct quota_edits *e,
                                         struct arena *a)
{
    struct elasticquota *out = NULL;

    for (size_t i = 0; e && i < e->n; i++) {
        const struct quota_edit *x = &e->items[i];
        if (!streq(x->quota, q->obj.meta.name))
            continue;
        if (!out) {
            out = arena_new0(a, struct elasticquota);
            *out = *q;
        }
        reslist *l = x->field == 'i' ? &out->spec.min : &out->spec.max;
        *l = reslist_with(l, x->resource, x->value, a);
    }
    return out ? out : q;
}

static void add_quota(struct quota_forest *f, const struct elasticquota *q, struct strbuf *notes)
{
    struct kerr err = { 0 };

    if (forest_put(f, q, &err) == -EINVAL)
        strbuf_appendf(notes, "quota %s: %s\n", q->obj.meta.name, err.text);
}

void quota_forest_add(struct quota_forest *f, const struct kobj *o, struct strbuf *notes)
{
    if (o->kind == &kind_elasticquota)
        add_quota(f, elasticquota_of(o), notes);
    else if (o->kind == &kind_node)
        forest_add_total(f, &node_of(o)->status.allocatable, 1);
    else if (o->kind == &kind_pod && !pod_is_terminal(pod_of(o)))
        forest_put_pod(f, pod_of(o), !str_empty(pod_of(o)->node_name));
}

/* A forest of these objects, with the edits made; problems go to `notes`, a line each. */
static struct quota_forest *quota_forest_of(const struct quota_objects *o,
                                            const struct quota_edits *e, struct arena *a,
                                            struct strbuf *notes)
{
    struct quota_forest *f =
        forest_new(&(struct quota_options){ .scale_min = true, .trees = true });

    vec_foreach(&o->nodes, i)
        quota_forest_add(f, o->nodes.items[i], notes);
    vec_foreach(&o->quotas, i)
        add_quota(f, edited(elasticquota_of(o->quotas.items[i]), e, a), notes);
    vec_foreach(&o->pods, i)
        quota_forest_add(f, o->pods.items[i], notes);
    return f;
}

/* ---- edits ----------------------------------------------------------------------------------- */

/* "team.min.nvidia.com/gpu=4": names and resources may have dots. */
static int parse_edit(const char *text, struct arena *a, struct quota_edit *ret, struct kerr *err)
{
    const char *equal = strrchr(text, '='), *at = NULL, *next;
    char field = 0;

    for (const char *p = text; equal && (next = strpbrk(p, ".")) && next < equal; p = next + 1) {
        if (strncmp(next, ".min.", 5) == 0 || strncmp(next, ".max.", 5) == 0) {
            at = next;
            field = next[2];
        }
    }
    if (!at)
        return kerr_set(err, -EINVAL, "--set %.100s: should be NAME.min.RESOURCE=AMOUNT (or max)",
                        text);
    *ret = (struct quota_edit){ .quota = arena_strndup(a, text, (size_t)(at - text)),
                                .resource = arena_strndup(a, at + 5, (size_t)(equal - at - 5)),
                                .field = field };
    if (qty_parse(equal + 1, strlen(equal + 1), &ret->value, err) < 0)
        return kerr_wrap(err, "--set %.100s", text);
    return 0;
}

static bool is_there(const struct quota_objects *o, const char *name)
{
    vec_foreach(&o->quotas, i)
        if (streq(o->quotas.items[i]->meta.name, name))
            return true;
    return false;
}

static int what_if(struct ctl *c, const struct quota_command *o,
                   const struct quota_objects *objects, struct arena *a, struct strbuf *out)
{
    struct quota_edits e = { arena_newn0(a, o->set.n, struct quota_edit), o->set.n };
    CLEANUP(strbuf_fini) struct strbuf notes = STRBUF_INIT, old_notes = STRBUF_INIT;
    struct kerr err = { 0 };

    if (o->set.n == 0)
        return ctl_usage(c, "what-if needs --set NAME.min.RESOURCE=AMOUNT");
    for (size_t i = 0; i < o->set.n; i++) {
        if (parse_edit(o->set.items[i], a, &e.items[i], &err) < 0)
            return ctl_usage(c, "%s", err.text);
        if (!is_there(objects, e.items[i].quota))
            return ctl_fail(c, "there is no quota %s", e.items[i].quota);
    }
    CLEANUP(forest_free)
    struct quota_forest *before = quota_forest_of(objects, NULL, a, &old_notes);
    CLEANUP(forest_free) struct quota_forest *after = quota_forest_of(objects, &e, a, &notes);
    strbuf_append(out, strbuf_str(&notes));
    quota_whatif_text(before, after, out);
    return CTL_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int show(struct ctl *c, const struct quota_command *o, const struct quota_objects *objects,
                const char *verb, const char *name, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (streq(verb, "what-if"))
        return what_if(c, o, objects, a, out);
    CLEANUP(forest_free) struct quota_forest *f = quota_forest_of(objects, NULL, a, out);
    if (streq(verb, "tree")) {
        quota_tree_text(f, o->resource, out);
        return CTL_OK;
    }
    struct quota *q = forest_find(f, name);
    if (!q)
        return ctl_fail(c, "there is no quota %s", name);
    quota_explain_text(f, q, out);
    return CTL_OK;
}

static int quota_run(struct ctl *c, const void *options)
{
    CLEANUP(objects_fini) struct quota_objects objects = { 0 };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *verb = flags_arg(c->flags, 0), *name = verb ? flags_arg(c->flags, 1) : NULL;
    struct kerr err = { 0 };

    if (!verb || !(streq(verb, "tree") || streq(verb, "explain") || streq(verb, "what-if")))
        return ctl_usage(c, "quota tree, quota explain NAME or quota what-if");
    if (streq(verb, "explain") && !name)
        return ctl_usage(c, "quota explain needs the name of a quota");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    if (read_kind(c, &kind_elasticquota, &objects, &err) < 0 ||
        read_kind(c, &kind_node, &objects, &err) < 0 || read_kind(c, &kind_pod, &objects, &err) < 0)
        return ctl_complain(c, &err);
    code = show(c, options, &objects, verb, name, &out);
    ctl_clean(&out);
    (void)ctl_print(c, &out);
    return code;
}

static const struct flag quota_flags[] = {
    { "resource", FLAG_STR, .off = offsetof(struct quota_command, resource), .def = "cpu",
      .help = "`name` of the resource that tree shows" },
    { "set", FLAG_LIST, .off = offsetof(struct quota_command, set),
      .help = "what-if: an `edit` such as team.min.cpu=40, min or max; may be repeated" },
};

const struct ctl_command ctl_command_quota = {
    .name = "quota",
    .args = "tree | explain NAME | what-if",
    .help =
        "quotas: the tree with who lends to whom, how a runtime came about, what an edit would do",
    .about =
        "  tree           min, used, runtime and max of every quota, as bars\n"
        "  explain NAME   round by round how its runtime came about\n"
        "  what-if        runtimes, evictions and admissions that an edit (--set) would cause\n"
        "Numbers are computed here from the objects of the cluster, as the scheduler does with "
        "its\n"
        "default arguments.\n",
    .flags = quota_flags,
    .nflags = ARRAY_LEN(quota_flags),
    .options_size = sizeof(struct quota_command),
    .run = quota_run,
};
