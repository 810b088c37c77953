/* numa.c - the NUMA topology manager (sched-numa 7.3 to 7.5). */
#include "scheduler/framework/numa.h"

#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/attempt.h"

/* Upstream tries every combination; so do we where no combination of equal sets is preferred, but
 * not without end: with 8 NUMA nodes and four resources there are four billion. */
enum { COMBINATIONS_MAX = 1 << 18 };

struct merge {
    const struct numa_question *q;
    struct numa_hints *lists; /* what the policy leaves of them */
    uint32_t n;
    struct numa_hint best;
    const struct numa_hint **chosen; /* [n]: one of each list */
};

/* ---- one combination ------------------------------------------------------------------------- */

/* A pod that wants NUMA nodes for itself: one that others share is none, nor are several of which
 * one belongs to somebody. */
static bool is_exclusive(const struct numa_question *q, uint64_t mask)
{
    bool one = (mask & (mask - 1)) == 0;

    if (q->exclusive != NUMA_EXCLUSIVE_REQUIRED)
        return true;
    for (unsigned id = 0; id < 64; id++)
        if (mask >> id & 1 && q->status[id] == (one ? NUMA_SHARED : NUMA_SINGLE))
            return false;
    return true;
}

static struct numa_hint combine(const struct merge *m)
{
    struct numa_hint r = { .mask = m->q->nodes, .preferred = true };
    int widest = 0;
    uint64_t equal = 0;
    bool differ = false;

    for (uint32_t i = 0; i < m->n; i++) {
        const struct numa_hint *h = m->chosen[i];
        r.preferred &= h->preferred;
        r.unsatisfied |= h->unsatisfied;
        if (!h->mask)
            continue;
        r.mask &= h->mask;
        widest = MAX(widest, __builtin_popcountll(h->mask));
        differ |= equal && equal != h->mask;
        equal = h->mask;
    }
    r.preferred &= !differ;
    r.unsatisfied |= equal && widest != __builtin_popcountll(r.mask);
    for (uint32_t i = 0; i < m->n; i++)
        if (m->chosen[i]->mask && m->chosen[i]->mask == r.mask)
            r.score += m->chosen[i]->score;
    if (r.mask && !is_exclusive(m->q, r.mask))
        r.preferred = false;
    return r;
}

/* Preferred before not preferred, narrow before wide, then the higher score. */
static void consider(struct merge *m, const struct numa_hint *h)
{
    int bits = __builtin_popcountll(h->mask), best_bits = __builtin_popcountll(m->best.mask);

    if (!h->mask || (m->best.preferred && !h->preferred))
        return;
    if ((h->preferred && !m->best.preferred) || bits < best_bits ||
        (bits == best_bits && (h->mask < m->best.mask || h->score > m->best.score)))
        m->best = *h;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* at: where it is in another list, and mostly in this one too. */
static const struct numa_hint *find_mask(const struct numa_hints *l, uint64_t mask, uint32_t at)
{
    if (at < l->n && l->hints[at].mask == mask && l->hints[0].mask)
        return &l->hints[at];
    for (uint32_t i = 0; i < l->n; i++)
        if (l->hints[i].mask == mask || !l->hints[i].mask)
            return &l->hints[i];
    return NULL;
}

/* Only sets that are in all lists can be preferred: those are few, and usually decide. */
static void merge_equal(struct merge *m)
{
    uint32_t first = 0;

    while (first < m->n && m->lists[first].n > 0 && !m->lists[first].hints[0].mask)
        first++;
    uint32_t tries = first < m->n ? m->lists[first].n : 1;
    for (uint32_t k = 0; k < tries; k++) {
        uint32_t i = 0;
        for (; i < m->n; i++) {
            const struct numa_hints *l = &m->lists[i];
            m->chosen[i] = i == first
                               ? &l->hints[k]
                               : find_mask(l, first < m->n ? m->lists[first].hints[k].mask : 0, k);
            if (!m->chosen[i])
                break;
        }
        if (i < m->n)
            continue;
        struct numa_hint h = combine(m);
        if (h.preferred)
            consider(m, &h);
    }
}

static void merge_product(struct merge *m)
{
    uint32_t *at = xnewn0(m->n + 1, uint32_t);
    uint32_t tried = 0, i = 0;

    for (uint32_t k = 0; k < m->n; k++)
        if (m->lists[k].n == 0) /* no combination */
            i = m->n + 1;
    while (i <= m->n && tried++ < COMBINATIONS_MAX) {
        for (uint32_t k = 0; k < m->n; k++)
            m->chosen[k] = &m->lists[k].hints[at[k]];
        struct numa_hint h = combine(m);
        consider(m, &h);
        for (i = m->n; i > 0 && ++at[i - 1] == m->lists[i - 1].n; i--)
            at[i - 1] = 0;
        if (i == 0)
            break;
    }
    free(at);
}

static struct numa_hint merge_all(struct merge *m)
{
    m->best = (struct numa_hint){ .mask = m->q->nodes };
    merge_equal(m);
    if (!m->best.preferred)
        merge_product(m);
    return m->best;
}

/* ---- what the policy makes of it ------------------------------------------------------------- */

/* As the kubelet prints a mask: in pairs of digits, more or less. */
static void append_mask(struct strbuf *b, uint64_t mask)
{
    int width = 2;

    for (int shift = 62; shift > 0; shift -= 2)
        if (mask > UINT64_C(1) << shift) {
            width = shift + 2;
            break;
        }
    while (width < 64 && mask >> width)
        width++;
    for (int i = width - 1; i >= 0; i--)
        strbuf_appendc(b, mask >> i & 1 ? '1' : '0');
}

static void append_masks(struct strbuf *b, const struct numa_hints *l, bool preferred_only)
{
    bool first = true;

    strbuf_appendc(b, '[');
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->hints[i].unsatisfied || (preferred_only && !l->hints[i].preferred))
            continue;
        if (!first)
            strbuf_appendc(b, ' ');
        append_mask(b, l->hints[i].mask);
        first = false;
    }
    strbuf_appendc(b, ']');
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "cpu prefer [01] among [01 11] & memory prefer ..." */
static void add_unaligned(const struct numa_question *q, const char *between, struct ks_texts *why)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char **texts = arena_newn0(why->arena, q->nlists, const char *);
    uint32_t n = 0;

    for (uint32_t i = 0; i < q->nlists; i++) {
        if (q->lists[i].any || q->lists[i].n == 0)
            continue;
        b.len = 0;
        strbuf_appendf(&b, "%s prefer ", q->lists[i].resource);
        append_masks(&b, &q->lists[i], true);
        strbuf_append(&b, " among ");
        append_masks(&b, &q->lists[i], false);
        texts[n++] = arena_strndup(why->arena, strbuf_str(&b), b.len);
    }
    qsort(texts, n, sizeof *texts, by_text);
    b.len = 0;
    for (uint32_t i = 0; i < n; i++)
        strbuf_appendf(&b, "%s%s", i ? between : "", texts[i]);
    ks_texts_addf(why, "Unaligned NUMA Hint cause %s", strbuf_str(&b));
}

static bool add_unsatisfied(const struct numa_question *q, struct ks_texts *why)
{
    bool found = false;

    for (uint32_t i = 0; i < q->nlists; i++) {
        if (q->lists[i].any || q->lists[i].n > 0)
            continue;
        found = true;
        if (why)
            ks_texts_addf(why, "Unsatisfied NUMA %s", q->lists[i].resource);
    }
    return found;
}

/* Of SingleNUMANode only preferred hints of one NUMA node, or of none, are left. */
static bool is_kept(const struct numa_question *q, const struct numa_hint *h)
{
    return q->policy != NUMA_POLICY_SINGLE_NODE || (h->preferred && (h->mask & (h->mask - 1)) == 0);
}

static void merge_init(struct merge *m, const struct numa_question *q, struct arena *a)
{
    static const struct numa_hint anywhere = { .preferred = true },
                                  nowhere = { .unsatisfied = true };

    *m = (struct merge){ .q = q, .n = q->nlists };
    m->lists = arena_newn0(a, q->nlists, struct numa_hints);
    m->chosen = arena_newn0(a, q->nlists, const struct numa_hint *);
    for (uint32_t i = 0; i < q->nlists; i++) {
        const struct numa_hints *from = &q->lists[i];
        struct numa_hints *to = &m->lists[i];
        if (from->any || from->n == 0) {
            *to = (struct numa_hints){ from->resource, from->any ? &anywhere : &nowhere, 1, false };
            to->n = is_kept(q, to->hints);
            continue;
        }
        struct numa_hint *kept = arena_newn0(a, from->n, struct numa_hint);
        *to = (struct numa_hints){ .resource = from->resource, .hints = kept };
        for (uint32_t k = 0; k < from->n; k++)
            if (is_kept(q, &from->hints[k]))
                kept[to->n++] = from->hints[k];
    }
}

struct numa_answer numa_merge(const struct numa_question *q, struct arena *a, struct ks_texts *why)
{
    bool single = q->policy == NUMA_POLICY_SINGLE_NODE;
    struct numa_answer r = { .best = { .mask = single ? 0 : q->nodes } };
    struct merge m;

    if (q->policy != NUMA_POLICY_BEST_EFFORT && add_unsatisfied(q, why))
        return r;
    merge_init(&m, q, a);
    r.best = merge_all(&m);
    if (q->policy == NUMA_POLICY_BEST_EFFORT) {
        if (r.best.unsatisfied)
            r.best = (struct numa_hint){ .mask = q->nodes };
        r.admit = true;
        return r;
    }
    r.admit = r.best.preferred;
    if (single && r.best.mask == q->nodes)
        r.best = (struct numa_hint){ .preferred = r.best.preferred };
    if (!r.admit && why)
        add_unaligned(q, single ? "," : " & ", why);
    return r;
}

/* ---- all plugins of a profile ---------------------------------------------------------------- */

void numa_lists_add(struct numa_lists *l, const struct numa_hints *h)
{
    if (l->n == l->cap) {
        struct numa_hints *more = arena_newn0(l->arena, l->cap + 8, struct numa_hints);
        if (l->n)
            memcpy(more, l->items, l->n * sizeof *more);
        l->items = more;
        l->cap += 8;
    }
    l->items[l->n++] = *h;
}

/* The attempt whose cycle a plugin was given. */
static struct attempt *attempt_of(const struct ks_cycle *c)
{
    return container_of(c, struct attempt, cycle);
}

/* givers: how many plugins have a preference. */
static enum ks_code ask_hints(struct attempt *a, const struct ks_pod *p, uint32_t row,
                              struct numa_lists *lists, uint32_t *givers, struct ks_texts *why)
{
    enum ks_code code = KS_SUCCESS;

    *givers = 0;
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct profile_slot *s = &a->profile->slots[i];
        uint32_t before = lists->n;
        if (!s->plugin->numa)
            continue;
        attempt_enter(a, i, a->state[i]);
        enum ks_code r = s->plugin->numa->hints(s->self, &a->cycle, p, row, lists, why);
        code = r == KS_SUCCESS ? code : KS_UNSCHEDULABLE;
        *givers += lists->n > before;
    }
    return code;
}

static struct numa_answer ask_merge(const struct numa_site *site, const struct numa_lists *lists,
                                    struct ks_texts *why)
{
    struct numa_question q = {
        .policy = site->policy,
        .exclusive = site->exclusive,
        .nodes = site->nodes,
        .status = site->status,
        .lists = lists->items,
        .nlists = lists->n,
    };

    return numa_merge(&q, lists->arena, why);
}

/* The narrowest set that is preferred wins, so wider ones are asked for only when there is none, or
 * when plugins must agree. */
static enum ks_code ask_all(struct attempt *a, const struct ks_pod *p, uint32_t row,
                            const struct numa_site *site, struct arena *arena,
                            struct numa_answer *ret, struct ks_texts *why)
{
    for (bool narrow = !why;; narrow = false) {
        struct numa_lists lists = {
            .arena = arena, .policy = site->policy, .complete = why != NULL, .narrow = narrow
        };
        uint32_t givers;
        enum ks_code code = ask_hints(a, p, row, &lists, &givers, why);
        if (code != KS_SUCCESS)
            return code;
        *ret = ask_merge(site, &lists, why);
        if (!lists.cut || (givers < 2 && ret->admit && ret->best.preferred))
            return KS_SUCCESS;
    }
}

static enum ks_code ask_allocate(struct attempt *a, const struct ks_pod *p, uint32_t row,
                                 uint64_t mask, struct ks_texts *why)
{
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct profile_slot *s = &a->profile->slots[i];
        if (!s->plugin->numa)
            continue;
        attempt_enter(a, i, a->state[i]);
        enum ks_code r = s->plugin->numa->allocate(s->self, &a->cycle, p, row, mask, why);
        if (r != KS_SUCCESS)
            return r;
    }
    return KS_SUCCESS;
}

enum ks_code numa_admit(const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                        const struct numa_site *site, struct arena *arena, uint64_t *ret_mask,
                        struct ks_texts *why)
{
    struct attempt *a = attempt_of(c);
    struct ks_cycle asking = a->cycle;
    struct numa_answer r = { 0 };

    enum ks_code code = ask_all(a, p, row, site, arena, &r, why);
    if (code == KS_SUCCESS) {
        code = r.admit ? ask_allocate(a, p, row, r.best.mask, why) : KS_UNSCHEDULABLE;
        *ret_mask = r.best.mask;
    }
    a->cycle.state = asking.state;
    a->cycle.rows = asking.rows;
    return code;
}

enum ks_code numa_affinity(const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                           uint64_t *ret_mask, struct ks_texts *why)
{
    struct attempt *a = attempt_of(c);
    struct ks_cycle asking = a->cycle;
    enum ks_code code = KS_SUCCESS;

    *ret_mask = 0;
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct profile_slot *s = &a->profile->slots[i];
        if (!s->plugin->numa || !s->plugin->numa->place)
            continue;
        attempt_enter(a, i, a->state[i]);
        code = s->plugin->numa->place(s->self, &a->cycle, p, row, ret_mask, why);
        break;
    }
    a->cycle.state = asking.state;
    a->cycle.rows = asking.rows;
    return code;
}
