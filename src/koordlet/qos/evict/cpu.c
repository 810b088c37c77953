/* cpu.c - eviction by the satisfaction of best-effort pods and by the node's CPU usage
 * (koordlet-qos 7.1, 7.2). */
#include "base/num.h"
#include "koordlet/qos/evict/task_int.h"

enum { BE_USAGE_DEFAULT_PERCENT = 90, LOWER_MAX_PERCENT = 60 };

#define PERCENT(v) ((double)(v) / 100)

/* ---- satisfaction ---------------------------------------------------------------------------- */

static int check_satisfaction(const struct threshold_strategy *s, struct kerr *err)
{
    struct opt_i64 lower = s->cpu_evict_be_satisfaction_lower_percent,
                   upper = s->cpu_evict_be_satisfaction_upper_percent;

    if (!lower.set || !upper.set)
        return kerr_set(err, -EINVAL,
                        "CPUEvictBESatisfactionLowerPercent or CPUEvictBESatisfactionUpperPercent "
                        "not config");
    if (lower.v <= 0 || lower.v > LOWER_MAX_PERCENT)
        return kerr_set(err, -EINVAL,
                        "CPUEvictBESatisfactionLowerPercent(%lld) is not valid! must (0,60]",
                        (long long)lower.v);
    if (upper.v <= 0 || upper.v >= 100)
        return kerr_set(err, -EINVAL,
                        "CPUEvictBESatisfactionUpperPercent(%lld) is not valid,must (0,100)",
                        (long long)upper.v);
    if (upper.v < lower.v)
        return kerr_set(err, -EINVAL,
                        "CPUEvictBESatisfactionUpperPercent(%lld) < "
                        "CPUEvictBESatisfactionLowerPercent(%lld)",
                        (long long)upper.v, (long long)lower.v);
    return 0;
}

/* What best effort may use: what the cgroups allow it, or what the node promises. */
static double be_limit(const struct evict_in *in, const struct evict_be_cpu *be)
{
    if (!in->slo->cpu_evict_policy || !streq(in->slo->cpu_evict_policy, "evictByAllocatable"))
        return be->real_limit;
    const struct qty *q = reslist_find(&in->node->status.allocatable, RES_BATCH_CPU);
    int64_t v = q ? qty_value(*q) : -1;
    return v < 0 ? -1 : v == 0 ? 1 : (double)v;
}

/* Pods that do not use what they have do not suffer from having little. */
static bool used_enough(const struct evict_in *in, const struct evict_be_cpu *be, double limit)
{
    struct opt_i64 t = in->slo->cpu_evict_be_usage_threshold_percent;

    if (limit <= 0)
        return false;
    if (limit < 1000)
        return true;
    return be->usage / limit >= PERCENT(t.set ? t.v : BE_USAGE_DEFAULT_PERCENT);
}

static int64_t satisfaction_release(const struct evict_in *in, const struct evict_be_cpu *be,
                                    double limit)
{
    if (be->request <= 0)
        return 0;
    double rate = limit / be->request;
    double gap = PERCENT(in->slo->cpu_evict_be_satisfaction_upper_percent.v) - rate;
    if (rate > PERCENT(in->slo->cpu_evict_be_satisfaction_lower_percent.v) || gap <= 0)
        return 0;
    return i64_from_f64(be->request * gap);
}

static int64_t be_cpu_release(const struct evict_in *in)
{
    int64_t window = evict_window_seconds(in->slo, in->collect_interval);
    double avg_limit = be_limit(in, &in->be_avg), last_limit = be_limit(in, &in->be_last);

    if (!in->be_known || in->be_samples * (in->collect_interval / NSEC_PER_SEC) < window / 3 ||
        !used_enough(in, &in->be_avg, avg_limit))
        return 0;
    int64_t avg = satisfaction_release(in, &in->be_avg, avg_limit);
    if (avg <= 0 || !used_enough(in, &in->be_last, last_limit))
        return 0;
    if (in->be_last.request == in->be_avg.request && last_limit == avg_limit)
        return avg;
    return MIN(avg, satisfaction_release(in, &in->be_last, last_limit));
}

int evict_make_be_cpu(const struct evict_in *in, struct arena *a, struct evict_task *t,
                      struct kerr *err)
{
    int r = check_satisfaction(in->slo, err);
    int64_t milli = r == 0 ? be_cpu_release(in) : 0;

    if (r < 0 || milli <= 0)
        return r;
    struct evict_amounts *gives = arena_newn0(a, in->npods + 1, struct evict_amounts);
    for (uint32_t i = 0; i < in->npods; i++)
        evict_put(&gives[i], EVICT_BATCH_CPU,
                  evict_extended_request(npod_pod(in->pods[i]), RES_BATCH_CPU));
    t->kind = EVICT_POD_REQUEST;
    t->gives = gives;
    evict_put(&t->to_release, EVICT_BATCH_CPU, milli);
    evict_candidates_be(in, a, t);
    return 1;
}

/* ---- usage ----------------------------------------------------------------------------------- */

int evict_make_cpu(const struct evict_in *in, struct arena *a, struct evict_task *t,
                   struct kerr *err)
{
    int64_t capacity = qty_milli(reslist_get(&in->node->status.capacity, RES_CPU)), lower = 0;
    int r = threshold_cpu_eviction(in->slo, &lower, err);

    if (r < 0 || capacity <= 0 || !in->node_cores.set)
        return r;
    int64_t percent = i64_muldiv(i64_from_f64(in->node_cores.v * 1000), 100, capacity);
    if (percent < in->slo->cpu_evict_threshold_percent.v)
        return 0;
    struct evict_amounts *gives = arena_newn0(a, in->npods + 1, struct evict_amounts);
    for (uint32_t i = 0; i < in->npods; i++) {
        double cores;
        if (in->used(in->arg, in->pods[i], EVICT_USED_CPU, &cores))
            evict_put(&gives[i], EVICT_CPU_MILLI, i64_from_f64(cores * 1000));
    }
    t->kind = EVICT_POD_USED;
    t->gives = gives;
    evict_put(&t->to_release, EVICT_CPU_MILLI, i64_muldiv(capacity, percent - lower, 100));
    evict_candidates_priority(in, in->slo->evict_enabled_priority_threshold.v, false, a, t);
    return 1;
}
