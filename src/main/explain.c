/* explain.c - koordctl explain: reads the cluster, and lets the scheduler's attempt run on it. */
#include "main/explain.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "client/kube.h"
#include "ctl/get.h"
#include "loop/loop.h"
#include "scheduler/config/config.h"
#include "json/kj.h"

enum { PAGE = 500 };

#define O(member) .off = offsetof(struct explain_options, member)
static const struct flag explain_flags[] = {
    { "config", FLAG_STR, O(config),
      .help = "KubeSchedulerConfiguration `file`: explain by its profile of the pod's scheduler" },
    { "all-nodes", FLAG_BOOL, O(all_nodes), .help = "each node on its own, not in groups" },
    { "top", FLAG_INT, O(top), .def = "10", .min = 1, .max = 10000,
      .help = "so many `rows` of the score table" },
};
#undef O

struct explain { /* one run of the command */
    struct ctl *c;
    const struct explain_options *o;
    struct arena *arena;
    struct kj_scratch *scratch;
    struct kobj *pod;      /* as if it had no node */
    struct config *config; /* where the profile comes from; NULL: the default plugins */
    struct explained e;
};

/* ---- the pod --------------------------------------------------------------------------------- */

/* NS/NAME, or NAME in the namespace in use. */
static int read_name(struct explain *x, const char **ret_ns, const char **ret_name)
{
    const char *word = flags_arg(x->c->flags, 1), *slash = strchr(word, '/');

    *ret_ns = slash ? arena_strndup(x->arena, word, (size_t)(slash - word)) : ctl_namespace(x->c);
    *ret_name = slash ? slash + 1 : word;
    if (!**ret_ns || !**ret_name || strchr(*ret_name, '/'))
        return ctl_usage(x->c, "'%.120s' is not the namespace/name of a pod", word);
    return CTL_OK;
}

/* A pod that has its node would fit that one only. */
static int decode_pod(struct explain *x, const struct strbuf *body, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *free_doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *copy = kj_mdoc_new();

    if (kj_parse(strbuf_str(body), body->len, 0, &doc, err) < 0)
        return err->code;
    const char *node = kj_str(kj_path(kj_root(doc), "spec.nodeName"));
    struct kj_mval *root = kj_mcopy(copy, kj_root(doc)), *spec = kj_mget(root, "spec");
    if (!str_empty(node)) {
        x->e.node = arena_strdup(x->arena, node);
        kj_mdel(spec, "nodeName", strlen("nodeName"));
    }
    free_doc = kj_freeze(root);
    int r = kobj_decode(&kind_pod, kj_root(free_doc), x->scratch, &x->pod, err);
    if (r == 0)
        x->e.pod = pod_of(x->pod);
    return r;
}

static int read_pod(struct explain *x)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kube_req r = { .verb = KUBE_GET, .kind = &kind_pod };
    struct kerr err = { 0 };

    int code = read_name(x, &r.ns, &r.name);
    if (code != CTL_OK)
        return code;
    if (ctl_call(x->c, &r, &body, &err) < 0)
        return ctl_complain(x->c, &err);
    return decode_pod(x, &body, &err) < 0 ? ctl_fail(x->c, "the server's pod: %s", err.text)
                                          : CTL_OK;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static void note_missing(struct explain *x, const struct sched_config *c)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;

    for (const char *const *name = c->not_yet; *name; name++)
        strbuf_appendf(&names, "%s%s", names.len ? ", " : "", *name);
    if (names.len)
        (void)fprintf(x->c->err, "note: plugins of the profile that are not here yet: %s\n",
                      strbuf_str(&names));
    if (c->extenders.n)
        (void)fprintf(x->c->err, "note: extenders are not asked\n");
}

static const struct profile_config *find_profile(const struct sched_config *c, const char *name)
{
    for (uint32_t i = 0; i < c->profiles.n; i++)
        if (streq(c->made[i].scheduler_name, name))
            return &c->made[i];
    return NULL;
}

/* The file's, else the one that is shipped for this scheduler, else the default plugins. */
static int choose_profile(struct explain *x, struct profile_config *ret)
{
    const char *name = x->e.pod->spec->scheduler_name;
    bool given = !str_empty(x->o->config);
    struct kerr err = { 0 };

    int r = given ? config_load(&sched_config_spec, x->o->config, &x->config, &err)
                  : sched_config_shipped(&x->config, &err);
    if (r < 0)
        return ctl_fail(x->c, "%s", err.text);
    const struct sched_config *c = x->config->value;
    const struct profile_config *found = find_profile(c, name);
    if (!found && given)
        return ctl_fail(x->c, "%s has no profile for scheduler %s, which the pod names",
                        x->o->config, name);
    if (found)
        note_missing(x, c);
    else if (!streq(name, "default-scheduler"))
        (void)fprintf(x->c->err, "note: scheduler %s is not known here: default plugins\n", name);
    *ret = found ? *found : profile_config_default(ks_registry, name, x->arena);
    return CTL_OK;
}

static int make_whatif(struct explain *x)
{
    struct profile_config profile;
    struct kerr err = { 0 };

    int code = choose_profile(x, &profile);
    if (code != CTL_OK)
        return code;
    x->e.whatif = whatif_new(&profile, ks_registry, &err);
    return x->e.whatif ? CTL_OK : ctl_fail(x->c, "%s", err.text);
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static void add_object(struct explain *x, const struct kind *k, const struct kj_val *v)
{
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kobj_decode(k, v, x->scratch, &o, &err) == 0 && whatif_add(x->e.whatif, o, &err) == 0)
        return;
    /* One malformed object must not keep us from all the others. */
    (void)ctl_fail(x->c, "left out %s %s: %s", k->kind,
                   kj_str_or(kj_path(v, "metadata.name"), "without name"), err.text);
}

static int add_page(struct explain *x, const struct kind *k, const struct strbuf *body,
                    char **ret_token, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *item;
    struct str key;

    if (kj_parse(strbuf_str(body), body->len, 0, &doc, err) < 0)
        return kerr_wrap(err, "the server's list of %s", k->plural);
    const char *token = kj_str(kj_path(kj_root(doc), "metadata.continue"));
    *ret_token = str_empty(token) ? NULL : arena_strdup(x->arena, token);
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items"));
    while (kj_next(&it, &key, &item))
        add_object(x, k, item);
    return 0;
}

static int read_kind(struct explain *x, const struct kind *k, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kube_req r = { .verb = KUBE_LIST, .kind = k, .limit = PAGE };
    char *token = NULL;

    if (k == &kind_pod)
        r.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
    do {
        r.continue_token = token;
        int e = ctl_call(x->c, &r, &body, err);
        if (e < 0)
            return e;
        e = add_page(x, k, &body, &token, err);
        if (e < 0)
            return e;
    } while (token);
    return 0;
}

static int read_cluster(struct explain *x)
{
    const struct kind *k;
    struct kerr err = { 0 };

    if (read_kind(x, &kind_node, &err) < 0 || read_kind(x, &kind_pod, &err) < 0)
        return ctl_complain(x->c, &err);
    for (unsigned i = 0; (k = whatif_kind(x->e.whatif, i)); i++) {
        int r = read_kind(x, k, &err);
        if (r < 0 && err.reason != KR_NOT_FOUND) /* a kind that this server does not have */
            return ctl_complain(x->c, &err);
    }
    return CTL_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int find_out(struct explain *x)
{
    struct explained *e = &x->e;
    struct kerr err = { 0 };

    if (whatif_explain(e->whatif, x->pod, loop_wall(x->c->loop), &e->result, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    if (e->result.nbest)
        return CTL_OK;
    int r = whatif_preempt(e->whatif, &e->room, &err);
    e->has_room = r == 0;
    return r < 0 && r != -ENOTSUP ? ctl_fail(x->c, "%s", err.text) : CTL_OK;
}

static void put_tree(const struct explained *e, const char *form, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    char key[KOBJ_KEY_MAX];

    whatif_write(&e->result, WHATIF_CHANGES, &text);
    struct kj_mval *root = kj_mraw(d, text.data, text.len);
    kobj_key(&e->pod->obj, key, sizeof key);
    kj_mset(d, root, "pod", kj_mstr(d, key));
    if (e->node)
        kj_mset(d, root, "node", kj_mstr(d, e->node));
    if (e->has_room) {
        strbuf_reset(&text);
        whatif_write_preemption(&e->room, &text);
        kj_mset(d, root, "preemption", kj_mraw(d, text.data, text.len));
    }
    tree_put(form, root, out);
}

static int answer(struct explain *x)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *form = x->c->o.output;

    if (str_empty(form) || streq(form, "table"))
        explain_text(&x->e, x->o, &out);
    else
        put_tree(&x->e, form, &out);
    return ctl_print(x->c, &out) ? CTL_OK : CTL_FAILED;
}

static int run_steps(struct explain *x)
{
    static int (*const steps[])(struct explain *) = { read_pod, make_whatif, read_cluster, find_out,
                                                      answer };
    int code = ctl_connect(x->c);

    for (size_t i = 0; i < ARRAY_LEN(steps) && code == CTL_OK; i++)
        code = steps[i](x);
    return code;
}

static int run(struct ctl *c, const void *options)
{
    struct explain x = { .c = c, .o = options };

    if (flags_nargs(c->flags) != 2 || kind_find(flags_arg(c->flags, 0)) != &kind_pod)
        return ctl_usage(c, "explain takes: pod [NAMESPACE/]NAME");
    if (streq(c->o.output, "wide") || streq(c->o.output, "name"))
        return ctl_usage(c, "explain knows -o table, json and yaml");
    x.arena = arena_new();
    x.scratch = kj_scratch_new(c->strings);
    int code = run_steps(&x);
    whatif_free(x.e.whatif);
    kobj_unref(x.pod);
    config_unref(x.config);
    kj_scratch_free(x.scratch);
    arena_free(x.arena);
    return code;
}

const struct ctl_command explain_command = {
    .name = "explain",
    .args = "pod [NAMESPACE/]NAME",
    .help = "Tell why a pod has no node, or why it has this one",
    .about =
        "For a pod without a node: what holds it back, what each node lacks, who would have to "
        "go to make\nroom, and what its event says. For a pod with a node: the score table as "
        "it would be today\nwith this pod taken away. Nothing is changed in the cluster. "
        "Without --config the profile is\nthe one that koord-scheduler ships, for other "
        "schedulers the default plugins.\n",
    .flags = explain_flags,
    .nflags = ARRAY_LEN(explain_flags),
    .options_size = sizeof(struct explain_options),
    .run = run,
};
