/* reclaim.c - how much best effort gives back, and who is first. */
#include "koordlet/qos/reclaim/reclaim.h"

#include "api/protocol/pod_protocol.h"
#include "base/num.h"

int64_t reclaim_wanted(const struct reclaim_in *in)
{
    const struct threshold_strategy *s = in->slo;

    if (!s || !s->enable.set || !s->enable.v || !s->memory_evict_threshold_percent.set ||
        in->capacity <= 0)
        return 0;
    int64_t percent = MAX(s->memory_evict_threshold_percent.v, (int64_t)RECLAIM_MARGIN);
    int64_t start = i64_muldiv(in->capacity, percent - RECLAIM_MARGIN, 100);
    if (in->used < start)
        return 0;
    /* Page cache counts as available: what is free tells whether somebody would wait for it. Cold
     * anonymous memory does not. */
    int64_t wanted = i64_muldiv(in->capacity, RECLAIM_FREE_PERCENT, 100) - in->free;
    if (in->swap)
        wanted = MAX(wanted, in->used - start);
    return wanted < RECLAIM_LEAST ? 0 : wanted;
}

static bool goes_before(const struct reclaim_pod *x, const struct reclaim_pod *y)
{
    int32_t p = pod_priority_value(npod_pod(x->pod)), q = pod_priority_value(npod_pod(y->pod));

    if (p != q)
        return p < q;
    if (x->spare != y->spare)
        return x->spare > y->spare;
    return strcmp(x->pod->uid, y->pod->uid) < 0;
}

int reclaim_choose(const struct reclaim_pod *pods, size_t n, nsec_t now)
{
    int best = -1;

    for (size_t i = 0; i < n; i++)
        if (pods[i].spare >= RECLAIM_LEAST &&
            (pods[i].asked == 0 || now - pods[i].asked >= RECLAIM_REST) &&
            (best < 0 || goes_before(&pods[i], &pods[best])))
            best = (int)i;
    return best;
}
