/* interpodaffinity.c - near to some pods and away from others (scheduler-core 8.12).
 *
 * The sums of all domains are kept with the shape; a row whose pods changed is taken out of them
 * and counted again. Filter and score are loops over rows, one for each topology key that matters.
 */
#include "api/core.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/interpodaffinity/affinity.h"
#include "scheduler/plugins/interpodaffinity/args.h"
#include "scheduler/plugins/registry.h"

enum { WHY_AFFINITY = 1, WHY_ANTI, WHY_EXISTING };
static const struct ks_reason affinity_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNRESOLVABLE, "node(s) didn't match pod affinity rules" },
    { KS_UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules" },
    { KS_UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules" },
};

/* ---- life ------------------------------------------------------------------------------------ */

static void affinity_destroy(void *self)
{
    struct affinity_self *s = self;

    arena_free(s->scratch);
    free(s);
}

static int affinity_create(const struct ks_env *env, const void *args, void **ret_self,
                           struct kerr *err)
{
    struct affinity_self *s = xnew0(struct affinity_self);

    (void)err;
    s->objects = env->objects;
    s->args = args;
    s->scratch = arena_new();
    *ret_self = s;
    return 0;
}

/* ---- the state ------------------------------------------------------------------------------- */

static bool has_required(const struct affinity_state *st)
{
    return st->own.affinity.n || st->own.anti.n;
}

static struct sums totals(const struct affinity_state *st)
{
    struct sums all = { 0 };

    for (const struct topo *t = st->topos; t; t = t->next) {
        all.affinity += t->total.affinity;
        all.existing += t->total.existing;
        all.preferences += t->total.preferences;
    }
    return all;
}

static bool skips(const struct affinity_state *st)
{
    return !has_required(st) && totals(st).existing == 0;
}

static void resolve(struct affinity_state *st, const struct ks_nodes *nodes, struct termlist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        l->items[i].topo = state_topo(st, nodes, l->items[i].spec->topology_key);
}

static struct affinity_state *state_new(struct affinity_self *self, const struct ks_cycle *c,
                                        const struct pod *p, struct kerr *err)
{
    struct affinity_state *st = arena_new0(c->arena, struct affinity_state);
    struct podterms *own = &st->own;

    st->arena = c->arena;
    if (podterms_compile(p, c->arena, own, err) < 0)
        return NULL;
    st->any_own = own->affinity.n || own->anti.n || own->prefer.n || own->avoid.n;
    st->scores = !self->args->ignore_preferred || own->prefer.n || own->avoid.n;
    resolve(st, c->nodes, &own->affinity);
    resolve(st, c->nodes, &own->anti);
    resolve(st, c->nodes, &own->prefer);
    resolve(st, c->nodes, &own->avoid);
    for (uint32_t i = 0; i < own->affinity.n; i++)
        topo_want(own->affinity.items[i].topo);
    struct seen_pod itself = { p->obj.meta.ns, &p->obj.meta.labels,
                               namespace_labels(self->objects, p->obj.meta.ns) };
    st->matches_itself = termlist_match_all(&own->affinity, itself.ns, &itself);
    if (!st->any_own && c->nodes->naffinity == 0)
        return st;
    struct counting k = counting_begin(self, st, c->nodes, p);
    counting_all(&k);
    return st;
}

static enum ks_code affinity_pre_filter(void *self, const struct ks_cycle *c,
                                        const struct ks_pod *p, void **ret_state,
                                        struct ks_only *only, struct ks_texts *why)
{
    struct kerr err = { 0 };
    struct affinity_state *st = state_new(self, c, p->pod, &err);

    (void)only;
    if (!st) {
        ks_texts_addf(why, "parsing pod: %s", err.text);
        return KS_UNRESOLVABLE;
    }
    *ret_state = st;
    return skips(st) ? KS_SKIP : KS_SUCCESS;
}

static bool affinity_refresh(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                             const struct ks_dirty *d, bool *skip)
{
    struct affinity_state *st = c->state;

    for (const struct topo *t = st->topos; t && d->nnodes; t = t->next)
        if (!topo_holds(t, c->nodes, d->rows, d->nnodes))
            return false;
    struct counting k = counting_begin(self, st, c->nodes, p->pod);
    for (uint32_t i = 0; i < d->n; i++) {
        for (struct topo *t = st->topos; t; t = t->next)
            topo_clear_row(t, d->rows[i]);
        counting_row(&k, d->rows[i]);
    }
    *skip = skips(st);
    return true;
}

static void affinity_add_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                             const struct pod *other, uint32_t row)
{
    struct counting k = counting_begin(self, c->state, c->nodes, p->pod);
    counting_pod(&k, other, row, 1);
}

static void affinity_remove_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                const struct pod *other, uint32_t row)
{
    struct counting k = counting_begin(self, c->state, c->nodes, p->pod);
    counting_pod(&k, other, row, -1);
}

/* ---- filter ---------------------------------------------------------------------------------- */

static void gather_bad(struct ks_span s, const struct topo *t, uint8_t *restrict bad)
{
    const uint32_t *restrict domain = t->domain;
    const uint8_t *restrict of = t->bad;

    for (uint32_t i = s.begin; i < s.end; i++)
        bad[i] |= of[domain[i]];
}

/* Bits become the first reason; those not in the mask do not count. */
KOORD_CLONES static void judge(struct ks_span s, uint8_t mask, uint8_t *why)
{
    for (uint32_t i = s.begin; i < s.end; i++) {
        uint8_t bad = why[i] & mask;
        uint8_t other = bad & BAD_ANTI ? WHY_ANTI : bad & BAD_EXISTING ? WHY_EXISTING : 0;
        why[i] = bad & (BAD_NO_KEY | BAD_FAR) ? WHY_AFFINITY : other;
    }
}

static void affinity_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct affinity_state *st = c->state;
    unsigned mask = BAD_NO_KEY | BAD_FAR | BAD_ANTI | BAD_EXISTING;

    (void)self, (void)p, (void)skip;
    memset(why + s.begin, 0, s.end - s.begin);
    for (const struct topo *t = st->topos; t; t = t->next) {
        if (t->wanted && !t->domain)
            memset(why + s.begin, BAD_NO_KEY, s.end - s.begin);
        else if (t->wanted || t->total.anti || t->total.existing)
            gather_bad(s, t, why);
    }
    /* The first pod of a group that wants to be together may go anywhere. */
    if (st->matches_itself && totals(st).affinity == 0)
        mask &= ~(unsigned)BAD_FAR;
    judge(s, (uint8_t)mask, why);
}

/* ---- score ----------------------------------------------------------------------------------- */

static enum ks_code affinity_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       void **ret_state, struct ks_texts *why)
{
    struct kerr err = { 0 };
    struct affinity_state *st = c->state ? c->state : state_new(self, c, p->pod, &err);

    if (!st) {
        ks_texts_addf(why, "parsing pod: %s", err.text);
        return KS_ERROR;
    }
    *ret_state = st;
    return totals(st).preferences == 0 ? KS_SKIP : KS_SUCCESS;
}

static void gather_score(struct ks_span s, const struct topo *t, int64_t *restrict out)
{
    const uint32_t *restrict domain = t->domain;
    const int64_t *restrict score = t->score;

    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] += score[domain[i]];
}

static void affinity_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           struct ks_span s, int64_t *restrict out)
{
    const struct affinity_state *st = c->state;

    (void)self, (void)p;
    memset(out + s.begin, 0, (s.end - s.begin) * sizeof *out);
    for (const struct topo *t = st->topos; t; t = t->next)
        if (t->total.preferences)
            gather_score(s, t, out);
}

KOORD_CLONES static void bounds(const uint8_t *restrict skip, uint32_t n,
                                const int64_t *restrict scores, int64_t *ret_min, int64_t *ret_max)
{
    int64_t min = INT64_MAX, max = INT64_MIN;

    for (uint32_t i = 0; i < n; i++) {
        int64_t low = skip[i] ? INT64_MAX : scores[i], high = skip[i] ? INT64_MIN : scores[i];
        min = low < min ? low : min;
        max = high > max ? high : max;
    }
    *ret_min = min;
    *ret_max = max;
}

static void affinity_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip,
                               uint32_t n, int64_t *scores)
{
    int64_t min, max;

    (void)self, (void)c;
    bounds(skip, n, scores, &min, &max);
    if (max <= min) {
        memset(scores, 0, n * sizeof *scores);
        return;
    }
    double range = (double)(max - min);
    for (uint32_t i = 0; i < n; i++) /* the division first: upstream rounds so */
        scores[i] = skip[i] ? 0 : (int64_t)(KS_SCORE_MAX * ((double)(scores[i] - min) / range));
}

static const struct kind *const affinity_kinds[] = { &kind_namespace, NULL };

const struct ks_plugin ks_plugin_inter_pod_affinity = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "InterPodAffinity",
    .reasons = affinity_reasons,
    .reuse = KS_REUSE_DOMAIN,
    .kinds = affinity_kinds,
    .args = &affinity_args,
    .create = affinity_create,
    .destroy = affinity_destroy,
    .hints = affinity_hints,
    .nhints = AFFINITY_HINTS,
    .pre_filter = affinity_pre_filter,
    .refresh = affinity_refresh,
    .filter = affinity_filter,
    .add_pod = affinity_add_pod,
    .remove_pod = affinity_remove_pod,
    .pre_score = affinity_pre_score,
    .score = affinity_score,
    .normalize = affinity_normalize,
};
