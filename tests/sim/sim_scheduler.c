/* sim_scheduler.c - whole runs of the scheduler with faults, from a seed: 20 nodes, 100 pods, ten
 * minutes; everything that can break does, and so does the scheduler.
 *
 *     sim_scheduler [FIRST [COUNT]]      runs these seeds; 1000 from 1, 10000 with KOORD_TEST_FULL
 */
#include "sim_scheduler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "json/kj.h"

#define SEC NSEC_PER_SEC
/* A pod that was turned down is tried again after five minutes at the latest: so long it takes
 * until all has been said that there is to say. */
#define TROUBLE (200 * SEC)
#define QUIET   (400 * SEC)

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
                (double)loop_mono(s->loop) / SEC, text);
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

/* ---- pods ------------------------------------------------------------------------------------ */

static void pod_gone(struct sim *s, struct sim_pod *p)
{
    p->alive = p->dying = false;
    p->end = timer_cancel(p->end);
    /* It may have been the one for whom room was made, before it was told. */
    for (size_t i = s->owed.n; p->node == SIM_NOWHERE && i-- > 0;)
        if (p->priority > s->owed.items[i].priority)
            vec_swap_remove(&s->owed, i);
}

static void on_grace_over(struct loop *l, void *arg)
{
    struct sim_pod *p = arg;
    (void)l;
    p->end = NULL;
    fake_delete(p->sim->fake, PODS, p->name);
    pod_gone(p->sim, p);
}

void sim_pod_evicted(struct sim *s, struct sim_pod *p)
{
    if (p->node == SIM_NOWHERE) {
        pod_gone(s, p);
        return;
    }
    p->dying = true;
    if (!p->end)
        p->end = loop_after(s->loop, sim_below(s, 30) * SEC, on_grace_over, p);
}

static void delete_pod(struct sim *s, struct sim_pod *p)
{
    fake_delete(s->fake, PODS, p->name);
    pod_gone(s, p);
}

static struct sim_pod *any_pod(struct sim *s)
{
    struct sim_pod *p = s->npods ? &s->pods[sim_below(s, s->npods)] : NULL;
    return p && p->alive ? p : NULL;
}

static void write_affinity(const struct sim_pod *p, struct strbuf *b)
{
    static const char term[] =
        "\"%s\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"%s\","
        "\"labelSelector\":{\"matchLabels\":{\"app\":\"a%d\"}}}]}";

    if (p->near == SIM_NOWHERE && !p->alone)
        return;
    strbuf_append(b, ",\"affinity\":{");
    if (p->near != SIM_NOWHERE)
        strbuf_appendf(b, term, "podAffinity", "zone", p->near);
    strbuf_append(b, p->near != SIM_NOWHERE && p->alone ? "," : "");
    if (p->alone)
        strbuf_appendf(b, term, "podAntiAffinity", "kubernetes.io/hostname", p->app);
    strbuf_append(b, "}");
}

static void put_pod(struct sim *s, struct sim_pod *p)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    strbuf_appendf(&b,
                   "{\"metadata\":{\"labels\":{\"app\":\"a%d\"}},\"spec\":{\"schedulerName\":"
                   "\"koord-scheduler\",\"priority\":%d,\"containers\":[{\"name\":\"c\","
                   "\"resources\":{\"requests\":{\"cpu\":\"%dm\",\"memory\":\"%dMi\"}}",
                   p->app, p->priority, p->mcpu, p->mib);
    if (p->port)
        strbuf_appendf(&b, ",\"ports\":[{\"containerPort\":80,\"hostPort\":%d}]", p->port);
    strbuf_append(&b, "}]");
    write_affinity(p, &b);
    if (p->needs_ssd)
        strbuf_append(&b, ",\"nodeSelector\":{\"disk\":\"ssd\"}");
    if (p->tolerates)
        strbuf_append(&b, ",\"tolerations\":[{\"key\":\"t\",\"operator\":\"Exists\"}]");
    if (p->spread)
        strbuf_appendf(&b,
                       ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
                       "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":"
                       "{\"app\":\"a%d\"}}}]",
                       p->app);
    if (p->gated)
        strbuf_append(&b, ",\"schedulingGates\":[{\"name\":\"g\"}]");
    strbuf_append(&b, "}}");
    fake_put(s->fake, PODS, p->name, strbuf_str(&b));
    const char *json = fake_find(s->fake, PODS, p->name);
    if (kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        sim_fail(s, "unreadable");
    const char *uid = kj_str_or(kj_path(kj_root(doc), "metadata.uid"), "");
    p->uid = kuid_parse(uid, strlen(uid));
}

static void new_pod(struct sim *s)
{
    if (s->npods == SIM_PODS)
        return;
    const struct sim_pod *dead =
        sim_chance(s, 20) && s->npods ? &s->pods[sim_below(s, s->npods)] : NULL;
    struct sim_pod *p = &s->pods[s->npods];
    *p = (struct sim_pod){
        .mcpu = 100 + 100 * sim_below(s, 20),
        .mib = 64 * (1 + sim_below(s, 20)),
        .priority = sim_chance(s, 60) ? 0 : 100 * sim_below(s, 4),
        .app = sim_below(s, SIM_APPS),
        .port = sim_chance(s, 10) ? 8000 + sim_below(s, 2) : 0,
        .near = sim_chance(s, 10) ? sim_below(s, SIM_APPS) : SIM_NOWHERE,
        .needs_ssd = sim_chance(s, 15),
        .tolerates = sim_chance(s, 20),
        .alone = sim_chance(s, 10),
        .spread = sim_chance(s, 10),
        .gated = sim_chance(s, 10),
        .alive = true,
        .node = SIM_NOWHERE,
        .nominated = SIM_NOWHERE,
        .sim = s,
    };
    (void)snprintf(p->name, sizeof p->name, "p%d", s->npods);
    if (dead && !dead->alive && !fake_find(s->fake, PODS, dead->name))
        memcpy(p->name, dead->name, sizeof p->name);
    s->npods++;
    put_pod(s, p);
}

/* Deleted at once, in its own time, or it has done its work. */
static void end_pod(struct sim *s)
{
    struct sim_pod *p = any_pod(s);

    if (!p || p->dying)
        return;
    switch (sim_below(s, 3)) {
    case 0: delete_pod(s, p); break;
    case 1:
        if (p->node == SIM_NOWHERE) {
            delete_pod(s, p);
            break;
        }
        fake_patch(s->fake, PODS, p->name,
                   "{\"metadata\":{\"deletionTimestamp\":\"2025-11-15T10:00:00Z\"}}");
        sim_pod_evicted(s, p);
        break;
    case 2:
        if (p->node == SIM_NOWHERE)
            break;
        fake_patch(s->fake, PODS, p->name, "{\"status\":{\"phase\":\"Succeeded\"}}");
        pod_gone(s, p);
        break;
    }
}

/* What may be changed of a pod that waits. */
static void change_pod(struct sim *s)
{
    struct sim_pod *p = any_pod(s);

    if (!p || p->node != SIM_NOWHERE)
        return;
    if (p->gated) {
        p->gated = false;
        fake_patch(s->fake, PODS, p->name, "{\"spec\":{\"schedulingGates\":null}}");
    } else {
        p->tolerates = true;
        fake_patch(s->fake, PODS, p->name,
                   "{\"spec\":{\"tolerations\":[{\"key\":\"t\",\"operator\":\"Exists\"}]}}");
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_node(struct sim *s, struct sim_node *n)
{
    char body[768];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"%s\",\"zone\":\"z%d\","
                   "\"disk\":\"%s\"}},\"spec\":{\"unschedulable\":%s%s},\"status\":{\"allocatable\""
                   ":{\"cpu\":\"%dm\",\"memory\":\"%dMi\",\"pods\":\"%d\"}}}",
                   n->name, n->zone, n->ssd ? "ssd" : "disk", n->now.cordoned ? "true" : "false",
                   n->now.tainted ? ",\"taints\":[{\"key\":\"t\",\"effect\":\"NoSchedule\"}]" : "",
                   n->now.room.mcpu, n->now.room.mib, n->now.room.pods);
    fake_put(s->fake, SIM_NODES_PATH, n->name, body);
    n->alive = true;
    n->now.revision = fake_revision(s->fake);
    vec_push(&n->versions, n->now);
}

static struct sim_room any_room(struct sim *s)
{
    return (struct sim_room){ 1000 + 1000 * sim_below(s, 5), 1024 * (1 + sim_below(s, 5)),
                              2 + sim_below(s, 7) };
}

static void change_node(struct sim *s)
{
    struct sim_node *n = &s->nodes[sim_below(s, SIM_NODES)];

    switch (sim_below(s, 3)) {
    case 0: n->now.cordoned = !n->now.cordoned && sim_chance(s, 50); break;
    case 1: n->now.tainted = !n->now.tainted && sim_chance(s, 70); break;
    case 2: n->now.room = any_room(s); break;
    }
    put_node(s, n); /* also one that was gone */
}

static void delete_node(struct sim *s)
{
    int k = sim_below(s, SIM_NODES);

    if (!s->nodes[k].alive)
        return;
    fake_delete(s->fake, SIM_NODES_PATH, s->nodes[k].name);
    s->nodes[k].alive = false;
    if (sim_chance(s, 50)) /* the garbage collector was here */
        for (int i = 0; i < s->npods; i++)
            if (s->pods[i].alive && s->pods[i].node == k)
                delete_pod(s, &s->pods[i]);
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
                                   .slow_max = 3 * SEC,
                               });
}

static void start_scheduler(struct sim *s)
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
    n->s = scheduler_new(
        s->loop, n->kube,
        &(struct scheduler_opts){ .plugins = plugins_for(n), .verify_reuse = true }, &err);
    if (!n->s)
        sim_fail(s, "%s", err.text);
    scheduler_start(n->s);
}

static void stop_scheduler(struct sim_scheduler *n)
{
    if (!n->s)
        return;
    n->s = scheduler_free(n->s);
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
    if (sim_chance(s, 50)) {
        stop_scheduler(old);
        loop_advance(s->loop, sim_below(s, 2) * sim_below(s, 5000) * NSEC_PER_MSEC);
        start_scheduler(s);
    } else {
        start_scheduler(s);
        loop_advance(s->loop, sim_below(s, 5000) * NSEC_PER_MSEC);
        stop_scheduler(old);
    }
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
        for (int n = sim_below(s, 4); n >= 0; n--)
            new_pod(s);
    else if (dice < 55)
        end_pod(s);
    else if (dice < 63)
        change_pod(s);
    else if (dice < 75)
        change_node(s);
    else if (dice < 80)
        delete_node(s);
    else if (dice < 95)
        disturb(s);
    else if (dice < 97)
        loop_set_wall(s->loop, loop_wall(s->loop) + (sim_below(s, 7200) - 3600) * SEC);
    else
        change_leader(s);
    loop_advance(s->loop, sim_below(s, 5000) * NSEC_PER_MSEC);
    judge_step(s);
}

static void calm(struct sim *s)
{
    s->faults = 0;
    s->chaos = false;
    set_faults(s, vec_last(&s->schedulers));
    fake_slow(s->fake, 0);
    fake_answer_next(s->fake, 0, 0, -1);
    fake_replay_on_watch(s->fake, 0);
    loop_advance(s->loop, QUIET);
}

static uint64_t first = 1, count = 1000;

static void sim_start(struct sim *s, uint64_t seed)
{
    hash_set_key(seed, 1); /* it decides the order of maps */
    klog_set_sink(getenv("SIMLOG") && seed == first ? NULL : rig_quiet, NULL);
    if (getenv("SIMLOG")) klog_set_level(6);
    s->seed = seed;
    s->loop = loop_new_virtual(WALL0, seed);
    klog_set_clock(loop_wall_hook, s->loop);
    s->strings = intern_new();
    s->fake = fake_new(s->loop);
    fake_late(s->fake, true);
    fake_graceful(s->fake, true);
    fake_on_write(s->fake, judge_wrote, s);
    s->faults = (unsigned)sim_below(s, 4) * 8;
    s->chaos = sim_chance(s, 75);
    for (int k = 0; k < SIM_NODES; k++) {
        struct sim_node *n = &s->nodes[k];
        (void)snprintf(n->name, sizeof n->name, "n%d", k);
        n->zone = k % SIM_ZONES;
        n->ssd = sim_chance(s, 30);
        n->now.room = any_room(s);
        put_node(s, n);
    }
    start_scheduler(s);
}

static void sim_stop(struct sim *s)
{
    vec_foreach(&s->schedulers, i) {
        stop_scheduler(s->schedulers.items[i]);
        holds_free(s->schedulers.items[i]);
        free(s->schedulers.items[i]);
    }
    vec_fini(&s->schedulers);
    vec_fini(&s->owed);
    for (int i = 0; i < s->npods; i++)
        timer_cancel(s->pods[i].end);
    for (int k = 0; k < SIM_NODES; k++)
        vec_fini(&s->nodes[k].versions);
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
    sim_stop(s);
    running = NULL;
    return sum;
}


static void test_invariants_hold_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++)
        run(seed);
    print_message("%llu runs: %llu pods bound (%llu of them after their scheduler was gone), %llu "
                  "bindings refused, %llu undone, %llu waits for a permit, %llu evicted, %llu "
                  "leaders, %llu pods without room\n",
                  (unsigned long long)count, (unsigned long long)total.bound,
                  (unsigned long long)total.late, (unsigned long long)total.refused,
                  (unsigned long long)total.undone, (unsigned long long)total.waited,
                  (unsigned long long)total.evicted, (unsigned long long)total.leaders,
                  (unsigned long long)total.pending);
    if (count < 100)
        return;
    /* The runs are worth something only if all of it happened. */
    assert_true(total.late && total.refused && total.undone && total.waited && total.evicted);
    assert_true(total.leaders && total.pending);
}

static void test_a_seed_gives_the_same_run_again(void **state)
{
    (void)state;
    assert_true(run(7) == run(7));
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invariants_hold_under_faults),
        cmocka_unit_test(test_a_seed_gives_the_same_run_again),
    };

    count = getenv("KOORD_TEST_FULL") ? 10000 : count;
    first = argc > 1 ? strtoull(argv[1], NULL, 10) : first;
    count = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : count;
    (void)signal(SIGABRT, on_abort);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
