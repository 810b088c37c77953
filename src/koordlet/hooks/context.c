/* context.c - contexts of pods and containers as the kubelet tells them (koordlet-qos 14.2). */
#include "api/podresources.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/kernel/convert.h"

void hook_context_fini(struct hook_context *c)
{
    vec_fini(&c->envs);
    vec_fini(&c->mounts);
    vec_fini(&c->devices);
}

/* ---- batch resources ------------------------------------------------------------------------- */

static void copy_batch(const reslist *from, struct arena *a, reslist *ret)
{
    static const char *const names[] = { RES_BATCH_CPU, RES_BATCH_MEMORY };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct qty *q = reslist_find(from, names[i]);
        if (q)
            *ret = reslist_with(ret, names[i], *q, a);
    }
}

/* false: it has none. */
static bool extended_of_spec(const struct container *c, struct arena *a,
                             struct extended_container *ret)
{
    *ret = (struct extended_container){ .name = c->name };
    copy_batch(&c->resources.requests, a, &ret->resources.requests);
    copy_batch(&c->resources.limits, a, &ret->resources.limits);
    return ret->resources.requests.n > 0 || ret->resources.limits.n > 0;
}

/* Of the spec when any container has batch resources there, else of the annotation. */
static void extended_of_pod(const struct pod *pod, struct arena *a, struct hook_context *ret)
{
    struct extended_resource_spec spec;
    struct kerr ignored;
    struct extended_container *list =
        arena_newn0(a, pod->spec->containers.n + 1, struct extended_container);
    uint32_t n = 0;

    for (uint32_t i = 0; i < pod->spec->containers.n; i++)
        n += extended_of_spec(&pod->spec->containers.items[i], a, &list[n]);
    if (n == 0 && extended_resource_spec_read(&pod->obj.meta.annotations, a, &spec, &ignored) > 0) {
        list = spec.containers.items;
        n = spec.containers.n;
    }
    ret->extended_all.items = list;
    ret->extended_all.n = n;
}

/* The container's own, else its entry in the annotation. */
static void extended_of_container(const struct pod *pod, const struct container *of,
                                  struct arena *a, struct hook_context *ret)
{
    struct extended_container *own = arena_new0(a, struct extended_container);
    struct extended_resource_spec spec;
    struct kerr ignored;

    if (extended_of_spec(of, a, own)) {
        ret->extended = own;
        return;
    }
    if (extended_resource_spec_read(&pod->obj.meta.annotations, a, &spec, &ignored) <= 0)
        return;
    for (uint32_t i = 0; i < spec.containers.n; i++)
        if (streq(spec.containers.items[i].name, of->name))
            ret->extended = &spec.containers.items[i];
}

/* ---- native resources ------------------------------------------------------------------------ */

static void native_of(const reslist *requests, const reslist *limits, struct hook_resources *ret)
{
    int64_t memory = qty_value(reslist_get(limits, "memory"));

    ret->cpu_shares =
        (struct opt_i64){ true, milli_to_shares(qty_milli(reslist_get(requests, "cpu"))) };
    ret->cfs_quota =
        (struct opt_i64){ true, milli_to_quota(qty_milli(reslist_get(limits, "cpu"))) };
    ret->memory_limit = (struct opt_i64){ true, memory > 0 ? memory : -1 };
}

static void context_of(const struct npod *p, struct arena *a, struct hook_context *ret)
{
    const struct pod *pod = npod_pod(p);

    *ret = (struct hook_context){
        .arena = a,
        .ns = str_or(pod->obj.meta.ns, ""),
        .name = pod->obj.meta.name,
        .uid = p->uid,
        .labels = &pod->obj.meta.labels,
        .annotations = &pod->obj.meta.annotations,
        .cgroup_parent = p->cgroup_dir,
    };
}

void hook_context_pod(const struct npod *p, struct arena *a, struct hook_context *ret)
{
    const struct pod *pod = npod_pod(p);

    context_of(p, a, ret);
    extended_of_pod(pod, a, ret);
    reslist requests = pod_requests(pod, NULL, a), limits = pod_limits(pod, NULL, a);
    native_of(&requests, &limits, &ret->requested);
}

void hook_context_container(const struct npod *p, const struct container *of,
                            const struct npod_container *status, struct arena *a,
                            struct hook_context *ret)
{
    context_of(p, a, ret);
    ret->container = of->name;
    ret->container_id = status ? status->id : NULL;
    ret->cgroup_parent = status && status->cgroup_dir ? status->cgroup_dir : p->cgroup_dir;
    native_of(&of->resources.requests, &of->resources.limits, &ret->requested);
    extended_of_container(npod_pod(p), of, a, ret);
}
