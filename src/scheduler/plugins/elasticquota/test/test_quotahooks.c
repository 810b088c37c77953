/* test_quotahooks.c - hook plugins, with an example: a limit of pods per quota (sched-quota 13). */
#include "quota/test/quota_fixture.h"

#include "base/arena.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/plugins/elasticquota/quotas.h"

/* ---- the example: at most so many pods with a node in each quota ------------------------------ */

#define MAX_PODS "example.com/max-pods"
#define PODS     "example.com/pods"

struct pod_limits {
    char log[400];
    struct map counts; /* struct pod_count by the quota's name */
};
struct pod_count {
    int max, n;
    char name[64];
};

static struct pod_limits *limits; /* of the default tree, for the tests to look at */

static struct pod_count *count_of(struct pod_limits *l, const char *quota)
{
    struct pod_count *c = map_getz(&l->counts, quota);

    if (c)
        return c;
    c = xnew0(struct pod_count);
    (void)snprintf(c->name, sizeof c->name, "%s", quota);
    map_putz(&l->counts, c->name, c);
    return c;
}

static int limit_create(const char *key, const char *tree, const char *args, void **ret_self,
                        struct kerr *err)
{
    if (streq(args, "bad"))
        return kerr_set(err, -EINVAL, "%s: bad args", key);
    struct pod_limits *l = xnew0(struct pod_limits);
    if (!*tree)
        limits = l;
    *ret_self = l;
    return 0;
}

static void limit_destroy(void *self)
{
    struct pod_limits *l = self;

    map_foreach(&l->counts, e)
        free(e->value);
    map_fini(&l->counts);
    free(l);
}

static const char *max_text(const struct elasticquota *q)
{
    return str_or(kstrmap_get(&q->obj.meta.annotations, MAX_PODS), "1000");
}

static bool limit_updated(void *self, const struct elasticquota *old,
                          const struct elasticquota *now)
{
    (void)self;
    return !streq(max_text(old), max_text(now));
}

static void limit_post(void *self, const struct elasticquota *old, const struct elasticquota *now)
{
    struct pod_limits *l = self;
    const struct elasticquota *q = now ? now : old;

    (void)snprintf(l->log + strlen(l->log), sizeof l->log - strlen(l->log), "%s %s;",
                   !old   ? "new"
                   : !now ? "gone"
                          : "changed",
                   q->obj.meta.name);
    if (now)
        count_of(l, now->obj.meta.name)->max = atoi(max_text(now));
}

static void limit_pod(void *self, struct quota *q, const struct pod *old, const struct pod *now)
{
    count_of(self, quota_name(q))->n += (now != NULL) - (old != NULL);
}

static int limit_check(void *self, struct quota *q, const struct pod *p, struct kerr *err)
{
    const struct pod_count *c = count_of(self, quota_name(q));

    (void)p;
    return c->n < c->max ? 0 : kerr_set(err, -EAGAIN, "%d of %d pods are there", c->n, c->max);
}

static void limit_status(void *self, const struct elasticquota *q,
                         const struct quota_annotations *to)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d", count_of(self, q->obj.meta.name)->n);
    to->put(to->to, PODS, text);
}

static void limit_begin(void *self)
{
    (void)snprintf(((struct pod_limits *)self)->log, 20, "begin;");
}

static void limit_end(void *self)
{
    struct pod_limits *l = self;

    (void)snprintf(l->log + strlen(l->log), sizeof l->log - strlen(l->log), "end;");
}

static const struct quota_hook_factory pod_limit = {
    .name = "podLimit",
    .create = limit_create,
    .destroy = limit_destroy,
    .is_quota_updated = limit_updated,
    .post_quota_update = limit_post,
    .on_pod_update = limit_pod,
    .update_quota_status = limit_status,
    .check_pod = limit_check,
    .begin = limit_begin,
    .end = limit_end,
};
static const struct quota_hook_factory *const factories[] = { &pod_limit, NULL };

/* ---- the service with it --------------------------------------------------------------------- */

struct hooks_case {
    struct quota_fixture x;
    struct loop *loop;
    struct metrics *metrics;
    struct objects *objects;
    struct ks_env env;
    struct quotas *s;
};

static void put_object(struct hooks_case *c, const char *name, const char *max_pods)
{
    char text[300];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'team','annotations':{'" MAX_PODS
                   "':'%s'}},'spec':{'max':{'cpu':'100'}}}",
                   name, max_pods);
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(&c->x, &kind_elasticquota, text);
    objects_put(c->objects, o);
}

static int start(struct hooks_case *c, const char *key, const char *factory, const char *args,
                 struct kerr *err)
{
    struct quota_hook hook = { key, factory, args };
    struct quota_args a = { .ns = "koordinator-system", .hooks = { &hook, 1 } };
    void *s = NULL;

    *c = (struct hooks_case){ .loop = loop_new_virtual(0, 1),
                              .metrics = metrics_new(),
                              .objects = objects_new() };
    fixture_begin(&c->x, (struct quota_options){ 0 });
    c->env = (struct ks_env){ .loop = c->loop, .objects = c->objects, .metrics = c->metrics };
    put_object(c, "a", "2");
    int r = quotas_create_with(&c->env, &a, factories, &s, err);
    c->s = s;
    return r;
}

static void stop(struct hooks_case *c)
{
    if (c->s)
        quotas_service.destroy(c->s);
    objects_free(c->objects);
    fixture_end(&c->x);
    metrics_free(c->metrics);
    loop_free(c->loop);
}

static struct kobj *a_pod(struct hooks_case *c, const char *name, const char *quota)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'ns','uid':'00000000-0000-0000-0000-"
                   "0000000000%s','labels':{'quota.scheduling.koordinator.sh/name':'%s'}},'spec':{"
                   "'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}",
                   name, name, quota);
    return fixture_object(&c->x, &kind_pod, text);
}

static int counted(const char *quota)
{
    return count_of(limits, quota)->n;
}

static void test_a_hook_follows_quotas_and_pods(void **state)
{
    struct hooks_case c;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(start(&c, "k", "podLimit", "", &err), 0);
    assert_string_equal(limits->log, "begin;new a;end;");
    put_object(&c, "a", "2"); /* nothing of interest */
    put_object(&c, "b", "1");
    put_object(&c, "a", "3"); /* only the hook cares */
    assert_string_equal(limits->log, "begin;new a;end;new b;changed a;");
    CLEANUP(kobj_unref) struct kobj *p1 = a_pod(&c, "11", "b"), *p2 = a_pod(&c, "12", "b");
    const struct ks_pod_handler *on = quotas_service.pods;
    on->pending(c.s, NULL, pod_of(p1));
    assert_int_equal(counted("b"), 0);
    on->assumed(c.s, pod_of(p1), "n1");
    assert_int_equal(counted("b"), 1);
    on->placed(c.s, NULL, pod_of(p1)); /* the same pod, bound */
    on->changed(c.s, pod_of(p1), pod_of(p1));
    assert_int_equal(counted("b"), 1);
    const char *why =
        quota_hooks_check(&c.s->hooks, forest_find(c.s->forest, "b"), pod_of(p2), c.x.arena);
    assert_string_equal(why, "CheckPod failed for hook plugin k, err: 1 of 1 pods are there");
    assert_null(
        quota_hooks_check(&c.s->hooks, forest_find(c.s->forest, "a"), pod_of(p2), c.x.arena));
    /* Its label changes: it leaves one quota and comes to another. */
    CLEANUP(kobj_unref) struct kobj *moved = a_pod(&c, "11", "a");
    on->changed(c.s, pod_of(p1), pod_of(moved));
    assert_int_equal(counted("b"), 0);
    assert_int_equal(counted("a"), 1);
    on->assumed(c.s, pod_of(p2), "n1"); /* not known yet */
    on->pending(c.s, NULL, pod_of(p2));
    on->assumed(c.s, pod_of(p2), "n1");
    on->forgotten(c.s, pod_of(p2), "n1");
    on->gone(c.s, pod_of(moved));
    assert_int_equal(counted("a") + counted("b"), 0);
    CLEANUP(kobj_unref)
    struct kobj *b = kobj_ref(objects_get(c.objects, &kind_elasticquota, "team", "b"));
    objects_remove(c.objects, b);
    assert_non_null(strstr(limits->log, "changed a;gone b;"));
    stop(&c);
}

static void note(void *to, const char *key, const char *value)
{
    (void)snprintf(to, 100, "%s=%s", key, value);
}

static void test_a_hook_adds_to_the_status(void **state)
{
    struct hooks_case c;
    struct kerr err = { 0 };
    char seen[100] = "";

    (void)state;
    assert_int_equal(start(&c, "k", "podLimit", "", &err), 0);
    CLEANUP(kobj_unref) struct kobj *p1 = a_pod(&c, "11", "a");
    quotas_service.pods->placed(c.s, NULL, pod_of(p1));
    const struct kobj *a = objects_get(c.objects, &kind_elasticquota, "team", "a");
    quota_hooks_status(&c.s->hooks, elasticquota_of(a), &(struct quota_annotations){ note, seen });
    assert_string_equal(seen, PODS "=1");
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    metrics_write((struct metrics *const[]){ c.metrics }, 1, &text);
    assert_non_null(strstr(strbuf_str(&text), "scheduler_elastic_quota_hook_plugin_latency_count{"
                                              "operation=\"on_pod_update\",plugin=\"k\"} 1"));
    assert_non_null(strstr(strbuf_str(&text), "scheduler_elastic_quota_process_latency_count{"
                                              "operation=\"OnPodAdd\"} 1"));
    assert_non_null(strstr(strbuf_str(&text), "scheduler_elastic_quota_process_latency_count{"
                                              "operation=\"UpdateQuota\"} 1"));
    stop(&c);
}

static void test_a_factory_that_fails_stops_the_start(void **state)
{
    struct hooks_case c;
    struct kerr err = { 0 };

    (void)state;
    assert_true(start(&c, "k", "podLimit", "bad", &err) < 0);
    assert_string_equal(err.text, "failed to init hook plugins for tree , err=failed to initialize "
                                  "hook-plugin k by factory podLimit, err=k: bad args");
    stop(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hook_follows_quotas_and_pods),
        cmocka_unit_test(test_a_hook_adds_to_the_status),
        cmocka_unit_test(test_a_factory_that_fails_stops_the_start),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
