/* explain_text.c - what koordctl explain prints for people. */
#include <ctype.h>

#include "api/pod.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/qty.h"
#include "main/explain.h"

enum { NAMES_SHOWN = 3 };
#define MIB (INT64_C(1) << 20)

/* ---- groups of nodes ------------------------------------------------------------------------- */

/* Nodes that say the same, and lack the same; how much of it they lack may differ. */
struct group {
    const struct whatif_node **nodes;
    uint32_t n, cap;
};
struct groups {
    struct arena *arena;
    struct group **items;
    uint32_t n;
    struct map by_key;
};

static const char *key_of(struct arena *a, const struct whatif_node *n)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "%d|%s", (int)n->code, n->plugin ? n->plugin : "");
    for (uint32_t i = 0; i < n->nreasons; i++)
        strbuf_appendf(&key, "|%s", n->reasons[i]);
    for (uint32_t i = 0; i < n->nchanges; i++) {
        const struct whatif_change *c = &n->changes[i];
        strbuf_appendf(&key, "\n%s|%s|%s|%s", c->plugin ? c->plugin : "", c->reason,
                       c->resource ? c->resource : "", c->taint ? c->taint : "");
    }
    return arena_strdup(a, strbuf_str(&key));
}

static void group_add(struct arena *a, struct group *g, const struct whatif_node *n)
{
    if (g->n == g->cap) {
        uint32_t cap = g->cap ? g->cap * 2 : 4;
        const struct whatif_node **nodes = arena_newn0(a, cap, const struct whatif_node *);
        if (g->n)
            memcpy(nodes, g->nodes, g->n * sizeof *nodes);
        g->nodes = nodes;
        g->cap = cap;
    }
    g->nodes[g->n++] = n;
}

/* The largest first, then by the first name. */
static int by_size(const void *left, const void *right)
{
    const struct group *a = *(struct group *const *)left, *b = *(struct group *const *)right;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return strcmp(a->nodes[0]->name, b->nodes[0]->name);
}

static void groups_make(struct groups *all, const struct whatif_result *r, bool each)
{
    all->items = arena_newn0(all->arena, r->nnodes, struct group *);
    for (uint32_t i = 0; i < r->nnodes; i++) {
        const struct whatif_node *n = &r->nodes[i];
        if (n->code == KS_SUCCESS)
            continue;
        const char *key = each ? n->name : key_of(all->arena, n);
        struct group *g = map_getz(&all->by_key, key);
        if (!g) {
            g = all->items[all->n++] = arena_new0(all->arena, struct group);
            map_putz(&all->by_key, key, g);
        }
        group_add(all->arena, g, n);
    }
    if (!each && all->n)
        qsort(all->items, all->n, sizeof(struct group *), by_size);
}

/* ---- one group ------------------------------------------------------------------------------- */

static const char *nodes_word(uint32_t n)
{
    return n == 1 ? "node" : "nodes";
}

/* Memory in whole Mi, rounded up: so much is enough. */
static void put_amount(const char *resource, int64_t amount, struct strbuf *out)
{
    bool bytes = streq(resource, "memory") || streq(resource, "ephemeral-storage") ||
                 str_starts(resource, "hugepages-");
    char text[QTY_TEXT_MAX];
    struct qty q = qty_from_i64(amount, QTY_DECIMAL_SI);

    if (streq(resource, "cpu"))
        q = qty_from_milli(amount, QTY_DECIMAL_SI);
    else if (bytes)
        q = qty_from_i64(amount > INT64_MAX - MIB ? amount : (amount + MIB - 1) / MIB * MIB,
                         QTY_BINARY_SI);
    strbuf_appendn(out, text, qty_print(q, text));
}

/* "cpu 500m to 2 more" */
static void put_missing(const struct group *g, uint32_t change, struct strbuf *out)
{
    const char *resource = g->nodes[0]->changes[change].resource;
    int64_t least = INT64_MAX, most = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        int64_t missing = g->nodes[i]->changes[change].missing;
        least = missing < least ? missing : least;
        most = missing > most ? missing : most;
    }
    strbuf_appendf(out, "%s ", resource);
    put_amount(resource, least, out);
    if (most != least) {
        strbuf_append(out, " to ");
        put_amount(resource, most, out);
    }
    strbuf_append(out, " more");
}

static bool is_said(const struct whatif_node *n, const struct whatif_change *c)
{
    bool said = !n->plugin || streq(n->plugin, c->plugin);

    for (uint32_t i = 0; said && i < n->nreasons; i++)
        if (streq(n->reasons[i], c->reason))
            return true;
    return false;
}

static void put_changes(const struct group *g, struct strbuf *out)
{
    const struct whatif_node *n = g->nodes[0];
    bool first = true;

    for (uint32_t i = 0; i < n->nchanges; i++) {
        const struct whatif_change *c = &n->changes[i];
        if (!c->resource && !c->taint && is_said(n, c))
            continue;
        strbuf_append(out, first ? "    to fit: " : "; ");
        first = false;
        if (c->resource)
            put_missing(g, i, out);
        else if (c->taint)
            strbuf_appendf(out, "taint %s tolerated or removed", c->taint);
        else
            strbuf_appendf(out, "%s: %s", c->plugin, c->reason);
    }
    if (!first)
        strbuf_append(out, "\n");
}

static void put_names(const struct group *g, struct strbuf *out)
{
    for (uint32_t i = 0; i < g->n && i < NAMES_SHOWN; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "", g->nodes[i]->name);
    if (g->n > NAMES_SHOWN)
        strbuf_append(out, ", ...");
}

/* "3 nodes (a, b, c): NodeResourcesFit: Insufficient cpu, Insufficient memory" */
static void put_group(const struct group *g, bool each, struct strbuf *out)
{
    const struct whatif_node *n = g->nodes[0];

    if (each) {
        strbuf_appendf(out, "  %s", n->name);
    } else {
        strbuf_appendf(out, "  %u %s (", g->n, nodes_word(g->n));
        put_names(g, out);
        strbuf_append(out, ")");
    }
    strbuf_append(out, ": ");
    if (n->plugin)
        strbuf_appendf(out, "%s: ", n->plugin);
    for (uint32_t i = 0; i < n->nreasons; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "", n->reasons[i]);
    if (n->code == KS_UNRESOLVABLE)
        strbuf_append(out, " (evictions do not help)");
    strbuf_append(out, "\n");
    put_changes(g, out);
}

static void put_groups(const struct explained *e, bool each, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct groups all = { .arena = a };

    groups_make(&all, &e->result, each);
    for (uint32_t i = 0; i < all.n; i++)
        put_group(all.items[i], each, out);
    map_fini(&all.by_key);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint32_t count_fit(const struct whatif_result *r)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->nnodes; i++)
        n += r->nodes[i].code == KS_SUCCESS;
    return n;
}

static void put_head(const struct explained *e, struct strbuf *out)
{
    const struct objmeta *m = &e->pod->obj.meta;

    strbuf_appendf(out, "Pod %s/%s ", m->ns, m->name);
    if (e->node)
        strbuf_appendf(out, "is on node %s", e->node);
    else
        strbuf_append(out, "has no node");
    strbuf_appendf(out, " (scheduler %s).\n", e->pod->spec->scheduler_name);
    if (pod_is_terminal(e->pod))
        strbuf_appendf(out, "It has ended (%s): no scheduler looks at it any more.\n",
                       pod_phase_names[e->pod->status.phase]);
    else if (m->deleted && !e->node)
        strbuf_append(out, "It is being deleted: no scheduler looks at it any more.\n");
}

static void put_hold(const struct whatif_result *r, struct strbuf *out)
{
    strbuf_appendf(out, "Held by %s", r->held_by);
    for (uint32_t i = 0; i < r->nheld_reasons; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : ": ", r->held_reasons[i]);
    strbuf_append(out, ". No node is tried until that is over; this is what would happen then.\n");
}

static void put_room(const struct explained *e, struct strbuf *out)
{
    const struct whatif_preemption *p = &e->room;

    if (!e->has_room)
        return;
    if (p->code != KS_SUCCESS) {
        strbuf_appendf(out, "\nMaking room does not help: %s\n", p->message);
        return;
    }
    strbuf_appendf(out, "\nTo make room on node %s these would have to go:\n", p->node);
    for (uint32_t i = 0; i < p->n; i++)
        strbuf_appendf(out, "  %s/%s (priority %d)\n", p->victims[i]->obj.meta.ns,
                       p->victims[i]->obj.meta.name, (int)pod_priority(p->victims[i]));
}

static void append_event(const struct explained *e, struct strbuf *out)
{
    if (!e->result.message)
        return;
    strbuf_append(out, e->result.message);
    if (e->has_room && !str_empty(e->room.message))
        strbuf_appendf(out, " %s", e->room.message);
}

static void put_event(const struct explained *e, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    append_event(e, &text);
    if (text.len && !e->node)
        strbuf_appendf(out, "\nEvent%s: %s\n", e->result.held_by ? " then" : "", text.data);
}

/* How the node of a placed pod stands today. */
static void put_standing(const struct explained *e, struct strbuf *out)
{
    const struct whatif_result *r = &e->result;
    const struct whatif_node *own = NULL;
    uint32_t better = 0;

    for (uint32_t i = 0; i < r->nnodes; i++)
        if (streq(r->nodes[i].name, e->node))
            own = &r->nodes[i];
    if (!own) {
        strbuf_append(out, "Its node is gone.\n");
    } else if (own->code != KS_SUCCESS) {
        strbuf_append(out, "Its own node would not be a candidate any more.\n");
    } else {
        for (uint32_t i = 0; i < r->nnodes; i++)
            better += r->nodes[i].code == KS_SUCCESS && r->nodes[i].total > own->total;
        strbuf_appendf(out, "Its own node has %lld points; %u %s more.\n", (long long)own->total,
                       better, better == 1 ? "node has" : "nodes have");
    }
}

/* Whatever a server put into its objects, lines stay lines. */
static void clean(struct strbuf *out)
{
    for (size_t i = 0; i < out->len; i++)
        if (iscntrl((unsigned char)out->data[i]) && out->data[i] != '\n')
            out->data[i] = ' ';
}

void explain_text(const struct explained *e, const struct explain_options *o, struct strbuf *out)
{
    uint32_t fit = count_fit(&e->result), all = e->result.nnodes;

    put_head(e, out);
    if (e->result.held_by && !e->node)
        put_hold(&e->result, out);
    if (e->node)
        strbuf_append(out, "This is the choice as it would be today, with the pod taken away.\n");
    strbuf_appendf(out, "\n%u of %u %s fit%s.\n", fit, all, nodes_word(all), fit == 1 ? "s" : "");
    if (fit)
        whatif_write_scores(e->whatif, (unsigned)o->top, out);
    if (e->node)
        put_standing(e, out);
    if (!e->node || !fit || o->all_nodes)
        put_groups(e, o->all_nodes, out);
    if (!e->node)
        put_room(e, out);
    put_event(e, out);
    clean(out);
}
