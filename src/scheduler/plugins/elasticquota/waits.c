/* waits.c - pods that wait for room in a quota are tried when there is more of it, whatever the
 * reason: a pod went, a sibling asks for less, a node came, a quota changed (sched-quota 14, 'We
 * can do better'). What does not change the room, such as a status that is written, wakes nobody.
 */
#include "loop/loop.h"
#include "scheduler/plugins/elasticquota/control.h"
#include "scheduler/plugins/elasticquota/quotas.h"

#define PLUGIN "ElasticQuota"

enum { ROOM_OWN, ROOM_GUARANTEED, ROOM_ABOVE, ROOMS };

static int64_t room_of(struct quotas *s, struct quota *q, uint64_t column, bool guaranteed)
{
    struct admit_rules rules = { .runtime = s->runtime };
    uint64_t limited, keys;
    const int64_t *limit = guaranteed ? quota_values(s->forest, q, QUOTA_MIN, &limited)
                                      : admit_limit(s->forest, q, &rules, &limited);
    const int64_t *used =
        quota_values(s->forest, q, guaranteed ? QUOTA_NP_USED : QUOTA_USED, &keys);

    return limited >> column & 1 ? quota_at(limit, column) - quota_at(used, column) : INT64_MAX;
}

static int64_t room_above(struct quotas *s, struct quota *q, uint64_t column)
{
    int64_t room = INT64_MAX;

    for (q = quota_above(q); q && !quota_is_root(q); q = quota_above(q))
        room = MIN(room, room_of(s, q, column, false));
    return room;
}

/* Looks at the room again; true: there is more of some resource than there was. */
static bool wait_look(struct quotas *s, struct quota_wait *w, struct quota *q)
{
    bool more = false;

    for (uint32_t c = 0; c < w->width; c++) {
        int64_t now[ROOMS] = { room_of(s, q, c, false), room_of(s, q, c, true),
                               room_above(s, q, c) };
        for (uint32_t k = 0; k < ROOMS; k++) {
            more |= now[k] > w->room[c * ROOMS + k];
            w->room[c * ROOMS + k] = now[k];
        }
    }
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
    *w = (struct quota_wait){ .key = key, .quota = quota_id(q), .width = width };
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
