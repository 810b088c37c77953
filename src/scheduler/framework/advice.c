/* advice.c - what extenders said goes into an attempt: fewer candidates, other scores. */
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/framework/shapes.h"

static const struct attempt_opinion not_asked = {
    .code = KS_UNRESOLVABLE,
    .why = "node(s) changed while extenders were asked",
};

static void find_opinions(struct attempt *a)
{
    a->opinion = arena_newn0(a->arena, a->n, const struct attempt_opinion *);
    for (uint32_t i = 0; i < a->advice->n; i++) {
        uint32_t row = ks_row_of(a->cycle.nodes, a->advice->items[i].node);
        if (row != KS_NO_ROW)
            a->opinion[row] = &a->advice->items[i];
    }
}

bool attempt_advised_against(const struct attempt *a, const char *node)
{
    for (uint32_t i = 0; a->advice && i < a->advice->n; i++)
        if (streq(a->advice->items[i].node, node))
            return a->advice->items[i].code != KS_SUCCESS;
    return a->advice; /* they were not asked */
}

void attempt_advise(struct attempt *a)
{
    find_opinions(a);
    attempt_own_verdicts(a);
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->by[i])
            continue;
        if (!a->opinion[i])
            a->opinion[i] = &not_asked;
        if (a->opinion[i]->code == KS_SUCCESS)
            continue;
        a->by[i] = PROFILE_EXTENDER + 1;
        a->why[i] = 0;
    }
}

void attempt_add_advice(struct attempt *a)
{
    attempt_own_total(a);
    for (uint32_t i = 0; i < a->n; i++)
        if (!a->by[i])
            a->total[i] = i64_add_sat(a->total[i], a->opinion[i]->score);
}
