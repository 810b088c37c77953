/* topo_plan.c - a plan for all members of a gang, made within the attempt of the first
 * (sched-gang 7.4, 7.5).
 */
#include "scheduler/plugins/coscheduling/topo_plan.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/shapes.h"

/* A plan that does not hold is made again so many times, each time with less room. */
enum { ROUNDS_MAX = 32 };

/* ---- members --------------------------------------------------------------------------------- */

struct member {
    struct kuid uid; /* first: uidmap */
    struct kobj *pod;
    struct trial *trial; /* NULL: not looked for yet */
};
struct trial { /* members that are alike: one attempt tells for all of them */
    struct attempt a;
    const struct pod *pod;
    struct trial *next;
};
struct planner {
    struct topo_network *network;
    const struct topo_tree *tree;
    struct attempt *around;
    const struct topo_job *job;
    struct arena *arena;
    struct arena *scratch; /* of one member that is tried alone */
    struct member *members;
    struct uidmap by_uid; /* the same: what is nominated for them is theirs */
    struct trial *trials; /* the latest first */
    struct topo_offer *offers;
    uint32_t *slots;     /* by row */
    uint32_t *row;       /* by leaf->at; KS_NO_ROW: it is not considered */
    struct tally *tally; /* why nodes have no room for more */
    uint32_t nconsidered;
    uint64_t rejectors; /* slots of plugins */
};

int topo_compare_pods(const void *a, const void *b)
{
    const struct objmeta *x = &(*(struct kobj *const *)a)->meta;
    const struct objmeta *y = &(*(struct kobj *const *)b)->meta;

    return gang_topology_order(gang_topology_index(&x->annotations), x->name,
                               gang_topology_index(&y->annotations), y->name);
}

static void prepare(const struct planner *p, struct attempt *a, struct kobj *pod,
                    struct arena *arena)
{
    attempt_init(a,
                 &(struct attempt_input){ .profile = p->around->profile,
                                          .cache = p->around->cache,
                                          .nominator = p->around->nominator,
                                          .objects = p->network->env.objects,
                                          .pod = pod,
                                          .now = p->around->cycle.now,
                                          .nominated_once = p->around->nominated_once,
                                          .within = p->around,
                                          .ignored_set = &p->by_uid },
                 arena);
    attempt_prepare(a);
}

/* Rows must be as the attempt around sees them: a trial is not begun in the middle of another. */
static void begin_trial(struct planner *p, struct member *m)
{
    struct trial *t = arena_new0(p->arena, struct trial);

    t->pod = pod_of(m->pod);
    prepare(p, &t->a, m->pod, p->arena);
    t->next = p->trials;
    p->trials = t;
    m->trial = t;
}

static struct trial *find_trial(struct planner *p, struct member *m)
{
    for (struct trial *t = p->trials; t && !m->trial; t = t->next)
        if (shapes_alike(p->around->profile, t->pod, pod_of(m->pod)))
            m->trial = t;
    return m->trial;
}

/* Does the pod fit the row as it is now? Otherwise why gets the reasons, and those who gave them
 * are rejectors: what helps them helps the gang. */
static bool fits(struct planner *p, struct attempt *a, uint32_t row, struct ks_texts *why)
{
    struct attempt_verdict v;

    if (a->code != KS_SUCCESS) {
        ks_texts_add(why, a->text);
        p->rejectors |= a->rejectors;
    } else if (!attempt_may_have(a, row)) {
        ks_texts_add(why, a->left_out);
        p->rejectors |= a->narrowed;
    } else if (attempt_fits(a, row, &v)) {
        return true;
    } else {
        attempt_fits_texts(a, row, &v, why);
        p->rejectors |= UINT64_C(1) << (v.by - 1);
    }
    return false;
}

/* ---- how many have room ---------------------------------------------------------------------- */

/* The members in their order, as many as have room on the row. UINT32_MAX: the trial of *ret_next
 * has to begin first. */
static uint32_t count_slots(struct planner *p, uint32_t row, uint32_t *ret_next,
                            struct ks_texts *why)
{
    struct ks_overlay *o = p->around->overlay;
    uint32_t mark = ks_overlay_mark(o), n = 0;

    for (; n < p->job->n; n++) {
        struct member *m = &p->members[n];
        if (!m->trial && !find_trial(p, m)) {
            *ret_next = n;
            n = UINT32_MAX;
            break;
        }
        if (!fits(p, &m->trial->a, row, why))
            break;
        if (n + 1 < p->job->n)
            ks_overlay_add_pod(o, row, m->pod);
    }
    ks_overlay_rollback(o, mark);
    return n;
}

static void offer_row(struct planner *p, uint32_t row)
{
    const char *name = p->around->cycle.nodes->node[row]->obj.meta.name;
    const struct topo_leaf *leaf = p->tree ? topo_tree_leaf(p->tree, name) : NULL;
    struct ks_texts why = { .arena = p->arena };
    uint32_t next = 0, n;

    while ((n = count_slots(p, row, &next, &why)) == UINT32_MAX)
        begin_trial(p, &p->members[next]);
    for (uint32_t i = 0; i < why.n; i++)
        tally_add(p->tally, why.items[i], 1);
    p->nconsidered++;
    p->slots[row] = n;
    if (!leaf)
        return;
    p->offers[leaf->at].slots = n;
    p->offers[leaf->at].score = p->job->score ? p->job->score[row] : 0;
    p->row[leaf->at] = row;
}

static void note_existing(struct planner *p)
{
    const char *selector = topo_selector(pod_of(p->job->pods[0])), *node;
    uint32_t count;

    for (size_t it = 0;
         selector && (node = topo_peers_next(&p->network->peers, selector, &it, &count));) {
        const struct topo_leaf *leaf = topo_tree_leaf(p->tree, node);
        if (leaf && p->row[leaf->at] != KS_NO_ROW)
            p->offers[leaf->at].existing = count;
    }
}

static void make_offers(struct planner *p)
{
    const struct ks_only *only = &p->around->only;
    uint32_t leaves = p->tree ? (uint32_t)p->tree->leaves.n : 0;

    p->slots = arena_newn0(p->arena, p->around->n, uint32_t);
    p->offers = arena_newn0(p->arena, leaves, struct topo_offer);
    p->row = arena_newn0(p->arena, leaves, uint32_t);
    for (uint32_t i = 0; i < leaves; i++)
        p->row[i] = KS_NO_ROW;
    for (uint32_t i = 0; i < (only->set ? only->n : p->around->n); i++)
        offer_row(p, only->set ? only->rows[i] : i);
    note_existing(p);
}

/* ---- does the plan hold? --------------------------------------------------------------------- */

/* The member as it is alone, when none of the trials is about one like it. */
static bool fits_alone(struct planner *p, struct member *m, uint32_t row, struct ks_texts *why)
{
    struct ks_texts said = { .arena = p->scratch };
    struct attempt a;

    arena_reset(p->scratch);
    prepare(p, &a, m->pod, p->scratch);
    bool ok = fits(p, &a, row, &said);
    attempt_end(&a);
    for (uint32_t i = 0; i < said.n; i++)
        ks_texts_add(why, arena_strdup(p->arena, said.items[i]));
    return ok;
}

static bool member_fits(struct planner *p, struct member *m, uint32_t row, struct ks_texts *why)
{
    if (m->trial || find_trial(p, m))
        return fits(p, &m->trial->a, row, why);
    return fits_alone(p, m, row, why);
}

/* All members go where the plan says. The share that does not hold counts for less from now on. */
static bool holds(struct planner *p, const struct topo_solution *s)
{
    struct ks_overlay *o = p->around->overlay;
    uint32_t mark = ks_overlay_mark(o), at = 0;
    struct ks_texts why = { .arena = p->arena };
    bool ok = true;

    for (uint32_t i = 0; i < s->n && ok; i++) {
        uint32_t row = p->row[s->shares[i].leaf->at], k = 0;
        for (; k < s->shares[i].n && member_fits(p, &p->members[at], row, &why); k++, at++)
            ks_overlay_add_pod(o, row, p->members[at].pod);
        ok = k == s->shares[i].n;
        if (!ok)
            p->offers[s->shares[i].leaf->at].slots = k;
    }
    ks_overlay_rollback(o, mark);
    if (!ok)
        tally_add(p->tally, ks_texts_join(&why), 1);
    return ok;
}

static bool solve(struct planner *p, const struct topo_request *r, struct topo_solution *ret)
{
    for (uint32_t i = 0; i < ROUNDS_MAX; i++) {
        if (!topo_solve(p->tree, r, p->offers, p->arena, ret))
            return false;
        if (holds(p, ret))
            return true;
    }
    return false;
}

/* ---- the plan -------------------------------------------------------------------------------- */

struct planned {
    struct kuid uid; /* first: uidmap */
    char *uid_text;  /* of a UID that is no UUID */
    char *node;
};
struct topo_plan {
    struct uidmap by_uid;
    uint32_t n;
    struct planned items[];
};

struct topo_plan *topo_plan_free(struct topo_plan *p)
{
    if (!p)
        return NULL;
    uidmap_fini(&p->by_uid);
    for (uint32_t i = 0; i < p->n; i++) {
        free(p->items[i].uid_text);
        free(p->items[i].node);
    }
    free(p);
    return NULL;
}

const char *topo_plan_node(const struct topo_plan *p, struct kuid uid)
{
    const struct planned *item = uidmap_get(&p->by_uid, uid);

    return item ? item->node : NULL;
}

const struct uidmap *topo_plan_members(const struct topo_plan *p)
{
    return &p->by_uid;
}

static struct topo_plan *write_down(const struct planner *p, const struct topo_solution *s)
{
    struct topo_plan *plan = xcalloc(1, sizeof *plan + p->job->n * sizeof plan->items[0]);

    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < s->shares[i].n; k++) {
            struct planned *item = &plan->items[plan->n];
            item->uid = uidmap_own(p->job->pods[plan->n]->meta.uid, &item->uid_text);
            item->node = xstrdup(s->shares[i].leaf->node->meta.name);
            uidmap_put(&plan->by_uid, item);
            plan->n++;
        }
    return plan;
}

static void refuse(const struct planner *p, const struct topo_request *r,
                   const struct topo_solution *s, struct ks_texts *why)
{
    CLEANUP(strbuf_fini) struct strbuf fit = STRBUF_INIT, text = STRBUF_INIT;

    tally_format(p->tally, p->nconsidered, &fit);
    topo_refusal(r, s, strbuf_str(&fit), &text);
    ks_texts_add(why, arena_strdup(why->arena, strbuf_str(&text)));
}

static void planner_begin(struct planner *p, struct topo_network *n, struct attempt *a,
                          const struct topo_job *job)
{
    *p = (struct planner){ .network = n,
                           .tree = topo_network_tree(n),
                           .around = a,
                           .job = job,
                           .arena = a->arena,
                           .scratch = arena_new(),
                           .members = arena_newn0(a->arena, job->n, struct member),
                           .tally = tally_new(a->arena) };
    for (uint32_t i = 0; i < job->n; i++) {
        p->members[i].pod = job->pods[i];
        p->members[i].uid = job->pods[i]->meta.uid;
        uidmap_put(&p->by_uid, &p->members[i]);
    }
    n->planning = true;
    make_offers(p);
}

static void planner_end(struct planner *p)
{
    for (struct trial *t = p->trials; t; t = t->next)
        attempt_end(&t->a);
    p->network->planning = false;
    uidmap_fini(&p->by_uid);
    arena_free(p->scratch);
}

static struct topo_request request_of(const struct topo_job *job)
{
    return (struct topo_request){ job->spec, job->n, topo_selector(pod_of(job->pods[0])) };
}

enum ks_code topo_plan_make(struct topo_network *n, struct attempt *a, const struct topo_job *job,
                            struct topo_plan **ret, struct ks_texts *why)
{
    struct topo_request r = request_of(job);
    struct topo_solution s = { 0 };
    struct planner p;

    planner_begin(&p, n, a, job);
    bool found = solve(&p, &r, &s);
    planner_end(&p);
    if (!found) {
        a->rejectors |= p.rejectors;
        refuse(&p, &r, &s, why);
        return KS_UNSCHEDULABLE;
    }
    *ret = write_down(&p, &s);
    return KS_SUCCESS;
}

void topo_survey(struct topo_network *n, struct attempt *a, const struct topo_job *job,
                 struct topo_survey *ret)
{
    CLEANUP(strbuf_fini) struct strbuf fit = STRBUF_INIT;
    struct topo_request r = request_of(job);
    const char *must;
    struct planner p;

    planner_begin(&p, n, a, job);
    planner_end(&p);
    tally_format(p.tally, p.nconsidered, &fit);
    *ret =
        (struct topo_survey){ .slots = p.slots, .fit = arena_strdup(a->arena, strbuf_str(&fit)) };
    if (!p.tree || !job->spec)
        return;
    ret->layer = topo_must_layer(p.tree, job->spec, &must);
    if (ret->layer == 0 && p.tree->n > 2)
        ret->layer = 1; /* nowhere in particular: the largest parts */
    ret->rooms = topo_rooms(p.tree, &r, p.offers, ret->layer, a->arena, &ret->nrooms);
}

/* ---- later members --------------------------------------------------------------------------- */

/* The domain of the layer that the others are in; NULL: there is none, and why says so. */
static const struct topo_domain *common(const struct topo_tree *t, uint32_t layer,
                                        const char *const *nodes, uint32_t n, struct ks_texts *why)
{
    const struct topo_domain *d = NULL;

    for (uint32_t i = 0; i < n; i++) {
        const struct topo_leaf *l = topo_tree_leaf(t, nodes[i]);
        if (!l)
            continue; /* of a node that goes, its pod goes too */
        const struct topo_domain *of = topo_leaf_domain(t, l, layer);
        if (d && d != of) {
            ks_texts_addf(why,
                          "members of the gang are in several domains of %s, where they must "
                          "gather: %s and %s",
                          t->layers[layer].name, d->name, of->name);
            return NULL;
        }
        d = of;
    }
    if (!d)
        ks_texts_addf(why, "no member of the gang is on a node of the network topology");
    return d;
}

static bool is_in(const struct topo_tree *t, const char *node, const struct topo_domain *d)
{
    const struct topo_leaf *l = topo_tree_leaf(t, node);

    return l && topo_leaf_domain(t, l, d->layer) == d;
}

static void stay_on_node(const char *const *nodes, uint32_t n, const struct ks_cycle *c,
                         struct ks_only *only)
{
    uint32_t *row = arena_new0(c->arena, uint32_t);

    *only = (struct ks_only){ row, 0, true };
    for (uint32_t i = 0; i < n && only->n == 0; i++) {
        *row = ks_row_of(c->nodes, nodes[i]);
        only->n = *row != KS_NO_ROW;
    }
}

enum ks_code topo_stay(const struct topo_tree *t, const struct network_topology_spec *spec,
                       const char *const *nodes, uint32_t n, const struct ks_cycle *c,
                       struct ks_only *only, struct ks_texts *why)
{
    const char *must;
    uint32_t layer = topo_must_layer(t, spec, &must);

    if (layer == 0)
        return KS_SKIP;
    if (layer == t->n - 1) {
        for (uint32_t i = 1; i < n; i++)
            if (!streq(nodes[i], nodes[0])) {
                ks_texts_addf(why,
                              "members of the gang are on several nodes, though they must "
                              "gather on one: %s and %s",
                              nodes[0], nodes[i]);
                return KS_UNRESOLVABLE;
            }
        stay_on_node(nodes, n, c, only);
        return KS_SUCCESS;
    }
    const struct topo_domain *d = common(t, layer, nodes, n, why);
    if (!d)
        return KS_UNRESOLVABLE;
    uint32_t *rows = arena_newn0(c->arena, c->nodes->n, uint32_t);
    *only = (struct ks_only){ rows, 0, true };
    for (uint32_t i = 0; i < c->nodes->n; i++)
        if (is_in(t, c->nodes->node[i]->obj.meta.name, d))
            rows[only->n++] = i;
    return KS_SUCCESS;
}
