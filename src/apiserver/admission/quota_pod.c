/* quota_pod.c - what a pod counts for in quotas: itself, its requests and limits. */
#include "api/podresources.h"
#include "apiserver/admission/quota.h"
#include "base/ktime.h"
#include "base/num.h"

static void add_request(struct quota_usage *u, const char *name, struct qty q)
{
    bool plain = streq(name, "cpu") || streq(name, "memory") || streq(name, "ephemeral-storage") ||
                 str_starts(name, "hugepages-");

    if (plain)
        quota_usage_add(u, name, q);
    if (plain || strchr(name, '/'))
        quota_usage_add(u, arena_printf(u->a, "requests.%s", name), q);
}

static void add_limit(struct quota_usage *u, const char *name, struct qty q)
{
    if (streq(name, "cpu") || streq(name, "memory") || streq(name, "ephemeral-storage"))
        quota_usage_add(u, arena_printf(u->a, "limits.%s", name), q);
}

bool quota_pod_overdue(const struct kj_val *pod, nsec_t now)
{
    const char *since = kj_str(kj_path(pod, "metadata.deletionTimestamp"));
    int64_t grace = kj_i64_or(kj_path(pod, "metadata.deletionGracePeriodSeconds"), -1);
    nsec_t at;

    return since && grace >= 0 && grace < 1 << 30 &&
           ktime_parse(since, strlen(since), &at, NULL) == 0 &&
           now > i64_add_sat(at, grace * NSEC_PER_SEC);
}

bool quota_pod_terminating(const struct kj_val *pod)
{
    return kj_i64_or(kj_path(pod, "spec.activeDeadlineSeconds"), -1) >= 0;
}

void quota_usage_of_pod(struct quota_usage *u, const struct kj_val *obj, nsec_t now)
{
    static const struct podres_options with_status = { .use_status = true };
    const char *phase = kj_str_or(kj_path(obj, "status.phase"), "");
    struct pod *pod;

    if (streq(phase, "Succeeded") || streq(phase, "Failed") || quota_pod_overdue(obj, now) ||
        pod_decode(obj, u->a, &pod, NULL) < 0)
        return;
    quota_usage_add(u, "pods", qty_from_i64(1, QTY_DECIMAL_SI));
    reslist requests = pod_requests(pod, &with_status, u->a);
    reslist limits = pod_limits(pod, &with_status, u->a);
    for (size_t i = 0; i < requests.n; i++)
        add_request(u, requests.items[i].name, requests.items[i].value);
    for (size_t i = 0; i < limits.n; i++)
        add_limit(u, limits.items[i].name, limits.items[i].value);
}
