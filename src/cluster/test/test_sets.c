/* test_sets.c - which pods of StatefulSets and DaemonSets are made and deleted next. */
#include <stdio.h>

#include "cluster/ds.h"
#include "cluster/sts.h"
#include "cluster/test/fixture_pods.h"

/* what: r ready, p pending, f failed, d ready and being deleted. */
static void add(struct fixture *b, const char *name, char what, const char *revision)
{
    char text[1024];
    const char *phase = what == 'p' ? "Pending" : what == 'f' ? "Failed" : "Running";

    (void)snprintf(text, sizeof text,
                   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"x\",\"labels\":{"
                   "\"controller-revision-hash\":\"%s\"}%s},\"spec\":{\"nodeName\":\"n\"},"
                   "\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
                   "\"%s\",\"lastTransitionTime\":\"2025-11-14T00:00:00Z\"}]}}",
                   name, revision,
                   what == 'd' ? ",\"deletionTimestamp\":\"2025-11-14T00:00:00Z\"" : "", phase,
                   what == 'r' || what == 'd' ? "True" : "False");
    fixture_add(b, text);
}

/* Pods w-0, w-1 ... as the letters say: state and revision, "rN" new, "rO" old, "--" none. */
static void add_row(struct fixture *b, const char *row)
{
    char name[16];

    for (int i = 0; *row; i++, row += 2) {
        (void)snprintf(name, sizeof name, "w-%d", i);
        if (*row != '-')
            add(b, name, row[0], row[1] == 'N' ? "new" : "old");
    }
}

static void check_sts(const char *row, struct sts_spec spec, const char *want)
{
    struct fixture b;
    struct sts s = { .obj.meta = { .name = "w", .ns = "x" }, .spec = spec };
    struct revision current = { .obj.meta.name = "old" }, update = { .obj.meta.name = "new" };
    stsstepvec steps = { 0 };
    struct stsview v;
    char got[64] = "";

    fixture_init(&b);
    add_row(&b, row);
    stsview_init(&v, &s, &b.pods, NOW);
    v.current = &current;
    v.update = &update;
    sts_plan(&v, &steps);
    vec_foreach(&steps, i) {
        size_t n = strlen(got);
        (void)snprintf(got + n, sizeof got - n, "%c%lld", "+-!"[steps.items[i].verb],
                       (long long)steps.items[i].ordinal);
    }
    if (!streq(got, want))
        fail_msg("%s: %s instead of %s", row, got, want);
    vec_fini(&steps);
    stsview_fini(&v);
    fixture_fini(&b);
}

#define SPEC(n, ...)                             \
    (struct sts_spec)                            \
    {                                            \
        .replicas = { true, (n) }, ##__VA_ARGS__ \
    }

static void test_statefulset_in_order(void **state)
{
    (void)state;
    check_sts("", SPEC(3), "+0");
    check_sts("rN", SPEC(3), "+1");
    check_sts("rNpN", SPEC(3), "");
    check_sts("rN--rN", SPEC(3), "+1");
    check_sts("rNrNrN", SPEC(3), "");
    check_sts("rNfNrN", SPEC(3), "!1");
    check_sts("dNrNrN", SPEC(2), "");
    check_sts("rNrNrN", SPEC(1), "-2");
    check_sts("rNrNdN", SPEC(1), "");
    /* The lowest pod that is down waits for nobody; one above it does. */
    check_sts("rNrNpN", SPEC(1), "-2");
    check_sts("rNpNrN", SPEC(1), "-2");
    check_sts("rNpNpN", SPEC(1), "");
    check_sts("rNrNrN", SPEC(0), "-2");
    check_sts("rNrN", SPEC(2, .ordinals.start = 1), "+2");
}

static void test_statefulset_updates(void **state)
{
    struct sts_rolling two = { .max_unavailable.i = 2 }, part = { .partition = { true, 2 } };
    struct sts_rolling half = { .max_unavailable.s = "50%" };

    (void)state;
    check_sts("rOrOrO", SPEC(3), "-2");
    check_sts("rOrOrN", SPEC(3), "-1");
    check_sts("rOrOpN", SPEC(3), "");
    check_sts("rOrOrO", SPEC(3, .strategy.type = "OnDelete"), "");
    check_sts("rOrOrO", SPEC(3, .strategy.rolling = &part), "-2");
    check_sts("rOrOrN", SPEC(3, .strategy.rolling = &part), "");
    check_sts("rOrOrOrO", SPEC(4, .strategy.rolling = &two), "-3-2");
    check_sts("rOrOrOrO", SPEC(4, .strategy.rolling = &half), "-3-2");
    check_sts("rOrOrOpN", SPEC(4, .strategy.rolling = &two, .pod_management_policy = "Parallel"),
              "-2");
    /* Replacing one that is down costs nothing. */
    check_sts("rOpOrOrN", SPEC(4, .pod_management_policy = "Parallel"), "-1");
}

static void test_statefulset_parallel(void **state)
{
    (void)state;
    check_sts("", SPEC(3, .pod_management_policy = "Parallel"), "+0+1+2");
    check_sts("pN--pN", SPEC(3, .pod_management_policy = "Parallel"), "+1");
    check_sts("rNpNrNpN", SPEC(1, .pod_management_policy = "Parallel"), "-3-2-1");
}

static void test_ordinals(void **state)
{
    const struct kobj set = { .meta.name = "web" };
    static const struct {
        const char *pod;
        int64_t want;
    } cases[] = { { "web-0", 0 },   { "web-17", 17 },  { "web-01", -1 },
                  { "web-", -1 },   { "web-1x", -1 },  { "web2-1", -1 },
                  { "we-1", -1 },   { "web-a-1", -1 }, { "web--1", -1 },
                  { "web-+1", -1 }, { "web", -1 },     { "web-99999999999999999999", -1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct kobj pod = { .meta.name = cases[i].pod };
        assert_int_equal(sts_ordinal(&set, &pod), cases[i].want);
    }
}

/* One node for each letter pair or group between blanks: "rN", "rOpN", "." for none. */
static void check_ds(const char *rows, struct rolling rolling, bool update, const char *want)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    struct fixture b;
    struct ds ds = { .obj.meta = { .name = "w" }, .spec.strategy.rolling = &rolling };
    struct dsview v = { .ds = &ds, .hash = "new", .now = NOW };
    struct dsplan plan = { 0 };
    char got[64] = "", name[16];

    fixture_init(&b);
    for (size_t i = 0; *rows; i++) {
        struct ds_node n = { .name = names[i], .should_run = true, .may_stay = true };
        for (; *rows && *rows != ' '; rows += *rows == '.' ? 1 : 2) {
            if (*rows == '.')
                continue;
            (void)snprintf(name, sizeof name, "%s%zu", names[i], n.pods.n);
            add(&b, name, rows[0], rows[1] == 'N' ? "new" : "old");
            vec_push(&n.pods, vec_last(&b.pods));
        }
        rows += *rows == ' ';
        vec_push(&v.nodes, n);
    }
    if (update)
        ds_plan_update(&v, &plan);
    else
        ds_plan(&v, &plan);
    vec_foreach(&plan.create, i)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "+%s", plan.create.items[i]);
    vec_foreach(&plan.remove, i)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "-%s",
                       plan.remove.items[i]->meta.name);
    assert_string_equal(got, want);
    dsplan_fini(&plan);
    dsview_fini(&v);
    fixture_fini(&b);
}

static void test_daemonset(void **state)
{
    const struct rolling one = { .max_unavailable.i = 1 }, surge = { .max_surge.i = 1 };

    (void)state;
    check_ds("rN . dN", one, false, "+b");
    check_ds("rNrN fN", one, false, "-a1-b0");
    check_ds("rO rO rO", one, true, "-a0");
    check_ds("rN rO pO", one, true, "-c0");
    check_ds("rN rO pN", one, true, "");
    check_ds("rO rO rO", surge, true, "+a");
    check_ds("rOpN rO rO", surge, true, "");
    check_ds("rOrN rO rO", surge, false, "-a0");
    check_ds("rOpN pOpN rO", surge, false, "-b0");
    check_ds("dO rN rN", surge, false, "+a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statefulset_in_order),
        cmocka_unit_test(test_statefulset_updates),
        cmocka_unit_test(test_statefulset_parallel),
        cmocka_unit_test(test_ordinals),
        cmocka_unit_test(test_daemonset),
    };
    return cmocka_run_group_tests_name("sets", tests, NULL, NULL);
}
