/* sim_scheduler_reserve.c - a plugin that gives nodes to Reservations: each has a placeholder in
 * the queue, and is bound by a patch of its status, which must meet the object as it was seen.
 */
#include "sim_scheduler.h"

#include "api/koord/reservation.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/strbuf.h"
#include "scheduler/model/objects.h"
#include "json/kj.h"

#define NOMINATED "nominated-node" /* a label: the status has no place for it */

static struct sim_scheduler *next_born;

void reserve_for(struct sim_scheduler *s)
{
    next_born = s;
}

/* Whether it is still there or not. */
static struct sim_pod *find(struct sim *s, struct kuid uid)
{
    for (int i = 0; i < s->npods; i++)
        if (s->pods[i].reserved && kuid_equal(s->pods[i].uid, uid))
            return &s->pods[i];
    return NULL;
}

/* ---- placeholders ---------------------------------------------------------------------------- */

static int service_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    (void)args, (void)err;
    next_born->env = *env;
    *ret = next_born;
    return 0;
}

static void write_condition(struct kjw *w, const char *status, const char *reason,
                            const char *message)
{
    kjw_arr(w, "conditions");
    kjw_obj(w, NULL);
    kjw_str(w, "type", "PodScheduled");
    kjw_str(w, "status", status);
    kjw_str(w, "reason", reason);
    kjw_str(w, "message", message);
    kjw_end(w);
    kjw_end(w);
}

/* What it said last, so that the same is not said again. */
static void write_status(const struct kobj *o, struct strbuf *b)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const timed_conditionlist *conditions = &reservation_of(o)->status.conditions;
    const char *nominated = kstrmap_get(&o->meta.labels, NOMINATED);
    struct kjw w = kjw_to(&text);

    kjw_obj(&w, NULL);
    kjw_str(&w, "nominatedNodeName", nominated ? nominated : "");
    for (uint32_t i = 0; i < conditions->n; i++)
        write_condition(&w, conditions->items[i].status == COND_TRUE ? "True" : "False",
                        conditions->items[i].reason, conditions->items[i].message);
    kjw_end(&w);
    strbuf_appendf(b, ",\"status\":%s}", strbuf_str(&text));
}

/* The CPUs and parts of NUMA nodes that it has. */
static void write_annotations(const struct kobj *o, struct strbuf *b)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *status = kstrmap_get(&o->meta.annotations, ANNO_RESOURCE_STATUS);
    struct kjw w = kjw_to(&text);

    if (!status)
        return;
    kjw_obj(&w, NULL);
    kjw_str(&w, ANNO_RESOURCE_STATUS, status);
    kjw_end(&w);
    strbuf_appendn(b, strbuf_str(&text) + 1, text.len - 2); /* its members alone */
}

static struct kobj *placeholder_of(void *service, const struct kobj *o)
{
    struct sim *s = ((struct sim_scheduler *)service)->sim;
    const struct reservation *r = reservation_of(o);
    const struct sim_pod *p = find(s, o->meta.uid);
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT, annotations = STRBUF_INIT;
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(s->strings);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *pod = NULL;

    if (!p)
        sim_fail(s, "a reservation is seen that was never made");
    if (r->spec.unschedulable)
        return NULL; /* it has ended */
    write_annotations(o, &annotations);
    churn_write_placeholder(p, str_empty(r->status.node_name) ? "" : r->status.node_name,
                            strbuf_str(&annotations), &b);
    write_status(o, &b);
    if (kj_parse(b.data, b.len, 0, &doc, NULL) < 0 ||
        kobj_decode(&kind_pod, kj_root(doc), scratch, &pod, NULL) < 0)
        sim_fail(s, "no placeholder for %s", p->name);
    return pod;
}

static const struct ks_placeholder placeholder = { &kind_reservation, placeholder_of };
static const struct ks_service service = { .name = "Reserve",
                                           .create = service_create,
                                           .placeholder = &placeholder };
static const struct ks_service *const services[] = { &service, NULL };

/* ---- binding --------------------------------------------------------------------------------- */

static const struct kobj *object_of(void *self, const struct pod *p)
{
    struct sim_scheduler *s = self;
    const struct sim_pod *x = find(s->sim, p->obj.meta.uid);
    const struct kobj *o = objects_get(s->env.objects, &kind_reservation, NULL, x->name);

    return o && kuid_equal(o->meta.uid, p->obj.meta.uid) ? o : NULL;
}

static void write_nominated(struct kjw *w, const char *node)
{
    kjw_obj(w, "labels");
    if (*node)
        kjw_str(w, NOMINATED, node);
    else
        kjw_null(w, NOMINATED);
    kjw_end(w);
}

static void bind_status(void *self, const struct ks_bind *b, struct kube_req *r, struct kjw *w)
{
    const struct kobj *o = object_of(self, pod_of(b->pod));
    char uid[KUID_TEXT_MAX];

    r->verb = KUBE_PATCH;
    r->patch = KUBE_PATCH_MERGE;
    r->subresource = "status";
    kuid_format(o->meta.uid, uid, sizeof uid);
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    kjw_str(w, "uid", uid);
    kjw_str(w, "resourceVersion", o->meta.resource_version); /* another may have bound it */
    write_nominated(w, "");
    ks_bind_annotations(b, w);
    kjw_end(w);
    kjw_obj(w, "status");
    kjw_str(w, "nodeName", b->node);
    write_condition(w, "True", "", "");
    kjw_end(w);
    kjw_end(w);
}

static void waits(void *self, const struct pod *p, const struct ks_waiting *why, struct kube_req *r,
                  struct kjw *w)
{
    char uid[KUID_TEXT_MAX];

    (void)self;
    r->verb = KUBE_PATCH;
    r->patch = KUBE_PATCH_MERGE;
    r->subresource = "status";
    kuid_format(p->obj.meta.uid, uid, sizeof uid);
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    kjw_str(w, "uid", uid);
    if (why->node)
        write_nominated(w, why->node);
    kjw_end(w);
    kjw_obj(w, "status");
    if (why->reason)
        write_condition(w, "False", why->reason, why->message);
    kjw_end(w);
    kjw_end(w);
}

static const char *node_in_status(const struct kj_val *o)
{
    return kj_str_or(kj_path(o, "status.nodeName"), "");
}

static const struct ks_subject subject = { .object = object_of,
                                           .annotates = true,
                                           .bind = bind_status,
                                           .waits = waits,
                                           .node = node_in_status };

static const struct ks_subject *reserve_bind(void *self, const struct pod *p)
{
    struct sim_scheduler *s = self;
    return find(s->sim, p->obj.meta.uid) ? &subject : NULL;
}

static int plugin_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)env, (void)args, (void)err;
    *ret_self = next_born;
    return 0;
}

static const struct kind *const kinds[] = { &kind_reservation, NULL };
const struct ks_plugin reserve_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Reserve",
    .kinds = kinds,
    .services = services,
    .create = plugin_create,
    .bind = reserve_bind,
};
