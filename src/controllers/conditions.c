/* conditions.c - setting and writing conditions. */
#include "controllers/conditions.h"

#include "base/arena.h"
#include "json/kj.h"

const struct timed_condition *conditions_find(const timed_conditionlist *l, const char *type)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].type, type))
            return &l->items[i];
    return NULL;
}

bool conditions_is_true(const timed_conditionlist *l, const char *type)
{
    const struct timed_condition *c = conditions_find(l, type);
    return c && c->status == COND_TRUE;
}

static const char *copy(struct arena *a, const char *s)
{
    return arena_strdup(a, str_or(s, ""));
}

void conditions_renew(timed_conditionlist *l, const struct timed_condition *c, nsec_t now,
                      struct arena *a)
{
    const struct timed_condition *old = conditions_find(l, c->type);
    timed_conditionlist out = { arena_newn0(a, l->n + 1, struct timed_condition), l->n };
    struct timed_condition *slot = old ? &out.items[old - l->items] : &out.items[out.n++];
    nsec_t since = old && old->status == c->status ? old->last_transition_time : now;

    if (l->n)
        memcpy(out.items, l->items, l->n * sizeof *l->items);
    *slot = *c;
    slot->type = copy(a, c->type);
    slot->reason = copy(a, c->reason);
    slot->message = copy(a, c->message);
    slot->last_transition_time = since;
    *l = out;
}

bool conditions_set(timed_conditionlist *l, const struct timed_condition *c, nsec_t now,
                    struct arena *a)
{
    const struct timed_condition *old = conditions_find(l, c->type);

    if (old && old->status == c->status && streq(old->reason, str_or(c->reason, "")) &&
        streq(old->message, str_or(c->message, "")))
        return false;
    conditions_renew(l, c, now, a);
    return true;
}

void conditions_remove(timed_conditionlist *l, const char *type, struct arena *a)
{
    timed_conditionlist out = { arena_newn0(a, l->n + 1, struct timed_condition), 0 };

    for (uint32_t i = 0; i < l->n; i++)
        if (!streq(l->items[i].type, type))
            out.items[out.n++] = l->items[i];
    *l = out;
}

void condition_begin(struct kjw *w, const struct condition *c, const conditionlist *had, nsec_t now)
{
    const struct condition *old = had ? condition_find(had, c->type) : NULL;
    bool stays = old && old->status == c->status && old->last_transition_time;

    kjw_obj(w, NULL);
    kjw_str(w, "type", c->type);
    kjw_str(w, "status", cond_status_names[c->status]);
    if (!str_empty(c->reason))
        kjw_str(w, "reason", c->reason);
    if (!str_empty(c->message))
        kjw_str(w, "message", c->message);
    kjw_time(w, "lastTransitionTime", stays ? old->last_transition_time : now);
}
