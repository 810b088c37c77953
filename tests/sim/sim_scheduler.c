/* sim_scheduler.c - whole runs of the scheduler with faults, from a seed: 20 nodes, 100 pods, ten
 * minutes; everything that can break does, and so does the scheduler.
 *
 *     sim_scheduler [FIRST [COUNT]]      runs these seeds; 1000 from 1, 10000 with KOORD_TEST_FULL
 */
#include "sim_scheduler.h"
#include "base/test/asserts.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "json/kj.h"

/* A pod that was rejected is tried again after five minutes at the latest: so long it takes
 * until all has been said that there is to say. */
#define TROUBLE (200 * NSEC_PER_SEC)
#define QUIET   (370 * NSEC_PER_SEC)

const char *const sim_scheduler_names[] = { "koord-scheduler", "second", NULL };

int sim_below(struct sim *s, int n)
{
    return (int)loop_rand_below(s->loop, (uint64_t)n);
}

bool sim_chance(struct sim *s, int percent)
{
    return sim_below(s, 100) < percent;
}

void sim_fail(const struct sim *s, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    print_error("seed %llu, step %d, %.3f s: %s\n", (unsigned long long)s->seed, s->step,
                (double)loop_mono(s->loop) / NSEC_PER_SEC, text);
    fail();
    abort(); /* fail() does not return, but does not say so */
}

int sim_node_of(const struct sim *s, const char *name)
{
    int k = *name == 'n' ? atoi(name + 1) : SIM_NODES;
    if (k >= SIM_NODES)
        sim_fail(s, "there is no node '%s'", name);
    return k;
}

struct sim_pod *sim_pod_of(struct sim *s, struct kuid uid)
{
    for (int i = 0; i < s->npods; i++)
        if (s->pods[i].alive && kuid_equal(s->pods[i].uid, uid))
            return &s->pods[i];
    return NULL;
}

/* ---- schedulers ------------------------------------------------------------------------------ */

static void set_faults(const struct sim *s, const struct sim_scheduler *of)
{
    http_fault_set(of->faulty, &(struct http_faults){
                                   .refuse = s->faults,
                                   .lose_answer = 2 * s->faults,
                                   .reset = s->faults,
                                   .status_500 = s->faults,
                                   .status_503 = s->faults / 2,
                                   .status_429 = s->faults / 2,
                                   .slow = s->faults * 2,
                                   .slow_max = 3 * NSEC_PER_SEC,
                               });
}

/* Knows everything from now on, and decides when it is told to. */
static struct sim_scheduler *watch_scheduler(struct sim *s)
{
    struct sim_scheduler *n = xnew0(struct sim_scheduler);
    struct kerr err = { 0 };

    n->sim = s;
    n->number = (int)s->schedulers.n;
    n->born = s->binds;
    (void)snprintf(n->agent, sizeof n->agent, "scheduler-%d", n->number);
    n->http = fake_client_as(s->fake, n->agent);
    n->faulty = http_fault_new(s->loop, n->http, &(struct http_faults){ 0 });
    n->kube = kube_http_over(s->loop, s->strings, n->faulty);
    vec_push(&s->schedulers, n);
    set_faults(s, n);
    n->s = scheduler_new(s->loop, n->kube,
                         &(struct scheduler_opts){ .plugins = plugins_for(n),
                                                   .scheduler_names = sim_scheduler_names,
                                                   .verify_reuse = true },
                         &err);
    if (!n->s)
        sim_fail(s, "%s", err.text);
    scheduler_watch(n->s);
    return n;
}

static void lead(struct sim_scheduler *n)
{
    n->leads = true;
    scheduler_lead(n->s);
}

static void start_scheduler(struct sim *s)
{
    lead(watch_scheduler(s));
}

static void stop_scheduler(struct sim_scheduler *n)
{
    if (!n->s)
        return;
    n->s = scheduler_free(n->s);
    n->ended = loop_mono(n->sim->loop);
    kube_free(n->kube);
    http_free(n->faulty);
    http_free(n->http);
    vec_clear(&n->sim->owed); /* it may have died before it said for whom it made room */
}

/* The old one goes and the new one comes, in whatever order; what was sent may still arrive. */
static void change_leader(struct sim *s)
{
    struct sim_scheduler *old = vec_last(&s->schedulers);

    s->n.leaders++;
    if (sim_chance(s, 50)) { /* in the middle of bindings */
        fake_slow(s->fake, sim_below(s, 3000) * NSEC_PER_MSEC);
        churn_new_pods(s);
        loop_advance(s->loop, sim_below(s, 100) * NSEC_PER_MSEC);
    }
    if (sim_chance(s, 40)) {
        stop_scheduler(old);
        loop_advance(s->loop, sim_below(s, 2) * sim_below(s, 5000) * NSEC_PER_MSEC);
        start_scheduler(s);
    } else if (sim_chance(s, 50)) { /* it stood by */
        struct sim_scheduler *next = watch_scheduler(s);
        loop_advance(s->loop, sim_below(s, 5000) * NSEC_PER_MSEC);
        stop_scheduler(old);
        lead(next);
    } else { /* for a while both lead, and each hears what the other writes */
        start_scheduler(s);
        old->overlapped = vec_last(&s->schedulers)->overlapped = true;
        loop_advance(s->loop, sim_below(s, 5000) * NSEC_PER_MSEC);
        stop_scheduler(old);
    }
    fake_slow(s->fake, 0);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void disturb(struct sim *s)
{
    switch (sim_below(s, 7)) {
    case 0:
    case 1: fake_end_watches(s->fake); break;
    case 2: fake_break_connections(s->fake); break;
    case 3: fake_compact(s->fake); break;
    case 4: fake_slow(s->fake, sim_chance(s, 60) ? 0 : sim_below(s, 400) * NSEC_PER_MSEC); break;
    case 5:
        fake_answer_next(s->fake, 1 + sim_below(s, 5), sim_chance(s, 50) ? 500 : 409, -1);
        break;
    case 6: fake_replay_on_watch(s->fake, (unsigned)sim_below(s, 10)); break;
    }
}

static void step(struct sim *s)
{
    int dice = sim_below(s, 100);

    if (dice < 45)
        churn_new_pods(s);
    else if (dice < 55)
        churn_end_pod(s);
    else if (dice < 63)
        churn_change_pod(s);
    else if (dice < 75)
        churn_change_node(s);
    else if (dice < 80)
        churn_delete_node(s);
    else if (dice < 90)
        disturb(s);
    else if (dice < 93)
        loop_set_wall(s->loop, loop_wall(s->loop) + (sim_below(s, 7200) - 3600) * NSEC_PER_SEC);
    else if (dice < 95)
        change_leader(s);
    if (sim_chance(s, 10))
        clerk_unstamp(s);
    for (int n = s->parts & SIM_GAUGE ? sim_below(s, 4) : 0; n > 0; n--)
        gauge_report(s);
    for (int n = s->parts & SIM_LOAD ? sim_below(s, 6) : 0; n > 0; n--)
        load_report(s);
    if (s->parts & SIM_NUMA && sim_chance(s, 30))
        numa_change_topology(s);
    if (s->parts & SIM_QUOTA && sim_chance(s, 30))
        quota_change(s);
    loop_advance(s->loop, sim_below(s, 5000) * NSEC_PER_MSEC);
    judge_step(s);
}

static void calm(struct sim *s)
{
    s->faults = 0;
    s->chaos = false;
    if (s->parts & SIM_GAUGE)
        gauge_calm(s);
    if (s->parts & SIM_LOAD)
        load_calm(s);
    if (s->parts & SIM_QUOTA)
        quota_calm(s);
    set_faults(s, vec_last(&s->schedulers));
    fake_slow(s->fake, 0);
    fake_answer_next(s->fake, 0, 0, -1);
    fake_replay_on_watch(s->fake, 0);
    loop_advance(s->loop, 30 * NSEC_PER_SEC);
    judge_holds(s, vec_last(&s->schedulers));
    plugins_calm(vec_last(&s->schedulers));
    loop_advance(s->loop, QUIET);
}

static void sim_start(struct sim *s, uint64_t seed)
{
    hash_set_key(seed, 1); /* it decides the order of maps */
    klog_set_sink(client_fixture_quiet, NULL);
    s->seed = seed;
    s->loop = loop_new_virtual(WALL0, seed);
    s->strings = intern_new();
    s->fake = fake_new(s->loop);
    fake_late(s->fake, true);
    fake_graceful(s->fake, true);
    fake_on_write(s->fake, judge_wrote, s);
    s->faults = (unsigned)sim_below(s, 4) * 8;
    s->chaos = sim_chance(s, 70);
    s->crowded = sim_chance(s, 25);
    for (int i = 0; i < SIM_ALL_PARTS; i++)
        s->parts |= (unsigned)sim_chance(s, 60) << i;
    /* Placeholders of Reserve are not on the server, and Pair makes room without asking quotas. */
    if (s->parts & SIM_QUOTA)
        s->parts &= ~(unsigned)(sim_chance(s, 60) ? SIM_RESERVE | SIM_PAIR : SIM_QUOTA);
    s->placeholder = rows_placeholder(s);
    churn_new_nodes(s);
    clerk_new_budgets(s);
    if (s->parts & SIM_NUMA)
        numa_new_topologies(s);
    if (s->parts & SIM_QUOTA)
        quota_new(s);
    start_scheduler(s);
}

/* What services know can be had from the server alone. */
static void judge_restart(struct sim *s)
{
    struct sim_scheduler *n = watch_scheduler(s);

    loop_advance(s->loop, 30 * NSEC_PER_SEC);
    if (s->parts & SIM_QUOTA)
        quota_judge_end(n);
    if (!(s->parts & SIM_CENSUS))
        return;
    census_judge(n);
    census_judge_end(n);
}

static void sim_stop(struct sim *s)
{
    vec_foreach(&s->schedulers, i) {
        stop_scheduler(s->schedulers.items[i]);
        holds_free(s->schedulers.items[i]);
        vec_fini(&s->schedulers.items[i]->census);
        vec_fini(&s->schedulers.items[i]->named);
        vec_fini(&s->schedulers.items[i]->let_in);
        vec_fini(&s->schedulers.items[i]->pairs);
        free(s->schedulers.items[i]);
    }
    vec_fini(&s->schedulers);
    vec_fini(&s->owed);
    for (int i = 0; i < s->npods; i++)
        timer_cancel(s->pods[i].end);
    for (int k = 0; k < SIM_NODES; k++) {
        vec_fini(&s->nodes[k].versions);
        vec_fini(&s->nodes[k].topologies);
    }
    kobj_unref(s->placeholder);
    fake_free(s->fake);
    intern_free(s->strings);
    loop_free(s->loop);
}

static struct sim_counts total;
static struct sim *running; /* for the one who reads of an abort */

/* The sum of all that happened. */
static uint64_t run(uint64_t seed)
{
    CLEANUP(mem_free) struct sim *s = xnew0(struct sim);
    uint64_t sum = 0;

    running = s;
    sim_start(s, seed);
    while (loop_mono(s->loop) < TROUBLE) {
        s->step++;
        step(s);
    }
    calm(s);
    judge_end(s);
    if (s->parts & SIM_QUOTA)
        quota_judge_end(vec_last(&s->schedulers));
    judge_restart(s);
    if (s->parts & SIM_LOAD)
        load_judge_end(s);
    for (int i = 0; i < s->npods; i++)
        sum = sum * 31 + (uint64_t)(s->pods[i].node + 2 + 100 * s->pods[i].alive);
    sum ^= fake_revision(s->fake) << 32 ^ fake_stats(s->fake).requests;
    total.bound += s->n.bound;
    total.evicted += s->n.evicted;
    total.undone += s->n.undone;
    total.late += s->n.late;
    total.refused += s->n.refused;
    total.waited += s->n.waited;
    total.pending += s->n.pending;
    total.leaders += s->n.leaders;
    total.kept_out += s->n.kept_out;
    total.fetched += s->n.fetched;
    total.stamped += s->n.stamped;
    total.annotated += s->n.annotated;
    total.labelled += s->n.labelled;
    total.unstamped += s->n.unstamped;
    total.reserved += s->n.reserved;
    total.overlaid += s->n.overlaid;
    total.found += s->n.found;
    total.outcomes += s->n.outcomes;
    total.pairs += s->n.pairs;
    total.filled += s->n.filled;
    total.counted += s->n.counted;
    total.judged += s->n.judged;
    total.pinned += s->n.pinned;
    total.quotas_judged += s->n.quotas_judged;
    total.quotas_admitted += s->n.quotas_admitted;
    total.quotas_gone += s->n.quotas_gone;
    total.aligned += s->n.aligned;
    total.amplified += s->n.amplified;
    total.reserved_cpus += s->n.reserved_cpus;
    sim_stop(s);
    running = NULL;
    return sum;
}

static uint64_t first = 1, count = 1000;

static void test_invariants_hold_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++)
        run(seed);
    print_message(
        "%llu runs: %llu pods bound (%llu of them after their scheduler was gone), %llu "
        "bindings refused, %llu undone, %llu waits for a permit, %llu evicted, %llu "
        "leaders, %llu pods without room, %llu kept out and %llu of these fetched, "
        "%llu writes of a controller, %llu attempts in vain before, %llu annotated and "
        "%llu patched, %llu attempts on "
        "changed rows, %llu with the one row, %llu told that no node was found, %llu "
        "plans for two pods, %llu times row data filled and %llu counted, %llu "
        "reservations bound, %llu times load judged, %llu pods with CPUs of their own (%llu beside "
        "reserved ones), %llu with parts of NUMA nodes, %llu on amplified nodes, %llu times quotas "
        "judged "
        "with %llu pods let in\n",
        (unsigned long long)count, (unsigned long long)total.bound, (unsigned long long)total.late,
        (unsigned long long)total.refused, (unsigned long long)total.undone,
        (unsigned long long)total.waited, (unsigned long long)total.evicted,
        (unsigned long long)total.leaders, (unsigned long long)total.pending,
        (unsigned long long)total.kept_out, (unsigned long long)total.fetched,
        (unsigned long long)total.stamped, (unsigned long long)total.unstamped,
        (unsigned long long)total.annotated, (unsigned long long)total.labelled,
        (unsigned long long)total.overlaid, (unsigned long long)total.found,
        (unsigned long long)total.outcomes, (unsigned long long)total.pairs,
        (unsigned long long)total.filled, (unsigned long long)total.counted,
        (unsigned long long)total.reserved, (unsigned long long)total.judged,
        (unsigned long long)total.pinned, (unsigned long long)total.reserved_cpus,
        (unsigned long long)total.aligned, (unsigned long long)total.amplified,
        (unsigned long long)total.quotas_judged, (unsigned long long)total.quotas_admitted);
    if (count < 100)
        return;
    /* The runs are worth something only if all of it happened. */
    assert_true(total.late && total.refused && total.undone && total.waited && total.evicted);
    assert_true(total.leaders && total.pending && total.kept_out && total.fetched && total.stamped);
    assert_true(total.annotated && total.labelled && total.overlaid && total.found);
    assert_true(total.unstamped && total.outcomes && total.pairs && total.reserved);
    assert_true(total.filled && total.counted && total.judged && total.pinned);
    assert_true(total.quotas_judged && total.quotas_admitted && total.quotas_gone);
    assert_true(total.reserved_cpus && total.aligned && total.amplified);
}

static void test_a_seed_gives_the_same_run_again(void **state)
{
    (void)state;
    assert_that(run(7), ==, run(7));
}

static void on_abort(int signum)
{
    char text[64];
    int n = running ? snprintf(text, sizeof text, "seed %llu, step %d\n",
                               (unsigned long long)running->seed, running->step)
                    : 0;
    (void)signum;
    (void)!write(STDERR_FILENO, text, (size_t)n);
}

static int run_group(bool all)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invariants_hold_under_faults),
        cmocka_unit_test(test_a_seed_gives_the_same_run_again),
    };

    if (!all)
        cmocka_set_test_filter("test_invariants*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Many runs are shared among processes; a run needs nothing of another. */
static int share_out(int n)
{
    uint64_t all = count, start = first;
    int failed = 0, status;

    (void)fflush(stdout);
    for (int i = 0; i < n; i++) {
        first = start + all * (uint64_t)i / (uint64_t)n;
        count = start + all * (uint64_t)(i + 1) / (uint64_t)n - first;
        pid_t pid = fork();
        if (pid == 0)
            exit(run_group(i == 0));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed;
}

int main(int argc, char **argv)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    count = getenv("KOORD_TEST_FULL") ? 10000 : count;
    first = argc > 1 ? strtoull(argv[1], NULL, 10) : first;
    count = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : count;
    (void)signal(SIGABRT, on_abort);
    if (count < 200 || cpus < 2)
        return run_group(argc < 2);
    return share_out((int)MIN(cpus, 8));
}
