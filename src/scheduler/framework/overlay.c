/* overlay.c - the overlay of an attempt: pods added to rows or removed, who is told of it,
 * and whether the pod fits.
 *
 * The rows themselves are changed and put back (model/overlay.h), and plugins whose state counts
 * pods are told: an undo log instead of a copy of the node for each question. Attempts within an
 * attempt share its overlay; the states of all of them follow every change.
 */
#include "scheduler/model/overlay.h"

#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"

/* ---- who is told ----------------------------------------------------------------------------- */

static void find_counting(struct attempt *a)
{
    for (uint32_t i = 0; i < a->profile->n; i++)
        if (a->state[i] && a->profile->slots[i].plugin->add_pod)
            a->counting[a->ncounting++] = (uint8_t)i;
    a->counted = true;
}

static void tell_attempt(struct attempt *a, const struct pod *other, uint32_t row, bool added)
{
    const struct ks_rows *rows = a->cycle.rows;
    void *state = a->cycle.state;

    if (!a->counted)
        find_counting(a);
    for (uint32_t i = 0; i < a->ncounting; i++) {
        uint32_t slot = a->counting[i];
        const struct profile_slot *s = &a->profile->slots[slot];
        attempt_enter(a, slot, a->state[slot]);
        (added ? s->plugin->add_pod : s->plugin->remove_pod)(s->self, &a->cycle, &a->pod, other,
                                                             row);
    }
    a->cycle.state = state;
    a->cycle.rows = rows;
}

static void tell(const struct ks_overlay *o, const struct pod *other, uint32_t row, bool added)
{
    for (struct attempt *a = o->told; a; a = a->told_next)
        tell_attempt(a, other, row, added);
}

void attempt_follow(struct attempt *a)
{
    a->told_next = a->overlay->told;
    a->overlay->told = a;
    a->follows = true;
}

void attempt_unfollow(struct attempt *a)
{
    for (struct attempt **at = &a->overlay->told; *at; at = &(*at)->told_next) {
        if (*at != a)
            continue;
        *at = a->told_next;
        break;
    }
    a->follows = false;
}

/* ---- changes --------------------------------------------------------------------------------- */

uint32_t ks_overlay_mark(const struct ks_overlay *o)
{
    return overlay_mark(o->cache);
}

void ks_overlay_rollback(struct ks_overlay *o, uint32_t mark)
{
    while (overlay_mark(o->cache) > mark) {
        struct overlay_undone u = overlay_undo(o->cache);
        if (u.pod)
            tell(o, pod_of(u.pod), u.row, u.kind == OVERLAY_REMOVED);
        kobj_unref(u.pod);
    }
}

void ks_overlay_add_pod(struct ks_overlay *o, uint32_t row, struct kobj *pod)
{
    overlay_add_pod(o->cache, row, pod);
    tell(o, pod_of(pod), row, true);
}

void ks_overlay_remove_pod(struct ks_overlay *o, uint32_t row, const struct pod *pod)
{
    CLEANUP(kobj_unref) struct kobj *keep = kobj_ref((struct kobj *)&pod->obj);
    overlay_remove_pod(o->cache, row, pod);
    tell(o, pod_of(keep), row, false);
}

void ks_overlay_restore_pod(struct ks_overlay *o, uint32_t row, const struct pod *pod)
{
    overlay_restore_pod(o->cache, row, pod);
    tell(o, pod, row, true);
}

void ks_overlay_add(struct ks_overlay *o, uint32_t row, uint32_t column, int64_t delta)
{
    overlay_use(o->cache, row, column, delta);
}

/* ---- does it fit? ---------------------------------------------------------------------------- */

struct nomination { /* a nominated pod that counts; borrowed */
    uint32_t row;
    struct kobj *pod;
};
struct attempt_trial {              /* made once an attempt: there may be one for every row */
    struct nomination *nominations; /* by row */
    uint32_t nnominations;
    uint8_t *said, *by, *why;
};

static int by_row(const void *a, const void *b)
{
    const struct nomination *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static void find_nominations(const struct attempt *a, struct attempt_trial *t)
{
    const char *node;
    struct kobj *pod;

    if (!a->nominator || nominator_count(a->nominator) == 0)
        return;
    t->nominations = arena_newn0(a->arena, nominator_count(a->nominator), struct nomination);
    for (size_t it = 0; (pod = nominator_next(a->nominator, &it, &node));) {
        uint32_t row = ks_row_of(a->cycle.nodes, node);
        if (row != KS_NO_ROW && attempt_nominated_counts(a, pod))
            t->nominations[t->nnominations++] = (struct nomination){ row, pod };
    }
    qsort(t->nominations, t->nnominations, sizeof *t->nominations, by_row);
}

static struct attempt_trial *trial_of(struct attempt *a)
{
    if (a->trial)
        return a->trial;
    a->trial = arena_new0(a->arena, struct attempt_trial);
    a->trial->said = arena_zalloc(a->arena, a->n);
    a->trial->by = arena_zalloc(a->arena, a->n);
    a->trial->why = arena_zalloc(a->arena, a->n);
    find_nominations(a, a->trial);
    return a->trial;
}

/* The pods nominated on the row are there; how many. */
static uint32_t add_nominated(struct attempt *a, uint32_t row)
{
    const struct attempt_trial *t = trial_of(a);
    uint32_t lo = 0, hi = t->nnominations, n = 0;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->nominations[mid].row < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < t->nnominations && t->nominations[lo].row == row; lo++, n++)
        ks_overlay_add_pod(a->overlay, row, t->nominations[lo].pod);
    return n;
}

static bool judge(struct attempt *a, uint32_t row, struct attempt_verdict *v)
{
    struct attempt_trial *t = trial_of(a);

    attempt_filter_row(a, row, t->said, t->by, t->why);
    v->by = t->by[row];
    v->why = t->why[row];
    return v->by == 0;
}

bool attempt_fits(struct attempt *a, uint32_t row, struct attempt_verdict *ret)
{
    uint32_t mark = ks_overlay_mark(a->overlay);
    struct attempt_verdict v = { 0 };

    v.nominated = add_nominated(a, row) > 0;
    bool fits = judge(a, row, &v);
    if (v.nominated) {
        ks_overlay_rollback(a->overlay, mark);
        if (fits && !a->nominated_once) {
            v.nominated = false;
            v.second = true;
            fits = judge(a, row, &v);
        }
    }
    if (ret)
        *ret = v;
    return fits;
}

void attempt_fits_texts(struct attempt *a, uint32_t row, const struct attempt_verdict *v,
                        struct ks_texts *out)
{
    uint32_t mark = ks_overlay_mark(a->overlay);

    if (v->nominated)
        add_nominated(a, row);
    attempt_verdict_texts(a, row, v->by, v->why, out);
    ks_overlay_rollback(a->overlay, mark);
}

void attempt_with_nominated(struct attempt *a, uint32_t row)
{
    add_nominated(a, row);
}
