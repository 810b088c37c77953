/* lownodeload.c - LowNodeLoad: pods leave nodes whose measured use is above a threshold, as far as
 * nodes below another one can take them (descheduler 3).
 *
 * A round goes pool by pool: measure (some hundred nodes in a turn), classify, choose the sources,
 * then one source in a turn.
 */
#include "descheduler/plugins/lownodeload/lownodeload.h"

#include "api/koord/nodemetric.h"
#include "api/selector/selector.h"
#include "base/klog.h"
#include "base/num.h"
#include "descheduler/plugins/plugins.h"

enum { NODES_A_TURN = 100, PODS_A_TURN = 500 };

enum stage { STAGE_POOL, STAGE_MEASURE, STAGE_EVICT };
struct state { /* of a round; in its arena */
    enum stage stage;
    uint32_t pool; /* the next one */
    bool at_once;
    bool *processed; /* nodes of the view that were sources */
    struct lnl_round r;
    uint32_t at;
    struct lnl_nodes classes[LNL_CLASSES], abnormal, prod_abnormal, targets, prod_targets;
    struct lnl_pass pass[2]; /* node, prod */
    int64_t *both_before;    /* what nodes that are low in both ways can take, before the passes */
    int step;                /* pass under way */
};

/* ---- groups of nodes -------------------------------------------------------------------------- */

static void list_init(struct state *s, struct lnl_nodes *l)
{
    l->items = arena_newn0(s->r.arena, s->r.nnodes, struct lnl_node *);
    l->n = 0;
}

static void lists_init(struct state *s)
{
    for (int i = 0; i < LNL_CLASSES; i++)
        list_init(s, &s->classes[i]);
    list_init(s, &s->abnormal);
    list_init(s, &s->prod_abnormal);
    list_init(s, &s->targets);
    list_init(s, &s->prod_targets);
}

static void list_add(struct lnl_nodes *l, struct lnl_node *n)
{
    l->items[l->n++] = n;
}

static void append(struct lnl_nodes *to, const struct lnl_nodes *from)
{
    for (size_t i = 0; i < from->n; i++)
        list_add(to, from->items[i]);
}

/* Sources hottest first. Equal ones keep the order of their names. */
static int by_score(const void *a, const void *b)
{
    const struct lnl_node *x = *(struct lnl_node *const *)a, *y = *(struct lnl_node *const *)b;

    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void sort_sources(struct state *s, struct lnl_nodes *l, bool prod)
{
    for (size_t i = 0; i < l->n; i++) {
        struct lnl_node *n = l->items[i];
        n->score = pool_score(&s->r, n, prod ? n->prod.usage : n->all.usage);
    }
    if (l->n)
        qsort(l->items, l->n, sizeof *l->items, by_score);
}

/* ---- which nodes are hot for a while ---------------------------------------------------------- */

static void filter_abnormal(struct state *s, struct detectors *d, const struct lnl_nodes *hot,
                            struct lnl_nodes *out)
{
    const struct lnl_anomaly *a = s->r.pool->anomaly;

    for (size_t i = 0; i < hot->n; i++)
        if (s->at_once || a->abnormal == 1 ||
            detector_mark(d, hot->items[i]->name, true, a, s->r.now))
            list_add(out, hot->items[i]);
}

static void reset_all(struct detectors *d, const struct lnl_nodes *l, nsec_t now)
{
    for (size_t i = 0; i < l->n; i++)
        detector_reset(d, l->items[i]->name, now);
}

static void mark_normal(struct state *s, struct detectors *d, const struct lnl_nodes *l)
{
    const struct lnl_anomaly *a = s->r.pool->anomaly;

    for (size_t i = 0; i < l->n; i++)
        if (a->abnormal != 1)
            (void)detector_mark(d, l->items[i]->name, false, a, s->r.now);
}

/* ---- budgets ---------------------------------------------------------------------------------- */

static void add_room(const struct state *s, const struct lnl_nodes *l, bool prod, int64_t *to)
{
    for (size_t j = 0; j < l->n; j++) {
        const struct lnl_level *x = prod ? &l->items[j]->prod : &l->items[j]->all;
        for (uint32_t i = 0; i < s->r.nresources; i++)
            to[i] = i64_add_sat(to[i], i64_sub_sat(x->high[i], x->usage[i]));
    }
}

static int64_t *new_amounts(const struct state *s)
{
    return arena_newn0(s->r.arena, s->r.nresources, int64_t);
}

static void begin_node_pass(struct lnl *x, struct state *s, struct kd_round *round)
{
    append(&s->targets, &s->classes[LNL_LOW]);
    append(&s->targets, &s->classes[LNL_BOTH_LOW]);
    s->both_before = new_amounts(s);
    add_room(s, &s->classes[LNL_BOTH_LOW], false, s->both_before);
    s->pass[0] =
        (struct lnl_pass){ &s->r, x, round, false, &s->abnormal, &s->targets, new_amounts(s) };
    add_room(s, &s->targets, false, s->pass[0].budget);
}

/* What the first pass has taken of nodes that are low in both ways is gone for the second. */
static void begin_prod_pass(struct lnl *x, struct state *s, struct kd_round *round)
{
    int64_t *both = new_amounts(s), *budget = new_amounts(s);

    append(&s->prod_targets, &s->classes[LNL_PROD_LOW]);
    append(&s->prod_targets, &s->classes[LNL_BOTH_LOW]);
    add_room(s, &s->classes[LNL_PROD_LOW], true, budget);
    add_room(s, &s->classes[LNL_BOTH_LOW], true, both);
    for (uint32_t i = 0; i < s->r.nresources; i++) {
        int64_t left = MIN(s->both_before[i], s->pass[0].budget[i]);
        budget[i] = i64_add_sat(budget[i], MIN(both[i], left));
    }
    s->pass[1] =
        (struct lnl_pass){ &s->r, x, round, true, &s->prod_abnormal, &s->prod_targets, budget };
}

/* ---- a pool ----------------------------------------------------------------------------------- */

static bool belongs(const struct state *s, const struct lnl_pool *p, const struct kd_view *v,
                    uint32_t node)
{
    if (!p->nodes)
        return true;
    return !s->processed[node] &&
           labelsel_matches(p->nodes, &kd_view_node(v, node)->node->obj.meta.labels);
}

static bool begin_pool(const struct lnl *x, struct state *s, const struct kd_round *round)
{
    const struct lnl_pool *p = x->args->all[s->pool++];
    uint32_t *nodes = arena_newn0(round->arena, round->nnodes, uint32_t), n = 0;

    for (uint32_t i = 0; i < round->nnodes; i++)
        if (belongs(s, p, round->view, round->nodes[i]))
            nodes[n++] = round->nodes[i];
    if (n == 0)
        return false;
    s->r = (struct lnl_round){
        .args = x->args, .pool = p, .view = round->view, .arena = round->arena, .now = round->now
    };
    s->at = 0;
    pool_init(&s->r, nodes, n);
    lists_init(s);
    return true;
}

static void tell_nodes(const struct state *s, const struct kd_round *round)
{
    for (uint32_t i = 0; i < s->r.nnodes; i++) {
        const struct lnl_node *n = &s->r.nodes[i];
        if (!n->usable) {
            kd_tell_node(round, n->node, "unknown", "no NodeMetric, or it is too old");
            continue;
        }
        for (uint32_t j = 0; j < s->r.nresources; j++) {
            const struct lnl_resource *x = &s->r.resources[j];
            double have = (double)pool_milli(x, n->allocatable[j]);
            if (have == 0 || (x->low >= 100 && x->high >= 100))
                continue;
            kd_tell_node(round, n->node, lnl_class_names[n->class], "%s %.2f%% of %.2f%%", x->name,
                         (double)pool_milli(x, n->all.usage[j]) / have * 100,
                         (double)pool_milli(x, n->all.high[j]) / have * 100);
        }
    }
}

/* Is there anything to do? The first reason why not counts. */
static const char *choose(struct lnl *x, struct state *s)
{
    struct lnl_nodes *c = s->classes;

    pool_classify(&s->r);
    for (uint32_t i = 0; i < s->r.nnodes; i++)
        if (s->r.nodes[i].usable)
            list_add(&c[s->r.nodes[i].class], &s->r.nodes[i]);
    if (c[LNL_HIGH].n == 0 && c[LNL_PROD_HIGH].n == 0)
        return "no node is above its threshold";
    filter_abnormal(s, &x->detectors, &c[LNL_HIGH], &s->abnormal);
    filter_abnormal(s, &x->prod_detectors, &c[LNL_PROD_HIGH], &s->prod_abnormal);
    if (s->abnormal.n == 0 && s->prod_abnormal.n == 0)
        return "no node has been above its threshold for long enough";
    size_t low = c[LNL_LOW].n + c[LNL_PROD_LOW].n + c[LNL_BOTH_LOW].n;
    if (low == 0)
        return "no node is below its threshold";
    reset_all(&x->detectors, &c[LNL_LOW], s->r.now);
    reset_all(&x->detectors, &c[LNL_BOTH_LOW], s->r.now);
    reset_all(&x->prod_detectors, &c[LNL_PROD_LOW], s->r.now);
    if (low <= (size_t)s->r.args->number_of_nodes)
        return "too few nodes are below their thresholds";
    if (low == s->r.nnodes)
        return "all nodes are below their thresholds";
    return NULL;
}

static void tell_outcome(const struct lnl *x, const struct state *s)
{
    if (x->outcome)
        x->outcome(x->outcome_arg, &(struct lnl_outcome){ &s->r, &s->abnormal, &s->prod_abnormal });
}

static void end_pool(struct lnl *x, struct state *s, bool evicted)
{
    if (evicted) {
        mark_normal(s, &x->detectors, &s->abnormal);
        mark_normal(s, &x->prod_detectors, &s->prod_abnormal);
        for (size_t i = 0; i < s->classes[LNL_HIGH].n; i++) {
            s->processed[s->classes[LNL_HIGH].items[i]->node] = true;
        }
    }
    s->stage = STAGE_POOL;
}

/* ---- turns ------------------------------------------------------------------------------------ */

static void measure_some(struct lnl *x, struct state *s, struct kd_round *round)
{
    uint32_t end = MIN(s->at + NODES_A_TURN, s->r.nnodes);

    for (; s->at < end; s->at++)
        pool_measure(&s->r, s->at);
    if (s->at < s->r.nnodes)
        return;
    const char *why = choose(x, s);
    tell_nodes(s, round);
    tell_outcome(x, s);
    if (why) {
        KLOG_I(4, "LowNodeLoad has nothing to do", KV_S("pool", s->r.pool->name), KV_S("why", why));
        end_pool(x, s, false);
        return;
    }
    sort_sources(s, &s->abnormal, false);
    begin_node_pass(x, s, round);
    s->step = 0;
    s->at = 0;
    s->stage = STAGE_EVICT;
}

/* Some sources of the pass under way; the prod pass follows the node pass. */
static void evict_some(struct lnl *x, struct state *s, struct kd_round *round)
{
    struct lnl_pass *p = &s->pass[s->step];
    uint32_t seen = 0;

    while (p->targets->n && s->at < p->sources->n && seen < PODS_A_TURN) {
        struct lnl_node *n = p->sources->items[s->at++];
        seen += kd_view_active(s->r.view, n->node).n;
        pass_source(p, n);
    }
    if (p->targets->n && s->at < p->sources->n)
        return;
    s->at = 0;
    if (s->step++ == 0) {
        sort_sources(s, &s->prod_abnormal, true);
        begin_prod_pass(x, s, round);
    } else {
        end_pool(x, s, true);
    }
}

static int balance(void *self, struct kd_round *round, struct kerr *err)
{
    struct lnl *x = self;
    struct state *s = round->state;

    (void)err;
    if (x->args->paused)
        return 0;
    if (!s) {
        s = round->state = arena_new0(round->arena, struct state);
        s->at_once = round->at_once;
        s->processed = arena_newn0(round->arena, kd_view_count(round->view), bool);
        detectors_expire(&x->detectors, round->now);
        detectors_expire(&x->prod_detectors, round->now);
    }
    switch (s->stage) {
    case STAGE_POOL:
        if (s->pool == x->args->nall)
            return 0;
        if (begin_pool(x, s, round))
            s->stage = STAGE_MEASURE;
        return 1;
    case STAGE_MEASURE: measure_some(x, s, round); return 1;
    case STAGE_EVICT: evict_some(x, s, round); return 1;
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------- */

static void take_args(struct lnl *x, const void *args)
{
    x->args = args;
    x->detectors.keep = x->prod_detectors.keep = x->args->detector_timeout.v;
}

static int create(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err)
{
    struct lnl *x = xnew0(struct lnl);

    (void)env;
    (void)err;
    take_args(x, args);
    *ret_self = x;
    return 0;
}

static void destroy(void *self)
{
    struct lnl *x = self;

    detectors_fini(&x->detectors);
    detectors_fini(&x->prod_detectors);
    free(x);
}

static void update(void *self, const void *args)
{
    take_args(self, args);
}

static const struct kind *const kinds[] = { &kind_nodemetric, NULL };

const struct kd_plugin plugin_lownodeload = {
    .abi = KD_PLUGIN_ABI,
    .size = sizeof(struct kd_plugin),
    .name = "LowNodeLoad",
    .args = &lownodeload_args,
    .kinds = kinds,
    .create = create,
    .destroy = destroy,
    .update = update,
    .balance = balance,
};
