/* sim_topology.c - gangs that gather in a network, on one scheduler after the other, with faults:
 * judged by what the server holds, at every write (sched-gang 7).
 *
 * usage: sim_topology [FIRST [COUNT]]; a run is its seed.
 *
 *     at every write   no node is given more than it has; members of a gang are in one domain of
 * the layer where they must gather; a gang that never ran has as many members as it needs when the
 * first is bound at rest          a gang for which some domain has room runs, and so do members
 * that came later and have room beside the others; nobody waits for the five-minute flush
 */
#include "client/test/client_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "component/gates.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "sim_seeds.h"
#include "json/kj.h"

#define NODES_PATH "/api/v1/nodes"
#define PODGROUPS  "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/ns/podgroups"
#define TOPOLOGIES "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
#define SEC        NSEC_PER_SEC
enum {
    NODES = 12,
    NODE_CPU = 4,
    GANGS_MAX = 12,
    MEMBERS_MAX = 9,
    STEPS = 40,
    SEEDS = 200,
    SHARED = 40
};

static const struct ks_registered plugins[] = {
    { &ks_plugin_scheduling_gates, 0, true },
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_unschedulable, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_coscheduling, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* Layers: 0 the cluster, 1 spines of six nodes, 2 blocks of three, 3 nodes. */
static const char *const layers[] = { "ClusterTopologyLayer", "SpineLayer", "BlockLayer",
                                      "NodeTopologyLayer" };
static int domain_of(int node, int layer)
{
    const int size[] = { NODES, 6, 3, 1 };

    return node / size[layer];
}

struct gang {
    int min, cpu, must; /* must: a layer */
    int members;        /* pods made so far: g<i>-<k> */
    bool lost;          /* a member was deleted, or a node under one */
    bool ran;           /* one of them had a node once */
};
struct sim {
    struct client_fixture client;
    struct scheduler *s;
    struct gates gates;
    uint64_t seed;
    struct gang gangs[GANGS_MAX];
    int ngangs, nsingle;
    unsigned judged, binds, whole, late, victims;
};

static void die(const struct sim *s, const char *what, const char *name)
{
    fprintf(stderr, "seed %llu: %s: %s\n", (unsigned long long)s->seed, what, name);
    abort();
}

static bool has_faults(const struct sim *s)
{
    return s->seed % 4 != 0;
}

/* A gang is placed in one piece (gate EnableInlineBatchSchedule). */
static bool batches(const struct sim *s)
{
    return s->seed % 5 < 2;
}

/* Gangs evict single pods. */
static bool preempts(const struct sim *s)
{
    return s->seed % 3 == 0;
}

static unsigned below(struct sim *s, unsigned n)
{
    return (unsigned)loop_rand_below(s->client.loop, n);
}

/* ---- what the server holds ------------------------------------------------------------------- */

struct held {
    int gang, node, cpu; /* -1: none */
};
struct picture {
    struct sim *s;
    struct vec_of(struct held) pods;
    bool there[NODES];
    int used[NODES];
    int singles[NODES]; /* of that: by pods of no gang */
};

static void see_pod(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *json = fake_find(p->s->client.fake, PODS, name);
    struct held x = { -1, -1, 0 };

    (void)ns, (void)version;
    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        return;
    const char *node = kj_str_or(kj_path(kj_root(doc), "spec.nodeName"), "");
    const char *cpu = kj_str_or(
        kj_path(kj_at(kj_path(kj_root(doc), "spec.containers"), 0), "resources.requests.cpu"), "0");
    x.gang = *name == 'g' ? atoi(name + 1) : -1;
    x.node = *node ? atoi(node + 1) : -1;
    x.cpu = atoi(cpu);
    vec_push(&p->pods, x);
    if (x.node >= 0)
        p->used[x.node] += x.cpu;
    if (x.node >= 0 && x.gang < 0)
        p->singles[x.node] += x.cpu;
}

static void see_node(void *arg, const char *ns, const char *name, const char *version)
{
    struct picture *p = arg;

    (void)ns, (void)version;
    p->there[atoi(name + 1)] = true;
}

static void picture_take(struct sim *s, struct picture *p)
{
    *p = (struct picture){ .s = s };
    fake_each(s->client.fake, "nodes", see_node, p);
    fake_each(s->client.fake, "pods", see_pod, p);
}

/* Members of a gang: with a node, on one that is there, or without. */
static int count(const struct picture *p, int gang, bool placed)
{
    int n = 0;

    vec_foreach(&p->pods, i)
        n += p->pods.items[i].gang == gang && (p->pods.items[i].node >= 0) == placed;
    return n;
}

/* ---- the judge ------------------------------------------------------------------------------- */

static const char *gang_name(int i)
{
    static char name[16];

    (void)snprintf(name, sizeof name, "g%d", i);
    return name;
}

/* The domain of the layer where members are; -1: none is anywhere, -2: in several. */
static int domain_of_gang(const struct picture *p, int gang)
{
    int domain = -1;

    vec_foreach(&p->pods, i) {
        const struct held *x = &p->pods.items[i];
        if (x->gang != gang || x->node < 0 || !p->there[x->node])
            continue;
        int of = domain_of(x->node, p->s->gangs[gang].must);
        if (domain >= 0 && domain != of)
            return -2;
        domain = of;
    }
    return domain;
}

static void judge(struct sim *s)
{
    struct picture p;

    picture_take(s, &p);
    for (int i = 0; i < NODES; i++)
        if (p.there[i] && p.used[i] > NODE_CPU)
            die(s, "a node is given away beyond its size", "");
    for (int i = 0; i < s->ngangs; i++) {
        struct gang *g = &s->gangs[i];
        int placed = count(&p, i, true);
        if (domain_of_gang(&p, i) == -2)
            die(s, "members are in several domains", gang_name(i));
        if (!g->ran && placed && !g->lost && placed + count(&p, i, false) < g->min)
            die(s, "a gang begins without enough members", gang_name(i));
        g->ran |= placed > 0;
    }
    s->judged++;
    vec_fini(&p.pods);
}

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct sim *s = arg;

    (void)agent, (void)method, (void)body;
    if (!strstr(target, "/binding"))
        return;
    s->binds++;
    judge(s);
}

/* Slots of a domain for pods of this size. */
static int room_in(const struct picture *p, int layer, int domain, int cpu, bool without_singles)
{
    int slots = 0;

    for (int i = 0; i < NODES; i++)
        if (p->there[i] && domain_of(i, layer) == domain)
            slots += MAX(NODE_CPU - p->used[i] + (without_singles ? p->singles[i] : 0), 0) / cpu;
    return slots;
}

static int most_room(const struct picture *p, int layer, int cpu, bool without_singles)
{
    int most = 0;

    for (int i = 0; i < NODES; i++)
        most = MAX(most, room_in(p, layer, domain_of(i, layer), cpu, without_singles));
    return most;
}

/* Everything has come to rest. */
static void judge_end(struct sim *s)
{
    struct kerr err = { 0 };
    struct picture p;

    if (scheduler_verify(s->s, &err) < 0)
        die(s, "the cache is wrong", err.text);
    picture_take(s, &p);
    for (int i = 0; i < s->ngangs; i++) {
        const struct gang *g = &s->gangs[i];
        int placed = count(&p, i, true), waiting = count(&p, i, false);
        int domain = domain_of_gang(&p, i);
        /* A binding that the server refused may find its room taken when it is tried again. */
        if (placed && placed < g->min && !g->lost && !has_faults(s))
            die(s, "a part of a gang runs", gang_name(i));
        /* Room is made for all that wait, or not at all. */
        if (waiting && !placed && !g->ran && waiting >= g->min &&
            (most_room(&p, g->must, g->cpu, false) >= g->min ||
             (preempts(s) && most_room(&p, g->must, g->cpu, true) >= waiting)))
            die(s, "a gang that has room waits", gang_name(i));
        if (waiting && domain >= 0 && g->ran && room_in(&p, g->must, domain, g->cpu, false) > 0)
            die(s, "a member that has room beside the others waits", gang_name(i));
        s->whole += placed >= g->min;
        s->late += placed > g->min;
    }
    vec_fini(&p.pods);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void scheduler_born(struct sim *s)
{
    const char *args = preempts(s) ? "{\"awareNetworkTopology\":true,\"enablePreemption\":true}"
                                   : "{\"awareNetworkTopology\":true}";
    static const char *const names[] = { "koord-scheduler", NULL };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
    struct profile_args given = { "Coscheduling", NULL };
    struct kerr err = { 0 };
    void *decoded = NULL;

    if (kj_parse(args, strlen(args), KJ_RAW_NUMBERS, &doc, &err) < 0 ||
        args_decode(ks_plugin_coscheduling.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                    &decoded, &err) < 0)
        die(s, "args", err.text);
    given.args = decoded;
    c.args = &given;
    c.nargs = 1;
    gates_init(&s->gates, ks_gates, ks_ngates);
    if (batches(s) && gates_parse(&s->gates, "EnableInlineBatchSchedule=true", &err) < 0)
        die(s, "no gate", err.text);
    s->s = scheduler_new(s->client.loop, s->client.kube,
                         &(struct scheduler_opts){ .plugins = plugins,
                                                   .profiles = &c,
                                                   .nprofiles = 1,
                                                   .scheduler_names = names,
                                                   .gates = &s->gates,
                                                   .network_topology = true,
                                                   .verify_reuse = true },
                         &err);
    if (!s->s)
        die(s, "no scheduler", err.text);
    scheduler_start(s->s);
}

static void put_node(struct sim *s, int i)
{
    char name[16], body[256];

    (void)snprintf(name, sizeof name, "n%d", i);
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"spine\":\"s%d\",\"block\":\"b%d\"}},\"status\":{"
                   "\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"32Gi\",\"pods\":\"30\"}}}",
                   domain_of(i, 1), domain_of(i, 2), NODE_CPU);
    fake_put(s->client.fake, NODES_PATH, name, body);
}

static void new_pod(struct sim *s, int gang)
{
    struct gang *g = &s->gangs[gang];
    char name[32];

    if (g->members == MEMBERS_MAX)
        return;
    (void)snprintf(name, sizeof name, "g%d-%d", gang, g->members++);
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"labels\":{\"" LABEL_POD_GROUP "\":\"g%d\"}},\"spec\":{"
        "\"priority\":10,\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}",
        gang, g->cpu);
    fake_put(s->client.fake, PODS, name, body);
}

static void new_gang(struct sim *s)
{
    int i = s->ngangs;

    if (i == GANGS_MAX)
        return;
    s->gangs[s->ngangs++] = (struct gang){ .min = 1 + (int)below(s, 6),
                                           .cpu = 1 + (int)below(s, 2),
                                           .must = (int)below(s, 4) };
    const struct gang *g = &s->gangs[i];
    CLEANUP(mem_free)
    char *body =
        xasprintf("{\"metadata\":{\"annotations\":{\"" ANNO_GANG_TOPOLOGY_SPEC
                  "\":\"{\\\"gatherStrategy\\\":[{\\\"layer\\\":\\\"%s\\\","
                  "\\\"strategy\\\":\\\"MustGather\\\"}]}\"}},\"spec\":{\"minMember\":%d}}",
                  layers[g->must], g->min);
    fake_put(s->client.fake, PODGROUPS, gang_name(i), body);
    for (int k = g->min + (int)below(s, 3) - (int)below(s, 2); k > 0; k--)
        new_pod(s, i);
}

static void delete_member(struct sim *s)
{
    char name[32];
    int gang = (int)below(s, (unsigned)s->ngangs + 1);

    if (gang == s->ngangs || s->gangs[gang].members == 0)
        return;
    (void)snprintf(name, sizeof name, "g%d-%u", gang, below(s, (unsigned)s->gangs[gang].members));
    s->gangs[gang].lost |= fake_delete(s->client.fake, PODS, name);
}

/* Some other pod takes room, and gives it back. */
static void single(struct sim *s)
{
    char name[32];

    if (below(s, 2)) {
        (void)snprintf(name, sizeof name, "x%u", below(s, (unsigned)s->nsingle + 1));
        fake_delete(s->client.fake, PODS, name);
        return;
    }
    (void)snprintf(name, sizeof name, "x%d", s->nsingle++);
    fake_put(s->client.fake, PODS, name,
             "{\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\","
             "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
}

/* A node goes with its pods, as the node controllers see to it, and comes back. */
static void lose_node(struct sim *s)
{
    int node = (int)below(s, NODES);
    char name[32];
    struct picture p;

    picture_take(s, &p);
    bool idle = p.there[node] && p.used[node] == 0;
    vec_fini(&p.pods);
    (void)snprintf(name, sizeof name, "n%d", node);
    if (idle)
        fake_delete(s->client.fake, NODES_PATH, name);
    else
        put_node(s, node);
}

static void change_something(struct sim *s)
{
    switch (below(s, 14)) {
    case 0:
    case 1:
    case 2:
    case 3: new_gang(s); break;
    case 4:
    case 5:
        if (s->ngangs)
            new_pod(s, (int)below(s, (unsigned)s->ngangs));
        break;
    case 6:
    case 7: delete_member(s); break;
    case 8:
    case 9:
    case 10: single(s); break;
    case 11: lose_node(s); break;
    case 12: fake_break_connections(s->client.fake); break;
    case 13: /* killed, and another one comes */
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

/* ---- a run ----------------------------------------------------------------------------------- */

static void run(uint64_t seed, struct sim *sum)
{
    struct sim s = { .seed = seed };

    hash_set_key(seed, 1); /* it decides the order of maps */
    client_fixture_init(&s.client, seed);
    fake_on_write(s.client.fake, on_write, &s);
    fake_put(s.client.fake, TOPOLOGIES, "default",
             "{\"spec\":{\"networkTopologySpec\":[{\"topologyLayer\":\"SpineLayer\",\"labelKey\":["
             "\"spine\"]},{\"topologyLayer\":\"BlockLayer\",\"parentTopologyLayer\":\"SpineLayer\","
             "\"labelKey\":[\"block\"]},{\"topologyLayer\":\"NodeTopologyLayer\","
             "\"parentTopologyLayer\":\"BlockLayer\"}]}}");
    for (int i = 0; i < NODES; i++)
        put_node(&s, i);
    scheduler_born(&s);
    set_faults(&s, has_faults(&s));
    for (int i = 0; i < STEPS; i++) {
        change_something(&s);
        client_fixture_run(&s.client, (nsec_t)below(&s, 4000) * NSEC_PER_MSEC);
    }
    set_faults(&s, false);
    client_fixture_run(&s.client, 120 * SEC); /* not as long as pods wait for the flush */
    judge(&s);
    judge_end(&s);
    sum->victims += (unsigned)scheduler_stats(s.s).victims;
    scheduler_free(s.s);
    client_fixture_fini(&s.client);
    sum->judged += s.judged;
    sum->binds += s.binds;
    sum->whole += s.whole;
    sum->late += s.late;
}

/* Runs [first, first + n). Returns how many things are wrong with them. */
static int run_all(uint64_t first, uint64_t n)
{
    struct sim sum = { 0 };

    for (uint64_t i = 0; i < n; i++)
        run(first + i, &sum);
    printf(
        "%llu runs: %u bindings judged, %u gangs whole at the end, %u with more than they need, %u "
        "evictions\n",
        (unsigned long long)n, sum.binds, sum.whole, sum.late, sum.victims);
    bool idle = sum.whole == 0 || sum.late == 0; /* runs in which nothing happens prove nothing */
    printf("sim_topology: %llu passed, %d failed\n", (unsigned long long)(idle ? 0 : n), idle);
    return idle;
}

int main(int argc, char **argv)
{
    static const struct sim_seeds seeds = { SEEDS, 10000, SHARED, run_all };

    return sim_seeds_main(&seeds, argc, argv);
}
