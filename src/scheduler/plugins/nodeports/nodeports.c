/* nodeports.c - two pods of a node cannot have the same port of it (scheduler-core 8.7). */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/registry.h"

static const struct ks_reason ports_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports" },
};

struct ports { /* host ports that a pod wants */
    const struct container_port **items;
    uint32_t n;
};

/* ---- the host ports of a pod ----------------------------------------------------------------- */

struct walk {
    const struct pod_spec *spec;
    uint32_t container, port;
};

/* Sidecars first, then containers; other init containers are over before the pod serves. NULL at
 * the end. */
static const struct container_port *next_port(struct walk *w)
{
    const containerlist *init = &w->spec->init_containers, *main = &w->spec->containers;

    for (; w->container < init->n + main->n; w->container++, w->port = 0) {
        bool first = w->container < init->n;
        const struct container *c =
            first ? &init->items[w->container] : &main->items[w->container - init->n];
        if (first && !container_is_sidecar(c))
            continue;
        while (w->port < c->ports.n) {
            const struct container_port *p = &c->ports.items[w->port++];
            if (p->host_port > 0)
                return p;
        }
    }
    return NULL;
}

static struct ports ports_of(const struct pod *p, struct arena *a)
{
    struct walk w = { .spec = p->spec };
    struct ports all = { 0 };

    while (next_port(&w))
        all.n++;
    if (all.n == 0)
        return all;
    all.items = arena_newn0(a, all.n, const struct container_port *);
    w = (struct walk){ .spec = p->spec };
    for (uint32_t i = 0; i < all.n; i++)
        all.items[i] = next_port(&w);
    return all;
}

/* ---- conflicts ------------------------------------------------------------------------------- */

static bool any_address(const char *ip)
{
    return str_empty(ip) || streq(ip, "0.0.0.0");
}

static uint8_t protocol_of(const struct container_port *p)
{
    return p->protocol == PROTOCOL_NONE ? PROTOCOL_TCP : p->protocol;
}

static bool ports_collide(const struct container_port *a, const struct container_port *b)
{
    return a->host_port == b->host_port && protocol_of(a) == protocol_of(b) &&
           (any_address(a->host_ip) || any_address(b->host_ip) || streq(a->host_ip, b->host_ip));
}

static bool collides_with(const struct ports *wanted, const struct pod *other)
{
    struct walk w = { .spec = other->spec };

    for (const struct container_port *p; (p = next_port(&w));)
        for (uint32_t i = 0; i < wanted->n; i++)
            if (ports_collide(wanted->items[i], p))
                return true;
    return false;
}

static bool row_collides(const struct ports *wanted, const struct ks_podlist *pods)
{
    for (uint32_t i = 0; i < pods->n; i++)
        if (collides_with(wanted, pods->items[i]))
            return true;
    return false;
}

/* ---- the plugin ------------------------------------------------------------------------------ */

static enum ks_code ports_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct ports all = ports_of(p->pod, c->arena);

    (void)self, (void)only, (void)why;
    if (all.n == 0)
        return KS_SKIP;
    struct ports *state = arena_new0(c->arena, struct ports);
    *state = all;
    *ret_state = state;
    return KS_SUCCESS;
}

static void ports_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = !skip[i] && row_collides(c->state, &c->nodes->pods[i]);
}

static bool worth_pod_gone(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct pod *gone = pod_of(e->before);
    struct ports wanted = ports_of(p, a);

    (void)self;
    /* A pod that was only assumed has no node in its object yet; its event says it had one. */
    if (e->resource != KS_RES_ASSIGNED_POD && str_empty(gone->node_name) &&
        str_empty(gone->status.nominated_node_name))
        return false;
    return collides_with(&wanted, gone);
}

static const struct ks_hint ports_hints[] = {
    { KS_RES_POD, KS_DELETE, worth_pod_gone },
    { KS_RES_NODE, KS_ADD, NULL },
};

const struct ks_plugin ks_plugin_node_ports = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodePorts",
    .reasons = ports_reasons,
    .reuse = KS_REUSE_LOCAL,
    .hints = ports_hints,
    .nhints = ARRAY_LEN(ports_hints),
    .pre_filter = ports_pre_filter,
    .filter = ports_filter,
};
