/* test_podqueue.c - order, back-off, events and gates of the queue (scheduler-core 3). */
#include "api/test/object_fixture.h"

#include <stdio.h>

#include "api/core.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/workload.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/changes.h"
#include "scheduler/queue/podqueue.h"

#define SEC NSEC_PER_SEC

struct fixture {
    struct object_fixture *base;
    struct loop *loop;
    struct profile *profile;
    struct podqueue *q;
    struct kobj *pods[16];
    int npods, ready;
    uint64_t fit;
};

static void on_ready(void *arg)
{
    ((struct fixture *)arg)->ready++;
}

static const struct profile *profile_of(void *arg, const struct pod *p)
{
    (void)p;
    return ((struct fixture *)arg)->profile;
}

static void fixture_init_with(struct fixture *r, void **state, const struct ks_registered *table)
{
    struct kerr err = { 0 };

    *r = (struct fixture){ .base = *state, .loop = loop_new_virtual(0, 1) };
    struct profile_config c = profile_config_default(table, "s", r->base->arena);
    r->profile = profile_new(&c, table, &(struct ks_env){ 0 }, &err);
    assert_string_equal(err.text, "");
    r->fit = UINT64_C(1) << profile_slot(r->profile, "NodeResourcesFit");
    r->q = podqueue_new(r->loop, &(struct podqueue_opts){
                                     .profile_of = profile_of, .on_ready = on_ready, .arg = r });
}

static void fixture_init(struct fixture *r, void **state)
{
    fixture_init_with(r, state, ks_registry);
}

static void fixture_fini_p(struct fixture *r)
{
    podqueue_free(r->q);
    profile_free(r->profile);
    loop_free(r->loop);
    for (int i = 0; i < r->npods; i++)
        kobj_unref(r->pods[i]);
}

static struct kobj *fixture_pod(struct fixture *r, const char *name, const char *spec)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},'spec':{%s}}", name, name,
                   spec);
    return r->pods[r->npods++] = fixture_object(r->base, &kind_pod, text);
}

/* One that a pod may have been waiting for. */
static struct kobj *fixture_node(const struct fixture *r)
{
    return fixture_object(
        r->base, &kind_node,
        "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'1','pods':'9'}}}");
}

static void assert_pops(struct fixture *r, const char *name)
{
    struct kobj *p = podqueue_pop(r->q);
    assert_string_equal(p ? p->meta.name : "", name);
}

static void test_priority_then_time(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    fixture_init(&r, state);
    podqueue_put(r.q, fixture_pod(&r, "ten-first", "'priority':10"));
    loop_advance(r.loop, SEC);
    podqueue_put(r.q, fixture_pod(&r, "ten-second", "'priority':10"));
    podqueue_put(r.q, fixture_pod(&r, "none", ""));
    loop_advance(r.loop, SEC);
    podqueue_put(r.q, fixture_pod(&r, "twenty", "'priority':20"));
    assert_pops(&r, "twenty");
    assert_pops(&r, "ten-first");
    assert_pops(&r, "ten-second");
    assert_pops(&r, "none");
    assert_pops(&r, "");
    assert_int_equal(podqueue_count(r.q, PODQUEUE_IN_FLIGHT), 4);
}

static void test_backoff_doubles(void **state)
{
    static const int64_t want[] = { 1, 2, 4, 8, 10, 10 };

    (void)state;
    for (uint32_t i = 0; i < ARRAY_LEN(want); i++)
        assert_int_equal(podqueue_backoff(SEC, 10 * SEC, i + 1), want[i] * SEC);
    assert_int_equal(podqueue_backoff(3, 1000, 5), 48);
    assert_int_equal(podqueue_backoff(SEC, INT64_MAX, 64), INT64_MAX);
}

static void test_errors_wait_for_whole_seconds(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    fixture_init(&r, state);
    loop_advance(r.loop, 10 * SEC + 7 * SEC / 10);
    struct kobj *p = fixture_pod(&r, "p", "");
    podqueue_put(r.q, p);
    assert_pops(&r, "p");
    podqueue_fail(r.q, p->meta.uid, 0, 0); /* at 10.7 s: until 11, which ends when 12 begins */
    assert_pops(&r, "");
    loop_advance(r.loop, 12 * SEC / 10);
    assert_pops(&r, "");
    loop_advance(r.loop, SEC / 10);
    assert_pops(&r, "p");
}

static void test_unschedulable_waits_for_an_event_that_helps(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(kobj_unref) struct kobj *small = NULL, *large = NULL;

    fixture_init(&r, state);
    small =
        fixture_object(r.base, &kind_node,
                       "{'metadata':{'name':'s'},'status':{'allocatable':{'cpu':'1','pods':'9'}}}");
    large =
        fixture_object(r.base, &kind_node,
                       "{'metadata':{'name':'l'},'status':{'allocatable':{'cpu':'9','pods':'9'}}}");
    struct kobj *p =
        fixture_pod(&r, "p", "'containers':[{'name':'c','resources':{'requests':{'cpu':'2'}}}]");
    podqueue_put(r.q, p);
    assert_pops(&r, "p");
    podqueue_fail(r.q, p->meta.uid, r.fit, 0);
    loop_advance(r.loop, 60 * SEC);
    assert_pops(&r, "");
    podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_ADD, NULL, small }, NULL);
    assert_pops(&r, "");
    podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_NODE_LABEL, small, large }, NULL);
    assert_pops(&r, "");
    podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_ADD, NULL, large }, NULL);
    assert_pops(&r, "p");
    podqueue_fail(r.q, p->meta.uid, r.fit, 0);
    podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_NODE_ALLOCATABLE, small, large }, NULL);
    assert_int_equal(podqueue_count(r.q, PODQUEUE_BACKOFF), 1);
    assert_pops(&r, "p"); /* nobody else is ready: back-off or not */
}

static void test_who_waits_for_another_component_does_not_back_off(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(kobj_unref) struct kobj *node = NULL;

    fixture_init(&r, state);
    node = fixture_node(&r);
    struct kobj *p = fixture_pod(&r, "p", "");
    podqueue_put(r.q, p);
    for (int round = 0; round < 2; round++) {
        assert_pops(&r, "p");
        podqueue_fail(r.q, p->meta.uid, r.fit, round ? 0 : r.fit);
        assert_int_equal(podqueue_count(r.q, PODQUEUE_UNSCHEDULABLE), 1);
        podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_ADD, NULL, node }, NULL);
        assert_int_equal(podqueue_count(r.q, round ? PODQUEUE_BACKOFF : PODQUEUE_READY), 1);
    }
}

static void test_events_reach_only_who_is_held(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(kobj_unref) struct kobj *node = NULL;

    fixture_init(&r, state);
    node = fixture_node(&r);
    struct kobj *a = fixture_pod(&r, "a", ""), *b = fixture_pod(&r, "b", ""),
                *c = fixture_pod(&r, "c", "");
    podqueue_put(r.q, a);
    podqueue_put(r.q, b);
    podqueue_put(r.q, c);
    for (int i = 0; i < 3; i++)
        (void)podqueue_pop(r.q);
    podqueue_hold(r.q, a->meta.uid);
    podqueue_hold(r.q, b->meta.uid);
    podqueue_fail(r.q, a->meta.uid, r.fit, 0);
    podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_NODE_ANNOTATION, node, node }, NULL);
    podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_ADD, NULL, node }, NULL);
    assert_int_equal(podqueue_count(r.q, PODQUEUE_BACKOFF), 1); /* a waited for it */
    podqueue_fail(r.q, b->meta.uid, r.fit, 0);
    assert_int_equal(podqueue_count(r.q, PODQUEUE_BACKOFF), 2);
    podqueue_fail(r.q, c->meta.uid, r.fit, 0); /* its attempt began and ended in one turn */
    assert_int_equal(podqueue_count(r.q, PODQUEUE_UNSCHEDULABLE), 1);
    assert_int_equal(podqueue_count(r.q, PODQUEUE_IN_FLIGHT), 0);
}

static void test_what_a_held_pod_waits_for_brings_it_back_at_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(kobj_unref) struct kobj *node = NULL;

    fixture_init(&r, state);
    node = fixture_node(&r);
    struct kobj *p = fixture_pod(&r, "p", "");
    podqueue_put(r.q, p);
    for (int round = 0; round < 2; round++) {
        assert_pops(&r, "p");
        podqueue_hold(r.q, p->meta.uid);
        podqueue_event(r.q, &(struct ks_event){ KS_RES_NODE, KS_ADD, NULL, node }, NULL);
        podqueue_fail(r.q, p->meta.uid, r.fit, round ? 0 : r.fit);
        assert_int_equal(podqueue_count(r.q, round ? PODQUEUE_BACKOFF : PODQUEUE_READY), 1);
    }
}

static void test_who_is_held_no_more_hears_nothing_new(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(kobj_unref) struct kobj *node = NULL;

    fixture_init(&r, state);
    node = fixture_node(&r);
    const struct ks_event e = { KS_RES_NODE, KS_ADD, NULL, node };
    for (int round = 0; round < 2; round++) {
        struct kobj *p = fixture_pod(&r, round ? "late" : "early", "");
        podqueue_put(r.q, p);
        (void)podqueue_pop(r.q);
        podqueue_hold(r.q, p->meta.uid);
        assert_true(podqueue_listens(r.q));
        if (round == 0)
            podqueue_event(r.q, &e, NULL);
        podqueue_release(r.q, p->meta.uid);
        podqueue_release(r.q, p->meta.uid); /* once is enough */
        assert_false(podqueue_listens(r.q));
        if (round == 1)
            podqueue_event(r.q, &e, NULL);
        podqueue_fail(r.q, p->meta.uid, r.fit, 0);
        assert_int_equal(podqueue_count(r.q, PODQUEUE_BACKOFF), 1); /* the first one: it counts */
        assert_int_equal(podqueue_count(r.q, PODQUEUE_UNSCHEDULABLE), round);
    }
}

static void test_nobody_waits_for_ever(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    fixture_init(&r, state);
    struct kobj *p = fixture_pod(&r, "p", "");
    podqueue_put(r.q, p);
    assert_pops(&r, "p");
    podqueue_fail(r.q, p->meta.uid, r.fit, 0);
    loop_advance(r.loop, 299 * SEC);
    assert_pops(&r, "");
    loop_advance(r.loop, 40 * SEC);
    assert_pops(&r, "p");
}

static void test_gates_and_their_end(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    fixture_init(&r, state);
    podqueue_put(r.q, fixture_pod(&r, "p", "'schedulingGates':[{'name':'a'},{'name':'b'}]"));
    loop_advance(r.loop, 600 * SEC);
    assert_pops(&r, "");
    assert_int_equal(podqueue_count(r.q, PODQUEUE_GATED), 1);
    podqueue_put(r.q, fixture_pod(&r, "p", "'schedulingGates':[{'name':'b'}]"));
    assert_pops(&r, "");
    podqueue_put(r.q, fixture_pod(&r, "p", ""));
    loop_advance(r.loop, SEC);
    assert_pops(&r, "p");
    struct podqueue_info info;
    assert_true(podqueue_info(r.q, r.pods[0]->meta.uid, &info));
    assert_int_equal(info.first, 600 * SEC); /* the time behind a gate is not ours */
}

static void test_changes_of_a_pod(void **state)
{
    static const struct {
        const char *before, *now;
        uint32_t bits;
    } cases[] = {
#define ASKS(what) "'spec':{'containers':[{'name':'c','resources':{'requests':{" what "}}}]}"
        { "'spec':{}", "'spec':{}", KS_UPDATE },
        { ASKS("'cpu':'2'"), ASKS("'cpu':'1'"), KS_POD_SCALE_DOWN },
        { ASKS("'cpu':'1'"), ASKS("'cpu':'2'"), KS_UPDATE },
        { ASKS("'cpu':'1','x/y':'0'"), ASKS("'cpu':'1'"), KS_POD_SCALE_DOWN },
        { "'spec':{'schedulingGates':[{'name':'a'}]}",
          "'spec':{'tolerations':[{'operator':'Exists'}]}", KS_POD_GATES_GONE | KS_POD_TOLERATION },
        { "'spec':{}", "'status':{'resourceClaimStatuses':[{'name':'a'}]}", KS_POD_CLAIM },
        { "'status':{'resourceClaimStatuses':[{'name':'a'}]}",
          "'status':{'resourceClaimStatuses':[{'name':'a','resourceClaimName':'b'}]}",
          KS_POD_CLAIM },
#undef ASKS
    };
    struct object_fixture *base = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(kobj_unref) struct kobj *before = NULL, *now = NULL;
        char text[512];
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'p'},%s}", cases[i].before);
        before = fixture_object(base, &kind_pod, text);
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'p'},%s}", cases[i].now);
        now = fixture_object(base, &kind_pod, text);
        assert_int_equal(pod_changes(pod_of(before), pod_of(now)), cases[i].bits);
    }
}

static void test_removed_anywhere(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    fixture_init(&r, state);
    struct kobj *a = fixture_pod(&r, "a", "'priority':2"),
                *b = fixture_pod(&r, "b", "'priority':1");
    podqueue_put(r.q, a);
    podqueue_put(r.q, b);
    assert_pops(&r, "a");
    assert_true(podqueue_remove(r.q, a->meta.uid)); /* in flight */
    podqueue_fail(r.q, a->meta.uid, 0, 0);          /* comes too late, and does nothing */
    assert_pops(&r, "b");
    podqueue_fail(r.q, b->meta.uid, r.fit, 0);
    assert_true(podqueue_remove(r.q, b->meta.uid));
    assert_false(podqueue_remove(r.q, b->meta.uid));
    for (int i = 0; i < PODQUEUE_PLACES; i++)
        assert_int_equal(podqueue_count(r.q, (enum podqueue_place)i), 0);
}

static void assert_pops_this(struct fixture *r, const char *name, const struct kobj *ask)
{
    struct kobj *p = podqueue_pop_this(r->q, ask->meta.uid, "NodeName");
    assert_string_equal(p ? p->meta.name : "", name);
}

static void test_one_goes_out_of_its_turn(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct podqueue_info info;

    fixture_init(&r, state);
    struct kobj *a = fixture_pod(&r, "a", "'priority':2"),
                *b = fixture_pod(&r, "b", "'priority':1");
    struct kobj *g = fixture_pod(&r, "g", "'schedulingGates':[{'name':'a'}]");
    struct kobj *none = fixture_pod(&r, "none", "");
    podqueue_put(r.q, a);
    podqueue_put(r.q, b);
    podqueue_put(r.q, g);
    assert_pops_this(&r, "b", b);
    assert_pops_this(&r, "", b); /* in flight */
    assert_pops_this(&r, "", g);
    assert_pops_this(&r, "", none);
    assert_pops(&r, "a");
    podqueue_fail(r.q, a->meta.uid, 0, 0);     /* backs off */
    podqueue_fail(r.q, b->meta.uid, r.fit, 0); /* waits for an event */
    assert_pops(&r, "");
    assert_pops_this(&r, "a", a);
    assert_pops_this(&r, "b", b);
    assert_true(podqueue_info(r.q, b->meta.uid, &info));
    assert_int_equal(info.attempts, 2);
    assert_int_equal(info.rejectors, 0);
    assert_int_equal(podqueue_count(r.q, PODQUEUE_IN_FLIGHT), 2);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static const struct kind *const reader_kinds[] = { &kind_pdb, &kind_service, NULL };
static const struct ks_hint reader_hints[] = {
    { KS_RES_OTHER, KS_ADD | KS_UPDATE, .kind = &kind_pdb },
    { KS_RES_NODE, KS_DELETE, NULL },
};

static enum ks_code reader_permit(void *self, const struct pod *p, const char *node,
                                  nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)p, (void)node, (void)ret_timeout, (void)why;
    return KS_SUCCESS;
}

static const struct ks_plugin reader = { .abi = KS_PLUGIN_ABI,
                                         .size = sizeof(struct ks_plugin),
                                         .name = "Reader",
                                         .kinds = reader_kinds,
                                         .hints = reader_hints,
                                         .nhints = ARRAY_LEN(reader_hints),
                                         .permit = reader_permit };

static struct ks_event event_of(const struct kobj *o, uint32_t action)
{
    return (struct ks_event){ KS_RES_OTHER, action, action == KS_ADD ? NULL : o, o, o->kind };
}

static void test_hints_name_a_kind(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    const struct ks_registered table[] = {
        { ks_registered_find("PrioritySort")->plugin, 0, true },
        { ks_registered_find("NodeResourcesFit")->plugin, 1, true },
        { &reader, 0, true },
        { ks_registered_find("DefaultBinder")->plugin, 0, true },
        { NULL, 0, false },
    };

    fixture_init_with(&r, state, table);
    CLEANUP(kobj_unref)
    struct kobj *budget =
        fixture_object(r.base, &kind_pdb, "{'metadata':{'name':'b','namespace':'ns'}}");
    CLEANUP(kobj_unref)
    struct kobj *service =
        fixture_object(r.base, &kind_service, "{'metadata':{'name':'b','namespace':'ns'}}");
    struct kobj *p = fixture_pod(&r, "p", "");
    podqueue_put(r.q, p);
    assert_pops(&r, "p");
    podqueue_fail(r.q, p->meta.uid, UINT64_C(1) << profile_slot(r.profile, "Reader"), 0);
    const struct ks_event other = event_of(service, KS_ADD), gone = event_of(budget, KS_DELETE);
    podqueue_event(r.q, &other, NULL);
    podqueue_event(r.q, &gone, NULL);
    assert_int_equal(podqueue_count(r.q, PODQUEUE_UNSCHEDULABLE), 1);
    const struct ks_event update = event_of(budget, KS_UPDATE);
    podqueue_event(r.q, &update, NULL);
    assert_int_equal(podqueue_count(r.q, PODQUEUE_BACKOFF), 1);
    /* It is counted by its kind. */
    assert_int_equal(podqueue_incoming(r.q, PODQUEUE_BACKOFF, PODQUEUE_BY_EVENT, &update), 1);
    assert_int_equal(podqueue_incoming(r.q, PODQUEUE_BACKOFF, PODQUEUE_BY_EVENT, &other), 0);
    assert_ptr_equal(podqueue_kind(r.q, 0), &kind_pdb);
    assert_null(podqueue_kind(r.q, 1));
}

static void refused(void **state, const struct ks_hint *hint, const char *text)
{
    struct object_fixture *base = *state;
    struct ks_plugin bad = reader;
    const struct ks_registered table[] = {
        { ks_registered_find("PrioritySort")->plugin, 0, true },
        { &bad, 0, true },
        { ks_registered_find("DefaultBinder")->plugin, 0, true },
        { NULL, 0, false },
    };
    struct profile_config c = profile_config_default(table, "s", base->arena);
    struct kerr err = { 0 };

    bad.hints = hint;
    bad.nhints = 1;
    assert_null(profile_new(&c, table, &(struct ks_env){ 0 }, &err));
    assert_string_equal(err.text, text);
}

static void test_hints_that_make_no_sense(void **state)
{
    refused(state, &(const struct ks_hint){ KS_RES_OTHER, KS_ADD },
            "plugin Reader has a hint without its kind");
    refused(state, &(const struct ks_hint){ KS_RES_OTHER, KS_ADD, .kind = &kind_replicaset },
            "plugin Reader has a hint for replicasets and does not read them");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_priority_then_time),
        cmocka_unit_test(test_backoff_doubles),
        FIXTURE_TEST(test_errors_wait_for_whole_seconds),
        FIXTURE_TEST(test_unschedulable_waits_for_an_event_that_helps),
        FIXTURE_TEST(test_who_waits_for_another_component_does_not_back_off),
        FIXTURE_TEST(test_events_reach_only_who_is_held),
        FIXTURE_TEST(test_what_a_held_pod_waits_for_brings_it_back_at_once),
        FIXTURE_TEST(test_who_is_held_no_more_hears_nothing_new),
        FIXTURE_TEST(test_nobody_waits_for_ever),
        FIXTURE_TEST(test_gates_and_their_end),
        FIXTURE_TEST(test_changes_of_a_pod),
        FIXTURE_TEST(test_removed_anywhere),
        FIXTURE_TEST(test_one_goes_out_of_its_turn),
        FIXTURE_TEST(test_hints_name_a_kind),
        FIXTURE_TEST(test_hints_that_make_no_sense),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
