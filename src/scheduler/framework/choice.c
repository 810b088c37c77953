/* choice.c - one of the candidates is taken: what the pod asks for there, and what plugins reserve
 * for it. */
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/framework/stopwatch.h"
#include "scheduler/model/nodecache.h"

/* ---- the best of them ------------------------------------------------------------------------ */

/* Rows are looked at in blocks: only blocks that hold the best score are counted, and only the one
 * with the drawn row is searched. */
enum { PICK_BLOCK = 256 };

/* Most blocks hold candidates only; then there are no bytes to widen beside the scores. */
KOORD_CLONES static bool all_zero(uint32_t n, const uint8_t *by)
{
    uint8_t any = 0;
    for (uint32_t i = 0; i < n; i++)
        any |= by[i];
    return any == 0;
}

KOORD_CLONES static int64_t highest(uint32_t n, const int64_t *total)
{
    int64_t best = INT64_MIN;
    for (uint32_t i = 0; i < n; i++)
        best = total[i] > best ? total[i] : best;
    return best;
}

KOORD_CLONES static int64_t best_of(uint32_t n, const uint8_t *restrict by,
                                    const int64_t *restrict total)
{
    int64_t best = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        int64_t fits = -(int64_t)(by[i] == 0); /* a mask instead of a branch: it is vectorised */
        int64_t v = (total[i] & fits) | (INT64_MIN & ~fits);
        best = v > best ? v : best;
    }
    return best;
}

KOORD_CLONES static uint32_t count_same(uint32_t n, const int64_t *total, int64_t value)
{
    int64_t equal = 0;
    for (uint32_t i = 0; i < n; i++)
        equal += total[i] == value;
    return (uint32_t)equal;
}

KOORD_CLONES static uint32_t count_equal(uint32_t n, const uint8_t *restrict by,
                                         const int64_t *restrict total, int64_t value)
{
    uint32_t equal = 0;
    for (uint32_t i = 0; i < n; i++)
        equal += (by[i] == 0) & (total[i] == value);
    return equal;
}

uint32_t attempt_pick(const struct attempt *a, struct loop *l)
{
    uint32_t nblocks = (a->n + PICK_BLOCK - 1) / PICK_BLOCK, equal = 0;
    int64_t *bests = arena_newn0(a->arena, nblocks, int64_t), best = INT64_MIN;
    uint32_t *counts = arena_newn0(a->arena, nblocks, uint32_t);
    bool *clear = arena_newn0(a->arena, nblocks, bool); /* of rejected rows */

    assert(a->feasible > 0);
    for (uint32_t k = 0; k < nblocks; k++) {
        uint32_t at = k * PICK_BLOCK, n = MIN(a->n - at, (uint32_t)PICK_BLOCK);
        clear[k] = all_zero(n, a->by + at);
        bests[k] = clear[k] ? highest(n, a->total + at) : best_of(n, a->by + at, a->total + at);
        best = MAX(best, bests[k]);
    }
    for (uint32_t k = 0; k < nblocks; k++) {
        uint32_t at = k * PICK_BLOCK, n = MIN(a->n - at, (uint32_t)PICK_BLOCK);
        if (bests[k] == best)
            counts[k] = clear[k] ? count_same(n, a->total + at, best)
                                 : count_equal(n, a->by + at, a->total + at, best);
        equal += counts[k];
    }
    /* Upstream takes the first of the best, so a burst of replicas all favour one node; we draw. */
    uint64_t nth = equal > 1 ? loop_rand_below(l, equal) : 0;
    uint32_t k = 0;
    for (; nth >= counts[k]; k++)
        nth -= counts[k];
    for (uint32_t i = k * PICK_BLOCK;; i++)
        if (!a->by[i] && a->total[i] == best && nth-- == 0)
            return i;
}

void attempt_refuse(struct attempt *a, uint32_t row)
{
    attempt_own_verdicts(a);
    assert(a->by[row] == 0);
    a->by[row] = ATTEMPT_LEFT_OUT;
    a->feasible--;
}

uint32_t attempt_refuse_alike(struct attempt *a, uint32_t slot)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    uint32_t n = 0;

    if (!s->plugin->would_refuse || a->feasible == 0)
        return 0;
    uint8_t *why = arena_zalloc(a->arena, a->n);
    attempt_enter(a, slot, a->state[slot]);
    s->plugin->would_refuse(s->self, &a->cycle, &a->pod, (struct ks_span){ 0, a->n }, a->by, why);
    for (uint32_t row = 0; row < a->n; row++)
        if (a->by[row] == 0 && why[row]) {
            attempt_refuse(a, row);
            n++;
        }
    return n;
}

/* ---- before it is bound ---------------------------------------------------------------------- */

/* Undone are all reservations, as upstream: also of those that came after, or were not asked. */
static void undo(struct attempt *a, uint32_t row)
{
    profile_unreserve(a->profile, a->pod.pod, nodecache_row_name(a->cache, row), a->stopwatch);
}

/* What they change must not be seen where it was not meant for. */
static void own_requests(struct attempt *a)
{
    struct requests *r = &a->pod.requests;
    struct ks_request *more = arena_newn0(a->arena, r->nmore, struct ks_request);

    if (r->nmore)
        memcpy(more, r->more, r->nmore * sizeof *more);
    r->more = more;
}

int attempt_nominate(struct attempt *a, uint32_t row, enum ks_code *ret_code, struct ks_texts *why)
{
    int slot = a->profile->nominates;

    if (slot < 0)
        return -1;
    const struct profile_slot *s = &a->profile->slots[slot];
    attempt_enter(a, (uint32_t)slot, a->state[slot]);
    *ret_code = s->plugin->nominate(s->self, &a->cycle, &a->pod, row, why);
    return *ret_code == KS_SUCCESS ? -1 : slot;
}

int attempt_resize(struct attempt *a, uint32_t row, bool *ret_changed, struct ks_texts *why)
{
    own_requests(a);
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct profile_slot *s = &a->profile->slots[i];
        if (!s->plugin->resize)
            continue;
        attempt_enter(a, i, a->state[i]);
        enum ks_code code = s->plugin->resize(s->self, &a->cycle, &a->pod, row, why);
        stopwatch_plugin(a->stopwatch, LAP_RESIZE, i, code);
        if (code == KS_SKIP)
            continue;
        if (code != KS_SUCCESS) {
            stopwatch_point(a->stopwatch, LAP_NOBODY, code);
            undo(a, row);
            return (int)i;
        }
        *ret_changed = true;
    }
    return -1;
}

int attempt_reserve(struct attempt *a, uint32_t row, enum ks_code *ret_code, struct ks_texts *why)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_RESERVE];

    for (uint32_t i = 0; i < point->n; i++) {
        const struct profile_slot *s = &a->profile->slots[point->slots[i]];
        attempt_enter(a, point->slots[i], a->state[point->slots[i]]);
        enum ks_code code = s->plugin->reserve(s->self, &a->cycle, &a->pod, row, why);
        stopwatch_plugin(a->stopwatch, LAP_RESERVE, point->slots[i], code);
        if (code == KS_SUCCESS)
            continue;
        stopwatch_point(a->stopwatch, LAP_RESERVE, code);
        undo(a, row);
        *ret_code = code;
        return point->slots[i];
    }
    return -1;
}
