/* explain.c - koordctl explain: reads the cluster, and lets the scheduler's attempt run on it. */
#include "ctl/explain.h"

#include "api/koord/podgroup.h"
#include "api/koord/profile.h"
#include "api/koord/quota.h"
#include "api/koord/reservation.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/get.h"
#include "loop/loop.h"
#include "quota/forest.h"
#include "json/kj.h"

#define O(member) .off = offsetof(struct explain_options, member)
static const struct flag explain_flags[] = {
    { "config", FLAG_STR, O(config),
      .help = "KubeSchedulerConfiguration `file`: explain by its profile of the pod's scheduler" },
    { "filename", FLAG_STR, O(file), .letter = 'f',
      .help = "`file` of the pod that explain profile is about; - is stdin" },
    { "all-nodes", FLAG_BOOL, O(all_nodes), .help = "each node on its own, not in groups" },
    { "top", FLAG_INT, O(top), .def = "10", .min = 1, .max = 10000,
      .help = "so many `rows` of the score table" },
};
#undef O

struct explain { /* one run of the command */
    struct ctl *c;
    const struct explain_options *o;
    struct explain_cluster cluster;
    const char *ns, *name; /* ns NULL: the one in use */
    struct arena *arena;
    struct kobj *pod; /* as if it had no node */
    struct kj_doc *answer, *quota;
    struct strbuf scores;
    struct explained e;
};

/* ---- the pod --------------------------------------------------------------------------------- */

/* "node NAME", or "node/NAME" as kubectl writes it; NULL: it is about another kind. */
static const char *name_of(struct ctl *c, const struct kind *of, struct arena *a)
{
    const char *first = flags_arg(c->flags, 0), *word = flags_arg(c->flags, 1);
    const char *slash = first ? strchr(first, '/') : NULL;

    if (!first || !slash == !word || flags_nargs(c->flags) > 2)
        return NULL;
    const char *kind = arena_strndup(a, first, slash ? (size_t)(slash - first) : strlen(first));
    const char *name = slash ? slash + 1 : word;
    return kind_find(kind) == of && *name && !strchr(name, '/') ? name : NULL;
}

/* "pod NAME", "pod NAMESPACE/NAME", or "pod/NAME" as kubectl writes it. */
static int read_name(struct explain *x)
{
    const char *first = flags_arg(x->c->flags, 0), *word = flags_arg(x->c->flags, 1);
    const char *slash = first ? strchr(first, '/') : NULL;
    CLEANUP(mem_free)
    char *kind = first ? xstrndup(first, slash ? (size_t)(slash - first) : strlen(first)) : NULL;

    if (!first || !slash == !word || flags_nargs(x->c->flags) > 2 || kind_find(kind) != &kind_pod)
        return ctl_usage(
            x->c, "explain takes: pod/NAME, pod [NAMESPACE/]NAME, podgroup [NAMESPACE/]NAME, "
                  "node/NAME, reservation/NAME, or profile -f FILE");
    x->name = slash ? slash + 1 : word;
    if (word && (slash = strchr(word, '/'))) {
        x->ns = arena_strndup(x->arena, word, (size_t)(slash - word));
        x->name = slash + 1;
    }
    if ((x->ns && !*x->ns) || !*x->name || strchr(x->name, '/'))
        return ctl_usage(x->c, "'%.120s' is not the namespace/name of a pod", word ? word : first);
    return CTL_OK;
}

/* "podgroup NAMESPACE/NAME", "podgroup NAME" or "podgroup/NAME"; NULL: it is about another kind. */
static const char *name_of_gang(struct ctl *c, struct arena *a, const char **ret_ns)
{
    const char *first = flags_arg(c->flags, 0), *word = flags_arg(c->flags, 1);
    const char *slash = word ? strchr(word, '/') : NULL;

    *ret_ns = NULL;
    if (!slash)
        return name_of(c, &kind_podgroup, a);
    if (kind_find(first) != &kind_podgroup || flags_nargs(c->flags) > 2 || slash == word ||
        !slash[1] || strchr(slash + 1, '/'))
        return NULL;
    *ret_ns = arena_strndup(a, word, (size_t)(slash - word));
    return slash + 1;
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
    int r = kobj_decode(&kind_pod, kj_root(free_doc), x->cluster.scratch, &x->pod, err);
    if (r == 0)
        x->e.pod = pod_of(x->pod);
    return r;
}

static int read_pod(struct explain *x)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kube_req r = { .verb = KUBE_GET, .kind = &kind_pod, .name = x->name };
    struct kerr err = { 0 };

    r.ns = x->ns ? x->ns : ctl_namespace(x->c);
    if (ctl_call(x->c, &r, &body, &err) < 0)
        return ctl_complain(x->c, &err);
    return decode_pod(x, &body, &err) < 0 ? ctl_fail(x->c, "the server's pod: %s", err.text)
                                          : CTL_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int read_cluster(struct explain *x)
{
    return explain_read_cluster(&x->cluster, x->e.pod->spec->scheduler_name, x->o->config);
}

static int find_out(struct explain *x)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct kerr err = { 0 };

    if (x->cluster.scheduler->try_pod(x->cluster.self, x->pod, loop_wall(x->c->loop), &json, &err) <
            0 ||
        kj_parse(strbuf_str(&json), json.len, 0, &x->answer, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    x->e.answer = kj_root(x->answer);
    if (kj_get(x->e.answer, "best"))
        x->cluster.scheduler->scores(x->cluster.self, (unsigned)x->o->top, &x->scores);
    x->e.scores = strbuf_str(&x->scores);
    return CTL_OK;
}

static bool reads_quotas(const struct explain *x)
{
    const struct kind *k;

    for (unsigned i = 0; (k = x->cluster.scheduler->kind(x->cluster.self, i)); i++)
        if (k == &kind_elasticquota)
            return true;
    return false;
}

/* Only of a pod that waits, and where the scheduler knows quotas. */
static int find_quota(struct explain *x)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    if (x->e.node || !reads_quotas(x) || !explain_quota(x->cluster.quotas, x->e.pod, &json) ||
        kj_parse(strbuf_str(&json), json.len, 0, &x->quota, NULL) < 0)
        return CTL_OK;
    x->e.quota = kj_root(x->quota);
    return CTL_OK;
}

static void put_tree(const struct explained *e, const char *form, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mcopy(d, e->answer);
    char key[KOBJ_KEY_MAX];

    kobj_key(&e->pod->obj, key, sizeof key);
    kj_mset(d, root, "pod", kj_mstr(d, key));
    if (e->node)
        kj_mset(d, root, "node", kj_mstr(d, e->node));
    if (e->quota)
        kj_mset(d, root, "quota", kj_mcopy(d, e->quota));
    tree_put(form, root, out);
}

int explain_show(struct ctl *c, const struct strbuf *json, explain_text_fn text)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *form = c->o.output;
    struct kerr err = { 0 };

    if (kj_parse(strbuf_str(json), json->len, 0, &doc, &err) < 0)
        return ctl_fail(c, "%s", err.text);
    if (str_empty(form) || streq(form, "table")) {
        text(kj_root(doc), &out);
        ctl_clean(&out);
    } else {
        tree_put(form, kj_mcopy(d, kj_root(doc)), &out);
    }
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
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
    static int (*const steps[])(struct explain *) = { read_pod, read_cluster, find_out, find_quota,
                                                      answer };
    int code = read_name(x);

    if (code == CTL_OK)
        code = ctl_connect(x->c);

    for (size_t i = 0; i < ARRAY_LEN(steps) && code == CTL_OK; i++)
        code = steps[i](x);
    return code;
}

static int run_pod(struct ctl *c, const struct explain_options *o, struct arena *a)
{
    struct explain x = { .c = c, .o = o, .arena = a, .cluster = { .c = c, .arena = a } };

    if (!c->parts || !c->parts->explain)
        return ctl_fail(c, "this program has no scheduler to explain with");
    x.cluster.scheduler = c->parts->explain;
    x.cluster.scratch = kj_scratch_new(c->strings);
    x.cluster.quotas = forest_new(&(struct quota_options){ .scale_min = true, .trees = true });
    int code = run_steps(&x);
    x.cluster.scheduler->close(x.cluster.self);
    forest_free(x.cluster.quotas);
    kj_doc_free(x.answer);
    kj_doc_free(x.quota);
    strbuf_fini(&x.scores);
    kobj_unref(x.pod);
    kj_scratch_free(x.cluster.scratch);
    return code;
}

static bool is_profile(const char *word)
{
    return streq(word, "profile") || kind_find(word) == &kind_colocation_profile;
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct explain_options *o = options;
    const char *node = name_of(c, &kind_node, a), *r = name_of(c, &kind_reservation, a), *ns;
    const char *gang = name_of_gang(c, a, &ns);

    if (streq(c->o.output, "wide") || streq(c->o.output, "name"))
        return ctl_usage(c, "explain knows -o table, json and yaml");
    if (flags_nargs(c->flags) == 1 && is_profile(flags_arg(c->flags, 0)))
        return explain_profile_run(c, o->file);
    if (gang)
        return explain_podgroup_run(c, ns, gang, o->config);
    if (r)
        return explain_reservation_run(c, r, o->config);
    return node ? explain_node_run(c, node) : run_pod(c, o, a);
}

const struct ctl_command ctl_command_explain = {
    .name = "explain",
    .args = "pod/NAME | pod [NAMESPACE/]NAME | podgroup [NAMESPACE/]NAME | node/NAME | "
            "reservation/NAME | profile -f FILE",
    .help =
        "Tell why a pod has no node, or why it has this one; what a gang waits for; what a node "
        "gives to batch pods; who uses a reservation; what profiles make of a pod",
    .about =
        "For a pod without a node: what holds it back, what each node lacks, who would have to "
        "go to make\nroom, and what its event says. For a pod with a node: the score table as "
        "it would be today\nwith this pod taken away. Nothing is changed in the cluster. "
        "Without --config the profile is\nthe one in the cluster's ConfigMap "
        "koord-scheduler-config, else the one that koord-scheduler\nships; for other schedulers "
        "the "
        "default plugins.\n\n"
        "For a gang (a PodGroup, or the name that annotations of pods share): who is there, how "
        "many members\nfit now and the first that does not, room by kind of node and by part of "
        "the network, and what one\nmore node of each kind would do.\n\n"
        "For a node: each term of the formulas of its batch and mid resources in numbers, where "
        "its\nstrategy comes from, and what holds a change back.\n\n"
        "For a reservation: why it waits, who may use it and who does, what is left of it, when it "
        "ends.\n\n"
        "For profiles: which of them match the pod in the file, or which selector does not, who "
        "overrides\nwhom, and the pod as a diff. A LimitRange of the namespace counts too.\n",
    .flags = explain_flags,
    .nflags = ARRAY_LEN(explain_flags),
    .options_size = sizeof(struct explain_options),
    .run = run,
};
