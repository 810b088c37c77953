/* nominate.c - which of the reservations of a node a pod takes, and how good that is
 * (sched-reservation 8.1, 8.2).
 */
#include "scheduler/framework/reservation.h"
#include "scheduler/plugins/reservation/state.h"

/* The fuller the better. Over what the reservation has; requests of the pod alone are no matter. */
static int64_t score_match(const struct resv_state *st, const struct resv_match *m)
{
    const struct ks_amounts *all = &m->r->view.allocatable;
    int64_t sum = 0, n = 0;

    for (uint32_t i = 0; i < all->n; i++) {
        const struct ks_request *cap = &all->items[i];
        int64_t want = ks_amounts_get(&m->r->view.allocated, cap->name);
        if (cap->count <= 0)
            continue;
        for (uint32_t k = 0; k < st->nrequests; k++)
            if (m->parts[k].item == (int)i)
                want = MAX(want - m->parts[k].back, 0) + st->requests[k].count;
        n++;
        sum += want <= cap->count ? (int64_t)((__int128)want * 100 / cap->count) : 0;
    }
    return n ? sum / n : 0;
}

/* May the pod have it? */
static bool passes(const struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                   const struct resv_row *row, const struct resv_match *m)
{
    struct resv_shortage unused = { 0 };

    return !(m->r->view.allocate_once && m->r->owners.n) &&
           filter_with(st, c, p, row, m, true, &unused) &&
           ks_reservation_filter_nominated(c, p, &m->r->view, row->row) == KS_SUCCESS;
}

/* A smaller order wins, then a higher score; equal ones by name. */
static bool is_better(const struct resv_match *m, int64_t score, const struct resv_match *than,
                      int64_t than_score)
{
    int64_t x = m->r->order, y = than->r->order;

    if (x != y && (x == 0 || y == 0))
        return x != 0;
    return x != y ? x < y : x == 0 && score > than_score;
}

struct resv *nominate(struct resv_state *st, const struct ks_cycle *c, const struct ks_pod *p,
                      struct resv_row *row)
{
    const struct resv_match *best = NULL;
    int64_t best_score = 0;

    if (row->asked)
        return row->nominated;
    row->asked = true;
    if (st->m.ignores)
        return NULL;
    if (row->n == 1 && st->m.has_affinity) { /* the filter has looked at it */
        row->score = score_match(st, &row->items[0]);
        return row->nominated = row->items[0].r;
    }
    for (uint32_t i = 0; i < row->n; i++) {
        const struct resv_match *m = &row->items[i];
        if (!passes(st, c, p, row, m))
            continue;
        int64_t own = score_match(st, m);
        int64_t score = own + ks_reservation_score(c, p, &m->r->view, row->row);
        if (best && !is_better(m, score, best, best_score))
            continue;
        best = m;
        best_score = score;
        row->score = own;
    }
    return row->nominated = best ? best->r : NULL;
}
