/* templates.c - shares of GPUs that a vendor allows (sched-device 6.2). */
#include "scheduler/plugins/deviceshare/templates.h"

#include "api/core.h"
#include "api/node.h"
#include "base/arena.h"
#include "base/klog.h"
#include "client/informer.h"
#include "scheduler/plugins/deviceshare/args.h"

/* What rows can give has changed, and with that who might fit. */
static void tell(struct templates *t)
{
    const struct ks_nodes *n = t->env.nodes;

    for (uint32_t row = 0; n && row < n->n; row++)
        ks_touch_row(n, n->node[row]->obj.meta.name);
    if (t->env.scheduler)
        ks_wake(&t->env, "DeviceShare", DEVICE_WAITS_FOR_TEMPLATES);
}

/* A new text; negative: it does not parse, and nothing changes. NULL: there is none. */
static int templates_set(struct templates *t, const char *yaml, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct gpu_templates table = { 0 };

    if (yaml && gpu_templates_decode(yaml, strlen(yaml), a, &table, err) < 0)
        return err->code;
    arena_free(t->arena);
    t->arena = take(a);
    t->table = table;
    tell(t);
    return 0;
}

/* ---- the ConfigMap --------------------------------------------------------------------------- */

static void read_configmap(struct templates *t, struct kobj *o)
{
    const char *yaml =
        kstrmap_get(&container_of(o, const struct configmap, obj)->data, GPU_TEMPLATES_KEY);
    struct kerr err = { 0 };

    if (templates_set(t, yaml, &err) < 0)
        KLOG_E(&err, "Keeping the GPU templates that were there: the ConfigMap does not parse",
               KV_S("namespace", o->meta.ns), KV_S("name", o->meta.name),
               KV_S("key", GPU_TEMPLATES_KEY));
}

static void on_add(void *arg, struct kobj *o)
{
    read_configmap(arg, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    read_configmap(arg, o);
}

static void on_delete(void *arg, struct kobj *o)
{
    (void)o;
    (void)templates_set(arg, NULL, NULL);
}

static const struct informer_handler handler = {
    .on_add = on_add,
    .on_update = on_update,
    .on_delete = on_delete,
};

static int templates_create(const struct ks_env *env, const void *args, void **ret,
                            struct kerr *err)
{
    const struct deviceshare_args *a = args;
    struct templates *t = xnew0(struct templates);

    (void)err;
    t->env = *env;
    t->arena = arena_new();
    if (env->kube && a->templates) {
        CLEANUP(mem_free) char *field = xasprintf("metadata.name=%s", a->templates->name);
        t->informer = informer_new(env->kube, &(struct informer_opts){ .kind = &kind_configmap,
                                                                       .ns = a->templates->ns,
                                                                       .field_selector = field });
        informer_add_handler(t->informer, &handler, t);
        informer_start(t->informer);
    }
    *ret = t;
    return 0;
}

static void templates_destroy(void *service)
{
    struct templates *t = service;

    informer_free(t->informer);
    arena_free(t->arena);
    free(t);
}

const struct ks_service templates_service = {
    .name = "DeviceShare",
    .create = templates_create,
    .destroy = templates_destroy,
    .per_args = true,
};
