/* nodeview.c - a node as the scheduler sees it, as JSON (scheduler-core 11.4). */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "scheduler/extender/extender_int.h"
#include "scheduler/observe/debug.h"
#include "json/kj.h"

/* ---- resources ------------------------------------------------------------------------------- */

struct view { /* a number is `alloc` times what the node has and `used` times what pods ask for */
    const char *name;
    int64_t alloc, used;
};
static const struct view requested = { "requested", 0, 1 };
static const struct view remaining = { "remaining", 1, -1 };
static const struct view allocatable = { "allocatable", 1, 0 };

static int64_t amount(const struct view *v, const struct ks_nodes *n, uint32_t r, uint32_t row)
{
    return v->alloc * n->alloc[r][row] + v->used * n->used[r][row];
}

static void write_fixed(struct kjw *w, int64_t mcpu, int64_t memory, int64_t ephemeral,
                        int64_t pods)
{
    kjw_i64(w, "MilliCPU", mcpu);
    kjw_i64(w, "Memory", memory);
    kjw_i64(w, "EphemeralStorage", ephemeral);
    kjw_i64(w, "AllowedPodNumber", pods);
}

/* Pods take nothing off the number of pods that are allowed, as upstream. */
static void write_resources(struct kjw *w, const struct view *v, const struct ks_nodes *n,
                            uint32_t row)
{
    bool scalars = false;

    kjw_obj(w, v->name);
    write_fixed(w, amount(v, n, KS_MCPU, row), amount(v, n, KS_MEMORY, row),
                amount(v, n, KS_EPHEMERAL, row), v->alloc * n->alloc[KS_PODS][row]);
    for (uint32_t r = KS_FIXED; r < n->nres; r++) {
        if (!(v->alloc && n->alloc[r][row]) && !(v->used && n->used[r][row]))
            continue;
        if (!scalars)
            kjw_obj(w, "ScalarResources");
        scalars = true;
        kjw_i64(w, n->resource[r], amount(v, n, r, row));
    }
    if (scalars)
        kjw_end(w);
    kjw_end(w);
}

static void write_non_zero(struct kjw *w, const struct ks_nodes *n, uint32_t row)
{
    kjw_obj(w, "nonZeroRequested");
    write_fixed(w, n->used_mcpu_nz[row], n->used_memory_nz[row], 0, 0);
    kjw_end(w);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static bool any_pod(const struct pod *p)
{
    (void)p;
    return true;
}

static bool keeps_others_away(const struct pod *p)
{
    const struct affinity *a = p->spec->affinity;
    return a && a->pod_anti && a->pod_anti->required.n;
}

/* Those of the first n that `wanted` likes. */
static void write_pods(struct kjw *w, const char *name, const struct ks_podlist *l, uint32_t n,
                       bool (*wanted)(const struct pod *p))
{
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        if (!wanted(l->items[i]))
            continue;
        if (!any)
            kjw_arr(w, name);
        any = true;
        kjw_obj(w, NULL);
        extender_put_pod(w, "Pod", &l->items[i]->obj);
        kjw_end(w);
    }
    if (any)
        kjw_end(w);
}

/* ---- ports and claims ------------------------------------------------------------------------ */

struct used_port {
    const char *ip, *protocol;
    int64_t port;
};
struct used_ports {
    struct used_port *items;
    uint32_t n, size;
};

static int port_compare(const void *a, const void *b)
{
    const struct used_port *x = a, *y = b;
    int r = strcmp(x->ip, y->ip);

    if (r == 0)
        r = (x->port > y->port) - (x->port < y->port);
    return r ? r : strcmp(x->protocol, y->protocol);
}

static void add_ports(const struct container *c, struct used_ports *all, struct arena *a)
{
    for (uint32_t i = 0; i < c->ports.n; i++) {
        const struct container_port *p = &c->ports.items[i];
        if (p->host_port <= 0)
            continue;
        if (all->n == all->size) {
            struct used_port *more = arena_newn0(a, 2 * all->size + 8, struct used_port);
            if (all->n)
                memcpy(more, all->items, all->n * sizeof *more);
            all->items = more;
            all->size = 2 * all->size + 8;
        }
        all->items[all->n++] = (struct used_port){
            str_empty(p->host_ip) ? "0.0.0.0" : p->host_ip,
            p->protocol ? protocol_names[p->protocol] : protocol_names[PROTOCOL_TCP],
            p->host_port,
        };
    }
}

/* Sorted. Init containers that end before the others begin do not count. */
static struct used_ports host_ports(const struct ks_podlist *l, struct arena *a)
{
    struct used_ports all = { 0 };

    for (uint32_t i = 0; i < l->n; i++) {
        const struct pod_spec *s = l->items[i]->spec;
        for (uint32_t k = 0; k < s->init_containers.n; k++)
            if (container_is_sidecar(&s->init_containers.items[k]))
                add_ports(&s->init_containers.items[k], &all, a);
        for (uint32_t k = 0; k < s->containers.n; k++)
            add_ports(&s->containers.items[k], &all, a);
    }
    if (all.n)
        qsort(all.items, all.n, sizeof *all.items, port_compare);
    return all;
}

/* By address, each with its list; what several pods use is there once. */
static void write_ports(struct kjw *w, const struct ks_podlist *l)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct used_ports all = host_ports(l, a);
    const char *ip = NULL;

    for (uint32_t i = 0; i < all.n; i++) {
        const struct used_port *p = &all.items[i];
        if (i > 0 && port_compare(p - 1, p) == 0)
            continue;
        if (!ip)
            kjw_obj(w, "usedPorts");
        else if (!streq(ip, p->ip))
            kjw_end(w);
        if (!ip || !streq(ip, p->ip))
            kjw_arr(w, p->ip);
        ip = p->ip;
        kjw_obj(w, NULL);
        kjw_str(w, "Protocol", p->protocol);
        kjw_i64(w, "Port", p->port);
        kjw_end(w);
    }
    if (!ip)
        return;
    kjw_end(w);
    kjw_end(w);
}

static int key_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char **sorted_keys(const struct map *m, struct arena *a)
{
    const char **keys = arena_newn0(a, m->n, const char *);
    uint32_t n = 0;

    map_foreach(m, e)
        keys[n++] = e->key;
    if (n)
        qsort(keys, n, sizeof *keys, key_compare);
    return keys;
}

/* "namespace/name": how many pods of the node use the claim. */
static void write_claims(struct kjw *w, const struct ks_podlist *l)
{
    CLEANUP(map_fini) struct map counts = { 0 };
    CLEANUP(arena_free) struct arena *a = arena_new();

    for (uint32_t i = 0; i < l->n; i++) {
        const volumelist *v = &l->items[i]->volumes;
        for (uint32_t k = 0; k < v->n; k++) {
            if (!v->items[k].claim)
                continue;
            const char *key =
                arena_printf(a, "%s/%s", l->items[i]->obj.meta.ns, v->items[k].claim->claim_name);
            int64_t *count = map_getz(&counts, key);
            if (!count)
                map_putz(&counts, key, count = arena_new0(a, int64_t));
            ++*count;
        }
    }
    if (counts.n == 0)
        return;
    kjw_obj(w, "pvcRefCounts");
    const char **keys = sorted_keys(&counts, a);
    for (uint32_t i = 0; i < counts.n; i++)
        kjw_i64(w, keys[i], *(const int64_t *)map_getz(&counts, keys[i]));
    kjw_end(w);
}

/* ---- images ---------------------------------------------------------------------------------- */

struct image_state {
    int64_t size;
    uint32_t nodes;
    uint32_t last; /* the row that was counted last, plus one */
};

static void count_images(const struct ks_nodes *n, const struct map *states)
{
    for (uint32_t row = 0; row < n->n; row++)
        for (uint32_t i = 0; i < n->node[row]->status.images.n; i++) {
            const struct node_image *image = &n->node[row]->status.images.items[i];
            for (uint32_t k = 0; k < image->names.n; k++) {
                struct image_state *s = map_getz(states, image->names.items[k]);
                if (!s || s->last == row + 1)
                    continue;
                s->last = row + 1;
                s->nodes++;
            }
        }
}

/* What the node has: its size as the node says, and how many nodes have it. */
static void write_images(struct kjw *w, const struct ks_nodes *n, uint32_t row)
{
    CLEANUP(map_fini) struct map states = { 0 };
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct node *node = n->node[row];

    for (uint32_t i = 0; i < node->status.images.n; i++) {
        const struct node_image *image = &node->status.images.items[i];
        for (uint32_t k = 0; k < image->names.n; k++) {
            struct image_state *s = arena_new0(a, struct image_state);
            s->size = image->size_bytes;
            if (!map_getz(&states, image->names.items[k]))
                map_putz(&states, image->names.items[k], s);
        }
    }
    if (states.n == 0)
        return;
    count_images(n, &states);
    kjw_obj(w, "imageStates");
    const char **names = sorted_keys(&states, a);
    for (uint32_t i = 0; i < states.n; i++) {
        const struct image_state *s = map_getz(&states, names[i]);
        kjw_obj(w, names[i]);
        kjw_i64(w, "Size", s->size);
        kjw_i64(w, "NumNodes", s->nodes);
        kjw_end(w);
    }
    kjw_end(w);
}

bool debug_node(const struct nodecache *cache, const char *name, struct strbuf *out)
{
    const struct ks_nodes *n = nodecache_nodes(cache);
    uint32_t row = ks_row_of(n, name);
    CLEANUP(strbuf_fini) struct strbuf node = STRBUF_INIT;

    if (row == KS_NO_ROW)
        return false;
    const struct ks_podlist *pods = &n->pods[row];
    struct kjw w = kjw_to(out);
    kj_encode(kind_node.schema, n->node[row], &node);
    kjw_obj(&w, NULL);
    kjw_raw(&w, "node", node.data, node.len);
    write_pods(&w, "pods", pods, pods->n, any_pod);
    write_pods(&w, "podsWithAffinity", pods, pods->naffinity, any_pod);
    write_pods(&w, "podsWithRequiredAntiAffinity", pods, pods->naffinity, keeps_others_away);
    write_ports(&w, pods);
    write_resources(&w, &requested, n, row);
    write_non_zero(&w, n, row);
    write_resources(&w, &remaining, n, row);
    write_resources(&w, &allocatable, n, row);
    write_images(&w, n, row);
    write_claims(&w, pods);
    kjw_i64(&w, "generation", (int64_t)n->changes.changed[row]);
    kjw_end(&w);
    return true;
}
