/* test_koordlet_options.c - flags and gates of koordlet (koordlet-metrics 1.4, 1.6). */
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "component/flags.h"
#include "koordlet/options.h"

struct fixture {
    struct flags *f;
    struct log_options log;
    struct koordlet_options o;
    struct kerr err;
};

/* Ends with NULL, as an argument vector does. */
static int parse(struct fixture *b, char **args)
{
    int n = 0;

    *b = (struct fixture){ .f = flags_new() };
    log_options_add(b->f, &b->log);
    koordlet_options_add(b->f, &b->o);
    while (args[n])
        n++;
    int r = flags_parse(b->f, n, args, 0, &b->err);
    return r == FLAGS_OK ? koordlet_options_check(&b->o, &b->err) : r;
}
#define PARSE(b, ...) parse(b, (char *[]){ __VA_ARGS__, NULL })

static void assert_refused(char *arg, const char *why)
{
    struct fixture b;

    assert_that(PARSE(&b, arg), <, 0);
    if (!strstr(b.err.text, why))
        fail_msg("%s: %s", arg, b.err.text);
    flags_free(b.f);
}

static void test_defaults(void **state)
{
    struct fixture b;

    (void)state;
    assert_int_equal(PARSE(&b, NULL), 0);
    assert_string_equal(b.o.addr, ":9316");
    assert_string_equal(b.o.roots.cgroup, "/host-cgroup/");
    assert_string_equal(b.o.kubelet_address_type, "InternalIP");
    assert_int_equal(b.o.kubelet_sync_interval, 10 * NSEC_PER_SEC);
    assert_int_equal(b.o.kubelet_sync_timeout, 3 * NSEC_PER_SEC);
    assert_int_equal(b.o.topology_interval, 3 * NSEC_PER_SEC);
    assert_int_equal(b.o.collect.interval, NSEC_PER_SEC);
    assert_int_equal(b.o.collect.sys_outdated, 10 * NSEC_PER_SEC);
    assert_int_equal(b.o.predict.training, 60 * NSEC_PER_SEC);
    assert_int_equal(b.o.predict.margin_percent, 10);
    assert_int_equal(b.o.predict.checkpoint_max_per_step, 12);
    assert_int_equal(b.o.audit.max_disk_mb, 16);
    assert_int_equal(b.o.audit.max_events, 2048);
    assert_true(b.o.report_metric);
    flags_free(b.f);
}

static void test_gates_of_both_halves_have_upstreams_defaults(void **state)
{
    static const char *const on[] = { "BECPUSuppress",     "CPUBurst",        "RdtResctrl",
                                      "GroupIdentity",     "CPUSetAllocator", "BatchResource",
                                      "NodeTopologyReport" };
    struct fixture b;
    size_t n = 0;

    (void)state;
    assert_int_equal(PARSE(&b, NULL), 0);
    for (unsigned i = 0; i < KOORDLET_GATES; i++) {
        bool expected = false;
        for (size_t k = 0; k < ARRAY_LEN(on); k++)
            expected |= streq(koordlet_gates[i].name, on[k]);
        assert_int_equal(gates_on(&b.o.gates, i), expected);
        assert_int_equal(koordlet_gates[i].stage, expected ? GATE_BETA : GATE_ALPHA);
        n += expected;
    }
    assert_int_equal(n, ARRAY_LEN(on));
    flags_free(b.f);
    assert_int_equal(PARSE(&b, "-feature-gates=AllAlpha=true,AllBeta=true,CoreSched=false"), 0);
    assert_false(gates_on(&b.o.gates, GATE_CORE_SCHED));
    assert_true(gates_on(&b.o.gates, GATE_OOM_SCORE_ADJ));
    assert_true(gates_on(&b.o.gates, GATE_AUDIT_EVENTS));
    flags_free(b.f);
    assert_refused("-feature-gates=Nope=true", "Nope");
}

/* What manifests of upstream set does not keep the agent from starting. */
static void test_flags_without_effect_are_accepted(void **state)
{
    struct fixture b;

    (void)state;
    assert_int_equal(
        PARSE(&b, "-configmap-name=c", "-configmap-namespace", "ns", "-enable-pprof",
              "-pprof-addr=:1", "-report-interval=1s", "-tsdb-path=/x",
              "-tsdb-retention-duration=1h", "-metric-expire-seconds=1", "-only-evict-by-api",
              "-qos-extension-plugins=A=true", "-runtime-hooks-network=unix",
              "-runtime-hooks-nri-backoff-cap=1h", "-runtime-hooks-disable-stages=a,b",
              "-disable-unset-cpu-quota", "-resource-force-update-seconds=60", "--logtostderr=true",
              "-stderrthreshold=INFO", "-legacy_stderr_threshold_behavior=true", "-log_dir=/x",
              "-skip_log_headers", "-vmodule=a=1", "-default-runtime-type=containerd"),
        0);
    flags_free(b.f);
}

static void test_values_that_cannot_work_are_refused(void **state)
{
    static const char *const intervals[] = {
        "collect-res-used-interval",
        "psi-collector-interval",
        "prediction-training-interval",
        "prediction-cpu-histogram-decay-halflife",
        "prediction-memory-histogram-decay-halflife",
    };
    char arg[96];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        (void)snprintf(arg, sizeof arg, "-%s=0s", intervals[i]);
        assert_refused(arg, intervals[i]);
        (void)snprintf(arg, sizeof arg, "-%s=-1h", intervals[i]);
        assert_refused(arg, intervals[i]);
    }
    assert_refused("-runtime-hooks-nri-plugin-index=7", "two digits");
    assert_refused("-runtime-hooks-failure-policy=Maybe", "runtime-hooks-failure-policy");
    assert_refused("-kubelet-insecure-tls", "disable-query-kubelet-config");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_gates_of_both_halves_have_upstreams_defaults),
        cmocka_unit_test(test_flags_without_effect_are_accepted),
        cmocka_unit_test(test_values_that_cannot_work_are_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
