/* installation.c - names of koord's parts in a cluster, and questions about them. */
#include "ctl/installation.h"

#include "api/workload.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "json/kj.h"

enum { PAGE = 500 };

const struct part koord_parts[PARTS] = {
    [PART_MANAGER] = { .program = "koord-manager",
                       .value = "manager",
                       .kind = &kind_deployment,
                       .lease = "koordinator-manager",
                       .port = "health",
                       .checks = "informer-sync,webhook-ready" },
    [PART_SCHEDULER] = { .program = "koord-scheduler",
                         .value = "scheduler",
                         .kind = &kind_deployment,
                         .lease = "koord-scheduler",
                         .port = "metrics",
                         .checks = "informer-sync" },
    [PART_DESCHEDULER] = { .program = "koord-descheduler",
                           .value = "descheduler",
                           .kind = &kind_deployment,
                           .lease = "koord-descheduler",
                           .port = "metrics",
                           .checks = "informer-sync" },
    [PART_KOORDLET] = { .program = "koordlet",
                        .value = "koordlet",
                        .kind = &kind_daemonset,
                        .port = "http",
                        .checks = "agent" },
    [PART_DEVICES] = { .program = "koord-device-daemon",
                       .value = "deviceDaemon",
                       .kind = &kind_daemonset,
                       .checks = "" },
};

#define ADMISSION "admissionregistration.k8s.io"
#define RBAC      "rbac.authorization.k8s.io"
const struct kind kind_mutating_webhooks = { .group = ADMISSION,
                                             .version = "v1",
                                             .kind = "MutatingWebhookConfiguration",
                                             .plural = "mutatingwebhookconfigurations" };
const struct kind kind_validating_webhooks = { .group = ADMISSION,
                                               .version = "v1",
                                               .kind = "ValidatingWebhookConfiguration",
                                               .plural = "validatingwebhookconfigurations" };
const struct kind kind_crd_object = { .group = "apiextensions.k8s.io",
                                      .version = "v1",
                                      .kind = "CustomResourceDefinition",
                                      .plural = "customresourcedefinitions" };
const struct kind kind_endpoint_slice = { .group = "discovery.k8s.io",
                                          .version = "v1",
                                          .kind = "EndpointSlice",
                                          .plural = "endpointslices",
                                          .namespaced = true };
const struct kind kind_cluster_role = {
    .group = RBAC, .version = "v1", .kind = "ClusterRole", .plural = "clusterroles"
};
const struct kind kind_cluster_role_binding = {
    .group = RBAC, .version = "v1", .kind = "ClusterRoleBinding", .plural = "clusterrolebindings"
};
const struct kind kind_role = {
    .group = RBAC, .version = "v1", .kind = "Role", .plural = "roles", .namespaced = true
};
const struct kind kind_role_binding = { .group = RBAC,
                                        .version = "v1",
                                        .kind = "RoleBinding",
                                        .plural = "rolebindings",
                                        .namespaced = true };
const struct kind kind_service_account = { .group = "",
                                           .version = "v1",
                                           .kind = "ServiceAccount",
                                           .plural = "serviceaccounts",
                                           .namespaced = true };

const char *installation_ns(const struct ctl *c)
{
    return str_empty(c->o.ns) ? "koordinator-system" : c->o.ns;
}

/* ---- asking ---------------------------------------------------------------------------------- */

int ctl_ask(struct ctl *c, const struct kube_req *r, struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    *ret = NULL;
    if (ctl_call(c, r, &body, err) < 0)
        return err->code;
    if (kj_parse(strbuf_str(&body), body.len, 0, ret, err) < 0)
        return kerr_wrap(err, "the server's answer");
    return 0;
}

int ctl_each(struct ctl *c, const struct kube_req *r, ctl_item_fn fn, void *arg, struct kerr *err)
{
    CLEANUP(mem_free) char *token = NULL;
    bool more = true;

    while (more) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct kube_req page = *r;
        const struct kj_val *item;
        page.verb = KUBE_LIST;
        page.limit = PAGE;
        page.continue_token = token;
        if (ctl_ask(c, &page, &doc, err) < 0)
            return err->code;
        struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items"));
        while (more && kj_next(&it, NULL, &item))
            more = fn(arg, item);
        const char *next = kj_str(kj_path(kj_root(doc), "metadata.continue"));
        free(token);
        token = str_empty(next) ? NULL : xstrdup(next);
        more = more && token;
    }
    return 0;
}

int ctl_post(struct ctl *c, const char *path, const struct strbuf *body, struct kj_doc **ret,
             struct kerr *err)
{
    return ctl_ask(c,
                   &(struct kube_req){ .verb = KUBE_CREATE,
                                       .raw_path = path,
                                       .body = strbuf_str(body),
                                       .body_len = body->len },
                   ret, err);
}

const struct kj_val *object_condition(const struct kj_val *obj, const char *type)
{
    struct kj_iter it = kj_iter(kj_path(obj, "status.conditions"));
    const struct kj_val *cond;

    while (kj_next(&it, NULL, &cond))
        if (streq(kj_str_or(kj_get(cond, "type"), ""), type))
            return cond;
    return NULL;
}

bool condition_is(const struct kj_val *obj, const char *type, const char *status)
{
    return streq(kj_str_or(kj_get(object_condition(obj, type), "status"), ""), status);
}

const char *pod_app(const struct kj_val *pod)
{
    return kj_str_or(kj_get(kj_path(pod, "metadata.labels"), LABEL_KOORD_APP), "");
}

const struct kj_val *pod_main(const struct kj_val *pod_spec)
{
    return kj_at(kj_get(pod_spec, "containers"), 0);
}

int64_t container_port(const struct kj_val *container, const char *name)
{
    struct kj_iter it = kj_iter(kj_get(container, "ports"));
    const struct kj_val *port;

    while (kj_next(&it, NULL, &port))
        if (streq(kj_str_or(kj_get(port, "name"), ""), name))
            return kj_i64_or(kj_get(port, "containerPort"), 0);
    return 0;
}
