/* rebalance.c - the descheduler's part of koordctl rebalance: one round of its own, that writes
 * nothing, and what it found.
 */
#include "ctl/rebalance.h"

#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"
#include "loop/loop.h"
#include "main/koordctl.h"
#include "json/kj.h"

#define TIME_LIMIT (120 * NSEC_PER_SEC)

struct found_node {
    char *name;
    const char *class, *plugin;
    struct vec_of(char *) details;
};
struct refusal {
    char *pod; /* namespace/name */
    char *why;
};
struct planner {
    struct loop *loop;
    struct descheduler *d;
    struct kj_mdoc *doc;
    struct kj_mval *moves;
    struct map chosen; /* keys of pods that would go: themselves */
    struct vec_of(char *) keys;
    struct vec_of(struct found_node) nodes;
    struct vec_of(struct refusal) refused;
    struct kerr err; /* of the round */
    bool failed, done;
};

/* ---- what the round says ---------------------------------------------------------------------- */

static void set_text(struct kj_mdoc *d, struct kj_mval *v, const char *key, const char *text)
{
    kj_mset(d, v, key, kj_mstr(d, text));
}

static void on_decided(void *arg, const struct kd_decision *x)
{
    struct planner *p = arg;
    const struct objmeta *m = &x->pod->obj.meta;
    char key[KOBJ_KEY_MAX], uid[KUID_TEXT_MAX];

    (void)kobj_key(&x->pod->obj, key, sizeof key);
    if (!x->evicted) {
        struct refusal r = { xstrdup(key), xstrdup(x->why) };
        vec_push(&p->refused, r);
        return;
    }
    char *copy = xstrdup(key);
    vec_push(&p->keys, copy);
    map_putz(&p->chosen, copy, copy);
    struct kj_mval *v = kj_mobj(p->doc);
    (void)kuid_format(m->uid, uid, sizeof uid);
    set_text(p->doc, v, "namespace", m->ns);
    set_text(p->doc, v, "name", m->name);
    set_text(p->doc, v, "uid", uid);
    set_text(p->doc, v, "node", x->pod->node_name);
    set_text(p->doc, v, "plugin", x->plugin);
    set_text(p->doc, v, "reason", x->reason);
    kj_mpush(p->moves, v);
}

static void on_node(void *arg, const struct kd_node_class *c)
{
    struct planner *p = arg;
    struct found_node *n = p->nodes.n ? &vec_last(&p->nodes) : NULL;

    if (!n || !streq(n->name, c->node)) {
        struct found_node fresh = { .name = xstrdup(c->node),
                                    .class = c->class,
                                    .plugin = c->plugin };
        vec_push(&p->nodes, fresh);
        n = &vec_last(&p->nodes);
    }
    vec_push(&n->details, xstrdup(c->detail));
}

static void on_round_done(void *arg, const struct kerr *err)
{
    struct planner *p = arg;

    if (err) {
        p->failed = true;
        p->err = *err;
    }
    p->done = true;
    loop_stop(p->loop);
}

static void on_late(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* ---- use -------------------------------------------------------------------------------------- */

static void set_amounts(struct kj_mdoc *d, struct kj_mval *v, const char *key, struct qty used,
                        struct qty capacity, bool cpu)
{
    struct kj_mval *u = kj_mobj(d);

    kj_mset(d, u, "used", kj_mi64(d, cpu ? qty_milli(used) : qty_value(used)));
    kj_mset(d, u, "capacity", kj_mi64(d, cpu ? qty_milli(capacity) : qty_value(capacity)));
    kj_mset(d, v, key, u);
}

static struct qty total_use(const struct nodemetric *m, const char *resource)
{
    struct qty sum = reslist_get(&m->status.node_metric->system_usage.resources, resource);

    for (uint32_t i = 0; i < m->status.pods_metric.n; i++)
        sum = qty_add(sum, reslist_get(&m->status.pods_metric.items[i].usage.resources, resource));
    return sum;
}

static const struct nodemetric *metric_of(const struct kd_view *v, const char *node)
{
    const struct kobj *o = kd_view_object(v, &kind_nodemetric, node);
    const struct nodemetric *m = o ? nodemetric_of(o) : NULL;

    return m && m->status.node_metric ? m : NULL;
}

static struct kj_mval *use_of_node(struct kj_mdoc *d, const struct kd_view *v, const char *node)
{
    const struct nodemetric *m = metric_of(v, node);
    int64_t i = kd_view_find(v, node);

    if (!m || i < 0)
        return NULL;
    const reslist *have = &kd_view_node(v, (uint32_t)i)->allocatable;
    struct kj_mval *u = kj_mobj(d);
    set_amounts(d, u, "cpu", total_use(m, "cpu"), reslist_get(have, "cpu"), true);
    set_amounts(d, u, "memory", total_use(m, "memory"), reslist_get(have, "memory"), false);
    return u;
}

static void set_use_of_pod(struct kj_mdoc *d, const struct kd_view *v, struct kj_mval *move)
{
    const struct nodemetric *m = metric_of(v, kj_mstr_get(kj_mget(move, "node")));
    const char *ns = kj_mstr_get(kj_mget(move, "namespace"));
    const char *name = kj_mstr_get(kj_mget(move, "name"));

    for (uint32_t i = 0; m && i < m->status.pods_metric.n; i++) {
        const struct pod_metric_info *e = &m->status.pods_metric.items[i];
        if (!streq(e->ns, ns) || !streq(e->name, name))
            continue;
        struct kj_mval *u = kj_mobj(d);
        kj_mset(d, u, "cpu", kj_mi64(d, qty_milli(reslist_get(&e->usage.resources, "cpu"))));
        kj_mset(d, u, "memory", kj_mi64(d, qty_value(reslist_get(&e->usage.resources, "memory"))));
        kj_mset(d, move, "use", u);
    }
}

/* ---- the answer ------------------------------------------------------------------------------- */

static struct kj_mval *nodes_value(struct planner *p, const struct kd_view *v)
{
    struct kj_mval *all = kj_mobj(p->doc);

    vec_foreach(&p->nodes, i) {
        const struct found_node *n = &p->nodes.items[i];
        struct kj_mval *x = kj_mobj(p->doc), *details = kj_marr(p->doc);
        struct kj_mval *use = use_of_node(p->doc, v, n->name);
        set_text(p->doc, x, "class", n->class);
        set_text(p->doc, x, "plugin", n->plugin);
        vec_foreach(&n->details, j)
            kj_mpush(details, kj_mstr(p->doc, n->details.items[j]));
        kj_mset(p->doc, x, "details", details);
        if (use)
            kj_mset(p->doc, x, "use", use);
        kj_mset(p->doc, all, n->name, x);
    }
    return all;
}

static const char *refusal_of(const struct planner *p, const char *key)
{
    vec_foreach(&p->refused, i)
        if (streq(p->refused.items[i].pod, key))
            return p->refused.items[i].why;
    return NULL;
}

/* Some pod of the node would go. */
static bool has_moves(const struct planner *p, const char *node)
{
    for (size_t i = 0; i < kj_mlen(p->moves); i++)
        if (streq(kj_mstr_get(kj_mget(kj_mat(p->moves, i), "node")), node))
            return true;
    return false;
}

static void add_kept(struct planner *p, const struct kd_view *v, const struct pod *pod,
                     struct kj_mval *list)
{
    struct kj_mval *x = kj_mobj(p->doc);
    struct kd_why why = { 0 };
    char key[KOBJ_KEY_MAX];

    (void)kobj_key(&pod->obj, key, sizeof key);
    if (map_getz(&p->chosen, key))
        return;
    const char *text = refusal_of(p, key);
    if (!text && !descheduler_may_go(p->d, NULL, v, pod, &why))
        text = why.text;
    else if (!text)
        text = has_moves(p, pod->node_name) ? "the pods that go are enough, or it has no place left"
                                            : "no node below its threshold can take it";
    set_text(p->doc, x, "namespace", pod->obj.meta.ns);
    set_text(p->doc, x, "name", pod->obj.meta.name);
    set_text(p->doc, x, "node", pod->node_name);
    set_text(p->doc, x, "why", text);
    kj_mpush(list, x);
}

static struct kj_mval *kept_value(struct planner *p, const struct kd_view *v)
{
    struct kj_mval *list = kj_marr(p->doc);

    vec_foreach(&p->nodes, i) {
        const struct found_node *n = &p->nodes.items[i];
        int64_t at = kd_view_find(v, n->name);
        if (at < 0 || (!streq(n->class, "high") && !streq(n->class, "prodHigh")))
            continue;
        struct kd_pods pods = kd_view_active(v, (uint32_t)at);
        for (uint32_t j = 0; j < pods.n; j++)
            add_kept(p, v, pods.items[j], list);
    }
    return list;
}

static void write_plan(struct planner *p, struct strbuf *json)
{
    CLEANUP(kd_view_free) struct kd_view *v = descheduler_view(p->d);
    struct kj_mval *root = kj_mobj(p->doc);

    kj_mset(p->doc, root, "nodes", nodes_value(p, v));
    for (size_t i = 0; i < kj_mlen(p->moves); i++)
        set_use_of_pod(p->doc, v, kj_mat(p->moves, i));
    kj_mset(p->doc, root, "moves", p->moves);
    kj_mset(p->doc, root, "kept", kept_value(p, v));
    if (p->failed)
        set_text(p->doc, root, "error", p->err.text);
    kj_mwrite(root, 0, json);
}

/* ---- the round -------------------------------------------------------------------------------- */

static void planner_fini(struct planner *p)
{
    vec_foreach(&p->nodes, i) {
        vec_foreach(&p->nodes.items[i].details, j)
            free(p->nodes.items[i].details.items[j]);
        vec_fini(&p->nodes.items[i].details);
        free(p->nodes.items[i].name);
    }
    vec_foreach(&p->refused, i) {
        free(p->refused.items[i].pod);
        free(p->refused.items[i].why);
    }
    vec_foreach(&p->keys, i)
        free(p->keys.items[i]);
    vec_fini(&p->nodes);
    vec_fini(&p->refused);
    vec_fini(&p->keys);
    map_fini(&p->chosen);
    kj_mdoc_free(p->doc);
}

static int run_round(struct planner *p, struct kube *k, const struct desched_config *c,
                     struct strbuf *json, struct kerr *err)
{
    const struct kd_observer observer = { on_decided, on_node, p };
    const struct descheduler_opts o = {
        .config = c, .observer = &observer, .round_done = on_round_done, .round_arg = p
    };

    p->d = descheduler_new(p->loop, k, &o, err);
    if (!p->d)
        return err->code;
    struct timer *late = loop_after(p->loop, TIME_LIMIT, on_late, NULL);
    descheduler_watch(p->d);
    descheduler_lead(p->d);
    loop_run(p->loop);
    int r = 0;
    if (p->done) {
        timer_cancel(late);
        write_plan(p, json);
    } else {
        r = kerr_set(err, -ETIMEDOUT,
                     "the cluster could not be read within two minutes: may this user list nodes, "
                     "pods, NodeMetrics and PodMigrationJobs?");
    }
    p->d = descheduler_free(p->d);
    return r;
}

static int plan(struct loop *l, struct kube *k, const char *file, const char *text,
                struct strbuf *json, struct kerr *err)
{
    CLEANUP(config_unref) struct config *config = NULL;
    struct planner p = { .loop = l, .doc = kj_mdoc_new() };
    int r = str_empty(file) ? config_parse(&desched_config_spec, text, strlen(text),
                                           "ConfigMap koord-descheduler-config", &config, err)
                            : config_load(&desched_config_spec, file, &config, err);

    p.moves = kj_marr(p.doc);
    if (r == 0) {
        struct desched_config once = *(const struct desched_config *)config->value;
        once.interval = 0;
        r = run_round(&p, k, &once, json, err);
    }
    planner_fini(&p);
    return r;
}

const struct rebalance_planner main_rebalance = { .plan = plan };
