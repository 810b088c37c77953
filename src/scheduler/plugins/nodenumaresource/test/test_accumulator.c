/* test_accumulator.c - CPUs for pods on random machines: always free ones, exactly as many as
 * asked, by the required policy, and "not enough" only when there is no choice (sched-numa 5, 6.2).
 */
#include "scheduler/plugins/nodenumaresource/holders.h"

#include "base/test/asserts.h"

static uint64_t seed;

static unsigned draw(unsigned n) /* xorshift: the same on every machine */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed % n);
}

static struct machine *make(unsigned sockets, unsigned nodes, unsigned cores, unsigned threads,
                            bool interleaved)
{
    struct cpu_topology_entry e[CPUSET_MAX];
    unsigned total = sockets * nodes * cores, n = 0;
    struct machine *m = NULL;
    struct kerr err = { 0 };

    for (unsigned c = 0; c < total; c++)
        for (unsigned t = 0; t < threads; t++)
            e[n++] = (struct cpu_topology_entry){
                .id = (int32_t)(interleaved ? t * total + c : c * threads + t),
                .core = (int32_t)(c % (nodes * cores)),
                .socket = (int32_t)(c / (nodes * cores)),
                .node = (int32_t)(c / cores),
            };
    machine_new(e, n, &m, &err);
    assert_string_equal(err.text, "");
    return m;
}

struct random_case {
    struct machine *m;
    struct holders h;
    struct cpuset reserved;
    struct cpu_want want;
};

static void draw_case(struct random_case *r)
{
    *r = (struct random_case){ 0 };
    r->m = make(1 + draw(3), 1 + draw(2), 1 + draw(5), 1 + draw(3), draw(2));
    holders_init(&r->h, r->m, draw(8) ? 1 : 2);
    for (unsigned i = draw(6); i > 0; i--) {
        struct cpuset held = { 0 };
        for (unsigned k = draw(r->m->ncpus); k > 0; k--)
            cpuset_add(&held, draw(r->m->limit));
        holders_add(&r->h, r->m, &held, (enum cpu_exclusive_policy)draw(3));
    }
    if (draw(4) == 0)
        cpuset_add(&r->reserved, draw(r->m->limit));
    r->want.request = (struct cpu_request){
        .need = 1 + draw(r->m->ncpus),
        .bind = draw(2) ? CPU_BIND_FULL_PCPUS : CPU_BIND_SPREAD_BY_PCPUS,
        .exclusive = (enum cpu_exclusive_policy)draw(3),
        .strategy = draw(2) ? NUMA_MOST_ALLOCATED : NUMA_LEAST_ALLOCATED,
    };
    r->want.required = draw(2);
    for (unsigned i = draw(3) ? 0 : draw(8); i > 0; i--)
        cpuset_add(&r->want.preferred, draw(r->m->limit));
    if (r->want.required) {
        struct cpuset free = holders_available(&r->h, r->m, &r->reserved);
        free = cpuset_intersect(&free, &r->want.preferred);
        r->want.preferred = machine_usable(r->m, &free, r->want.request.bind);
    }
}

static bool policy_holds(const struct random_case *r, const struct cpuset *cpus)
{
    unsigned cores = machine_count_cores(r->m, cpus), n = cpuset_count(cpus);

    if (!r->want.required)
        return true;
    return r->want.request.bind == CPU_BIND_FULL_PCPUS ? cores * r->m->per_core == n : cores == n;
}

/* By trying all sets. */
static bool some_choice_exists(const struct random_case *r, const struct cpuset *free)
{
    int cpus[12];
    unsigned n = 0;

    cpuset_foreach(free, cpu)
        cpus[n++] = cpu;
    for (unsigned bits = 0; bits < 1u << n; bits++) {
        struct cpuset set = { 0 };
        if ((unsigned)__builtin_popcount(bits) != r->want.request.need)
            continue;
        for (unsigned i = 0; i < n; i++)
            if (bits >> i & 1)
                cpuset_add(&set, (unsigned)cpus[i]);
        if (policy_holds(r, &set))
            return true;
    }
    return false;
}

static void check_case(struct random_case *r, unsigned number)
{
    struct cpuset got = { 0 }, free = holders_available(&r->h, r->m, &r->reserved);
    const char *why = holders_choose(&r->h, r->m, &r->reserved, &r->want, &got);

    if (!why) {
        if (!cpuset_subset(&got, &free) || cpuset_count(&got) != r->want.request.need ||
            !policy_holds(r, &got))
            fail_msg("case %u: %u CPUs of %u, free: %d, policy: %d", number, cpuset_count(&got),
                     r->want.request.need, cpuset_subset(&got, &free), policy_holds(r, &got));
    } else if (cpuset_count(&free) <= 12 && some_choice_exists(r, &free)) {
        fail_msg("case %u: there is a choice, but: %s", number, why);
    }
}

static void test_random_machines(void **state)
{
    unsigned cases = getenv("KOORD_TEST_FULL") ? 1000000 : 20000;

    (void)state;
    seed = 88172645463325252u;
    for (unsigned i = 0; i < cases; i++) {
        struct random_case r;
        draw_case(&r);
        check_case(&r, i);
        holders_fini(&r.h);
        machine_unref(r.m);
    }
}

static void test_thirteen_of_three_sockets(void **state)
{
    CLEANUP(machine_unref) struct machine *m = make(3, 1, 4, 2, false);
    struct cpu_want want = {
        .request = { .need = 13, .bind = CPU_BIND_FULL_PCPUS, .strategy = NUMA_LEAST_ALLOCATED },
    };
    struct cpuset got, none = { 0 };
    struct holders h;

    (void)state;
    holders_init(&h, m, 1);
    assert_null(holders_choose(&h, m, &none, &want, &got));
    assert_int_equal(cpuset_count(&got), 13);
    holders_fini(&h);
}

static void refuse(const struct cpu_topology_entry *e, size_t n, const char *text)
{
    struct machine *m = NULL;
    struct kerr err = { 0 };

    assert_int_equal(machine_new(e, n, &m, &err), -EINVAL);
    assert_string_equal(err.text, text);
}

static void test_machines_that_cannot_be(void **state)
{
    const struct cpu_topology_entry twice[] = { { 0, 0, 0, 0 }, { 0, 1, 0, 0 } };
    const struct cpu_topology_entry far[] = { { 1024, 0, 0, 0 } };
    const struct cpu_topology_entry below[] = { { -1, 0, 0, 0 } };
    const struct cpu_topology_entry numa[] = { { 0, 0, 0, 64 } };
    const struct cpu_topology_entry core[] = { { 0, -1, 0, 0 } };

    (void)state;
    refuse(twice, 2, "cpu id 0 stands there twice");
    refuse(far, 1, "cpu id 1024: CPU ids are 0 to 1023");
    refuse(below, 1, "cpu id -1: CPU ids are 0 to 1023");
    refuse(numa, 1, "cpu 0: NUMA ids are 0 to 63, not 64");
    refuse(core, 1, "cpu 0: negative core or socket");
    refuse(NULL, 0, "no CPU");
}

/* Cores with one and with two threads, as in machines with efficient cores. */
static void test_uneven_cores(void **state)
{
    const struct cpu_topology_entry e[] = { { 0, 0, 0, 0 }, { 1, 0, 0, 0 }, { 2, 1, 0, 0 },
                                            { 3, 1, 0, 0 }, { 4, 2, 0, 0 }, { 5, 3, 0, 0 } };
    CLEANUP(machine_unref) struct machine *m = NULL;
    struct cpu_want want = { .request = { .need = 6, .bind = CPU_BIND_SPREAD_BY_PCPUS } };
    struct cpuset got, none = { 0 };
    struct kerr err = { 0 };
    struct holders h;

    (void)state;
    machine_new(e, ARRAY_LEN(e), &m, &err);
    assert_string_equal(err.text, "");
    holders_init(&h, m, 1);
    for (want.request.need = 1; want.request.need <= 6; want.request.need++) {
        assert_null(holders_choose(&h, m, &none, &want, &got));
        assert_int_equal(cpuset_count(&got), want.request.need);
    }
    holders_fini(&h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_machines),
        cmocka_unit_test(test_thirteen_of_three_sockets),
        cmocka_unit_test(test_machines_that_cannot_be),
        cmocka_unit_test(test_uneven_cores),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
