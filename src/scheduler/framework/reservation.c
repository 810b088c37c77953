/* reservation.c - plugins take part in reservations: they are asked by the one that has them. */
#include "scheduler/framework/reservation.h"

#include "scheduler/framework/attempt.h"

/* The attempt of a cycle that a plugin was given. */
static struct attempt *attempt_of(const struct ks_cycle *c)
{
    return (struct attempt *)container_of(c, const struct attempt, cycle);
}

bool ks_reservation_hooked(const struct ks_cycle *c)
{
    return attempt_of(c)->profile->hooked != 0;
}

/* One plugin after the other, each with its own state; then the asking one has its own again. */
struct round {
    struct attempt *a;
    void *state;
    const struct ks_rows *rows;
    uint32_t slot;
};

static struct round begin(const struct ks_cycle *c)
{
    return (struct round){ attempt_of(c), c->state, c->rows, 0 };
}

static const struct profile_slot *next(struct round *r)
{
    struct attempt *a = r->a;

    while (r->slot < a->profile->n && !(a->profile->hooked >> r->slot & 1))
        r->slot++;
    if (r->slot == a->profile->n)
        return NULL;
    uint32_t slot = r->slot++;
    attempt_enter(a, slot, a->state ? a->state[slot] : NULL);
    return &a->profile->slots[slot];
}

static void end(struct round *r)
{
    r->a->cycle.state = r->state;
    r->a->cycle.rows = r->rows;
}

void ks_reservation_restore(const struct ks_cycle *c, const struct ks_pod *p, struct ks_overlay *o,
                            const struct ks_restored *restored)
{
    const struct profile_slot *s;
    struct round r = begin(c);

    while ((s = next(&r)))
        if (s->plugin->reservations->restore)
            s->plugin->reservations->restore(s->self, c, p, o, restored);
    end(&r);
}

void ks_reservation_restore_pods(const struct ks_cycle *c, const struct ks_pod *p,
                                 struct ks_overlay *o, uint32_t row, const struct pod *const *pods,
                                 uint32_t n)
{
    const struct profile_slot *s;
    struct round r = begin(c);

    while ((s = next(&r)))
        if (s->plugin->reservations->restore_pre_allocation)
            s->plugin->reservations->restore_pre_allocation(s->self, c, p, o, row, pods, n);
    end(&r);
}

enum ks_code ks_reservation_filter(const struct ks_cycle *c, const struct ks_pod *p,
                                   const struct ks_reservation *of, uint32_t row,
                                   struct ks_texts *why)
{
    const struct profile_slot *s;
    enum ks_code code = KS_SUCCESS;

    if (!ks_reservation_hooked(c))
        return KS_SUCCESS;
    struct round r = begin(c);
    while (code == KS_SUCCESS && (s = next(&r)))
        if (s->plugin->reservations->filter_reservation)
            code = s->plugin->reservations->filter_reservation(s->self, c, p, of, row, why);
    end(&r);
    return code;
}

enum ks_code ks_reservation_filter_nominated(const struct ks_cycle *c, const struct ks_pod *p,
                                             const struct ks_reservation *of, uint32_t row)
{
    struct ks_texts unread = { .arena = c->arena };
    const struct profile_slot *s;
    enum ks_code code = KS_SUCCESS;

    if (!ks_reservation_hooked(c))
        return KS_SUCCESS;
    struct round r = begin(c);
    while (code == KS_SUCCESS && (s = next(&r)))
        if (s->plugin->reservations->filter_nominated)
            code = s->plugin->reservations->filter_nominated(s->self, c, p, of, row, &unread);
    end(&r);
    return code;
}

enum ks_code ks_reservation_filter_pre_allocated(const struct ks_cycle *c, const struct ks_pod *p,
                                                 const struct pod *other, uint32_t row)
{
    struct ks_texts unread = { .arena = c->arena };
    const struct profile_slot *s;
    enum ks_code code = KS_SUCCESS;

    if (!ks_reservation_hooked(c))
        return KS_SUCCESS;
    struct round r = begin(c);
    while (code == KS_SUCCESS && (s = next(&r)))
        if (s->plugin->reservations->filter_pre_allocated)
            code =
                s->plugin->reservations->filter_pre_allocated(s->self, c, p, other, row, &unread);
    end(&r);
    return code;
}

int64_t ks_reservation_score(const struct ks_cycle *c, const struct ks_pod *p,
                             const struct ks_reservation *of, uint32_t row)
{
    const struct profile_slot *s;
    int64_t sum = 0;

    if (!ks_reservation_hooked(c))
        return 0;
    struct round r = begin(c);
    while ((s = next(&r)))
        if (s->plugin->reservations->score_reservation) {
            int64_t score = s->plugin->reservations->score_reservation(s->self, c, p, of, row);
            sum += MIN(MAX(score, 0), KS_SCORE_MAX);
        }
    end(&r);
    return sum;
}

/* Of the plugin that has them; *ret NULL: the pod has nothing to do with it. */
static const struct profile_slot *provider(const struct ks_cycle *c, void **ret)
{
    const struct attempt *a = attempt_of(c);
    int slot = a->profile->nominates;

    *ret = slot >= 0 && a->state ? a->state[slot] : NULL;
    return *ret ? &a->profile->slots[slot] : NULL;
}

const struct ks_reservation *ks_nominated(const struct ks_cycle *c, uint32_t row)
{
    void *state;
    const struct profile_slot *s = provider(c, &state);

    return s ? s->plugin->nominated(s->self, state, row) : NULL;
}

const struct ks_reservation *ks_usable(const struct ks_cycle *c, uint32_t row, uint32_t i)
{
    void *state;
    const struct profile_slot *s = provider(c, &state);

    return s ? s->plugin->usable(s->self, state, row, i) : NULL;
}

const struct pod *ks_pre_allocated(const struct ks_cycle *c, uint32_t row, uint32_t i)
{
    void *state;
    const struct profile_slot *s = provider(c, &state);

    return s && s->plugin->pre_allocated ? s->plugin->pre_allocated(s->self, state, row, i) : NULL;
}
