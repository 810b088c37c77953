/* restore.c - reserved room is given back to the pod that may use it, for its attempt
 * (sched-reservation 7.1, 7.3).
 *
 * The pods that hold the room are away from their rows then, through the overlay; what they counted
 * for is remembered, because a reservation that the pod does not take keeps its room. Pods that may
 * use nothing change nothing: a row counts reserved room once (model/shares.h).
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/nodematch.h"
#include "scheduler/plugins/reservation/preallocate.h"

uint32_t resv_row_of(struct resv *r, const struct ks_nodes *n)
{
    if (r->layout != n->layout + 1) { /* never 0 */
        r->row = ks_row_of(n, r->on->name);
        r->layout = n->layout + 1;
    }
    return r->row;
}

/* ---- what the pod requests ------------------------------------------------------------------- */

static bool is_ignored(const struct reservation_args *args, const char *name)
{
    const char *slash = strchr(name, '/');

    for (uint32_t i = 0; i < args->ignored.n; i++)
        if (streq(args->ignored.items[i], name))
            return true;
    for (uint32_t i = 0; slash && i < args->ignored_groups.n; i++)
        if (strlen(args->ignored_groups.items[i]) == (size_t)(slash - name) &&
            memcmp(args->ignored_groups.items[i], name, (size_t)(slash - name)) == 0)
            return true;
    return false;
}

static void add_request(struct resv_state *st, const char *name, int64_t count, uint32_t column)
{
    if (count <= 0 || st->nrequests == RESV_REQUESTS_MAX)
        return;
    if (is_ignored(st->x->args, name))
        st->ignored |= 1u << st->nrequests;
    st->requests[st->nrequests++] = (struct ks_request){ name, count, column };
}

static void set_requests(struct resv_state *st, const struct requests *r, struct arena *a)
{
    static const char *const fixed[] = { RES_CPU, RES_MEMORY, RES_EPHEMERAL_STORAGE };

    st->requests = arena_newn0(a, ARRAY_LEN(fixed) + r->nmore, struct ks_request);
    for (uint32_t i = 0; i < ARRAY_LEN(fixed); i++)
        add_request(st, fixed[i], r->fixed[i], i);
    for (uint32_t i = 0; i < r->nmore; i++)
        add_request(st, r->more[i].name, r->more[i].count, r->more[i].column);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct resv_row *row_get(struct resv_state *st, const struct ks_cycle *c, uint32_t row)
{
    struct resv_row *has = state_row(st, row);

    if (has)
        return has;
    if (!st->at)
        st->at = arena_newn0(c->arena, c->nodes->n, uint32_t);
    if (st->nrows == st->cap) {
        struct resv_row *old = st->rows;
        st->cap = st->cap ? 4 * st->cap : 16;
        st->rows = arena_newn0(c->arena, st->cap, struct resv_row);
        if (st->nrows)
            memcpy(st->rows, old, st->nrows * sizeof *old);
    }
    st->rows[st->nrows] = (struct resv_row){ .row = row };
    st->at[row] = ++st->nrows;
    return &st->rows[st->nrows - 1];
}

/* By name, so that the same cluster gives the same answers. */
static struct resv_match *row_add(struct resv_row *row, struct resv *r, struct arena *a)
{
    uint32_t at = row->n;

    if (row->n == row->cap) {
        struct resv_match *old = row->items;
        row->cap = row->cap ? 4 * row->cap : 1;
        row->items = arena_newn0(a, row->cap, struct resv_match);
        if (row->n)
            memcpy(row->items, old, row->n * sizeof *old);
    }
    for (; at > 0 && strcmp(row->items[at - 1].r->view.name, r->view.name) > 0; at--)
        row->items[at] = row->items[at - 1];
    row->n++;
    row->items[at] = (struct resv_match){ .r = r };
    return &row->items[at];
}

/* Its pod leaves the row; how much that gives is measured. False: it is not there. */
static bool take_away(const struct resv_state *st, const struct ks_cycle *c, struct ks_overlay *o,
                      struct resv_match *m, uint32_t row)
{
    const struct ks_podlist *pods = &c->nodes->pods[row];
    const struct pod *holder = m->r->view.pod ? pod_of(m->r->view.pod) : NULL;
    uint32_t i = 0;

    while (i < pods->n && pods->items[i] != holder)
        i++;
    if (i == pods->n)
        return false;
    m->rest_pods = c->nodes->used[KS_PODS][row];
    for (uint32_t k = 0; k < st->nrequests; k++)
        if (st->requests[k].column != KS_NO_COLUMN)
            m->parts[k].rest = c->nodes->used[st->requests[k].column][row];
    ks_overlay_remove_pod(o, row, holder);
    m->rest_pods -= c->nodes->used[KS_PODS][row];
    for (uint32_t k = 0; k < st->nrequests; k++)
        if (st->requests[k].column != KS_NO_COLUMN)
            m->parts[k].rest -= c->nodes->used[st->requests[k].column][row];
    return true;
}

static void restore(struct resv_state *st, const struct ks_cycle *c, struct ks_overlay *o,
                    struct resv *r, uint32_t row)
{
    struct resv_match *m = row_add(row_get(st, c, row), r, c->arena);

    m->parts = arena_newn0(c->arena, st->nrequests, struct resv_part);
    for (uint32_t k = 0; k < st->nrequests; k++) {
        const char *name = st->requests[k].name;
        const struct ks_request *taken = ks_amounts_find(&r->view.allocated, name);
        const struct ks_request *cap = ks_amounts_find(&r->view.allocatable, name);
        m->parts[k] = (struct resv_part){ .cap = cap ? cap->count : 0,
                                          .item = cap ? (int)(cap - r->view.allocatable.items) : -1,
                                          .taken = taken ? taken->count : 0,
                                          .kept = ks_amounts_get(&r->view.kept, name),
                                          .counted = taken };
    }
    (void)take_away(st, c, o, m, row);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* For one pod, and another is assumed into it: nobody else can, and nothing of it is free. */
static bool is_assumed(const struct resv *r)
{
    return r->view.allocate_once && r->owners.n == 1 &&
           !container_of(r->owners.items[0], struct resv_owner, view)->wants;
}

static bool may_use(const struct resv_state *st, const struct resv *r, const struct pod *p,
                    const struct node *node)
{
    const struct taint *unused;

    if (st->m.ignores)
        return true;
    if (!st->m.has_affinity && is_assumed(r))
        return false;
    return match_owner(r, p) && match_owned(&st->m, r, node, &unused) == MATCH_YES;
}

static void restore_all(struct resv_state *st, const struct ks_cycle *c, const struct pod *p,
                        struct ks_overlay *o, struct resv *const *found, uint32_t n)
{
    const struct nodematch will = nodematch_of(p, c->arena);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = resv_row_of(found[i], c->nodes);
        if (row != KS_NO_ROW && nodematch_node(&will, c->nodes->node[row]) &&
            may_use(st, found[i], p, c->nodes->node[row]))
            restore(st, c, o, found[i], row);
    }
}

/* Plugins that give away more than amounts do the same with what they know. */
static void tell_plugins(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_overlay *o)
{
    for (uint32_t i = 0; i < st->nrows; i++) {
        const struct resv_row *row = &st->rows[i];
        const struct resv_node *on = row->items[0].r->on;
        const struct ks_reservation **all =
            arena_newn0(c->arena, row->n + on->items.n, const struct ks_reservation *);
        struct ks_restored r = { .row = row->row, .matched = all, .unmatched = all + row->n };
        for (uint32_t k = 0; k < row->n; k++)
            all[r.nmatched++] = &row->items[k].r->view;
        for (size_t k = 0; k < on->items.n; k++)
            if (!match_of(row, on->items.items[k]))
                all[row->n + r.nunmatched++] = &on->items.items[k]->view;
        ks_reservation_restore(c, p, o, &r);
    }
}

static bool says_something(const struct pod *p)
{
    return kstrmap_get(&p->obj.meta.annotations, ANNO_RESERVATION_AFFINITY) ||
           pod_operating_mode(&p->obj.meta.labels) == OPERATING_RESERVATION;
}

enum ks_code state_make(struct resv_plugin *x, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_overlay *o, struct resv_state **ret, struct ks_texts *why)
{
    const struct resv *own = reservations_find(x->cache, p->pod->obj.meta.uid);
    struct kerr err = { 0 };
    struct resv **found = NULL;
    uint32_t n = 0;

    *ret = NULL;
    own = own && !own->is_pod ? own : NULL;
    if (!own)
        found = match_candidates(x->cache, p->pod, c->arena, &n);
    if (!own && n == 0 && !says_something(p->pod))
        return KS_SKIP; /* nearly all pods */
    struct resv_state *st = arena_new0(c->arena, struct resv_state);
    *st = (struct resv_state){ .x = x, .own = own, .preferred = KS_NO_ROW };
    st->operating = !own && pod_operating_mode(&p->pod->obj.meta.labels) == OPERATING_RESERVATION;
    if (!own && match_init(&st->m, p->pod, c->arena, &err) < 0) {
        ks_texts_add(why, arena_strdup(c->arena, err.text));
        return KS_ERROR;
    }
    st->m.omit_node_labels = x->omit_node_labels;
    set_requests(st, &p->requests, c->arena);
    if (own)
        preallocate_make(st, c, p, o);
    else
        restore_all(st, c, p->pod, o, found, n);
    if (ks_reservation_hooked(c))
        tell_plugins(st, c, p, o);
    *ret = st;
    return KS_SUCCESS;
}

/* ---- dry runs -------------------------------------------------------------------------------- */

void state_owner_moved(struct resv_state *st, const struct pod *other, uint32_t row, bool away)
{
    const struct resv_row *at = state_row(st, row);
    const struct resv_owner *o = at ? uidmap_get(&st->x->cache->owners, other->obj.meta.uid) : NULL;

    for (uint32_t i = 0; o && i < at->n; i++) {
        struct resv_match *m = &at->items[i];
        if (m->r != o->of)
            continue;
        m->back += away ? 1u : UINT32_MAX;
        for (uint32_t k = 0; k < st->nrequests; k++)
            if (m->parts[k].counted)
                m->parts[k].back +=
                    (away ? 1 : -1) * ks_amounts_get(&o->view.requests, st->requests[k].name);
    }
}
