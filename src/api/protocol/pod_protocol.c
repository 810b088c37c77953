/* pod_protocol.c - priority of pods (api 3). */
#include "api/protocol/pod_protocol.h"

#include "api/qos.h"

struct pod_identity pod_identity(const struct pod *p)
{
    if (!p)
        return (struct pod_identity){ 0 };
    return (struct pod_identity){
        .labels = &p->obj.meta.labels,
        .priority = p->spec->priority,
        .kube_qos = pod_qos(p),
    };
}

enum priority_class pod_priority_class_raw(const struct pod *p)
{
    return p ? priority_class_raw(&p->obj.meta.labels, p->spec->priority) : PRIO_NONE;
}

enum priority_class pod_priority_class(const struct pod *p)
{
    enum priority_class raw = pod_priority_class_raw(p);
    struct pod_identity id;

    if (raw != PRIO_NONE || !p)
        return raw;
    id = pod_identity(p);
    return priority_class_with_default(&id);
}

int32_t pod_priority_value(const struct pod *p)
{
    struct pod_identity id;

    if (!p)
        return 0;
    id = pod_identity(p);
    return priority_value_with_default(&id);
}
