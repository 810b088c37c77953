/* topo_network.c - the tree follows the nodes and the object (sched-gang 7.2). */
#include "scheduler/plugins/coscheduling/topo_network.h"

#include <stdio.h>

#include "api/node.h"
#include "api/pod.h"
#include "base/klog.h"

static void on_object(void *arg, struct kobj *before, struct kobj *now)
{
    struct topo_network *n = arg;
    const struct kobj *o = now ? now : before;
    struct kerr err = { 0 };

    if (!streq(o->meta.name, NETWORK_TOPOLOGY_NAME))
        return;
    if (topo_tree_set_layers(&n->tree, now ? network_topology_of(now) : NULL, &err) < 0 &&
        !streq(err.text, n->problem))
        KLOG_W("Network topology is not usable, the one before stays", KV_S("err", err.text));
    (void)snprintf(n->problem, sizeof n->problem, "%s", err.text);
    topo_control_touch(n->control);
}

static void on_node(void *service, const struct node *before, const struct node *now)
{
    struct topo_network *n = service;
    uint64_t generation = n->tree.generation;

    if (!n->env.network_topology)
        return;
    if (now)
        topo_tree_put_node(&n->tree, now);
    else
        topo_tree_remove_node(&n->tree, before->obj.meta.name);
    if (n->tree.generation != generation || !before || !now)
        topo_control_touch(n->control);
}

static int network_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct topo_network *n = xnew0(struct topo_network);
    struct kobj *o;

    (void)args, (void)err;
    n->env = *env;
    topo_tree_init(&n->tree);
    *ret = n;
    if (!env->network_topology)
        return 0;
    for (uint32_t i = 0; env->nodes && i < env->nodes->n; i++)
        topo_tree_put_node(&n->tree, env->nodes->node[i]);
    if (!env->objects)
        return 0;
    n->listener = (struct objects_listener){ &kind_network_topology, on_object, n, NULL };
    objects_listen(env->objects, &n->listener);
    o = objects_get(env->objects, &kind_network_topology, NULL, NETWORK_TOPOLOGY_NAME);
    if (o)
        on_object(n, NULL, o);
    return 0;
}

static void network_destroy(void *service)
{
    struct topo_network *n = service;

    if (n->listener.fn)
        objects_unlisten(n->env.objects, &n->listener);
    topo_tree_fini(&n->tree);
    topo_peers_fini(&n->peers);
    free(n);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    struct topo_network *n = service;

    (void)before;
    if (n->env.network_topology)
        topo_peers_put(&n->peers, now, now->node_name);
}

static void on_gone(void *service, const struct pod *last)
{
    struct topo_network *n = service;

    topo_peers_remove(&n->peers, last->obj.meta.uid);
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    struct topo_network *n = service;

    if (n->env.network_topology)
        topo_peers_put(&n->peers, p, node);
}

static void on_forgotten(void *service, const struct pod *p, const char *node)
{
    struct topo_network *n = service;

    (void)node;
    topo_peers_remove(&n->peers, p->obj.meta.uid);
}

static const struct ks_pod_handler pod_handler = { .placed = on_placed,
                                                   .changed = on_placed,
                                                   .gone = on_gone,
                                                   .assumed = on_assumed,
                                                   .forgotten = on_forgotten };

const struct ks_service topo_network_service = {
    .name = "Coscheduling",
    .create = network_create,
    .destroy = network_destroy,
    .pods = &pod_handler,
    .node = on_node,
    .controller = &topo_controller,
};
