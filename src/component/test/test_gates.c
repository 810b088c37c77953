/* test_gates.c - feature gates. */
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "component/gates.h"
#include "component/metrics.h"

#include <setjmp.h>

#include <cmocka.h>

enum { MULTI_TREE, SUPPRESS, MANAGER, OLD, GONE, FIXED };
static const struct gate table[] = {
    [MULTI_TREE] = { "MultiQuotaTree", false, GATE_ALPHA },
    [SUPPRESS] = { "BECPUSuppress", true, GATE_BETA },
    [MANAGER] = { "BECPUManager", false, GATE_ALPHA },
    [OLD] = { "PodDisruptionBudget", true, GATE_GA },
    [GONE] = { "OldWay", true, GATE_DEPRECATED },
    [FIXED] = { "Fixed", false, GATE_ALPHA, true },
};

static void setup(struct gates *g)
{
    gates_init(g, table, ARRAY_LEN(table));
}

static void test_defaults_and_explicit_values(void **state)
{
    struct gates g;
    struct kerr err;

    (void)state;
    setup(&g);
    assert_true(gates_on(&g, SUPPRESS) && gates_on(&g, OLD) && !gates_on(&g, MULTI_TREE));
    assert_int_equal(gates_parse(&g, "MultiQuotaTree=true, BECPUSuppress=false,", &err), 0);
    assert_true(gates_on(&g, MULTI_TREE) && !gates_on(&g, SUPPRESS));
    assert_true(gates_given(&g, SUPPRESS) && !gates_given(&g, OLD));
    assert_int_equal(gates_parse(&g, "", &err), 0);
    assert_int_equal(gates_parse(&g, "BECPUSuppress=T", &err), 0);
    assert_true(gates_on(&g, SUPPRESS) && gates_on(&g, MULTI_TREE));
}

static void test_all_alpha_and_beta_yield_to_names(void **state)
{
    struct gates g;
    struct kerr err;

    (void)state;
    setup(&g);
    assert_int_equal(gates_parse(&g, "AllAlpha=true,AllBeta=true", &err), 0);
    assert_true(gates_on(&g, MANAGER) && gates_on(&g, SUPPRESS) && gates_on(&g, MULTI_TREE));
    assert_false(gates_on(&g, FIXED)); /* locked */
    setup(&g);
    assert_int_equal(gates_parse(&g, "BECPUManager=false,AllAlpha=true,AllBeta=false", &err), 0);
    assert_true(!gates_on(&g, MANAGER) && gates_on(&g, MULTI_TREE) && !gates_on(&g, SUPPRESS));
    assert_true(gates_on(&g, OLD) && gates_on(&g, GONE));
    assert_int_equal(gates_parse(&g, "AllAlpha=false", &err), 0);
    assert_false(gates_on(&g, MULTI_TREE));
}

static void test_refusals_name_the_gate_and_change_nothing(void **state)
{
    struct gates g;
    struct kerr err = { 0 };

    (void)state;
    setup(&g);
    assert_int_equal(gates_parse(&g, "MultiQuotaTree=true,multiquotatre=true", &err), -EINVAL);
    assert_string_equal(err.text,
                        "unknown feature gate multiquotatre (did you mean MultiQuotaTree?)");
    assert_false(gates_on(&g, MULTI_TREE));
    assert_int_equal(gates_parse(&g, "Nonsense=true", &err), -EINVAL);
    assert_string_equal(err.text, "unknown feature gate Nonsense");
    assert_int_equal(gates_parse(&g, "BECPUSuppress", &err), -EINVAL);
    assert_string_equal(err.text, "missing value for feature gate BECPUSuppress (write "
                                  "BECPUSuppress=true)");
    assert_int_equal(gates_parse(&g, "BECPUSuppress=on", &err), -EINVAL);
    assert_string_equal(err.text, "feature gate BECPUSuppress: 'on' is not a boolean");
    assert_int_equal(gates_parse(&g, "Fixed=true", &err), -EINVAL);
    assert_string_equal(err.text, "feature gate Fixed is locked to false");
    assert_int_equal(gates_set(&g, "Fixed=false", &err), 0);
}

static void test_usage_and_metrics(void **state)
{
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct gates g;

    (void)state;
    setup(&g);
    gates_usage(&g, &out);
    assert_starts(strbuf_str(&out), "AllAlpha=true|false (ALPHA - default=false)\n"
                                    "AllBeta=true|false (BETA - default=false)\n"
                                    "BECPUManager=true|false (ALPHA - default=false)\n"
                                    "BECPUSuppress=true|false (BETA - default=true)\n");
    strbuf_reset(&out);
    gates_metrics(&g, m);
    metrics_write(&m, 1, &out);
    const char *text = strbuf_str(&out);
    assert_contains(text, "# TYPE kubernetes_feature_enabled gauge\n");
    assert_contains(text, "kubernetes_feature_enabled{name=\"BECPUSuppress\",stage=\"BETA\"} 1\n");
    assert_contains(text,
                    "kubernetes_feature_enabled{name=\"PodDisruptionBudget\",stage=\"\"} 1\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_and_explicit_values),
        cmocka_unit_test(test_all_alpha_and_beta_yield_to_names),
        cmocka_unit_test(test_refusals_name_the_gate_and_change_nothing),
        cmocka_unit_test(test_usage_and_metrics),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
