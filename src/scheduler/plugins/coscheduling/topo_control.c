/* topo_control.c - the status of the ClusterNetworkTopology "default", and events about what is
 * wrong with it (sched-gang 7.1, 7.2).
 *
 * A burst of changes is gathered. The status holds what the tree is; it is written when it differs,
 * with the version that it was compared with, so whoever wrote meanwhile is not overwritten. An
 * object whose spec makes no tree keeps its last status.
 */
#include "base/arena.h"
#include "client/events.h"
#include "controllers/controller.h"
#include "loop/loop.h"
#include "scheduler/plugins/coscheduling/topo_network.h"

/* A rack of nodes that comes at once is written once; upstream looks every 10 seconds. */
#define GATHER NSEC_PER_SEC

struct topo_control {
    struct topo_network *network;
    struct controller_env env;
    struct controller *status;
    struct timer *tick;
    uint64_t told; /* hash of the problem that people were told of; 0: none */
};

/* ---- one look -------------------------------------------------------------------------------- */

static void tell_problem(struct topo_control *c, const struct kobj *o, struct arena *a)
{
    const char *text = c->network->problem;

    if (!*text)
        text = topo_tree_problem(&c->network->tree, a);
    uint64_t hash = *text ? hash_bytes(text, strlen(text)) | 1 : 0;
    if (hash && hash != c->told && c->env.events)
        recorder_event_on(c->env.events, o, true, "InvalidNetworkTopology", "NetworkTopology", "%s",
                          text);
    c->told = hash;
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct topo_control *c = self;
    struct network_topology_status want = { 0 };

    if (!obj || obj->meta.deleted || !streq(key, NETWORK_TOPOLOGY_NAME))
        return;
    tell_problem(c, obj, batch_arena(b));
    if (*c->network->problem || c->network->tree.n == 0)
        return;
    want.details.n = topo_tree_status(&c->network->tree, &want.details.items, batch_arena(b));
    batch_patch_change(b, obj,
                       &(struct change){ .member = "status",
                                         .schema = &network_topology_status_schema,
                                         .from = &network_topology_of(obj)->status,
                                         .to = &want,
                                         .same_version = true },
                       NULL, NULL);
}

static void look(struct topo_control *c)
{
    controller_add(c->status, NETWORK_TOPOLOGY_NAME);
}

static void on_tick(struct loop *l, void *arg)
{
    struct topo_control *c = arg;

    (void)l;
    c->tick = NULL;
    look(c);
}

void topo_control_touch(struct topo_control *c)
{
    if (c && !c->tick)
        c->tick = loop_after(c->env.loop, GATHER, on_tick, c);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void *control_start(void *service, struct controllers *all, const struct controller_env *env)
{
    struct topo_network *n = service;

    if (!n->env.network_topology)
        return NULL;
    struct topo_control *c = xnew0(struct topo_control);
    struct informer *objects = caches_get(env->caches, &kind_network_topology);
    c->network = n;
    c->env = *env;
    c->status = controller_new(
        all, &(struct controller_opts){
                 .name = "networktopology", .of = objects, .sync = sync, .self = c });
    controller_watch(c->status, objects, NULL, NULL);
    n->control = c;
    return c;
}

static void control_stop(void *started)
{
    struct topo_control *c = started;

    if (!c)
        return;
    c->network->control = NULL;
    if (c->tick)
        timer_cancel(c->tick);
    controller_free(c->status);
    free(c);
}

const struct ks_controller topo_controller = { control_start, control_stop };
