/* hpa_rules.c - what of a recommendation is allowed now.
 *
 * First it is stabilized: the highest recommendation of the last five minutes holds when the number
 * would fall (or the window of `behavior`, which may have one for rising, too). Then it is limited:
 * by minReplicas and maxReplicas, and by how fast it may change: policies of `behavior` (so many
 * pods or percent in a period), else twice as many as now, or four.
 */
#include <math.h>

#include "cluster/hpa.h"

#define WINDOW_DOWN 300 /* s */

static const struct hpa_policy usual_up[] = { { "Pods", 4, 15 }, { "Percent", 100, 15 } };
static const struct hpa_policy usual_down[] = { { "Percent", 100, 15 } };

void hpa_memory_fini(struct hpa_memory *m)
{
    vec_fini(&m->recommended);
    vec_fini(&m->added);
    vec_fini(&m->removed);
    free(m->key);
    free(m->selector);
}

static void forget_before(hpa_momentvec *v, nsec_t then)
{
    size_t kept = 0;

    vec_foreach(v, i)
        if (v->items[i].at >= then)
            v->items[kept++] = v->items[i];
    v->n = kept;
}

static void note(hpa_momentvec *v, int32_t n, nsec_t now)
{
    struct hpa_moment m = { n, now };
    vec_push(v, m);
}

/* ---- rules, with what they are when they do not say ------------------------------------------------ */

static nsec_t window_of(const struct hpa_direction *d, int32_t usual)
{
    return (d && d->window_seconds.set ? d->window_seconds.v : usual) * NSEC_PER_SEC;
}

static hpa_policylist policies_of(const struct hpa_direction *d, bool up)
{
    if (d && d->policies.n)
        return d->policies;
    return up ? (hpa_policylist){ .items = (struct hpa_policy *)(uintptr_t)usual_up,
                                  .n = ARRAY_LEN(usual_up) }
              : (hpa_policylist){ .items = (struct hpa_policy *)(uintptr_t)usual_down,
                                  .n = ARRAY_LEN(usual_down) };
}

static nsec_t longest_period(const struct hpa_direction *d, bool up)
{
    hpa_policylist l = policies_of(d, up);
    int32_t longest = 0;

    for (uint32_t i = 0; i < l.n; i++)
        longest = MAX(longest, l.items[i].period_seconds);
    return longest * NSEC_PER_SEC;
}

/* ---- stabilization ----------------------------------------------------------------------------------- */

void hpa_remember_first(struct hpa_memory *m, int32_t current, nsec_t now)
{
    if (m->recommended.n == 0)
        note(&m->recommended, current, now);
}

static int32_t stabilize(struct hpa_memory *m, const struct hpa_limits *l)
{
    const struct hpa_behavior *b = l->behavior;
    nsec_t down = window_of(b ? b->down : NULL, WINDOW_DOWN), up = window_of(b ? b->up : NULL, 0);
    int32_t highest = l->desired, lowest = l->desired, n = l->current;

    vec_foreach(&m->recommended, i) {
        const struct hpa_moment *r = &m->recommended.items[i];
        if (r->at > l->now - up)
            lowest = MIN(lowest, r->n);
        if (r->at > l->now - down)
            highest = MAX(highest, r->n);
    }
    note(&m->recommended, l->desired, l->now);
    forget_before(&m->recommended, l->now - MAX(MAX(up, down), WINDOW_DOWN * NSEC_PER_SEC));
    if (!b)
        return highest;
    n = MAX(n, lowest);
    return MIN(n, highest);
}

/* ---- how fast ------------------------------------------------------------------------------------------ */

static int64_t changed(const hpa_momentvec *v, int32_t period_seconds, nsec_t now)
{
    int64_t n = 0;

    vec_foreach(v, i)
        if (v->items[i].at > now - period_seconds * NSEC_PER_SEC)
            n += v->items[i].n;
    return n;
}

/* The number that one policy lets the target reach. */
static double reach(const struct hpa_memory *m, const struct hpa_limits *l,
                    const struct hpa_policy *p, bool up)
{
    double before = (double)(l->current - changed(&m->added, p->period_seconds, l->now) +
                             changed(&m->removed, p->period_seconds, l->now));

    if (streq(p->type, "Pods"))
        return up ? before + p->value : before - p->value;
    return up ? ceil(before * (1 + (double)p->value / 100))
              : trunc(before * (1 - (double)p->value / 100));
}

static int32_t limit_of(const struct hpa_memory *m, const struct hpa_limits *l, bool up)
{
    const struct hpa_direction *d = up ? l->behavior->up : l->behavior->down;
    const char *select = d && d->select_policy ? d->select_policy : "Max";
    hpa_policylist policies = policies_of(d, up);
    bool highest = streq(select, "Min") != up;
    double limit = highest ? -INFINITY : INFINITY;

    if (streq(select, "Disabled"))
        return l->current;
    for (uint32_t i = 0; i < policies.n; i++) {
        double r = reach(m, l, &policies.items[i], up);
        limit = highest ? fmax(limit, r) : fmin(limit, r);
    }
    limit = fmin(fmax(limit, INT32_MIN), INT32_MAX);
    /* What has changed meanwhile is not taken back for the sake of the rate. */
    return up ? MAX((int32_t)limit, l->current) : MIN((int32_t)limit, l->current);
}

static int32_t usual_limit(int32_t current)
{
    return (int32_t)MIN(MAX(2 * (int64_t)current, INT64_C(4)), (int64_t)INT32_MAX);
}

/* ---- the verdict ----------------------------------------------------------------------------------------- */

static void limit_to(struct hpa_verdict *v, int32_t n, const char *reason, const char *message)
{
    v->replicas = n;
    v->is_limited = true;
    v->limited_reason = reason;
    v->limited_message = message;
}

static void limit_up(struct hpa_verdict *v, int32_t stable, int32_t max, int32_t rate)
{
    if (stable <= MIN(max, rate))
        return;
    if (max > rate)
        limit_to(v, rate, "ScaleUpLimit",
                 "the desired replica count is increasing faster than the maximum scale rate");
    else
        limit_to(v, max, "TooManyReplicas",
                 "the desired replica count is more than the maximum replica count");
}

static void limit_down(struct hpa_verdict *v, int32_t stable, int32_t min, int32_t rate)
{
    if (stable >= MAX(min, rate))
        return;
    if (min < rate)
        limit_to(v, rate, "ScaleDownLimit",
                 "the desired replica count is decreasing faster than the maximum scale rate");
    else
        limit_to(v, min, "TooFewReplicas",
                 "the desired replica count is less than the minimum replica count");
}

struct hpa_verdict hpa_judge(struct hpa_memory *m, const struct hpa_limits *l)
{
    int32_t stable = stabilize(m, l);
    struct hpa_verdict v = { .replicas = stable,
                             .stable_reason = "ReadyForNewScale",
                             .stable_message = "recommended size matches current size",
                             .limited_reason = "DesiredWithinRange",
                             .limited_message =
                                 "the desired count is within the acceptable range" };

    if (stable != l->desired && l->behavior && l->desired >= l->current) {
        v.stable_reason = "ScaleUpStabilized";
        v.stable_message = "recent recommendations were lower than current one, applying the "
                           "lowest recent recommendation";
    } else if (stable != l->desired) {
        v.stable_reason = "ScaleDownStabilized";
        v.stable_message = "recent recommendations were higher than current one, applying the "
                           "highest recent recommendation";
    }
    if (!l->behavior) {
        limit_up(&v, stable, l->max, usual_limit(l->current));
        limit_down(&v, stable, l->min, INT32_MIN);
    } else if (stable > l->current) {
        limit_up(&v, stable, l->max, limit_of(m, l, true));
    } else if (stable < l->current) {
        limit_down(&v, stable, l->min, limit_of(m, l, false));
    }
    return v;
}

void hpa_remember_change(struct hpa_memory *m, const struct hpa_limits *l, int32_t to)
{
    const struct hpa_behavior *b = l->behavior;

    if (!b || to == l->current)
        return;
    forget_before(&m->added,
                  l->now - MAX(longest_period(b->up, true), longest_period(b->down, false)));
    forget_before(&m->removed,
                  l->now - MAX(longest_period(b->up, true), longest_period(b->down, false)));
    if (to > l->current)
        note(&m->added, to - l->current, l->now);
    else
        note(&m->removed, l->current - to, l->now);
}
