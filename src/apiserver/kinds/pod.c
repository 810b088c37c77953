/* pod.c - pods: what defaults and the server add, what is refused, what selectors see. */
#include "api/qos.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/ktime.h"
#include "base/vec.h"

/* ---- defaults -------------------------------------------------------------------------------- */

static void requests_from_limits(struct kj_mdoc *d, struct kj_mval *resources)
{
    struct kj_mval *limits = kj_mget(resources, "limits"), *v;
    struct kj_miter it = kj_miter(limits);
    struct str key;

    if (kj_mlen(limits) == 0)
        return;
    struct kj_mval *requests = m_obj(d, resources, "requests");
    while (kj_mnext(&it, &key, &v))
        if (!kj_mgetn(requests, key.p, key.n))
            kj_msetn(d, requests, key.p, key.n, kj_mclone(d, v));
}

static void default_container_pods(struct kj_mdoc *d, struct kj_mval *list, bool host_network)
{
    struct kj_miter it = kj_miter(list), ports;
    struct kj_mval *c, *p;

    while (kj_mnext(&it, NULL, &c)) {
        requests_from_limits(d, kj_mget(c, "resources"));
        ports = kj_miter(kj_mget(c, "ports"));
        while (host_network && kj_mnext(&ports, NULL, &p))
            if (m_i64(p, "hostPort", 0) == 0 && m_has(p, "containerPort"))
                kj_mset(d, p, "hostPort", kj_mclone(d, kj_mget(p, "containerPort")));
    }
}

/* Requests of the whole pod: the sum of its containers' where they have any, else its limits. */
static void default_pod_requests(struct kj_mdoc *d, struct kj_mval *spec)
{
    static const char *const names[] = { "cpu", "memory" };
    struct kj_mval *resources = kj_mget(spec, "resources"), *c;

    if (kj_mlen(kj_mget(resources, "limits")) == 0)
        return;
    struct kj_mval *requests = m_obj(d, resources, "requests");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct kj_miter it = kj_miter(kj_mget(spec, "containers"));
        struct qty sum = { 0 }, q;
        char text[QTY_TEXT_MAX];
        bool any = false;
        while (kj_mnext(&it, NULL, &c)) {
            const char *s = m_str(kj_mget(kj_mget(c, "resources"), "requests"), names[i]);
            if (*s && qty_parse(s, strlen(s), &q, NULL) == 0) {
                sum = qty_add(sum, q);
                any = true;
            }
        }
        if (!any || m_has(requests, names[i]))
            continue;
        qty_print(sum, text);
        kj_mset(d, requests, names[i], kj_mstr(d, text));
    }
    requests_from_limits(d, resources);
}

static void default_pod_ips(struct kj_mdoc *d, struct kj_mval *status)
{
    const char *ip = m_str(status, "podIP");
    struct kj_mval *ips = kj_mget(status, "podIPs");

    if (*ip && kj_mlen(ips) == 0) {
        struct kj_mval *list = kj_marr(d), *item = kj_mobj(d);
        kj_mset(d, item, "ip", kj_mstr(d, ip));
        kj_mpush(list, item);
        kj_mset(d, status, "podIPs", list);
    }
}

static void pod_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = kj_mget(obj, "spec");
    bool host_network = m_true(spec, "hostNetwork");

    podspec_default(d, spec);
    default_container_pods(d, kj_mget(spec, "containers"), host_network);
    default_container_pods(d, kj_mget(spec, "initContainers"), host_network);
    default_pod_requests(d, spec);
    m_default_bool(d, spec, "enableServiceLinks", true);
    default_pod_ips(d, kj_mget(obj, "status"));
}

/* ---- what the server owns -------------------------------------------------------------------- */

static void set_new_status(struct kj_mdoc *d, struct kj_mval *obj, nsec_t now)
{
    CLEANUP(kj_doc_free) struct kj_doc *spec = kj_view(kj_mget(obj, "spec"));
    enum kube_qos qos = kube_qos_of_document(kj_root(spec));
    struct kj_mval *status = kj_mobj(d);
    char when[KTIME_TEXT_MAX];

    kj_mset(d, status, "phase", kj_mstr(d, "Pending"));
    if (kj_len(kj_get(kj_root(spec), "schedulingGates")) > 0) {
        struct kj_mval *list = kj_marr(d), *c = kj_mobj(d);
        ktime_format(now, when);
        kj_mset(d, c, "type", kj_mstr(d, "PodScheduled"));
        kj_mset(d, c, "status", kj_mstr(d, "False"));
        kj_mset(d, c, "lastProbeTime", kj_mnull(d));
        kj_mset(d, c, "lastTransitionTime", kj_mstr(d, when));
        kj_mset(d, c, "reason", kj_mstr(d, "SchedulingGated"));
        kj_mset(d, c, "message",
                kj_mstr(d, "Scheduling is blocked due to non-empty scheduling gates"));
        kj_mpush(list, c);
        kj_mset(d, status, "conditions", list);
    }
    kj_mset(d, status, "qosClass", kj_mstr(d, kube_qos_name(qos)));
    kj_mset(d, obj, "status", status);
}

static void pod_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                        const struct kj_val *old, nsec_t now)
{
    struct kj_mval *spec = kj_mget(obj, "spec");

    if (verb == RES_CREATE) {
        if (m_i64(spec, "terminationGracePeriodSeconds", 0) < 0)
            kj_mset(d, spec, "terminationGracePeriodSeconds", kj_mi64(d, 1));
        set_new_status(d, obj, now);
        return;
    }
    if (verb == RES_EPHEMERAL || verb == RES_RESIZE) {
        pod_prepare_part(verb, d, obj, old);
        return;
    }
    prepare_status(verb, d, obj, old, "", "Pod");
    if (verb == RES_STATUS && kj_mtype(kj_mget(obj, "status")) == KJ_OBJ) {
        struct kj_mval *meta = m_obj(d, obj, "metadata");
        m_keep_old(d, kj_mget(obj, "status"), kj_get(old, "status"), "qosClass");
        m_keep_old(d, meta, kj_get(old, "metadata"), "ownerReferences");
    }
}

/* ---- validation ------------------------------------------------------------------------------ */

static void check_status(struct check *c, const struct kj_val *status)
{
    struct kj_iter it = kj_iter(kj_get(status, "podIPs"));
    const struct kj_val *v;

    if (*v_str(status, "nominatedNodeName"))
        check_dns_subdomain(c, "status.nominatedNodeName", v_str(status, "nominatedNodeName"));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        (void)check_ip_loosely(c, at(c, "status.podIPs[%zu]", i), v_str(v, "ip"));
}

static void pod_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                         struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");

    if (verb == RES_STATUS) {
        check_status(&c, kj_get(obj, "status"));
        return;
    }
    if (verb == RES_UPDATE) {
        if (!kj_equal(spec, kj_get(old, "spec"))) {
            check_pod_spec(&c, "spec", spec);
            check_pod_update(&c, obj, old);
        }
        return;
    }
    if (verb == RES_EPHEMERAL || verb == RES_RESIZE) {
        check_pod_part(&c, verb, spec, kj_get(old, "spec"));
        return;
    }
    check_pod_spec(&c, "spec", spec);
    if (kj_len(kj_get(spec, "ephemeralContainers")) > 0)
        err_forbidden(&c, "spec.ephemeralContainers", "cannot be set on create");
    if (kj_len(kj_get(spec, "schedulingGates")) > 0 && *v_str(spec, "nodeName"))
        err_forbidden(&c, "spec.nodeName",
                      "cannot be set until all schedulingGates have been cleared");
}

/* ---- the rest -------------------------------------------------------------------------------- */

static const char *pod_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    static const char *const paths[] = {
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",      "spec.serviceAccountName",
        "status.phase",  "status.podIP",       "status.nominatedNodeName"
    };

    if (streq(path, "spec.hostNetwork"))
        return kj_bool(kj_path(obj, path), false) ? "true" : "false";
    if (streq(path, "status.podIPs"))
        return v_str(kj_at(kj_path(obj, "status.podIPs"), 0), "ip");
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (streq(paths[i], path))
            return v_text(obj, path, a);
    return NULL;
}

bool pod_is_ended(const struct kj_val *pod)
{
    const char *phase = v_str(kj_get(pod, "status"), "phase");
    return streq(phase, "Succeeded") || streq(phase, "Failed");
}

bool pod_is_ready(const struct kj_val *pod)
{
    struct kj_iter it = kj_iter(kj_path(pod, "status.conditions"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "type"), "Ready"))
            return streq(v_str(v, "status"), "True");
    return false;
}

/* Nobody has to confirm the end of a pod that never ran anywhere or that has ended. */
static int64_t pod_grace(const struct kj_val *obj, int64_t asked)
{
    int64_t grace = asked;

    if (asked < 0)
        grace = kj_i64_or(kj_path(obj, "spec.terminationGracePeriodSeconds"), 30);
    if (!*v_str(kj_get(obj, "spec"), "nodeName") || pod_is_ended(obj))
        return 0;
    return grace < 0 ? 1 : grace;
}

static void pod_subresource(struct apiserver *s, struct api_call *c)
{
    struct kerr err;

    if (pod_is_kubelets(c->sub)) {
        pod_ask_kubelet(s, c);
    } else if (c->verb != API_CREATE) {
        api_err_method(&err);
        api_fail(c, &err);
    } else if (streq(c->sub, "binding")) {
        pod_bind(s, c);
    } else {
        pod_evict(s, c);
    }
}

static void warn_of_ips(struct api_call *call, const struct kj_val *status, const char *list)
{
    struct kj_iter it = kj_iter(kj_get(status, list));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_ip(call, v_str(v, "ip"), "status.%s[%zu].ip", list, i);
}

/* Updates come often, and not from people: nothing is said of them. */
static void pod_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                     const struct kj_val *old)
{
    (void)old;
    if (verb == RES_CREATE) {
        warn_of_name(call, obj, "the Pod's hostname");
        warn_of_pod(call, "", obj);
    } else if (verb == RES_STATUS) {
        warn_of_ips(call, kj_get(obj, "status"), "podIPs");
        warn_of_ips(call, kj_get(obj, "status"), "hostIPs");
    }
}

const struct res_strategy pod_strategy = { .set_defaults = pod_set_defaults,
                                           .prepare = pod_prepare,
                                           .validate = pod_validate,
                                           .warn = pod_warn,
                                           .field = pod_field,
                                           .grace = pod_grace,
                                           .subresource = pod_subresource };
