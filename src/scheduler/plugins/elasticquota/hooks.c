/* hooks.c - instances of hook plugins, by tree, and the calls to them (sched-quota 13). */
#include "scheduler/plugins/elasticquota/hooks.h"

#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/klog.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "quota/forest.h"

const struct quota_hook_factory *const quota_hook_factories[] = { NULL };

/* ---- metrics --------------------------------------------------------------------------------- */

enum { BUCKETS = 24 };

static const double bounds[BUCKETS] = {
    1e-6,      2e-6,     4e-6,     8e-6,     1.6e-5,   3.2e-5,   6.4e-5,    1.28e-4,
    2.56e-4,   5.12e-4,  1.024e-3, 2.048e-3, 4.096e-3, 8.192e-3, 1.6384e-2, 3.2768e-2,
    6.5536e-2, 0.131072, 0.262144, 0.524288, 1.048576, 2.097152, 4.194304,  8.388608,
};
static const struct metric_desc latency_desc = {
    .name = "scheduler_elastic_quota_hook_plugin_latency",
    .help = "Seconds that calls of hook plugins took",
    .type = METRIC_HISTOGRAM,
    .labels = { "plugin", "operation" },
    .buckets = bounds,
    .nbuckets = BUCKETS,
};

static nsec_t call_begin(const struct quota_hooks *h)
{
    return h->loop ? loop_stopwatch(h->loop) : 0;
}

static void call_end(const struct quota_hooks *h, const struct quota_hook_instance *i,
                     const char *operation, nsec_t from)
{
    if (h->loop && h->latency)
        histogram_observe(metric_histogram(h->latency, METRIC_VALUES(i->key, operation)),
                          (double)(loop_stopwatch(h->loop) - from) / NSEC_PER_SEC);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int find_factory(const struct quota_hooks *h, const struct quota_hook *c,
                        const struct quota_hook_factory **ret, struct kerr *err)
{
    for (size_t i = 0; h->table[i]; i++)
        if (streq(h->table[i]->name, c->factory)) {
            *ret = h->table[i];
            return 0;
        }
    return kerr_set(err, -EINVAL, "failed to initialize hook plugin %.64s: factory %.64s not found",
                    c->key, c->factory);
}

static int make_one(struct quota_hooks *h, const struct quota_hook *c, size_t index,
                    const char *tree, struct kerr *err)
{
    const struct quota_hook_factory *f = NULL;
    void *self = NULL;

    if (str_empty(c->key))
        return kerr_set(err, -EINVAL, "failed to initialize index-%zu hook plugin: key is empty",
                        index);
    if (str_empty(c->factory))
        return kerr_set(err, -EINVAL,
                        "failed to initialize hook plugin %.64s: factory key is empty", c->key);
    if (find_factory(h, c, &f, err) < 0)
        return err->code;
    if (f->create(c->key, tree, c->args, &self, err) < 0) {
        struct kerr why = *err;
        return kerr_set(err, why.code,
                        "failed to initialize hook-plugin %.64s by factory %.64s, err=%.100s",
                        c->key, c->factory, why.text);
    }
    struct quota_hook_instance i = { f, xstrdup(c->key), xstrdup(tree), self };
    vec_push(&h->all, i);
    return 0;
}

static int make_tree(struct quota_hooks *h, const char *tree, struct kerr *err)
{
    vec_foreach(&h->config, i)
        if (make_one(h, &h->config.items[i], i, tree, err) < 0) {
            struct kerr why = *err;
            return kerr_set(err, why.code, "failed to init hook plugins for tree %.64s, err=%.180s",
                            tree, why.text);
        }
    return 0;
}

static bool has_tree(const struct quota_hooks *h, const char *tree)
{
    vec_foreach(&h->all, i)
        if (streq(h->all.items[i].tree, tree))
            return true;
    return false;
}

/* A tree that comes later gets instances of its own; what is wrong with them is only logged. */
static void need_tree(struct quota_hooks *h, const char *tree)
{
    struct kerr err = { 0 };

    if (h->config.n && !has_tree(h, tree) && make_tree(h, tree, &err) < 0)
        KLOG_E(&err, "Hook plugins of a quota tree cannot be used", KV_S("tree", tree));
}

int quota_hooks_start(struct quota_hooks *h, const struct quota_hook_factory *const *table,
                      const struct quota_args *a, const struct ks_env *env, struct kerr *err)
{
    h->table = table;
    h->loop = env->loop;
    h->trees = ks_gate(env, "MultiQuotaTree");
    for (uint32_t i = 0; i < a->hooks.n; i++) {
        const struct quota_hook *g = &a->hooks.items[i];
        struct quota_hook copy = { xstrdup(str_or(g->key, "")), xstrdup(str_or(g->factory, "")),
                                   xstrdup(str_or(g->args, "")) };
        vec_push(&h->config, copy);
    }
    if (h->config.n && env->metrics)
        h->latency = metrics_add(env->metrics, &latency_desc);
    return make_tree(h, "", err);
}

void quota_hooks_stop(struct quota_hooks *h)
{
    vec_foreach(&h->all, i) {
        struct quota_hook_instance *x = &h->all.items[i];
        if (x->factory->destroy)
            x->factory->destroy(x->self);
        free(x->key);
        free(x->tree);
    }
    vec_foreach(&h->config, i) {
        free((char *)(uintptr_t)h->config.items[i].key);
        free((char *)(uintptr_t)h->config.items[i].factory);
        free((char *)(uintptr_t)h->config.items[i].args);
    }
    vec_fini(&h->all);
    vec_fini(&h->config);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const char *tree_of(const struct quota_hooks *h, const struct elasticquota *old,
                           const struct elasticquota *now)
{
    return h->trees ? quota_tree_id(&(now ? now : old)->obj.meta.labels) : "";
}

/* Runs the statement for each instance of the tree that has this operation; `x` is the instance,
 * `f` its factory. */
#define HOOKS_CALL(h, of_tree, member, statement)                   \
    vec_foreach(&(h)->all, at_) {                                   \
        const struct quota_hook_instance *x = &(h)->all.items[at_]; \
        const struct quota_hook_factory *f = x->factory;            \
        if (!f->member || !streq(x->tree, (of_tree)))               \
            continue;                                               \
        nsec_t from_ = call_begin(h);                               \
        statement;                                                  \
        call_end(h, x, #member, from_);                             \
    }

bool quota_hooks_updated(struct quota_hooks *h, const struct elasticquota *old,
                         const struct elasticquota *now)
{
    bool updated = false;

    HOOKS_CALL(h, tree_of(h, old, now), is_quota_updated,
               updated |= f->is_quota_updated(x->self, old, now))
    return updated;
}

void quota_hooks_pre(struct quota_hooks *h, const struct elasticquota *old,
                     const struct elasticquota *now)
{
    need_tree(h, tree_of(h, old, now));
    HOOKS_CALL(h, tree_of(h, old, now), pre_quota_update, f->pre_quota_update(x->self, old, now))
}

void quota_hooks_post(struct quota_hooks *h, const struct elasticquota *old,
                      const struct elasticquota *now)
{
    HOOKS_CALL(h, tree_of(h, old, now), post_quota_update, f->post_quota_update(x->self, old, now))
}

void quota_hooks_pod(struct quota_hooks *h, struct quota *q, const struct pod *old,
                     const struct pod *now)
{
    HOOKS_CALL(h, quota_tree_name(q), on_pod_update, f->on_pod_update(x->self, q, old, now))
}

void quota_hooks_status(struct quota_hooks *h, const struct elasticquota *q,
                        const struct quota_annotations *to)
{
    HOOKS_CALL(h, tree_of(h, NULL, q), update_quota_status, f->update_quota_status(x->self, q, to))
}

const char *quota_hooks_check(struct quota_hooks *h, struct quota *q, const struct pod *p,
                              struct arena *a)
{
    const char *why = NULL;

    HOOKS_CALL(h, quota_tree_name(q), check_pod, {
        struct kerr err = { 0 };
        if (!why && f->check_pod(x->self, q, p, &err) < 0)
            why = arena_printf(a, "CheckPod failed for hook plugin %s, err: %s", x->key, err.text);
    })
    return why;
}

void quota_hooks_begin(struct quota_hooks *h)
{
    vec_foreach(&h->all, i)
        if (h->all.items[i].factory->begin)
            h->all.items[i].factory->begin(h->all.items[i].self);
    h->begun = h->all.n;
}

/* Only those that were begun: trees may have come meanwhile. */
void quota_hooks_end(struct quota_hooks *h)
{
    for (size_t i = 0; i < h->begun; i++)
        if (h->all.items[i].factory->begin && h->all.items[i].factory->end)
            h->all.items[i].factory->end(h->all.items[i].self);
}
