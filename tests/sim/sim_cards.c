/* sim_cards.c - one cluster whose cards DeviceShare and ResourceClaims both know: every card is in
 * a Device and in a slice. Pods of both kinds come and go, requests get lost and late, schedulers
 * and controllers die; at every binding and every allocation no card has two holders, but pods that
 * have shares of one by DeviceShare.
 *
 *     sim_cards [FIRST [COUNT]]     500 pods on 32 cards a run; 6 runs, with KOORD_TEST_FULL 200
 */
#include "sim_cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/core.h"
#include "api/dra.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "sim_net.h"
#include "sim_seeds.h"

#define LATE_MAX (3 * SEC)
#define LEASE    (8 * SEC)
enum { NODES = 4, CARDS = 8, PODS = 500, TEMPLATES = 4, RUNS = 6, RUNS_FULL = 200 };

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_taint_toleration, 3, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_dynamic_resources, 2, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

struct cards_sim {
    struct sim s;
    uint64_t seed;
    struct net *net;
    struct kube *cluster_link, *link;
    struct scheduler *scheduler;
    nsec_t lead_at;
    bool faults;
    int npods;
    struct informer *claims, *slices;
    struct timer *judge;
    uint64_t judged, by_device, in_parts, by_claim, killed;
};

static NORETURN void die(const struct cards_sim *c, const char *what, const char *name)
{
    fprintf(stderr, "seed %llu, pod %d, at %.1f s: %s: %s\n", (unsigned long long)c->seed, c->npods,
            (double)loop_mono(c->s.loop) / NSEC_PER_SEC, what, name);
    abort();
}

static unsigned below(struct cards_sim *c, unsigned n)
{
    return (unsigned)loop_rand_below(c->s.loop, n);
}

/* ---- the judge -------------------------------------------------------------------------------- */

struct holder { /* of a card, by its UUID */
    const char *claim;
    unsigned pods;        /* that have it, or a part of it, by DeviceShare */
    int64_t core, memory; /* percent of it that they have */
};
struct picture {
    struct cards_sim *c;
    struct arena *arena;
    struct map cards; /* struct holder */
};

static struct holder *card_of(struct picture *p, const char *uuid)
{
    struct holder *h = map_getz(&p->cards, uuid);

    if (h)
        return h;
    h = arena_new0(p->arena, struct holder);
    map_putz(&p->cards, arena_strdup(p->arena, uuid), h); /* keys are borrowed */
    return h;
}

static int percent_of(const struct kj_val *resources, const char *name)
{
    return atoi(kj_str_or(kj_get(resources, name), "0"));
}

static void see_share(struct picture *p, struct holder *h, const struct kj_val *resources,
                      const char *uuid)
{
    int core = percent_of(resources, RES_GPU_CORE);
    int memory = percent_of(resources, RES_GPU_MEMORY_RATIO);

    h->pods++;
    h->core += core;
    h->memory += memory;
    p->c->by_device++;
    p->c->in_parts += core < 100;
    if (core < 0 || memory <= 0 || h->core > 100 || h->memory > 100)
        die(p->c, "a card is given away beyond its size", uuid);
}

static void see_pod(struct picture *p, const struct kobj *o)
{
    const char *text = kstrmap_get(&o->meta.annotations, ANNO_DEVICE_ALLOCATED);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *g;

    if (str_empty(pod_of(o)->node_name) || pod_is_terminal(pod_of(o)) || !text)
        return;
    if (kj_parse(text, strlen(text), 0, &doc, NULL) < 0)
        die(p->c, "what it was given cannot be read", o->meta.name);
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "gpu")); kj_next(&it, NULL, &g);) {
        const char *uuid = kj_str_or(kj_get(g, "id"), "");
        see_share(p, card_of(p, uuid), kj_get(g, "resources"), uuid);
    }
}

/* What a device of a slice is known by. */
static const char *uuid_of(const struct cards_sim *c, const struct device_result *r)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(c->slices, &it));) {
        const struct slice_spec *s = &resource_slice_of(o)->spec;
        for (uint32_t i = 0; streq(s->pool.name, r->pool) && i < s->devices.n; i++) {
            const struct slice_device *d = &s->devices.items[i];
            for (uint32_t k = 0; streq(d->name, r->device) && k < d->attributes.n; k++)
                if (streq(d->attributes.items[k].name, "uuid"))
                    return d->attributes.items[k].value.string_value;
        }
    }
    die(c, "a device that no slice has", r->device);
}

static void see_claim(struct picture *p, const struct kobj *o)
{
    const struct claim_allocation *got = resource_claim_of(o)->status.allocation;

    for (uint32_t i = 0; got && i < got->devices.results.n; i++) {
        const char *uuid = uuid_of(p->c, &got->devices.results.items[i]);
        struct holder *h = card_of(p, uuid);
        p->c->by_claim++;
        if (h->claim)
            die(p->c, "a card is in two claims", uuid);
        if (h->pods)
            die(p->c, "a card is a claim's and a pod's by DeviceShare", uuid);
        h->claim = o->meta.name;
    }
}

static void judge(struct loop *l, void *arg)
{
    struct cards_sim *c = arg;
    struct picture p = { .c = c, .arena = arena_new() };
    struct kobj *o;

    (void)l;
    c->judge = NULL;
    c->judged++;
    for (size_t it = 0; (o = informer_next(c->s.pods, &it));)
        see_pod(&p, o);
    for (size_t it = 0; (o = informer_next(c->claims, &it));)
        see_claim(&p, o);
    map_fini(&p.cards);
    arena_free(p.arena);
}

/* News of pods and of claims come on ways of their own: a bit later both have come. */
static void on_change(void *arg, struct kobj *old, struct kobj *o)
{
    struct cards_sim *c = arg;

    (void)old, (void)o;
    if (!c->judge)
        c->judge = loop_after(c->s.loop, NSEC_PER_MSEC / 2, judge, c);
}

/* ---- programs --------------------------------------------------------------------------------- */

static void set_faults(struct cards_sim *c, struct kube *link)
{
    const struct net_faults none = { 0 };
    const struct net_faults some = {
        .refuse = 10,
        .lose = 20,
        .twice = 10,
        .conflict = 10,
        .fail = 5,
        .fail_done = 5,
        .slow = 60,
        .slow_max = LATE_MAX,
        .repeat = 20,
        .lag = (nsec_t)below(c, 1000) * (LATE_MAX / 1000),
    };
    link_set(link, c->faults ? &some : &none);
}

static void start_scheduler(struct cards_sim *c)
{
    static const char *const names[] = { "koord-scheduler", NULL };
    struct kerr err = { 0 };

    c->link = net_link(c->net);
    set_faults(c, c->link);
    c->scheduler =
        scheduler_new(c->s.loop, c->link,
                      &(struct scheduler_opts){
                          .plugins = plugins, .scheduler_names = names, .verify_reuse = true },
                      &err);
    if (!c->scheduler)
        die(c, "scheduler", err.text);
    scheduler_start(c->scheduler);
}

static void kill_scheduler(void *arg)
{
    struct cards_sim *c = arg;

    if (!c->scheduler)
        return;
    c->scheduler = scheduler_free(c->scheduler);
    kube_free(c->link);
    c->lead_at = loop_mono(c->s.loop) + LEASE;
    c->killed++;
}

static void start_cluster(struct cards_sim *c)
{
    static const struct hollow_driver driver = { .name = "gpu.example.com", .count = CARDS };
    static const struct hollow_shape shape = {
        .prefix = "n", .count = NODES, .gpus = CARDS, .drivers = &driver, .ndrivers = 1
    };
    struct kerr err = { 0 };

    c->cluster_link = net_link(c->net);
    set_faults(c, c->cluster_link);
    c->s.cluster = cluster_new(c->s.loop, c->cluster_link,
                               &(struct cluster_opts){ .gc = true,
                                                       .nodes = true,
                                                       .resourceclaims = true,
                                                       .node_grace = 3600 * SEC,
                                                       .discovery_interval = 600 * SEC,
                                                       .hollow = { .shapes = &shape,
                                                                   .nshapes = 1,
                                                                   .seed = c->seed,
                                                                   .no_metrics = true,
                                                                   .lease_interval = 300 * SEC } },
                               &err);
    if (!c->s.cluster)
        die(c, "cluster", err.text);
}

static void kill_cluster(struct cards_sim *c)
{
    sim_stop_cluster(&c->s);
    kube_free(c->cluster_link);
    sim_run(&c->s, (nsec_t)below(c, 3000) * NSEC_PER_MSEC);
    start_cluster(c);
    c->killed++;
}

/* ---- pods ------------------------------------------------------------------------------------- */

static void make(struct cards_sim *c, char *body)
{
    for (char *p = body; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (sim_create(&c->s, body) != 201)
        die(c, "not created", body);
}

static const char *const asks[TEMPLATES] = {
    "'allocationMode':'ExactCount','count':1",
    "'allocationMode':'ExactCount','count':2",
    "'allocationMode':'ExactCount','count':3",
    "'allocationMode':'All'",
};

static void new_templates(struct cards_sim *c)
{
    CLEANUP(mem_free)
    char *class = xasprintf("{'apiVersion':'resource.k8s.io/v1','kind':'DeviceClass','metadata':{"
                            "'name':'gpu'},'spec':{}}");
    make(c, class);
    for (int i = 0; i < TEMPLATES; i++) {
        CLEANUP(mem_free)
        char *body = xasprintf("{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaimTemplate',"
                               "'metadata':{'name':'t%d'},'spec':{'spec':{'devices':{'requests':[{"
                               "'name':'r','exactly':{'deviceClassName':'gpu',%s}}]}}}}",
                               i, asks[i]);
        make(c, body);
    }
}

/* ask: what it asks for: resources of DeviceShare; or, behind an '@', a template of claims. */
static void put_pod(struct cards_sim *c, const char *name, const char *ask, unsigned seconds)
{
    CLEANUP(mem_free) char *limits = NULL, *claims = NULL;

    if (*ask == '@')
        claims =
            xasprintf(",'resourceClaims':[{'name':'e','resourceClaimTemplateName':'%s'}]", ask + 1);
    else
        limits = xasprintf("'limits':{%s}", ask);
    CLEANUP(mem_free)
    char *body =
        xasprintf("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','annotations':{"
                  "'sim.koordinator.sh/run':'%us'}},'spec':{'schedulerName':"
                  "'koord-scheduler','restartPolicy':'Never',"
                  "'terminationGracePeriodSeconds':2,'containers':[{'name':'c','image':"
                  "'i','resources':{%s}}]%s}}",
                  name, seconds, limits ? limits : "'claims':[{'name':'e'}]", claims ? claims : "");
    make(c, body);
}

/* Whole cards, a part of one, the memory of one alone, or the same part of several. */
static char *draw_share(struct cards_sim *c)
{
    unsigned cards = 1u << below(c, 3), percent = 10 * (1 + below(c, 9));

    switch (below(c, 5)) {
    case 0:
    case 1: return xasprintf("'nvidia.com/gpu':'%u'", cards);
    case 2: return xasprintf("'" RES_GPU "':'%u'", percent);
    case 3: return xasprintf("'" RES_GPU_MEMORY_RATIO "':'%u'", percent);
    default:
        return xasprintf("'" RES_GPU_SHARED "':'%u','" RES_GPU_CORE "':'%u','" RES_GPU_MEMORY_RATIO
                         "':'%u'",
                         cards, cards * percent, cards * percent);
    }
}

static char *draw_claim(struct cards_sim *c)
{
    unsigned all = below(c, 12) == 0;

    return xasprintf("@t%u", all ? TEMPLATES - 1 : below(c, TEMPLATES - 1));
}

static void new_pod(struct cards_sim *c)
{
    char name[32];
    CLEANUP(mem_free) char *ask = below(c, 2) ? draw_claim(c) : draw_share(c);

    (void)snprintf(name, sizeof name, "p%d", c->npods++);
    put_pod(c, name, ask, 2 + below(c, 20));
}

static void delete_pod(struct cards_sim *c)
{
    char name[32];
    unsigned back = below(c, MIN((unsigned)c->npods, 40u) + 1);

    (void)snprintf(name, sizeof name, "p%d", c->npods - (int)back);
    (void)sim_delete(&c->s, &kind_pod, "default", name,
                     below(c, 2) ? "{\"gracePeriodSeconds\":0}" : NULL);
}

/* ---- a run ------------------------------------------------------------------------------------ */

static void step(struct cards_sim *c)
{
    new_pod(c);
    if (below(c, 4) == 0)
        delete_pod(c);
    if (c->faults && below(c, 25) == 0)
        link_end_watches(c->cluster_link, (enum net_end)below(c, NET_ENDS));
    if (c->faults && c->scheduler && below(c, 25) == 0)
        link_end_watches(c->link, (enum net_end)below(c, NET_ENDS));
    if (c->scheduler && below(c, 60) == 0)
        link_at_write(c->link, 1 + below(c, 8), kill_scheduler, c);
    if (below(c, 100) == 0)
        kill_cluster(c);
    sim_run(&c->s, (nsec_t)below(c, 1600) * NSEC_PER_MSEC);
    if (!c->scheduler && loop_mono(c->s.loop) >= c->lead_at)
        start_scheduler(c);
}

/* Nothing is held for pods that are gone: those that want all cards of a node get them. */
static void judge_rest(struct cards_sim *c)
{
    struct kobj *o;
    char name[32], node[64];

    for (size_t it = 0; (o = informer_next(c->s.pods, &it)); it = 0) {
        (void)snprintf(name, sizeof name, "%s", o->meta.name);
        (void)sim_delete(&c->s, &kind_pod, "default", name, "{\"gracePeriodSeconds\":0}");
        sim_run(&c->s, 10 * NSEC_PER_MSEC);
        if (loop_mono(c->s.loop) > 36000 * SEC)
            die(c, "it does not go", name);
    }
    sim_run(&c->s, 60 * SEC);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(name, sizeof name, "last%d", i);
        CLEANUP(mem_free)
        char *ask =
            i % 2 ? xasprintf("@t%d", TEMPLATES - 1) : xasprintf("'nvidia.com/gpu':'%d'", CARDS);
        put_pod(c, name, ask, 1000);
        sim_run(&c->s, 2 * SEC);
    }
    sim_run(&c->s, 30 * SEC);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(name, sizeof name, "last%d", i);
        sim_text(&c->s, &kind_pod, "default", name, "spec.nodeName", node, sizeof node);
        if (!*node)
            die(c, "cards are held for pods that are gone", name);
    }
}

/* What koord-manager writes on nodes with a Device; without it shares fit nowhere. */
static void list_resources(struct cards_sim *c)
{
    CLEANUP(mem_free) char *body = NULL;
    struct kobj *o;
    char names[NODES][64];
    unsigned n = 0;

    body = xasprintf("{'status':{'allocatable':{'" RES_GPU "':'%d','" RES_GPU_CORE
                     "':'%d','" RES_GPU_MEMORY_RATIO "':'%d','" RES_GPU_SHARED "':'%d'}}}",
                     100 * CARDS, 100 * CARDS, 100 * CARDS, 100 * CARDS);
    for (char *p = body; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    for (size_t it = 0; n < NODES && (o = informer_next(c->s.nodes, &it));)
        (void)snprintf(names[n++], sizeof names[0], "%s", o->meta.name);
    for (unsigned i = 0; i < n; i++)
        if (sim_patch(&c->s, &kind_node, NULL, names[i], "status", body) != 200)
            die(c, "not patched", names[i]);
}

static void begin(struct cards_sim *c, uint64_t seed)
{
    static const struct informer_handler on = { .on_update = on_change };

    hash_set_key(seed, 1);
    c->seed = seed;
    sim_init_koordinator(&c->s, seed);
    c->s.no_binder = true;
    c->net = net_new(c->s.loop, c->s.kube);
    c->claims = informer_new(c->s.kube, &(struct informer_opts){ .kind = &kind_resource_claim });
    c->slices = informer_new(c->s.kube, &(struct informer_opts){ .kind = &kind_resource_slice });
    informer_add_handler(c->claims, &on, c);
    informer_add_handler(c->s.pods, &on, c);
    informer_start(c->claims);
    informer_start(c->slices);
    start_cluster(c);
    if (!sim_until(&c->s, 60 * SEC, sim_nodes_ready, NULL))
        die(c, "nodes do not become ready", "");
    sim_run(&c->s, 5 * SEC);
    list_resources(c);
    new_templates(c);
    c->faults = seed % 3 != 0;
    set_faults(c, c->cluster_link);
    start_scheduler(c);
}

static void end(struct cards_sim *c)
{
    scheduler_free(c->scheduler);
    kube_free(c->link);
    sim_stop_cluster(&c->s);
    kube_free(c->cluster_link);
    timer_cancel(c->judge);
    informer_free(c->claims);
    informer_free(c->slices);
    net_free(c->net);
    sim_fini(&c->s);
}

static void run(uint64_t seed)
{
    CLEANUP(mem_free) struct cards_sim *c = xnew0(struct cards_sim);
    struct kerr err = { 0 };

    begin(c, seed);
    while (c->npods < PODS)
        step(c);
    c->faults = false;
    set_faults(c, c->cluster_link);
    if (!c->scheduler)
        start_scheduler(c);
    set_faults(c, c->link);
    link_at_write(c->link, 0, kill_scheduler, c);
    sim_run(&c->s, 30 * SEC);
    judge_rest(c);
    if (scheduler_verify(c->scheduler, &err) < 0)
        die(c, "the cache is wrong", err.text);
    printf("seed %llu: %d pods, %llu looks saw %llu cards by DeviceShare (%llu in parts) and %llu "
           "in claims, %llu kills\n",
           (unsigned long long)seed, c->npods, (unsigned long long)c->judged,
           (unsigned long long)c->by_device, (unsigned long long)c->in_parts,
           (unsigned long long)c->by_claim, (unsigned long long)c->killed);
    if (c->by_device < PODS || c->in_parts < PODS || c->by_claim < PODS)
        die(c, "hardly a card was given", "");
    end(c);
}

static int run_all(uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        run(first + i);
    printf("sim_cards: %llu passed, 0 failed\n", (unsigned long long)n);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct sim_seeds seeds = { RUNS, RUNS_FULL, 2, run_all };

    return sim_seeds_main(&seeds, argc, argv);
}
