/* hpa_calc.c - from the samples of pods to a number of replicas, as Kubernetes' documentation of
 * horizontal autoscaling has it: the share of the target that is in use, times the pods that count.
 *
 * Pods that start are no evidence for more pods, pods without a sample none for fewer: where they
 * could matter they count as using nothing when the number would rise, and all of it when it would
 * fall; and they never turn the direction.
 */
#include <math.h>

#include "base/num.h"
#include "cluster/hpa.h"

#define CPU_INITIALIZATION (300 * NSEC_PER_SEC)
#define FIRST_READINESS    (30 * NSEC_PER_SEC)

enum group { G_IGNORED, G_UNREADY, G_MISSING, G_READY };
struct sums {
    int64_t value, request;
    int32_t n;
};

/* CPU of a pod that starts says nothing of what it will need. */
static bool is_starting(const struct hpa_sample *s, nsec_t now)
{
    const struct pod_status *st = &s->pod->status;
    const struct condition *ready = condition_find(&st->conditions, "Ready");

    if (!ready || st->start_time == 0)
        return true;
    bool unready = ready->status == COND_FALSE;
    if (i64_add_sat(st->start_time, CPU_INITIALIZATION) > now)
        return unready || s->at < i64_add_sat(ready->last_transition_time, s->window);
    return unready && i64_add_sat(st->start_time, FIRST_READINESS) > ready->last_transition_time;
}

static enum group group_of(const struct hpa_sample *s, const struct hpa_goal *g)
{
    const struct pod *p = s->pod;

    if (p->obj.meta.deleted || p->status.phase == POD_FAILED)
        return G_IGNORED;
    if (p->status.phase == POD_PENDING)
        return G_UNREADY;
    if (!s->known)
        return G_MISSING;
    return g->is_cpu && is_starting(s, g->now) ? G_UNREADY : G_READY;
}

static void add(struct sums *t, int64_t value, int64_t request)
{
    t->value = i64_add_sat(t->value, value);
    t->request = i64_add_sat(t->request, request);
    t->n++;
}

static double ratio(const struct sums *t, const struct hpa_goal *g, int32_t *ret_percent)
{
    int64_t percent = t->request > 0 ? i64_muldiv(t->value, 100, t->request) : 0;

    *ret_percent = (int32_t)MIN(percent, (int64_t)INT32_MAX);
    double use = g->is_utilization ? (double)*ret_percent : (double)(t->value / t->n);
    return use / (double)g->target;
}

static bool is_close(double r, const struct hpa_goal *g)
{
    return 1.0 - g->down <= r && r <= 1.0 + g->up;
}

static int32_t times(double r, int32_t n)
{
    double x = ceil(r * n);
    return x >= INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* Those of whom nothing is known, on the side of caution. */
static void add_doubtful(struct sums *t, const hpa_samplevec *samples, const struct hpa_goal *g,
                         double r, bool with_unready)
{
    int64_t percent = MAX(INT64_C(100), g->target);

    vec_foreach(samples, i) {
        const struct hpa_sample *s = &samples->items[i];
        enum group in = group_of(s, g);
        int64_t all = g->is_utilization ? i64_muldiv(s->request, percent, 100) : g->target;
        if (in == G_MISSING && r != 1.0)
            add(t, r < 1.0 ? all : 0, s->request);
        else if (in == G_UNREADY && with_unready)
            add(t, 0, s->request);
    }
}

static int32_t propose(const hpa_samplevec *samples, const struct hpa_goal *g, struct sums t,
                       double r, const size_t count[G_READY + 1])
{
    bool with_unready = count[G_UNREADY] > 0 && r > 1.0;
    int32_t percent;

    if (!with_unready && count[G_MISSING] == 0)
        return is_close(r, g) ? g->replicas : times(r, (int32_t)count[G_READY]);
    add_doubtful(&t, samples, g, r, with_unready);
    double now = ratio(&t, g, &percent);
    if (is_close(now, g) || (r < 1.0 && now > 1.0) || (r > 1.0 && now < 1.0))
        return g->replicas;
    int32_t n = times(now, t.n);
    bool turns = now < 1.0 ? n > g->replicas : n < g->replicas;
    return turns ? g->replicas : n;
}

const char *hpa_calc(const hpa_samplevec *samples, const struct hpa_goal *g,
                     struct hpa_proposal *ret)
{
    size_t count[G_READY + 1] = { 0 };
    struct sums t = { 0 };

    if (samples->n == 0)
        return "no pods returned by selector while calculating replica count";
    vec_foreach(samples, i) {
        const struct hpa_sample *s = &samples->items[i];
        enum group in = group_of(s, g);
        count[in]++;
        if (in == G_READY)
            add(&t, s->value, s->request);
    }
    if (t.n == 0)
        return "did not receive metrics for targeted pods (pods might be unready)";
    if (g->is_utilization && t.request == 0)
        return "no metrics returned matched known pods";
    double r = ratio(&t, g, &ret->utilization);
    ret->average = t.value / t.n;
    ret->replicas = propose(samples, g, t, r, count);
    return NULL;
}
