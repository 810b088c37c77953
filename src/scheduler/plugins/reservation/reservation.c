/* reservation.c - Reservation: capacity that is kept for pods to come (sched-reservation).
 *
 * The extension points; what they do stands in the other files of this folder.
 */
#include "api/pod.h"
#include "api/policy.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/preallocate.h"

#define NO_MATCH "node(s) no reservations match reservation affinity"

enum { FITS, SHORT, OTHER_NODE, OTHER_POLICY, NO_PRE_ALLOCATION };
static const struct ks_reason reasons[] = {
    [FITS] = { KS_SUCCESS, "" },
    [SHORT] = { KS_UNSCHEDULABLE, "node(s) no reservation(s) to meet the requirements" },
    [OTHER_NODE] = { KS_UNRESOLVABLE,
                     "node(s) didn't match the nodeName specified by reservation" },
    [OTHER_POLICY] = { KS_UNRESOLVABLE, "node(s) reservation allocate policy conflict" },
    [NO_PRE_ALLOCATION] = { KS_UNRESOLVABLE, "" }, /* st->pre->refusal */
};

/* ---- life ------------------------------------------------------------------------------------ */

static int resv_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    struct resv_plugin *x = xnew0(struct resv_plugin);

    (void)err;
    x->env = *env;
    x->args = args;
    x->cache = reservations_of(env);
    x->budgets = budgets_new(env->objects);
    x->prewrites = env->kube ? prewrites_new(env->kube, x->cache) : NULL;
    x->omit_node_labels = ks_gate(env, "OmitNodeLabelsForReservation");
    *ret_self = x;
    return 0;
}

static void resv_destroy(void *self)
{
    struct resv_plugin *x = self;

    budgets_free(x->budgets);
    prewrites_free(x->prewrites);
    free(x);
}

/* ---- before the nodes are looked at ---------------------------------------------------------- */

/* A pod of the API server that says it is a Reservation's: the webhook lets none through. */
static bool pretends(const struct resv_plugin *x, const struct pod *p)
{
    return is_reserve_pod(&p->obj.meta.annotations) && !reservations_is_reserve_pod(x->cache, p);
}

static enum ks_code resv_transform(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   struct ks_overlay *o, void **ret_state, struct ks_texts *why)
{
    struct resv_state *st = NULL;

    if (pretends(self, p->pod)) {
        ks_texts_add(why, "metadata.annotations[" ANNO_RESERVE_POD
                          "]: Forbidden: cannot set in annotations");
        return KS_UNRESOLVABLE;
    }
    enum ks_code code = state_make(self, c, p, o, &st, why);
    *ret_state = st;
    return code;
}

/* Only where there are pods to take over. */
static enum ks_code narrow_to_pods(const struct resv_state *st, const struct ks_cycle *c,
                                   struct ks_only *only, struct ks_texts *why)
{
    uint32_t *rows = arena_newn0(c->arena, st->pre->n, uint32_t);

    for (uint32_t i = 0; i < st->pre->n; i++)
        rows[i] = st->pre->rows[i].row;
    *only = (struct ks_only){ rows, st->pre->n, true };
    if (st->pre->n)
        return KS_SUCCESS;
    ks_texts_add(why, "node(s) no pod match reservation with pre allocation required");
    return KS_UNRESOLVABLE;
}

static enum ks_code resv_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct resv_state *st = c->state;

    (void)self, (void)p;
    *ret_state = st;
    if (!st)
        return KS_SKIP;
    if (st->pre && st->pre->required && !st->pre->refusal)
        return narrow_to_pods(st, c, only, why);
    if (!st->m.has_affinity)
        return KS_SUCCESS;
    if (st->nrows == 0) {
        ks_texts_add(why, NO_MATCH);
        return KS_UNRESOLVABLE;
    }
    uint32_t *rows = arena_newn0(c->arena, st->nrows, uint32_t);
    for (uint32_t i = 0; i < st->nrows; i++)
        rows[i] = st->rows[i].row;
    *only = (struct ks_only){ rows, st->nrows, true };
    return KS_SUCCESS;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool in_span(struct ks_span s, uint32_t row)
{
    return row >= s.begin && row < s.end;
}

/* Default does not go together with another policy on one node. */
static void filter_policies(const struct resv_state *st, const struct ks_cycle *c, struct ks_span s,
                            uint8_t *why)
{
    const struct reservations *cache = st->x->cache;
    bool is_default = st->own && st->own->view.policy == ALLOCATE_DEFAULT;

    for (size_t i = 0; i < cache->matchable.n; i++) {
        struct resv *r = cache->matchable.items[i];
        uint32_t row = resv_row_of(r, c->nodes);
        if (row != KS_NO_ROW && in_span(s, row) && r != st->own && why[row] == FITS &&
            (r->view.policy == ALLOCATE_DEFAULT) != is_default)
            why[row] = OTHER_POLICY;
    }
}

static void filter_node_name(const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                             uint8_t *why)
{
    const char *node = kstrmap_get(&p->pod->obj.meta.annotations, ANNO_RESERVATION_NODE);
    uint32_t only = str_empty(node) ? KS_NO_ROW : ks_row_of(c->nodes, node);

    for (uint32_t i = s.begin; !str_empty(node) && i < s.end; i++)
        if (i != only)
            why[i] = OTHER_NODE;
}

static void filter_pre_allocation(const struct resv_state *st, const struct ks_cycle *c,
                                  const struct ks_pod *p, struct ks_span s, const uint8_t *skip,
                                  uint8_t *why)
{
    for (uint32_t i = s.begin; i < s.end; i++) {
        struct pre_shortage unread = { 0 };
        if (why[i] != FITS || (s.end - s.begin > 1 && skip[i]))
            continue;
        if (st->pre->refusal)
            why[i] = NO_PRE_ALLOCATION;
        else if (!preallocate_fits(st, c, p, i, &unread))
            why[i] = SHORT;
    }
}

static uint8_t filter_row(const struct resv_state *st, const struct ks_cycle *c,
                          const struct ks_pod *p, const struct resv_row *row)
{
    struct resv_shortage unread = { 0 };

    return filter_with(st, c, p, row, NULL, st->m.has_affinity, &unread) ? FITS : SHORT;
}

static void resv_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct resv_state *st = c->state;

    (void)self;
    memset(why + s.begin, FITS, s.end - s.begin);
    if (st->own)
        filter_node_name(c, p, s, why);
    if (st->own || st->operating)
        filter_policies(st, c, s, why);
    if (st->pre)
        filter_pre_allocation(st, c, p, s, skip, why);
    if (s.end - s.begin == 1) {
        const struct resv_row *row = state_row(st, s.begin);
        if (row && why[s.begin] == FITS)
            why[s.begin] = filter_row(st, c, p, row);
        return;
    }
    for (uint32_t i = 0; i < st->nrows; i++) {
        uint32_t row = st->rows[i].row;
        if (in_span(s, row) && !skip[row] && why[row] == FITS)
            why[row] = filter_row(st, c, p, &st->rows[i]);
    }
}

static void resv_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                         struct ks_texts *out)
{
    const struct resv_state *st = c->state;
    uint8_t *why = arena_zalloc(c->arena, row + 1), *skip = arena_zalloc(c->arena, row + 1);

    resv_filter(self, c, p, (struct ks_span){ row, row + 1 }, skip, why);
    struct ks_texts by_reservation = { .arena = out->arena };
    if (why[row] == NO_PRE_ALLOCATION) {
        ks_texts_add(out, st->pre->refusal);
        return;
    }
    if (why[row] != SHORT) {
        ks_texts_add(out, reasons[why[row]].text);
        return;
    }
    if (st->pre) {
        struct pre_shortage lacks = { .why = &by_reservation };
        (void)preallocate_fits(st, c, p, row, &lacks);
        preallocate_texts(st, &lacks, out);
        return;
    }
    struct resv_shortage s = { .by_reservation = &by_reservation };
    filter_with(st, c, p, state_row(st, row), NULL, st->m.has_affinity, &s);
    shortage_texts(st, &s, st->m.has_affinity, out);
}

static void resv_add_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         const struct pod *other, uint32_t row)
{
    (void)self, (void)p;
    state_owner_moved(c->state, other, row, false);
}

static void resv_remove_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            const struct pod *other, uint32_t row)
{
    (void)self, (void)p;
    state_owner_moved(c->state, other, row, true);
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* c->state is still pre_filter's. */
static enum ks_code resv_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_texts *why)
{
    struct resv_state *st = c->state;
    int64_t best = 0;

    (void)self, (void)why;
    *ret_state = st;
    if (!st || (st->own && !st->pre) || st->m.ignores || (!st->own && st->nrows == 0))
        return KS_SKIP;
    if (st->own)
        return KS_SUCCESS;
    st->preferred = KS_NO_ROW;
    for (uint32_t i = 0; i < st->nrows; i++) {
        struct resv_row *row = &st->rows[i];
        if (c->rejected && c->rejected[row->row])
            continue;
        /* One that is used up may still be listed: its node is not the one to prefer. */
        const struct resv *chosen = nominate(st, c, p, row);
        int64_t order = chosen ? chosen->order : 0;
        if (order && (st->preferred == KS_NO_ROW || order < best)) {
            best = order;
            st->preferred = row->row;
        }
    }
    return KS_SUCCESS;
}

static void resv_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, int64_t *restrict out)
{
    const struct resv_state *st = c->state;

    (void)self;
    memset(out + s.begin, 0, (s.end - s.begin) * sizeof *out);
    for (uint32_t i = s.begin; st->pre && !st->pre->refusal && i < s.end; i++)
        out[i] = preallocate_score(st, c, p, i);
    for (uint32_t i = 0; i < st->nrows; i++) {
        const struct resv_row *row = &st->rows[i];
        if (!in_span(s, row->row))
            continue;
        out[row->row] = row->row == st->preferred ? 1000 : row->nominated ? row->score : 0;
    }
}

/* As ks_normalize(), over the rows that have a score at all. Those of reserve pods stay. */
static void resv_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                           int64_t *scores)
{
    const struct resv_state *st = c->state;
    int64_t best = 0;

    (void)self, (void)n;
    for (uint32_t i = 0; i < st->nrows; i++)
        if (!skip[st->rows[i].row])
            best = MAX(best, scores[st->rows[i].row]);
    for (uint32_t i = 0; best && i < st->nrows; i++) {
        int64_t *score = &scores[st->rows[i].row];
        *score = *score * KS_SCORE_MAX / best;
    }
}

/* ---- the node is chosen ---------------------------------------------------------------------- */

static enum ks_code resv_nominate(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    struct resv_state *st = c->state;
    struct resv_row *at = st && !st->own ? state_row(st, row) : NULL;

    (void)self;
    if (st && st->pre && !st->pre->refusal)
        preallocate_choose(st, c, p, row);
    if (!st || st->own || st->m.ignores || (at && nominate(st, c, p, at)))
        return KS_SUCCESS;
    if (st->m.has_affinity) {
        ks_texts_add(why, NO_MATCH);
        return KS_UNSCHEDULABLE;
    }
    /* It goes beside the reservations: their room is not for it. */
    uint32_t lacks = at ? fits_node(st, c, at, NULL) : 0;
    by_node_texts(st, lacks, why);
    return lacks ? KS_UNSCHEDULABLE : KS_SUCCESS;
}

static const struct ks_reservation *resv_nominated(void *self, void *state, uint32_t row)
{
    const struct resv_state *st = state;
    const struct resv_row *at = st->own ? NULL : state_row(st, row);

    (void)self;
    return at && at->nominated ? &at->nominated->view : NULL;
}

static const struct ks_reservation *resv_usable(void *self, void *state, uint32_t row, uint32_t i)
{
    const struct resv_state *st = state;
    const struct resv_row *at = st->own ? NULL : state_row(st, row);

    (void)self;
    return at && i < at->n ? &at->items[i].r->view : NULL;
}

static const struct pod *resv_pre_allocated(void *self, void *state, uint32_t row, uint32_t i)
{
    const struct resv_state *st = state;

    (void)self;
    return st->pre && row == st->pre->chosen_row && i < st->pre->nchosen ? st->pre->chosen[i]->pod
                                                                         : NULL;
}

static enum ks_code reserve_own(struct resv_plugin *x, const struct resv_state *st,
                                const struct ks_cycle *c, const struct ks_pod *p,
                                struct ks_texts *why)
{
    struct resv *r = reservations_find(x->cache, p->pod->obj.meta.uid);
    struct kerr err = { 0 };
    reslist unused;

    if (!r || resv_allocatable(r, c->arena, &unused, &err) < 0) {
        ks_texts_add(why, r ? arena_strdup(why->arena, err.text) : "reservation not found");
        return KS_ERROR;
    }
    for (uint32_t i = 0; st->pre && i < st->pre->nchosen; i++)
        reservations_take_over(x->cache, r, st->pre->chosen[i]->pod, &st->pre->chosen[i]->requests);
    return KS_SUCCESS;
}

static enum ks_code resv_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    struct resv_plugin *x = self;
    const struct resv_state *st = c->state;
    const struct resv_row *at = st && !st->own ? state_row(st, row) : NULL;
    struct kerr err = { 0 };

    if (st && st->own)
        return reserve_own(x, st, c, p, why);
    if (!at || !at->nominated || reservations_assume(x->cache, at->nominated, p, &err) == 0)
        return KS_SUCCESS;
    ks_texts_add(why, arena_strdup(why->arena, err.text));
    return KS_UNSCHEDULABLE;
}

static void resv_unreserve(void *self, const struct pod *p, const char *node)
{
    const struct resv_plugin *x = self;
    struct resv *own = reservations_find(x->cache, p->obj.meta.uid);

    (void)node;
    reservations_forget(x->cache, p->obj.meta.uid);
    if (!own || own->is_pod)
        return;
    reservations_give_back(x->cache, own);
    if (x->prewrites)
        prewrites_undo(x->prewrites, p->obj.meta.uid);
}

static void resv_cancel(void *self, struct ks_bind *b)
{
    const struct resv_plugin *x = self;

    if (x->prewrites)
        prewrites_cancel(x->prewrites, b);
}

/* ---- binding --------------------------------------------------------------------------------- */

static enum ks_code resv_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    const struct resv_plugin *x = self;
    const struct resv *r = reservations_of_pod(x->cache, b->pod->meta.uid);
    const struct resv *own = reservations_find(x->cache, b->pod->meta.uid);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)why;
    if (own && !own->is_pod)
        return x->prewrites ? prewrites_start(x->prewrites, b, own) : KS_SKIP;
    if (!r)
        return KS_SKIP;
    reservation_allocated_encode(
        &(struct reservation_allocated){ .name = r->view.name, .uid = r->uid_text }, &text);
    ks_bind_annotate(b, ANNO_RESERVATION_ALLOCATED, strbuf_str(&text));
    return KS_SUCCESS;
}

static const struct ks_subject *resv_bind(void *self, const struct pod *p)
{
    const struct resv_plugin *x = self;
    return reservations_is_reserve_pod(x->cache, p) ? &resv_subject : NULL;
}

/* ---- the plugin ------------------------------------------------------------------------------ */

/* Another attempt is worth it when the reservation can be owned now, by this pod. */
static bool worth_of_reservation(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct resv_plugin *x = self;
    const struct resv *r = e->now ? reservations_find(x->cache, e->now->meta.uid) : NULL;

    if (!r || reservations_is_reserve_pod(x->cache, p))
        return true;
    return r->matchable && (reservation_is_ignored(&p->obj.meta.labels) || match_owner(r, p));
}

/* What it says about reservations is in annotations. */
static bool worth_of_itself(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return e->before && e->now && kuid_equal(e->now->meta.uid, p->obj.meta.uid) &&
           !kstrmap_equal(&e->before->meta.annotations, &e->now->meta.annotations);
}

static const struct ks_hint hints[] = {
    { KS_RES_UNSCHEDULABLE_POD, KS_UPDATE, worth_of_itself, NULL },
    { KS_RES_ASSIGNED_POD, KS_DELETE, NULL, NULL },
    { KS_RES_NODE, KS_ADD | KS_NODE_ALLOCATABLE | KS_NODE_LABEL, NULL, NULL },
    { KS_RES_OTHER, KS_ADD | KS_UPDATE | KS_DELETE, worth_of_reservation, &kind_reservation },
};
static const struct kind *const kinds[] = { &kind_reservation, &kind_pdb, NULL };
static const struct ks_service *const services[] = { &reservations_service, NULL };

const struct ks_plugin ks_plugin_reservation = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Reservation",
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(POST_FILTER) | KS_AT(PRE_SCORE) |
              KS_AT(SCORE) | KS_AT(RESERVE) | KS_AT(PRE_BIND) | KS_AT(BIND),
    .reasons = reasons,
    .args = &reservation_args,
    .kinds = kinds,
    .services = services,
    .create = resv_create,
    .destroy = resv_destroy,
    .hints = hints,
    .nhints = ARRAY_LEN(hints),
    .transform = resv_transform,
    .pre_filter = resv_pre_filter,
    .filter = resv_filter,
    .explain = resv_explain,
    .add_pod = resv_add_pod,
    .remove_pod = resv_remove_pod,
    .post_filter = &resv_post_filter,
    .pre_score = resv_pre_score,
    .score = resv_score,
    .normalize = resv_normalize,
    .nominate = resv_nominate,
    .nominated = resv_nominated,
    .usable = resv_usable,
    .pre_allocated = resv_pre_allocated,
    .reserve = resv_reserve,
    .unreserve = resv_unreserve,
    .pre_bind = resv_pre_bind,
    .cancel = resv_cancel,
    .bind = resv_bind,
};
