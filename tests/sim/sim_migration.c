/* sim_migration.c - the descheduler, the scheduler, controllers and hollow nodes with hot spots in
 * one process, with everything going wrong around them: lost, refused and slow answers, watches
 * that break off, programs that are replaced, jobs that people make, edit, pause and delete, pods
 * and Reservations that vanish.
 *
 *     sim_migration [FIRST [COUNT]]     20 nodes for half an hour; a run is its seed. 24 runs, with
 *                                       KOORD_TEST_FULL 2000
 *
 * After every write that concerns a job an independent look is taken at what the API server has:
 * budgets hold, no limit and no rate is exceeded, and no pod goes by a job before its Reservation
 * is Available on another node. Every job is over within its TTL and five minutes.
 */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation_life.h"
#include "api/policy.h"
#include "api/protocol/keys.h"
#include "api/workload.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/vec.h"
#include "controllers/caches.h"
#include "descheduler/config/config.h"
#include "descheduler/descheduler.h"
#include "scheduler/config/config.h"
#include "scheduler/scheduler.h"

#define MINUTE   (60 * SEC)
#define STEP     (5 * SEC)
#define SLOW_MAX (2 * SEC)
/* A Reservation that somebody deleted so short before: the descheduler could not know. */
#define EXCUSED (3 * SLOW_MAX)
enum { NODES = 20, APPS = 6, REPLICAS = 10, NS_LIMIT = 12, GLOBAL_LIMIT = 9, SEEDS = 24 };
#define RELEASED_AT "descheduler.koordinator.sh/released-at"

struct gone { /* a Reservation that the test deleted, or its job */
    char name[64];
    nsec_t at;
};
struct eviction {
    struct kobj *pod;
    nsec_t at;
};
struct fixture {
    struct sim s;
    uint64_t seed;
    struct scheduler *scheduler;
    struct config *sched_config, *config;
    struct descheduler *descheduler;
    struct informer *jobs, *reservations, *pdbs;
    struct vec_of(struct gone) gone;
    struct vec_of(struct eviction) pending; /* pods that go, to be judged in a moment */
    struct vec_of(nsec_t) evictions;        /* by jobs */
    struct timer *judge;
    unsigned node_limit, qps_tenths, made, edits, paused, vanished, restarts, judged, with_place,
        direct;
    unsigned succeeded, failed;
    bool by_hand; /* pods that the test deletes are not judged */
};

static void die(const struct fixture *w, const char *fmt, ...) PRINTF(2, 3);
static void die(const struct fixture *w, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "seed %llu at %lld s: ", (unsigned long long)w->seed,
            (long long)((loop_wall(w->s.loop) - WALL0) / SEC));
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    abort();
}

static unsigned below(struct fixture *w, unsigned n)
{
    return (unsigned)loop_rand_below(w->s.loop, n);
}

/* ---- the judge -------------------------------------------------------------------------------- */

/* The job that is about to evict this pod. */
static const struct podmigrationjob *job_of_pod(const struct fixture *w, struct kuid uid)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        for (uint32_t i = 0; i < j->status.conditions.n; i++)
            if (j->status.phase == MIGRATION_RUNNING &&
                streq(j->status.conditions.items[i].type, MIGRATION_EVICTION) && j->spec.pod_ref &&
                kuid_equal(j->spec.pod_ref->uid, uid))
                return j;
    }
    return NULL;
}

static bool is_excused(const struct fixture *w, const char *reservation, nsec_t at)
{
    vec_foreach(&w->gone, i)
        if (streq(w->gone.items[i].name, reservation) && at - w->gone.items[i].at < EXCUSED)
            return true;
    return false;
}

/* No eviction without a place. */
static void judge_place(struct fixture *w, const struct podmigrationjob *j, const struct pod *p,
                        nsec_t at)
{
    const struct migration_reservation_options *o = j->spec.reservation_options;
    const char *name = o && o->reservation_ref ? o->reservation_ref->name : "";

    if (streq(j->spec.mode, MIGRATION_MODE_EVICT_DIRECTLY)) {
        w->direct++;
        return;
    }
    if (is_excused(w, name, at))
        return;
    const struct kobj *r = informer_get(w->reservations, name);
    if (!r)
        die(w, "%s went for %s, and its Reservation is not there", p->obj.meta.name,
            j->obj.meta.name);
    const struct reservation *place = reservation_of(r);
    if (place->status.phase != RESERVATION_AVAILABLE &&
        place->status.phase != RESERVATION_SUCCEEDED)
        die(w, "%s went for %s, and its Reservation is %s", p->obj.meta.name, j->obj.meta.name,
            reservation_phase_names[place->status.phase]);
    if (streq(str_or(place->status.node_name, ""), str_or(p->node_name, "")))
        die(w, "%s went for %s to the node on which it was", p->obj.meta.name, j->obj.meta.name);
    w->with_place++;
}

/* In no time more evictions than the rate allows: one, and so many for each second. */
static void judge_rate(struct fixture *w, nsec_t at)
{
    double qps = w->qps_tenths / 10.0;

    vec_push(&w->evictions, at);
    for (size_t i = 0; i < w->evictions.n; i++) {
        double allowed = 1 + qps * (double)(at - w->evictions.items[i] + SLOW_MAX) / (double)SEC;
        if ((double)(w->evictions.n - i) > allowed + 1e-6)
            die(w, "%zu evictions in %lld s", w->evictions.n - i,
                (long long)((at - w->evictions.items[i]) / SEC));
    }
}

static void judge_eviction(struct fixture *w, const struct eviction *e)
{
    const struct podmigrationjob *j = job_of_pod(w, e->pod->meta.uid);

    if (!j) /* by somebody else: a controller, or the test */
        return;
    judge_place(w, j, pod_of(e->pod), e->at);
    judge_rate(w, e->at);
}

/* Jobs that hold a slot: they run, or have passed. */
static bool holds_slot(const struct podmigrationjob *j)
{
    return j->status.phase < MIGRATION_SUCCEEDED && !j->spec.paused && j->spec.pod_ref &&
           (j->status.phase == MIGRATION_RUNNING ||
            kstrmap_get(&j->obj.meta.annotations, ANNO_PASSED_ARBITRATION));
}

struct count {
    unsigned n;
};

static unsigned count(struct map *m, struct arena *a, const char *key)
{
    struct count *c = map_getz(m, key);

    if (!c) {
        c = arena_new0(a, struct count);
        map_putz(m, arena_strdup(a, key), c);
    }
    return ++c->n;
}

static void judge_limits(struct fixture *w)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(map_fini) struct map nodes = { 0 }, pods = { 0 };
    unsigned all = 0;
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        char key[KOBJ_KEY_MAX];
        if (!holds_slot(j))
            continue;
        all++;
        (void)snprintf(key, sizeof key, "%s/%s", j->spec.pod_ref->ns, j->spec.pod_ref->name);
        const struct kobj *pod = informer_get(w->s.pods, key);
        /* People may make two jobs for a pod; it is moved once. */
        if (pod && !str_empty(pod_of(pod)->node_name) && count(&pods, a, key) == 1 &&
            count(&nodes, a, pod_of(pod)->node_name) > w->node_limit)
            die(w, "more than %u jobs for node %s", w->node_limit, pod_of(pod)->node_name);
    }
    if (all > GLOBAL_LIMIT)
        die(w, "%u jobs at once", all);
}

/* Budgets: of the first apps, whose pods the test does not touch. */
static void judge_budgets(struct fixture *w)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->pdbs, &it));) {
        const struct pdb_status *st = &container_of(o, const struct pdb, obj)->status;
        if (st->observed_generation && st->expected_pods &&
            st->current_healthy < st->desired_healthy)
            die(w, "budget %s: %d healthy, %d desired", o->meta.name, st->current_healthy,
                st->desired_healthy);
    }
}

static void judge_times(struct fixture *w)
{
    nsec_t now = loop_wall(w->s.loop);
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        const char *text = kstrmap_get(&o->meta.annotations, RELEASED_AT);
        nsec_t from = o->meta.created;
        if (j->status.phase >= MIGRATION_SUCCEEDED || j->spec.paused || !j->spec.ttl_ns.set)
            continue;
        if (text)
            (void)ktime_parse(text, strlen(text), &from, NULL);
        else if (kstrmap_get(&o->meta.annotations, "descheduler.koordinator.sh/paused-since"))
            continue; /* released a moment ago */
        if (now > from + j->spec.ttl_ns.v + 5 * MINUTE)
            die(w, "job %s is not over", o->meta.name);
    }
}

static void on_judge(struct loop *l, void *arg)
{
    struct fixture *w = arg;

    (void)l;
    w->judge = NULL;
    vec_foreach(&w->pending, i) {
        judge_eviction(w, &w->pending.items[i]);
        kobj_unref(w->pending.items[i].pod);
    }
    vec_clear(&w->pending);
    judge_limits(w);
    judge_budgets(w);
    judge_times(w);
    w->judged++;
}

/* The watches of different kinds are not in step: a moment later all are. */
static void judge_soon(struct fixture *w)
{
    if (!w->judge)
        w->judge = loop_after(w->s.loop, NSEC_PER_MSEC, on_judge, w);
}

static void on_job_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct fixture *w = arg;
    uint8_t was = podmigrationjob_of(old)->status.phase, is = podmigrationjob_of(o)->status.phase;

    w->succeeded += was != is && is == MIGRATION_SUCCEEDED;
    w->failed += was != is && is == MIGRATION_FAILED;
    judge_soon(w);
}

static void pod_goes(struct fixture *w, struct kobj *o)
{
    if (!w->by_hand)
        vec_push(&w->pending, ((struct eviction){ kobj_ref(o), loop_mono(w->s.loop) }));
    judge_soon(w);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (!old->meta.deleted && o->meta.deleted)
        pod_goes(arg, o);
}

static void on_pod_delete(void *arg, struct kobj *o)
{
    if (!o->meta.deleted)
        pod_goes(arg, o);
}

static void on_reservation_delete(void *arg, struct kobj *o)
{
    struct fixture *w = arg;
    struct gone g = { .at = loop_mono(w->s.loop) };

    (void)snprintf(g.name, sizeof g.name, "%s", o->meta.name);
    vec_push(&w->gone, g);
}

/* ---- the parts -------------------------------------------------------------------------------- */

static void start_scheduler(struct fixture *w)
{
    const struct sched_config *c = w->sched_config->value;
    struct kerr err = { 0 };

    w->scheduler = scheduler_new(
        w->s.loop, w->s.faulty,
        &(struct scheduler_opts){ .profiles = c->made, .nprofiles = c->profiles.n }, &err);
    if (!w->scheduler)
        die(w, "scheduler: %s", err.text);
    scheduler_start(w->scheduler);
}

static void start_descheduler(struct fixture *w)
{
    struct kerr err = { 0 };

    w->descheduler = descheduler_new(
        w->s.loop, w->s.faulty,
        &(struct descheduler_opts){ .config = w->config->value, .no_moves = true }, &err);
    if (!w->descheduler)
        die(w, "descheduler: %s", err.text);
    descheduler_watch(w->descheduler);
    descheduler_lead(w->descheduler);
}

static void make_config(struct fixture *w)
{
    char text[2048];
    struct kerr err = { 0 };

    w->node_limit = 1 + below(w, 3);
    w->qps_tenths = 2 + below(w, 20);
    int n = snprintf(
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
        w->node_limit, GLOBAL_LIMIT, NS_LIMIT, 1 + below(w, 3), w->qps_tenths / 10,
        w->qps_tenths % 10, below(w, 3) * 60);
    if (config_parse(&desched_config_spec, text, (size_t)n, "sim", &w->config, &err) < 0)
        die(w, "%s", err.text);
    if (sched_config_chart(&w->sched_config, &err) < 0)
        die(w, "%s", err.text);
}

static void create(struct fixture *w, const char *fmt, ...) PRINTF(2, 3);
static void create(struct fixture *w, const char *fmt, ...)
{
    char body[2048];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    for (char *p = body; *p; p++)
        if (*p == '\'')
            *p = '"';
    int status = sim_create(&w->s, body);
    if (status != 201)
        die(w, "create: %d: %s", status, body);
}

/* Loads differ, so that some nodes run hot; the first two apps have a budget. */
static void create_app(struct fixture *w, unsigned i)
{
    create(
        w,
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'app-%u','namespace':"
        "'default'},'spec':{'replicas':%d,'selector':{'matchLabels':{'app':'app-%u'}},'template':"
        "{'metadata':{'labels':{'app':'app-%u','koordinator.sh/priority-class':'koord-prod'},"
        "'annotations':{'sim.koordinator.sh/load':'wave:low=%um,high=%um,period=%um,phase=%um'}},"
        "'spec':{'schedulerName':'koord-scheduler','terminationGracePeriodSeconds':2,"
        "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1',"
        "'memory':'1Gi'}}}]}}}}",
        i, REPLICAS, i, i, 100 + below(w, 400), 1500 + below(w, 5000), 10 + below(w, 20),
        below(w, 20));
    if (i < 2)
        create(w,
               "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':"
               "'app-%u','namespace':'default'},'spec':{'maxUnavailable':1,'selector':{"
               "'matchLabels':{'app':'app-%u'}}}}",
               i, i);
}

/* ---- what people do --------------------------------------------------------------------------- */

/* A ready pod, by chance; with_budget: those of the first apps too. */
static const struct kobj *any_pod(struct fixture *w, bool with_budget)
{
    size_t n = informer_count(w->s.pods), it = 0;
    struct kobj *o = NULL;

    for (size_t skip = n ? below(w, (unsigned)n) : 0; (o = informer_next(w->s.pods, &it));) {
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

static const struct kobj *any_of(struct fixture *w, struct informer *inf)
{
    size_t n = informer_count(inf), it = 0;
    struct kobj *o = NULL;

    for (size_t skip = n ? below(w, (unsigned)n) + 1 : 0; skip; skip--)
        o = informer_next(inf, &it);
    return o;
}

static void make_job(struct fixture *w)
{
    static const char *const modes[] = { "'mode':'ReservationFirst',", "'mode':'EvictDirectly',",
                                         "" };
    const struct kobj *pod = any_pod(w, true);
    bool paused = below(w, 4) == 0;

    if (!pod)
        return;
    w->paused += paused;
    create(w,
           "{'apiVersion':'scheduling.koordinator.sh/v1alpha1','kind':'PodMigrationJob','metadata':"
           "{'name':'hand-%u'},'spec':{%s'ttl':'%us','paused':%s,'podRef':{'namespace':'default',"
           "'name':'%s'}}}",
           w->made++, modes[below(w, 3)], 60 + below(w, 240), paused ? "true" : "false",
           pod->meta.name);
}

static void patch_job(struct fixture *w, const char *body)
{
    const struct kobj *o = any_of(w, w->jobs);
    char name[64];

    if (!o)
        return;
    (void)snprintf(name, sizeof name, "%s", o->meta.name);
    (void)sim_patch(&w->s, &kind_podmigrationjob, NULL, name, NULL, body);
    w->edits++;
}

static void release_jobs(struct fixture *w)
{
    struct vec_of(char *) names = { 0 };
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->jobs, &it));)
        if (podmigrationjob_of(o)->spec.paused && below(w, 3) == 0)
            vec_push(&names, xstrdup(o->meta.name));
    vec_foreach(&names, i) {
        (void)sim_patch(&w->s, &kind_podmigrationjob, NULL, names.items[i], NULL,
                        "{\"spec\":{\"paused\":false}}");
        free(names.items[i]);
    }
    vec_fini(&names);
}

static void drop(struct fixture *w, struct informer *inf)
{
    const struct kobj *o = any_of(w, inf);
    char name[64];

    if (!o)
        return;
    (void)snprintf(name, sizeof name, "%s", o->meta.name);
    (void)sim_delete(&w->s, informer_kind(inf), NULL, name, "{}");
    w->vanished++;
}

static void delete_pod(struct fixture *w)
{
    const struct kobj *o = any_pod(w, false);
    char name[256];

    if (!o)
        return;
    (void)snprintf(name, sizeof name, "%s", o->meta.name);
    w->by_hand = true;
    (void)sim_delete(&w->s, &kind_pod, "default", name, "{\"gracePeriodSeconds\":0}");
    w->by_hand = false;
}

static void disturb(struct fixture *w)
{
    switch (below(w, 24)) {
    case 0: sim_drop_watches(&w->s); break;
    case 1:
        w->descheduler = descheduler_free(w->descheduler);
        start_descheduler(w);
        w->restarts++;
        break;
    case 2:
        w->scheduler = scheduler_free(w->scheduler);
        start_scheduler(w);
        w->restarts++;
        break;
    case 3: drop(w, w->reservations); break;
    case 4: drop(w, w->jobs); break;
    case 5: delete_pod(w); break;
    case 6: patch_job(w, "{\"metadata\":{\"labels\":{\"edited\":\"yes\"}}}"); break;
    case 7: release_jobs(w); break;
    default: break;
    }
    if (below(w, 3) == 0)
        make_job(w);
}

/* ---- life --------------------------------------------------------------------------------------- */

static bool nodes_ready(struct sim *s, void *arg)
{
    (void)arg;
    return cluster_ready(s->cluster);
}

static struct informer *watch(struct fixture *w, const struct kind *k,
                              const struct informer_handler *h)
{
    struct informer *inf = informer_new(w->s.kube, &(struct informer_opts){ .kind = k });

    if (h)
        informer_add_handler(inf, h, w);
    informer_start(inf);
    return inf;
}

static void start_cluster(struct fixture *w)
{
    const struct hollow_shape shape = { .count = NODES };
    const struct cluster_opts o = { .deployment = true,
                                    .replicaset = true,
                                    .gc = true,
                                    .namespaces = true,
                                    .nodes = true,
                                    .pdb = true,
                                    .node_grace = 20 * MINUTE,
                                    .discovery_interval = 10 * MINUTE,
                                    .hollow = { .shapes = &shape,
                                                .nshapes = 1,
                                                .seed = w->seed,
                                                .metrics_interval = 30 * SEC,
                                                .lease_interval = 5 * MINUTE } };
    sim_start(&w->s, &o);
}

static void begin(struct fixture *w, uint64_t seed)
{
    static const struct informer_handler jobs = { .on_update = on_job_update };
    static const struct informer_handler reservations = { .on_delete = on_reservation_delete };
    static const struct informer_handler pods = { .on_update = on_pod_update,
                                                  .on_delete = on_pod_delete };

    *w = (struct fixture){ .seed = seed };
    sim_init_koordinator(&w->s, seed);
    w->s.no_binder = true;
    make_config(w);
    start_cluster(w);
    w->jobs = watch(w, &kind_podmigrationjob, &jobs);
    w->reservations = watch(w, &kind_reservation, &reservations);
    w->pdbs = watch(w, &kind_pdb, NULL);
    informer_add_handler(w->s.pods, &pods, w);
    start_scheduler(w);
    if (!sim_until(&w->s, 10 * MINUTE, nodes_ready, NULL))
        die(w, "nodes do not become ready");
    for (unsigned i = 0; i < APPS; i++)
        create_app(w, i);
    sim_run(&w->s, 2 * MINUTE);
    start_descheduler(w);
    w->s.faults = (struct sim_faults){ .refuse = 5, .lose = 10, .slow = 30, .slow_max = SLOW_MAX };
}

static void end(struct fixture *w)
{
    timer_cancel(w->judge);
    descheduler_free(w->descheduler);
    scheduler_free(w->scheduler);
    sim_stop_cluster(&w->s);
    informer_free(w->jobs);
    informer_free(w->reservations);
    informer_free(w->pdbs);
    vec_foreach(&w->pending, i)
        kobj_unref(w->pending.items[i].pod);
    vec_fini(&w->pending);
    vec_fini(&w->gone);
    vec_fini(&w->evictions);
    config_unref(w->config);
    config_unref(w->sched_config);
    sim_fini(&w->s);
}

/* Nothing is left that nobody needs: jobs that are not over, Reservations without a job. */
static void judge_end(struct fixture *w)
{
    struct kobj *o;

    judge_times(w);
    for (size_t it = 0; (o = informer_next(w->reservations, &it));) {
        const char *by = str_or(kstrmap_get(&o->meta.labels, LABEL_APP_CREATED_BY), "");
        if (!streq(by, APP_CREATED_BY_DESCHEDULER) || o->meta.owners.n == 0)
            continue;
        if (!informer_get(w->jobs, o->meta.owners.items[0].name))
            die(w, "Reservation %s is left, and its job %s is not", o->meta.name,
                o->meta.owners.items[0].name);
    }
}

static void run_seed(uint64_t seed, bool tell)
{
    struct fixture w;

    begin(&w, seed);
    for (nsec_t t = 0; t < 30 * MINUTE; t += STEP) {
        disturb(&w);
        sim_run(&w.s, STEP);
    }
    w.s.faults = (struct sim_faults){ 0 };
    sim_run(&w.s, 12 * MINUTE);
    judge_end(&w);
    if (tell)
        printf("seed %llu: %u jobs by hand (%u paused, %u edits), %u succeeded, %u failed, %u "
               "evictions with a place, %u without one by order, %u vanished, %u restarts, %u "
               "looks\n",
               (unsigned long long)seed, w.made, w.paused, w.edits, w.succeeded, w.failed,
               w.with_place, w.direct, w.vanished, w.restarts, w.judged);
    if (w.succeeded < 10 || w.with_place < 5)
        die(&w, "hardly a job succeeded: %u, %u", w.succeeded, w.with_place);
    end(&w);
}

/* Runs share no memory: a part of them for each processor. */
static int run_part(uint64_t first, uint64_t n, uint64_t part, uint64_t parts)
{
    for (uint64_t i = part; i < n; i += parts)
        run_seed(first + i, n <= 3);
    fflush(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc > 2                    ? strtoull(argv[2], NULL, 10)
                 : argc > 1                  ? 1
                 : getenv("KOORD_TEST_FULL") ? 2000
                                             : SEEDS;
    uint64_t parts = MIN(n, (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L));
    unsigned failed = 0;

    /* The same run each time: the order of maps decides who draws which fault. */
    hash_set_key(1, 2);
    klog_set_level(-1);
    if (parts == 1) {
        run_part(first, n, 0, 1);
    } else {
        for (uint64_t p = 0; p < parts; p++)
            if (fork() == 0)
                _exit(run_part(first, n, p, parts));
        for (int status; wait(&status) > 0;)
            failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    printf("sim_migration: %llu passed, %u failed\n", (unsigned long long)(n - failed), failed);
    return failed != 0;
}
