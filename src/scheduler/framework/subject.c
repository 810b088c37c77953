/* subject.c - a pod as what is bound (scheduler-core 6, 7). */
#include "scheduler/framework/subject.h"

#include "api/pod.h"
#include "base/ktime.h"
#include "client/kube.h"
#include "scheduler/framework/plugin.h"
#include "json/kj.h"

static const struct kobj *pod_object(void *self, const struct pod *p)
{
    (void)self;
    return &p->obj;
}

static void write_uid(struct kjw *w, struct kuid id)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(id, uid, sizeof uid);
    kjw_str(w, "uid", uid); /* not on a pod that took over the name */
}

static void pod_bind(void *self, const struct ks_bind *b, struct kube_req *r, struct kjw *w)
{
    (void)self;
    r->verb = KUBE_CREATE;
    r->subresource = "binding";
    kjw_obj(w, NULL);
    kjw_str(w, "apiVersion", "v1");
    kjw_str(w, "kind", "Binding");
    kjw_obj(w, "metadata");
    kjw_str(w, "namespace", b->pod->meta.ns);
    kjw_str(w, "name", b->pod->meta.name);
    write_uid(w, b->pod->meta.uid);
    ks_bind_annotations(b, w);
    kjw_end(w);
    kjw_obj(w, "target");
    kjw_str(w, "kind", "Node");
    kjw_str(w, "name", b->node);
    kjw_end(w);
    kjw_end(w);
}

static void write_condition(const struct pod *p, const struct ks_waiting *why, struct kjw *w)
{
    const struct condition *old = condition_find(&p->status.conditions, "PodScheduled");
    bool stays = old && old->status == COND_FALSE && old->last_transition_time;
    char when[KTIME_TEXT_MAX];
    size_t n = ktime_format(stays ? old->last_transition_time : why->now, when);

    kjw_arr(w, "conditions");
    kjw_obj(w, NULL);
    kjw_str(w, "type", "PodScheduled");
    kjw_str(w, "status", "False");
    kjw_strn(w, "lastTransitionTime", when, n);
    kjw_str(w, "reason", why->reason);
    kjw_str(w, "message", why->message);
    if (p->obj.meta.generation > 0)
        kjw_i64(w, "observedGeneration", p->obj.meta.generation);
    kjw_end(w);
    kjw_end(w);
}

static void pod_waits(void *self, const struct pod *p, const struct ks_waiting *why,
                      struct kube_req *r, struct kjw *w)
{
    (void)self;
    r->verb = KUBE_PATCH;
    r->subresource = "status";
    r->patch = KUBE_PATCH_STRATEGIC;
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    write_uid(w, p->obj.meta.uid);
    kjw_end(w);
    kjw_obj(w, "status");
    if (why->reason)
        write_condition(p, why, w);
    if (why->node && *why->node)
        kjw_str(w, "nominatedNodeName", why->node);
    else if (why->node)
        kjw_null(w, "nominatedNodeName");
    kjw_end(w);
    kjw_end(w);
}

static const char *pod_node(const struct kj_val *object)
{
    return kj_str_or(kj_path(object, "spec.nodeName"), "");
}

const struct ks_subject ks_subject_pod = {
    .object = pod_object,
    .annotates = true,
    .bind = pod_bind,
    .waits = pod_waits,
    .node = pod_node,
};
