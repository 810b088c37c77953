/* topo_peers.c - which nodes have pods of a selector. */
#include "scheduler/plugins/coscheduling/topo_peers.h"

#include "api/pod.h"
#include "api/protocol/keys.h"

struct peer_node { /* a node that has pods of a selector */
    uint32_t n;
    char name[];
};
struct peer_selector {
    struct map nodes; /* struct peer_node by name */
    char text[];
};
struct peer {
    struct kuid uid; /* first: uidmap */
    char *uid_text;  /* of a UID that is no UUID */
    struct peer_selector *of;
    struct peer_node *at;
};

const char *topo_selector(const struct pod *pod)
{
    const char *s = kstrmap_get(&pod->obj.meta.annotations, ANNO_NETWORK_TOPOLOGY_SELECTOR);

    return str_empty(s) ? NULL : s;
}

static struct peer_selector *selector_get(struct topo_peers *p, const char *text)
{
    struct peer_selector *s = map_getz(&p->selectors, text);
    size_t n = strlen(text) + 1;

    if (s)
        return s;
    s = xcalloc(1, sizeof *s + n);
    memcpy(s->text, text, n);
    map_putz(&p->selectors, s->text, s);
    return s;
}

static struct peer_node *node_get(struct peer_selector *s, const char *name)
{
    struct peer_node *node = map_getz(&s->nodes, name);
    size_t n = strlen(name) + 1;

    if (node)
        return node;
    node = xcalloc(1, sizeof *node + n);
    memcpy(node->name, name, n);
    map_putz(&s->nodes, node->name, node);
    return node;
}

static void leave(struct topo_peers *p, const struct peer *peer)
{
    struct peer_selector *s = peer->of;

    if (--peer->at->n > 0)
        return;
    map_removez(&s->nodes, peer->at->name);
    free(peer->at);
    if (s->nodes.n > 0)
        return;
    map_removez(&p->selectors, s->text);
    map_fini(&s->nodes);
    free(s);
}

void topo_peers_remove(struct topo_peers *p, struct kuid uid)
{
    struct peer *peer = p->pods.n ? uidmap_remove(&p->pods, uid) : NULL;

    if (!peer)
        return;
    leave(p, peer);
    free(peer->uid_text);
    free(peer);
}

void topo_peers_put(struct topo_peers *p, const struct pod *pod, const char *node)
{
    const char *text = topo_selector(pod);
    const struct peer *known = p->pods.n ? uidmap_get(&p->pods, pod->obj.meta.uid) : NULL;

    if (known && text && node && streq(known->of->text, text) && streq(known->at->name, node))
        return;
    topo_peers_remove(p, pod->obj.meta.uid);
    if (!text || str_empty(node))
        return;
    struct peer *peer = xnew0(struct peer);
    peer->uid = uidmap_own(pod->obj.meta.uid, &peer->uid_text);
    peer->of = selector_get(p, text);
    peer->at = node_get(peer->of, node);
    peer->at->n++;
    uidmap_put(&p->pods, peer);
}

const char *topo_peers_next(const struct topo_peers *p, const char *selector, size_t *it,
                            uint32_t *ret_count)
{
    const struct peer_selector *s = map_getz(&p->selectors, selector);
    const struct map_entry *e = s ? map_next(&s->nodes, it) : NULL;
    const struct peer_node *node = e ? e->value : NULL;

    if (!node)
        return NULL;
    *ret_count = node->n;
    return node->name;
}

void topo_peers_fini(struct topo_peers *p)
{
    struct peer *peer;

    for (size_t it = 0; (peer = uidmap_next(&p->pods, &it));) {
        leave(p, peer);
        free(peer->uid_text);
        free(peer);
    }
    uidmap_fini(&p->pods);
    map_fini(&p->selectors);
}
