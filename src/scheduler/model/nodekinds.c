/* nodekinds.c - the kinds whose objects belong to a node. */
#include "scheduler/model/nodekinds.h"

#include "api/koord/device.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/koord/nodeslo.h"
#include "api/koord/reservation.h"
#include "api/storage.h"

static const char *by_name(const struct kobj *o)
{
    return o->meta.name;
}

static const char *of_reservation(const struct kobj *o)
{
    return reservation_of(o)->status.node_name;
}

static const char *of_attachment(const struct kobj *o)
{
    return container_of(o, const struct volume_attachment, obj)->node_name;
}

static const struct nodekind {
    const struct kind *kind;
    const char *(*node)(const struct kobj *o);
} nodekinds[] = {
    { &kind_nodemetric, by_name },
    { &kind_nodeslo, by_name },
    { &kind_noderesourcetopology, by_name },
    { &kind_noderesourcetopology_v1alpha2, by_name },
    { &kind_device, by_name },
    { &kind_csi_node, by_name },
    { &kind_reservation, of_reservation },
    { &kind_volume_attachment, of_attachment },
};

static const struct nodekind *find(const struct kind *k)
{
    for (size_t i = 0; i < ARRAY_LEN(nodekinds); i++)
        if (nodekinds[i].kind == k)
            return &nodekinds[i];
    return NULL;
}

bool nodekinds_has(const struct kind *k)
{
    return find(k);
}

bool nodekinds_is_named(const struct kind *k)
{
    const struct nodekind *n = find(k);
    return n && n->node == by_name;
}

const char *nodekinds_node(const struct kobj *o)
{
    const struct nodekind *k = find(o->kind);
    const char *node = k ? k->node(o) : NULL;

    return str_empty(node) ? NULL : node;
}
