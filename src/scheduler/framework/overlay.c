/* overlay.c - one row of an attempt as if pods were there or gone.
 *
 * The row itself is changed and put back, and plugins whose state counts pods are told: an undo log
 * instead of a copy of the node for each question.
 */
#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/cache/nominator.h"
#include "scheduler/framework/attempt_int.h"

struct change {
    struct change *next;
    struct kobj *pod;
    bool added; /* otherwise gone */
};
struct attempt_trial {
    uint32_t row;
    struct change *changes; /* the latest first */
    uint8_t *said, *by, *why;
};

static void tell(struct attempt *a, const struct pod *other, bool added)
{
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct profile_slot *s = &a->profile->slots[i];
        void (*fn)(void *, const struct ks_cycle *, const struct ks_pod *, const struct pod *,
                   uint32_t) = added ? s->plugin->add_pod : s->plugin->remove_pod;
        if (!fn || !a->state[i])
            continue;
        a->cycle.state = a->state[i];
        fn(s->self, &a->cycle, &a->pod, other, a->trial->row);
    }
}

void attempt_as_if(struct attempt *a, uint32_t row)
{
    struct attempt_trial *t = arena_new0(a->arena, struct attempt_trial);

    assert(!a->trial);
    t->row = row;
    t->said = arena_zalloc(a->arena, a->n);
    t->by = arena_zalloc(a->arena, a->n);
    t->why = arena_zalloc(a->arena, a->n);
    a->trial = t;
    nodecache_as_if(a->cache, row);
}

static void push(struct attempt *a, struct kobj *pod, bool added)
{
    struct change *c = arena_new0(a->arena, struct change);
    *c = (struct change){ a->trial->changes, kobj_ref(pod), added };
    a->trial->changes = c;
}

static struct kobj *obj_of(const struct pod *p)
{
    return (struct kobj *)&p->obj;
}

void attempt_as_if_added(struct attempt *a, struct kobj *pod)
{
    push(a, pod, true);
    nodecache_as_if_added(a->cache, pod);
    tell(a, pod_of(pod), true);
}

void attempt_as_if_gone(struct attempt *a, const struct pod *pod)
{
    push(a, obj_of(pod), false);
    nodecache_as_if_gone(a->cache, pod->obj.meta.uid);
    tell(a, pod, false);
}

static void drop(struct change **at)
{
    struct change *c = *at;
    *at = c->next;
    kobj_unref(c->pod);
}

void attempt_as_if_back(struct attempt *a, const struct pod *pod)
{
    for (struct change **at = &a->trial->changes; *at; at = &(*at)->next) {
        if ((*at)->added || !kuid_equal((*at)->pod->meta.uid, pod->obj.meta.uid))
            continue;
        nodecache_as_if_back(a->cache, pod->obj.meta.uid);
        tell(a, pod, true);
        drop(at);
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

/* Nominated pods of the row are added for one pass; how many. */
static uint32_t add_nominated(struct attempt *a)
{
    const char *name = nodecache_row_name(a->cache, a->trial->row), *node;
    uint32_t n = 0;
    struct kobj *pod;

    for (size_t it = 0; a->nominator && (pod = nominator_next(a->nominator, &it, &node));) {
        if (!streq(node, name) || !attempt_nominated_counts(a, pod))
            continue;
        attempt_as_if_added(a, pod);
        n++;
    }
    return n;
}

/* The nominated pods are the latest changes. The cache takes its own back at the end of the trial
 * only, so the trial begins again with the changes that stay. */
static void drop_nominated(struct attempt *a, uint32_t n)
{
    struct attempt_trial *t = a->trial;

    for (; n > 0; n--) {
        tell(a, pod_of(t->changes->pod), false);
        drop(&t->changes);
    }
    nodecache_as_if_end(a->cache);
    nodecache_as_if(a->cache, t->row);
    for (const struct change *c = t->changes; c; c = c->next) {
        if (c->added)
            nodecache_as_if_added(a->cache, c->pod);
        else
            nodecache_as_if_gone(a->cache, c->pod->meta.uid);
    }
}

bool attempt_as_if_fits(struct attempt *a, uint8_t *ret_by, uint8_t *ret_why)
{
    uint32_t n = add_nominated(a);

    if (n == 0)
        return fits(a, ret_by, ret_why);
    bool with = fits(a, ret_by, ret_why);
    drop_nominated(a, n);
    return with && fits(a, ret_by, ret_why);
}

void attempt_as_if_end(struct attempt *a)
{
    struct attempt_trial *t = a->trial;

    nodecache_as_if_end(a->cache);
    while (t->changes) {
        tell(a, pod_of(t->changes->pod), !t->changes->added);
        drop(&t->changes);
    }
    a->trial = NULL;
}
