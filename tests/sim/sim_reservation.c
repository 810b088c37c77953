/* sim_reservation.c - Reservations of all policies and pods that own them, on one scheduler after
 * the other, with faults: judged by what the server holds, at every write. In every other run nodes
 * have CPU topologies, and Reservations and pods CPUs of their own.
 *
 * usage: sim_reservation [FIRST [COUNT]]; a run is its seed.
 */
#include "client/test/client_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/koord/reservation.h"
#include "api/protocol/keys.h"
#include "base/cpuset.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "sim_seeds.h"
#include "json/kj.h"

#define NODES_PATH   "/api/v1/nodes"
#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define TOPOLOGIES   "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define ALLOCATED    "scheduling.koordinator.sh/reservation-allocated"
#define SEC          NSEC_PER_SEC
enum { NODES = 4, NODE_CPU = 8, APPS = 3, STEPS = 60, SEEDS = 500, SHARED = 50 };

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_reservation, 5000, true }, { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

static const struct ks_registered with_cpus[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_node_numa_resource, 1, true },
    { &ks_plugin_reservation, 5000, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct sim {
    struct client_fixture client;
    struct scheduler *s;
    uint64_t seed;
    bool cpus; /* of their own, for some */
    int npods, nreservations;
    unsigned judged, binds, owners, placed, pinned;
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
    char name[16], node[16], of[64];
    int64_t mcpu;
    struct cpuset cpus;
};
struct held_reservation {
    char name[16], uid[64], node[16];
    bool available, once, restricted;
    struct cpuset cpus;
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

static struct cpuset cpus_of(const struct kj_val *annotations)
{
    const char *text = kj_str_or(kj_get(annotations, ANNO_RESOURCE_STATUS), "");
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct cpuset cpus = { 0 };

    if (*text && kj_parse(text, strlen(text), 0, &doc, NULL) == 0) {
        const char *list = kj_str_or(kj_get(kj_root(doc), "cpuset"), "");
        (void)cpuset_parse(list, strlen(list), &cpus, NULL);
    }
    return cpus;
}

static void see_pod(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = document(p->s, PODS, name), *of = NULL;
    const struct kj_val *v = kj_root(doc);
    struct held_pod x = { 0 };

    (void)ns, (void)version;
    (void)snprintf(x.node, sizeof x.node, "%s", kj_str_or(kj_path(v, "spec.nodeName"), ""));
    (void)snprintf(x.name, sizeof x.name, "%s", name);
    const struct kj_val *annotations = kj_path(v, "metadata.annotations");
    x.cpus = cpus_of(annotations);
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
    x.cpus = cpus_of(kj_path(v, "metadata.annotations"));
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

/* No CPU belongs to two pods. What a reservation holds is for its owners alone, who have nothing
 * else when it is Restricted. */
static void judge_cpus(const struct picture *p)
{
    vec_foreach(&p->pods, i) {
        const struct held_pod *x = &p->pods.items[i];
        for (size_t k = 0; k < i; k++) {
            const struct held_pod *o = &p->pods.items[k];
            struct cpuset both = cpuset_intersect(&x->cpus, &o->cpus);
            if (streq(x->node, o->node) && !cpuset_is_empty(&both))
                die(p->s, "two pods have the same CPU", x->name);
        }
        vec_foreach(&p->reservations, k) {
            const struct held_reservation *r = &p->reservations.items[k];
            struct cpuset both = cpuset_intersect(&x->cpus, &r->cpus);
            bool owns = streq(x->of, r->uid);
            if (!r->available || !streq(x->node, r->node) || (r->once && r->owners && !owns))
                continue;
            if (!owns && !cpuset_is_empty(&both))
                die(p->s, "a pod has a CPU that is reserved for others", x->name);
            if (owns && r->restricted && !cpuset_is_empty(&r->cpus) &&
                !cpuset_subset(&x->cpus, &r->cpus))
                die(p->s, "an owner has CPUs beside its Restricted reservation", x->name);
        }
    }
    vec_foreach(&p->reservations, i)
        for (size_t k = 0; k < i; k++) {
            const struct held_reservation *a = &p->reservations.items[i];
            const struct held_reservation *b = &p->reservations.items[k];
            struct cpuset both = cpuset_intersect(&a->cpus, &b->cpus);
            if (a->available && b->available && streq(a->node, b->node) &&
                !(a->once && a->owners) && !(b->once && b->owners) && !cpuset_is_empty(&both))
                die(p->s, "two reservations hold the same CPU", a->name);
        }
}

static void judge(struct sim *s)
{
    struct picture p;

    picture_take(s, &p);
    judge_nodes(&p);
    judge_reservations(&p);
    judge_cpus(&p);
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
                         &(struct scheduler_opts){ .plugins = s->cpus ? with_cpus : plugins,
                                                   .scheduler_names = names,
                                                   .verify_reuse = true },
                         &err);
    if (!s->s)
        die(s, "no scheduler", err.text);
    scheduler_start(s->s);
}

/* Labels of who gets CPUs of its own; "": it shares them. */
static const char *any_qos(struct sim *s)
{
    return s->cpus && below(s, 3) ? "\"koordinator.sh/qosClass\":\"LSR\","
                                    "\"koordinator.sh/priority-class\":\"koord-prod\","
                                  : "";
}

/* Two NUMA nodes with two cores each. */
static void put_topology(struct sim *s, int node)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char name[16];

    (void)snprintf(name, sizeof name, "n%d", node);
    strbuf_append(&b,
                  "{\"metadata\":{\"annotations\":{\"" ANNO_CPU_TOPOLOGY "\":\"{\\\"detail\\\":[");
    for (int i = 0; i < NODE_CPU; i++)
        strbuf_appendf(&b, "%s{\\\"id\\\":%d,\\\"core\\\":%d,\\\"socket\\\":%d,\\\"node\\\":%d}",
                       i ? "," : "", i, i / 2, i / 4, i / 4);
    strbuf_append(&b, "]}\"}},\"zones\":[]}");
    fake_put(s->client.fake, TOPOLOGIES, name, strbuf_str(&b));
}

static void new_reservation(struct sim *s)
{
    static const char *const policies[] = { "", "Aligned", "Restricted" };
    char name[16], when[KTIME_TEXT_MAX];
    unsigned app = below(s, APPS), policy = below(s, 3);
    bool takes_over = policy == 2 && below(s, 3) == 0; /* the room of pods that run */

    (void)snprintf(name, sizeof name, "r%d", s->nreservations++);
    ktime_format(loop_wall(s->client.loop), when);
    /* Default does not go together with the others on a node: one policy an application. */
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"creationTimestamp\":\"%s\"},\"spec\":{\"ttl\":\"%ds\",\"allocateOnce\":%s"
        ",\"allocatePolicy\":\"%s\",\"preAllocation\":%s,\"owners\":[{\"labelSelector\":{"
        "\"matchLabels\":{\"app\":"
        "\"a%u\"}}}],\"template\":{\"metadata\":{\"labels\":{%s\"r\":\"\"}},\"spec\":{"
        "\"schedulerName\":\"koord-scheduler\",\"containers\":["
        "{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]}}}}",
        when, below(s, 3) ? 3600 : (int)(5 + below(s, 60)), below(s, 2) ? "true" : "false",
        policies[policy], takes_over ? "true" : "false", app, any_qos(s), 1 + below(s, 5));
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
        "{\"metadata\":{\"labels\":{%s\"app\":\"a%u\"}%s},\"spec\":{\"schedulerName\":"
        "\"koord-scheduler\",\"priority\":%u,\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%u\"}}}]}}",
        any_qos(s), below(s, APPS + 1), annotations, 10 * below(s, 3), 1 + below(s, 4));
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
    vec_foreach(&p.pods, i)
        s->pinned += !cpuset_is_empty(&p.pods.items[i].cpus) && *p.pods.items[i].of;
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
    struct sim s = { .seed = seed, .cpus = seed % 2 };
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
        if (s.cpus && below(&s, 4)) /* the others come later */
            put_topology(&s, i);
    }
    scheduler_born(&s);
    set_faults(&s, seed % 4 != 0);
    for (int i = 0; i < STEPS; i++) {
        change_something(&s);
        if (s.cpus && below(&s, 10) == 0)
            put_topology(&s, (int)below(&s, NODES));
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
    sum->pinned += s.pinned;
}

/* Runs [first, first + n). Returns how many things are wrong with them. */
static int run_all(uint64_t first, uint64_t n)
{
    struct sim sum = { 0 };

    for (uint64_t i = 0; i < n; i++)
        run(first + i, &sum);
    printf("%llu runs: %u writes judged, %u bindings, %u reservations placed, %u owners, %u "
           "of them with CPUs\n",
           (unsigned long long)n, sum.judged, sum.binds, sum.placed, sum.owners, sum.pinned);
    bool idle = sum.owners == 0 ||
                (n > 10 && sum.pinned == 0); /* runs in which nothing happens prove nothing */
    printf("sim_reservation: %llu passed, %d failed\n", (unsigned long long)(idle ? 0 : n), idle);
    return idle;
}

int main(int argc, char **argv)
{
    static const struct sim_seeds seeds = { SEEDS, 10000, SHARED, run_all };

    return sim_seeds_main(&seeds, argc, argv);
}
