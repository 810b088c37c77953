/* test_forest_model.c - random quotas and pods; after each step the forest equals a slow model that
 * computes everything from the objects, and a forest that was built from them just now.
 *
 * test_quota_forest_model [FIRST COUNT]: seeds.
 */
#include "quota_fixture.h"

#include "quota/fairshare.h"

enum { QUOTAS = 14, PODS = 40, STEPS = 120, ROOT = -1 };

struct model_quota {
    bool there, lends;
    int parent; /* ROOT, or a smaller number: no loops */
    int max, min, weight;
    bool has_memory; /* memory in max; cpu always is */
};
struct model_pod {
    bool there, assigned, preemptible;
    int quota; /* by label; may not be there */
    int cpu, memory;
};
struct model {
    struct model_quota q[QUOTAS];
    struct model_pod p[PODS];
    int total;
    bool scale, guarantee;
};

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static const char *name_of(struct quota_fixture *x, int i)
{
    return arena_printf(x->arena, "q%02d", i);
}

/* ---- the slow model, of memory --------------------------------------------------------------- */

static bool attached(const struct model *m, int i)
{
    for (; i != ROOT; i = m->q[i].parent)
        if (!m->q[i].there)
            return false;
    return true;
}

static int64_t model_used(const struct model *m, int i)
{
    int64_t sum = 0;

    for (int k = 0; k < PODS; k++)
        if (m->p[k].there && m->p[k].assigned && m->p[k].quota == i && m->q[i].has_memory)
            sum += m->p[k].memory;
    for (int k = 0; k < QUOTAS; k++)
        if (m->q[k].there && m->q[k].parent == i)
            sum += model_used(m, k);
    return sum;
}

static int64_t model_request(const struct model *m, int i)
{
    int64_t sum = 0;

    for (int k = 0; k < PODS; k++)
        if (m->p[k].there && m->p[k].quota == i && m->q[i].has_memory)
            sum += m->p[k].memory;
    for (int k = 0; k < QUOTAS; k++) {
        if (!m->q[k].there || m->q[k].parent != i)
            continue;
        int64_t r = model_request(m, k);
        sum += m->q[k].has_memory ? MIN(r, m->q[k].max) : r;
    }
    return m->q[i].lends || m->guarantee ? MAX(sum, m->guarantee ? m->q[i].min : 0)
                                         : MAX(sum, m->q[i].min);
}

static int64_t model_guaranteed(const struct model *m, int i)
{
    int64_t sum = 0;

    for (int k = 0; k < PODS; k++)
        if (m->p[k].there && m->p[k].assigned && m->p[k].quota == i && m->q[i].has_memory)
            sum += m->p[k].memory;
    for (int k = 0; k < QUOTAS; k++)
        if (m->q[k].there && m->q[k].parent == i)
            sum += model_guaranteed(m, k);
    return MAX(sum, m->q[i].min);
}

/* Memory is shared at the top when any quota has it, below when the parent has it. */
static bool model_shares(const struct model *m, int parent)
{
    if (parent != ROOT)
        return m->q[parent].has_memory;
    for (int k = 0; k < QUOTAS; k++)
        if (m->q[k].there && m->q[k].has_memory && attached(m, k))
            return true;
    return false;
}

static int64_t default_use(const struct model *m)
{
    int64_t sum = 0;

    for (int k = 0; k < PODS; k++)
        if (m->p[k].there && m->p[k].assigned && !m->q[m->p[k].quota].there)
            sum += m->p[k].memory;
    return sum;
}

/* -1: it has none. */
static int64_t model_runtime(const struct model *m, int i)
{
    struct share_scratch scratch = { 0 };
    struct share_member all[QUOTAS];
    int parent = m->q[i].parent, at = 0;
    uint32_t n = 0;
    int64_t sum = 0;

    if (!model_shares(m, parent) || !attached(m, i))
        return -1;
    int64_t above = parent == ROOT ? m->total - default_use(m) : model_runtime(m, parent);
    bool known = parent == ROOT ? m->total > 0 : above >= 0;
    int64_t total = parent == ROOT || known ? above : 0;
    for (int k = 0; k < QUOTAS; k++)
        if (m->q[k].there && m->q[k].parent == parent)
            sum += m->q[k].min;
    for (int k = 0; k < QUOTAS; k++) {
        const struct model_quota *q = &m->q[k];
        if (!q->there || q->parent != parent)
            continue;
        int64_t r = model_request(m, k), floor = q->min;
        if (m->scale && known && total < sum)
            floor = share_scale(q->min, total, sum);
        if (m->guarantee)
            floor = MAX(floor, model_guaranteed(m, k));
        if (k == i)
            at = (int)n;
        all[n++] = (struct share_member){ .request = q->has_memory ? MIN(r, q->max) : r,
                                          .floor = floor,
                                          .weight = q->weight       ? q->weight
                                                    : q->has_memory ? q->max
                                                                    : 0,
                                          .lends = q->lends && !m->guarantee };
    }
    share_split(all, n, total, &scratch, NULL);
    share_scratch_fini(&scratch);
    return all[at].runtime;
}

/* ---- both are told the same ------------------------------------------------------------------ */

static void tell_quota(struct quota_fixture *x, const struct model *m, int i)
{
    const struct model_quota *q = &m->q[i];
    struct kerr err = { 0 };
    const char *parent = q->parent == ROOT ? QUOTA_ROOT_NAME : name_of(x, q->parent);
    const char *labels = arena_printf(x->arena, "'parent':'%s','allow-lent-resource':'%s'", parent,
                                      q->lends ? "true" : "false");
    const char *weight =
        q->weight
            ? arena_printf(x->arena, "'shared-weight':'{\\u0022memory\\u0022:\\u0022%d\\u0022}'",
                           q->weight)
            : "";
    const char *max =
        q->has_memory ? arena_printf(x->arena, "'cpu':'9','memory':'%d'", q->max) : "'cpu':'9'";

    put_quota(x, name_of(x, i), labels, weight, max,
              arena_printf(x->arena, "'memory':'%d'", q->min), &err);
}

static void tell_pod(struct quota_fixture *x, const struct model *m, int i)
{
    const struct model_pod *p = &m->p[i];
    CLEANUP(kobj_unref)
    struct kobj *o = pod_object(x, (unsigned)i + 1, "work", name_of(x, p->quota), p->cpu, p->memory,
                                p->preemptible);

    forest_put_pod(x->forest, pod_of(o), p->assigned);
}

static void begin(struct quota_fixture *x, const struct model *m)
{
    struct qty much = qty_from_i64(INT64_C(1) << 40, QTY_DECIMAL_SI);
    struct resqty items[] = { { "cpu", much }, { "memory", much } };

    fixture_begin(x, (struct quota_options){ .scale_min = m->scale, .guarantee = m->guarantee });
    forest_set_special(x->forest, QUOTA_DEFAULT_NAME, &(reslist){ .items = items, .n = 2 });
}

static void rebuild(struct quota_fixture *x, const struct model *m)
{
    begin(x, m);
    for (int i = PODS; i-- > 0;)
        if (m->p[i].there)
            tell_pod(x, m, i);
    for (int i = QUOTAS; i-- > 0;)
        if (m->q[i].there)
            tell_quota(x, m, i);
    if (m->total)
        add_total(x, m->total);
}

static void compare(struct quota_fixture *x, const struct model *m, uint64_t seed, int step)
{
    struct quota_fixture fresh;

    rebuild(&fresh, m);
    int c = quota_columns_find(forest_columns(x->forest), "memory");
    for (int i = 0; i < QUOTAS && c >= 0; i++) {
        struct quota *q = forest_find(x->forest, name_of(x, i));
        assert_int_equal(q != NULL, m->q[i].there);
        if (!q)
            continue;
        uint64_t keys;
        int64_t runtime = quota_at(quota_values(x->forest, q, QUOTA_RUNTIME, &keys), (uint64_t)c);
        int64_t want[] = { model_used(m, i), model_request(m, i), model_runtime(m, i) };
        int64_t got[] = { amount(x, name_of(x, i), QUOTA_USED),
                          amount(x, name_of(x, i), QUOTA_REQUEST), keys >> c & 1 ? runtime : -1 };
        assert_int_equal(attached(m, i), !quota_waits_for_parent(q));
        for (int k = 0; k < 3 && attached(m, i); k++)
            if (want[k] != got[k])
                fail_msg("seed %lu step %d quota %d value %d: %ld, not %ld", seed, step, i, k,
                         got[k], want[k]);
        for (int f = 0; f < QUOTA_FIELDS; f++)
            if (amount(x, name_of(x, i), (enum quota_field)f) !=
                amount(&fresh, name_of(&fresh, i), (enum quota_field)f))
                fail_msg("seed %lu step %d quota %d field %d: history counts", seed, step, i, f);
    }
    fixture_end(&fresh);
}

static void step_quota(struct quota_fixture *x, struct model *m, uint64_t *s)
{
    int i = (int)draw(s, QUOTAS);
    struct model_quota *q = &m->q[i];

    if (q->there && draw(s, 4) == 0) {
        q->there = false;
        forest_remove(x->forest, name_of(x, i));
        return;
    }
    *q = (struct model_quota){ .there = true,
                               .lends = draw(s, 3) > 0,
                               .parent = i && draw(s, 3) ? (int)draw(s, (uint64_t)i) : ROOT,
                               .max = (int)draw(s, 100),
                               .min = (int)draw(s, 60),
                               .weight = draw(s, 2) ? (int)draw(s, 50) : 0,
                               .has_memory = draw(s, 8) > 0 };
    /* A new parent that is not there would leave the last good state: that remembers the past. */
    if (!attached(m, i))
        q->parent = ROOT;
    tell_quota(x, m, i);
}

static void step_pod(struct quota_fixture *x, struct model *m, uint64_t *s)
{
    int i = (int)draw(s, PODS);
    struct model_pod *p = &m->p[i];

    if (p->there && draw(s, 3) == 0) {
        p->there = false;
        forest_remove_pod(x->forest, pod_uid((unsigned)i + 1));
    } else if (p->there && draw(s, 2)) {
        p->assigned = !p->assigned;
        forest_assign_pod(x->forest, pod_uid((unsigned)i + 1), p->assigned);
    } else {
        *p = (struct model_pod){ .there = true,
                                 .assigned = draw(s, 2),
                                 .preemptible = draw(s, 3) > 0,
                                 .quota = (int)draw(s, QUOTAS),
                                 .cpu = (int)draw(s, 5),
                                 .memory = (int)draw(s, 30) };
        tell_pod(x, m, i);
    }
}

static void run_seed(uint64_t seed)
{
    struct model m = { .scale = seed & 1, .guarantee = (seed & 6) == 6 };
    struct quota_fixture x;
    uint64_t s = seed * 77 + 1;

    begin(&x, &m);
    for (int i = 0; i < STEPS; i++) {
        uint64_t what = draw(&s, 10);
        if (what == 0) {
            m.total += (int)draw(&s, 50);
            fixture_end(&x);
            rebuild(&x, &m); /* and a restart */
        } else if (what < 4) {
            step_quota(&x, &m, &s);
        } else {
            step_pod(&x, &m, &s);
        }
        compare(&x, &m, seed, i);
    }
    fixture_end(&x);
}

static uint64_t first = 1, count = 20;

static void test_random_runs(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < count; i++)
        run_seed(first + i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_runs) };

    if (argc > 2) {
        first = strtoull(argv[1], NULL, 10);
        count = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
