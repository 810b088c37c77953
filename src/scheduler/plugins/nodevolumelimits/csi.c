/* csi.c - which CSI driver attaches a volume, and as which volume. */
#include "scheduler/plugins/nodevolumelimits/csi.h"

#include "base/map.h"
#include "scheduler/model/objects.h"

#define ANN_MIGRATED "storage.alpha.kubernetes.io/migrated-plugins"
#define PORTWORX     "kubernetes.io/portworx-volume"

enum intree { EBS, GCE_PD, AZURE_DISK, CINDER, PORTWORX_VOLUME, INTREES };
static const struct {
    const char *plugin, *driver; /* driver NULL: moved, but is not counted */
} intree_table[] = {
    [EBS] = { "kubernetes.io/aws-ebs", "ebs.csi.aws.com" },
    [GCE_PD] = { "kubernetes.io/gce-pd", "pd.csi.storage.gke.io" },
    [AZURE_DISK] = { "kubernetes.io/azure-disk", "disk.csi.azure.com" },
    [CINDER] = { "kubernetes.io/cinder", "cinder.csi.openstack.org" },
    [PORTWORX_VOLUME] = { PORTWORX, "pxd.portworx.com" },
    { "kubernetes.io/azure-file", NULL },
    { "kubernetes.io/vsphere-volume", NULL },
};

static uint64_t hash_str(struct str s)
{
    return hash_bytes(s.p, s.n);
}

uint64_t csi_driver_id(const char *driver)
{
    return hash_str(str_of(driver));
}

enum space { BY_HANDLE, BY_DISK, BY_CLAIM }; /* names of different spaces never meet */

static void name_volume(struct csi_volume *v, const char *driver, enum space space, struct str a,
                        struct str b)
{
    v->driver_name = driver;
    v->driver = csi_driver_id(driver);
    uint64_t parts[] = { v->driver, space, hash_str(a), hash_str(b) };
    v->id = hash_bytes(parts, sizeof parts);
}

/* "vol-1", "aws://zone/vol-1" and "aws:///vol-1" are one volume. Empty: not a volume of EBS. */
static struct str ebs_handle(const char *id)
{
    const char *p = id;

    if (str_starts(id, "aws://"))
        p = strchr(id + strlen("aws://"), '/');
    while (p && *p == '/')
        p++;
    struct str s = str_of(p);
    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    bool good = s.n >= 4 && memcmp(s.p, "vol-", 4) == 0 && !memchr(s.p, '/', s.n);
    return good ? s : (struct str){ "", 0 };
}

static bool name_intree(struct csi_volume *v, enum intree which, const char *id, const char *zone)
{
    const char *driver = intree_table[which].driver;
    struct str handle = which == EBS ? ebs_handle(id) : str_of(id);

    v->settled = true;
    if (handle.n == 0)
        return false;
    if (which == GCE_PD) /* named by zone and disk; without a project that no CSI handle lacks */
        name_volume(v, driver, BY_DISK, str_of(str_empty(zone) ? "UNSPECIFIED" : zone), handle);
    else
        name_volume(v, driver, BY_HANDLE, handle, (struct str){ "", 0 });
    if (which == PORTWORX_VOLUME) {
        v->if_migrated = true;
        v->settled = false; /* the node may migrate */
    }
    return true;
}

static const char *pv_zone(const struct pv *v)
{
    const char *old = kstrmap_get(&v->obj.meta.labels, "failure-domain.beta.kubernetes.io/zone");
    return !str_empty(old) ? old : kstrmap_get(&v->obj.meta.labels, "topology.kubernetes.io/zone");
}

static bool from_disks(const struct volume_disk *const disk[INTREES], const char *zone,
                       struct csi_volume *ret)
{
    for (int i = 0; i < INTREES; i++)
        if (disk[i])
            return name_intree(ret, (enum intree)i, disk[i]->id, zone);
    ret->settled = true;
    return false;
}

static bool csi_of_pv(const struct pv *v, struct csi_volume *ret)
{
    const struct pv_spec *s = &v->spec;
    const struct volume_disk *const disk[INTREES] = { s->ebs, s->gce, s->azure_disk, s->cinder,
                                                      s->portworx };

    *ret = (struct csi_volume){ 0 };
    if (!s->csi)
        return from_disks(disk, pv_zone(v), ret);
    ret->settled = true;
    if (str_empty(s->csi->driver) || str_empty(s->csi->volume_handle))
        return false;
    name_volume(ret, s->csi->driver, BY_HANDLE, str_of(s->csi->volume_handle),
                (struct str){ "", 0 });
    return true;
}

bool csi_of_attachment(const struct objects *w, const struct volume_attachment *va,
                       struct csi_volume *ret)
{
    const struct pv *pv = va->pv_name ? claims_pv(w, va->pv_name) : NULL;

    *ret = (struct csi_volume){ 0 };
    if (pv)
        return csi_of_pv(pv, ret) && streq(ret->driver_name, va->attacher);
    ret->settled = !va->pv_name;
    if (!va->inline_csi || str_empty(va->inline_csi->volume_handle))
        return false;
    name_volume(ret, va->attacher, BY_HANDLE, str_of(va->inline_csi->volume_handle),
                (struct str){ "", 0 });
    return true;
}

/* A claim without a volume: the provisioner of its class will make one. */
static bool of_class(const struct objects *w, const struct pvc *c, struct csi_volume *ret)
{
    const char *name = pvc_class(c);
    const struct storage_class *class = *name ? claims_class(w, name) : NULL;
    const char *driver = class ? class->provisioner : NULL;

    for (size_t i = 0; driver && i < ARRAY_LEN(intree_table); i++) {
        if (!streq(driver, intree_table[i].plugin))
            continue;
        driver = intree_table[i].driver;
        ret->if_migrated = i == PORTWORX_VOLUME;
    }
    if (str_empty(driver))
        return false;
    name_volume(ret, driver, BY_CLAIM, str_of(c->obj.meta.ns), str_of(c->obj.meta.name));
    return true;
}

bool csi_of_claim(const struct objects *w, const struct pvc *c, struct csi_volume *ret)
{
    const struct pv *v = str_empty(c->spec.volume_name) ? NULL : claims_pv(w, c->spec.volume_name);

    *ret = (struct csi_volume){ 0 };
    return v ? csi_of_pv(v, ret) : of_class(w, c, ret);
}

bool csi_of_inline(const struct pod_volume *v, struct csi_volume *ret)
{
    const struct volume_disk *const disk[INTREES] = { v->ebs, v->gce, v->azure_disk, v->cinder,
                                                      v->portworx };

    *ret = (struct csi_volume){ 0 };
    return from_disks(disk, NULL, ret);
}

bool csi_is_inline(const struct pod_volume *v)
{
    return v->ebs || v->gce || v->azure_disk || v->cinder || v->portworx;
}

bool csi_is_migrated(const struct csi_node *n)
{
    const char *p = n ? kstrmap_get(&n->obj.meta.annotations, ANN_MIGRATED) : NULL;

    for (; p && *p; p += *p == ',') {
        size_t len = strcspn(p, ",");
        if (str_eqz((struct str){ p, len }, PORTWORX))
            return true;
        p += len;
    }
    return false;
}
