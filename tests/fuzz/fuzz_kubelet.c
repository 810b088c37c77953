/* fuzz_kubelet.c - what the kubelet says of itself: /configz and cpu_manager_state.
 *
 * Input that begins with 'c' is the former, all other the latter. A refusal says why. A
 * configuration has a value in every field that needs one; CPUs it reserves are CPUs of the node.
 * Allocations read back are sorted, and together they are the CPUs that are taken.
 */
#include "api/protocol/cpu.h"
#include "koordlet/report/topology_int.h"
#include "koordlet/states/states_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cpu_place places[8];
static const struct cpu_info cpus = {
    .refs = 1, .cpus = places, .n = ARRAY_LEN(places), .ncores = 4, .nnodes = 2, .nsockets = 2
};

static void make_places(void)
{
    for (int i = 0; i < (int)ARRAY_LEN(places); i++)
        places[i] = (struct cpu_place){
            .cpu = i, .core = i / 2, .socket = i / 4, .node = i / 4, .l3 = i / 4, .online = true
        };
}

static void check_configz(const char *p, size_t n)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kubelet_config k = { 0 };
    struct cpuset reserved, all = cpu_info_set(&cpus);
    struct kerr err = { 0 };

    if (configz_decode(p, n, a, &k, &err) < 0) {
        assert(err.code < 0 && err.text[0]);
        return;
    }
    assert(k.cpu_manager_policy[0] && k.topology_policy[0] && k.topology_scope[0]);
    assert(k.eviction_hard.n > 0 && kubelet_topology_policy(&k)[0]);
    if (kubelet_reserved_cpus(&k, &cpus, &reserved, &err) < 0)
        assert(err.code < 0 && err.text[0]);
    else
        assert(!cpuset_is_empty(&reserved) && cpuset_subset(&reserved, &all));
}

static void check_state(const char *p, size_t n)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct topology_in in = { .cpu = &cpus, .cpu_manager_state = { p, n } };
    struct cpuset taken = { 0 }, sum = { 0 }, one;
    struct pod_cpu_allocs allocs = { 0 };
    struct kerr err = { 0 };

    if (kubelet_allocs(&in, a, &out, &taken, &err) < 0) {
        assert(err.code < 0 && err.text[0] && out.len == 0 && cpuset_is_empty(&taken));
        return;
    }
    assert((out.len == 0) == cpuset_is_empty(&taken));
    if (out.len == 0)
        return;
    int r = pod_cpu_allocs_decode(out.data, a, &allocs, &err);
    assert(r == 0 && allocs.v.n > 0);
    for (uint32_t i = 0; i < allocs.v.n; i++) {
        const struct pod_cpu_alloc *x = &allocs.v.items[i];

        r = cpuset_parse(x->cpuset, strlen(x->cpuset), &one, &err);
        assert(r == 0 && x->managed_by_kubelet);
        assert(i == 0 || strcmp(allocs.v.items[i - 1].uid, x->uid) <= 0);
        sum = cpuset_union(&sum, &one);
    }
    assert(cpuset_equal(&sum, &taken));
    (void)r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_places();
    if (size > 0 && data[0] == 'c')
        check_configz((const char *)data + 1, size - 1);
    else
        check_state((const char *)data, size);
    return 0;
}
