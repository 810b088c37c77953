/* burst.c - the arithmetic of one container and of the node (koordlet-qos 9.1 to 9.4). */
#include "koordlet/qos/burst/burst.h"

#include "api/protocol/slo.h"
#include "base/num.h"
#include "koordlet/kernel/convert.h"

#define UP   1.2
#define DOWN 0.8
enum { COOLING_TENTHS = 9, SAVING_BELOW = 60 /* percent of the limit */ };

/* ---- the node -------------------------------------------------------------------------------- */

static bool is_bound(enum qos_class q)
{
    return q == QOS_LSE || q == QOS_LSR;
}

enum burst_node burst_node_state(uint32_t processors, struct opt_f64 node_cores,
                                 const struct burst_apart *apart, size_t n,
                                 int64_t threshold_percent)
{
    double total = processors, used = node_cores.v;
    double threshold = (double)threshold_percent / 100;

    if (!node_cores.set || processors == 0)
        return BURST_NODE_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        if (is_bound(apart[i].qos))
            total -= (double)apart[i].request_milli / 1000;
        if (is_bound(apart[i].qos) || apart[i].qos == QOS_BE)
            used -= apart[i].cores;
    }
    double ratio = total > 0 ? used / total : 1.0;
    if (ratio >= threshold)
        return BURST_NODE_OVERLOAD;
    return ratio >= threshold * 0.9 ? BURST_NODE_COOLING : BURST_NODE_IDLE;
}

/* ---- settings -------------------------------------------------------------------------------- */

struct cpu_burst_config burst_config(const struct cpu_burst_config *node,
                                     const kstrmap *annotations, struct arena *a)
{
    struct cpu_burst_config c = *node, own;

    if (pod_cpu_burst_read(annotations, a, &own, NULL) <= 0)
        return c;
    if (!str_empty(own.policy))
        c.policy = own.policy;
    if (own.cpu_burst_percent.set)
        c.cpu_burst_percent = own.cpu_burst_percent;
    if (own.cfs_quota_burst_percent.set)
        c.cfs_quota_burst_percent = own.cfs_quota_burst_percent;
    if (own.cfs_quota_burst_period_seconds.set)
        c.cfs_quota_burst_period_seconds = own.cfs_quota_burst_period_seconds;
    return c;
}

static bool has_policy(const struct cpu_burst_config *c, const char *which)
{
    return c->policy && (streq(c->policy, "auto") || streq(c->policy, which));
}

int64_t burst_static(const struct cpu_burst_config *c, int64_t limit_milli)
{
    if (!has_policy(c, "cpuBurstOnly") || limit_milli <= 0 || !c->cpu_burst_percent.set)
        return 0;
    return i64_from_f64((double)limit_milli / 1000 * (double)c->cpu_burst_percent.v / 100 *
                        CFS_PERIOD_US);
}

/* ---- the limiter ----------------------------------------------------------------------------- */

static void limiter_init(struct burst_limiter *l, int64_t capacity, const char *id, nsec_t now)
{
    /* Uniform in [0, 0.5): containers that start together do not stop bursting together. */
    uint64_t h = hash_stable(id, strlen(id));
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15); /* IDs that differ in one letter differ */
    double part = (double)(h >> 11) / 9007199254740992.0 / 2;

    *l = (struct burst_limiter){ true, capacity, (double)i64_from_f64((double)capacity * part),
                                 now };
}

bool burst_limiter_allow(struct burst_limiter *l, const struct cpu_burst_config *c, const char *id,
                         int64_t limit_milli, struct opt_f64 used, nsec_t now)
{
    struct opt_i64 period = c->cfs_quota_burst_period_seconds, percent = c->cfs_quota_burst_percent;

    if (!period.set || period.v < 0) {
        l->set = false;
        return true;
    }
    if (!percent.set || percent.v < 100) {
        l->set = false;
        return false;
    }
    int64_t capacity = i64_mul_sat(period.v, percent.v - 100);
    if (!l->set || l->capacity != capacity)
        limiter_init(l, capacity, id, now);
    /* Fractions of a second count: rounds may be shorter than one. */
    double limit = (double)limit_milli / 1000, seconds = (double)(now - l->updated) / 1e9;
    int64_t usage = i64_from_f64((used.set ? used.v : limit) / limit * 100);
    if (usage >= 100)
        l->tokens -= (double)(usage - 100) * seconds;
    else if (usage < SAVING_BELOW)
        l->tokens += (double)(100 - usage) * seconds;
    l->tokens = MIN(MAX(l->tokens, -(double)capacity), (double)capacity);
    l->updated = now;
    return l->tokens > 0;
}

/* ---- the quota ------------------------------------------------------------------------------- */

enum operation { UP_BY_A_FIFTH, REMAIN, DOWN_BY_A_FIFTH, RESET };

static enum operation operation_of(const struct cpu_burst_config *c, enum burst_node node,
                                   struct burst_sample s)
{
    if (!has_policy(c, "cfsQuotaBurstOnly"))
        return RESET;
    if (!s.allowed || node == BURST_NODE_OVERLOAD)
        return DOWN_BY_A_FIFTH;
    bool wanted = s.throttled.set && s.throttled.v > 0;
    return wanted && node == BURST_NODE_IDLE ? UP_BY_A_FIFTH : REMAIN;
}

int64_t burst_quota(const struct cpu_burst_config *c, enum burst_node node, int64_t limit_milli,
                    int64_t now_us, struct burst_sample s)
{
    int64_t base = milli_to_quota(limit_milli), ceiling = base, target = now_us;
    struct opt_i64 percent = c->cfs_quota_burst_percent;

    if (percent.set && percent.v > 100)
        ceiling = i64_from_f64((double)base * (double)percent.v / 100);
    switch (operation_of(c, node, s)) {
    case UP_BY_A_FIFTH: target = i64_from_f64((double)now_us * UP); break;
    case DOWN_BY_A_FIFTH: target = i64_from_f64((double)now_us * DOWN); break;
    case RESET: target = base; break;
    case REMAIN: break;
    }
    return MAX(base, MIN(target, ceiling));
}

int64_t burst_pod_quota(int64_t base_us, int64_t extra_us)
{
    return base_us > 0 ? i64_add_sat(base_us, extra_us) : base_us;
}
