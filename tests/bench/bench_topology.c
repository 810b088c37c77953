/* bench_topology.c - what a plan costs for a gang of 1,024 on a network of three layers, with all
 * plugins of the default profile (sched-gang 7.4).
 *
 *     bench_topology [NODES [labels]]     8 slots a node, 16 nodes a block, 16 blocks a spine;
 * labels: each member has a label of its own, so none is like another
 *
 * One line: the best of several plans, in milliseconds of CPU time, and the solver's part of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/kobj.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/service_table.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"
#include "scheduler/plugins/registry.h"
#include "json/kj.h"

enum { MEMBERS = 1024, SLOTS = 8, ROUNDS = 5 };

struct cluster {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct objects *objects;
    struct nodecache *cache;
    struct service_table *services;
    struct profile *profile;
    struct topo_network *network;
    struct arena *kept, *arena;
    struct kobj *pods[MEMBERS];
    struct strbuf text;
    struct network_topology_spec spec;
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static nsec_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static struct kobj *object(struct cluster *c, const struct kind *k)
{
    struct kj_doc *doc = NULL;
    struct kobj *o = NULL;

    for (size_t i = 0; i < c->text.len; i++)
        if (c->text.data[i] == '\'')
            c->text.data[i] = '"';
    if (kj_parse(c->text.data, c->text.len, 0, &doc, NULL) < 0 ||
        kobj_decode(k, kj_root(doc), c->scratch, &o, NULL) < 0)
        abort();
    kj_doc_free(doc);
    strbuf_reset(&c->text);
    return o;
}

static void add_topology(struct cluster *c)
{
    strbuf_append(&c->text,
                  "{'metadata':{'name':'default'},'spec':{'networkTopologySpec':[{'topologyLayer':"
                  "'SpineLayer','labelKey':['spine']},{'topologyLayer':'BlockLayer',"
                  "'parentTopologyLayer':'SpineLayer','labelKey':['block']},{'topologyLayer':"
                  "'NodeTopologyLayer','parentTopologyLayer':'BlockLayer'}]}}");
    struct kobj *o = object(c, &kind_network_topology);
    objects_put(c->objects, o);
    kobj_unref(o);
}

static void add_nodes(struct cluster *c, int n)
{
    for (int i = 0; i < n; i++) {
        strbuf_appendf(&c->text,
                       "{'metadata':{'name':'node-%d','uid':'n%d','labels':{'kubernetes.io/"
                       "hostname':'node-%d','spine':'s%d','block':'b%d'}},'status':{'allocatable':"
                       "{'cpu':'96','memory':'768Gi','pods':'110'}}}",
                       i, i, i, i / 256, i / 16);
        struct kobj *o = object(c, &kind_node);
        nodecache_put_node(c->cache, o);
        topo_network_service.node(c->network, NULL, node_of(o));
        kobj_unref(o);
    }
}

static void add_members(struct cluster *c, bool labels)
{
    for (int i = 0; i < MEMBERS; i++) {
        strbuf_appendf(&c->text,
                       "{'metadata':{'name':'worker-%d','namespace':'default','uid':"
                       "'00000000-0000-4000-8000-%012d','labels':{'job':'x','replica':'%d'}},"
                       "'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'12',"
                       "'memory':'80Gi'}}}]}}",
                       i, i, labels ? i : 0);
        c->pods[i] = object(c, &kind_pod);
    }
}

static void cluster_init(struct cluster *c, int nodes, bool labels)
{
    struct kerr err = { 0 };
    void *network;

    *c = (struct cluster){ .strings = intern_new(), .kept = arena_new(), .arena = arena_new() };
    c->scratch = kj_scratch_new(c->strings);
    c->objects = objects_new();
    c->cache = nodecache_new(c->objects);
    c->services = service_table_new();
    struct ks_env env = { .objects = c->objects,
                          .nodes = nodecache_nodes(c->cache),
                          .service_table = c->services,
                          .network_topology = true };
    struct profile_config config = profile_config_default(ks_registry, "koord-scheduler", c->kept);
    c->profile = profile_new(&config, ks_registry, &env, &err);
    if (!c->profile || topo_network_service.create(&env, NULL, &network, &err) < 0)
        abort();
    c->network = network;
    services_tell_all(c->services, NULL, 0);
    add_topology(c);
    add_nodes(c, nodes);
    add_members(c, labels);
    if (network_topology_spec_decode(
            "{\"gatherStrategy\":[{\"layer\":\"SpineLayer\",\"strategy\":\"MustGather\"}]}",
            c->kept, &c->spec, &err) < 0)
        abort();
}

static void cluster_fini(struct cluster *c)
{
    for (int i = 0; i < MEMBERS; i++)
        kobj_unref(c->pods[i]);
    topo_network_service.destroy(c->network);
    profile_free(c->profile);
    service_table_free(c->services);
    nodecache_free(c->cache);
    objects_free(c->objects);
    arena_free(c->arena);
    arena_free(c->kept);
    strbuf_fini(&c->text);
    kj_scratch_free(c->scratch);
    intern_free(c->strings);
}

static double plan_ms(struct cluster *c)
{
    struct topo_job job = { &c->spec, c->pods, MEMBERS };
    struct topo_plan *plan = NULL;
    struct attempt a;

    arena_reset(c->arena);
    attempt_init(
        &a,
        &(struct attempt_input){
            .profile = c->profile, .cache = c->cache, .objects = c->objects, .pod = c->pods[0] },
        c->arena);
    attempt_filter(&a);
    struct ks_texts why = { .arena = c->arena };
    nsec_t began = cpu_time();
    enum ks_code code = topo_plan_make(c->network, &a, &job, &plan, &why);
    nsec_t took = cpu_time() - began;
    attempt_end(&a);
    if (code != KS_SUCCESS) {
        (void)fprintf(stderr, "bench_topology: %s\n", ks_texts_join(&why));
        abort();
    }
    topo_plan_free(plan);
    return (double)took / 1e6;
}

static double solve_ms(struct cluster *c)
{
    const struct topo_tree *t = topo_network_tree(c->network);
    struct topo_request r = { &c->spec, MEMBERS, false };
    struct topo_solution s;

    arena_reset(c->arena);
    struct topo_offer *offers = arena_newn0(c->arena, t->leaves.n, struct topo_offer);
    for (size_t i = 0; i < t->leaves.n; i++)
        offers[i].slots = SLOTS;
    nsec_t began = cpu_time();
    if (!topo_solve(t, &r, offers, c->arena, &s))
        abort();
    return (double)(cpu_time() - began) / 1e6;
}

int main(int argc, char **argv)
{
    int nodes = argc > 1 ? atoi(argv[1]) : 5000;
    double plan = 1e9, solve = 1e9;
    struct cluster c;

    klog_set_sink(quiet, NULL);
    cluster_init(&c, nodes, argc > 2);
    for (int i = 0; i < ROUNDS; i++) {
        plan = MIN(plan, plan_ms(&c));
        solve = MIN(solve, solve_ms(&c));
    }
    printf("topology nodes=%d ms=%.2f solve_ms=%.3f\n", nodes, plan, solve);
    cluster_fini(&c);
    return 0;
}
