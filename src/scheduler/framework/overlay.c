/* overlay.c - one row of an attempt as if pods were there or gone.
 *
 * The row itself is changed and put back, and plugins whose state counts pods are told: an undo log
 * instead of a copy of the node for each question.
 */
#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"

struct change {
    struct change *next;
    struct kobj *pod;
    bool added; /* otherwise gone */
};
struct nomination { /* a nominated pod that counts; borrowed */
    uint32_t row;
    struct kobj *pod;
};
struct attempt_trial { /* made once an attempt: there may be one for every row */
    bool open;
    uint32_t row;
    struct change *changes; /* the latest first */
    struct change *spare;
    struct nomination *nominations; /* by row */
    uint32_t nnominations;
    uint32_t first, nominated; /* of these the row's own */
    bool with_nominated;       /* they were there when the pod was refused */
    uint8_t *said, *by, *why;
    uint8_t counting[PROFILE_PLUGINS_MAX]; /* slots whose state counts pods */
    uint32_t ncounting;
};

static void tell(struct attempt *a, const struct pod *other, bool added)
{
    for (uint32_t i = 0; i < a->trial->ncounting; i++) {
        uint32_t slot = a->trial->counting[i];
        const struct profile_slot *s = &a->profile->slots[slot];
        a->cycle.state = a->state[slot];
        (added ? s->plugin->add_pod : s->plugin->remove_pod)(s->self, &a->cycle, &a->pod, other,
                                                             a->trial->row);
    }
}

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

static struct attempt_trial *trial_new(struct attempt *a)
{
    struct attempt_trial *t = arena_new0(a->arena, struct attempt_trial);

    t->said = arena_zalloc(a->arena, a->n);
    t->by = arena_zalloc(a->arena, a->n);
    t->why = arena_zalloc(a->arena, a->n);
    for (uint32_t i = 0; i < a->profile->n; i++)
        if (a->state[i] && a->profile->slots[i].plugin->add_pod)
            t->counting[t->ncounting++] = (uint8_t)i;
    find_nominations(a, t);
    return t;
}

/* The nominations of the row. */
static void select_nominations(struct attempt_trial *t)
{
    uint32_t lo = 0, hi = t->nnominations;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->nominations[mid].row < t->row)
            lo = mid + 1;
        else
            hi = mid;
    }
    t->first = lo;
    for (t->nominated = 0; lo < t->nnominations && t->nominations[lo].row == t->row; lo++)
        t->nominated++;
}

void attempt_overlay_begin(struct attempt *a, uint32_t row)
{
    a->trial = a->trial ? a->trial : trial_new(a);
    assert(!a->trial->open);
    a->trial->open = true;
    a->trial->row = row;
    select_nominations(a->trial);
    nodecache_overlay_begin(a->cache, row);
}

static void push(struct attempt *a, struct kobj *pod, bool added)
{
    struct attempt_trial *t = a->trial;
    struct change *c = t->spare ? t->spare : arena_new0(a->arena, struct change);

    t->spare = c->next;
    *c = (struct change){ t->changes, kobj_ref(pod), added };
    t->changes = c;
}

static struct kobj *obj_of(const struct pod *p)
{
    return (struct kobj *)&p->obj;
}

void attempt_overlay_add(struct attempt *a, struct kobj *pod)
{
    push(a, pod, true);
    nodecache_overlay_add(a->cache, pod);
    tell(a, pod_of(pod), true);
}

void attempt_overlay_remove(struct attempt *a, const struct pod *pod)
{
    push(a, obj_of(pod), false);
    nodecache_overlay_remove(a->cache, pod);
    tell(a, pod, false);
}

static void drop(struct attempt_trial *t, struct change **at)
{
    struct change *c = *at;
    *at = c->next;
    kobj_unref(c->pod);
    c->next = t->spare;
    t->spare = c;
}

void attempt_overlay_restore(struct attempt *a, const struct pod *pod)
{
    for (struct change **at = &a->trial->changes; *at; at = &(*at)->next) {
        if ((*at)->added || pod_of((*at)->pod) != pod)
            continue;
        nodecache_overlay_restore(a->cache, pod);
        tell(a, pod, true);
        drop(a->trial, at);
        return;
    }
}

static bool fits(struct attempt *a, uint8_t *ret_by, uint8_t *ret_why)
{
    struct attempt_trial *t = a->trial;

    attempt_filter_row(a, t->row, t->said, t->by, t->why);
    if (ret_by)
        *ret_by = t->by[t->row];
    if (ret_why)
        *ret_why = t->why[t->row];
    return t->by[t->row] == 0;
}

static void add_nominated(struct attempt *a)
{
    const struct attempt_trial *t = a->trial;
    for (uint32_t i = 0; i < t->nominated; i++)
        attempt_overlay_add(a, t->nominations[t->first + i].pod);
}

/* The nominated pods are the latest changes. The cache takes its own back at the end of the trial
 * only, so the trial begins again with the changes that stay. */
static void drop_nominated(struct attempt *a)
{
    struct attempt_trial *t = a->trial;
    struct change *stay = t->changes;

    for (uint32_t i = 0; i < t->nominated; i++)
        stay = stay->next;
    nodecache_overlay_end(a->cache);
    nodecache_overlay_begin(a->cache, t->row);
    for (const struct change *c = stay; c; c = c->next) {
        if (c->added)
            nodecache_overlay_add(a->cache, c->pod);
        else
            nodecache_overlay_remove(a->cache, pod_of(c->pod));
    }
    while (t->changes != stay) {
        tell(a, pod_of(t->changes->pod), false);
        drop(t, &t->changes);
    }
}

bool attempt_overlay_fits(struct attempt *a, uint8_t *ret_by, uint8_t *ret_why)
{
    struct attempt_trial *t = a->trial;

    t->with_nominated = false;
    if (t->nominated == 0)
        return fits(a, ret_by, ret_why);
    add_nominated(a);
    t->with_nominated = !fits(a, ret_by, ret_why);
    drop_nominated(a);
    return !t->with_nominated && (a->nominated_once || fits(a, ret_by, ret_why));
}

void attempt_overlay_texts(struct attempt *a, struct ks_texts *out)
{
    const struct attempt_trial *t = a->trial;

    if (t->with_nominated)
        add_nominated(a);
    attempt_verdict_texts(a, t->row, t->by[t->row], t->why[t->row], out);
    if (t->with_nominated)
        drop_nominated(a);
}

unsigned attempt_overlay_pass(const struct attempt *a)
{
    return a->trial->nominated && !a->trial->with_nominated ? 2 : 1;
}

void attempt_overlay_end(struct attempt *a)
{
    struct attempt_trial *t = a->trial;

    nodecache_overlay_end(a->cache);
    while (t->changes) {
        tell(a, pod_of(t->changes->pod), !t->changes->added);
        drop(t, &t->changes);
    }
    t->open = false;
}
