/* pod_view.c - containers, resources and class of a pod's tree. */
#include "manager/webhook/pod_view.h"

static int read_list(struct webhook_call *c, struct pod_view *view, const char *field, bool init)
{
    const struct kj_mval *list = kj_mget(kj_mget(c->obj, "spec"), field);
    struct kj_miter it = kj_miter(list);
    struct kerr err = { 0 };
    struct kj_mval *v;

    if (kj_mtype(list) != KJ_ARR)
        return 0;
    for (size_t i = 0; kj_mnext(&it, NULL, &v); i++) {
        struct pod_container *k = &view->containers[view->n++];
        *k = (struct pod_container){ .v = v,
                                     .name = str_or(kj_mstr_get(kj_mget(v, "name")), ""),
                                     .init = init };
        if (tree_resources(v, c->a, &k->r, &err) < 0)
            return webhook_refuse(c, 400, "spec.%s[%zu].%s", field, i, err.text);
    }
    return 0;
}

struct pod_view *pod_view_get(struct webhook_call *c)
{
    struct kj_mval *spec = kj_mget(c->obj, "spec");
    struct pod_view *view = c->self;

    if (view)
        return view;
    view = arena_new0(c->a, struct pod_view);
    view->containers = arena_newn0(
        c->a, kj_mlen(kj_mget(spec, "initContainers")) + kj_mlen(kj_mget(spec, "containers")) + 1,
        struct pod_container);
    if (read_list(c, view, "initContainers", true) < 0 ||
        read_list(c, view, "containers", false) < 0)
        return NULL;
    c->self = view;
    return view;
}

void pod_view_set(struct webhook_call *c, struct pod_container *k, const struct resources *now)
{
    c->answer->changed |= tree_set_resources(c->d, k->v, &k->r, now);
    k->r = *now;
}

/* ---- class ----------------------------------------------------------------------------------- */

static enum kube_qos kube_qos_of(const struct webhook_call *c)
{
    const char *text = kj_mstr_get(kj_mget(kj_mget(c->obj, "status"), "qosClass"));
    CLEANUP(kj_doc_free) struct kj_doc *spec = NULL;

    for (int i = 1; text && kube_qos_names[i]; i++)
        if (streq(text, kube_qos_names[i]))
            return (enum kube_qos)i;
    spec = kj_freeze(kj_mget(c->obj, "spec"));
    return kube_qos_of_document(kj_root(spec));
}

enum priority_class pod_view_class(const struct webhook_call *c)
{
    static const char *const keys[] = { LABEL_PRIORITY_CLASS, LABEL_QOS_CLASS }; /* sorted */
    struct kstrpair pairs[ARRAY_LEN(keys)];
    kstrmap labels = { pairs, 0 };
    struct pod_identity id = { .labels = &labels };
    int64_t priority;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *value = tree_meta_get(c->obj, "labels", keys[i]);
        if (value)
            pairs[labels.n++] = (struct kstrpair){ keys[i], value };
    }
    if (kj_mi64_get(kj_mget(kj_mget(c->obj, "spec"), "priority"), &priority) == 0 &&
        priority >= INT32_MIN && priority <= INT32_MAX)
        id.priority = (struct opt_i32){ true, (int32_t)priority };
    /* What Kubernetes calls it costs a walk over the containers: only when it is needed. */
    if (priority_class_raw(&labels, id.priority) == PRIO_NONE && qos_raw(&labels) == QOS_NONE &&
        kj_mtype(kj_mget(c->obj, "spec")) == KJ_OBJ)
        id.kube_qos = kube_qos_of(c);
    return priority_class_with_default(&id);
}
