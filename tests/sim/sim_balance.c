/* sim_balance.c - do the right pods go? LowNodeLoad, the MigrationController and the memory of
 * moves in a whole cluster whose pods came to lie badly: some nodes are hot, others become so with
 * the waves of their pods. Answers are lost, refused (429 too) and slow, watches break off,
 * programs are replaced, Reservations vanish.
 *
 *     sim_balance [FIRST [COUNT]]     20 nodes for half an hour; a run is its seed. 100 runs, with
 *                                     KOORD_TEST_FULL 2000, and 10 of 200 nodes and a day, whose
 *                                     seeds begin at 1000000
 *
 * Beside what sim_moves.h says: no node that has a movable pod and a target stays above its
 * threshold for 15 minutes, or for longer than the limits of the run allow it to be relieved; no
 * more than half as many moves again as would have sufficed, and in a single run no more than that
 * or than somebody needs who follows the waves of its pods without knowing the future; no pod is
 * moved twice in an hour. sim_balance_judge.c counts.
 */
#include "sim_balance.h"
#include "base/test/asserts.h"

#include <stdio.h>
#include <sys/mman.h>

#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation.h"

#define STEP (5 * SEC)
#define LOOK (15 * SEC)
enum { DAY_SEED = 1000000 };

/* Of all runs, which are processes of their own. */
static struct totals {
    uint64_t moves, needed;
} * totals;

static const struct size short_run = { 20, 5, 10, 5, 30 * MINUTE, MINUTE };
static const struct size day_run = { 200, 40, 12, 50, DAY, 2 * MINUTE };

/* ---- the cluster ------------------------------------------------------------------------------ */

static void configure(struct fixture *w)
{
    unsigned node_limit = 2 + moves_below(&w->m, 2), tenths = 2 + moves_below(&w->m, 20);
    /* Where only small pods of a hot node may go at the time, more of them have to: so the limits
     * of workloads are wide enough for most of what is needed. */
    unsigned of_workload = 4 + moves_below(&w->m, 2), seconds = moves_below(&w->m, 3) * 30;
    unsigned interval = w->size->nodes > 100 ? 120 : 20 + 10 * moves_below(&w->m, 3);
    unsigned globally = w->size->nodes > 100 ? 40 : 9, abnormal = 1 + moves_below(&w->m, 2);
    char text[2048];

    (void)snprintf(
        text, sizeof text,
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
        "deschedulingInterval: %us\nprofiles:\n- name: sim\n  plugins:\n    balance:\n      "
        "enabled: [{name: LowNodeLoad}]\n  pluginConfig:\n  - name: LowNodeLoad\n    args:\n"
        "      lowThresholds: {cpu: 30}\n      highThresholds: {cpu: 50}\n"
        "      anomalyCondition: {timeout: 2m, consecutiveAbnormalities: %u}\n"
        "  - name: MigrationController\n    args:\n      maxMigratingPerNode: %u\n"
        "      maxMigratingGlobally: %u\n      maxMigratingPerWorkload: %u\n"
        "      maxUnavailablePerWorkload: 6\n      evictQPS: '%u.%u'\n      defaultJobTTL: 3m\n"
        "      objectLimiters: {workload: {duration: %us}}\n",
        interval, abnormal, node_limit, globally, of_workload, tenths / 10, tenths % 10, seconds);
    w->m.limits =
        (struct move_limits){ .per_node = node_limit,
                              .globally = globally,
                              .qps = tenths / 10.0,
                              .per_workload = seconds ? of_workload / (double)seconds : 0 };
    w->pace = (struct pace){ .interval = interval * SEC,
                             .anomaly = 2 * MINUTE,
                             .abnormal = abnormal,
                             .job_ttl = 3 * MINUTE };
    moves_configure(&w->m, text);
}

static void make_load(struct fixture *w, struct app *a, char *text, size_t size)
{
    struct kerr err = { 0 };
    unsigned minutes =
        w->size->time == DAY ? 360 + moves_below(&w->m, 1080) : 90 + moves_below(&w->m, 90);

    if (moves_below(&w->m, 2))
        (void)snprintf(text, size, "constant:cpu=%um,memory=200Mi,noise=0",
                       500 + moves_below(&w->m, 1300));
    else
        (void)snprintf(text, size,
                       "wave:low=%um,high=%um,period=%um,phase=%um,memory=200Mi,noise=0",
                       200 + moves_below(&w->m, 300), 900 + moves_below(&w->m, 1200), minutes,
                       moves_below(&w->m, minutes));
    if (load_parse(text, &a->load, &err) < 0)
        moves_die(&w->m, "%s: %s", text, err.text);
}

/* Every third app has a budget. */
static void create_app(struct fixture *w, unsigned i)
{
    struct app *a = &w->apps[i];
    char load[128];

    make_load(w, a, load, sizeof load);
    for (unsigned k = 0; k < HOT_NODES; k++)
        a->hot[k] = moves_below(&w->m, w->size->hot);
    moves_create(
        &w->m,
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'app-%u','namespace':"
        "'default'},'spec':{'replicas':%u,'selector':{'matchLabels':{'app':'app-%u'}},'template':"
        "{'metadata':{'labels':{'app':'app-%u','koordinator.sh/priority-class':'koord-prod'},"
        "'annotations':{'sim.koordinator.sh/load':'%s'}},'spec':{'schedulerName':'koord-scheduler',"
        "'terminationGracePeriodSeconds':2,'containers':[{'name':'c','image':'i','resources':{"
        "'requests':{'cpu':'%dm','memory':'256Mi'}}}]}}}}",
        i, w->size->replicas, i, i, load, REQUEST_MCPU);
    if (i % 3 == 0)
        moves_create(&w->m,
                     "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':"
                     "'app-%u','namespace':'default'},'spec':{'maxUnavailable':1,'selector':{"
                     "'matchLabels':{'app':'app-%u'}}}}",
                     i, i);
}

/* Yesterday's placement: more than half of the pods of an app on two nodes. */
static void place_pods(struct fixture *w)
{
    struct kobj *o;

    sim_run(&w->m.s, 10 * SEC);
    for (size_t it = 0; (o = informer_next(w->m.s.pods, &it));) {
        const struct app *a = balance_app_of(w, o);
        char node[32];
        if (!a)
            continue;
        unsigned i = moves_below(&w->m, 10) < 6 ? a->hot[moves_below(&w->m, HOT_NODES)]
                                                : moves_below(&w->m, w->size->nodes);
        (void)snprintf(node, sizeof node, "hollow-%u", i);
        sim_bind(&w->m.s, o, node);
    }
    sim_run(&w->m.s, 20 * SEC);
}

/* ---- life --------------------------------------------------------------------------------------- */

static void disturb(struct fixture *w)
{
    struct moves_sim *m = &w->m;

    switch (moves_below(m, 120)) {
    case 0: sim_drop_watches(&m->s); break;
    case 1:
        moves_start_descheduler(m);
        w->restarts++;
        break;
    case 2:
        moves_start_scheduler(m);
        w->scheduler_restarts++;
        break;
    case 3:
    case 4:
        if (informer_count(m->reservations))
            w->vanished++;
        moves_drop_any(m, m->reservations);
        break;
    default: break;
    }
}

static bool jobs_over(struct sim *s, void *arg)
{
    const struct moves_sim *m = arg;
    struct kobj *o;

    (void)s;
    for (size_t it = 0; (o = informer_next(m->jobs, &it));)
        if (podmigrationjob_of(o)->status.phase < MIGRATION_SUCCEEDED)
            return false;
    return true;
}

static void begin(struct fixture *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->size = seed >= DAY_SEED ? &day_run : &short_run;
    moves_begin(&w->m, seed, &(struct moves_shape){ w->size->nodes, w->size->metrics_interval });
    w->m.remembers = true;
    w->m.on_move = balance_on_move;
    w->m.on_failed = balance_on_failed;
    configure(w);
    for (unsigned i = 0; i < w->size->apps; i++)
        create_app(w, i);
    place_pods(w);
    moves_start_scheduler(&w->m);
    moves_start_descheduler(&w->m);
    w->m.s.faults = (struct sim_faults){
        .refuse = 5, .lose = 10, .slow = 30, .too_many = 10, .slow_max = SLOW_MAX
    };
}

static void judge_moves(struct fixture *w, bool tell)
{
    struct moves_sim *m = &w->m;

    balance_end(w);
    if (tell)
        printf("seed %llu: %u moves, %u would have sufficed, %u without a view of the future; %u "
               "jobs succeeded, %u failed, %u "
               "restarts, %u Reservations vanished, %u looks\n",
               (unsigned long long)m->seed, w->moves, w->needed, w->would_go, m->succeeded,
               m->failed, w->restarts + w->scheduler_restarts, w->vanished, m->judged);
    __atomic_fetch_add(&totals->moves, w->moves, __ATOMIC_RELAXED);
    __atomic_fetch_add(&totals->needed, w->needed, __ATOMIC_RELAXED);
    /* Half as many again, in whole pods: where one would have sufficed a second is not too many. */
    if (2 * w->moves > 3 * w->needed + 1 && w->moves > w->would_go)
        moves_die(m, "%u moves, where %u would have sufficed", w->moves, w->needed);
}

static void run(uint64_t seed, bool tell)
{
    static struct fixture w;
    struct moves_sim *m = &w.m;

    begin(&w, seed);
    for (nsec_t t = 0; t < w.size->time; t += STEP) {
        disturb(&w);
        sim_run(&m->s, STEP);
        if (t % LOOK == 0)
            balance_look(&w);
    }
    m->s.faults = (struct sim_faults){ 0 };
    if (!sim_until(&m->s, 8 * MINUTE, jobs_over, m))
        moves_die(m, "jobs are not over");
    moves_judge_end(m);
    judge_moves(&w, tell);
    moves_end(m);
}

static int judge_totals(void)
{
    printf("all runs: %llu moves, %llu would have sufficed\n", (unsigned long long)totals->moves,
           (unsigned long long)totals->needed);
    return 2 * totals->moves > 3 * totals->needed;
}

int main(int argc, char **argv)
{
    const struct moves_runs runs = { "sim_balance", 100, 2000, run };
    const struct moves_runs days = { "sim_balance, days", 0, 10, run };
    char first[16];

    totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (totals == MAP_FAILED)
        return 1;
    int r = moves_main(&runs, argc, argv);
    if (argc > 1)
        return r;
    r |= judge_totals();
    if (!getenv("KOORD_TEST_FULL"))
        return r;
    (void)snprintf(first, sizeof first, "%d", DAY_SEED);
    return moves_main(&days, 3, (char *[]){ argv[0], first, "10", NULL }) || r;
}
