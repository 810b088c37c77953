/* pod_split.c - how a pod is put together: what is its own, and two parts that equal pods share.
 *
 * The parts are apart because they repeat differently: all pods of a StatefulSet have one spec,
 * but each its own labels and claims.
 */
#include "api/meta_fields.h"
#include "api/pod_fields.h"
#include "api/share.h"
#include "json/kj.h"

/* ---- part 0: labels, owners, volumes --------------------------------------------------------- */

struct meta_part_meta {
    const char *generate_name;
    kstrmap labels;
    KLIST(struct owner_ref) owners;
};
struct meta_part_spec {
    volumelist volumes;
};
struct meta_part {
    struct meta_part_meta meta;
    struct meta_part_spec spec;
};

static const struct kfield meta_part_meta_fields[] = { OBJMETA_SHARED_FIELDS(
    struct meta_part_meta) };
static const struct kschema meta_part_meta_schema =
    KSCHEMA("ObjectMeta", struct meta_part_meta, meta_part_meta_fields);
static const struct kfield meta_part_spec_fields[] = {
    POD_VOLUMES_FIELD(struct meta_part_spec),
};
static const struct kschema meta_part_spec_schema =
    KSCHEMA("PodSpec", struct meta_part_spec, meta_part_spec_fields);
static const struct kfield meta_part_fields[] = {
    KF(struct meta_part, meta, "metadata", KF_OBJ, .sub = &meta_part_meta_schema),
    KF(struct meta_part, spec, "spec", KF_OBJ, .sub = &meta_part_spec_schema),
};
static const struct kschema meta_part_schema = KSCHEMA("Pod", struct meta_part, meta_part_fields);

static bool volume_is_kept(const struct pod_volume *v)
{
    return v->claim || v->ephemeral || v->empty_dir || v->host_path || v->csi || v->gce || v->ebs ||
           v->azure_disk || v->cinder || v->portworx || v->iscsi || v->rbd;
}

static bool is_absent(const struct kj_val *v)
{
    return kj_type(v) == KJ_ABSENT || kj_type(v) == KJ_NULL;
}

/* Nobody reads config maps, secrets and tokens; the token volume has a random name on every pod
 * and would make all of them differ. A volume without source owns nothing outside its block. */
static void meta_part_tidy(void *data)
{
    struct meta_part *id = data;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < id->spec.volumes.n; i++)
        if (volume_is_kept(&id->spec.volumes.items[i]))
            id->spec.volumes.items[kept++] = id->spec.volumes.items[i];
    id->spec.volumes.n = kept;
}

/* The same of an item of the JSON. */
static bool volume_dropped(const struct kfield *f, const struct kj_val *item)
{
    if (f->sub != &pod_volume_schema)
        return false;
    for (uint32_t i = 0; i < f->sub->nfields; i++)
        if (f->sub->fields[i].flags & KF_PTR && /* a source */
            !is_absent(kj_getn(item, f->sub->fields[i].json, f->sub->fields[i].json_len)))
            return false;
    return true;
}

/* ---- part 1: spec ---------------------------------------------------------------------------- */

struct spec_part_container_status {
    struct resources *resources;
    reslist allocated_resources;
};
typedef KLIST(struct spec_part_container_status) spec_statuslist;
struct spec_part_status {
    spec_statuslist container_statuses, init_container_statuses, ephemeral_container_statuses;
};
struct spec_part {
    struct pod_spec spec;
    struct spec_part_status status;
};

static const struct kfield spec_part_spec_fields[] = { POD_SPEC_FIELDS };
static const struct kschema spec_part_spec_schema =
    KSCHEMA("PodSpec", struct pod_spec, spec_part_spec_fields);
static const struct kfield spec_part_container_status_fields[] = {
    KF_RESLIST(struct spec_part_container_status, allocated_resources, "allocatedResources"),
    KF(struct spec_part_container_status, resources, "resources", KF_OBJ, .flags = KF_PTR,
       .sub = &resources_schema),
};
static const struct kschema spec_part_container_status_schema = KSCHEMA(
    "ContainerStatus", struct spec_part_container_status, spec_part_container_status_fields);
static const struct kfield spec_part_status_fields[] = {
    CONTAINER_STATUS_LISTS(struct spec_part_status, spec_part_container_status_schema),
};
static const struct kschema spec_part_status_schema =
    KSCHEMA("PodStatus", struct spec_part_status, spec_part_status_fields);
static const struct kfield spec_part_fields[] = {
    KF(struct spec_part, spec, "spec", KF_OBJ, .sub = &spec_part_spec_schema),
    KF(struct spec_part, status, "status", KF_OBJ, .sub = &spec_part_status_schema),
};
static const struct kschema spec_part_schema = KSCHEMA("Pod", struct spec_part, spec_part_fields);

/* ---- the pod's own, cached and whole --------------------------------------------------------- */

struct own_spec {
    const char *node_name;
};
static const struct kfield own_meta_fields[] = { OBJMETA_OWN_FIELDS };
static const struct kschema own_meta_schema =
    KSCHEMA("ObjectMeta", struct objmeta, own_meta_fields);
static const struct kfield own_spec_fields[] = { POD_NODE_NAME_FIELD(struct own_spec) };
static const struct kschema own_spec_schema = KSCHEMA("PodSpec", struct own_spec, own_spec_fields);

static const struct kfield own_container_status_fields[] = { CONTAINER_STATUS_OWN_FIELDS };
static const struct kschema own_container_status_schema =
    KSCHEMA("ContainerStatus", struct container_status, own_container_status_fields);
static const struct kfield own_status_fields[] = {
    POD_STATUS_OWN_FIELDS,
    CONTAINER_STATUS_LISTS(struct pod_status, own_container_status_schema),
};
static const struct kschema own_status_schema =
    KSCHEMA("PodStatus", struct pod_status, own_status_fields);

static const struct kfield whole_container_status_fields[] = {
    CONTAINER_STATUS_OWN_FIELDS,
    CONTAINER_STATUS_REST_FIELDS,
};
static const struct kschema whole_container_status_schema =
    KSCHEMA("ContainerStatus", struct container_status, whole_container_status_fields);
static const struct kfield whole_status_fields[] = {
    POD_STATUS_OWN_FIELDS,
    CONTAINER_STATUS_LISTS(struct pod_status, whole_container_status_schema),
    POD_STATUS_REST_FIELDS,
};
static const struct kschema whole_status_schema =
    KSCHEMA("PodStatus", struct pod_status, whole_status_fields);

#define POD_FIELDS(status_schema)                                                                \
    KF(struct pod, obj.meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &own_meta_schema), \
        KF(struct pod, node_name, "spec", KF_OBJ, .sub = &own_spec_schema),                      \
        KF(struct pod, status, "status", KF_OBJ, .sub = &(status_schema))
static const struct kfield own_fields[] = { POD_FIELDS(own_status_schema) };
static const struct kschema own_schema = KSCHEMA("Pod", struct pod, own_fields);
static const struct kfield whole_fields[] = { POD_FIELDS(whole_status_schema) };
static const struct kschema whole_schema = KSCHEMA("Pod", struct pod, whole_fields);

/* ---- together -------------------------------------------------------------------------------- */

/* Both lists come from the same JSON list, so their items correspond. */
static void attach_statuses(containerstatuslist *own, const spec_statuslist *shared)
{
    assert(own->n == shared->n);
    for (uint32_t i = 0; i < own->n; i++) {
        own->items[i].resources = shared->items[i].resources;
        own->items[i].allocated_resources = shared->items[i].allocated_resources;
    }
}

static void attach(struct pod *pod, const struct meta_part *meta, const struct spec_part *shared)
{
    pod->obj.meta.generate_name = meta->meta.generate_name;
    pod->obj.meta.labels = meta->meta.labels;
    memcpy(&pod->obj.meta.owners, &meta->meta.owners, sizeof pod->obj.meta.owners);
    pod->volumes = meta->spec.volumes;

    pod->spec = &shared->spec;
    attach_statuses(&pod->status.container_statuses, &shared->status.container_statuses);
    attach_statuses(&pod->status.init_container_statuses, &shared->status.init_container_statuses);
    attach_statuses(&pod->status.ephemeral_container_statuses,
                    &shared->status.ephemeral_container_statuses);
}

/* Pods of one workload have one generateName. */
static struct str workload_hint(const struct kj_val *in)
{
    const struct kj_val *v = kj_get(kj_get(in, "metadata"), "generateName");
    return (struct str){ kj_str(v), kj_len(v) };
}

static void pod_attach(struct kobj *o, struct share *const parts[KINDSPLIT_PARTS])
{
    struct pod *pod = container_of(o, struct pod, obj);
    pod->share[0] = parts[0];
    pod->share[1] = parts[1];
    attach(pod, share_data(parts[0]), share_data(parts[1]));
}

static void pod_detach(struct kobj *o, struct share *ret_parts[KINDSPLIT_PARTS])
{
    struct pod *pod = container_of(o, struct pod, obj);
    ret_parts[0] = pod->share[0];
    ret_parts[1] = pod->share[1];
}

const struct kindsplit pod_split = {
    .own = &own_schema,
    .part = { { &meta_part_schema, meta_part_tidy, volume_dropped, workload_hint },
              { &spec_part_schema, NULL, NULL, workload_hint } },
    .attach = pod_attach,
    .detach = pod_detach,
};

const struct kind kind_pod = {
    .group = "",
    .version = "v1",
    .kind = "Pod",
    .plural = "pods",
    .short_names = "po",
    .namespaced = true,
    .has_status = true,
    .schema = &own_schema,
};

int pod_decode(const struct kj_val *in, struct arena *a, struct pod **ret, struct kerr *err)
{
    struct pod *pod = arena_new0(a, struct pod);
    struct meta_part *meta = arena_new0(a, struct meta_part);
    struct spec_part *shared = arena_new0(a, struct spec_part);

    int r = kj_decode(&whole_schema, in, 0, a, pod, err);
    if (r == 0)
        r = kj_decode(&meta_part_schema, in, 0, a, meta, err);
    if (r == 0)
        r = kj_decode(&spec_part_schema, in, 0, a, shared, err);
    if (r < 0)
        return kerr_wrap(err, "Pod");
    attach(pod, meta, shared);
    pod->obj.kind = &kind_pod;
    *ret = pod;
    return 0;
}
