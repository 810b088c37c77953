/* qos.c - names, the rule of Kubernetes on structs and on documents, Koordinator's label. */
#include "api/qos.h"

#include "api/pod.h"
#include "api/protocol/keys.h"
#include "json/kj.h"

const char *const kube_qos_names[] = { "", "Guaranteed", "Burstable", "BestEffort", NULL };
const char *const qos_class_names[] = { "", "LSE", "LSR", "LS", "BE", "SYSTEM", NULL };

/* Index of a name, 0 ("") when it is NULL or not there. */
static unsigned name_index(const char *const *names, const char *name)
{
    for (unsigned i = 1; name && names[i]; i++)
        if (streq(names[i], name))
            return i;
    return 0;
}

/* ---- Kubernetes ------------------------------------------------------------------------------ */

const char *kube_qos_name(enum kube_qos q)
{
    return kube_qos_names[q];
}

enum { QOS_RESOURCES = 2 };
static const char *const qos_resources[QOS_RESOURCES] = { "cpu", "memory" };

/* Over the containers, or of the pod alone when spec.resources is there. */
struct qos_sum {
    struct qty request[QOS_RESOURCES], limit[QOS_RESOURCES];
    bool all_limited; /* every container limits both */
};

/* One resource of one container; absent is zero. */
static void qos_add(struct qos_sum *s, int resource, struct qty request, struct qty limit)
{
    if (qty_sign(request) > 0)
        s->request[resource] = qty_add(s->request[resource], request);
    if (qty_sign(limit) > 0)
        s->limit[resource] = qty_add(s->limit[resource], limit);
    else
        s->all_limited = false;
}

static enum kube_qos qos_of_sum(const struct qos_sum *s)
{
    bool any = false, equal = true;

    for (int i = 0; i < QOS_RESOURCES; i++) {
        any = any || !qty_is_zero(s->request[i]) || !qty_is_zero(s->limit[i]);
        equal = equal && qty_cmp(s->request[i], s->limit[i]) == 0;
    }
    if (!any)
        return KUBE_QOS_BEST_EFFORT;
    return s->all_limited && equal ? KUBE_QOS_GUARANTEED : KUBE_QOS_BURSTABLE;
}

static void add_resources(struct qos_sum *s, const struct resources *r)
{
    for (int i = 0; i < QOS_RESOURCES; i++)
        qos_add(s, i, reslist_get(&r->requests, qos_resources[i]),
                reslist_get(&r->limits, qos_resources[i]));
}

enum kube_qos pod_compute_qos(const struct pod_spec *spec)
{
    struct qos_sum s = { .all_limited = true };

    if (spec->resources) {
        add_resources(&s, spec->resources);
        return qos_of_sum(&s);
    }
    for (uint32_t i = 0; i < spec->containers.n; i++)
        add_resources(&s, &spec->containers.items[i].resources);
    for (uint32_t i = 0; i < spec->init_containers.n; i++)
        add_resources(&s, &spec->init_containers.items[i].resources);
    return qos_of_sum(&s);
}

static struct qty document_qty(const struct kj_val *list, const char *name)
{
    const char *text = kj_str(kj_get(list, name));
    struct qty q;

    return text && qty_parse(text, strlen(text), &q, NULL) == 0 ? q : (struct qty){ 0 };
}

static void add_document(struct qos_sum *s, const struct kj_val *resources)
{
    const struct kj_val *requests = kj_get(resources, "requests");
    const struct kj_val *limits = kj_get(resources, "limits");

    for (int i = 0; i < QOS_RESOURCES; i++)
        qos_add(s, i, document_qty(requests, qos_resources[i]),
                document_qty(limits, qos_resources[i]));
}

enum kube_qos kube_qos_of_document(const struct kj_val *spec)
{
    static const char *const lists[] = { "containers", "initContainers" };
    struct qos_sum s = { .all_limited = true };
    const struct kj_val *pod_level = kj_get(spec, "resources"), *c;

    if (kj_type(pod_level) == KJ_OBJ) {
        add_document(&s, pod_level);
        return qos_of_sum(&s);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct kj_iter it = kj_iter(kj_get(spec, lists[i])); kj_next(&it, NULL, &c);)
            add_document(&s, kj_get(c, "resources"));
    return qos_of_sum(&s);
}

enum kube_qos pod_qos(const struct pod *p)
{
    return p->status.qos_class ? (enum kube_qos)p->status.qos_class : pod_compute_qos(p->spec);
}

/* ---- Koordinator ----------------------------------------------------------------------------- */

const char *qos_class_name(enum qos_class q)
{
    return qos_class_names[q];
}

enum qos_class qos_class_parse(const char *name)
{
    return (enum qos_class)name_index(qos_class_names, name);
}

enum qos_class qos_raw(const kstrmap *labels)
{
    return labels ? qos_class_parse(kstrmap_get(labels, LABEL_QOS_CLASS)) : QOS_NONE;
}

static enum qos_class qos_from_kube(enum kube_qos q)
{
    switch (q) {
    case KUBE_QOS_GUARANTEED: return KOORD_GUARANTEED_QOS;
    case KUBE_QOS_BURSTABLE: return QOS_LS;
    case KUBE_QOS_BEST_EFFORT: return QOS_BE;
    case KUBE_QOS_NONE: break;
    }
    return QOS_NONE;
}

enum qos_class qos_with_default(const kstrmap *labels, enum kube_qos q)
{
    enum qos_class raw = qos_raw(labels);

    return raw != QOS_NONE ? raw : qos_from_kube(q);
}

enum qos_class pod_qos_class_raw(const struct pod *p)
{
    return p ? qos_raw(&p->obj.meta.labels) : QOS_NONE;
}

enum qos_class pod_qos_class(const struct pod *p)
{
    enum qos_class raw = pod_qos_class_raw(p);

    /* The class of Kubernetes costs a walk over the containers: only when it is needed. */
    return raw != QOS_NONE || !p ? raw : qos_from_kube(pod_qos(p));
}
