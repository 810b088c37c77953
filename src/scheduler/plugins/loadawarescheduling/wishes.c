/* wishes.c - pods that wait for load to fall.
 *
 * Pods with equal estimates wait under one key, and it is woken when a node that had no room for
 * them when attempts last looked has it now: not at each report of each node. A key that was woken
 * is forgotten; pods that are rejected again come back with it. Where expired reports do not keep
 * pods away, a report that expires makes room too: a timer looks at that.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

/* So many different estimates; those beyond share a key that any fall of load wakes. */
enum { WISHES_MAX = 256 };
#define KEY_ANY UINT64_C(1)
/* Every pod that waits is tried every five minutes, and waits anew then: behind a wish that is much
 * older nobody stands any more. */
#define WISH_AGE_MAX (15 * 60 * NSEC_PER_SEC)
#define LOOK_AFTER   NSEC_PER_SEC /* at the earliest: reports expire one after the other */

void loads_saw(struct loads *l, const char *node, const struct load_limits *m)
{
    struct load_node *n = loads_find(l, node);

    if (!n)
        return;
    n->filled = true;
    for (enum load_class class = 0; class < LOAD_CLASSES; class ++) {
        n->seen_expired[class] = m->expired[class];
        memcpy(load_seen_room(n, l, class), m->room[class], l->n * sizeof *n->v);
    }
}

static bool was_allowed(const struct loads *l, struct load_node *n, const struct load_wish *w)
{
    const int64_t *room = load_seen_room(n, l, w->class);
    bool fits = !n->seen_expired[w->class];

    for (uint32_t r = 0; r < l->n; r++)
        fits &= w->want[r] <= room[r];
    return fits;
}

static bool has_fallen(const struct loads *l, struct load_node *n, const struct load_limits *m)
{
    bool fallen = false;

    for (enum load_class class = 0; class < LOAD_CLASSES; class ++) {
        fallen |= n->seen_expired[class] && !m->expired[class];
        for (uint32_t r = 0; r < l->n; r++)
            fallen |= m->room[class][r] > load_seen_room(n, l, class)[r];
    }
    return fallen;
}

static bool is_granted(const struct loads *l, struct load_node *n, const struct load_limits *m,
                       const struct load_wish *w)
{
    if (!w->want)
        return has_fallen(l, n, m);
    return load_limits_allow(l, m, w->class, w->want) && !was_allowed(l, n, w);
}

void loads_notice(struct loads *l, struct load_node *n)
{
    uint32_t row = l->wishes.n && n->filled ? ks_row_of(l->env.nodes, n->name) : KS_NO_ROW;
    struct load_limits m;

    if (row == KS_NO_ROW || !l->env.scheduler)
        return;
    load_limits_of(l, l->env.nodes->node[row], loop_wall(l->env.loop), &m);
    for (size_t i = l->wishes.n; i-- > 0;) {
        const struct load_wish w = l->wishes.items[i];
        if (!is_granted(l, n, &m, &w))
            continue;
        vec_swap_remove(&l->wishes, i);
        free(w.want);
        ks_wake(&l->env, loads_service.name, w.key);
    }
}

/* ---- reports that expire --------------------------------------------------------------------- */

static void watch_expiry(struct loads *l);

static void on_expiry(struct loop *loop, void *arg)
{
    struct loads *l = arg;
    nsec_t now = loop_wall(loop);

    l->expiry = NULL;
    map_foreach(&l->nodes, e) {
        struct load_node *n = e->value;
        if (n->metric && load_expires(l, n) <= now)
            loads_notice(l, n);
    }
    watch_expiry(l);
}

/* For as long as somebody waits. */
static void watch_expiry(struct loads *l)
{
    nsec_t now = l->env.loop ? loop_wall(l->env.loop) : 0, next = INT64_MAX;

    if (!l->env.loop || l->expiry || !l->wishes.n || !l->args->schedule_expired.v ||
        !l->args->filter_expired.v)
        return;
    map_foreach(&l->nodes, e) {
        const struct load_node *n = e->value;
        nsec_t expires = n->metric ? load_expires(l, n) : 0;
        if (expires > now)
            next = MIN(next, expires);
    }
    if (next != INT64_MAX)
        l->expiry = loop_after(l->env.loop, MAX(next - now, LOOK_AFTER), on_expiry, l);
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static void drop_old(struct loads *l, nsec_t now)
{
    for (size_t i = l->wishes.n; i-- > 0;) {
        struct load_wish *w = &l->wishes.items[i];
        if (now - w->since < WISH_AGE_MAX)
            continue;
        free(w->want);
        vec_swap_remove(&l->wishes, i);
    }
}

static struct load_wish *find_wish(struct loads *l, uint64_t key)
{
    vec_foreach(&l->wishes, i)
        if (l->wishes.items[i].key == key)
            return &l->wishes.items[i];
    return NULL;
}

static uint64_t remember(struct loads *l, struct load_wish w)
{
    nsec_t now = l->env.loop ? loop_mono(l->env.loop) : 0;
    struct load_wish *known = find_wish(l, w.key);

    if (!known && l->wishes.n >= WISHES_MAX)
        drop_old(l, now);
    if (!known && l->wishes.n >= WISHES_MAX) {
        w = (struct load_wish){ .key = KEY_ANY };
        known = find_wish(l, w.key);
    }
    w.since = now;
    if (known) {
        known->since = now;
        return w.key;
    }
    if (w.want)
        w.want = xmemdup(w.want, l->n * sizeof *w.want);
    vec_push(&l->wishes, w);
    watch_expiry(l);
    return w.key;
}

uint64_t loads_wait(struct loads *l, const struct pod *p)
{
    int64_t want[LOADS_RESOURCES_MAX + 1];
    struct load_wish w = { .class = load_class_of(p), .want = want };

    arena_reset(l->scratch);
    load_estimate(l, p, l->scratch, want);
    want[l->n] = w.class;
    w.key = hash_bytes(want, (l->n + 1) * sizeof *want) | 2; /* neither none nor any */
    return remember(l, w);
}

void loads_forget_wishes(struct loads *l)
{
    l->expiry = timer_cancel(l->expiry);
    vec_foreach(&l->wishes, i)
        free(l->wishes.items[i].want);
    vec_fini(&l->wishes);
}
