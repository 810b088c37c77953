/* filter.c - what a pod may take of a row and of the reservations there, by their policies
 * (sched-reservation 7.5).
 *
 * The row is without the pods that hold matched room. A reservation that is not used keeps what is
 * left of it; the one that is used gives what its owners, and what is kept from them, leave.
 */
#include "base/arena.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/plugins/reservation/state.h"

/* ---- amounts --------------------------------------------------------------------------------- */

static int64_t taken_of(const struct resv_part *p)
{
    return MAX(p->taken - p->back, 0);
}

/* What the reservation holds of it on the row: more when owners are tried away. */
static int64_t rest_of(const struct resv_part *p)
{
    return p->rest + MAX(p->cap - taken_of(p), 0) - MAX(p->cap - p->taken, 0);
}

static int64_t available_of(const struct resv_part *p)
{
    return MAX(p->cap - taken_of(p) - p->kept, 0);
}

/* What others than `with` hold, and what `with` does not give. */
static int64_t held(const struct resv_row *row, const struct resv_match *with, uint32_t k)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < row->n; i++) {
        const struct resv_match *m = &row->items[i];
        sum += rest_of(&m->parts[k]);
        if (m == with)
            sum -= MIN(available_of(&m->parts[k]), rest_of(&m->parts[k]));
    }
    return sum;
}

static int64_t held_pods(const struct resv_row *row, const struct resv_match *with)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < row->n; i++)
        sum += &row->items[i] == with ? 0 : row->items[i].rest_pods;
    return sum;
}

uint32_t fits_node(const struct resv_state *st, const struct ks_cycle *c,
                   const struct resv_row *row, const struct resv_match *with)
{
    const struct ks_nodes *n = c->nodes;
    uint32_t at = row->row, lacks = 0;

    if (n->used[KS_PODS][at] + held_pods(row, with) + 1 > n->alloc[KS_PODS][at])
        lacks |= RESV_PODS;
    for (uint32_t k = 0; k < st->nrequests; k++) {
        uint32_t column = st->requests[k].column;
        int64_t left = column == KS_NO_COLUMN
                           ? 0
                           : n->alloc[column][at] - n->used[column][at] - held(row, with, k);
        if (st->requests[k].count > left)
            lacks |= 1u << k;
    }
    return lacks & ~st->ignored;
}

/* ---- Restricted ------------------------------------------------------------------------------ */

static void short_of(struct resv_shortage *s, const char *text)
{
    s->nby_reservation++;
    if (s->by_reservation && text)
        ks_texts_add(s->by_reservation, text);
}

/* Texts are made only for somebody who reads them. */
static void check_pods(const struct resv_state *st, const struct resv_match *m,
                       struct resv_shortage *s)
{
    const struct ks_request *cap = ks_amounts_find(&m->r->view.allocatable, "pods");
    long long used = (long long)m->r->owners.n - m->back;

    if (!cap || used + 1 <= cap->count)
        return;
    short_of(s, !s->by_reservation ? NULL
                : str_empty(st->m.affinity.name)
                    ? "Reservation(s) Too many pods"
                    : arena_printf(s->by_reservation->arena,
                                   "Reservation(s) Too many pods, requested: 1, used: %lld, "
                                   "capacity: %lld",
                                   used, (long long)cap->count));
}

static void check_request(const struct resv_state *st, const struct resv_match *m, uint32_t k,
                          struct resv_shortage *s)
{
    const struct resv_part *p = &m->parts[k];
    const struct ks_request *want = &st->requests[k];
    int64_t cap = p->cap - p->kept;

    if (!p->counted || want->count <= cap - taken_of(p))
        return;
    if (!s->by_reservation) {
        s->nby_reservation++;
        return;
    }
    struct arena *a = s->by_reservation->arena;
    short_of(s, str_empty(st->m.affinity.name)
                    ? arena_printf(a, "Reservation(s) Insufficient %s", want->name)
                    : arena_printf(a,
                                   "Reservation(s) Insufficient %s, requested: %lld, used: %lld, "
                                   "capacity: %lld",
                                   want->name, (long long)want->count, (long long)taken_of(p),
                                   (long long)cap));
}

static void fits_reservation(const struct resv_state *st, const struct resv_match *m,
                             struct resv_shortage *s)
{
    check_pods(st, m, s);
    for (uint32_t k = 0; k < st->nrequests; k++)
        if (!(st->ignored >> k & 1))
            check_request(st, m, k, s);
}

/* ---- all of a row ---------------------------------------------------------------------------- */

static bool shares_names(const struct resv_state *st, const struct resv_match *m)
{
    for (uint32_t k = 0; k < st->nrequests; k++)
        if (m->parts[k].counted)
            return true;
    return false;
}

static bool try_match(const struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      const struct resv_row *row, const struct resv_match *m,
                      struct resv_shortage *s)
{
    uint32_t by_node = fits_node(st, c, row, m), before = s->nby_reservation;

    s->by_node |= by_node;
    if (m->r->view.policy == ALLOCATE_RESTRICTED)
        fits_reservation(st, m, s);
    struct ks_texts unread = { .arena = c->arena };
    struct ks_texts *why = s->by_reservation ? s->by_reservation : &unread;
    if (ks_reservation_filter(c, p, &m->r->view, row->row, why) != KS_SUCCESS) {
        s->nby_reservation++;
        return false;
    }
    return by_node == 0 && s->nby_reservation == before;
}

bool filter_with(const struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                 const struct resv_row *row, const struct resv_match *only, bool required,
                 struct resv_shortage *ret)
{
    if (st->m.ignores)
        return true;
    for (uint32_t i = 0; i < row->n; i++) {
        const struct resv_match *m = &row->items[i];
        if ((only && m != only) || (!st->m.has_affinity && !shares_names(st, m)))
            continue;
        if (try_match(st, c, p, row, m, ret))
            return true;
    }
    if (required || ret->by_node)
        return false;
    ret->by_node = fits_node(st, c, row, NULL);
    return ret->by_node == 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void by_node_texts(const struct resv_state *st, uint32_t set, struct ks_texts *out)
{
    const char *names[RESV_REQUESTS_MAX + 1];
    size_t n = 0;

    for (uint32_t k = 0; k < st->nrequests; k++)
        if (set >> k & 1)
            names[n++] = st->requests[k].name;
    if (set & RESV_PODS)
        names[n++] = "pods";
    if (n)
        qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++)
        ks_texts_addf(out, "Insufficient %s by node", names[i]);
}

void shortage_texts(const struct resv_state *st, const struct resv_shortage *s, bool required,
                    struct ks_texts *out)
{
    by_node_texts(st, s->by_node, out);
    for (uint32_t i = 0; required && s->by_reservation && i < s->by_reservation->n; i++)
        ks_texts_add(out, s->by_reservation->items[i]);
    if (out->n == 0)
        ks_texts_add(out, "node(s) no reservation(s) to meet the requirements");
}
