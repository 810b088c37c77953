/* sim_reservation.c - Reservations of all policies and pods that own them, on one scheduler after
 * the other, with faults: judged by what the server holds, at every write.
 *
 * usage: sim_reservation [FIRST [COUNT]]; a run is its seed.
 */
#include "client/test/client_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/koord/reservation.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

#define NODES_PATH   "/api/v1/nodes"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define ALLOCATED    "scheduling.koordinator.sh/reservation-allocated"
#define SEC          NSEC_PER_SEC
enum { NODES = 4, NODE_CPU = 8, APPS = 3, STEPS = 60, SEEDS = 500, SHARED = 50 };

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_reservation, 5000, true }, { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

struct sim {
    struct client_fixture client;
    struct scheduler *s;
    uint64_t seed;
    int npods, nreservations;
    unsigned judged, binds, owners, placed;
    struct map nodes; /* name of a reservation -> where the server had it first */
};

static void die(const struct sim *s, const char *what, const char *name)
{
    fprintf(stderr, "seed %llu: %s: %s\n", (unsigned long long)s->seed, what, name);
    abort();
}

static unsigned below(struct sim *s, unsigned n)
{
    return (unsigned)loop_rand_below(s->client.loop, n);
}

/* ---- what the server holds -------------------------------------------------------------------- */

struct held_pod {
    char node[16], of[64];
    int64_t mcpu;
};
struct held_reservation {
    char name[16], uid[64], node[16];
    bool available, once, restricted;
    int64_t mcpu, taken, told;
    int owners, told_owners;
};
struct picture {
    struct sim *s;
    struct vec_of(struct held_pod) pods;
    struct vec_of(struct held_reservation) reservations;
};

static int64_t mcpu_of(const struct kj_val *v)
{
    struct qty q;
    const char *text = kj_str_or(v, "0");
    return qty_parse(text, strlen(text), &q, NULL) == 0 ? resource_count("cpu", q) : 0;
}

static struct kj_doc *document(const struct sim *s, const char *collection, const char *name)
{
    struct kj_doc *doc = NULL;
    const char *json = fake_find(s->client.fake, collection, name);

    return json && kj_parse(json, strlen(json), 0, &doc, NULL) == 0 ? doc : NULL;
}

static void see_pod(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = document(p->s, PODS, name), *of = NULL;
    const struct kj_val *v = kj_root(doc);
    struct held_pod x = { 0 };

    (void)ns, (void)version;
    (void)snprintf(x.node, sizeof x.node, "%s", kj_str_or(kj_path(v, "spec.nodeName"), ""));
    const struct kj_val *annotations = kj_path(v, "metadata.annotations");
    const char *text = kj_str_or(kj_get(annotations, ALLOCATED), "");
    if (*text && kj_parse(text, strlen(text), 0, &of, NULL) == 0)
        (void)snprintf(x.of, sizeof x.of, "%s", kj_str_or(kj_get(kj_root(of), "uid"), ""));
    const struct kj_val *c = kj_at(kj_path(v, "spec.containers"), 0);
    x.mcpu = mcpu_of(kj_path(c, "resources.requests.cpu"));
    if (*x.node)
        vec_push(&p->pods, x);
}

static void see_reservation(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = document(p->s, RESERVATIONS, name);
    const struct kj_val *v = kj_root(doc);
    struct held_reservation x = { .once = kj_bool(kj_path(v, "spec.allocateOnce"), true) };

    (void)ns, (void)version;
    (void)snprintf(x.name, sizeof x.name, "%s", name);
    (void)snprintf(x.uid, sizeof x.uid, "%s", kj_str_or(kj_path(v, "metadata.uid"), ""));
    (void)snprintf(x.node, sizeof x.node, "%s", kj_str_or(kj_path(v, "status.nodeName"), ""));
    x.available = streq(kj_str_or(kj_path(v, "status.phase"), ""), "Available");
    x.restricted = streq(kj_str_or(kj_path(v, "spec.allocatePolicy"), ""), "Restricted");
    x.mcpu = mcpu_of(kj_path(v, "status.allocatable.cpu"));
    x.told = mcpu_of(kj_path(v, "status.allocated.cpu"));
    x.told_owners = (int)kj_len(kj_path(v, "status.currentOwners"));
    vec_push(&p->reservations, x);
}

static void picture_fini(struct picture *p)
{
    vec_fini(&p->pods);
    vec_fini(&p->reservations);
}

static void picture_take(struct sim *s, struct picture *p)
{
    *p = (struct picture){ .s = s };
    fake_each(s->client.fake, "pods", see_pod, p);
    fake_each(s->client.fake, "reservations", see_reservation, p);
    vec_foreach(&p->reservations, i) {
        struct held_reservation *r = &p->reservations.items[i];
        vec_foreach(&p->pods, k) {
            const struct held_pod *x = &p->pods.items[k];
            if (!streq(x->of, r->uid))
                continue;
            r->taken += x->mcpu;
            r->owners++;
        }
    }
}

/* ---- the judge -------------------------------------------------------------------------------- */

/* What is reserved is there: pods and what their reservations still hold fit the node. A
 * reservation for one pod that has it holds nothing any more. */
static void judge_nodes(const struct picture *p)
{
    for (int n = 0; n < NODES; n++) {
        char name[16];
        int64_t sum = 0;
        (void)snprintf(name, sizeof name, "n%d", n);
        vec_foreach(&p->pods, i)
            sum += streq(p->pods.items[i].node, name) ? p->pods.items[i].mcpu : 0;
        vec_foreach(&p->reservations, i) {
            const struct held_reservation *r = &p->reservations.items[i];
            if (r->available && streq(r->node, name) && !(r->once && r->owners))
                sum += MAX(r->mcpu - r->taken, 0);
        }
        if (sum > NODE_CPU * 1000)
            die(p->s, "a node is given away beyond its size", name);
    }
}

static void judge_reservations(const struct picture *p)
{
    vec_foreach(&p->reservations, i) {
        const struct held_reservation *r = &p->reservations.items[i];
        if (r->once && r->owners > 1)
            die(p->s, "a reservation for one pod has more", r->name);
        if (r->restricted && r->available && r->taken > r->mcpu)
            die(p->s, "a Restricted reservation has given more than it has", r->name);
        const char *was = map_getz(&p->s->nodes, r->uid);
        if (was && !streq(was, r->node))
            die(p->s, "a placed reservation has moved", r->name);
        if (!was && *r->node)
            map_putz(&p->s->nodes, xstrdup(r->uid), xstrdup(r->node));
    }
}

static void judge(struct sim *s)
{
    struct picture p;

    picture_take(s, &p);
    judge_nodes(&p);
    judge_reservations(&p);
    s->judged++;
    picture_fini(&p);
}

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct sim *s = arg;

    (void)agent, (void)method, (void)body;
    if (strstr(target, "/events"))
        return;
    s->binds += strstr(target, "/binding") != NULL;
    judge(s);
}

/* ---- what happens ----------------------------------------------------------------------------- */

static void scheduler_born(struct sim *s)
{
    struct kerr err = { 0 };
    static const char *const names[] = { "koord-scheduler", NULL };

    s->s = scheduler_new(s->client.loop, s->client.kube,
                         &(struct scheduler_opts){
                             .plugins = plugins, .scheduler_names = names, .verify_reuse = true },
                         &err);
    if (!s->s)
        die(s, "no scheduler", err.text);
    scheduler_start(s->s);
}

static void new_reservation(struct sim *s)
{
    static const char *const policies[] = { "", "Aligned", "Restricted" };
    char name[16], when[KTIME_TEXT_MAX];
    unsigned app = below(s, APPS);

    (void)snprintf(name, sizeof name, "r%d", s->nreservations++);
    ktime_format(loop_wall(s->client.loop), when);
    /* Default does not go together with the others on a node: one policy an application. */
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"creationTimestamp\":\"%s\"},\"spec\":{\"ttl\":\"%ds\",\"allocateOnce\":%s"
        ",\"allocatePolicy\":\"%s\",\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":"
        "\"a%u\"}}}],\"template\":{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":["
        "{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]}}}}",
        when, below(s, 3) ? 3600 : (int)(5 + below(s, 60)), below(s, 2) ? "true" : "false",
        policies[below(s, 3)], app, 1 + below(s, 5));
    fake_put(s->client.fake, RESERVATIONS, name, body);
}

static void new_pod(struct sim *s)
{
    char name[16];
    CLEANUP(mem_free) char *annotations = NULL;

    (void)snprintf(name, sizeof name, "p%d", s->npods++);
    annotations = below(s, 4) ? xstrdup("")
                              : xstrdup(",\"annotations\":{\"scheduling.koordinator.sh/"
                                        "reservation-affinity\":\"{}\"}");
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"labels\":{\"app\":\"a%u\"}%s},\"spec\":{\"schedulerName\":"
        "\"koord-scheduler\",\"priority\":%u,\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%u\"}}}]}}",
        below(s, APPS + 1), annotations, 10 * below(s, 3), 1 + below(s, 4));
    fake_put(s->client.fake, PODS, name, body);
}

static void change_something(struct sim *s)
{
    char name[16];

    switch (below(s, 12)) {
    case 0:
    case 1:
    case 2: new_reservation(s); break;
    case 3:
    case 4:
    case 5:
    case 6: new_pod(s); break;
    case 7:
        (void)snprintf(name, sizeof name, "p%u", below(s, (unsigned)s->npods + 1));
        fake_delete(s->client.fake, PODS, name);
        break;
    case 8:
        (void)snprintf(name, sizeof name, "r%u", below(s, (unsigned)s->nreservations + 1));
        fake_delete(s->client.fake, RESERVATIONS, name);
        break;
    case 9:
        (void)snprintf(name, sizeof name, "r%u", below(s, (unsigned)s->nreservations + 1));
        if (fake_find(s->client.fake, RESERVATIONS, name))
            fake_patch(s->client.fake, RESERVATIONS, name,
                       "{\"metadata\":{\"labels\":{\"touched\":\"yes\"}}}");
        break;
    case 10: fake_break_connections(s->client.fake); break;
    case 11: /* killed, and another one comes */
        if (below(s, 3))
            break;
        scheduler_free(s->s);
        scheduler_born(s);
        break;
    }
}

static void set_faults(struct sim *s, bool on)
{
    struct http_faults f = { 0 };

    if (on)
        f = (struct http_faults){ .refuse = 20,
                                  .lose_answer = 40,
                                  .reset = 20,
                                  .status_500 = 20,
                                  .status_429 = 10,
                                  .slow = 200,
                                  .slow_max = 3 * SEC };
    http_fault_set(s->client.faulty, &f);
}

/* ---- a run ------------------------------------------------------------------------------------ */

/* Everything has come to rest: what statuses say is true. */
static void judge_end(struct sim *s)
{
    struct kerr err = { 0 };
    struct picture p;

    if (scheduler_verify(s->s, &err) < 0)
        die(s, "the cache is wrong", err.text);
    picture_take(s, &p);
    vec_foreach(&p.reservations, i) {
        const struct held_reservation *r = &p.reservations.items[i];
        s->placed += *r->node != '\0';
        s->owners += (unsigned)r->owners;
        if (r->available && (r->told != r->taken || r->told_owners != r->owners))
            die(s, "the status does not tell the truth", r->name);
        if (r->available && r->once && r->owners)
            die(s, "a reservation for one pod has it, and does not say so", r->name);
    }
    picture_fini(&p);
}

static void run(uint64_t seed, struct sim *sum)
{
    struct sim s = { .seed = seed };
    char name[16], body[256];

    hash_set_key(seed, 1); /* it decides the order of maps */
    client_fixture_init(&s.client, seed);
    fake_on_write(s.client.fake, on_write, &s);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        (void)snprintf(body, sizeof body,
                       "{\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"32Gi\",\"pods\":"
                       "\"30\"}}}",
                       NODE_CPU);
        fake_put(s.client.fake, NODES_PATH, name, body);
    }
    scheduler_born(&s);
    set_faults(&s, seed % 4 != 0);
    for (int i = 0; i < STEPS; i++) {
        change_something(&s);
        client_fixture_run(&s.client, (nsec_t)below(&s, 4000) * NSEC_PER_MSEC);
    }
    set_faults(&s, false);
    client_fixture_run(&s.client, 900 * SEC);
    judge(&s);
    judge_end(&s);
    scheduler_free(s.s);
    client_fixture_fini(&s.client);
    map_foreach(&s.nodes, e) {
        free((char *)e->key);
        free(e->value);
    }
    map_fini(&s.nodes);
    sum->judged += s.judged;
    sum->binds += s.binds;
    sum->owners += s.owners;
    sum->placed += s.placed;
}

/* Runs [first, first + n). Returns how many things are wrong with them. */
static int run_all(uint64_t first, uint64_t n)
{
    struct sim sum = { 0 };

    for (uint64_t i = 0; i < n; i++)
        run(first + i, &sum);
    printf("%llu runs: %u writes judged, %u bindings, %u reservations placed, %u owners\n",
           (unsigned long long)n, sum.judged, sum.binds, sum.placed, sum.owners);
    bool idle = sum.owners == 0; /* runs in which nothing happens prove nothing */
    printf("sim_reservation: %llu passed, %d failed\n", (unsigned long long)(idle ? 0 : n), idle);
    return idle;
}

/* Many runs are shared among processes; a run needs nothing of another. */
static int share_out(uint64_t first, uint64_t n, unsigned processes)
{
    int failed = 0, status;

    (void)fflush(stdout);
    for (unsigned i = 0; i < processes; i++) {
        uint64_t from = n * i / processes, to = n * (i + 1) / processes;
        pid_t pid = fork();
        if (pid == 0)
            exit(run_all(first + from, to - from));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed;
}

int main(int argc, char **argv)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n =
        argc > 2 ? strtoull(argv[2], NULL, 10) : (getenv("KOORD_TEST_FULL") ? 10000 : SEEDS);

    if (n < SHARED || cpus < 2)
        return run_all(first, n);
    return share_out(first, n, (unsigned)MIN(cpus, 8)) != 0;
}
