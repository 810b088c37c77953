/* search.c - the first choice of devices that satisfies all claims, depth first.
 *
 * Upstream tries every device for every slot, in every order. The first choice that it would find
 * is found here with less: after a device that came to nothing those are passed over that nobody
 * in this search can tell from it (they are of one kind), and what came to nothing once with so
 * many devices of each kind is not tried again with others of these kinds.
 */
#include "base/arena.h"
#include "scheduler/plugins/dynamicresources/allocate.h"
#include "scheduler/plugins/dynamicresources/capacity.h"
#include "scheduler/plugins/dynamicresources/counters.h"

enum { LOOK_AT_CLOCK = 1024 }; /* steps between two looks: devices that are tried, and slots */

struct rule_state {
    uint32_t n;              /* devices that count */
    struct attr_value value; /* that all have */
    struct attr_value *last; /* distinct: [want], of its last device; absent: none */
};
struct place { /* of a device in the view */
    uint32_t word, bit;
};
struct search {
    const struct plan *p;
    const struct node_devices *n;
    const struct patience *patience;
    struct arena *arena;
    uint64_t *chosen;          /* [word], by any claim; shared devices are not */
    uint64_t *own;             /* [claim][word] */
    uint32_t *in_claim;        /* [claim]: devices so far */
    uint32_t *counts;          /* [ask], where there are asks for all devices */
    struct rule_state **rules; /* [claim][rule] */
    struct qty **left;         /* [word]: of its pool's counters; NULL: no pool has any */
    struct pick *picks;
    uint32_t npicks;
    uint32_t *kinds; /* [word * 64 + bit]: equal ones cannot be told apart */
    uint32_t nkinds;
    uint64_t *failed; /* [pick][kind], bits: tried there in vain */
    uint32_t kind_words;
    bool remembers; /* the order of devices is nothing to any rule */
    uint64_t sum;   /* over the picks, of their kinds and asks */
    uint64_t *dead; /* hash set: where nothing can come of it; 0: a free slot */
    uint32_t ndead, dead_mask;
    struct qty **amounts; /* [pick]: of the device that is tried for it */
    uint32_t *amounts_max;
    bool *evaluated; /* [ask]: its selectors, on all devices */
    uint64_t steps, next_look;
    bool over; /* the patience is */
    const char *why;
};
struct slot { /* where the search stands */
    uint32_t claim, want;
    const struct ask *ask;
};

static enum found place_want(struct search *s, uint32_t claim, uint32_t want);

/* ---- time ------------------------------------------------------------------------------------ */

static bool look_at_clock(struct search *s)
{
    s->over = s->over || patience_is_over(s->patience);
    s->next_look = s->steps + LOOK_AT_CLOCK;
    return s->over;
}

static bool is_over(struct search *s)
{
    return ++s->steps >= s->next_look ? look_at_clock(s) : s->over;
}

static bool evaluate_on(const struct node_devices *n, const struct ask *k,
                        const struct patience *patience)
{
    for (uint32_t w = 0; w < n->nwords; w++)
        if (!match_until(n->words[w].pool, k->selection, patience))
            return false;
    return true;
}

bool plan_evaluate(const struct plan *p, const struct node_devices *n,
                   const struct patience *patience)
{
    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t i = 0; i < p->claims[c].nwants; i++)
            for (uint32_t k = 0; k < p->claims[c].wants[i].n; k++)
                if (!evaluate_on(n, &p->claims[c].wants[i].asks[k], patience))
                    return false;
    return true;
}

/* What its selectors say must be known before devices are looked at for it. */
static bool is_evaluated(struct search *s, const struct ask *k)
{
    if (s->evaluated[k->number])
        return true;
    s->evaluated[k->number] = evaluate_on(s->n, k, s->patience);
    s->over = s->over || !s->evaluated[k->number];
    return !s->over;
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct pool_device *device_at(const struct search *s, struct place at)
{
    const struct view_word *w = &s->n->words[at.word];
    return pool_device(w->pool, w->word, at.bit);
}

/* Devices of a word that the slot may have, and those whose selectors fail. */
static uint64_t candidates(const struct search *s, const struct slot *at, uint32_t word,
                           uint64_t *ret_failed)
{
    const struct view_word *w = &s->n->words[word];
    const struct match *m = match_of(w->pool, at->ask->selection);
    uint64_t free = at->ask->admin ? ~s->own[at->claim * s->n->nwords + word]
                                   : ~(view_taken(w) | s->chosen[word]);

    free &= w->visible;
    *ret_failed = m->failed[w->word] & free;
    return (m->accepted[w->word] | m->failed[w->word]) & free;
}

static const char *failure_at(const struct search *s, const struct slot *at, struct place where)
{
    const struct view_word *w = &s->n->words[where.word];
    const struct match *m = match_of(w->pool, at->ask->selection);
    const char *text = m->failures[w->word * 64 + where.bit];

    if (str_starts(text, "class "))
        return text;
    return arena_printf(s->arena, "claim %s: %s", s->p->claims[at->claim].key, text);
}

/* ---- what cannot be told apart --------------------------------------------------------------- */

static struct attr_value value_at(const struct search *s, const struct rule *r, struct place at)
{
    const struct view_word *w = &s->n->words[at.word];
    return attr_column_of(w->pool, r->number, r->serial, r->attribute)
        ->values[w->word * 64 + at.bit];
}

static bool has_own_state(const struct search *s, const struct pool_device *d)
{
    return d->nuses || d->taints.n || (s->p->in->gates.consumable && d->d->capacity.n) ||
           device_is_shared(&s->p->in->gates, d->d);
}

static bool same_for_ask(const struct search *s, const struct ask *k, struct place a,
                         struct place b)
{
    const struct view_word *wa = &s->n->words[a.word], *wb = &s->n->words[b.word];
    const struct match *ma = match_of(wa->pool, k->selection),
                       *mb = match_of(wb->pool, k->selection);

    return (ma->accepted[wa->word] >> a.bit & 1) == (mb->accepted[wb->word] >> b.bit & 1) &&
           !(ma->failed[wa->word] >> a.bit & 1) && !(mb->failed[wb->word] >> b.bit & 1) &&
           /* taken ones may be had with administrator's access */
           (view_taken(wa) >> a.bit & 1) == (view_taken(wb) >> b.bit & 1);
}

static bool is_same(const struct search *s, struct place a, struct place b)
{
    if (has_own_state(s, device_at(s, a)) || has_own_state(s, device_at(s, b)))
        return false;
    for (uint32_t c = 0; c < s->p->n; c++) {
        const struct claim_plan *cp = &s->p->claims[c];
        for (uint32_t i = 0; i < cp->nwants; i++)
            for (uint32_t k = 0; k < cp->wants[i].n; k++)
                if (!same_for_ask(s, &cp->wants[i].asks[k], a, b))
                    return false;
        for (uint32_t r = 0; r < cp->nrules; r++)
            if (!attr_value_equal(value_at(s, &cp->rules[r], a), value_at(s, &cp->rules[r], b)))
                return false;
    }
    return true;
}

/* ---- what came to nothing before ------------------------------------------------------------- */

enum { DEAD_MAX = 1 << 20 };

/* Two states are taken to be equal when these 64 bits are. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Sums of these do not depend on the order. */
static uint64_t weight_of(const struct search *s, const struct ask *k, uint32_t place)
{
    return mix((uint64_t)s->kinds[place] << 32 | (k->number + 1));
}

static uint64_t state_of(const struct search *s, const struct slot *at, uint32_t k)
{
    uint64_t h = mix(s->sum + mix((uint64_t)at->ask->number << 32 | k));
    return h ? h : 1;
}

static uint64_t *find_dead(uint64_t *table, uint32_t mask, uint64_t state)
{
    uint32_t i = (uint32_t)state & mask;

    while (table[i] && table[i] != state)
        i = (i + 1) & mask;
    return &table[i];
}

static bool is_dead(const struct search *s, uint64_t state)
{
    return s->dead && *find_dead(s->dead, s->dead_mask, state) == state;
}

static void bury(struct search *s, uint64_t state)
{
    if (s->ndead * 2 >= s->dead_mask && s->ndead < DEAD_MAX) {
        uint32_t mask = s->dead ? s->dead_mask * 2 + 1 : 255;
        uint64_t *table = arena_newn0(s->arena, (size_t)mask + 1, uint64_t);
        for (uint32_t i = 0; s->dead && i <= s->dead_mask; i++)
            if (s->dead[i])
                *find_dead(table, mask, s->dead[i]) = s->dead[i];
        s->dead = table;
        s->dead_mask = mask;
    }
    if (s->ndead >= DEAD_MAX)
        return;
    s->ndead++;
    *find_dead(s->dead, s->dead_mask, state) = state;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

struct kinds {             /* while they are looked for */
    struct place *first;   /* [kind]: a device of it */
    uint32_t *table, mask; /* hash table of kinds, by what tells them apart; 0: a free slot */
};

static uint64_t hash_value(struct attr_value v)
{
    if (v.type < ATTR_STRING)
        return mix((uint64_t)v.i + (uint64_t)v.type);
    return hash_bytes(v.s, strlen(v.s)) + v.type;
}

/* Equal for devices that are the same. */
static uint64_t hash_device(const struct search *s, struct place at)
{
    const struct view_word *w = &s->n->words[at.word];
    uint64_t h = view_taken(w) >> at.bit & 1;

    for (uint32_t c = 0; c < s->p->n; c++) {
        const struct claim_plan *cp = &s->p->claims[c];
        for (uint32_t i = 0; i < cp->nwants; i++)
            for (uint32_t k = 0; k < cp->wants[i].n; k++) {
                const struct match *m = match_of(w->pool, cp->wants[i].asks[k].selection);
                h = mix(h * 2 + (m->accepted[w->word] >> at.bit & 1));
            }
        for (uint32_t r = 0; r < cp->nrules; r++)
            h = mix(h + hash_value(value_at(s, &cp->rules[r], at)));
    }
    return h;
}

static uint32_t kind_of(struct search *s, struct kinds *k, struct place at)
{
    uint32_t i = (uint32_t)hash_device(s, at) & k->mask;

    if (!is_same(s, at, at)) { /* of its own kind */
        k->first[s->nkinds] = at;
        return s->nkinds++;
    }
    while (k->table[i] && !is_same(s, k->first[k->table[i] - 1], at))
        i = (i + 1) & k->mask;
    if (!k->table[i]) {
        k->first[s->nkinds] = at;
        k->table[i] = ++s->nkinds;
    }
    return k->table[i] - 1;
}

/* When something has come to nothing for the first time: which devices are alike? False: there was
 * no time to find out. */
static bool find_kinds(struct search *s, uint32_t npicks_max)
{
    uint32_t n = s->n->nwords * 64;
    struct kinds k = { .first = arena_newn0(s->arena, n, struct place), .mask = 255 };
    uint32_t *kinds = arena_newn0(s->arena, n, uint32_t);

    if (!plan_evaluate(s->p, s->n, s->patience)) {
        s->over = true;
        return false;
    }
    while (k.mask < n * 2)
        k.mask = k.mask * 2 + 1;
    k.table = arena_newn0(s->arena, (size_t)k.mask + 1, uint32_t);
    for (uint32_t w = 0; w < s->n->nwords && !look_at_clock(s); w++)
        for (uint64_t bits = s->n->words[w].visible; bits; bits &= bits - 1) {
            struct place at = { w, (uint32_t)__builtin_ctzll(bits) };
            kinds[w * 64 + at.bit] = kind_of(s, &k, at);
        }
    if (s->over)
        return false;
    s->kinds = kinds;
    s->kind_words = s->nkinds / 64 + 1;
    s->failed = arena_newn0(s->arena, (size_t)npicks_max * s->kind_words, uint64_t);
    for (uint32_t i = 0; i < s->npicks; i++)
        s->sum += weight_of(s, s->picks[i].ask, s->picks[i].place);
    return true;
}

/* ---- constraints ----------------------------------------------------------------------------- */

static bool rule_allows(const struct rule *r, const struct rule_state *st, const struct slot *at,
                        struct attr_value v, uint32_t nwants)
{
    (void)at;
    if (v.type == ATTR_ABSENT)
        return false;
    if (!r->distinct)
        return st->n == 0 || attr_value_equal(v, st->value);
    for (uint32_t i = 0; i < nwants; i++)
        if (st->last[i].type != ATTR_ABSENT && attr_value_equal(v, st->last[i]))
            return false;
    return true;
}

static bool rules_allow(const struct search *s, const struct slot *at, struct place where)
{
    const struct claim_plan *c = &s->p->claims[at->claim];

    for (uint32_t i = 0; i < c->nrules; i++)
        if (at->ask->rules >> i & 1 && !rule_allows(&c->rules[i], &s->rules[at->claim][i], at,
                                                    value_at(s, &c->rules[i], where), c->nwants))
            return false;
    return true;
}

static void rules_count(struct search *s, const struct slot *at, struct place where)
{
    const struct claim_plan *c = &s->p->claims[at->claim];

    for (uint32_t i = 0; i < c->nrules; i++) {
        struct rule_state *st = &s->rules[at->claim][i];
        if (!(at->ask->rules >> i & 1))
            continue;
        struct attr_value v = value_at(s, &c->rules[i], where);
        if (c->rules[i].distinct)
            st->last[at->want] = v; /* only the last, as upstream */
        else if (st->n == 0)
            st->value = v;
        st->n++;
    }
}

static void rules_uncount(struct search *s, const struct slot *at)
{
    const struct claim_plan *c = &s->p->claims[at->claim];

    for (uint32_t i = 0; i < c->nrules; i++) {
        struct rule_state *st = &s->rules[at->claim][i];
        if (!(at->ask->rules >> i & 1))
            continue;
        if (c->rules[i].distinct)
            st->last[at->want].type = ATTR_ABSENT; /* as upstream: it forgets the one before too */
        st->n--;
    }
}

/* ---- one device ------------------------------------------------------------------------------ */

static bool taint_matches(const struct device_taint *t, const struct device_toleration *by)
{
    if (by->effect != DEVICE_TAINT_UNKNOWN && by->effect != t->effect)
        return false;
    if (*by->key && !streq(by->key, t->key))
        return false;
    return by->op == DEVICE_TOL_EXISTS || streq(by->value, t->value);
}

static bool is_tolerated(const struct device_taint *t, const device_tolerationlist *by)
{
    for (uint32_t i = 0; i < by->n; i++)
        if (taint_matches(t, &by->items[i]))
            return true;
    return false;
}

bool device_is_tainted(const struct pool_device *d, const struct device_ask *ask)
{
    for (uint32_t i = 0; i < d->taints.n; i++)
        if (d->taints.items[i].effect >= DEVICE_TAINT_NO_SCHEDULE &&
            !is_tolerated(&d->taints.items[i], &ask->tolerations))
            return true;
    return false;
}

/* Room for the amounts of a device that is tried for the next pick. */
static struct qty *amounts_at(struct search *s, uint32_t n)
{
    uint32_t i = s->npicks;

    if (s->amounts_max[i] < n) {
        s->amounts[i] = arena_newn0(s->arena, n, struct qty);
        s->amounts_max[i] = n;
    }
    return s->amounts[i];
}

/* Its own state lets the device be had: taints, parts, counters. The last are taken. */
static bool device_take(struct search *s, const struct slot *at, struct place where,
                        const struct qty **ret_consumed)
{
    const struct pool_device *d = device_at(s, where);

    *ret_consumed = NULL;
    if (device_is_tainted(d, at->ask->in))
        return false;
    bool shared = device_is_shared(&s->p->in->gates, d->d); /* also one without capacity */
    if (shared ||
        (s->p->in->gates.consumable && (d->d->capacity.n || at->ask->in->capacity.requests.n))) {
        struct qty *consumed = amounts_at(s, d->d->capacity.n + 1);
        if (!capacity_consumed(d->d, at->ask->in, consumed))
            return false;
        if (shared) {
            *ret_consumed = consumed;
            if (!at->ask->admin && !capacity_suffices(d, consumed, s->picks, s->npicks))
                return false;
        }
    }
    return !s->left || at->ask->admin || counters_take(s->left[where.word], d);
}

static bool is_shared(const struct search *s, struct place at)
{
    return device_is_shared(&s->p->in->gates, device_at(s, at)->d);
}

static void choose(struct search *s, const struct slot *at, struct place where,
                   const struct qty *consumed)
{
    const struct view_word *w = &s->n->words[where.word];
    uint64_t bit = UINT64_C(1) << where.bit;

    rules_count(s, at, where);
    if (!is_shared(s, where)) {
        s->chosen[where.word] |= bit;
        s->own[at->claim * s->n->nwords + where.word] |= bit;
    }
    s->in_claim[at->claim]++;
    s->picks[s->npicks++] = (struct pick){ .pool = w->pool,
                                           .device = w->word * 64 + where.bit,
                                           .claim = at->claim,
                                           .want = at->want,
                                           .ask = at->ask,
                                           .place = where.word * 64 + where.bit,
                                           .consumed = consumed };
    if (s->kinds)
        s->sum += weight_of(s, at->ask, where.word * 64 + where.bit);
}

static bool is_chosen_elsewhere(const struct search *s, struct place where)
{
    for (uint32_t c = 0; c < s->p->n; c++)
        if (s->own[c * s->n->nwords + where.word] >> where.bit & 1)
            return true;
    return false;
}

static void unchoose(struct search *s, const struct slot *at, struct place where)
{
    uint64_t bit = UINT64_C(1) << where.bit;

    s->npicks--;
    if (s->kinds)
        s->sum -= weight_of(s, at->ask, where.word * 64 + where.bit);
    s->in_claim[at->claim]--;
    s->own[at->claim * s->n->nwords + where.word] &= ~bit;
    if (!is_chosen_elsewhere(s, where))
        s->chosen[where.word] &= ~bit;
    if (s->left && !at->ask->admin)
        counters_give(s->left[where.word], device_at(s, where));
    rules_uncount(s, at);
}

/* ---- the search ------------------------------------------------------------------------------ */

static uint32_t picks_max(const struct search *s)
{
    return s->p->n * CLAIM_DEVICES_MAX;
}

static bool failed_before(struct search *s, struct place at)
{
    uint32_t kind = s->kinds ? s->kinds[at.word * 64 + at.bit] : 0;
    return s->kinds && s->failed[s->npicks * s->kind_words + kind / 64] >> (kind % 64) & 1;
}

static void note_failure(struct search *s, struct place at)
{
    if (!s->kinds && !find_kinds(s, picks_max(s)))
        return; /* the time is over */
    uint32_t kind = s->kinds[at.word * 64 + at.bit];
    s->failed[s->npicks * s->kind_words + kind / 64] |= UINT64_C(1) << (kind % 64);
}

/* Device number k of the slot's ask, from this place on. */
static enum found place_device(struct search *s, const struct slot *at, uint32_t k,
                               struct place from);

/* This device for the slot, and all that comes after it. */
static enum found try_device(struct search *s, const struct slot *at, uint32_t k,
                             struct place where)
{
    const struct qty *consumed;

    s->steps++;
    if (!device_take(s, at, where, &consumed))
        return FOUND_NONE;
    if (!rules_allow(s, at, where)) {
        if (s->left && !at->ask->admin)
            counters_give(s->left[where.word], device_at(s, where));
        if (!at->ask->all)
            return FOUND_NONE;
        const struct pool_device *d = device_at(s, where);
        s->why = arena_printf(s->arena,
                              "claim %s, request %s: cannot add device %s/%s because a claim "
                              "constraint would not be satisfied",
                              s->p->claims[at->claim].key,
                              strrchr(at->ask->request, '/') ? strrchr(at->ask->request, '/') + 1
                                                             : at->ask->request,
                              s->n->words[where.word].pool->key, d->d->name);
        return FOUND_ERROR;
    }
    choose(s, at, where, consumed);
    struct place next = { where.word, where.bit + 1 }; /* of All */
    enum found f = place_device(s, at, k + 1, next);
    if (f == FOUND_NONE)
        unchoose(s, at, where);
    return f;
}

static uint64_t from_bit(uint64_t bits, struct place from, uint32_t word)
{
    if (word != from.word)
        return bits;
    return from.bit >= 64 ? 0 : bits & ~UINT64_C(0) << from.bit;
}

static uint32_t count_of(const struct search *s, const struct ask *k)
{
    return k->all ? s->counts[k->number] : k->count;
}

/* All devices that are accepted: the next of them must be had. */
static enum found place_next_of_all(struct search *s, const struct slot *at, uint32_t k,
                                    struct place from)
{
    for (uint32_t w = from.word; w < s->n->nwords; w++) {
        const struct view_word *v = &s->n->words[w];
        const struct match *m = match_of(v->pool, at->ask->selection);
        uint64_t bits = from_bit(m->accepted[v->word] & v->visible, from, w), failed;
        if (!bits)
            continue;
        struct place where = { w, (uint32_t)__builtin_ctzll(bits) };
        if (!(candidates(s, at, w, &failed) >> where.bit & 1))
            return FOUND_NONE; /* somebody has it */
        return try_device(s, at, k, where);
    }
    return FOUND_NONE;
}

/* The first device for which all that comes after it fits too. */
static enum found place_any(struct search *s, const struct slot *at, uint32_t k)
{
    if (s->kinds)
        memset(&s->failed[s->npicks * s->kind_words], 0, s->kind_words * sizeof(uint64_t));
    for (uint32_t w = 0; w < s->n->nwords; w++) {
        uint64_t failed, bits = candidates(s, at, w, &failed);
        for (; bits; bits &= bits - 1) {
            struct place where = { w, (uint32_t)__builtin_ctzll(bits) };
            if (failed >> where.bit & 1) {
                s->why = failure_at(s, at, where);
                return FOUND_ERROR;
            }
            if (failed_before(s, where))
                continue;
            enum found f = try_device(s, at, k, where);
            if (f != FOUND_NONE)
                return f;
            note_failure(s, where);
            if (s->over)
                return FOUND_TIMEOUT;
        }
    }
    return FOUND_NONE;
}

static enum found place_device(struct search *s, const struct slot *at, uint32_t k,
                               struct place from)
{
    if (k == count_of(s, at->ask))
        return place_want(s, at->claim, at->want + 1);
    if (is_over(s))
        return FOUND_TIMEOUT;
    if (at->ask->all)
        return place_next_of_all(s, at, k, from);
    if (s->kinds && s->remembers && is_dead(s, state_of(s, at, k)))
        return FOUND_NONE;
    enum found f = place_any(s, at, k);
    if (f == FOUND_NONE && s->kinds && s->remembers)
        bury(s, state_of(s, at, k));
    return f;
}

static enum found place_want(struct search *s, uint32_t claim, uint32_t want)
{
    if (claim == s->p->n)
        return FOUND;
    const struct claim_plan *c = &s->p->claims[claim];
    if (want == c->nwants)
        return place_want(s, claim + 1, 0);
    for (uint32_t i = 0; i < c->wants[want].n; i++) {
        const struct ask *k = &c->wants[want].asks[i];
        const struct slot at = { claim, want, k };
        if (s->in_claim[claim] + (uint64_t)count_of(s, k) > CLAIM_DEVICES_MAX ||
            (k->all && count_of(s, k) == 0))
            continue;
        if (!is_evaluated(s, k))
            return FOUND_TIMEOUT;
        enum found f = place_device(s, &at, 0, (struct place){ 0 });
        if (f != FOUND_NONE)
            return f;
    }
    return FOUND_NONE;
}

/* ---- before it begins ------------------------------------------------------------------------ */

/* How many devices are there for an ask for all of them? */
static enum found count_all(struct search *s, uint32_t claim, const struct ask *k, const char *name)
{
    const char *key = s->p->claims[claim].key;
    const struct slot at = { .claim = claim, .ask = k };

    for (uint32_t i = 0; i < s->n->npools; i++) {
        const struct pool *p = s->n->pools[i].pool;
        const char *state = !p->complete             ? "being updated"
                            : s->n->pools[i].invalid ? "invalid"
                                                     : NULL;
        if (!state)
            continue;
        s->why = arena_printf(s->arena,
                              "claim %s, request %s: asks for all devices, but resource pool %s is "
                              "currently %s",
                              key, name, p->key, state);
        return FOUND_ERROR;
    }
    if (!is_evaluated(s, k))
        return FOUND_TIMEOUT;
    for (uint32_t w = 0; w < s->n->nwords; w++) {
        const struct view_word *v = &s->n->words[w];
        const struct match *m = match_of(v->pool, k->selection);
        uint64_t failed = m->failed[v->word] & v->visible;
        if (failed) {
            s->why = failure_at(s, &at, (struct place){ w, (uint32_t)__builtin_ctzll(failed) });
            return FOUND_ERROR;
        }
        s->counts[k->number] += (uint32_t)__builtin_popcountll(m->accepted[v->word] & v->visible);
    }
    return FOUND;
}

static enum found count_claim(struct search *s, uint32_t claim)
{
    const struct claim_plan *c = &s->p->claims[claim];
    uint64_t devices = 0;

    for (uint32_t i = 0; i < c->nwants; i++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t k = 0; k < c->wants[i].n; k++) {
            const struct ask *ask = &c->wants[i].asks[k];
            const char *name = *ask->in->name ? ask->in->name : c->wants[i].in->name;
            enum found f = ask->all ? count_all(s, claim, ask, name) : FOUND;
            if (f != FOUND)
                return f;
            least = MIN(least, count_of(s, ask));
        }
        devices += least;
    }
    if (devices <= CLAIM_DEVICES_MAX)
        return FOUND;
    s->why = arena_printf(s->arena,
                          "claim %s: number of requested devices %ju exceeds the claim limit of %d",
                          c->key, (uintmax_t)devices, CLAIM_DEVICES_MAX);
    return FOUND_ERROR;
}

static void prepare_counters(struct search *s)
{
    for (uint32_t i = 0; i < s->n->nwords; i++) {
        if (s->n->words[i].pool->ncounters == 0)
            continue;
        if (!s->left)
            s->left = arena_newn0(s->arena, s->n->nwords, struct qty *);
        bool more = i && s->n->words[i - 1].pool == s->n->words[i].pool; /* those of a pool are
                                                                            neighbours */
        s->left[i] = more ? s->left[i - 1] : counters_left(s->n->words[i].pool, s->arena);
    }
}

static void prepare(struct search *s)
{
    const struct plan *p = s->p;

    s->chosen = arena_newn0(s->arena, s->n->nwords, uint64_t);
    s->own = arena_newn0(s->arena, (size_t)p->n * s->n->nwords, uint64_t);
    s->in_claim = arena_newn0(s->arena, p->n, uint32_t);
    s->picks = arena_newn0(s->arena, picks_max(s), struct pick);
    s->evaluated = arena_newn0(s->arena, p->nasks, bool);
    if (p->in->gates.consumable) {
        s->amounts = arena_newn0(s->arena, picks_max(s) + 1, struct qty *);
        s->amounts_max = arena_newn0(s->arena, picks_max(s) + 1, uint32_t);
    }
    s->rules = arena_newn0(s->arena, p->n, struct rule_state *);
    for (uint32_t c = 0; c < p->n; c++) {
        const struct claim_plan *cp = &p->claims[c];
        s->rules[c] = arena_newn0(s->arena, cp->nrules, struct rule_state);
        for (uint32_t r = 0; r < cp->nrules; r++)
            if (cp->rules[r].distinct)
                s->rules[c][r].last = arena_newn0(s->arena, cp->nwants, struct attr_value);
    }
    s->remembers = true;
    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t r = 0; r < p->claims[c].nrules; r++)
            s->remembers &= !p->claims[c].rules[r].distinct;
    if (p->in->gates.partitionable)
        prepare_counters(s);
}

void search_node(const struct plan *p, struct node_devices *n, const struct patience *patience,
                 struct arena *a, struct outcome *ret)
{
    struct search s = {
        .p = p, .n = n, .patience = patience, .arena = a, .next_look = LOOK_AT_CLOCK
    };
    enum found f = FOUND;

    *ret = (struct outcome){ .found = FOUND_NONE };
    prepare(&s);
    if (p->has_all)
        s.counts = arena_newn0(a, p->nasks, uint32_t);
    for (uint32_t c = 0; p->has_all && f == FOUND && c < p->n; c++)
        f = count_claim(&s, c);
    if (f == FOUND)
        f = place_want(&s, 0, 0);
    ret->found = f == FOUND_NONE && n->has_invalid ? FOUND_INVALID : f;
    ret->why = s.why;
    ret->steps = s.steps;
    if (f == FOUND) {
        ret->picks = s.picks;
        ret->n = s.npicks;
    }
}

/* ---- counts ---------------------------------------------------------------------------------- */

bool search_is_needed(const struct plan *p)
{
    if (p->alternatives || p->has_all || p->in->gates.partitionable || p->in->gates.taints ||
        p->in->gates.consumable)
        return true;
    if (p->n > 1 || p->claims[0].nwants > 1)
        return true;
    return p->claims[0].nrules > 0 || p->claims[0].wants[0].asks[0].admin;
}

/* 1: enough devices are free and accepted; 0: not; -1: a selector fails on one of them, or there is
 * no time to ask it. */
static int ask_suffices(const struct ask *k, const struct node_devices *n,
                        const struct patience *patience)
{
    uint32_t have = 0;

    for (uint32_t w = 0; w < n->nwords; w++) {
        const struct view_word *v = &n->words[w];
        const struct match *m = match_until(v->pool, k->selection, patience);
        uint64_t free = v->visible & ~(k->admin ? 0 : view_taken(v));
        if (!m || m->failed[v->word] & free)
            return -1;
        have += (uint32_t)__builtin_popcountll(m->accepted[v->word] & free);
    }
    return have >= k->count;
}

/* Whether the search meets a selector that fails is for the search to say. */
enum counts counts_say(const struct plan *p, const struct node_devices *n,
                       const struct patience *patience)
{
    if (n->has_invalid || p->has_all || p->in->gates.consumable)
        return COUNTS_UNSURE;
    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t i = 0; i < p->claims[c].nwants; i++) {
            const struct want *w = &p->claims[c].wants[i];
            int best = 0;
            for (uint32_t k = 0; k < w->n && best == 0; k++)
                best = ask_suffices(&w->asks[k], n, patience);
            if (best <= 0)
                return best < 0 ? COUNTS_UNSURE : COUNTS_TOO_FEW;
        }
    return COUNTS_ENOUGH;
}

int64_t outcome_score(const struct plan *p, const struct outcome *o)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < o->n; i++) {
        const struct pick *k = &o->picks[i];
        const struct want *w = &p->claims[k->claim].wants[k->want];
        bool first = i == 0 || k[-1].claim != k->claim || k[-1].want != k->want;
        if (first && w->in->first_available.n)
            sum += 8 - (k->ask - w->asks);
    }
    return sum;
}
