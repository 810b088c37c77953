/* score.c - soft rules: the fewer matching pods in the domain of a node, the better. */
#include "base/arena.h"
#include "scheduler/plugins/podtopologyspread/spread.h"

#include <math.h>

struct term { /* what one rule adds to the score of a row */
    const uint32_t *at;
    const double *domain; /* [domain]; [0] is 0. NULL: by the row's own pods, */
    const int32_t *pods;
    double weight, base; /* which count as much, and this on top */
};
struct scores {
    const uint8_t *ignored;
    struct term *terms;
    uint32_t n;
    bool small; /* no score is beyond 32 bits */
};

/* ---- before ---------------------------------------------------------------------------------- */

KOORD_CLONES static uint32_t count_candidates(uint32_t n, const uint8_t *restrict rejected,
                                              const uint8_t *restrict ignored)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; i++)
        left += !(rejected[i] | ignored[i]);
    return left;
}

/* How many domains the candidates lie in. A missing label is one with the value "". */
static uint32_t count_domains(const struct spread_rule *r, uint32_t n,
                              const uint8_t *restrict rejected, const uint8_t *restrict ignored,
                              struct arena *a)
{
    uint8_t *seen = arena_zalloc(a, r->ndomains + 2);
    uint32_t nowhere = r->ndomains + 1, domains = 0;

    for (uint32_t i = 0; i < n; i++)
        seen[rejected[i] | ignored[i] ? nowhere : r->at[i]] = 1;
    if (seen[0] && r->empty)
        seen[r->empty] = 1;
    for (uint32_t d = r->empty ? 1 : 0; d <= r->ndomains; d++)
        domains += seen[d];
    return domains;
}

static void term_init(struct term *t, const struct spread_rule *r, uint32_t size, struct arena *a)
{
    *t = (struct term){
        .at = r->at, .pods = r->pods, .weight = log(size + 2.0), .base = r->max_skew - 1.0
    };
    if (r->per_node)
        return;
    double *domain = arena_newn0(a, r->ndomains + 1, double);
    for (uint32_t d = 1; d <= r->ndomains; d++)
        domain[d] = r->count[d] * t->weight + t->base;
    t->domain = domain;
}

enum ks_code spread_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                              void **ret_state, struct ks_texts *why)
{
    struct kerr err = { 0 };
    /* There is none when the profile has the score without the pre_filter. */
    const struct spread_state *st = c->state ? c->state : spread_state_new(self, c, p->pod, &err);
    uint32_t n = c->nodes->n;

    if (!st || st->soft_failed) {
        ks_texts_add(why, st ? st->soft_failed : arena_strdup(c->arena, err.text));
        return KS_ERROR;
    }
    if (st->n == st->nhard)
        return KS_SKIP;
    struct scores *s = arena_new0(c->arena, struct scores);
    s->ignored = st->ignored;
    s->n = st->n - st->nhard;
    s->terms = arena_newn0(c->arena, s->n, struct term);
    double most = 0;
    for (uint32_t k = 0; k < s->n; k++) {
        const struct spread_rule *r = &st->rules[st->nhard + k];
        uint32_t size = r->per_node ? count_candidates(n, c->rejected, st->ignored)
                                    : count_domains(r, n, c->rejected, st->ignored, c->arena);
        term_init(&s->terms[k], r, size, c->arena);
        most += c->nodes->npods * s->terms[k].weight + s->terms[k].base;
    }
    s->small = most < INT32_MAX;
    *ret_state = s;
    return KS_SUCCESS;
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { BLOCK = 256 }; /* rows at a time: their sums stay close by */

KOORD_CLONES static void add_domains(uint32_t n, const uint32_t *restrict at,
                                     const double *restrict domain, double *restrict sum)
{
    for (uint32_t i = 0; i < n; i++)
        sum[i] += domain[at[i]];
}

KOORD_CLONES static void add_own(uint32_t n, const struct term *t, uint32_t first,
                                 double *restrict sum)
{
    const uint32_t *restrict at = t->at + first; /* 1 or 0 */
    const int32_t *restrict pods = t->pods + first;
    const double weight = t->weight, base = t->base;

    for (uint32_t i = 0; i < n; i++)
        sum[i] += (int32_t)at[i] * (pods[i] * weight + base);
}

/* To the nearest, halves up: sums are not negative. The conversion to 32 bits has a vector form. */
KOORD_CLONES static void round_small(uint32_t n, const double *restrict sum,
                                     const uint8_t *restrict ignored, int64_t *restrict out)
{
    for (uint32_t i = 0; i < n; i++) {
        int32_t whole = (int32_t)sum[i], up = sum[i] - whole >= 0.5;
        out[i] = (whole + up) & -(ignored[i] == 0);
    }
}

static void round_any(uint32_t n, const double *restrict sum, const uint8_t *restrict ignored,
                      int64_t *restrict out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = ignored[i] ? 0 : llround(sum[i]);
}

void spread_score(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                  int64_t *restrict out)
{
    const struct scores *sc = c->state;

    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i += BLOCK) {
        uint32_t n = MIN((uint32_t)BLOCK, s.end - i);
        double sum[BLOCK] = { 0 };
        for (uint32_t k = 0; k < sc->n; k++) {
            const struct term *t = &sc->terms[k];
            if (t->domain)
                add_domains(n, t->at + i, t->domain, sum);
            else
                add_own(n, t, i, sum);
        }
        (sc->small ? round_small : round_any)(n, sum, sc->ignored + i, out + i);
    }
}

/* ---- after ----------------------------------------------------------------------------------- */

struct range {
    int64_t min, max;
};
KOORD_CLONES static struct range range_of(uint32_t n, const uint8_t *restrict skip,
                                          const uint8_t *restrict ignored,
                                          const int64_t *restrict scores)
{
    int64_t min = INT64_MAX, max = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t in = -(int64_t)((skip[i] | ignored[i]) == 0); /* all bits, or none */
        int64_t low = scores[i] | (~in & INT64_MAX), high = scores[i] & in;
        min = low < min ? low : min;
        max = high > max ? high : max;
    }
    return (struct range){ min, max };
}

/* Division of such numbers in floating point is exact once it is cut, and has a vector form. */
KOORD_CLONES static void turn_small(uint32_t n, struct range r, const uint8_t *restrict skip,
                                    const uint8_t *restrict ignored, int64_t *restrict scores)
{
    const double max = (double)r.max;
    const int64_t both = r.max + r.min;

    for (uint32_t i = 0; i < n; i++) {
        int32_t left = (int32_t)(both - scores[i]) & -((skip[i] | ignored[i]) == 0);
        scores[i] = (int32_t)(left * (double)KS_SCORE_MAX / max);
    }
}

static void turn_any(uint32_t n, struct range r, const uint8_t *restrict skip,
                     const uint8_t *restrict ignored, int64_t *restrict scores)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t s = r.max ? KS_SCORE_MAX * (r.max + r.min - scores[i]) / r.max : KS_SCORE_MAX;
        scores[i] = skip[i] | ignored[i] ? 0 : s;
    }
}

/* The fewest pods become the best score. */
void spread_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                      int64_t *scores)
{
    const struct scores *sc = c->state;
    struct range r = range_of(n, skip, sc->ignored, scores);

    (void)self;
    (sc->small && r.max ? turn_small : turn_any)(n, r, skip, sc->ignored, scores);
}
