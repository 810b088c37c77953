/* explain_text.c - what koordctl explain prints for people: the answer's JSON in sentences. */
#include "api/pod.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/qty.h"
#include "base/strbuf.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "json/kj.h"

enum { NAMES_SHOWN = 3 };
#define MIB (INT64_C(1) << 20)

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

/* "a, b, c" */
static void put_list(const struct kj_val *list, struct strbuf *out)
{
    for (size_t i = 0; i < kj_len(list); i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "", kj_str_or(kj_at(list, i), ""));
}

static bool fits(const struct kj_val *node)
{
    return kj_bool(kj_get(node, "fit"), false);
}

/* ---- groups of nodes ------------------------------------------------------------------------- */

struct node {
    const char *name;
    const struct kj_val *v;
};
/* Nodes that say the same, and lack the same; how much of it they lack may differ. */
struct group {
    struct node *nodes;
    uint32_t n, cap;
};
struct groups {
    struct arena *arena;
    struct group **items;
    uint32_t n;
    struct map by_key;
};

static const char *key_of(struct arena *a, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;
    const struct kj_val *changes = kj_get(v, "changes");

    strbuf_appendf(&key, "%s|%s|", text_of(v, "code"), text_of(v, "plugin"));
    put_list(kj_get(v, "reasons"), &key);
    for (size_t i = 0; i < kj_len(changes); i++) {
        const struct kj_val *c = kj_at(changes, i);
        strbuf_appendf(&key, "\n%s|%s|%s|%s", text_of(c, "plugin"), text_of(c, "reason"),
                       text_of(c, "resource"), text_of(c, "taint"));
    }
    return arena_strdup(a, strbuf_str(&key));
}

static void group_add(struct arena *a, struct group *g, const struct node *n)
{
    if (g->n == g->cap) {
        uint32_t cap = g->cap ? g->cap * 2 : 4;
        struct node *nodes = arena_newn0(a, cap, struct node);
        if (g->n)
            memcpy(nodes, g->nodes, g->n * sizeof *nodes);
        g->nodes = nodes;
        g->cap = cap;
    }
    g->nodes[g->n++] = *n;
}

/* The largest first, then by the first name. */
static int by_size(const void *left, const void *right)
{
    const struct group *a = *(struct group *const *)left, *b = *(struct group *const *)right;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return strcmp(a->nodes[0].name, b->nodes[0].name);
}

static void groups_make(struct groups *all, const struct kj_val *nodes, bool each)
{
    struct str key;
    struct node n;

    all->items = arena_newn0(all->arena, kj_len(nodes) + 1, struct group *);
    for (struct kj_iter it = kj_iter(nodes); kj_next(&it, &key, &n.v);) {
        if (fits(n.v))
            continue;
        n.name = arena_strndup(all->arena, key.p, key.n);
        const char *group = each ? n.name : key_of(all->arena, n.v);
        struct group *g = map_getz(&all->by_key, group);
        if (!g) {
            g = all->items[all->n++] = arena_new0(all->arena, struct group);
            map_putz(&all->by_key, group, g);
        }
        group_add(all->arena, g, &n);
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
static void put_missing(const struct group *g, size_t change, struct strbuf *out)
{
    const char *resource = text_of(kj_at(kj_get(g->nodes[0].v, "changes"), change), "resource");
    int64_t least = INT64_MAX, most = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        const struct kj_val *c = kj_at(kj_get(g->nodes[i].v, "changes"), change);
        int64_t missing = kj_i64_or(kj_get(c, "missing"), 0);
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

static bool is_said(const struct kj_val *node, const struct kj_val *change)
{
    const struct kj_val *reasons = kj_get(node, "reasons");
    const char *plugin = kj_str(kj_get(node, "plugin"));
    bool said = !plugin || streq(plugin, text_of(change, "plugin"));

    for (size_t i = 0; said && i < kj_len(reasons); i++)
        if (streq(kj_str_or(kj_at(reasons, i), ""), text_of(change, "reason")))
            return true;
    return false;
}

static void put_changes(const struct group *g, struct strbuf *out)
{
    const struct kj_val *node = g->nodes[0].v, *changes = kj_get(node, "changes");
    bool first = true;

    for (size_t i = 0; i < kj_len(changes); i++) {
        const struct kj_val *c = kj_at(changes, i);
        const char *taint = kj_str(kj_get(c, "taint"));
        bool resource = kj_get(c, "resource") != NULL;
        if (!resource && !taint && is_said(node, c))
            continue;
        strbuf_append(out, first ? "    to fit: " : "; ");
        first = false;
        if (resource)
            put_missing(g, i, out);
        else if (taint)
            strbuf_appendf(out, "taint %s tolerated or removed", taint);
        else
            strbuf_appendf(out, "%s: %s", text_of(c, "plugin"), text_of(c, "reason"));
    }
    if (!first)
        strbuf_append(out, "\n");
}

static void put_names(const struct group *g, struct strbuf *out)
{
    for (uint32_t i = 0; i < g->n && i < NAMES_SHOWN; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "", g->nodes[i].name);
    if (g->n > NAMES_SHOWN)
        strbuf_append(out, ", ...");
}

/* "3 nodes (a, b, c): NodeResourcesFit: Insufficient cpu, Insufficient memory" */
static void put_group(const struct group *g, bool each, struct strbuf *out)
{
    const struct kj_val *v = g->nodes[0].v;
    const char *plugin = kj_str(kj_get(v, "plugin"));

    if (each) {
        strbuf_appendf(out, "  %s", g->nodes[0].name);
    } else {
        strbuf_appendf(out, "  %u %s (", g->n, nodes_word(g->n));
        put_names(g, out);
        strbuf_append(out, ")");
    }
    strbuf_append(out, ": ");
    if (plugin)
        strbuf_appendf(out, "%s: ", plugin);
    put_list(kj_get(v, "reasons"), out);
    if (streq(text_of(v, "code"), "UnschedulableAndUnresolvable"))
        strbuf_append(out, " (evictions do not help)");
    strbuf_append(out, "\n");
    put_changes(g, out);
}

static void put_groups(const struct kj_val *nodes, bool each, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct groups all = { .arena = a };

    groups_make(&all, nodes, each);
    for (uint32_t i = 0; i < all.n; i++)
        put_group(all.items[i], each, out);
    map_fini(&all.by_key);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint32_t count_fit(const struct kj_val *nodes)
{
    const struct kj_val *v;
    struct str key;
    uint32_t n = 0;

    for (struct kj_iter it = kj_iter(nodes); kj_next(&it, &key, &v);)
        n += fits(v);
    return n;
}

static void put_count(const struct kj_val *nodes, struct strbuf *out)
{
    uint32_t fit = count_fit(nodes), all = (uint32_t)kj_len(nodes);

    strbuf_appendf(out, "\n%u of %u %s fit%s.\n", fit, all, nodes_word(all), fit == 1 ? "s" : "");
}

void explain_attempt_text(const struct kj_val *answer, struct strbuf *out)
{
    put_count(kj_get(answer, "nodes"), out);
    put_groups(kj_get(answer, "nodes"), false, out);
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

static void put_hold(const struct kj_val *held, struct strbuf *out)
{
    strbuf_appendf(out, "Held by %s", text_of(held, "plugin"));
    if (kj_len(kj_get(held, "reasons")))
        strbuf_append(out, ": ");
    put_list(kj_get(held, "reasons"), out);
    strbuf_append(out, ". No node is tried until that is over; this is what would happen then.\n");
}

static void put_room(const struct explained *e, struct strbuf *out)
{
    const struct kj_val *p = kj_get(e->answer, "preemption"), *victims = kj_get(p, "victims");

    if (!p)
        return;
    if (!streq(text_of(p, "code"), "Success")) {
        strbuf_appendf(out, "\nMaking room does not help: %s\n", text_of(p, "message"));
        return;
    }
    strbuf_appendf(out, "\nTo make room on node %s these would have to go:\n",
                   text_of(p, "nominatedNode"));
    for (size_t i = 0; i < kj_len(victims); i++) {
        const char *victim = kj_str_or(kj_at(victims, i), "");
        strbuf_appendf(out, "  %s (priority %lld)\n", victim,
                       (long long)kj_i64_or(kj_get(kj_get(p, "priorities"), victim), 0));
    }
}

static void put_event(const struct explained *e, struct strbuf *out)
{
    const char *message = text_of(e->answer, "message");
    const char *more = text_of(kj_get(e->answer, "preemption"), "message");

    if (!*message || e->node)
        return;
    strbuf_appendf(out, "\nEvent%s: %s%s%s\n", kj_get(e->answer, "held") ? " then" : "", message,
                   *more ? " " : "", more);
}

/* How the node of a placed pod stands today. */
static void put_standing(const struct explained *e, struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(e->answer, "nodes"), *own = kj_get(nodes, e->node), *v;
    int64_t total = kj_i64_or(kj_get(own, "total"), 0);
    uint32_t better = 0;
    struct str key;

    if (!own) {
        strbuf_append(out, "Its node is gone.\n");
        return;
    }
    if (!fits(own)) {
        strbuf_append(out, "Its own node would not be a candidate any more.\n");
        return;
    }
    for (struct kj_iter it = kj_iter(nodes); kj_next(&it, &key, &v);)
        better += fits(v) && kj_i64_or(kj_get(v, "total"), 0) > total;
    strbuf_appendf(out, "Its own node has %lld points; %u %s more.\n", (long long)total, better,
                   better == 1 ? "node has" : "nodes have");
}

static const struct kj_val *details_of(const struct kj_val *node, const struct explain_table *t)
{
    const struct kj_val *details = kj_get(kj_get(node, "details"), t->plugin);

    return !t->list || kj_len(kj_get(details, t->list)) ? details : NULL;
}

static bool is_rejected_by(const struct kj_val *node, const char *plugin)
{
    return streq(kj_str_or(kj_get(node, "plugin"), ""), plugin);
}

static void put_table(const struct explain_table *t, const struct explained *e,
                      const struct explain_options *o, struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(e->answer, "nodes"), *v;
    int shown = 0, known = 0, most = o->all_nodes ? INT32_MAX : o->top;
    struct str name;

    for (int round = 0; round < 2; round++)
        for (struct kj_iter it = kj_iter(nodes); kj_next(&it, &name, &v);) {
            const struct kj_val *details = details_of(v, t);
            if (!details || is_rejected_by(v, t->plugin) != (round == 0))
                continue;
            if (known++ == 0)
                strbuf_appendf(out, "\n%s", t->heading);
            if (shown >= most)
                continue;
            t->put_node(name, details, out);
            shown++;
        }
    if (known > shown)
        strbuf_appendf(out, "  ... and %d more (--all-nodes)\n", known - shown);
}

void explain_text(const struct explained *e, const struct explain_options *o, struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(e->answer, "nodes"), *held = kj_get(e->answer, "held");
    uint32_t fit = count_fit(nodes);

    put_head(e, out);
    if (held && !e->node)
        put_hold(held, out);
    if (e->node)
        strbuf_append(out, "This is the choice as it would be today, with the pod taken away.\n");
    put_count(nodes, out);
    strbuf_append(out, e->scores);
    if (e->node)
        put_standing(e, out);
    if (!e->node || !fit || o->all_nodes)
        put_groups(nodes, o->all_nodes, out);
    put_table(&explain_load_table, e, o, out);
    put_table(&explain_numa_table, e, o, out);
    put_table(&explain_device_table, e, o, out);
    put_table(&explain_claim_table, e, o, out);
    explain_quota_text(e->quota, out);
    if (!e->node)
        put_room(e, out);
    put_event(e, out);
    ctl_clean(out);
}
