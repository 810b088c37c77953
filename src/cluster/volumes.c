/* volumes.c - PersistentVolumeClaims get their volumes. */
#include <stdio.h>

#include "base/qty.h"
#include "cluster/volumes.h"

#define SELECTED_NODE  "volume.kubernetes.io/selected-node"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"

/* ---- the three writes ------------------------------------------------------------------------ */

/* Somebody else wrote meanwhile: the next look decides again. */
static void name_claim(struct batch *b, const struct pv *v, const struct pvc *c)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kuid_format(c->obj.meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", v->obj.meta.resource_version);
    if (!v->spec.claim_ref) { /* else a person, or the scheduler, had chosen it */
        kjw_obj(&w, "annotations");
        kjw_str(&w, ANN_BOUND_BY_US, "yes");
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_obj(&w, "spec");
    kjw_obj(&w, "claimRef");
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "PersistentVolumeClaim");
    kjw_str(&w, "namespace", c->obj.meta.ns);
    kjw_str(&w, "name", c->obj.meta.name);
    kjw_str(&w, "uid", uid);
    kjw_str(&w, "resourceVersion", c->obj.meta.resource_version);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &v->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void name_volume(struct batch *b, const struct pvc *c, const struct pv *v)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", c->obj.meta.resource_version);
    kjw_obj(&w, "annotations");
    kjw_str(&w, ANN_BIND_COMPLETED, "yes");
    if (str_empty(c->spec.volume_name))
        kjw_str(&w, ANN_BOUND_BY_US, "yes");
    kjw_end(&w);
    kjw_end(&w);
    kjw_obj(&w, "spec");
    kjw_str(&w, "volumeName", v->obj.meta.name);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &c->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* v NULL: the volume is gone. */
static void write_status(struct batch *b, const struct pvc *c, const struct pv *v)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const char *phase = v ? "Bound" : "Lost";
    struct kjw w = kjw_to(&body);
    char size[QTY_TEXT_MAX];

    if (streq(str_or(c->phase, ""), phase))
        return;
    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    kjw_str(&w, "phase", phase);
    if (v) {
        kjw_arr(&w, "accessModes");
        for (uint32_t i = 0; i < v->spec.access_modes.n; i++)
            kjw_str(&w, NULL, v->spec.access_modes.items[i]);
        kjw_end(&w);
        size_t n = qty_print(reslist_get(&v->spec.capacity, "storage"), size);
        kjw_obj(&w, "capacity");
        kjw_strn(&w, "storage", size, n);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &c->obj, "status", KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* The write that is missing: of the volume first. */
static void bind(struct batch *b, const struct pvc *c, const struct pv *v)
{
    const struct object_ref *ref = v->spec.claim_ref;

    if (!ref || !kuid_equal(ref->uid, c->obj.meta.uid))
        name_claim(b, v, c);
    else
        name_volume(b, c, v);
}

/* ---- claims without a volume ------------------------------------------------------------------- */

static void tell(struct volctl *vc, const struct pvc *c, bool warns, const char *reason,
                 const char *text)
{
    recorder_event_on(vc->c->events, &c->obj, warns, reason, NULL, "%s", text);
}

static void tell_why(struct volctl *vc, struct batch *b, const struct pvc *c, const char *name,
                     const struct storage_class *class, bool delayed)
{
    struct arena *a = batch_arena(b);

    if (delayed) {
        tell(vc, c, false, "WaitForFirstConsumer",
             "waiting for first consumer to be created before binding");
    } else if (!*name) {
        tell(vc, c, false, "FailedBinding",
             "no persistent volumes available for this claim and no storage class is set");
    } else if (!class) {
        tell(vc, c, true, "ProvisioningFailed",
             arena_printf(a, "storageclass.storage.k8s.io \"%s\" not found", name));
    } else if (!streq(str_or(class->provisioner, ""), NO_PROVISIONER)) {
        tell(vc, c, false, "ExternalProvisioning",
             arena_printf(a,
                          "Waiting for a volume to be created either by the external provisioner "
                          "'%s' or manually by the system administrator. If volume creation is "
                          "delayed, please verify that the provisioner is running and correctly "
                          "registered.",
                          class->provisioner));
    }
}

static void seek(struct volctl *vc, struct batch *b, const struct pvc *c)
{
    const char *name = volume_class(&c->obj, c->spec.storage_class_name);
    const struct kobj *o = *name ? informer_get(vc->classes, name) : NULL;
    const struct storage_class *class = o ? container_of(o, const struct storage_class, obj) : NULL;
    bool delayed = class && class->volume_binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER &&
                   !*meta_annotation(&c->obj, SELECTED_NODE);
    const struct pv *v = volume_find(vc, c, delayed, batch_arena(b));

    if (v)
        bind(b, c, v);
    else if (!delayed && hollow_provisions(vc, class))
        hollow_provision(vc, b, c, class);
    else
        tell_why(vc, b, c, name, class, delayed);
}

/* It names a volume, and the two may not know of each other yet. */
static void meet(struct volctl *vc, struct batch *b, const struct pvc *c)
{
    const struct kobj *o = informer_get(vc->volumes, c->spec.volume_name);
    const struct pv *v = o ? pv_of(o) : NULL;
    const char *why = v && !v->spec.claim_ref ? volume_mismatch(v, c) : NULL;

    if (!v || v->obj.meta.deleted)
        return; /* it may come */
    if (why)
        tell(vc, c, true, "VolumeMismatch",
             arena_printf(batch_arena(b), "Cannot bind to requested volume \"%s\": %s",
                          c->spec.volume_name, why));
    else if (!v->spec.claim_ref || volume_is_for(v, c))
        bind(b, c, v);
    else
        tell(vc, c, true, "FailedBinding",
             arena_printf(batch_arena(b), "volume \"%s\" already bound to a different claim.",
                          c->spec.volume_name));
}

static void keep(struct volctl *vc, struct batch *b, const struct pvc *c)
{
    const struct kobj *o = informer_get(vc->volumes, str_or(c->spec.volume_name, ""));
    const struct pv *v = o ? pv_of(o) : NULL;

    if (v && (!v->spec.claim_ref ||
              (volume_is_for(v, c) && !kuid_equal(v->spec.claim_ref->uid, c->obj.meta.uid))))
        name_claim(b, v, c);
    else if (v && volume_is_for(v, c))
        write_status(b, c, v);
    else if (!streq(str_or(c->phase, ""), "Lost")) {
        tell(vc, c, true, v ? "ClaimMisbound" : "ClaimLost",
             v ? "Two claims are bound to the same volume, this one is bound incorrectly"
               : "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
        write_status(b, c, NULL);
    }
}

static void claim_sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    const struct pvc *c = o ? pvc_of(o) : NULL;

    (void)key;
    if (!c || claim_protect(arg, b, o) || c->obj.meta.deleted)
        return;
    if (*meta_annotation(o, ANN_BIND_COMPLETED))
        keep(arg, b, c);
    else if (!str_empty(c->spec.volume_name))
        meet(arg, b, c);
    else
        seek(arg, b, c);
}

/* ---- news ----------------------------------------------------------------------------------------- */

/* volume: one that names no claim, which the claim that has lost it may get back; NULL: none. */
static void add_seekers(struct volctl *vc, const char *volume)
{
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(vc->claims, &it)))
        if (!*meta_annotation(o, ANN_BIND_COMPLETED) ||
            (volume && streq(str_or(pvc_of(o)->spec.volume_name, ""), volume)))
            controller_add_object(vc->claim_controller, o);
}

static void on_volume(void *arg, struct kobj *o)
{
    struct volctl *vc = arg;
    const struct object_ref *ref = pv_of(o)->spec.claim_ref;
    char key[512];

    controller_add_object(vc->volume_controller, o);
    if (!ref) {
        add_seekers(vc, o->meta.name);
        return;
    }
    (void)snprintf(key, sizeof key, "%s/%s", str_or(ref->ns, ""), str_or(ref->name, ""));
    controller_add(vc->claim_controller, key);
}

static void on_volume_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_volume(arg, o);
}

static void on_claim(void *arg, struct kobj *o)
{
    struct volctl *vc = arg;
    struct kobj *v;
    size_t it = 0;

    controller_add_object(vc->claim_controller, o);
    /* Few volumes name it: those that wait for it, and the one it has. */
    while ((v = informer_next(vc->volumes, &it))) {
        const struct object_ref *ref = pv_of(v)->spec.claim_ref;
        if (ref && streq(str_or(ref->name, ""), o->meta.name) &&
            streq(str_or(ref->ns, ""), o->meta.ns))
            controller_add_object(vc->volume_controller, v);
    }
}

static void on_claim_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_claim(arg, o);
}

static void add_claim(void *to, const char *key)
{
    controller_add(((struct volctl *)to)->claim_controller, key);
}

/* A claim that is to go waits for it. */
static void on_pod_gone(void *arg, struct kobj *o)
{
    index_pod_claims(o, add_claim, arg);
}

static void on_class(void *arg, struct kobj *o)
{
    (void)o;
    add_seekers(arg, NULL);
}

/* ---- life ----------------------------------------------------------------------------------------- */

struct volctl *volctl_new(struct cluster *c)
{
    static const struct informer_handler claims = { on_claim, on_claim_update, on_claim, NULL,
                                                    NULL },
                                         volumes = { on_volume, on_volume_update, on_volume, NULL,
                                                     NULL },
                                         classes = { .on_add = on_class },
                                         pods = { .on_delete = on_pod_gone };
    struct volctl *vc = xnew0(struct volctl);
    struct controller_opts o = { .name = "persistentvolumeclaim",
                                 .of = caches_get(c->caches, &kind_pvc),
                                 .sync = claim_sync,
                                 .self = vc,
                                 .queue = { .concurrency = 4,
                                            .backoff_initial = 50 * NSEC_PER_MSEC,
                                            .backoff_max = 10 * NSEC_PER_SEC } };

    vc->c = c;
    vc->claims = o.of;
    vc->volumes = caches_get(c->caches, &kind_pv);
    vc->classes = caches_get(c->caches, &kind_storage_class);
    vc->pods = caches_get(c->caches, &kind_pod);
    vc->claim_controller = controller_new(c->controllers, &o);
    o.name = "persistentvolume";
    o.of = vc->volumes;
    o.sync = volume_sync;
    vc->volume_controller = controller_new(c->controllers, &o);
    o.name = "ephemeral_volume";
    o.of = vc->pods;
    o.sync = ephemeral_sync;
    o.queue.backoff_max = 1000 * NSEC_PER_SEC;
    vc->ephemeral_controller = controller_new(c->controllers, &o);
    ephemeral_watch(vc);
    if (c->o.provisioner)
        hollow_class_start(vc);
    controller_watch(vc->claim_controller, vc->claims, &claims, vc);
    controller_watch(vc->claim_controller, vc->volumes, &volumes, vc);
    controller_watch(vc->claim_controller, vc->classes, &classes, vc);
    controller_watch(vc->claim_controller, vc->pods, &pods, vc);
    controller_read(vc->volume_controller, vc->volumes);
    controller_read(vc->volume_controller, vc->claims);
    return vc;
}

struct volctl *volctl_free(struct volctl *vc)
{
    if (!vc)
        return NULL;
    controller_free(vc->claim_controller);
    controller_free(vc->volume_controller);
    controller_free(vc->ephemeral_controller);
    controller_free(vc->class_controller);
    free(vc);
    return NULL;
}
