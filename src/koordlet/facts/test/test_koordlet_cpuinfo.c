/* test_koordlet_cpuinfo.c - CPUs, caches and NUMA nodes of made-up machines and of this one
 * (koordlet-metrics 2.5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

#include "base/test/asserts.h"
#include "koordlet/facts/cpuinfo.h"
#include "koordlet/kernel/test/host_fixture.h"

#define CPU_DIR "sys/devices/system/cpu/cpu%d"

static void put_number(const struct fixture *f, int v, const char *name, int cpu)
{
    char text[16];
    snprintf(text, sizeof text, "%d\n", v);
    fixture_put(f, text, CPU_DIR "/%s", cpu, name);
}

/* A cache of a CPU; id < 0: the kernel gives none. */
static void put_cache(const struct fixture *f, int cpu, int index, int level, const char *type,
                      int id, const char *shared)
{
    char name[64];

    snprintf(name, sizeof name, "cache/index%d/level", index);
    put_number(f, level, name, cpu);
    fixture_put(f, type, CPU_DIR "/cache/index%d/type", cpu, index);
    snprintf(name, sizeof name, "cache/index%d/id", index);
    if (id >= 0)
        put_number(f, id, name, cpu);
    if (shared)
        fixture_put(f, shared, CPU_DIR "/cache/index%d/shared_cpu_list", cpu, index);
}

static struct cpu_info *read_info(struct fixture *f)
{
    struct cpu_info *c = NULL;
    struct kerr err = { 0 };
    if (cpu_info_read(fixture_host(f), &c, &err) < 0)
        fail_msg("%s", err.text);
    for (uint32_t i = 1; i < c->n; i++) { /* sorted, and none twice */
        const struct cpu_place *a = &c->cpus[i - 1], *b = &c->cpus[i];
        bool before = a->node != b->node       ? a->node < b->node
                      : a->socket != b->socket ? a->socket < b->socket
                      : a->core != b->core     ? a->core < b->core
                                               : a->cpu < b->cpu;
        assert_true(before);
    }
    return c;
}

static void assert_place(const struct cpu_info *c, int cpu, int core, int socket, int node, int l3)
{
    const struct cpu_place *p = cpu_info_find(c, cpu);
    if (!p)
        fail_msg("CPU %d has no place", cpu);
    if (p->core != core || p->socket != socket || p->node != node || p->l3 != l3)
        fail_msg("CPU %d: core %d socket %d node %d l3 %d", cpu, p->core, p->socket, p->node,
                 p->l3);
    assert_true(p->online);
}

/* ---- two sockets, four nodes, hyper-threads -------------------------------------------------- */

enum { BIG_CPUS = 128, BIG_CORES = 64 };

/* CPU i and i + 64 are one core; even cores are of socket 0; two nodes a socket. */
static void big_machine(struct fixture *f)
{
    char list[512];

    fixture_init(f);
    fixture_put(f, "0-127\n", "sys/devices/system/cpu/online");
    for (int cpu = 0; cpu < BIG_CPUS; cpu++) {
        int core = cpu % BIG_CORES, socket = core % 2;
        put_number(f, socket, "topology/physical_package_id", cpu);
        put_number(f, core / 2, "topology/core_id", cpu); /* anew in each socket */
        snprintf(list, sizeof list, "%d,%d\n", core, core + BIG_CORES);
        fixture_put(f, list, CPU_DIR "/topology/thread_siblings_list", cpu);
        put_cache(f, cpu, 0, 1, "Data\n", core, list);
        put_cache(f, cpu, 1, 1, "Instruction\n", core, list);
        put_cache(f, cpu, 2, 2, "Unified\n", core, list);
        size_t n = 0;
        for (int i = socket; i < BIG_CPUS; i += 2)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%d", n ? "," : "", i);
        fixture_put(f, list, CPU_DIR "/topology/core_siblings_list", cpu);
        put_cache(f, cpu, 3, 3, "Unified\n", socket, list);
    }
    for (int node = 0; node < 4; node++) { /* node 0 and 2 on socket 0 */
        size_t n = 0;
        for (int cpu = 0; cpu < BIG_CPUS; cpu++)
            if (cpu % 2 == node % 2 && (cpu % BIG_CORES < BIG_CORES / 2) == (node < 2))
                n += (size_t)snprintf(list + n, sizeof list - n, "%s%d", n ? "," : "", cpu);
        fixture_put(f, list, "sys/devices/system/node/node%d/cpulist", node);
    }
    fixture_put(f,
                "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon: the big one\n"
                "processor\t: 1\nvendor_id\t: Other\n",
                "proc/cpuinfo");
    fixture_put(f, "1\n", "sys/devices/system/cpu/smt/active");
    fixture_put(f, "0\n", "sys/devices/system/cpu/intel_pstate/no_turbo");
    fixture_put(f, " fffff\n", "sys-fs/resctrl/info/L3/cbm_mask");
}

static void test_two_sockets_four_nodes(void **state)
{
    struct fixture f;

    (void)state;
    big_machine(&f);
    struct cpu_info *c = read_info(&f);
    assert_int_equal(c->n, BIG_CPUS);
    assert_int_equal(c->ncores, BIG_CORES);
    assert_int_equal(c->nsockets, 2);
    assert_int_equal(c->nnodes, 4);
    assert_int_equal(c->nl3, 2);
    for (int cpu = 0; cpu < BIG_CPUS; cpu++) {
        int core = cpu % BIG_CORES;
        assert_place(c, cpu, core, core % 2, core % 2 + (core < BIG_CORES / 2 ? 0 : 2), core % 2);
        assert_int_equal(cpu_info_find(c, cpu)->l1l2, core);
    }
    assert_null(cpu_info_find(c, BIG_CPUS));
    assert_int_equal(c->cpus[0].cpu, 0);
    assert_int_equal(c->cpus[1].cpu, 64); /* beside its sibling */
    struct cpuset all = cpu_info_set(c);
    assert_int_equal(cpuset_count(&all), BIG_CPUS);

    assert_string_equal(c->model, "Xeon: the big one");
    assert_string_equal(c->vendor, "GenuineIntel");
    assert_string_equal(c->l3_mask, "fffff");
    assert_true(c->hyper_thread);
    assert_true(c->turbo);

    assert_true(cpu_info_current(c, f.host));
    fixture_put(&f, "1\n", "sys/devices/system/cpu/intel_pstate/no_turbo");
    assert_false(cpu_info_current(c, f.host));
    struct cpu_info *kept = cpu_info_ref(c);
    assert_null(cpu_info_unref(c));
    assert_string_equal(kept->vendor, "GenuineIntel"); /* still there */
    cpu_info_unref(kept);
    fixture_fini(&f);
}

static void test_offline_cpus(void **state)
{
    struct fixture f;

    (void)state;
    big_machine(&f);
    CLEANUP(cpu_info_unref) struct cpu_info *before = read_info(&f);
    fixture_put(&f, "0,2-63,66-127\n", "sys/devices/system/cpu/online");
    fixture_remove(&f, "sys/devices/system/cpu/cpu1/topology");
    fixture_remove(&f, "sys/devices/system/cpu/cpu64/topology");
    fixture_remove(&f, "sys/devices/system/cpu/cpu65/topology");
    assert_false(cpu_info_current(before, f.host));
    CLEANUP(cpu_info_unref) struct cpu_info *c = read_info(&f);
    assert_int_equal(c->n, 125);
    assert_int_equal(c->ncores, 63);
    assert_null(cpu_info_find(c, 1));
    assert_null(cpu_info_find(c, 65));
    assert_place(c, 2, 1, 0, 0, 0); /* cores are counted without the one that is gone */
    assert_place(c, 3, 2, 1, 1, 1);
    assert_place(c, 127, 62, 1, 3, 1);
    fixture_put(&f, "0\n", "sys/devices/system/cpu/online"); /* 2-127 are gone, the rest is torn */
    fixture_remove(&f, "sys/devices/system/cpu/cpu0/topology");
    struct cpu_info *none = NULL;
    struct kerr err = { 0 };
    assert_int_equal(cpu_info_read(f.host, &none, &err), -ENODATA);
    assert_null(none);
    fixture_fini(&f);
}

/* ---- several third-level caches a socket ----------------------------------------------------- */

/* 2 sockets of 8 cores, four cores a cache; the kernel's ids of caches have gaps, as AMD's do. */
static void test_several_l3_a_socket(void **state)
{
    static const int ids[] = { 0, 1, 16, 17 };
    struct fixture f;
    char list[32];

    (void)state;
    fixture_init(&f);
    fixture_put(&f, "0-15", "sys/devices/system/cpu/online");
    for (int cpu = 0; cpu < 16; cpu++) {
        put_number(&f, cpu / 8, "topology/physical_package_id", cpu);
        put_number(&f, cpu % 8, "topology/core_id", cpu);
        put_cache(&f, cpu, 0, 1, "Data", cpu, NULL);
        put_cache(&f, cpu, 1, 2, "Unified", cpu, NULL);
        snprintf(list, sizeof list, "%d-%d", cpu / 4 * 4, cpu / 4 * 4 + 3);
        put_cache(&f, cpu, 2, 3, "Unified", ids[cpu / 4], list);
    }
    fixture_put(&f, "0-7", "sys/devices/system/node/node0/cpulist");
    fixture_put(&f, "8-15", "sys/devices/system/node/node1/cpulist");
    CLEANUP(cpu_info_unref) struct cpu_info *c = read_info(&f);
    assert_int_equal(c->ncores, 16); /* by the ids alone: no lists of siblings here */
    assert_int_equal(c->nsockets, 2);
    assert_int_equal(c->nl3, 4);
    for (int cpu = 0; cpu < 16; cpu++)
        assert_place(c, cpu, cpu, cpu / 8, cpu / 8, ids[cpu / 4]);
    assert_false(c->hyper_thread);
    assert_string_equal(c->vendor, "unknown");
    assert_string_equal(c->model, "");
    assert_string_equal(c->l3_mask, "");
    assert_false(c->turbo);
    fixture_fini(&f);
}

/* ---- ARM ------------------------------------------------------------------------------------- */

/* Package ids out of the blue, caches without ids, no nodes. */
static void test_arm_without_cache_ids(void **state)
{
    struct fixture f;
    char list[32];

    (void)state;
    fixture_init(&f);
    fixture_put(&f, "0-7", "sys/devices/system/cpu/online");
    for (int cpu = 0; cpu < 8; cpu++) {
        put_number(&f, cpu < 4 ? 36 : 3180, "topology/physical_package_id", cpu);
        put_number(&f, cpu % 4, "topology/core_id", cpu);
        snprintf(list, sizeof list, "%d", cpu);
        fixture_put(&f, list, CPU_DIR "/topology/thread_siblings_list", cpu);
        put_cache(&f, cpu, 0, 1, "Data", -1, list);
        snprintf(list, sizeof list, "%s", cpu < 4 ? "0-3" : "4-7");
        fixture_put(&f, list, CPU_DIR "/topology/core_siblings_list", cpu);
        put_cache(&f, cpu, 3, 3, "Unified", -1, list); /* and no index1, 2: never reached */
        put_cache(&f, cpu, 1, 1, "Instruction", -1, list);
        put_cache(&f, cpu, 2, 2, "Unified", -1, list);
    }
    fixture_put(&f, "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n", "proc/cpuinfo");
    CLEANUP(cpu_info_unref) struct cpu_info *c = read_info(&f);
    assert_int_equal(c->nsockets, 2);
    assert_int_equal(c->nnodes, 1);
    assert_int_equal(c->nl3, 2);
    for (int cpu = 0; cpu < 8; cpu++) {
        assert_place(c, cpu, cpu, cpu / 4, 0, cpu / 4); /* counted */
        assert_int_equal(cpu_info_find(c, cpu)->l1l2, cpu);
    }
    assert_string_equal(c->vendor, "unknown");
    fixture_fini(&f);
}

static void test_no_caches_at_all(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_put(&f, "0-1", "sys/devices/system/cpu/online");
    put_number(&f, -1, "topology/physical_package_id", 0);
    put_number(&f, 0, "topology/physical_package_id", 1);
    put_number(&f, 0, "topology/core_id", 0);
    fixture_put(&f, "garbage", CPU_DIR "/topology/core_id", 1);
    fixture_put(&f, "0-", CPU_DIR "/topology/thread_siblings_list", 1);
    CLEANUP(cpu_info_unref) struct cpu_info *c = read_info(&f);
    assert_int_equal(c->n, 2);
    assert_int_equal(c->ncores, 2); /* nothing says that they are one */
    assert_int_equal(c->nl3, 1);
    fixture_fini(&f);
}

static void test_bad_lists(void **state)
{
    struct fixture f;
    struct cpu_info *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&f);
    fixture_host(&f);
    assert_int_equal(cpu_info_read(f.host, &c, &err), -ENOENT);
    assert_contains(err.text, "devices/system/cpu/online");
    fixture_put(&f, "0-x", "sys/devices/system/cpu/online");
    assert_int_equal(cpu_info_read(f.host, &c, &err), -EINVAL);
    fixture_put(&f, "0-5000", "sys/devices/system/cpu/online");
    assert_int_equal(cpu_info_read(f.host, &c, &err), -ERANGE);
    fixture_put(&f, "", "sys/devices/system/cpu/online");
    assert_int_equal(cpu_info_read(f.host, &c, &err), -ENODATA);
    assert_null(c);
    fixture_fini(&f);
}

/* ---- NUMA ------------------------------------------------------------------------------------ */

static void put_node(const struct fixture *f, int node, unsigned total_kb)
{
    char text[256];
    snprintf(text, sizeof text,
             "Node %d MemTotal:       %u kB\nNode %d MemFree:        262144 kB\n"
             "Node %d Active(file):   131072 kB\n",
             node, total_kb, node, node);
    fixture_put(f, text, "sys/bus/node/devices/node%d/meminfo", node);
}

static int read_numa(struct fixture *f, bool huge, struct numa_info **ret, struct kerr *err)
{
    return numa_info_read(fixture_host(f), huge, ret, err);
}

static void test_numa_nodes(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };
    struct numa_info *i = NULL;

    (void)state;
    fixture_init(&f);
    assert_int_equal(read_numa(&f, false, &i, &err), -ENOENT);
    for (int node = 11; node >= 0; node--) /* 10 is before 2 by name */
        put_node(&f, node, 1000 + (unsigned)node);
    fixture_put(&f, "x", "sys/bus/node/devices/power/meminfo");
    fixture_put(&f, "7\n", "sys/bus/node/devices/node1/hugepages/hugepages-1048576kB/nr_hugepages");
    fixture_put(&f, "9\n", "sys/bus/node/devices/node1/hugepages/hugepages-2048kB/nr_hugepages");
    assert_int_equal(read_numa(&f, false, &i, &err), 0);
    assert_int_equal(i->n, 12);
    for (int node = 0; node < 12; node++) {
        assert_int_equal(i->nodes[node].id, node);
        assert_int_equal(i->nodes[node].mem_total_kb, 1000 + node);
        assert_int_equal(i->nodes[node].huge_1g + i->nodes[node].huge_2m, 0);
    }
    assert_ptr_equal(numa_info_ref(i), i);
    numa_info_unref(i);
    numa_info_unref(i);
    assert_int_equal(read_numa(&f, true, &i, &err), 0);
    assert_int_equal(i->nodes[1].huge_1g, 7);
    assert_int_equal(i->nodes[1].huge_2m, 9);
    assert_int_equal(i->nodes[0].huge_2m, 0);
    numa_info_unref(i);
    fixture_fini(&f);
}

static void test_numa_gaps_and_initiators(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };
    struct numa_info *i = NULL;

    (void)state;
    fixture_init(&f);
    fixture_dir(&f, "sys/bus/node/devices");
    assert_int_equal(read_numa(&f, false, &i, &err), -EINVAL);
    assert_string_equal(err.text, "unexpected number of NUMA node, max ID 0, parsed 0");
    put_node(&f, 0, 1048576);
    put_node(&f, 1, 1048576);
    fixture_put(&f, "1\n", "sys/devices/system/node/has_generic_initiator");
    assert_int_equal(read_numa(&f, false, &i, &err), 0);
    assert_int_equal(i->n, 1);
    i = numa_info_unref(i);
    fixture_put(&f, "0\n", "sys/devices/system/node/has_generic_initiator");
    assert_int_equal(read_numa(&f, false, &i, &err), -EINVAL);
    assert_string_equal(err.text, "unexpected number of NUMA node, max ID 1, parsed 1");
    fixture_put(&f, "1,4-9\n", "sys/devices/system/node/has_generic_initiator");
    put_node(&f, 2, 1);
    assert_int_equal(read_numa(&f, false, &i, &err), -EINVAL);
    assert_string_equal(err.text, "unexpected number of NUMA node, max ID 2, parsed 2");
    fixture_put(&f, "Node 2 MemTotal: x kB\n", "sys/bus/node/devices/node2/meminfo"); /* as none */
    assert_int_equal(read_numa(&f, false, &i, &err), 0);
    assert_int_equal(i->n, 1);
    numa_info_unref(i);
    fixture_fini(&f);
}

/* ---- this machine ---------------------------------------------------------------------------- */

static struct host *this_machine(void)
{
    struct host_roots roots = host_roots_default("hostMode");
    struct host *h = NULL;
    struct kerr err = { 0 };

    roots.cgroup = "/sys"; /* not looked at here */
    if (host_new(&roots, &h, &err) < 0)
        fail_msg("%s", err.text);
    return h;
}

#ifdef HAVE_HWLOC
static int logical_above(hwloc_topology_t t, hwloc_obj_t pu, hwloc_obj_type_t type)
{
    hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(t, type, pu);
    return above ? (int)above->logical_index : 0;
}

/* Two CPUs share a core, socket, node or cache here exactly when they do there. */
static void test_against_hwloc(void **state)
{
    CLEANUP(host_free) struct host *h = this_machine();
    CLEANUP(cpu_info_unref) struct cpu_info *c = NULL;
    struct kerr err = { 0 };
    hwloc_topology_t t;

    (void)state;
    assert_int_equal(cpu_info_read(h, &c, &err), 0);
    assert_int_equal(hwloc_topology_init(&t), 0);
    assert_int_equal(hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED), 0);
    assert_int_equal(hwloc_topology_load(t), 0);
    assert_int_equal(c->n, hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU));
    assert_int_equal(c->ncores, hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE));
    assert_int_equal(c->nsockets, hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE));
    for (uint32_t i = 0; i < c->n; i++) {
        for (uint32_t k = 0; k < c->n; k++) {
            const struct cpu_place *x = &c->cpus[i], *y = &c->cpus[k];
            hwloc_obj_t a = hwloc_get_pu_obj_by_os_index(t, (unsigned)x->cpu);
            hwloc_obj_t b = hwloc_get_pu_obj_by_os_index(t, (unsigned)y->cpu);
            assert_non_null(a);
            assert_non_null(b);
            assert_int_equal(x->core == y->core, logical_above(t, a, HWLOC_OBJ_CORE) ==
                                                     logical_above(t, b, HWLOC_OBJ_CORE));
            assert_int_equal(x->socket == y->socket, logical_above(t, a, HWLOC_OBJ_PACKAGE) ==
                                                         logical_above(t, b, HWLOC_OBJ_PACKAGE));
            assert_int_equal(x->l3 == y->l3, logical_above(t, a, HWLOC_OBJ_L3CACHE) ==
                                                 logical_above(t, b, HWLOC_OBJ_L3CACHE));
            assert_int_equal(x->l1l2 == y->l1l2, logical_above(t, a, HWLOC_OBJ_L1CACHE) ==
                                                     logical_above(t, b, HWLOC_OBJ_L1CACHE));
            assert_int_equal(x->node == y->node, hwloc_bitmap_isequal(a->nodeset, b->nodeset) != 0);
        }
    }
    CLEANUP(numa_info_unref) struct numa_info *numa = NULL;
    if (numa_info_read(h, false, &numa, &err) == 0)
        assert_int_equal(numa->n, hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE));
    hwloc_topology_destroy(t);
}
#else
static void test_against_hwloc(void **state)
{
    (void)state;
    skip();
}
#endif

/* The very numbers upstream takes; where lscpu is not installed, nothing to compare with. */
static void test_against_lscpu(void **state)
{
    CLEANUP(host_free) struct host *h = this_machine();
    CLEANUP(cpu_info_unref) struct cpu_info *c = NULL;
    struct kerr err = { 0 };
    char line[256];
    uint32_t rows = 0;

    (void)state;
    FILE *in = popen("LC_ALL=C lscpu -e=CPU,NODE,SOCKET,CORE,CACHE,ONLINE 2>/dev/null", "r");
    assert_non_null(in);
    if (!fgets(line, sizeof line, in)) {
        pclose(in);
        skip();
    }
    assert_int_equal(cpu_info_read(h, &c, &err), 0);
    while (fgets(line, sizeof line, in)) {
        int cpu, node, socket, core, l1 = 0, l1i, l2, l3 = 0;
        char cache[64];
        if (sscanf(line, "%d %d %d %d %63s", &cpu, &node, &socket, &core, cache) != 5)
            continue; /* offline */
        if (sscanf(cache, "%d:%d:%d:%d", &l1, &l1i, &l2, &l3) < 4)
            l3 = 0;
        assert_place(c, cpu, core, socket, node, l3);
        assert_int_equal(cpu_info_find(c, cpu)->l1l2, l1);
        rows++;
    }
    pclose(in);
    assert_int_equal(rows, c->n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sockets_four_nodes),
        cmocka_unit_test(test_offline_cpus),
        cmocka_unit_test(test_several_l3_a_socket),
        cmocka_unit_test(test_arm_without_cache_ids),
        cmocka_unit_test(test_no_caches_at_all),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_numa_nodes),
        cmocka_unit_test(test_numa_gaps_and_initiators),
        cmocka_unit_test(test_against_hwloc),
        cmocka_unit_test(test_against_lscpu),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
