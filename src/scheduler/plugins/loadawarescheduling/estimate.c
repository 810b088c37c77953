/* estimate.c - what a pod will use, before anybody has observed it (sched-loadaware 3, 4.2). */
#include "api/podresources.h"
#include "api/protocol/loadaware.h"
#include "api/protocol/pod_protocol.h"
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

#include <math.h>

enum { DEFAULT_MCPU = 250, DEFAULT_MEMORY = 200 * 1024 * 1024 };

/* Of pods that ask for nothing. */
static int64_t default_of(const char *name)
{
    if (streq(name, RES_CPU) || streq(name, RES_BATCH_CPU))
        return DEFAULT_MCPU;
    return streq(name, RES_MEMORY) || streq(name, RES_BATCH_MEMORY) ? DEFAULT_MEMORY : 0;
}

static int64_t amount_of(const reslist *list, const char *name)
{
    const struct qty *q = reslist_find(list, name);
    int64_t v = q ? resource_count(name, *q) : 0;

    return v < 0 ? 0 : MIN(v, LOADS_AMOUNT_MAX);
}

static int64_t estimate(const char *name, int64_t factor, const reslist *requests,
                        const reslist *limits)
{
    int64_t limit = amount_of(limits, name), q = MAX(amount_of(requests, name), limit);

    if (q == 0)
        return default_of(name);
    int64_t v = i64_from_f64(round((double)q * (double)factor / 100));
    if (limit > 0 && v > limit)
        v = limit;
    return v < 0 ? 0 : MIN(v, LOADS_AMOUNT_MAX);
}

void load_estimate(const struct loads *l, const struct pod *p, struct arena *a, int64_t *out)
{
    named_i64list own = { 0 };
    enum priority_class class = pod_priority_class(p);
    reslist requests = pod_requests(p, NULL, a), limits = pod_limits(p, NULL, a);

    if (l->args->customize)
        own = load_scaling_factor_list(&p->obj.meta.annotations, a);
    for (uint32_t r = 0; r < l->n; r++) {
        const int64_t *custom = named_i64_find(&own, l->names[r]);
        const char *name = resource_of_class(class, l->names[r]);
        bool has_factor = custom || l->factors[r] != 0;
        out[r] = has_factor && !str_empty(name)
                     ? estimate(name, custom ? *custom : l->factors[r], &requests, &limits)
                     : 0;
    }
}

static int64_t seconds_of(const struct loads *l, const struct pod *p, const char *key,
                          const struct opt_i64 *configured)
{
    int64_t v = l->args->customize ? load_estimated_seconds(&p->obj.meta.annotations, key) : -1;

    return v < 0 && configured->set ? configured->v : v;
}

static nsec_t later(nsec_t t, int64_t seconds)
{
    return i64_add_sat(t, i64_mul_sat(seconds, NSEC_PER_SEC));
}

nsec_t load_deadline(const struct loads *l, const struct pod *p, nsec_t timestamp)
{
    const struct condition *c = condition_find(&p->status.conditions, "Initialized");
    int64_t scheduled = seconds_of(l, p, ANNO_LOAD_SECONDS_SCHEDULED, &l->args->after_scheduled);
    int64_t initialized =
        seconds_of(l, p, ANNO_LOAD_SECONDS_INITIALIZED, &l->args->after_initialized);

    if (initialized > 0 && c && c->status == COND_TRUE && c->last_transition_time)
        return later(c->last_transition_time, initialized);
    return scheduled > 0 ? later(timestamp, scheduled) : 0;
}

enum load_class load_class_of(const struct pod *p)
{
    if (pod_priority_class(p) == PRIO_PROD)
        return LOAD_PROD;
    return pod_qos_class_raw(p) == QOS_BE ? LOAD_BE : LOAD_ANY; /* as koordlet finds its victims */
}
