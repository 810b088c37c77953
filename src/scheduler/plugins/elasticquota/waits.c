/* waits.c - pods that wait for room in a quota are tried when there is more of it, whatever the
 * reason: a pod went, a sibling asks for less, a node came, a quota changed (sched-quota 14, 'We
 * can do better'). What does not change the room, such as a status that is written, wakes nobody.
 */
#include "loop/loop.h"
#include "scheduler/plugins/elasticquota/control.h"
#include "scheduler/plugins/elasticquota/quotas.h"

#define PLUGIN "ElasticQuota"

enum { ROOM_OWN, ROOM_GUARANTEED, ROOM_ABOVE, ROOMS };

struct room { /* a limit and what is used of it, by column */
    const int64_t *limit, *used;
    uint64_t limited; /* columns that have a limit */
};

static struct room room_of(struct quotas *s, struct quota *q, bool guaranteed)
{
    struct admit_rules rules = { .runtime = s->runtime };
    struct room r;
    uint64_t keys;

    r.limit = guaranteed ? quota_values(s->forest, q, QUOTA_MIN, &r.limited)
                         : admit_limit(s->forest, q, &rules, &r.limited);
    r.used = quota_values(s->forest, q, guaranteed ? QUOTA_NP_USED : QUOTA_USED, &keys);
    return r;
}

static int64_t room_at(const struct room *r, uint64_t column)
{
    return r->limited >> column & 1 ? quota_at(r->limit, column) - quota_at(r->used, column)
                                    : INT64_MAX;
}

/* true: there is more than there was, which is noted. */
static bool note_room(const struct room *r, struct quota_wait *w, uint32_t which)
{
    bool more = false;

    for (uint32_t c = 0; c < w->width; c++) {
        int64_t now = room_at(r, c), *was = &w->room[which * w->width + c];
        more |= now > *was;
        *was = now;
    }
    return more;
}

/* Of those above the one with the least room counts. */
static bool note_room_above(struct quotas *s, struct quota_wait *w, struct quota *q)
{
    int64_t least[QUOTA_COLUMNS_MAX];
    bool more = false;

    for (uint32_t c = 0; c < w->width; c++)
        least[c] = INT64_MAX;
    for (q = quota_above(q); q && !quota_is_root(q); q = quota_above(q)) {
        struct room r = room_of(s, q, false);
        for (uint32_t c = 0; c < w->width; c++)
            least[c] = MIN(least[c], room_at(&r, c));
    }
    for (uint32_t c = 0; c < w->width; c++) {
        int64_t *was = &w->room[ROOM_ABOVE * w->width + c];
        more |= least[c] > *was;
        *was = least[c];
    }
    return more;
}

/* Looks at the room again; true: there is more of some resource than there was. */
static bool wait_look(struct quotas *s, struct quota_wait *w, struct quota *q)
{
    uint64_t stamp = quota_stamp(s->forest, q);

    if (stamp == w->stamp && !s->check_parent)
        return false;
    w->stamp = stamp;
    struct room own = room_of(s, q, false), guaranteed = room_of(s, q, true);
    bool more = note_room(&own, w, ROOM_OWN);
    more |= note_room(&guaranteed, w, ROOM_GUARANTEED);
    if (s->check_parent)
        more |= note_room_above(s, w, q);
    return more;
}

static void wait_drop(struct quotas *s, size_t i)
{
    struct quota_wait *w = s->waits.items[i];

    map_remove(&s->waits_by_key, (const char *)&w->key, sizeof w->key);
    vec_swap_remove(&s->waits, i);
    free(w);
}

uint64_t quotas_wait(struct quotas *s, const struct pod *p)
{
    struct quota *q = quotas_of_pod(s, p);
    uint32_t width = forest_columns(s->forest)->n;

    if (!q)
        return 0;
    uint64_t key = hash_bytes(quota_name(q), strlen(quota_name(q))) | 1;
    if (!s->env.loop || map_get(&s->waits_by_key, (const char *)&key, sizeof key))
        return key;
    struct quota_wait *w = xcalloc(1, sizeof *w + (size_t)width * ROOMS * sizeof *w->room);
    *w = (struct quota_wait){
        .key = key, .quota = quota_id(q), .width = width, .stamp = UINT64_MAX
    };
    (void)wait_look(s, w, q);
    vec_push(&s->waits, w);
    map_put(&s->waits_by_key, (const char *)&w->key, sizeof w->key, w);
    return key;
}

static void on_check(struct loop *l, void *arg)
{
    struct quotas *s = arg;

    (void)l;
    s->check = NULL;
    for (size_t i = s->waits.n; i-- > 0;) {
        struct quota_wait *w = s->waits.items[i];
        struct quota *q = forest_at(s->forest, w->quota);
        uint64_t key = w->key;
        if (q && w->width == forest_columns(s->forest)->n && !wait_look(s, w, q))
            continue;
        wait_drop(s, i);
        ks_wake(&s->env, PLUGIN, key);
    }
}

void quotas_changed(struct quotas *s)
{
    control_touch(s->control);
    if (s->env.loop && s->waits.n && !s->check)
        s->check = loop_after(s->env.loop, 0, on_check, s);
}

/* Who is woken may ask for its key again at once: those are not woken a second time. */
void quotas_wake_all(struct quotas *s)
{
    struct vec_of(uint64_t) keys = { 0 };

    control_touch(s->control);
    while (s->waits.n) {
        vec_push(&keys, vec_last(&s->waits)->key);
        wait_drop(s, s->waits.n - 1);
    }
    vec_foreach(&keys, i)
        ks_wake(&s->env, PLUGIN, keys.items[i]);
    vec_fini(&keys);
}

void quotas_waits_fini(struct quotas *s)
{
    while (s->waits.n)
        wait_drop(s, s->waits.n - 1);
    vec_fini(&s->waits);
    map_fini(&s->waits_by_key);
    if (s->check)
        timer_cancel(s->check);
}
