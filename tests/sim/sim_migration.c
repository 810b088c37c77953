/* sim_migration.c - PodMigrationJobs in a whole cluster, with everything going wrong around them:
 * lost, refused and slow answers, watches that break off, programs that are replaced, jobs that
 * people make, edit, pause and delete, pods and Reservations that vanish.
 *
 *     sim_migration [FIRST [COUNT]]     20 nodes for half an hour; a run is its seed. 8 runs, with
 *                                       KOORD_TEST_FULL 2000
 *
 * sim_moves.h says what must hold. sim_balance.c is about whether the right pods go.
 */
#include "base/test/asserts.h"
#include "sim_moves.h"

#include <stdio.h>

#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation.h"

#define STEP (5 * SEC)
enum { NODES = 20, APPS = 6, REPLICAS = 10, NS_LIMIT = 12, GLOBAL_LIMIT = 9 };

struct fixture {
    struct moves_sim m;
    unsigned made, edits, paused, vanished, restarts;
};

/* ---- the cluster ------------------------------------------------------------------------------ */

static void configure(struct fixture *w)
{
    unsigned node_limit = 1 + moves_below(&w->m, 3), tenths = 2 + moves_below(&w->m, 20);
    unsigned of_workload = 1 + moves_below(&w->m, 3), seconds = moves_below(&w->m, 3) * 60;
    char text[2048];

    (void)snprintf(
        text, sizeof text,
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
        "deschedulingInterval: 20s\nprofiles:\n- name: sim\n  plugins:\n    balance:\n      "
        "enabled: [{name: LowNodeLoad}]\n  pluginConfig:\n  - name: LowNodeLoad\n    args:\n"
        "      lowThresholds: {cpu: 30}\n      highThresholds: {cpu: 50}\n"
        "      anomalyCondition: {timeout: 1m, consecutiveAbnormalities: 1}\n"
        "  - name: MigrationController\n    args:\n      maxMigratingPerNode: %u\n"
        "      maxMigratingGlobally: %d\n      maxMigratingPerNamespace: %d\n"
        "      maxMigratingPerWorkload: %u\n      maxUnavailablePerWorkload: 3\n"
        "      evictQPS: '%u.%u'\n      defaultJobTTL: 3m\n      objectLimiters: {workload: "
        "{duration: %us}}\n",
        node_limit, GLOBAL_LIMIT, NS_LIMIT, of_workload, tenths / 10, tenths % 10, seconds);
    w->m.limits =
        (struct move_limits){ .per_node = node_limit,
                              .globally = GLOBAL_LIMIT,
                              .qps = tenths / 10.0,
                              .per_workload = seconds ? of_workload / (double)seconds : 0 };
    moves_configure(&w->m, text);
}

/* Loads differ, so that some nodes run hot; the first two apps have a budget. */
static void create_app(struct fixture *w, unsigned i)
{
    moves_create(
        &w->m,
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'app-%u','namespace':"
        "'default'},'spec':{'replicas':%d,'selector':{'matchLabels':{'app':'app-%u'}},'template':"
        "{'metadata':{'labels':{'app':'app-%u','koordinator.sh/priority-class':'koord-prod'},"
        "'annotations':{'sim.koordinator.sh/load':'wave:low=%um,high=%um,period=%um,phase=%um'}},"
        "'spec':{'schedulerName':'koord-scheduler','terminationGracePeriodSeconds':2,"
        "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1',"
        "'memory':'1Gi'}}}]}}}}",
        i, REPLICAS, i, i, 100 + moves_below(&w->m, 400), 1500 + moves_below(&w->m, 5000),
        10 + moves_below(&w->m, 20), moves_below(&w->m, 20));
    if (i < 2)
        moves_create(&w->m,
                     "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':"
                     "'app-%u','namespace':'default'},'spec':{'maxUnavailable':1,'selector':{"
                     "'matchLabels':{'app':'app-%u'}}}}",
                     i, i);
}

/* ---- what people do --------------------------------------------------------------------------- */

/* A ready pod, by chance; with_budget: those of the first apps too. */
static const struct kobj *any_pod(struct fixture *w, bool with_budget)
{
    size_t n = informer_count(w->m.s.pods), it = 0;
    struct kobj *o = NULL;

    for (size_t skip = n ? moves_below(&w->m, (unsigned)n) : 0;
         (o = informer_next(w->m.s.pods, &it));) {
        const char *app = str_or(kstrmap_get(&o->meta.labels, "app"), "");
        if (skip) {
            skip--;
            continue;
        }
        if (pod_is_ready(pod_of(o)) && !o->meta.deleted && str_starts(app, "app-") &&
            (with_budget || app[4] > '1'))
            return o;
    }
    return NULL;
}

static void make_job(struct fixture *w)
{
    static const char *const modes[] = { "'mode':'ReservationFirst',", "'mode':'EvictDirectly',",
                                         "" };
    const struct kobj *pod = any_pod(w, true);
    bool paused = moves_below(&w->m, 4) == 0;

    if (!pod)
        return;
    w->paused += paused;
    moves_create(
        &w->m,
        "{'apiVersion':'scheduling.koordinator.sh/v1alpha1','kind':'PodMigrationJob','metadata':"
        "{'name':'hand-%u'},'spec':{%s'ttl':'%us','paused':%s,'podRef':{'namespace':'default',"
        "'name':'%s'}}}",
        w->made++, modes[moves_below(&w->m, 3)], 60 + moves_below(&w->m, 240),
        paused ? "true" : "false", pod->meta.name);
}

static void patch_job(struct fixture *w, const char *body)
{
    const struct kobj *o = moves_any_of(&w->m, w->m.jobs);
    char name[64];

    if (!o)
        return;
    (void)snprintf(name, sizeof name, "%s", o->meta.name);
    (void)sim_patch(&w->m.s, &kind_podmigrationjob, NULL, name, NULL, body);
    w->edits++;
}

static void release_jobs(struct fixture *w)
{
    struct vec_of(char *) names = { 0 };
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->m.jobs, &it));)
        if (podmigrationjob_of(o)->spec.paused && moves_below(&w->m, 3) == 0)
            vec_push(&names, xstrdup(o->meta.name));
    vec_foreach(&names, i) {
        (void)sim_patch(&w->m.s, &kind_podmigrationjob, NULL, names.items[i], NULL,
                        "{\"spec\":{\"paused\":false}}");
        free(names.items[i]);
    }
    vec_fini(&names);
}

static void delete_pod(struct fixture *w)
{
    const struct kobj *o = any_pod(w, false);
    char name[256];

    if (!o)
        return;
    (void)snprintf(name, sizeof name, "%s", o->meta.name);
    w->m.by_hand = true;
    (void)sim_delete(&w->m.s, &kind_pod, "default", name, "{\"gracePeriodSeconds\":0}");
    w->m.by_hand = false;
}

static void vanish(struct fixture *w, struct informer *inf)
{
    moves_drop_any(&w->m, inf);
    w->vanished++;
}

static void disturb(struct fixture *w)
{
    switch (moves_below(&w->m, 24)) {
    case 0: sim_drop_watches(&w->m.s); break;
    case 1:
        moves_start_descheduler(&w->m);
        w->restarts++;
        break;
    case 2:
        moves_start_scheduler(&w->m);
        w->restarts++;
        break;
    case 3: vanish(w, w->m.reservations); break;
    case 4: vanish(w, w->m.jobs); break;
    case 5: delete_pod(w); break;
    case 6: patch_job(w, "{\"metadata\":{\"labels\":{\"edited\":\"yes\"}}}"); break;
    case 7: release_jobs(w); break;
    default: break;
    }
    if (moves_below(&w->m, 3) == 0)
        make_job(w);
}

/* ---- life --------------------------------------------------------------------------------------- */

static void begin(struct fixture *w, uint64_t seed)
{
    const struct moves_shape shape = { .nodes = NODES, .metrics_interval = 30 * SEC };

    *w = (struct fixture){ 0 };
    moves_begin(&w->m, seed, &shape);
    configure(w);
    moves_start_scheduler(&w->m);
    for (unsigned i = 0; i < APPS; i++)
        create_app(w, i);
    sim_run(&w->m.s, 2 * MINUTE);
    moves_start_descheduler(&w->m);
    w->m.s.faults =
        (struct sim_faults){ .refuse = 5, .lose = 10, .slow = 30, .slow_max = SLOW_MAX };
}

static void run(uint64_t seed, bool tell)
{
    struct fixture w;
    struct moves_sim *m = &w.m;

    begin(&w, seed);
    for (nsec_t t = 0; t < 30 * MINUTE; t += STEP) {
        disturb(&w);
        sim_run(&m->s, STEP);
    }
    m->s.faults = (struct sim_faults){ 0 };
    sim_run(&m->s, 12 * MINUTE);
    moves_judge_end(m);
    if (tell)
        printf("seed %llu: %u jobs by hand (%u paused, %u edits), %u succeeded, %u failed, %u "
               "evictions with a place, %u without one by order, %u vanished, %u restarts, %u "
               "looks\n",
               (unsigned long long)seed, w.made, w.paused, w.edits, m->succeeded, m->failed,
               m->with_place, m->direct, w.vanished, w.restarts, m->judged);
    if (m->succeeded < 10 || m->with_place < 5)
        moves_die(m, "hardly a job succeeded: %u, %u", m->succeeded, m->with_place);
    moves_end(m);
}

int main(int argc, char **argv)
{
    return moves_main(&(struct moves_runs){ "sim_migration", 8, 2000, run }, argc, argv);
}
