/* test_gang.c - many pods that wait for each other: all are let go at once, or all rejected
 * (scheduler-core 5.7, 6).
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

enum { GANG_MAX = 500, BOUND = 4 };

static struct gang { /* a plugin that holds everybody, and the test decides */
    struct ks_env env;
    struct kuid members[GANG_MAX]; /* in the order of their attempts */
    int n;
    enum ks_code pre_bind;
    struct ks_bind *begun[GANG_MAX]; /* pre-bind, in this order */
    int nbegun, unreserved;
    nsec_t wait;        /* for the permit; 0: a minute */
    bool all_or_none;   /* who is undone takes the others with him */
    bool lets_go;       /* and then they are let go, which comes too late */
    int depth, deepest; /* unreserve() within unreserve() */
} gang;

static int gang_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    gang = (struct gang){ .env = *env, .pre_bind = KS_WAIT };
    *ret_self = &gang;
    return 0;
}

static enum ks_code gang_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)row, (void)why;
    return KS_SUCCESS;
}

static void allow_all(void)
{
    for (int i = 0; i < gang.n; i++)
        ks_allow(&gang.env, gang.members[i], "Gang");
}

static void gang_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
    gang.unreserved++;
    gang.depth++;
    gang.deepest = MAX(gang.deepest, gang.depth);
    for (int i = 0; gang.all_or_none && i < gang.n; i++) {
        CLEANUP(mem_free) char *why = xstrdup("all or none"); /* not there any more later */
        ks_reject(&gang.env, gang.members[i], "Gang", why);
    }
    if (gang.lets_go)
        allow_all();
    gang.depth--;
}

static enum ks_code gang_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node, (void)why;
    if (strncmp(p->obj.meta.name, "free", 4) == 0)
        return KS_SUCCESS;
    assert_that(gang.n, <, GANG_MAX);
    gang.members[gang.n++] = p->obj.meta.uid;
    *ret_timeout = gang.wait ? gang.wait : 60 * SEC;
    return KS_WAIT;
}

static enum ks_code gang_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self;
    assert_that(gang.nbegun, <, GANG_MAX);
    gang.begun[gang.nbegun++] = b;
    ks_texts_add(why, "not today");
    return gang.pre_bind;
}

static const struct ks_hint gang_hints[] = { { KS_RES_NODE, KS_ADD, NULL } };
static const struct ks_plugin gang_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Gang",
    .hints = gang_hints,
    .nhints = ARRAY_LEN(gang_hints),
    .create = gang_create,
    .reserve = gang_reserve,
    .unreserve = gang_unreserve,
    .permit = gang_permit,
    .pre_bind = gang_pre_bind,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true }, { &gang_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

static const char *name_of(int i)
{
    static char name[16];
    (void)snprintf(name, sizeof name, "p%d", i);
    return name;
}

/* So many pods, all of them held. */
static void start(struct engine_fixture *b, int n)
{
    engine_start_opts(b, 1, (struct scheduler_opts){ .plugins = plugins, .max_binding = BOUND });
    engine_node(b, "n", 4000, 4096, GANG_MAX, "");
    client_fixture_run(&b->client, SEC);
    for (int i = 0; i < n; i++)
        engine_pod(b, name_of(i), 1, 1, "");
    client_fixture_run(&b->client, SEC);
    assert_int_equal(scheduler_stats(b->s).waiting, n);
}

/* ---- all are let go -------------------------------------------------------------------------- */

static void test_who_is_let_go_lines_up(void **state)
{
    enum { MANY = 3 * BOUND };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, MANY);
    allow_all();
    client_fixture_run(&b.client, SEC);
    assert_int_equal(gang.nbegun, BOUND);
    assert_int_equal(scheduler_stats(b.s).waiting, 0); /* not for a permit */
    assert_int_equal(scheduler_stats(b.s).binding, MANY);
    assert_int_equal(scheduler_stats(b.s).assumed, MANY);
    engine_pod(&b, "free", 1, 1, "");
    client_fixture_run(&b.client,
                       120 * SEC); /* they have their permits: those do not run out any more */
    assert_int_equal(gang.unreserved, 0);
    assert_int_equal(scheduler_stats(b.s).ready, 1); /* its turn comes after those in line */
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(gang.nbegun, MIN(BOUND + i, MANY + 1));
        assert_true(kuid_equal(gang.begun[i]->pod->meta.uid, gang.members[i])); /* in order */
        ks_bind_done(gang.begun[i], KS_SUCCESS, NULL);
        client_fixture_run(&b.client, SEC);
    }
    ks_bind_done(gang.begun[MANY], KS_SUCCESS, NULL);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).scheduled, MANY + 1);
    assert_string_equal(engine_node_of(&b, "free"), "n");
    engine_verify(&b);
}

/* None of them waits for another that failed. */
static void test_all_in_line_fail(void **state)
{
    enum { MANY = 5 * BOUND };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, MANY);
    allow_all();
    gang.pre_bind = KS_ERROR;
    for (int i = 0; i < BOUND; i++)
        ks_bind_done(gang.begun[i], KS_ERROR, "not today");
    client_fixture_run(&b.client, NSEC_PER_MSEC);
    assert_int_equal(gang.unreserved, MANY);
    assert_int_equal(scheduler_stats(b.s).errors, MANY);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    engine_verify(&b);
}

static void test_who_is_in_line_can_be_given_up(void **state)
{
    enum { MANY = BOUND + 3 };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, MANY);
    allow_all();
    ks_reject(&gang.env, gang.members[0], "Gang", "no"); /* pre-bind has begun */
    assert_int_equal(gang.unreserved, 0);
    ks_reject(&gang.env, gang.members[BOUND], "Gang", "no");
    assert_int_equal(gang.unreserved, 1);
    /* Nobody has listened for it since it was let go: it waits for no event. */
    assert_int_equal(scheduler_stats(b.s).backoff, 1);
    ks_allow(&gang.env, gang.members[BOUND], "Gang");
    assert_int_equal(scheduler_stats(b.s).binding, MANY - 1);
    int last = MANY - 1;
    assert_true(kuid_equal(engine_uid(&b, name_of(last)), gang.members[last]));
    fake_delete(b.client.fake, PODS, name_of(last));
    client_fixture_run(&b.client, NSEC_PER_MSEC);
    assert_int_equal(gang.unreserved, 2);
    assert_int_equal(scheduler_stats(b.s).assumed, BOUND + 1);
    assert_int_equal(gang.nbegun, BOUND);
    ks_bind_done(gang.begun[0], KS_SUCCESS, NULL);
    client_fixture_run(&b.client, SEC / 2);
    assert_int_equal(gang.nbegun, BOUND + 1);
    assert_true(kuid_equal(gang.begun[BOUND]->pod->meta.uid, gang.members[BOUND + 1]));
    engine_verify(&b);
}

static void test_the_end_comes_while_some_are_in_line(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 2 * BOUND);
    allow_all();
    client_fixture_run(&b.client, SEC);
    assert_int_equal(gang.nbegun, BOUND);
}

/* ---- all are rejected --------------------------------------------------------------------- */

static void assert_all_undone(struct engine_fixture *b, int n, const char *first)
{
    assert_int_equal(gang.unreserved, n);
    assert_int_equal(gang.deepest, 1);
    assert_int_equal(gang.nbegun, 0);
    assert_int_equal(scheduler_stats(b->s).waiting, 0);
    assert_int_equal(scheduler_stats(b->s).assumed, 0);
    assert_int_equal(scheduler_stats(b->s).failed, n);
    assert_int_equal(scheduler_stats(b->s).unschedulable, n);
    client_fixture_run(&b->client, SEC);
    assert_string_equal(engine_condition(b, "p0", "message"), first);
    for (int i = 1; i < n; i++)
        assert_string_equal(engine_condition(b, name_of(i), "message"),
                            "0/1 nodes are available: 1 all or none.");
    engine_verify(b);
}

static void test_one_takes_all_with_him(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, GANG_MAX);
    gang.all_or_none = gang.lets_go = true;
    ks_reject(&gang.env, gang.members[0], "Gang", "no");
    assert_all_undone(&b, GANG_MAX, "0/1 nodes are available: 1 no.");
}

static void test_the_first_whose_time_is_up_takes_all_with_him(void **state)
{
    enum { MANY = 20 };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, MANY);
    gang.all_or_none = true;
    client_fixture_run(&b.client, 59 * SEC + SEC / 2);
    assert_all_undone(&b, MANY,
                      "0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at "
                      "plugin Gang.");
}

/* koord#1919: upstream cuts every wait at a quarter of an hour. */
static void test_a_long_wait_is_honoured(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, 0);
    gang.wait = 3600 * SEC;
    engine_pod(&b, "patient", 1, 1, "");
    client_fixture_run(&b.client, 3500 * SEC);
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    assert_int_equal(gang.unreserved, 0);
    client_fixture_run(&b.client, 110 * SEC);
    assert_int_equal(gang.unreserved, 1);
    assert_int_equal(engine_events(&b, "FailedScheduling",
                                   "0/1 nodes are available: 1 rejected due to timeout after "
                                   "waiting 1h0m0s at plugin Gang."),
                     1);
}

static void test_one_that_fails_takes_those_in_line_with_him(void **state)
{
    enum { MANY = 3 * BOUND };
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, MANY);
    allow_all();
    gang.all_or_none = gang.lets_go = true;
    ks_bind_done(gang.begun[0], KS_ERROR, "not today");
    assert_int_equal(gang.unreserved, 1 + MANY - BOUND);
    assert_int_equal(gang.deepest, 1);
    client_fixture_run(&b.client, NSEC_PER_MSEC);
    assert_int_equal(gang.nbegun, BOUND); /* the others of these go on */
    assert_int_equal(scheduler_stats(b.s).assumed, BOUND - 1);
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_let_go_lines_up),
        cmocka_unit_test(test_all_in_line_fail),
        cmocka_unit_test(test_who_is_in_line_can_be_given_up),
        cmocka_unit_test(test_the_end_comes_while_some_are_in_line),
        cmocka_unit_test(test_one_takes_all_with_him),
        cmocka_unit_test(test_the_first_whose_time_is_up_takes_all_with_him),
        cmocka_unit_test(test_a_long_wait_is_honoured),
        cmocka_unit_test(test_one_that_fails_takes_those_in_line_with_him),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
