/* test_migration_round.c - rounds of LowNodeLoad that end in jobs: the descheduler as a whole over
 * the fake API server. */
#include "descheduler/migration/test/migration_fixture.h"

#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"

#define NODES   "/api/v1/nodes"
#define METRICS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"

struct round_fixture {
    struct migration_fixture m;
    struct config *config;
    struct descheduler *d;
};

static void put_node(struct round_fixture *f, const char *name)
{
    mig_put(
        &f->m, NODES, name,
        "{'status':{'allocatable':{'cpu':'10','memory':'32Gi','pods':'100'},'conditions':[{'type':"
        "'Ready','status':'True'}]}}");
}

static void report(struct round_fixture *f, const char *name, int cores, nsec_t age)
{
    char when[KTIME_TEXT_MAX];
    CLEANUP(strbuf_fini) struct strbuf pods = STRBUF_INIT;

    ktime_format(loop_wall(f->m.client.loop) - age, when);
    for (int i = 0; streq(name, "hot") && i < 4; i++)
        strbuf_appendf(&pods,
                       "%s{'namespace':'ns','name':'web-%d','podUsage':{'resources':{'cpu':'2',"
                       "'memory':'1Gi'}}}",
                       i ? "," : "", i);
    mig_put(
        &f->m, METRICS, name,
        "{'status':{'updateTime':'%s','nodeMetric':{'nodeUsage':{'resources':{'cpu':'%d','memory':"
        "'4Gi'}},'systemUsage':{'resources':{'cpu':'%d','memory':'1Gi'}}},'podsMetric':[%s]}}",
        when, cores, streq(name, "hot") ? cores - 8 : cores, strbuf_str(&pods));
}

static void begin(struct round_fixture *f, uint64_t seed, const char *args)
{
    CLEANUP(mem_free)
    char *text = xasprintf(
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
        "deschedulingInterval: 10s\nprofiles:\n- name: p\n  plugins:\n    balance:\n      enabled: "
        "[{name: LowNodeLoad}]\n  pluginConfig:\n  - name: LowNodeLoad\n    args:\n      "
        "lowThresholds: {cpu: 30}\n      highThresholds: {cpu: 60}\n      anomalyCondition: "
        "{timeout: 1m, consecutiveAbnormalities: 1}\n  - name: MigrationController\n    args: "
        "{%s}\n",
        args);
    struct kerr err = { 0 };

    *f = (struct round_fixture){ 0 };
    mig_prepare(&f->m, seed, "{}");
    if (config_parse(&desched_config_spec, text, strlen(text), "test", &f->config, &err) < 0)
        fail_msg("%s", err.text);
    put_node(f, "hot");
    put_node(f, "cold");
    mig_replicaset(&f->m, "web", 20);
    for (int i = 0; i < 4; i++) {
        char pod[16];
        (void)snprintf(pod, sizeof pod, "web-%d", i);
        mig_pod(&f->m, pod, "web", "hot");
    }
}

static void lead(struct round_fixture *f)
{
    struct kerr err = { 0 };

    f->d = descheduler_new(
        f->m.client.loop, f->m.client.kube,
        &(struct descheduler_opts){ .config = f->config->value, .no_moves = true }, &err);
    if (!f->d)
        fail_msg("%s", err.text);
    descheduler_watch(f->d);
    descheduler_lead(f->d);
}

static inline void round_end_p(struct round_fixture *f)
{
    descheduler_free(f->d);
    config_unref(f->config);
    mig_end_p(&f->m);
}

static void run(struct round_fixture *f, nsec_t by)
{
    loop_advance(f->m.client.loop, by);
}

/* koordinator#1721: what a node used long ago moves nobody. */
static void test_a_stale_report_moves_nobody(void **state)
{
    CLEANUP(round_end) struct round_fixture f;

    (void)state;
    begin(&f, 1, "");
    report(&f, "hot", 9, 181 * SEC);
    report(&f, "cold", 1, 0);
    lead(&f);
    run(&f, 60 * SEC);
    assert_int_equal(fake_count(f.m.client.fake, "podmigrationjobs"), 0);
    assert_that(descheduler_stats(f.d).rounds, >=, 3);
    report(&f, "hot", 9, 0);
    report(&f, "cold", 1, 0);
    run(&f, 30 * SEC);
    assert_that(fake_count(f.m.client.fake, "podmigrationjobs"), >=, 1);
}

static void test_a_hot_node_gets_jobs_within_the_limits(void **state)
{
    CLEANUP(round_end) struct round_fixture f;

    (void)state;
    begin(&f, 2, "maxMigratingPerNode: 1");
    report(&f, "hot", 9, 0);
    report(&f, "cold", 1, 0);
    lead(&f);
    run(&f, 60 * SEC);
    assert_int_equal(fake_count(f.m.client.fake, "podmigrationjobs"), 1);
}

/* With Manual approval a round makes jobs that wait, and no second one for a pod. */
static void test_a_round_asks_for_approval(void **state)
{
    CLEANUP(round_end) struct round_fixture f;
    struct mig_names l = { .n = 0 };

    (void)state;
    begin(&f, 3, "approval: Manual");
    report(&f, "hot", 9, 0);
    report(&f, "cold", 1, 0);
    lead(&f);
    run(&f, 50 * SEC);
    fake_each(f.m.client.fake, "podmigrationjobs", mig_add_name, &l);
    assert_int_equal(l.n, 2); /* as many as may be moved from a node: they do not pile up */
    for (unsigned i = 0; i < l.n; i++)
        assert_contains(fake_find(f.m.client.fake, JOBS, l.items[i]), "\"paused\":true");
    assert_int_equal(f.m.evictions, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stale_report_moves_nobody),
        cmocka_unit_test(test_a_hot_node_gets_jobs_within_the_limits),
        cmocka_unit_test(test_a_round_asks_for_approval),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
