/* test_quotarest.c - what GET /apis/v1/plugins/ElasticQuota/quotas shows (sched-quota 17). */
#include "quota/test/quota_fixture.h"

#include "base/arena.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/plugins/elasticquota/quotas.h"

struct rest_case {
    struct quota_fixture x;
    struct loop *loop;
    struct objects *objects;
    struct quotas *s;
    struct strbuf out;
    struct kerr err;
};

static void put_quota_object(struct rest_case *c, const char *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(&c->x, &kind_elasticquota, text);

    objects_put(c->objects, o);
}

/* The node has 1000 of each, and one pod with a node uses 33 of them. */
static void begin(struct rest_case *c)
{
    struct quota_args a = { .ns = "koordinator-system", .runtime = { true, true } };
    struct qty much = qty_from_i64(1000, QTY_DECIMAL_SI);
    struct resqty total[] = { { "cpu", much }, { "memory", much } };
    void *s = NULL;

    *c = (struct rest_case){ .loop = loop_new_virtual(0, 1),
                             .objects = objects_new(),
                             .out = STRBUF_INIT };
    fixture_begin(&c->x, (struct quota_options){ 0 });
    struct ks_env env = { .loop = c->loop, .objects = c->objects };
    put_quota_object(c, "{'metadata':{'name':'q','namespace':'team','annotations':{"
                        "'quota.scheduling.koordinator.sh/shared-weight':'{\\u0022cpu\\u0022:20,"
                        "\\u0022memory\\u0022:20}'}},'spec':{'max':{'cpu':'100','memory':'100'},"
                        "'min':{'cpu':'10','memory':'10'}}}");
    assert_int_equal(quotas_service.create(&env, &a, &s, &c->err), 0);
    c->s = s;
    forest_add_total(c->s->forest, &(reslist){ total, 2 }, 1);
    CLEANUP(kobj_unref)
    struct kobj *pod = fixture_object(
        &c->x, &kind_pod,
        "{'metadata':{'name':'pod1','namespace':'ns','uid':'00000000-0000-4000-8000-000000000001',"
        "'labels':{'quota.scheduling.koordinator.sh/name':'q'}},'spec':{'nodeName':'n',"
        "'containers':[{'name':'c','resources':{'requests':{'cpu':'33','memory':'33'}}}]}}");
    quotas_service.pods->placed(c->s, NULL, pod_of(pod));
}

static void end(struct rest_case *c)
{
    quotas_service.destroy(c->s);
    objects_free(c->objects);
    strbuf_fini(&c->out);
    fixture_end(&c->x);
    loop_free(c->loop);
}

static int get(struct rest_case *c, const char *pattern, const char *name, const char *target)
{
    const struct ks_path *p = quotas_service.paths;
    struct ks_get g = { .params = &name, .target = target, .arena = c->x.arena };

    while (!streq(p->pattern, pattern))
        p++;
    strbuf_reset(&c->out);
    struct kjw w = kjw_to(&c->out);
    return p->get(c->s, &g, &w, &c->err);
}

static bool shows(const struct rest_case *c, const char *text)
{
    return strstr(strbuf_str(&c->out), text) != NULL;
}

static void test_one_quota(void **state)
{
    struct rest_case c;

    (void)state;
    begin(&c);
    assert_int_equal(get(&c, "quotas/:name", "q", "/quotas/q"), 0);
    assert_true(shows(&c, "{\"name\":\"q\",\"parentName\":\"koordinator-root-quota\",\"isParent\":"
                          "false,"));
    assert_true(shows(&c, "\"allowLentResource\":true,\"tree\":\"\",\"max\":{\"cpu\":\"100\","
                          "\"memory\":\"100\"},\"min\":{\"cpu\":\"10\",\"memory\":\"10\"}"));
    assert_true(shows(&c, "\"used\":{\"cpu\":\"33\",\"memory\":\"33\"}"));
    assert_true(shows(&c, "\"request\":{\"cpu\":\"33\",\"memory\":\"33\"}"));
    assert_true(shows(&c, "\"runtime\":{\"cpu\":\"33\",\"memory\":\"33\"}"));
    assert_true(shows(&c, "\"sharedWeight\":{\"cpu\":\"20\",\"memory\":\"20\"}"));
    assert_false(shows(&c, "podCache"));
    assert_int_equal(get(&c, "quota/:name", "q", "/quota/q?includePods=true"), 0);
    assert_true(shows(&c, "\"podCache\":{\"ns/pod1\":{\"isAssigned\":true,\"resource\":{\"cpu\":"
                          "\"33\",\"memory\":\"33\"}}}"));
    assert_int_equal(get(&c, "quotas/:name", "q", "/quotas/q?includePods=yes"), 0);
    assert_false(shows(&c, "podCache"));
    assert_true(get(&c, "quotas/:name", "none", "/quotas/none") < 0);
    assert_int_equal(c.err.reason, KR_NOT_FOUND);
    assert_string_equal(c.err.text, "cannot find quota none");
    end(&c);
}

static void test_all_quotas(void **state)
{
    struct rest_case c;

    (void)state;
    begin(&c);
    assert_int_equal(get(&c, "quotas", NULL, "/quotas"), 0);
    assert_true(shows(&c, "\"q\":{\"name\":\"q\""));
    assert_true(shows(&c, "\"koordinator-default-quota\":{"));
    assert_false(shows(&c, "\"koordinator-root-quota\":{"));
    assert_int_equal(get(&c, "quotas", NULL, "/quotas?tree=other"), 0);
    assert_string_equal(strbuf_str(&c.out), "{}");
    end(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_quota),
        cmocka_unit_test(test_all_quotas),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
