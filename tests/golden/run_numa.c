/* run_numa.c - CPUs of a machine, and NUMA hints. */
#include "base/cpuset.h"
#include "runners.h"
#include "scheduler/framework/numa.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/nodenumaresource/holders.h"

static int cpus_of(const struct kj_val *v, struct cpuset *ret, struct kerr *err)
{
    const char *s = kj_str_or(v, "");
    return cpuset_parse(s, strlen(s), ret, err);
}

static int machine_of(const struct kj_val *list, struct arena *a, struct machine **ret,
                      struct kerr *err)
{
    size_t n = kj_len(list);
    struct cpu_topology_entry *e = arena_newn0(a, n, struct cpu_topology_entry);

    for (size_t i = 0; i < n; i++) {
        const struct kj_val *v = kj_at(list, i);
        e[i] = (struct cpu_topology_entry){
            .id = (int32_t)kj_i64_or(kj_at(v, 0), -1),
            .core = (int32_t)kj_i64_or(kj_at(v, 1), -1),
            .socket = (int32_t)kj_i64_or(kj_at(v, 2), -1),
            .node = (int32_t)kj_i64_or(kj_at(v, 3), -1),
        };
    }
    return machine_new(e, n, ret, err);
}

static int add_holders(struct holders *h, const struct machine *m, const struct kj_val *in,
                       struct kerr *err)
{
    const struct kj_val *list = kj_get(in, "allocations");
    struct cpuset cpus;

    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *v = kj_at(list, i);
        int r = cpus_of(kj_get(v, "cpuset"), &cpus, err);
        if (r < 0)
            return r;
        holders_add(h, m, &cpus,
                    cpu_exclusive_policy_parse(kj_str_or(kj_get(v, "exclusivePolicy"), "")));
    }
    int r = cpus_of(kj_get(in, "preferredCPUs"), &cpus, err);
    if (r == 0)
        holders_remove(h, m, &cpus);
    return r;
}

static int want_of(const struct kj_val *in, struct cpu_want *ret, struct kerr *err)
{
    const char *strategy = kj_str_or(kj_get(in, "numaAllocateStrategy"), "");

    *ret = (struct cpu_want){
        .request = {
            .need = (unsigned)kj_i64_or(kj_get(in, "needed"), 0),
            .bind = cpu_bind_policy_parse(kj_str_or(kj_get(in, "bindPolicy"), "")),
            .exclusive = cpu_exclusive_policy_parse(kj_str_or(kj_get(in, "exclusivePolicy"), "")),
            .strategy = streq(strategy, "MostAllocated") ? NUMA_MOST_ALLOCATED
                                                         : NUMA_LEAST_ALLOCATED,
        },
        .required = kj_bool(kj_get(in, "required"), false),
    };
    return cpus_of(kj_get(in, "preferredCPUs"), &ret->preferred, err);
}

int run_cpu_accumulator(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err)
{
    CLEANUP(machine_unref) struct machine *m = NULL;
    struct kjw w = kjw_to(got);
    struct cpuset reserved, cpus = { 0 };
    struct cpu_want want;
    struct holders h;

    int r = machine_of(kj_get(in, "cpus"), a, &m, err);
    if (r == 0)
        r = want_of(in, &want, err);
    if (r == 0)
        r = cpus_of(kj_get(in, "reservedCPUs"), &reserved, err);
    if (r < 0)
        return r;
    holders_init(&h, m, (unsigned)kj_i64_or(kj_get(in, "maxRefCount"), 1));
    r = add_holders(&h, m, in, err);
    const char *why = r < 0 ? NULL : holders_choose(&h, m, &reserved, &want, &cpus);
    holders_fini(&h);
    kjw_obj(&w, NULL);
    if (why)
        kjw_str(&w, "error", why);
    else if (!cpuset_is_empty(&cpus))
        kjw_str(&w, "cpuset", cpuset_format(&cpus, a));
    kjw_end(&w);
    return r;
}

/* ---- hints ----------------------------------------------------------------------------------- */

static uint64_t mask_of(const struct kj_val *ids)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < kj_len(ids); i++)
        mask |= UINT64_C(1) << (kj_i64_or(kj_at(ids, i), 0) & 63);
    return mask;
}

static void hints_of(const struct kj_val *v, struct arena *a, struct numa_hints *ret)
{
    const struct kj_val *list = kj_get(v, "hints");
    struct numa_hint *hints = arena_newn0(a, kj_len(list), struct numa_hint);

    *ret = (struct numa_hints){
        .resource = arena_strdup(a, kj_str_or(kj_get(v, "name"), "")),
        .hints = hints,
        .n = (uint32_t)kj_len(list),
        .any = kj_type(list) != KJ_ARR,
    };
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *h = kj_at(list, i);
        hints[i] = (struct numa_hint){
            .mask = mask_of(kj_get(h, "nodes")),
            .score = kj_i64_or(kj_get(h, "score"), 0),
            .preferred = kj_bool(kj_get(h, "preferred"), false),
            .unsatisfied = kj_bool(kj_get(h, "unsatisfied"), false),
        };
    }
}

static void lists_of(const struct kj_val *providers, struct arena *a, struct numa_question *q)
{
    struct numa_hints *lists;
    uint32_t n = 0;

    for (size_t i = 0; i < kj_len(providers); i++)
        n += (uint32_t)kj_len(kj_at(providers, i));
    lists = arena_newn0(a, n, struct numa_hints);
    for (size_t i = 0; i < kj_len(providers); i++)
        for (size_t k = 0; k < kj_len(kj_at(providers, i)); k++)
            hints_of(kj_at(kj_at(providers, i), k), a, &lists[q->nlists++]);
    q->lists = lists;
}

static void write_answer(const struct numa_answer *r, const struct ks_texts *why,
                         struct strbuf *got)
{
    struct kjw w = kjw_to(got);

    kjw_obj(&w, NULL);
    kjw_bool(&w, "admit", r->admit);
    if (r->best.mask) {
        kjw_arr(&w, "affinity");
        for (int id = 0; id < 64; id++)
            if (r->best.mask >> id & 1)
                kjw_i64(&w, NULL, id);
        kjw_end(&w);
    } else {
        kjw_null(&w, "affinity");
    }
    kjw_bool(&w, "preferred", r->best.preferred);
    kjw_bool(&w, "unsatisfied", r->best.unsatisfied);
    kjw_i64(&w, "score", r->best.score);
    kjw_arr(&w, "reasons");
    for (uint32_t i = 0; i < why->n; i++)
        kjw_str(&w, NULL, why->items[i]);
    kjw_end(&w);
    kjw_end(&w);
}

int run_numa_hints(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    const char *exclusive = kj_str_or(kj_get(in, "exclusivePolicy"), "");
    const struct kj_val *ids = kj_get(in, "numaNodes"), *states = kj_get(in, "numaNodeStatus");
    struct ks_texts why = { .arena = a };
    uint8_t status[64] = { 0 };
    struct numa_question q = {
        .policy = numa_policy_parse(kj_str_or(kj_get(in, "policy"), "")),
        .exclusive = streq(exclusive, "Required")    ? NUMA_EXCLUSIVE_REQUIRED
                     : streq(exclusive, "Preferred") ? NUMA_EXCLUSIVE_PREFERRED
                                                     : NUMA_EXCLUSIVE_NONE,
        .nodes = mask_of(ids),
        .status = status,
    };

    (void)err;
    for (size_t i = 0; i < kj_len(states); i++) {
        const char *s = kj_str_or(kj_at(states, i), "");
        status[kj_i64_or(kj_at(ids, i), (int64_t)i) & 63] = streq(s, "single")   ? NUMA_SINGLE
                                                            : streq(s, "shared") ? NUMA_SHARED
                                                                                 : NUMA_IDLE;
    }
    lists_of(kj_get(in, "providers"), a, &q);
    struct numa_answer r = numa_merge(&q, a, &why);
    write_answer(&r, &why, got);
    return 0;
}

static bool list_has(const struct kj_val *list, const struct kj_val *v)
{
    for (size_t i = 0; i < kj_len(list); i++)
        if (kj_equal(kj_at(list, i), v))
            return true;
    return false;
}

bool same_but_order_of_reasons(const struct kj_val *out, const struct kj_val *got)
{
    struct kj_iter it = kj_iter(out);
    const struct kj_val *v;
    struct str key;

    if (kj_len(out) != kj_len(got))
        return false;
    while (kj_next(&it, &key, &v)) {
        const struct kj_val *mine = kj_getn(got, key.p, key.n);
        if (!str_eqz(key, "reasons")) {
            if (!mine || !kj_equal(v, mine))
                return false;
            continue;
        }
        for (size_t i = 0; i < kj_len(v); i++)
            if (!list_has(mine, kj_at(v, i)))
                return false;
        if (kj_len(v) != kj_len(mine))
            return false;
    }
    return true;
}
