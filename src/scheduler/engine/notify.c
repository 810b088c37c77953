/* notify.c - services of plugins are told of pods, in the order that framework/service.h promises.
 */
#include "api/pod.h"
#include "base/vec.h"
#include "client/informer.h"
#include "scheduler/engine/internal.h"

static struct service_pod known(const struct scheduler *s, const struct kobj *pod)
{
    const char *node = NULL;
    bool assumed = nodecache_find(s->cache, pod->meta.uid, &node) == NODECACHE_ASSUMED;

    return (struct service_pod){ pod_of(pod), assumed ? node : NULL };
}

bool notify_all(struct scheduler *s)
{
    struct vec_of(struct service_pod) pods = { 0 };
    const struct kobj *pod;

    if (!s->synced || !services_wait_for_pods(s->services))
        return false;
    for (size_t it = 0; (pod = informer_next(s->pods, &it));)
        if (!pod_is_terminal(pod_of(pod)))
            vec_push(&pods, known(s, pod));
    for (size_t it = 0; (pod = placeholder_next(s, &it));)
        vec_push(&pods, known(s, pod));
    services_tell_all(s->services, pods.items, pods.n);
    vec_fini(&pods);
    return true;
}

void notify_pod(struct scheduler *s, const struct kobj *before, const struct kobj *pod)
{
    if (services_listen(s->services))
        services_tell(s->services, before ? pod_of(before) : NULL, pod_of(pod));
}

/* The assumption first: it may be one that cannot be given up any more, only the pod can. */
void notify_gone(struct scheduler *s, const struct kobj *last)
{
    if (!services_listen(s->services) || pod_is_terminal(pod_of(last)))
        return;
    const struct service_pod p = known(s, last);
    if (p.node)
        services_tell_forgotten(s->services, p.pod, p.node);
    services_tell_gone(s->services, p.pod);
}

int notify_assume(struct scheduler *s, struct kobj *pod, const char *node,
                  const struct requests *requests, struct kerr *err)
{
    int r = nodecache_assume(s->cache, pod, node, requests, err);

    if (r == 0)
        services_tell_assumed(s->services, pod_of(pod), node);
    return r;
}

bool notify_forget(struct scheduler *s, const struct kobj *pod)
{
    if (services_listen(s->services)) {
        const struct service_pod p = known(s, pod);
        if (p.node)
            services_tell_forgotten(s->services, p.pod, p.node);
    }
    return nodecache_forget(s->cache, pod->meta.uid);
}
