/* installation.h - koord as the chart installs it: the names of its parts, and questions about
 * them.
 *
 * What `check`, `adopt` and `uninstall` have in common. Koordinator's chart 1.8.0 and its kustomize
 * base give the same names, so the three work on both. Loop thread only.
 */
#ifndef KOORD_CTL_INSTALLATION_H
#define KOORD_CTL_INSTALLATION_H
#include "api/kobj.h"

struct ctl;
struct kj_doc;
struct kj_val;
struct kube_req;

enum part_id { PART_MANAGER, PART_SCHEDULER, PART_DESCHEDULER, PART_KOORDLET, PART_DEVICES, PARTS };
struct part {
    const char *program; /* of the workload, its pods' label koord-app and its account */
    const char *value;   /* its key among the chart's values */
    const struct kind *kind;
    const char *lease;  /* NULL: none */
    const char *port;   /* the name of the container port that answers questions of health */
    const char *checks; /* of readiness: each can say what it waits for; comma separated */
};
extern const struct part koord_parts[PARTS];
#define LABEL_KOORD_APP     "koord-app"
#define MUTATING_WEBHOOKS   "koordinator-mutating-webhook-configuration"
#define VALIDATING_WEBHOOKS "koordinator-validating-webhook-configuration"
#define WEBHOOK_SERVICE     "koordinator-webhook-service"
#define CONFIGMAP_SLO       "slo-controller-config"

extern const struct kind kind_mutating_webhooks, kind_validating_webhooks, kind_crd_object,
    kind_endpoint_slice, kind_cluster_role, kind_cluster_role_binding, kind_role, kind_role_binding,
    kind_service_account;

/* -n, else koordinator-system: not the namespace of the context, which is for users' pods. */
const char *installation_ns(const struct ctl *c);

/* ---- asking ---------------------------------------------------------------------------------- */

/* One answer as a document. What is not there: err->reason is KR_NOT_FOUND. */
int ctl_ask(struct ctl *c, const struct kube_req *r, struct kj_doc **ret, struct kerr *err);
/* Every object of a list, page by page; fn returns false when it has seen enough. */
typedef bool (*ctl_item_fn)(void *arg, const struct kj_val *item);
int ctl_each(struct ctl *c, const struct kube_req *r, ctl_item_fn fn, void *arg, struct kerr *err);
/* POST of a JSON body to a path. */
int ctl_post(struct ctl *c, const char *path, const struct strbuf *body, struct kj_doc **ret,
             struct kerr *err);
/* One of the conditions in an object's status; NULL: it has no such one. */
const struct kj_val *object_condition(const struct kj_val *obj, const char *type);
bool condition_is(const struct kj_val *obj, const char *type, const char *status);
/* Which program a pod runs, by its label; "" for others. */
const char *pod_app(const struct kj_val *pod);
/* The first container of a pod, or of a workload's template. */
const struct kj_val *pod_main(const struct kj_val *pod_spec);
/* The number of a container's port by its name; 0: it has none. */
int64_t container_port(const struct kj_val *container, const char *name);
#endif
