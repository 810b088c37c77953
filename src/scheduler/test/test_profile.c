/* test_profile.c - the plugins' verdicts, scores and texts, over columns (scheduler-core 5, 8). */
#include "api/test/bed.h"

#include <stdio.h>

#include "api/node.h"
#include "api/pod.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/framework/profile.h"

struct run { /* one attempt over a cache */
    struct bed *bed;
    struct nodecache *cache;
    struct profile *profile;
    struct ks_cycle cycle;
    struct ks_pod pod;
    struct kobj *obj;
    struct verdicts v;
};

static void run_init(struct run *r, void **state)
{
    struct kerr err = { 0 };
    *r = (struct run){ .bed = *state, .cache = nodecache_new() };
    r->profile = profile_new(ks_registry, &err);
    assert_non_null(r->profile);
}

static void run_fini_p(struct run *r)
{
    kobj_unref(r->obj);
    profile_free(r->profile);
    nodecache_free(r->cache);
}

static void run_node(struct run *r, const char *name, const char *alloc, const char *spec)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'spec':{%s},'status':{'allocatable':{%s}}}", name,
                   spec, alloc);
    CLEANUP(kobj_unref) struct kobj *node = bed_object(r->bed, &kind_node, text);
    nodecache_put_node(r->cache, node);
}

static void run_filter(struct run *r, const char *requests, const char *spec)
{
    struct podreq req;
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':"
                   "[{'name':'c','resources':{'requests':{%s}}}]%s}}",
                   requests, spec);
    kobj_unref(r->obj);
    r->obj = bed_object(r->bed, &kind_pod, text);
    podreq_placed(pod_of(r->obj), r->bed->arena, &req);
    for (uint32_t i = 0; i < req.nmore; i++)
        req.more[i].column = nodecache_column(r->cache, req.more[i].name);
    r->pod = (struct ks_pod){ .pod = pod_of(r->obj),
                              .score_mcpu = req.mcpu_nz,
                              .score_memory = req.memory_nz,
                              .more = req.more,
                              .nmore = req.nmore };
    memcpy(r->pod.request, req.fixed, sizeof req.fixed);
    r->cycle = (struct ks_cycle){ .nodes = nodecache_nodes(r->cache), .arena = r->bed->arena };
    profile_filter(r->profile, &r->cycle, &r->pod, &r->v);
}

/* The code of the verdict on a row. */
static enum ks_code run_code(const struct run *r, uint32_t row)
{
    return r->v.by[row] ? r->profile->slots[r->v.by[row] - 1].plugin->reasons[r->v.why[row]].code
                        : KS_SUCCESS;
}

static int64_t run_score(struct run *r, const char *plugin, uint32_t row)
{
    int slot = profile_slot(r->profile, plugin);
    const struct profile_slot *s = &r->profile->slots[slot];
    int64_t out[16] = { 0 };
    assert_true(r->v.n <= 16);
    r->cycle.rejected = r->v.by;
    s->plugin->score(s->self, &r->cycle, &r->pod, (struct ks_span){ 0, r->v.n }, out);
    if (s->plugin->normalize)
        s->plugin->normalize(s->self, &r->cycle, r->v.by, r->v.n, out);
    return out[row];
}

static const char *run_text(struct run *r)
{
    struct strbuf b = STRBUF_INIT;
    profile_explain(r->profile, &r->cycle, &r->pod, &r->v, &b);
    const char *text = arena_strdup(r->bed->arena, strbuf_str(&b));
    strbuf_fini(&b);
    return text;
}

static void test_least_allocated(void **state)
{
    CLEANUP(run_fini) struct run r;

    run_init(&r, state);
    run_node(&r, "a", "'cpu':'4','memory':'10000','pods':'9'", "");
    run_node(&r, "b", "'cpu':'6','memory':'10000','pods':'9'", "");
    run_node(&r, "c", "'cpu':'6','pods':'9'", "");
    run_filter(&r, "'cpu':'3','memory':'5000'", "");
    assert_int_equal(run_score(&r, "NodeResourcesFit", 0), 37);
    assert_int_equal(run_score(&r, "NodeResourcesFit", 1), 50);
    assert_int_equal(run_score(&r, "NodeResourcesFit", 2), 50); /* memory is left out */
    run_filter(&r, "'cpu':'5','memory':'10000'", "");
    assert_int_equal(run_score(&r, "NodeResourcesFit", 0), 0); /* more than there is: 0 */
}

static void test_silent_containers_weigh_something(void **state)
{
    CLEANUP(run_fini) struct run r;

    run_init(&r, state);
    run_node(&r, "a", "'cpu':'1','memory':'400Mi','pods':'9'", "");
    run_filter(&r, "", "");
    assert_int_equal(r.pod.score_mcpu, 100);
    assert_int_equal(r.pod.score_memory, 209715200);
    assert_int_equal(r.pod.request[KS_MCPU], 0);
    assert_int_equal(run_score(&r, "NodeResourcesFit", 0), (90 + 50) / 2);
    run_filter(&r, "'cpu':'0'", "");
    assert_int_equal(r.pod.score_mcpu, 0); /* said so on purpose */
}

static void test_balanced(void **state)
{
    CLEANUP(run_fini) struct run r;

    run_init(&r, state);
    run_node(&r, "a", "'cpu':'4','memory':'10000','pods':'9'", "");
    run_node(&r, "b", "'cpu':'5','memory':'20000','pods':'9'", "");
    run_node(&r, "c", "'cpu':'3','memory':'100000000','pods':'9'", "");
    run_filter(&r, "'cpu':'3','memory':'5000'", "");
    assert_int_equal(run_score(&r, "NodeResourcesBalancedAllocation", 0), 87);
    assert_int_equal(run_score(&r, "NodeResourcesBalancedAllocation", 1), 82);
    assert_int_equal(run_score(&r, "NodeResourcesBalancedAllocation", 2), 50);
}

static void test_taints_are_counted_and_reversed(void **state)
{
    CLEANUP(run_fini) struct run r;

    run_init(&r, state);
    run_node(&r, "a", "'pods':'9'",
             "'taints':[{'key':'a','effect':'PreferNoSchedule'},"
             "{'key':'b','effect':'PreferNoSchedule'}]");
    run_node(&r, "b", "'pods':'9'", "");
    run_filter(&r, "", ",'tolerations':[{'key':'a','operator':'Exists'}]");
    assert_int_equal(run_score(&r, "TaintToleration", 0), 0);
    assert_int_equal(run_score(&r, "TaintToleration", 1), 100);
}

static void test_exists_tolerates_everything(void **state)
{
    CLEANUP(run_fini) struct run r;

    run_init(&r, state);
    run_node(&r, "a", "'pods':'9'",
             "'unschedulable':true,'taints':[{'key':'x','effect':'NoExecute'}]");
    run_filter(&r, "", ",'tolerations':[{'operator':'Exists'}]");
    assert_int_equal(r.v.feasible, 1);
    run_filter(&r, "", "");
    assert_int_equal(run_code(&r, 0), KS_UNRESOLVABLE);
    /* The first plugin that says no gives the reason. */
    assert_string_equal(run_text(&r), "0/1 nodes are available: 1 node(s) were unschedulable.");
}

static void test_too_small_for_ever_or_just_now(void **state)
{
    CLEANUP(run_fini) struct run r;

    run_init(&r, state);
    CLEANUP(kobj_unref)
    struct kobj *sits = bed_object(*state, &kind_pod,
                                   "{'metadata':{'name':'s','namespace':'ns','uid':'s'},'spec':{"
                                   "'nodeName':'b','containers':[{'name':'c','resources':"
                                   "{'requests':{'cpu':'4'}}}]}}");
    nodecache_put_pod(r.cache, sits);
    run_node(&r, "a", "'cpu':'4','pods':'9'", "");
    run_node(&r, "b", "'cpu':'8','pods':'9'", "");
    run_node(&r, "c", "'cpu':'8','pods':'0'", "");
    run_filter(&r, "'cpu':'5'", "");
    assert_int_equal(run_code(&r, 0), KS_UNRESOLVABLE);
    assert_int_equal(run_code(&r, 1), KS_UNSCHEDULABLE);
    assert_int_equal(run_code(&r, 2), KS_UNSCHEDULABLE);
    assert_string_equal(run_text(&r),
                        "0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.");
}

static void test_absurd_numbers_fit_nowhere(void **state)
{
    CLEANUP(run_fini) struct run r;

    run_init(&r, state);
    run_node(&r, "a", "'cpu':'9E','memory':'8Ei','pods':'9'", "");
    run_node(&r, "b", "'cpu':'-4','memory':'-1','pods':'-9'", "");
    run_filter(&r, "'cpu':'100m','memory':'1Gi'", "");
    assert_int_equal(r.v.feasible, 1);
    assert_int_equal(r.v.by[0], 0);
    assert_in_range(run_score(&r, "NodeResourcesFit", 0), 0, 100);
    run_filter(&r, "'memory':'7Ei'", "");
    assert_int_equal(r.v.feasible, 0);
}

static void test_counts_sort_as_text(void **state)
{
    CLEANUP(run_fini) struct run r;
    char name[16];

    run_init(&r, state);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        run_node(&r, name, i < 10 ? "'pods':'9'" : "'pods':'0','cpu':'1'", "");
    }
    run_filter(&r, "'cpu':'1'", "");
    assert_string_equal(run_text(&r),
                        "0/12 nodes are available: 10 Insufficient cpu, 2 Too many pods.");
}

static void test_normalize(void **state)
{
    int64_t a[4] = { 1, 2, 3, 4 }, b[4] = { 1, 2, 3, 4 }, c[3] = { 0 }, d[4] = { 1000, 1, 1, 1 };
    const uint8_t all[4] = { 0 }, last[4] = { 0, 0, 0, 1 };

    (void)state;
    ks_normalize(NULL, NULL, all, 4, a);
    assert_memory_equal(a, ((int64_t[]){ 25, 50, 75, 100 }), sizeof a);
    ks_normalize_reversed(NULL, NULL, all, 4, b);
    assert_memory_equal(b, ((int64_t[]){ 75, 50, 25, 0 }), sizeof b);
    ks_normalize_reversed(NULL, NULL, all, 3, c);
    assert_memory_equal(c, ((int64_t[]){ 100, 100, 100 }), sizeof c);
    ks_normalize(NULL, NULL, all, 4, d);
    assert_memory_equal(d, ((int64_t[]){ 100, 0, 0, 0 }), sizeof d);
    int64_t e[4] = { 1, 2, 4, 1000 }; /* who is no candidate has no say */
    ks_normalize(NULL, NULL, last, 4, e);
    assert_memory_equal(e, ((int64_t[]){ 25, 50, 100, 0 }), sizeof e);
}

static void test_ties_are_drawn(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 5);
    uint8_t by[4] = { 0, 1, 0, 0 };
    int64_t total[4] = { 7, 9, 7, 3 };
    struct verdicts v = { .n = 4, .feasible = 3, .by = by };
    int hits[4] = { 0 };

    (void)state;
    for (int i = 0; i < 200; i++)
        hits[profile_pick(&v, total, l)]++;
    assert_int_equal(hits[1] + hits[3], 0);
    assert_in_range(hits[0], 60, 140);
}

static void test_what_is_not_served_is_refused(void **state)
{
    static const struct ks_reason reasons[] = { { KS_SUCCESS, "" } };
    struct ks_plugin other = { .abi = 99, .size = sizeof other, .name = "X", .reasons = reasons };
    const struct ks_registered table[] = { { &other, 0 }, { NULL, 0 } };
    struct kerr err = { 0 };

    (void)state;
    assert_null(profile_new(table, &err));
    assert_string_equal(err.text, "plugin X was built for another scheduler");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_least_allocated),
        BED_TEST(test_silent_containers_weigh_something),
        BED_TEST(test_balanced),
        BED_TEST(test_taints_are_counted_and_reversed),
        BED_TEST(test_exists_tolerates_everything),
        BED_TEST(test_too_small_for_ever_or_just_now),
        BED_TEST(test_absurd_numbers_fit_nowhere),
        BED_TEST(test_counts_sort_as_text),
        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_ties_are_drawn),
        cmocka_unit_test(test_what_is_not_served_is_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
