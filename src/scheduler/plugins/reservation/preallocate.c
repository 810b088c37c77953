/* preallocate.c - a reservation takes over the room of running pods (sched-reservation 9).
 *
 * The pods that may be taken over are away from their rows during the attempt of the reserve pod;
 * what they count for is remembered, since those that are not taken over keep it.
 */
#include "scheduler/plugins/reservation/preallocate.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/reservation.h"

/* ---- who may be taken over ------------------------------------------------------------------- */

static bool is_labelled(const struct resv *r, const struct pod *p)
{
    for (uint32_t i = 0; i < r->nmatchers; i++)
        if (r->matchers[i].labels)
            return match_owner(r, p);
    return false;
}

/* What the pod itself wants of reservations. */
static bool is_willing(const struct resv *r, const struct pod *p, const struct node *node,
                       struct arena *a)
{
    const struct taint *unused;
    struct match m;

    if (match_init(&m, p, a, NULL) < 0)
        return false;
    struct resv open = *r;
    open.unschedulable = false;
    return match_owned(&m, &open, node, &unused) == MATCH_YES;
}

static bool is_candidate(const struct resv_state *st, const struct pod *p, const struct node *node,
                         struct arena *a)
{
    const struct pre_allocation *args = st->x->args->pre;

    if (reservations_is_reserve_pod(st->x->cache, p) ||
        uidmap_get(&st->x->cache->owners, p->obj.meta.uid) ||
        kstrmap_get(&p->obj.meta.annotations, ANNO_RESERVATION_ALLOCATED))
        return false;
    bool meant = st->pre->cluster ? label_is_true(&p->obj.meta.labels, args->label_key)
                                  : is_labelled(st->own, p);
    return meant && is_willing(st->own, p, node, a);
}

/* By how full it makes the reservation. */
static int64_t score_of(const struct resv_state *st, const struct pre_pod *p)
{
    const struct ks_amounts *all = &st->own->view.allocatable;
    int64_t sum = 0, n = 0;

    for (uint32_t k = 0; k < st->nrequests; k++) {
        int64_t cap = ks_amounts_get(all, st->requests[k].name);
        n += cap > 0;
        sum += cap > 0 && p->wants[k] <= cap ? (int64_t)((__int128)p->wants[k] * 100 / cap) : 0;
    }
    return n ? sum / n : 0;
}

static int64_t want_of(const struct requests *r, const char *name)
{
    if (streq(name, RES_CPU))
        return r->fixed[KS_MCPU];
    if (streq(name, RES_MEMORY))
        return r->fixed[KS_MEMORY];
    if (streq(name, RES_EPHEMERAL_STORAGE))
        return r->fixed[KS_EPHEMERAL];
    for (uint32_t i = 0; i < r->nmore; i++)
        if (streq(r->more[i].name, name))
            return r->more[i].count;
    return 0;
}

static struct pre_pod describe(const struct resv_state *st, const struct pod *p, struct arena *a)
{
    struct pre_pod x = { .pod = p, .wants = arena_newn0(a, st->nrequests, int64_t) };

    requests_accounted(p, a, &x.requests);
    for (uint32_t k = 0; k < st->nrequests; k++)
        x.wants[k] = want_of(&x.requests, st->requests[k].name);
    x.rank = st->pre->cluster    ? pre_allocatable_priority(&p->obj.meta.annotations,
                                                            st->x->args->pre->priority_key)
             : st->pre->multiple ? score_of(st, &x)
                                 : 0;
    return x;
}

static bool goes_before(const struct pre_pod *a, const struct pre_pod *b)
{
    char x[KUID_TEXT_MAX], y[KUID_TEXT_MAX];

    if (a->rank != b->rank)
        return a->rank > b->rank;
    kuid_format(a->pod->obj.meta.uid, x, sizeof x);
    kuid_format(b->pod->obj.meta.uid, y, sizeof y);
    return strcmp(x, y) < 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void find_on_row(struct resv_state *st, const struct ks_cycle *c, uint32_t row)
{
    const struct ks_podlist *pods = &c->nodes->pods[row];
    struct pre_row *to = &st->pre->rows[st->pre->n];

    *to = (struct pre_row){ .row = row };
    for (uint32_t i = 0; i < pods->n; i++) {
        if (!is_candidate(st, pods->items[i], c->nodes->node[row], c->arena))
            continue;
        if (!to->items)
            to->items = arena_newn0(c->arena, pods->n, struct pre_pod);
        struct pre_pod x = describe(st, pods->items[i], c->arena);
        uint32_t at = to->n++;
        for (; at > 0 && goes_before(&x, &to->items[at - 1]); at--)
            to->items[at] = to->items[at - 1];
        to->items[at] = x;
    }
    if (to->n)
        st->pre->at[row] = ++st->pre->n;
}

static void take_away(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      struct ks_overlay *o, struct pre_row *row)
{
    const struct pod **pods = arena_newn0(c->arena, row->n, const struct pod *);

    row->gone = arena_newn0(c->arena, st->nrequests, int64_t);
    row->gone_pods = c->nodes->used[KS_PODS][row->row];
    for (uint32_t k = 0; k < st->nrequests; k++)
        if (st->requests[k].column != KS_NO_COLUMN)
            row->gone[k] = c->nodes->used[st->requests[k].column][row->row];
    for (uint32_t i = 0; i < row->n; i++) {
        pods[i] = row->items[i].pod;
        ks_overlay_remove_pod(o, row->row, pods[i]);
    }
    row->gone_pods -= c->nodes->used[KS_PODS][row->row];
    for (uint32_t k = 0; k < st->nrequests; k++)
        if (st->requests[k].column != KS_NO_COLUMN)
            row->gone[k] -= c->nodes->used[st->requests[k].column][row->row];
    if (ks_reservation_hooked(c))
        ks_reservation_restore_pods(c, p, o, row->row, pods, row->n);
}

void preallocate_make(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      struct ks_overlay *o)
{
    const struct reservation *r = reservation_of(st->own->view.object);
    const struct pre_allocation_policy *policy = r->spec.pre_allocation_policy;
    const struct pre_allocation *args = st->x->args->pre;

    if (!r->spec.pre_allocation)
        return;
    struct preallocation *pre = st->pre = arena_new0(c->arena, struct preallocation);
    pre->required = label_is_true(&p->pod->obj.meta.labels, LABEL_PRE_ALLOCATION_REQUIRED);
    pre->cluster = policy && policy->mode == PRE_ALLOCATION_CLUSTER;
    pre->multiple = policy && policy->enable_multiple;
    pre->prefer_none = args && args->prefer_others;
    if (st->own->unmatchable)
        pre->refusal = st->own->unmatchable;
    else if (st->own->view.policy != ALLOCATE_RESTRICTED)
        pre->refusal = "node(s) reservation pre allocation is unsupported with current attributes";
    else if (pre->cluster && !(args && args->cluster))
        pre->refusal = "reservation requires cluster mode pre-allocation which is disabled";
    if (pre->refusal)
        return;
    pre->rows = arena_newn0(c->arena, c->nodes->n + 1u, struct pre_row);
    pre->at = arena_newn0(c->arena, c->nodes->n, uint32_t);
    for (uint32_t row = 0; row < c->nodes->n; row++)
        find_on_row(st, c, row);
    for (uint32_t i = 0; i < pre->n; i++)
        take_away(st, c, p, o, &pre->rows[i]);
}

static struct pre_row *preallocate_row(const struct resv_state *st, uint32_t row)
{
    const struct preallocation *pre = st->pre;
    return pre && pre->at && pre->at[row] ? &pre->rows[pre->at[row] - 1] : NULL;
}

/* ---- does it fit? ---------------------------------------------------------------------------- */

/* With the pods of the row there, but for what is taken over. */
static uint32_t fits(const struct resv_state *st, const struct ks_cycle *c, uint32_t row,
                     const struct pre_row *pre, const int64_t *taken, uint32_t ntaken)
{
    const struct ks_nodes *n = c->nodes;
    int64_t pods = n->used[KS_PODS][row] + (pre ? pre->gone_pods : 0) - ntaken;
    uint32_t lacks = pods + 1 > n->alloc[KS_PODS][row] ? RESV_PODS : 0;

    for (uint32_t k = 0; k < st->nrequests; k++) {
        uint32_t column = st->requests[k].column;
        int64_t left = column == KS_NO_COLUMN
                           ? 0
                           : n->alloc[column][row] - n->used[column][row] -
                                 (pre ? pre->gone[k] : 0) + (taken ? taken[k] : 0);
        if (st->requests[k].count > left)
            lacks |= 1u << k;
    }
    return lacks & ~st->ignored;
}

/* Would the reservation hold what the pods have? Texts go to `why`, if it is not NULL. */
static bool holds(const struct resv_state *st, const int64_t *wants, uint32_t n,
                  struct ks_texts *why)
{
    const struct ks_request *pods = ks_amounts_find(&st->own->view.allocatable, "pods");
    bool all = true;

    if (pods && n > pods->count) {
        all = false;
        if (why)
            ks_texts_add(why, "Reservation(s) Too many pods");
    }
    for (uint32_t k = 0; k < st->nrequests; k++) {
        const char *name = st->requests[k].name;
        int64_t cap = ks_amounts_get(&st->own->view.allocatable, name) -
                      ks_amounts_get(&st->own->view.kept, name);
        if (st->ignored >> k & 1 || !ks_amounts_find(&st->own->view.allocated, name) ||
            wants[k] <= cap)
            continue;
        all = false;
        if (why)
            ks_texts_addf(why, "Reservation(s) Insufficient %s", name);
    }
    return all;
}

static bool is_allowed(const struct resv_state *st, const struct ks_cycle *c,
                       const struct ks_pod *p, uint32_t row, struct ks_texts *why)
{
    struct ks_texts unread = { .arena = c->arena };
    return ks_reservation_filter(c, p, &st->own->view, row, why ? why : &unread) == KS_SUCCESS;
}

static bool shares_names(const struct resv_state *st, const struct pre_pod *p)
{
    for (uint32_t k = 0; k < st->nrequests; k++)
        if (p->wants[k] && ks_amounts_find(&st->own->view.allocated, st->requests[k].name))
            return true;
    return false;
}

/* Any one of them will do: which, is decided when the node is chosen. */
static bool fits_single(const struct resv_state *st, const struct ks_cycle *c,
                        const struct ks_pod *p, struct pre_row *pre, struct pre_shortage *s)
{
    bool found = false;

    for (uint32_t i = 0; i < pre->n && !found; i++) {
        const struct pre_pod *x = &pre->items[i];
        if (!shares_names(st, x))
            continue;
        uint32_t lacks = fits(st, c, pre->row, pre, x->wants, 1);
        s->by_node |= lacks;
        bool held = holds(st, x->wants, 1, s->why);
        found = is_allowed(st, c, p, pre->row, s->why) && held && lacks == 0;
    }
    for (uint32_t i = 0; found && i < pre->n; i++)
        pre->items[i].selected = true;
    return found;
}

static bool fits_multiple(const struct resv_state *st, const struct ks_cycle *c,
                          const struct ks_pod *p, struct pre_row *pre, struct pre_shortage *s)
{
    int64_t *sum = arena_newn0(c->arena, st->nrequests, int64_t);
    int64_t *trial = arena_newn0(c->arena, st->nrequests, int64_t);
    uint32_t n = 0;

    for (uint32_t i = 0; i < pre->n; i++) {
        struct pre_pod *x = &pre->items[i];
        for (uint32_t k = 0; k < st->nrequests; k++)
            trial[k] = sum[k] + x->wants[k];
        s->by_node = fits(st, c, pre->row, pre, trial, n + 1);
        if (!holds(st, trial, n + 1, s->why) || !is_allowed(st, c, p, pre->row, s->why))
            continue;
        x->selected = true;
        n++;
        memcpy(sum, trial, st->nrequests * sizeof *sum);
        if (s->by_node == 0)
            return true;
    }
    for (uint32_t i = 0; i < pre->n; i++)
        pre->items[i].selected = false;
    return false;
}

bool preallocate_fits(const struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      uint32_t row, struct pre_shortage *s)
{
    const struct preallocation *pre = st->pre;
    struct pre_row *at = preallocate_row(st, row);

    for (uint32_t i = 0; at && i < at->n; i++)
        at->items[i].selected = false;
    uint32_t alone = fits(st, c, row, at, NULL, 0);
    if (!pre->required && pre->prefer_none && alone == 0)
        return true;
    if (at && (pre->multiple ? fits_multiple : fits_single)(st, c, p, at, s))
        return true;
    if (pre->required)
        return false;
    if (!s->by_node && (at || pre->prefer_none))
        s->by_node = alone;
    s->why = NULL;
    return s->by_node == 0;
}

void preallocate_texts(const struct resv_state *st, const struct pre_shortage *s,
                       struct ks_texts *out)
{
    by_node_texts(st, s->by_node, out);
    for (uint32_t i = 0; s->why && i < s->why->n; i++)
        ks_texts_add(out, s->why->items[i]);
    if (out->n == 0)
        ks_texts_add(out, "node(s) no pod(s) to meet the pre-allocation requirements");
}

/* ---- the choice ------------------------------------------------------------------------------ */

static uint32_t count_selected(const struct pre_row *row)
{
    uint32_t n = 0;

    for (uint32_t i = 0; row && i < row->n; i++)
        n += row->items[i].selected;
    return n;
}

/* Of those that would do alone, the one that fills the reservation best. */
static struct pre_pod *best_of(const struct resv_state *st, const struct ks_cycle *c,
                               const struct ks_pod *p, const struct pre_row *row)
{
    struct pre_pod *best = NULL;

    if (row && row->n == 1 && st->pre->required && row->items[0].selected)
        return &row->items[0];
    for (uint32_t i = 0; row && i < row->n; i++) {
        struct pre_pod *x = &row->items[i];
        if (x->selected && shares_names(st, x) && holds(st, x->wants, 1, NULL) &&
            fits(st, c, row->row, row, x->wants, 1) == 0 &&
            (!best || score_of(st, x) > score_of(st, best)) &&
            ks_reservation_filter_pre_allocated(c, p, x->pod, row->row) == KS_SUCCESS)
            best = x;
    }
    return best;
}

int64_t preallocate_score(const struct resv_state *st, const struct ks_cycle *c,
                          const struct ks_pod *p, uint32_t row)
{
    const struct pre_row *at = preallocate_row(st, row);

    if (st->pre->multiple)
        return 100 / (1 + (int64_t)count_selected(at));
    const struct pre_pod *best = best_of(st, c, p, at);
    return best ? score_of(st, best) : 0;
}

void preallocate_choose(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                        uint32_t row)
{
    struct pre_row *at = preallocate_row(st, row);
    struct preallocation *pre = st->pre;
    struct pre_shortage unread = { 0 };

    pre->nchosen = 0;
    pre->chosen_row = row;
    (void)preallocate_fits(st, c, p, row, &unread); /* who is selected, on this row */
    if (!at)
        return;
    pre->chosen = arena_newn0(c->arena, at->n, struct pre_pod *);
    struct pre_pod *best = pre->multiple ? NULL : best_of(st, c, p, at);
    if (best)
        pre->chosen[pre->nchosen++] = best;
    for (uint32_t i = 0; pre->multiple && i < at->n; i++)
        if (at->items[i].selected)
            pre->chosen[pre->nchosen++] = &at->items[i];
}
