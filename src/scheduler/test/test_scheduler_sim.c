/* test_scheduler_sim.c - whole runs with faults, from a seed: 20 nodes, 100 pods, everything that
 * can break does. What must hold at every step is judged by what the server holds, not by us:
 * no node over its allocatable, no pod bound twice; and in the end no pod forgotten.
 *
 *     test_scheduler_sim [FIRST [COUNT]]      runs these seeds
 */
#include "base/map.h"
#include "bed.h"

enum { NNODES = 20, NPODS = 100, STEPS = 200 };

struct sim_pod {
    char name[16], node[16]; /* node: where the server has it, "" while nowhere */
    int mcpu, mib;
    bool alive;
};
struct sim_node {
    char name[16];
    int mcpu, mib, pods;
    bool alive, cordoned;
};
struct sim {
    struct bed b;
    struct sim_pod pods[NPODS];
    struct sim_node nodes[NNODES];
    int made;
    unsigned bound;
};

static int below(struct sim *s, int n)
{
    return (int)loop_rand_below(s->b.rig.loop, (uint64_t)n);
}

static void put_node(struct sim *s, struct sim_node *n)
{
    n->alive = true;
    bed_node(&s->b, n->name, n->mcpu, n->mib, n->pods,
             n->cordoned ? ",\"unschedulable\":true" : "");
}

/* What the server says, after every step. */
static void look(struct sim *s)
{
    int mcpu[NNODES] = { 0 }, mib[NNODES] = { 0 }, count[NNODES] = { 0 };

    for (int i = 0; i < s->made; i++) {
        struct sim_pod *p = &s->pods[i];
        const char *node = p->alive ? bed_node_of(&s->b, p->name) : "";
        if (p->alive && *p->node)
            assert_string_equal(node, p->node); /* once bound, for ever there */
        if (*node && !*p->node) {
            (void)snprintf(p->node, sizeof p->node, "%.15s", node);
            s->bound++;
        }
        for (int k = 0; k < NNODES && *node; k++) {
            bool here = streq(s->nodes[k].name, node);
            mcpu[k] += here ? p->mcpu : 0;
            mib[k] += here ? p->mib : 0;
            count[k] += here;
        }
    }
    for (int k = 0; k < NNODES; k++) {
        assert_true(mcpu[k] <= s->nodes[k].mcpu);
        assert_true(mib[k] <= s->nodes[k].mib);
        assert_true(count[k] <= s->nodes[k].pods);
    }
    bed_verify(&s->b);
}

static void new_pod(struct sim *s)
{
    if (s->made == NPODS)
        return;
    struct sim_pod *p = &s->pods[s->made];
    (void)snprintf(p->name, sizeof p->name, "p%d", s->made++);
    p->mcpu = 100 + 100 * below(s, 20);
    p->mib = 64 * (1 + below(s, 20));
    p->alive = true;
    bed_pod(&s->b, p->name, p->mcpu, p->mib, below(s, 3) ? "" : ",\"priority\":100");
}

static void delete_pod(struct sim *s)
{
    struct sim_pod *p = s->made ? &s->pods[below(s, s->made)] : NULL;
    if (!p || !p->alive)
        return;
    /* It may have been bound since we looked. */
    s->bound += !*p->node && *bed_node_of(&s->b, p->name);
    fake_delete(s->b.rig.fake, PODS, p->name);
    p->alive = false;
}

static void shake_node(struct sim *s)
{
    struct sim_node *n = &s->nodes[below(s, NNODES)];
    if (!n->alive || below(s, 3) == 0) {
        n->cordoned = below(s, 4) == 0;
        put_node(s, n);
        return;
    }
    fake_delete(s->b.rig.fake, NODES, n->name);
    n->alive = false;
}

static void set_faults(struct sim *s, unsigned permille)
{
    http_fault_set(s->b.rig.faulty, &(struct http_faults){
                                        .refuse = permille,
                                        .lose_answer = permille,
                                        .reset = permille,
                                        .status_500 = permille,
                                        .status_503 = permille,
                                        .status_429 = permille,
                                        .slow = permille * 2,
                                        .slow_max = 3 * SEC,
                                    });
}

static void step(struct sim *s)
{
    switch (below(s, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: new_pod(s); break;
    case 5: delete_pod(s); break;
    case 6:
    case 7: shake_node(s); break;
    case 8: fake_end_watches(s->b.rig.fake); break;
    case 9: fake_break_connections(s->b.rig.fake); break;
    case 10: fake_slow(s->b.rig.fake, below(s, 2) ? 0 : 200 * NSEC_PER_MSEC); break;
    case 11: fake_compact(s->b.rig.fake); break;
    }
    rig_run(&s->b.rig, (1 + below(s, 400)) * NSEC_PER_MSEC);
    look(s);
}

static bool fits_somewhere(const struct sim *s, const struct sim_pod *p)
{
    for (int k = 0; k < NNODES; k++) {
        const struct sim_node *n = &s->nodes[k];
        int mcpu = n->mcpu, mib = n->mib, pods = n->pods;
        for (int i = 0; i < s->made; i++) {
            bool here = s->pods[i].alive && streq(s->pods[i].node, n->name);
            mcpu -= here ? s->pods[i].mcpu : 0;
            mib -= here ? s->pods[i].mib : 0;
            pods -= here;
        }
        if (n->alive && !n->cordoned && p->mcpu <= mcpu && p->mib <= mib && pods > 0)
            return true;
    }
    return false;
}

static void settle(struct sim *s)
{
    size_t waiting = 0, alive = 0;

    set_faults(s, 0);
    fake_slow(s->b.rig.fake, 0);
    rig_run(&s->b.rig, 600 * SEC);
    look(s);
    for (int i = 0; i < s->made; i++) {
        const struct sim_pod *p = &s->pods[i];
        if (!p->alive)
            continue;
        alive++;
        if (*p->node)
            continue;
        waiting++;
        if (fits_somewhere(s, p))
            fail_msg("%s was forgotten", p->name);
        assert_string_equal(bed_condition(&s->b, p->name, "reason"), "Unschedulable");
    }
    struct scheduler_stats st = scheduler_stats(s->b.s);
    assert_int_equal(st.pending, waiting);
    assert_int_equal(st.pods, alive - waiting);
    assert_int_equal(st.assumed, 0);
    assert_int_equal(st.binding, 0);
    assert_int_equal(fake_stats(s->b.rig.fake).binds, s->bound);
}

/* One run; the sum of all that happened. */
static uint64_t run(uint64_t seed)
{
    CLEANUP(mem_free) struct sim *s = xnew0(struct sim);
    uint64_t sum = 0;

    hash_set_key(seed, 1);
    bed_start(&s->b, seed);
    for (int i = 0; i < NNODES; i++) {
        struct sim_node *n = &s->nodes[i];
        (void)snprintf(n->name, sizeof n->name, "n%d", i);
        n->mcpu = 1000 + 1000 * below(s, 6);
        n->mib = 1024 * (1 + below(s, 6));
        n->pods = 3 + below(s, 8);
        put_node(s, n);
    }
    set_faults(s, 15);
    for (int i = 0; i < STEPS; i++)
        step(s);
    settle(s);
    for (int i = 0; i < s->made; i++)
        sum = sum * 31 + hash_stable(s->pods[i].node, strlen(s->pods[i].node));
    sum ^= fake_revision(s->b.rig.fake) << 32 ^ scheduler_stats(s->b.s).attempts;
    bed_stop_p(&s->b);
    return sum;
}

static uint64_t first = 1, count = 12;

static void test_invariants_hold_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (count <= 2)
            print_message("seed %llu\n", (unsigned long long)seed);
        run(seed);
    }
}

static void test_a_seed_gives_the_same_run_again(void **state)
{
    (void)state;
    assert_true(run(7) == run(7));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invariants_hold_under_faults),
        cmocka_unit_test(test_a_seed_gives_the_same_run_again),
    };

    first = argc > 1 ? strtoull(argv[1], NULL, 10) : first;
    count = argc > 2 ? strtoull(argv[2], NULL, 10) : count;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
