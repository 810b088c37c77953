/* loadawarescheduling.c - LoadAwareScheduling: nodes by their real load (sched-loadaware 5, 6).
 *
 * What a node may still be given stands in columns, made by limits.c from the node, its metric and
 * the pods that loads.c knows: a filter compares, a score divides. Pods that an overlay adds to a
 * row or removes from it make no difference: the load of the node is what it is.
 */
#include "api/koord/nodemetric.h"
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"
#include "scheduler/plugins/registry.h"
#include "json/kj.h"

/* ---- what is known of a row ------------------------------------------------------------------ */

/* Resources that stand in columns; with more of them all stand in the struct. */
enum { NARROW = 3 };
enum {
    COLUMN_ROOM = 0,
    COLUMN_LEFT = COLUMN_ROOM + LOAD_CLASSES * NARROW,
    COLUMN_CAPACITY = COLUMN_LEFT + LOAD_SCORED * NARROW,
    COLUMN_STATE = COLUMN_CAPACITY + NARROW,
    COLUMNS
};
/* Of COLUMN_STATE; shifted by the class. */
enum { STATE_EXPIRED = 1, STATE_AGGREGATED = 1 << LOAD_CLASSES };

struct wide {
    int64_t room[LOAD_CLASSES], left[LOAD_SCORED], capacity;
};
struct load_row {
    struct wide *by_resource; /* [n]; NULL: the columns have it */
};

static void fill_wide(const struct loads *l, const struct load_limits *m, struct load_row *row)
{
    if (!row->by_resource)
        row->by_resource = xnewn0(l->n, struct wide);
    for (uint32_t r = 0; r < l->n; r++) {
        struct wide *w = &row->by_resource[r];
        w->capacity = m->capacity[r];
        for (int class = 0; class < LOAD_CLASSES; class ++)
            w->room[class] = m->room[class][r];
        for (int class = 0; class < LOAD_SCORED; class ++)
            w->left[class] = m->left[class][r];
    }
}

static void fill_columns(const struct loads *l, const struct load_limits *m, int64_t *column)
{
    for (uint32_t r = 0; r < l->n; r++) {
        column[COLUMN_CAPACITY + r] = m->capacity[r];
        for (uint32_t class = 0; class < LOAD_CLASSES; class ++)
            column[COLUMN_ROOM + class * NARROW + r] = m->room[class][r];
        for (uint32_t class = 0; class < LOAD_SCORED; class ++)
            column[COLUMN_LEFT + class * NARROW + r] = m->left[class][r];
    }
}

static void load_fill(void *self, struct ks_fill *f)
{
    struct loads *l = self;
    const struct node *node = f->nodes->node[f->row];
    struct load_limits m;

    load_limits_of(l, node, f->now, &m);
    loads_saw(l, node->obj.meta.name, &m);
    f->valid_until = m.valid_until;
    for (int class = 0; class < LOAD_CLASSES; class ++)
        f->column[COLUMN_STATE] |= (m.expired[class] ? STATE_EXPIRED << class : 0) |
                                   (m.aggregated[class] ? STATE_AGGREGATED << class : 0);
    if (l->n > NARROW)
        fill_wide(l, &m, f->data);
    else
        fill_columns(l, &m, f->column);
}

static void load_row_drop(void *self, void *data)
{
    (void)self;
    free(((struct load_row *)data)->by_resource);
}

static const struct ks_row_data load_row = {
    .size = sizeof(struct load_row),
    .columns = COLUMNS,
    .pods = true, /* through the service */
    .fill = load_fill,
    .drop = load_row_drop,
};

/* ---- the pod --------------------------------------------------------------------------------- */

struct incoming { /* the state */
    enum load_class class;
    int64_t want[];
};

static struct incoming *incoming_of(const struct loads *l, const struct pod *p, struct arena *a)
{
    struct incoming *in = arena_zalloc(a, sizeof *in + l->n * sizeof *in->want);

    in->class = load_class_of(p);
    load_estimate(l, p, a, in->want);
    return in;
}

/* Without a state: a profile in which this plugin has no pre_filter. */
static const struct incoming *incoming_or(const struct loads *l, const struct ks_cycle *c,
                                          const struct ks_pod *p, struct arena **own)
{
    if (c->state)
        return c->state;
    *own = arena_new();
    return incoming_of(l, p->pod, *own);
}

static bool is_of_daemonset(const struct pod *p)
{
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (streq(p->obj.meta.owners.items[i].kind, "DaemonSet"))
            return true;
    return false;
}

static enum ks_code load_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)only, (void)why;
    *ret_state = incoming_of(self, p->pod, c->arena);
    return is_of_daemonset(p->pod) ? KS_SKIP : KS_SUCCESS;
}

/* ---- filter ---------------------------------------------------------------------------------- */

enum { WHY_EXPIRED = 1, WHY_LOAD = 2 };
static const struct ks_reason load_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "node(s) nodeMetric expired" },
    { KS_UNSCHEDULABLE, "node(s) usage exceed threshold" },
};

KOORD_CLONES static void check_state(struct ks_span s, int64_t expired,
                                     const int64_t *restrict state, uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = (state[i] & expired) != 0; /* WHY_EXPIRED; then nothing else limits the row */
}

KOORD_CLONES static void check_room(struct ks_span s, int64_t want, const int64_t *restrict room,
                                    uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = (uint8_t)(why[i] | (want > room[i]) << 1);
}

static int64_t room_of(const struct loads *l, const struct ks_cycle *c, enum load_class class,
                       uint32_t r, uint32_t row)
{
    const struct load_row *data = ks_row(c->rows, row);

    if (l->n > NARROW)
        return data->by_resource[r].room[class];
    return c->rows->column[COLUMN_ROOM + (uint32_t) class * NARROW + r][row];
}

static void load_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct loads *l = self;
    CLEANUP(arena_free) struct arena *own = NULL;
    const struct incoming *in = incoming_or(l, c, p, &own);
    int64_t *const *column = c->rows->column;

    (void)skip;
    if (!c->state && is_of_daemonset(p->pod)) {
        memset(why + s.begin, 0, s.end - s.begin);
        return;
    }
    check_state(s, STATE_EXPIRED << in->class, column[COLUMN_STATE], why);
    for (uint32_t r = 0; r < l->n; r++) {
        if (l->n <= NARROW)
            check_room(s, in->want[r], column[COLUMN_ROOM + (uint32_t)in->class * NARROW + r], why);
        for (uint32_t i = s.begin; l->n > NARROW && i < s.end; i++)
            why[i] = (uint8_t)(why[i] | (in->want[r] > room_of(l, c, in->class, r, i)) << 1);
    }
}

/* The usual threshold lets it in, and koordlet would evict it again. */
static void explain_eviction(const struct loads *l, const struct ks_cycle *c, uint32_t row,
                             uint32_t r, struct ks_texts *out)
{
    struct load_figures f = { 0 };

    load_figures_of(l, c->nodes->node[row], LOAD_BE, c->now, &f);
    const char *usual = f.threshold[r] ? arena_printf(out->arena, "usage threshold %lld%%",
                                                      (long long)f.threshold[r])
                                       : "no usage threshold";
    ks_texts_addf(out, "node(s) %s usage exceed eviction threshold %lld%% of NodeSLO (%s)",
                  l->names[r], (long long)f.evict[r], usual);
}

static void load_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                         struct ks_texts *out)
{
    const struct loads *l = self;
    CLEANUP(arena_free) struct arena *own = NULL;
    const struct incoming *in = incoming_or(l, c, p, &own);
    int64_t state = c->rows->column[COLUMN_STATE][row];
    uint32_t r = 0;

    if (state & STATE_EXPIRED << in->class) {
        ks_texts_add(out, load_reasons[WHY_EXPIRED].text);
        return;
    }
    while (r < l->n - 1 && in->want[r] <= room_of(l, c, in->class, r, row))
        r++;
    if (in->class == LOAD_BE && in->want[r] <= room_of(l, c, LOAD_ANY, r, row)) {
        explain_eviction(l, c, row, r, out);
        return;
    }
    ks_texts_addf(out, "node(s) %s %susage exceed threshold", l->names[r],
                  state & STATE_AGGREGATED << in->class ? "aggregated " : "");
}

/* ---- figures --------------------------------------------------------------------------------- */

static void show_resource(struct kjw *w, const struct loads *l, const struct load_figures *f,
                          const struct incoming *in, uint32_t r)
{
    int64_t load = f->used[r] + f->estimated[r];

    kjw_obj(w, l->names[r]);
    kjw_i64(w, "used", f->used[r]);
    kjw_i64(w, "estimated", f->estimated[r]);
    kjw_i64(w, "incoming", in->want[r]);
    kjw_i64(w, "capacity", f->capacity[r]);
    if (f->capacity[r])
        kjw_i64(w, "percent", load_percent(load + in->want[r], f->capacity[r]));
    if (f->threshold[r])
        kjw_i64(w, "threshold", f->threshold[r]);
    if (f->evict[r] >= 0)
        kjw_i64(w, "evictionThreshold", f->evict[r]);
    kjw_end(w);
}

/* By resource: cpu in milli, others in units. */
static void load_show(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                      struct kjw *w)
{
    const struct loads *l = self;
    CLEANUP(arena_free) struct arena *own = NULL;
    const struct incoming *in = incoming_or(l, c, p, &own);
    struct load_figures f;

    if (!load_figures_of(l, c->nodes->node[row], in->class, c->now, &f))
        return;
    kjw_bool(w, "expired", f.expired);
    kjw_bool(w, "aggregated", f.aggregated);
    kjw_obj(w, "resources");
    for (uint32_t r = 0; r < l->n; r++)
        show_resource(w, l, &f, in, r);
    kjw_end(w);
}

/* ---- score ----------------------------------------------------------------------------------- */

struct scoring { /* columns of one resource */
    const int64_t *left, *capacity;
    int64_t want, weight;
};

static struct scoring scoring_of(const struct loads *l, const struct ks_cycle *c,
                                 const struct incoming *in, uint32_t r)
{
    return (struct scoring){
        .left = c->rows->column[COLUMN_LEFT + load_scored_as(in->class) * NARROW + r],
        .capacity = c->rows->column[COLUMN_CAPACITY + r],
        .want = in->want[r],
        .weight = l->weights[r],
    };
}

struct tally { /* of a row, resource by resource */
    int64_t sum, worst;
    bool scored; /* the node has one of them */
};
#define TALLY_INIT            \
    {                         \
        .worst = KS_SCORE_MAX \
    }

/* A resource that the node lacks scores nothing; but it is not its scarcest one. */
static void tally_add(struct tally *t, int64_t rest, int64_t capacity, int64_t weight)
{
    int64_t v = (rest > 0 ? rest : 0) * KS_SCORE_MAX / (capacity + (capacity == 0));

    t->sum += v * weight;
    t->worst = capacity ? MIN(t->worst, v) : t->worst;
    t->scored |= capacity != 0;
}

static int64_t tally_score(const struct tally *t, int64_t dominant, int64_t weights)
{
    return t->scored ? (t->sum + t->worst * dominant) / weights : 0;
}

static int64_t weights_of(const struct loads *l)
{
    int64_t sum = l->args->dominant_weight;

    for (uint32_t r = 0; r < l->n; r++)
        sum += l->weights[r];
    return sum;
}

static void score_columns(const struct loads *l, const struct ks_cycle *c,
                          const struct incoming *in, struct ks_span s, int64_t *restrict out)
{
    int64_t dominant = l->args->dominant_weight, weights = weights_of(l);
    struct scoring by[NARROW];

    for (uint32_t r = 0; r < l->n; r++)
        by[r] = scoring_of(l, c, in, r);
    for (uint32_t i = s.begin; i < s.end; i++) {
        struct tally t = TALLY_INIT;
        for (uint32_t r = 0; r < l->n; r++)
            tally_add(&t, by[r].left[i] - by[r].want, by[r].capacity[i], by[r].weight);
        out[i] = tally_score(&t, dominant, weights);
    }
}

static void score_wide(const struct loads *l, const struct ks_cycle *c, const struct incoming *in,
                       struct ks_span s, int64_t *restrict out)
{
    int64_t dominant = l->args->dominant_weight, weights = weights_of(l);

    for (uint32_t i = s.begin; i < s.end; i++) {
        const struct load_row *row = ks_row(c->rows, i);
        struct tally t = TALLY_INIT;
        for (uint32_t r = 0; r < l->n; r++) {
            const struct wide *w = &row->by_resource[r];
            tally_add(&t, w->left[load_scored_as(in->class)] - in->want[r], w->capacity,
                      l->weights[r]);
        }
        out[i] = tally_score(&t, dominant, weights);
    }
}

static void load_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, int64_t *restrict out)
{
    const struct loads *l = self;
    CLEANUP(arena_free) struct arena *own = NULL;
    const struct incoming *in = incoming_or(l, c, p, &own);

    if (weights_of(l) <= 0)
        memset(out + s.begin, 0, (s.end - s.begin) * sizeof *out);
    else if (l->n <= NARROW)
        score_columns(l, c, in, s, out);
    else
        score_wide(l, c, in, s, out);
}

/* ---- the plugin ------------------------------------------------------------------------------ */

static int load_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    *ret_self = loads_of(env);
    return 0;
}

static uint64_t load_waits_for(void *self, const struct pod *p)
{
    return loads_wait(self, p);
}

/* What pods and metrics change is noticed by the service, which wakes those it concerns. */
static const struct ks_hint load_hints[] = {
    { KS_RES_NODE, KS_ADD | KS_NODE_ALLOCATABLE | KS_NODE_ANNOTATION, NULL, NULL },
};
static const struct kind *const load_kinds[] = { &kind_nodemetric, &kind_nodeslo, NULL };
static const struct kind *const load_optional[] = { &kind_nodeslo, NULL };
static const char *const load_node_annotations[] = { ANNO_USAGE_THRESHOLDS, ANNO_RAW_ALLOCATABLE,
                                                     NULL };
static const char *const load_pod_annotations[] = { ANNO_LOAD_SCALING_FACTORS, NULL };
static const char *const load_pod_labels[] = { LABEL_QOS_CLASS, LABEL_PRIORITY_CLASS, NULL };
static const struct ks_service *const load_services[] = { &loads_service, NULL };

const struct ks_plugin ks_plugin_load_aware_scheduling = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "LoadAwareScheduling",
    .reasons = load_reasons,
    .reuse = KS_REUSE_LOCAL,
    .kinds = load_kinds,
    .optional = load_optional,
    .node_annotations = load_node_annotations,
    .pod_annotations = load_pod_annotations,
    .pod_labels = load_pod_labels,
    .row = &load_row,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(SCORE) | KS_AT(RESERVE),
    .args = &loadaware_args,
    .create = load_create,
    .services = load_services,
    .hints = load_hints,
    .nhints = ARRAY_LEN(load_hints),
    .waits_for = load_waits_for,
    .pre_filter = load_pre_filter,
    .filter = load_filter,
    .explain = load_explain,
    .show = load_show,
    .score = load_score,
};
