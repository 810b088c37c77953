/* vendor.c - what the device plugins of vendors want to read of a pod (sched-device 9). */
#include "scheduler/plugins/deviceshare/vendor.h"

#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/model/objects.h"
#include "json/kj.h"

enum { LOCK_TRIES = 5 }; /* others write to the node too */

/* ---- node locks ------------------------------------------------------------------------------ */

struct node_locking {
    struct device_plugin *d;
    struct ks_bind *bind;
    struct kube_call *call;
    const char *key;
    unsigned tries;
};

static void locking_free(struct node_locking *l)
{
    struct device_plugin *d = l->d;

    for (size_t i = 0; i < d->locking.n; i++)
        if (d->locking.items[i] == l) {
            vec_swap_remove(&d->locking, i);
            break;
        }
    kube_cancel(l->call);
    free(l);
}

static void finish(struct node_locking *l, enum ks_code code, const char *why)
{
    struct ks_bind *b = l->bind;

    l->call = NULL;
    locking_free(l);
    ks_bind_done(b, code, why);
}

static void fail(struct node_locking *l, const char *what)
{
    CLEANUP(mem_free) char *text = xasprintf("failed to lock node: %s", what);

    finish(l, KS_ERROR, text);
}

/* Is the pod that has the lock still there? Pods with locks are on the node. */
static bool pod_exists(const struct node_locking *l, const struct node_lock *lock)
{
    const struct ks_nodes *n = l->d->env.nodes;
    uint32_t row = ks_row_of(n, l->bind->node);

    for (uint32_t i = 0; row != KS_NO_ROW && i < n->pods[row].n; i++) {
        const struct objmeta *m = &n->pods[row].items[i]->obj.meta;
        if (streq(m->name, lock->pod) && streq(m->ns, lock->ns))
            return true;
    }
    return false;
}

static bool is_own(const struct node_locking *l, const struct node_lock *lock)
{
    return streq(l->bind->pod->meta.name, lock->pod) && streq(l->bind->pod->meta.ns, lock->ns);
}

/* 0: the lock may be taken. */
static int check_lock(const struct node_locking *l, const char *value, struct arena *a,
                      struct kerr *err)
{
    struct node_lock lock;

    if (str_empty(value))
        return 0;
    if (node_lock_parse(value, a, &lock, err) < 0)
        return err->code;
    nsec_t age = loop_wall(l->d->env.loop) - lock.at;
    if (age > NODE_LOCK_TTL || is_own(l, &lock) || !pod_exists(l, &lock))
        return 0;
    return kerr_set(err, -EBUSY, "node \"%s\" has been locked", l->bind->node);
}

static void lock_read(struct node_locking *l);

static void on_written(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct node_locking *l = arg;

    (void)resp;
    l->call = NULL;
    if (!err)
        finish(l, KS_SUCCESS, NULL);
    else if (err->reason == KR_CONFLICT && ++l->tries < LOCK_TRIES)
        lock_read(l);
    else
        fail(l, err->text);
}

static void lock_write(struct node_locking *l, const char *version, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    const struct node_lock lock = { loop_wall(l->d->env.loop), l->bind->pod->meta.ns,
                                    l->bind->pod->meta.name };

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", version);
    kjw_obj(&w, "annotations");
    kjw_str(&w, l->key, node_lock_format(&lock, a));
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    l->call = kube_do(l->d->env.kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .patch = KUBE_PATCH_MERGE,
                                          .kind = &kind_node,
                                          .name = l->bind->node,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_written, l);
}

static void on_read(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct node_locking *l = arg;
    struct kerr own = { 0 };

    l->call = NULL;
    if (err) {
        fail(l, err->text);
        return;
    }
    if (kj_parse(resp->body, resp->n, 0, &doc, &own) < 0) {
        fail(l, own.text);
        return;
    }
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata");
    const char *value = kj_str_or(kj_get(kj_get(meta, "annotations"), l->key), "");
    if (check_lock(l, value, a, &own) < 0)
        fail(l, own.text);
    else
        lock_write(l, kj_str_or(kj_get(meta, "resourceVersion"), ""), a);
}

static void lock_read(struct node_locking *l)
{
    l->call =
        kube_do(l->d->env.kube,
                &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_node, .name = l->bind->node },
                on_read, l);
}

static enum ks_code lock_node(struct device_plugin *d, struct ks_bind *b, const char *key)
{
    struct node_locking *l = xnew0(struct node_locking);

    *l = (struct node_locking){ .d = d, .bind = b, .key = key };
    vec_push(&d->locking, l);
    lock_read(l);
    return KS_WAIT;
}

void vendor_cancel(void *self, struct ks_bind *b)
{
    struct device_plugin *d = self;

    for (size_t i = 0; i < d->locking.n; i++)
        if (d->locking.items[i]->bind == b) {
            locking_free(d->locking.items[i]);
            return;
        }
}

void vendor_fini(struct device_plugin *d)
{
    while (d->locking.n)
        locking_free(d->locking.items[0]);
    vec_fini(&d->locking);
}

/* ---- vendors --------------------------------------------------------------------------------- */

struct adapting {
    struct device_plugin *d;
    struct ks_bind *b;
    const struct device *device;
    const struct device_allocation_list *gpus;
    struct arena *arena;
    const char *now; /* nanoseconds */
};

static int adapt_huawei(const struct adapting *x, const char **lock, struct kerr *err)
{
    const char *model = kstrmap_get(&x->device->obj.meta.labels, LABEL_GPU_MODEL);

    (void)lock, (void)err;
    ks_bind_annotate(x->b, ANNO_HUAWEI_PREDICATE_TIME, x->now);
    if (model && streq(model, GPU_MODEL_ASCEND_DUO))
        ks_bind_annotate(x->b, ANNO_HUAWEI_ASCEND310P, ascend310p_format(x->gpus, x->arena));
    else
        ks_bind_annotate(x->b, ANNO_HUAWEI_NPU_CORE, huawei_npu_core_format(x->gpus, x->arena));
    return 0;
}

static int adapt_cambricon(const struct adapting *x, const char **lock, struct kerr *err)
{
    const char *profile;

    if (cambricon_profile_format(x->gpus, x->arena, &profile, err) < 0)
        return err->code;
    ks_bind_annotate(x->b, ANNO_CAMBRICON_ASSIGNED, "false");
    ks_bind_annotate(x->b, ANNO_CAMBRICON_PROFILE, profile);
    *lock = ANNO_CAMBRICON_LOCK;
    return 0;
}

static int adapt_metax(const struct adapting *x, const char **lock, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct metax_device *devices = arena_newn0(x->arena, x->gpus->v.n, struct metax_device);
    struct metax_container container = { .v = { .items = devices, .n = x->gpus->v.n } };
    struct metax_allocation all = { .v = { .items = &container, .n = 1 } };

    for (uint32_t i = 0; i < x->gpus->v.n; i++) {
        const struct device_allocation *g = &x->gpus->v.items[i];
        const struct qty *core = reslist_find(&g->resources, RES_GPU_CORE);
        int64_t memory = qty_value(reslist_get(&g->resources, RES_GPU_MEMORY));
        if (!core)
            return kerr_set(err, -EINVAL, "gpu core resource is required");
        if (memory < 1 << 20)
            return kerr_set(err, -EINVAL, "gpu memory must not be less than 1048576 bytes");
        devices[i] = (struct metax_device){ str_or(g->id, ""), qty_value(*core), memory >> 20 };
    }
    metax_allocation_encode(&all, &text);
    ks_bind_annotate(x->b, ANNO_METAX_ALLOCATED, strbuf_str(&text));
    *lock = ANNO_HAMI_LOCK;
    return 0;
}

static const struct {
    const char *vendor;
    int (*adapt)(const struct adapting *x, const char **lock, struct kerr *err);
} vendors[] = {
    { GPU_VENDOR_HUAWEI, adapt_huawei },
    { GPU_VENDOR_CAMBRICON, adapt_cambricon },
    { GPU_VENDOR_METAX, adapt_metax },
};

/* *lock: the annotation by which the node must be locked. */
static int adapt_gpus(const struct adapting *x, const char **lock, struct kerr *err)
{
    const char *vendor = kstrmap_get(&x->device->obj.meta.labels, LABEL_GPU_VENDOR);
    const char *isolation = kstrmap_get(&x->b->pod->meta.labels, LABEL_GPU_ISOLATION_PROVIDER);

    ks_bind_annotate(x->b, ANNO_GPU_MINORS, device_minors_format(x->gpus, x->arena));
    if (isolation && streq(isolation, GPU_ISOLATION_HAMI))
        ks_bind_label(x->b, LABEL_HAMI_VGPU_NODE, x->b->node);
    for (size_t i = 0; vendor && i < ARRAY_LEN(vendors); i++)
        if (streq(vendors[i].vendor, vendor) && vendors[i].adapt(x, lock, err) < 0)
            return kerr_wrap(err, "failed to adapt for GPU device plugin of vendor \"%s\"", vendor);
    return 0;
}

enum ks_code vendor_adapt(struct device_plugin *d, struct ks_bind *b, const struct holding *x,
                          struct arena *a, struct ks_texts *why)
{
    struct kobj *o = objects_get(d->env.objects, &kind_device, NULL, b->node);
    struct device_allocations all = held_allocations(x->items, x->n, device_of(o), a);
    const struct adapting ad = {
        .d = d,
        .b = b,
        .device = device_of(o),
        .gpus = device_allocations_of(&all, DEVICE_TYPE_GPU),
        .arena = a,
        .now = arena_printf(a, "%lld", (long long)loop_wall(d->env.loop)),
    };
    const char *lock = NULL;
    struct kerr err = { 0 };

    ks_bind_annotate(b, ANNO_BIND_TIMESTAMP, ad.now);
    if (ad.gpus && adapt_gpus(&ad, &lock, &err) < 0) {
        ks_texts_add(why, arena_strdup(why->arena, err.text));
        return KS_ERROR;
    }
    return lock ? lock_node(d, b, lock) : KS_SUCCESS;
}
