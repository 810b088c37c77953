/* volumes_hollow.c - a provisioner without disks: a PersistentVolume for every claim of its
 * classes.
 *
 * A volume is called pvc-UID of its claim and names the claim from its birth, so a create that is
 * repeated finds the first; then it is bound as any other. Hollow volumes can be reached from every
 * node.
 */
#include <stdio.h>

#include "base/qty.h"
#include "cluster/volumes.h"

#define PROVISIONER       "koord.sh/hollow"
#define CLASS             "hollow"
#define ANN_DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"
#define PATH              "/var/lib/koord/hollow/"

bool hollow_provisions(const struct volctl *vc, const struct storage_class *class)
{
    return vc->c->o.provisioner && class && streq(str_or(class->provisioner, ""), PROVISIONER);
}

/* ---- volumes -------------------------------------------------------------------------------- */

struct provision { /* of one sync, in the arena of its batch */
    struct volctl *vc;
    const struct pvc *claim;
    const char *name;
};

static void write_claim_ref(struct kjw *w, const struct pvc *c)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(c->obj.meta.uid, uid, sizeof uid);
    kjw_obj(w, "claimRef");
    kjw_str(w, "apiVersion", "v1");
    kjw_str(w, "kind", "PersistentVolumeClaim");
    kjw_str(w, "namespace", c->obj.meta.ns);
    kjw_str(w, "name", c->obj.meta.name);
    kjw_str(w, "uid", uid);
    kjw_str(w, "resourceVersion", c->obj.meta.resource_version);
    kjw_end(w);
}

static void write_spec(struct kjw *w, const struct provision *p, const struct storage_class *class)
{
    const struct pvc *c = p->claim;
    char size[QTY_TEXT_MAX], path[128];
    size_t n = qty_print(reslist_get(&c->spec.requests, "storage"), size);

    (void)snprintf(path, sizeof path, PATH "%s", p->name);
    kjw_obj(w, "spec");
    kjw_obj(w, "capacity");
    kjw_strn(w, "storage", size, n);
    kjw_end(w);
    kjw_arr(w, "accessModes");
    for (uint32_t i = 0; i < c->spec.access_modes.n; i++)
        kjw_str(w, NULL, c->spec.access_modes.items[i]);
    kjw_end(w);
    kjw_str(w, "storageClassName", class->obj.meta.name);
    if (!str_empty(c->spec.volume_mode))
        kjw_str(w, "volumeMode", c->spec.volume_mode);
    kjw_str(w, "persistentVolumeReclaimPolicy", str_or(class->reclaim_policy, "Delete"));
    write_claim_ref(w, c);
    kjw_obj(w, "hostPath");
    kjw_str(w, "path", path);
    kjw_end(w);
    kjw_end(w);
}

/* One of that name is this claim's, from a create whose answer was lost: the cache will show it. */
static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct provision *p = arg;

    (void)b, (void)r;
    if (err && err->reason != KR_ALREADY_EXISTS)
        return false;
    if (!err)
        recorder_event_on(p->vc->c->events, &p->claim->obj, false, "ProvisioningSucceeded", NULL,
                          "Successfully provisioned volume %s", p->name);
    return true;
}

void hollow_provision(struct volctl *vc, struct batch *b, const struct pvc *c,
                      const struct storage_class *class)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct provision *p = arena_new0(batch_arena(b), struct provision);
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    if (c->spec.selector) {
        recorder_event_on(vc->c->events, &c->obj, true, "ProvisioningFailed", NULL,
                          "claim.Spec.Selector is not supported by the provisioner %s",
                          PROVISIONER);
        return;
    }
    kuid_format(c->obj.meta.uid, uid, sizeof uid);
    *p = (struct provision){ vc, c, arena_printf(batch_arena(b), "pvc-%s", uid) };
    if (informer_get(vc->volumes, p->name))
        return; /* of another class meanwhile, or on its way out */
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "PersistentVolume");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", p->name);
    kjw_obj(&w, "annotations");
    kjw_str(&w, ANN_PROVISIONED_BY, PROVISIONER);
    kjw_end(&w);
    kjw_end(&w);
    write_spec(&w, p, class);
    kjw_end(&w);
    batch_create(b, &kind_pv, NULL, &body, on_created, p);
}

/* ---- the class ------------------------------------------------------------------------------- */

static bool has_default(const struct volctl *vc)
{
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(vc->classes, &it)))
        if (streq(meta_annotation(o, ANN_DEFAULT_CLASS), "true"))
            return true;
    return false;
}

static bool on_class_made(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)b, (void)r, (void)arg;
    return !err || err->reason == KR_ALREADY_EXISTS;
}

/* Immediate: WaitForFirstConsumer is for volumes that some nodes cannot reach, and a claim of a pod
 * that brings its node along (spec.nodeName), or is scheduled by somebody else, would wait for
 * ever. The default only where nobody has chosen another. */
static void class_sync(void *arg, struct batch *b, const char *key, struct kobj *class)
{
    struct volctl *vc = arg;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    if (class || !streq(key, CLASS))
        return;
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "storage.k8s.io/v1");
    kjw_str(&w, "kind", "StorageClass");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", CLASS);
    kjw_obj(&w, "annotations");
    if (!has_default(vc))
        kjw_str(&w, ANN_DEFAULT_CLASS, "true");
    kjw_end(&w);
    kjw_end(&w);
    kjw_str(&w, "provisioner", PROVISIONER);
    kjw_str(&w, "reclaimPolicy", "Delete");
    kjw_str(&w, "volumeBindingMode", "Immediate");
    kjw_end(&w);
    batch_create(b, &kind_storage_class, NULL, &body, on_class_made, NULL);
}

/* Once: one that somebody deletes stays away until the next start. */
static void class_start(void *arg)
{
    controller_add(((struct volctl *)arg)->class_controller, CLASS);
}

void hollow_class_start(struct volctl *vc)
{
    vc->class_controller =
        controller_new(vc->c->controllers, &(struct controller_opts){ .name = "hollow-storageclass",
                                                                      .of = vc->classes,
                                                                      .sync = class_sync,
                                                                      .start = class_start,
                                                                      .self = vc });
    controller_read(vc->class_controller, vc->classes);
}
