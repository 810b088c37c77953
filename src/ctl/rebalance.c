/* rebalance.c - koordctl rebalance [--config FILE] [--apply]. */
#include "ctl/rebalance.h"

#include "api/core.h"
#include "api/koord/podmigrationjob.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "loop/loop.h"
#include "json/kj.h"

#define CONFIG_NS   "koordinator-system"
#define CONFIG_NAME "koord-descheduler-config" /* of Koordinator's chart; the key too */

struct rebalance_options {
    const char *config, *scheduler_config;
    bool apply;
};
#define O(member) .off = offsetof(struct rebalance_options, member)
static const struct flag rebalance_flags[] = {
    { "config", FLAG_STR, O(config),
      .help = "DeschedulerConfiguration `file`; without it that of the cluster" },
    { "scheduler-config", FLAG_STR, O(scheduler_config),
      .help = "KubeSchedulerConfiguration `file`; without it that of the cluster" },
    { "apply", FLAG_BOOL, O(apply),
      .help = "make the PodMigrationJobs of the plan, for the descheduler to carry out" },
};
#undef O

struct rebalance {
    struct ctl *c;
    const struct rebalance_options *o;
    struct arena *arena;
    struct kj_mdoc *doc;
    struct kj_mval *plan;
    struct explain_cluster on; /* the scheduler that was asked last */
    const char *scheduler;     /* its name; NULL: none yet */
};

/* ---- the plan --------------------------------------------------------------------------------- */

static int read_config(struct rebalance *x, const char **ret)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = {
        .verb = KUBE_GET, .kind = &kind_configmap, .ns = CONFIG_NS, .name = CONFIG_NAME
    };
    struct kerr err = { 0 };

    if (ctl_call(x->c, &r, &body, &err) < 0 && err.reason != KR_NOT_FOUND)
        return ctl_complain(x->c, &err);
    if (body.len && kj_parse(body.data, body.len, 0, &doc, &err) < 0)
        return ctl_fail(x->c, "the server's ConfigMap " CONFIG_NAME ": %s", err.text);
    const char *text = kj_str(kj_get(kj_get(kj_root(doc), "data"), CONFIG_NAME));
    if (!text)
        return ctl_fail(x->c, "there is no ConfigMap " CONFIG_NS "/" CONFIG_NAME
                              " with the descheduler's configuration: name a file with --config");
    *ret = arena_strdup(x->arena, text);
    return CTL_OK;
}

static int make_plan(struct rebalance *x)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    const char *text = NULL;
    struct kerr err = { 0 };

    if (str_empty(x->o->config)) {
        int code = read_config(x, &text);
        if (code != CTL_OK)
            return code;
    }
    ctl_progress(x->c, "reading the cluster ...");
    int r = x->c->parts->rebalance->plan(x->c->loop, x->c->kube, x->o->config, text, &json, &err);
    ctl_progress_end(x->c);
    if (r < 0)
        return ctl_fail(x->c, "%s", err.text);
    x->plan = kj_mraw(x->doc, json.data, json.len);
    return CTL_OK;
}

/* ---- where they would go ---------------------------------------------------------------------- */

static void close_scheduler(struct rebalance *x)
{
    if (x->on.scheduler)
        x->on.scheduler->close(x->on.self);
    if (x->on.scratch)
        kj_scratch_free(x->on.scratch);
    x->on = (struct explain_cluster){ 0 };
    x->scheduler = NULL;
}

static int open_scheduler(struct rebalance *x, const char *name)
{
    if (x->scheduler && streq(x->scheduler, name))
        return CTL_OK;
    close_scheduler(x);
    x->on = (struct explain_cluster){ .c = x->c,
                                      .arena = x->arena,
                                      .scheduler = x->c->parts->explain,
                                      .scratch = kj_scratch_new(x->c->strings) };
    x->scheduler = arena_strdup(x->arena, name);
    return explain_read_cluster(&x->on, x->scheduler, x->o->scheduler_config);
}

/* The best node but the one that the pod is to leave. */
static const char *best_other(const struct kj_val *answer, const char *own, struct arena *a)
{
    struct kj_iter it = kj_iter(kj_get(answer, "nodes"));
    const struct kj_val *n;
    struct str name, best = { NULL, 0 };
    int64_t most = 0;

    while (kj_next(&it, &name, &n)) {
        int64_t total = kj_i64_or(kj_get(n, "total"), 0);
        if (!kj_bool(kj_get(n, "fit"), false) || str_eqz(name, own) || (best.p && total <= most))
            continue;
        best = name;
        most = total;
    }
    return best.p ? arena_strndup(a, best.p, best.n) : NULL;
}

/* The same pod on its new node, so that those that follow find it there. */
static int add_moved(struct rebalance *x, const struct kj_val *pod, const char *node,
                     struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    struct kj_mval *copy = kj_mcopy(d, pod), *meta = kj_mget(copy, "metadata");
    const char *name = kj_str_or(kj_path(pod, "metadata.name"), "");

    kj_mset(d, meta, "name", kj_mstr(d, arena_printf(x->arena, "%s-moved", name)));
    kj_mset(d, meta, "uid", kj_mstr(d, arena_printf(x->arena, "%s-moved", name)));
    kj_mset(d, kj_mget(copy, "spec"), "nodeName", kj_mstr(d, node));
    doc = kj_freeze(copy);
    if (kobj_decode(&kind_pod, kj_root(doc), x->on.scratch, &o, err) < 0)
        return err->code;
    return x->on.scheduler->add(x->on.self, o, err);
}

/* As if it had no node yet. */
static struct kj_doc *without_node(const struct kj_val *pod)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *copy = kj_mcopy(d, pod), *spec = kj_mget(copy, "spec");

    if (spec)
        kj_mdel(spec, "nodeName", strlen("nodeName"));
    return kj_freeze(copy);
}

static int try_pod(struct rebalance *x, const struct kj_val *pod, const char *own,
                   const char **ret_node, const char **ret_message)
{
    CLEANUP(kj_doc_free) struct kj_doc *pending = without_node(pod);
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kobj_decode(&kind_pod, kj_root(pending), x->on.scratch, &o, &err) < 0 ||
        x->on.scheduler->try_pod(x->on.self, o, loop_wall(x->c->loop), &json, &err) < 0 ||
        kj_parse(strbuf_str(&json), json.len, 0, &doc, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    *ret_node = best_other(kj_root(doc), own, x->arena);
    *ret_message = arena_strdup(
        x->arena, kj_str_or(kj_get(kj_root(doc), "message"), "only its own node would take it"));
    if (*ret_node && add_moved(x, pod, *ret_node, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    return CTL_OK;
}

static int place(struct rebalance *x, struct kj_mval *move)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kube_req r = { .verb = KUBE_GET,
                                .kind = &kind_pod,
                                .ns = kj_mstr_get(kj_mget(move, "namespace")),
                                .name = kj_mstr_get(kj_mget(move, "name")) };
    const char *node = NULL, *message = NULL, *own = kj_mstr_get(kj_mget(move, "node"));
    struct kerr err = { 0 };

    if (ctl_call(x->c, &r, &body, &err) < 0 || kj_parse(body.data, body.len, 0, &doc, &err) < 0) {
        kj_mset(x->doc, move, "message", kj_mstr(x->doc, err.text));
        return CTL_OK; /* it went meanwhile */
    }
    int code = open_scheduler(
        x, kj_str_or(kj_path(kj_root(doc), "spec.schedulerName"), "default-scheduler"));
    if (code == CTL_OK)
        code = try_pod(x, kj_root(doc), own, &node, &message);
    if (code == CTL_OK && node)
        kj_mset(x->doc, move, "to", kj_mstr(x->doc, node));
    else if (code == CTL_OK)
        kj_mset(x->doc, move, "message", kj_mstr(x->doc, message));
    return code;
}

static int place_all(struct rebalance *x)
{
    struct kj_mval *moves = kj_mget(x->plan, "moves");
    int code = CTL_OK;

    for (size_t i = 0; code == CTL_OK && i < kj_mlen(moves); i++) {
        ctl_progress(x->c, "asking the scheduler: %zu of %zu", i + 1, kj_mlen(moves));
        code = place(x, kj_mat(moves, i));
    }
    ctl_progress_end(x->c);
    close_scheduler(x);
    return code;
}

/* ---- jobs ------------------------------------------------------------------------------------- */

static void write_job(struct rebalance *x, const struct kj_mval *move, struct strbuf *body)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct kjw w = kjw_to(body);
    char id[6] = "";

    for (size_t i = 0; i < 5; i++)
        id[i] = letters[loop_rand_below(x->c->loop, sizeof letters - 1)];
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "scheduling.koordinator.sh/v1alpha1");
    kjw_str(&w, "kind", kind_podmigrationjob.kind);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name",
            arena_printf(x->arena, "rebalance-%.200s-%s", kj_mstr_get(kj_mget(move, "name")), id));
    kjw_obj(&w, "annotations");
    kjw_str(&w, ANNO_EVICT_TRIGGER, kj_mstr_get(kj_mget(move, "plugin")));
    kjw_str(&w, ANNO_EVICT_REASON, kj_mstr_get(kj_mget(move, "reason")));
    kjw_end(&w);
    kjw_end(&w);
    kjw_obj(&w, "spec");
    kjw_str(&w, "ttl", "5m0s");
    kjw_obj(&w, "podRef");
    kjw_str(&w, "namespace", kj_mstr_get(kj_mget(move, "namespace")));
    kjw_str(&w, "name", kj_mstr_get(kj_mget(move, "name")));
    kjw_str(&w, "uid", kj_mstr_get(kj_mget(move, "uid")));
    for (int i = 0; i < 3; i++)
        kjw_end(&w);
}

/* A pod that the scheduler can place nowhere gets no job: it could not succeed. */
static int apply(struct rebalance *x)
{
    struct kj_mval *moves = kj_mget(x->plan, "moves");
    int code = CTL_OK;

    for (size_t i = 0; i < kj_mlen(moves); i++) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, answer = STRBUF_INIT;
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct kj_mval *move = kj_mat(moves, i);
        struct kerr err = { 0 };
        if (!kj_mget(move, "to"))
            continue;
        write_job(x, move, &body);
        const struct kube_req r = { .verb = KUBE_CREATE,
                                    .kind = &kind_podmigrationjob,
                                    .body = body.data,
                                    .body_len = body.len };
        if (ctl_call(x->c, &r, &answer, &err) < 0) {
            code = ctl_complain(x->c, &err);
            continue;
        }
        if (kj_parse(answer.data, answer.len, 0, &doc, &err) == 0)
            kj_mset(x->doc, move, "job",
                    kj_mstr(x->doc, kj_str_or(kj_path(kj_root(doc), "metadata.name"), "")));
    }
    return code;
}

/* ---- the command ------------------------------------------------------------------------------ */

static int show(struct rebalance *x)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    kj_mwrite(x->plan, 0, &json);
    return explain_show(x->c, &json, rebalance_text);
}

static int run(struct ctl *c, const void *options)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_mdoc_free) struct kj_mdoc *doc = kj_mdoc_new();
    struct rebalance x = { .c = c, .o = options, .arena = a, .doc = doc };

    if (flags_nargs(c->flags) > 0)
        return ctl_usage(c, "rebalance takes no arguments");
    if (!c->parts || !c->parts->rebalance || !c->parts->explain)
        return ctl_fail(c, "this program has no descheduler to ask");
    int code = ctl_connect(c);
    if (code == CTL_OK)
        code = make_plan(&x);
    if (code == CTL_OK)
        code = place_all(&x);
    if (code != CTL_OK)
        return code;
    int applied = x.o->apply ? apply(&x) : CTL_OK;
    code = show(&x);
    return code == CTL_OK ? applied : code;
}

const struct ctl_command ctl_command_rebalance = {
    .name = "rebalance",
    .help = "Show which pods the descheduler would move now, and where to",
    .about = "Runs one round of the descheduler on the cluster as it is, without writing anything: "
             "nodes\n"
             "by class, who would go and why, where the scheduler would put each of them, use "
             "before\n"
             "and after, and what keeps the other pods of hot nodes. Nodes that are hot now count "
             "as\n"
             "hot for long enough. --apply then makes the PodMigrationJobs of the plan.\n",
    .flags = rebalance_flags,
    .nflags = ARRAY_LEN(rebalance_flags),
    .options_size = sizeof(struct rebalance_options),
    .run = run,
};
