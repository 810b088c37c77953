/* whatgang.c - what would become of a gang: who is there, how many fit now and which is the first
 * that does not, how much room there is by kind of node and by part of the network, and what one
 * more node of each kind would do.
 *
 * The members are placed one after the other in an overlay, each by an attempt of its own, or by
 * the plan of the network topology. Nothing is decided about where a member would go: the first
 * node that has room is taken.
 */
#include "scheduler/observe/explain/whatgang.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/reslist.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/observe/explain/whatif.h"
#include "scheduler/plugins/coscheduling/coscheduling.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"
#include "json/kj.h"

#define LABEL_INSTANCE_TYPE "node.kubernetes.io/instance-type"

struct node_kind { /* nodes that are alike */
    const char *text;
    uint32_t row; /* one of them */
    uint32_t nodes, slots;
};
struct whatgang {
    const struct whatgang_source *src;
    const struct gangs *gangs;
    struct topo_network *network;
    const struct gang *gang;
    struct arena *arena;
    nsec_t now;
    struct topo_job job; /* members without a node, in their order */
    struct attempt *a;
    struct topo_survey survey;
    struct vec_of(struct node_kind) kinds;
    uint32_t fitting;
    const char *message; /* why the next one does not fit; NULL: all do */
    struct kjw *out;
};

/* ---- who is there ---------------------------------------------------------------------------- */

static void write_gated(struct whatgang *g, const struct gang *gang)
{
    kjw_arr(g->out, "gated");
    vec_foreach(&gang->members, i) {
        const struct gang_member *m = gang->members.items[i];
        if (m->state == MEMBER_PENDING && !m->able)
            kjw_str(g->out, NULL, member_key(m, g->arena));
    }
    kjw_end(g->out);
}

static void write_gang(struct whatgang *g, const char *id, const struct gang *gang)
{
    kjw_obj(g->out, NULL);
    kjw_str(g->out, "name", id);
    if (gang) {
        kjw_str(g->out, "from", gang->by_podgroup ? "PodGroup" : "annotations");
        kjw_bool(g->out, "ready", gang->ready);
        kjw_i64(g->out, "minMember", gang->spec.min_available);
        kjw_str(g->out, "mode", gang_mode_name(gang->spec.mode));
        kjw_str(g->out, "matchPolicy", gang_match_policy_name(gang->spec.match_policy));
        kjw_i64(g->out, "members", (int64_t)gang->members.n);
        kjw_i64(g->out, "pending", gang->count[MEMBER_PENDING]);
        kjw_i64(g->out, "bound", gang->count[MEMBER_BOUND]);
        write_gated(g, gang);
    }
    kjw_end(g->out);
}

static void write_gangs(struct whatgang *g)
{
    const struct gang_group *group = g->gang->group;

    kjw_str(g->out, "gang", g->gang->id);
    kjw_bool(g->out, "onceSatisfied", group && group->once_satisfied);
    kjw_arr(g->out, "gangs");
    for (uint32_t i = 0; group && i < group->n; i++)
        write_gang(g, group->ids[i], group_gang(g->gangs, group, i));
    if (!group)
        write_gang(g, g->gang->id, g->gang);
    kjw_end(g->out);
}

static void collect(struct whatgang *g)
{
    uint32_t n;
    struct gang_member **all = group_pending(g->gangs, g->gang->group, g->arena, &n);
    struct kobj **pods = arena_newn0(g->arena, n + 1, struct kobj *);

    for (uint32_t i = 0; i < n; i++)
        pods[i] = all[i]->pod;
    if (n)
        qsort(pods, n, sizeof *pods, topo_compare_pods);
    g->job = (struct topo_job){ .pods = pods, .n = n };
}

/* Do the rules of the gang count? */
static void mind_network(struct whatgang *g)
{
    int slot = profile_slot(g->a->profile, "Coscheduling");
    const struct coscheduling *c = slot < 0 ? NULL : g->a->profile->slots[slot].self;

    if (!g->gang->spec.has_topology)
        return;
    if (!c || !c->topology)
        kjw_str(g->out, "networkIgnored", "awareNetworkTopology is off");
    else if (!topo_network_tree(g->network))
        kjw_str(g->out, "networkIgnored", "there is no ClusterNetworkTopology \"default\"");
    else
        g->job.spec = &g->gang->spec.topology;
}

/* ---- how many fit ---------------------------------------------------------------------------- */

static const char *fit_error(struct attempt *b, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    attempt_message(b, &text);
    return arena_strdup(a, strbuf_str(&text));
}

/* The first row that has room for the pod; KS_NO_ROW: none, and *ret_why says why. */
static uint32_t find_row(struct whatgang *g, struct kobj *pod, const char **ret_why)
{
    struct attempt b;
    uint32_t row = 0;

    attempt_init(&b,
                 &(struct attempt_input){ .profile = g->a->profile,
                                          .cache = g->a->cache,
                                          .nominator = g->a->nominator,
                                          .objects = g->network->env.objects,
                                          .pod = pod,
                                          .now = g->now,
                                          .within = g->a },
                 g->a->arena);
    attempt_filter(&b);
    while (b.feasible && b.by[row])
        row++;
    if (!b.feasible) {
        row = KS_NO_ROW;
        *ret_why = fit_error(&b, g->arena);
    }
    attempt_end(&b);
    return row;
}

static void place_members(struct whatgang *g)
{
    for (; g->fitting < g->job.n; g->fitting++) {
        struct kobj *pod = g->job.pods[g->fitting];
        uint32_t row = find_row(g, pod, &g->message);
        if (row == KS_NO_ROW)
            return;
        ks_overlay_add_pod(g->a->overlay, row, pod);
    }
}

static void place_by_plan(struct whatgang *g)
{
    struct ks_texts why = { .arena = g->arena };
    struct topo_plan *plan = NULL;

    if (topo_plan_make(g->network, g->a, &g->job, &plan, &why) != KS_SUCCESS) {
        for (uint32_t i = 0; i < g->survey.nrooms; i++)
            g->fitting = MAX(g->fitting, MIN(g->survey.rooms[i].slots, g->job.n));
        g->message = ks_texts_join(&why);
        return;
    }
    g->fitting = g->job.n;
    topo_plan_free(plan);
}

/* ---- kinds of nodes -------------------------------------------------------------------------- */

static const char *kind_text(const struct whatgang *g, uint32_t row)
{
    const struct ks_nodes *n = g->a->cycle.nodes;
    const char *type = kstrmap_get(&n->node[row]->obj.meta.labels, LABEL_INSTANCE_TYPE);
    const char *text = "";

    if (!str_empty(type))
        return type;
    for (uint32_t i = 0; i < n->nres; i++) {
        if (n->alloc[i][row] <= 0 || i == KS_PODS || i == KS_EPHEMERAL)
            continue;
        struct qty q = resource_from_count(n->resource[i], n->alloc[i][row]);
        text = arena_printf(g->arena, "%s%s%s=%s", text, *text ? " " : "", n->resource[i],
                            qty_format(q, g->arena));
    }
    return text;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct node_kind *)a)->text, ((const struct node_kind *)b)->text);
}

static void find_kinds(struct whatgang *g)
{
    for (uint32_t row = 0; row < g->a->n; row++) {
        const char *text = kind_text(g, row);
        size_t i = 0;
        while (i < g->kinds.n && !streq(g->kinds.items[i].text, text))
            i++;
        if (i == g->kinds.n)
            vec_push(&g->kinds, ((struct node_kind){ .text = text, .row = row }));
        g->kinds.items[i].nodes++;
        g->kinds.items[i].slots += g->survey.slots[row];
    }
    if (g->kinds.n)
        qsort(g->kinds.items, g->kinds.n, sizeof *g->kinds.items, by_text);
}

static bool is_daemon(const struct pod *p)
{
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (streq(str_or(p->obj.meta.owners.items[i].kind, ""), "DaemonSet"))
            return true;
    return false;
}

/* How many of the members that do not fit would, on an empty node like this one. */
static uint32_t one_more(struct whatgang *g, uint32_t row)
{
    struct ks_overlay *o = g->a->overlay;
    uint32_t mark = ks_overlay_mark(o), n = g->fitting;
    const struct ks_podlist *pods = &g->a->cycle.nodes->pods[row];

    for (uint32_t i = pods->n; i-- > 0;)
        if (!is_daemon(pods->items[i]))
            ks_overlay_remove_pod(o, row, pods->items[i]);
    for (; n < g->job.n; n++) {
        struct attempt b;
        attempt_init(&b,
                     &(struct attempt_input){ .profile = g->a->profile,
                                              .cache = g->a->cache,
                                              .nominator = g->a->nominator,
                                              .objects = g->network->env.objects,
                                              .pod = g->job.pods[n],
                                              .now = g->now,
                                              .within = g->a },
                     g->a->arena);
        attempt_prepare(&b);
        bool ok = b.code == KS_SUCCESS && attempt_may_have(&b, row) && attempt_fits(&b, row, NULL);
        attempt_end(&b);
        if (!ok)
            break;
        ks_overlay_add_pod(o, row, g->job.pods[n]);
    }
    ks_overlay_rollback(o, mark);
    return n - g->fitting;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_kinds(struct whatgang *g)
{
    kjw_arr(g->out, "nodes");
    vec_foreach(&g->kinds, i) {
        const struct node_kind *k = &g->kinds.items[i];
        kjw_obj(g->out, NULL);
        kjw_str(g->out, "kind", k->text);
        kjw_i64(g->out, "nodes", k->nodes);
        kjw_i64(g->out, "slots", k->slots);
        if (g->message)
            kjw_i64(g->out, "oneMore", one_more(g, k->row));
        kjw_end(g->out);
    }
    kjw_end(g->out);
}

static void write_network(struct whatgang *g)
{
    const struct topo_tree *t = topo_network_tree(g->network);

    if (!g->job.spec)
        return;
    kjw_obj(g->out, "network");
    kjw_str(g->out, "layer", t->layers[g->survey.layer].name);
    kjw_arr(g->out, "domains");
    for (uint32_t i = 0; i < g->survey.nrooms; i++) {
        kjw_obj(g->out, NULL);
        kjw_str(g->out, "name", g->survey.rooms[i].name);
        kjw_i64(g->out, "slots", g->survey.rooms[i].slots);
        kjw_end(g->out);
    }
    kjw_end(g->out);
    kjw_end(g->out);
}

static void write_room(struct whatgang *g)
{
    char key[KOBJ_KEY_MAX];

    g->network->planning = true;
    g->a = g->src->begin(g->src->arg, g->job.pods[0]);
    g->network->planning = false;
    if (!g->a)
        return;
    mind_network(g);
    topo_survey(g->network, g->a, &g->job, &g->survey);
    g->network->planning = true; /* members are tried one by one here: no rounds, no plans */
    if (!g->job.spec)
        place_members(g);
    g->network->planning = false;
    if (g->job.spec)
        place_by_plan(g);
    g->network->planning = true;
    find_kinds(g);
    kjw_i64(g->out, "wanted", g->job.n);
    kjw_i64(g->out, "fitting", g->fitting);
    if (g->message) {
        kobj_key(g->job.pods[MIN(g->fitting, g->job.n - 1)], key, sizeof key);
        kjw_str(g->out, "first", key);
        kjw_str(g->out, "message", g->message);
        kjw_str(g->out, "full", g->survey.fit);
    }
    write_kinds(g);
    write_network(g);
    g->network->planning = false;
}

int whatgang_write(const struct whatgang_source *src, const char *id, struct strbuf *json,
                   struct kerr *err)
{
    CLEANUP(arena_free) struct arena *arena = arena_new();
    struct kjw out = kjw_to(json);
    struct whatgang g = { .src = src,
                          .gangs = src->gangs,
                          .network = src->network,
                          .arena = arena,
                          .now = src->now,
                          .out = &out };

    g.gang = gangs_find(g.gangs, id);
    if (!g.gang)
        return kerr_set(err, -ENOENT,
                        "no gang %.128s: there is no such PodGroup, and no pod names it", id);
    kjw_obj(&out, NULL);
    write_gangs(&g);
    if (g.gang->group) {
        collect(&g);
        if (g.job.n > 0)
            write_room(&g);
    }
    kjw_end(&out);
    vec_fini(&g.kinds);
    return 0;
}

struct built { /* the cluster of a whatif */
    struct whatif *w;
    nsec_t now;
};

static struct attempt *begin_built(void *arg, struct kobj *pod)
{
    const struct built *b = arg;

    return whatif_begin(b->w, pod, b->now);
}

int whatif_explain_gang(struct whatif *w, const char *id, nsec_t now, struct strbuf *json,
                        struct kerr *err)
{
    struct built built = { w, now };
    struct whatgang_source src = { .gangs = whatif_service(w, &gangs_service),
                                   .network = whatif_service(w, &topo_network_service),
                                   .now = now,
                                   .begin = begin_built,
                                   .arg = &built };

    if (!src.gangs || !src.network)
        return kerr_set(err, -ENOTSUP, "the scheduler's profile does not enable Coscheduling");
    return whatgang_write(&src, id, json, err);
}
