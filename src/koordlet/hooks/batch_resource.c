/* batch_resource.c - BatchResource: shares, quota and memory limit of batch pods, which the kubelet
 * takes for pods without any (koordlet-qos 15.3). */
#include <math.h>

#include "api/qos.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"
#include "koordlet/kernel/convert.h"

struct sums {
    int64_t request, limit, memory;
    bool no_limit, no_memory; /* of some container */
};

static void add(const struct extended_container *c, struct sums *s)
{
    int64_t request = qty_value(reslist_get(&c->resources.requests, RES_BATCH_CPU));
    int64_t limit = qty_value(reslist_get(&c->resources.limits, RES_BATCH_CPU));
    int64_t memory = qty_value(reslist_get(&c->resources.limits, RES_BATCH_MEMORY));

    s->request += MAX(request, (int64_t)0);
    s->limit += MAX(limit, (int64_t)0);
    s->memory += MAX(memory, (int64_t)0);
    s->no_limit |= limit <= 0;
    s->no_memory |= memory <= 0;
}

static int64_t normalized(const struct hook_rules *r, int64_t quota)
{
    return quota > 0 && r->ratio > 1 ? (int64_t)ceil((double)quota / r->ratio) : quota;
}

static void respond(const struct hook_rules *r, const struct sums *s, struct hook_context *c)
{
    int64_t quota =
        s->no_limit || r->batch_quota_off ? -1 : normalized(r, milli_to_quota(s->limit));

    c->response.cpu_shares = (struct opt_i64){ true, milli_to_shares(s->request) };
    c->response.cfs_quota = (struct opt_i64){ true, quota };
    c->response.memory_limit = (struct opt_i64){ true, s->no_memory ? -1 : s->memory };
}

static int run_pod(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    struct sums s = { 0 };

    (void)err;
    if (qos_raw(c->labels) != QOS_BE || c->extended_all.n == 0)
        return 0;
    for (uint32_t i = 0; i < c->extended_all.n; i++)
        add(&c->extended_all.items[i], &s);
    respond(r, &s, c);
    return 0;
}

static int run_container(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    struct sums s = { 0 };

    (void)err;
    if (qos_raw(c->labels) != QOS_BE || !c->extended)
        return 0;
    add(c->extended, &s);
    respond(r, &s, c);
    return 0;
}

const struct hook_plugin hook_batch_resource = {
    .name = "BatchResource",
    .gate = GATE_BATCH_RESOURCE,
    .stages = { [HOOK_PRE_RUN_POD_SANDBOX] = run_pod,
                [HOOK_PRE_CREATE_CONTAINER] = run_container,
                [HOOK_PRE_UPDATE_CONTAINER] = run_container },
};
