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
 * threshold for 15 minutes; no more than half as many moves again as would have sufficed; no pod is
 * moved twice in an hour. What nodes use is computed here, from the loads that the pods were given.
 * What would have sufficed is counted for each time that a node goes above its threshold and until
 * it is below: the fewest pods that have to leave at the height of it. The plugin does not know the
 * future: it takes the pod that just suffices for what was reported, and a wave that rises on may
 * need another. Single runs may have a few moves more for that; all of them together may not.
 */
#include "base/test/asserts.h"
#include "sim_moves.h"

#include <stdio.h>
#include <sys/mman.h>

#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation.h"
#include "cluster/load.h"

#define HOUR     (60 * MINUTE)
#define DAY      (24 * HOUR)
#define STEP     (5 * SEC)
#define LOOK     (15 * SEC)
#define TOO_LONG (15 * MINUTE)
enum { NODE_MCPU = 16000, SYSTEM_MCPU = NODE_MCPU / 50, REQUEST_MCPU = 500 };
enum { LOW = NODE_MCPU * 30 / 100, HIGH = NODE_MCPU * 50 / 100 };
/* What the system uses is not the same all the time: by a fifth more or less. */
enum { SYSTEM_MOST = SYSTEM_MCPU * 6 / 5 };
enum { CLEARLY_HIGH = HIGH + NODE_MCPU / 100, CLEARLY_LOW = LOW - NODE_MCPU / 100 };
enum { NODES_MAX = 200, APPS_MAX = 40, HOT_NODES = 2, DAY_SEED = 1000000 };

enum { FEW_MORE = 3 }; /* moves of a run beyond what all runs together may have */

/* Of all runs, which are processes of their own. */
static struct totals {
    uint64_t moves, needed;
} * totals;

struct size {                            /* of a run */
    unsigned nodes, apps, replicas, hot; /* hot: nodes that get more than their share */
    nsec_t time, metrics_interval;
};
static const struct size short_run = { 20, 5, 10, 5, 30 * MINUTE, MINUTE };
static const struct size day_run = { 200, 40, 12, 50, DAY, 2 * MINUTE };

struct app {
    struct load load;
    unsigned hot[HOT_NODES];
    unsigned moves;
    nsec_t first_move; /* wall; 0: none yet */
};
struct guest { /* a pod that was on a node while it was hot */
    struct kuid uid;
    unsigned app;
};
struct spot { /* a node */
    int64_t mcpu;
    unsigned pods;
    nsec_t stuck_since; /* wall: too hot, and it need not be; 0: it is not */
    bool hot;           /* its use may be above the threshold */
    unsigned needed;    /* pods that had to go in this hot time */
    struct vec_of(struct guest) guests;
    bool left_by[APPS_MAX]; /* pods of this app were moved away */
    nsec_t left_at[APPS_MAX];
};
struct fixture {
    struct moves_sim m;
    const struct size *size;
    struct app apps[APPS_MAX];
    struct spot spots[NODES_MAX];
    nsec_t began; /* wall */
    unsigned moves, needed, restarts, vanished;
};

static struct fixture *fixture_of(struct moves_sim *m)
{
    return container_of(m, struct fixture, m);
}

/* ---- what pods use ---------------------------------------------------------------------------- */

static unsigned number_behind(const char *name, const char *prefix, unsigned max)
{
    unsigned n = max;

    if (str_starts(str_or(name, ""), prefix))
        n = (unsigned)strtoul(name + strlen(prefix), NULL, 10);
    return MIN(n, max);
}

/* NULL: not a pod of ours. */
static struct app *app_of(struct fixture *w, const struct kobj *pod)
{
    unsigned i = number_behind(kstrmap_get(&pod->meta.labels, "app"), "app-", w->size->apps);
    return i < w->size->apps ? &w->apps[i] : NULL;
}

static struct spot *spot_of(struct fixture *w, const struct pod *p)
{
    unsigned i = number_behind(p->node_name, "hollow-", w->size->nodes);
    return i < w->size->nodes ? &w->spots[i] : NULL;
}

static int64_t use_of(const struct app *a, nsec_t wall)
{
    return load_at(&a->load, 0, wall).mcpu;
}

/* ---- how many had to go ----------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The fewest, if all that were here in this hot time were here now: the largest first. */
static unsigned fewest(const struct fixture *w, const struct spot *s, nsec_t now)
{
    int64_t sizes[256], sum = SYSTEM_MOST;
    unsigned n = 0, go = 0;

    vec_foreach(&s->guests, i) {
        if (n == ARRAY_LEN(sizes))
            break;
        sizes[n] = use_of(&w->apps[s->guests.items[i].app], now);
        sum += sizes[n++];
    }
    qsort(sizes, n, sizeof *sizes, by_size);
    while (go < n && sum > HIGH)
        sum -= sizes[go++];
    return go;
}

static void add_guest(struct spot *s, const struct kobj *pod, unsigned app)
{
    vec_foreach(&s->guests, i)
        if (kuid_equal(s->guests.items[i].uid, pod->meta.uid))
            return;
    vec_push(&s->guests, ((struct guest){ pod->meta.uid, app }));
}

static void end_hot_time(struct fixture *w, struct spot *s)
{
    w->needed += s->needed;
    s->needed = 0;
    vec_clear(&s->guests);
}

static void look_at_spot(struct fixture *w, struct spot *s)
{
    s->hot = s->mcpu + SYSTEM_MOST - SYSTEM_MCPU > HIGH;
    if (!s->hot)
        end_hot_time(w, s);
}

/* ---- a node that stays hot -------------------------------------------------------------------- */

/* Not one that the memory of moves keeps where it is. */
static bool is_movable(struct fixture *w, const struct kobj *o, const struct spot *s, nsec_t now)
{
    const struct app *a = app_of(w, o);

    if (!a || !pod_is_ready(pod_of(o)) || o->meta.deleted)
        return false;
    if (a->first_move && o->meta.created >= a->first_move - SEC && now - o->meta.created < HOUR)
        return false;
    if (a->moves >= 2 * w->size->replicas)
        return false;
    return !s->left_by[a - w->apps] || o->meta.created < s->left_at[a - w->apps] - SEC;
}

static bool has_target(const struct fixture *w, int64_t mcpu)
{
    for (unsigned i = 0; i < w->size->nodes; i++) {
        const struct spot *t = &w->spots[i];
        if (t->mcpu < CLEARLY_LOW && t->mcpu + mcpu < HIGH - NODE_MCPU / 100 &&
            (t->pods + 1) * REQUEST_MCPU <= NODE_MCPU)
            return true;
    }
    return false;
}

static void judge_stuck(struct fixture *w, nsec_t now)
{
    bool could[NODES_MAX] = { false };
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->m.s.pods, &it));) {
        const struct spot *s = spot_of(w, pod_of(o));
        if (s && s->mcpu > CLEARLY_HIGH && !could[s - w->spots] && is_movable(w, o, s, now))
            could[s - w->spots] = has_target(w, use_of(app_of(w, o), now));
    }
    for (unsigned i = 0; i < w->size->nodes; i++) {
        struct spot *s = &w->spots[i];
        if (!could[i])
            s->stuck_since = 0;
        else if (!s->stuck_since)
            s->stuck_since = now;
        else if (now - s->stuck_since > TOO_LONG)
            moves_die(&w->m, "node hollow-%u is at %lld m for 15 minutes, and need not be", i,
                      (long long)s->mcpu);
    }
}

/* ---- looking around --------------------------------------------------------------------------- */

static void look(struct fixture *w)
{
    nsec_t now = loop_wall(w->m.s.loop);
    struct kobj *o;

    for (unsigned i = 0; i < w->size->nodes; i++) {
        w->spots[i].mcpu = SYSTEM_MCPU;
        w->spots[i].pods = 0;
    }
    for (size_t it = 0; (o = informer_next(w->m.s.pods, &it));) {
        const struct app *a = app_of(w, o);
        struct spot *s = a ? spot_of(w, pod_of(o)) : NULL;
        if (!s || pod_is_terminal(pod_of(o)))
            continue;
        s->pods++;
        if (pod_is_ready(pod_of(o)) && !o->meta.deleted)
            s->mcpu += use_of(a, now);
    }
    for (unsigned i = 0; i < w->size->nodes; i++)
        look_at_spot(w, &w->spots[i]);
    for (size_t it = 0; (o = informer_next(w->m.s.pods, &it));) {
        const struct app *a = app_of(w, o);
        struct spot *s = a ? spot_of(w, pod_of(o)) : NULL;
        if (s && s->hot && pod_is_ready(pod_of(o)) && !o->meta.deleted)
            add_guest(s, o, (unsigned)(a - w->apps));
    }
    for (unsigned i = 0; i < w->size->nodes; i++)
        if (w->spots[i].hot)
            w->spots[i].needed = MAX(w->spots[i].needed, fewest(w, &w->spots[i], now));
    judge_stuck(w, now);
}

static void on_move(struct moves_sim *m, const struct podmigrationjob *j, const struct pod *p)
{
    struct fixture *w = fixture_of(m);
    struct app *a = app_of(w, &p->obj);
    struct spot *s = spot_of(w, p);
    nsec_t now = loop_wall(m->s.loop), age = now - p->obj.meta.created;

    w->moves++;
    if (!a || !s)
        moves_die(m, "%s was moved, and is not ours", p->obj.meta.name);
    if (a->first_move && p->obj.meta.created > a->first_move && age < HOUR)
        moves_die(m, "%s was moved by %s, %lld s after it had come in place of another",
                  p->obj.meta.name, j->obj.meta.name, (long long)(age / SEC));
    if (!a->first_move)
        a->first_move = now;
    a->moves++;
    s->left_by[a - w->apps] = true;
    s->left_at[a - w->apps] = now;
}

/* ---- the cluster ------------------------------------------------------------------------------ */

static void configure(struct fixture *w)
{
    unsigned node_limit = 2 + moves_below(&w->m, 2), tenths = 2 + moves_below(&w->m, 20);
    /* Where only small pods of a hot node may go at the time, more of them have to: so the limits
     * of workloads are wide enough for most of what is needed. */
    unsigned of_workload = 4 + moves_below(&w->m, 2), seconds = moves_below(&w->m, 3) * 30;
    unsigned interval = w->size->nodes > 100 ? 120 : 20 + 10 * moves_below(&w->m, 3);
    unsigned globally = w->size->nodes > 100 ? 40 : 9;
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
        interval, 1 + moves_below(&w->m, 2), node_limit, globally, of_workload, tenths / 10,
        tenths % 10, seconds);
    w->m.limits =
        (struct move_limits){ .per_node = node_limit,
                              .globally = globally,
                              .qps = tenths / 10.0,
                              .per_workload = seconds ? of_workload / (double)seconds : 0 };
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
        const struct app *a = app_of(w, o);
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
        w->restarts++;
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
    w->m.on_move = on_move;
    configure(w);
    for (unsigned i = 0; i < w->size->apps; i++)
        create_app(w, i);
    place_pods(w);
    moves_start_scheduler(&w->m);
    moves_start_descheduler(&w->m);
    w->began = loop_wall(w->m.s.loop);
    w->m.s.faults = (struct sim_faults){
        .refuse = 5, .lose = 10, .slow = 30, .too_many = 10, .slow_max = SLOW_MAX
    };
}

static void judge_moves(struct fixture *w, bool tell)
{
    struct moves_sim *m = &w->m;

    for (unsigned i = 0; i < w->size->nodes; i++) {
        end_hot_time(w, &w->spots[i]);
        vec_fini(&w->spots[i].guests);
    }
    if (tell)
        printf("seed %llu: %u moves, %u would have sufficed; %u jobs succeeded, %u failed, %u "
               "restarts, %u Reservations vanished, %u looks\n",
               (unsigned long long)m->seed, w->moves, w->needed, m->succeeded, m->failed,
               w->restarts, w->vanished, m->judged);
    __atomic_fetch_add(&totals->moves, w->moves, __ATOMIC_RELAXED);
    __atomic_fetch_add(&totals->needed, w->needed, __ATOMIC_RELAXED);
    if (2 * w->moves > 3 * w->needed + 2 * FEW_MORE)
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
            look(&w);
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
