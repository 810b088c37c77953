/* score.c - scores of the candidates, normalised and weighted (scheduler-core 5.4). */
#include "base/arena.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/framework/stopwatch.h"

static void normalize(const uint8_t *skip, uint32_t n, int64_t *scores, bool reversed)
{
    int64_t max = 0;
    for (uint32_t i = 0; i < n; i++)
        max = !skip[i] && scores[i] > max ? scores[i] : max;
    for (uint32_t i = 0; i < n; i++) {
        int64_t s = max == 0 ? scores[i] : KS_SCORE_MAX * scores[i] / max;
        if (reversed)
            s = max == 0 ? KS_SCORE_MAX : KS_SCORE_MAX - s;
        scores[i] = skip[i] ? 0 : s;
    }
}

void ks_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                  int64_t *scores)
{
    (void)self, (void)c;
    normalize(skip, n, scores, false);
}

void ks_normalize_reversed(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                           int64_t *scores)
{
    (void)self, (void)c;
    normalize(skip, n, scores, true);
}

void ks_filter_rows(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                    const uint8_t *skip, uint8_t *restrict why, ks_row_fn fn)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = skip[i] ? 0 : fn(self, c, p, i);
}

KOORD_CLONES static void add_weighted(struct ks_span s, int64_t weight,
                                      const int64_t *restrict score, int64_t *restrict total)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        total[i] += weight * score[i];
}

/* Are they all within [0, KS_SCORE_MAX]? Rows of no use are not looked at; skip NULL: all count. */
KOORD_CLONES static bool in_range(struct ks_span s, const uint8_t *restrict skip,
                                  const int64_t *restrict score)
{
    uint64_t beyond = 0;

    for (uint32_t i = s.begin; !skip && i < s.end; i++)
        beyond |= (uint64_t)score[i] > KS_SCORE_MAX;
    for (uint32_t i = s.begin; skip && i < s.end; i++)
        beyond |= (skip[i] == 0) & ((uint64_t)score[i] > KS_SCORE_MAX);
    return !beyond;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static bool keeps(const struct attempt *a, uint32_t slot)
{
    return a->shape && a->profile->slots[slot].plugin->reuse == KS_REUSE_LOCAL;
}

/* Its best candidate has 100 and the others their share of it: kept in the sum like scores that
 * need no normalising, for as long as the best one does not change. */
static bool is_scaled(const struct attempt *a, uint32_t slot)
{
    const struct profile_slot *s = &a->profile->slots[slot];

    return keeps(a, slot) &&
           (s->plugin->scales ? s->plugin->scales(s->self) : s->plugin->normalize == ks_normalize);
}

static bool in_sum(const struct attempt *a, uint32_t slot)
{
    return is_scaled(a, slot) || (keeps(a, slot) && !a->profile->slots[slot].plugin->normalize);
}

/* ---- scaled scores --------------------------------------------------------------------------- */

static int64_t scaled(int64_t raw, int64_t scale)
{
    return scale > 0 ? KS_SCORE_MAX * raw / scale : raw;
}

KOORD_CLONES static int64_t best_raw(const uint8_t *restrict skip, uint32_t n,
                                     const int64_t *restrict raw)
{
    int64_t best = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t score = skip[i] ? 0 : raw[i];
        best = score > best ? score : best;
    }
    return best;
}

/* Beyond these the usual division. Below, x / scale is x * (2^32 / scale + 1) >> 32 for all x of up
 * to 100 * RAW_SMALL: what is too much of the factor is less than scale * x, and that less than
 * 2^32. */
enum { RAW_SMALL = 4096 };

KOORD_CLONES static bool are_small(uint32_t n, const int64_t *restrict raw)
{
    uint64_t beyond = 0;

    for (uint32_t i = 0; i < n; i++)
        beyond |= (uint64_t)raw[i] > RAW_SMALL;
    return !beyond;
}

KOORD_CLONES static void rescale_small(uint32_t n, int64_t weight, const int64_t *restrict raw,
                                       uint64_t from, uint64_t to, int64_t *restrict total)
{
    uint64_t was = (UINT64_C(1) << 32) / from + 1, is = (UINT64_C(1) << 32) / to + 1;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t x = (uint64_t)raw[i] * KS_SCORE_MAX;
        total[i] += weight * ((int64_t)(x * is >> 32) - (int64_t)(x * was >> 32));
    }
}

static void rescale(const struct attempt *a, uint32_t slot, int64_t to)
{
    struct shape *h = a->shape;
    int64_t from = h->scale[slot], weight = a->profile->slots[slot].weight;

    h->scale[slot] = to;
    if (MIN(from, to) >= 1 && MAX(from, to) <= RAW_SMALL && are_small(a->n, h->raw[slot])) {
        rescale_small(a->n, weight, h->raw[slot], (uint64_t)from, (uint64_t)to, h->total);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++)
        h->total[i] += weight * (scaled(h->raw[slot][i], to) - scaled(h->raw[slot][i], from));
}

/* The best candidate may be another one now. */
static void rescale_all(const struct attempt *a)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_SCORE];

    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        if (!is_scaled(a, slot) || (a->skip_score >> slot & 1) || !a->shape->raw[slot])
            continue;
        int64_t best = best_raw(a->by, a->n, a->shape->raw[slot]);
        if (best != a->shape->scale[slot])
            rescale(a, slot, best);
    }
}

static void score_one(struct attempt *a, uint32_t slot, struct ks_span s, int64_t *out)
{
    const struct profile_slot *p = &a->profile->slots[slot];
    attempt_enter(a, slot, a->score_state[slot]);
    p->plugin->score(p->self, &a->cycle, &a->pod, s, out);
    stopwatch_plugin(a->stopwatch, LAP_SCORE, slot, KS_SUCCESS);
}

static void check_scores(struct attempt *a, uint32_t slot, struct ks_span s, const uint8_t *skip,
                         const int64_t *score)
{
    if (in_range(s, skip, score))
        return;
    for (uint32_t i = s.begin; i < s.end && !a->score_error; i++)
        if (!(skip && skip[i]) && (uint64_t)score[i] > KS_SCORE_MAX)
            a->score_error = arena_printf(
                a->arena,
                "plugin \"%s\" returns an invalid score %lld, it should in the range of [0, %d] "
                "after normalizing",
                a->profile->slots[slot].plugin->name, (long long)score[i], KS_SCORE_MAX);
}

/* SKIP: the plugin has nothing to say. ERROR: a->score_error. */
static enum ks_code pre_score_one(struct attempt *a, uint32_t slot)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    struct ks_texts why = { .arena = a->arena };

    a->score_state[slot] = a->state[slot];
    if (!(a->profile->points[KS_POINT_PRE_SCORE].set >> slot & 1))
        return KS_SUCCESS;
    a->cycle.arena = keeps(a, slot) ? a->shape->arena : a->arena;
    attempt_enter(a, slot, a->state[slot]);
    enum ks_code code =
        s->plugin->pre_score(s->self, &a->cycle, &a->pod, &a->score_state[slot], &why);
    a->cycle.arena = a->arena;
    stopwatch_plugin(a->stopwatch, LAP_PRE_SCORE, slot, code);
    if (code != KS_SUCCESS && code != KS_SKIP) {
        a->score_error = arena_printf(a->arena, "running PreScore plugin \"%s\": %s",
                                      s->plugin->name, ks_texts_join(&why));
    }
    return code;
}

/* All rows, for a shape that is new. */
static void make_all(struct attempt *a, uint32_t slot, int64_t *scratch)
{
    struct shape *h = a->shape;
    int64_t *raw = h->raw[slot], weight = a->profile->slots[slot].weight;
    struct ks_span all = { 0, a->n };

    score_one(a, slot, all, raw ? raw : scratch);
    if (!raw) {
        check_scores(a, slot, all, NULL, scratch);
        add_weighted(all, weight, scratch, h->total);
    } else if (is_scaled(a, slot)) {
        for (uint32_t i = 0; i < a->n; i++)
            h->total[i] += weight * scaled(raw[i], h->scale[slot]);
    }
}

/* The rows that changed, one by one: no vectors for those. */
static void remake_dirty(struct attempt *a, uint32_t slot, int64_t *scratch)
{
    const struct profile_slot *p = &a->profile->slots[slot];
    struct shape *h = a->shape;
    int64_t *out = h->raw[slot] ? h->raw[slot] : scratch, scale = h->scale[slot];
    bool plain = !h->raw[slot], counts = plain || is_scaled(a, slot);

    attempt_enter(a, slot, a->score_state[slot]);
    for (uint32_t d = 0; d < a->dirty.n; d++) {
        uint32_t row = a->dirty.rows[d];
        struct ks_span one = { row, row + 1 };
        p->plugin->score(p->self, &a->cycle, &a->pod, one, out);
        if (plain && (uint64_t)out[row] > KS_SCORE_MAX)
            check_scores(a, slot, one, NULL, out);
        if (counts)
            h->total[row] += p->weight * (plain ? out[row] : scaled(out[row], scale));
    }
    stopwatch_plugin(a->stopwatch, LAP_SCORE, slot, KS_SUCCESS);
}

static void make_shape(struct attempt *a, int64_t *scratch)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_SCORE];
    struct shape *h = a->shape;

    if (!a->fresh)
        memset(h->total, 0, h->n * sizeof *h->total);
    h->skip_score = 0;
    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        if (!keeps(a, slot))
            continue;
        enum ks_code code = pre_score_one(a, slot);
        h->score_state[slot] = a->score_state[slot];
        if (code == KS_SKIP)
            h->skip_score |= UINT64_C(1) << slot;
        if (code != KS_SUCCESS)
            continue;
        h->scale[slot] = 0;
        if (a->profile->slots[slot].plugin->normalize && !h->raw[slot])
            h->raw[slot] = arena_newn0(h->arena, h->n, int64_t);
        make_all(a, slot, scratch);
    }
    h->made = !a->score_error;
}

static void remake_rows(struct attempt *a, int64_t *scratch)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_SCORE];
    const uint32_t *rows = a->dirty.rows;
    struct shape *h = a->shape;

    for (uint32_t d = 0; d < a->dirty.n; d++)
        h->total[rows[d]] = 0;
    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        if (!keeps(a, slot) || (h->skip_score >> slot & 1))
            continue;
        a->score_state[slot] = h->score_state[slot];
        if (a->dirty.n)
            remake_dirty(a, slot, scratch);
    }
    h->made = !a->score_error;
}

void attempt_note_score(struct attempt *a)
{
    if (!a->shape)
        return;
    a->cycle.rejected = NULL;
    int64_t *scratch = arena_alloc(a->arena, a->n * sizeof *scratch, 16);
    if (a->fresh_scores)
        make_shape(a, scratch);
    else
        remake_rows(a, scratch);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Every plugin's own scores, for people who want to see them. */
static int64_t *keep_scores(struct attempt *a, uint32_t slot)
{
    if (!a->cycle.complete)
        return NULL;
    if (!a->score)
        a->score = arena_newn0(a->arena, a->profile->n, int64_t *);
    a->score[slot] = arena_newn0(a->arena, a->n, int64_t);
    return a->score[slot];
}

static void add_one(struct attempt *a, uint32_t slot, int64_t *scratch)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    struct ks_span all = { 0, a->n };
    int64_t *out = keep_scores(a, slot);

    out = out ? out : scratch;
    if (keeps(a, slot) && a->shape->raw[slot])
        memcpy(out, a->shape->raw[slot], a->n * sizeof *out);
    else
        score_one(a, slot, all, out);
    attempt_enter(a, slot, a->score_state[slot]);
    if (s->plugin->normalize) {
        s->plugin->normalize(s->self, &a->cycle, a->by, a->n, out);
        stopwatch_plugin(a->stopwatch, LAP_NORMALIZE, slot, KS_SUCCESS);
    }
    check_scores(a, slot, all, a->by, out);
    add_weighted(all, s->weight, out, a->total);
    a->scored |= UINT64_C(1) << slot;
}

void attempt_own_total(struct attempt *a)
{
    size_t size = a->n * sizeof *a->total;

    if (a->shape && a->total == a->shape->total)
        a->total = memcpy(arena_alloc(a->arena, size, 16), a->total, size);
}

static int score_failed(struct attempt *a)
{
    a->code = KS_ERROR;
    a->text = a->score_error;
    return -1;
}

/* What plugins prepare, each before any scores; a->skip_score: they have nothing to say. */
static void pre_score(struct attempt *a)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_SCORE];

    a->skip_score = a->shape ? a->shape->skip_score : 0;
    for (uint32_t i = 0; i < point->n && !a->score_error; i++) {
        uint32_t slot = point->slots[i];
        if (keeps(a, slot))
            a->score_state[slot] = a->shape->score_state[slot];
        else if (pre_score_one(a, slot) == KS_SKIP)
            a->skip_score |= UINT64_C(1) << slot;
    }
    stopwatch_point(a->stopwatch, LAP_PRE_SCORE, a->score_error ? KS_ERROR : KS_SUCCESS);
}

static int score_plugins(struct attempt *a)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_SCORE];
    size_t size = a->n * sizeof *a->total;

    a->cycle.rejected = a->by;
    pre_score(a);
    if (a->score_error)
        return score_failed(a);
    a->total =
        a->shape && !a->cycle.complete ? a->shape->total : arena_newn0(a->arena, a->n, int64_t);
    if (a->shape && !a->cycle.complete)
        rescale_all(a);
    int64_t *scratch = arena_alloc(a->arena, size, 16);
    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        if ((a->skip_score >> slot & 1) || (in_sum(a, slot) && !a->cycle.complete))
            continue;
        attempt_own_total(a);
        add_one(a, slot, scratch);
    }
    return a->score_error ? score_failed(a) : 0;
}

int attempt_score(struct attempt *a)
{
    int r = score_plugins(a);

    if (r == 0 && a->advice)
        attempt_add_advice(a);
    stopwatch_point(a->stopwatch, LAP_SCORE, a->code);
    return r;
}

int attempt_compare(const struct attempt *a, const struct attempt *b, struct kerr *err)
{
    int64_t shift = 0;
    bool first = true;

    if (a->code != b->code || a->n != b->n)
        return kerr_set(err, -EBADMSG, "code %d and %d", (int)a->code, (int)b->code);
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->by[i] != b->by[i] || a->why[i] != b->why[i])
            return kerr_set(err, -EBADMSG, "row %u: verdict %d/%d and %d/%d", i, a->by[i],
                            a->why[i], b->by[i], b->why[i]);
        if (a->by[i] || !a->total || !b->total)
            continue;
        /* Scores that are equal for all may be left out. */
        shift = first ? b->total[i] - a->total[i] : shift;
        first = false;
        if (b->total[i] - a->total[i] != shift)
            return kerr_set(err, -EBADMSG, "row %u: score %lld and %lld", i, (long long)a->total[i],
                            (long long)b->total[i]);
    }
    return 0;
}
