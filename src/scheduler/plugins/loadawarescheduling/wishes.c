/* wishes.c - pods that wait for load to fall.
 *
 * Pods with equal estimates wait under one key, and it is woken when a node that had no room for
 * them when attempts last looked has it now: not at each report of each node. A key that was woken
 * is forgotten; pods that are rejected again come back with it.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

/* So many different estimates; those beyond share a key that any fall of load wakes. */
enum { WISHES_MAX = 256 };
#define KEY_ANY UINT64_C(1)

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

static uint64_t remember(struct loads *l, struct load_wish w)
{
    vec_foreach(&l->wishes, i)
        if (l->wishes.items[i].key == w.key)
            return w.key;
    if (w.want)
        w.want = xmemdup(w.want, l->n * sizeof *w.want);
    vec_push(&l->wishes, w);
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
    if (l->wishes.n >= WISHES_MAX)
        w = (struct load_wish){ .key = KEY_ANY };
    return remember(l, w);
}

void loads_forget_wishes(struct loads *l)
{
    vec_foreach(&l->wishes, i)
        free(l->wishes.items[i].want);
    vec_fini(&l->wishes);
}
