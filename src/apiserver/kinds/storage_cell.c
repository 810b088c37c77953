/* storage_cell.c - columns of the storage kinds. */
#include "apiserver/kinds/internal.h"

static void append_modes(const struct kj_val *list, struct strbuf *out)
{
    static const char *const words[][2] = { { "ReadWriteOnce", "RWO" },
                                            { "ReadOnlyMany", "ROX" },
                                            { "ReadWriteMany", "RWX" },
                                            { "ReadWriteOncePod", "RWOP" } };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *v;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (struct kj_iter it = kj_iter(list); kj_next(&it, NULL, &v);)
            if (streq(kj_str_or(v, ""), words[i][0])) {
                strbuf_appendf(&b, "%s%s", b.len ? "," : "", words[i][1]);
                break;
            }
    cell_text(out, strbuf_str(&b));
}

static void cell_phase(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, v_has(kj_get(obj, "metadata"), "deletionTimestamp")
                       ? "Terminating"
                       : kj_str_or(kj_path(obj, "status.phase"), ""));
}

TEXT_CELL(cell_pv_capacity, "spec.capacity.storage", "0")
TEXT_CELL(cell_reclaim, "spec.persistentVolumeReclaimPolicy", "")
TEXT_CELL(cell_class, "spec.storageClassName", "")
TEXT_CELL(cell_attributes, "spec.volumeAttributesClassName", "<unset>")
TEXT_CELL(cell_reason, "status.reason", "")
TEXT_CELL(cell_mode, "spec.volumeMode", "<unset>")

static void cell_pv_modes(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    append_modes(kj_path(obj, "spec.accessModes"), out);
}

static void cell_claim(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *ref = kj_path(obj, "spec.claimRef");

    (void)now;
    if (kj_type(ref) == KJ_OBJ)
        strbuf_appendf(&b, "%s/%s", v_str(ref, "namespace"), v_str(ref, "name"));
    cell_text(out, strbuf_str(&b));
}

static const struct res_column pv_columns_list[] = {
    NAME_COLUMN,
    { .name = "Capacity", .type = "string", .cell = cell_pv_capacity },
    { .name = "Access Modes", .type = "string", .cell = cell_pv_modes },
    { .name = "Reclaim Policy", .type = "string", .cell = cell_reclaim },
    { .name = "Status", .type = "string", .cell = cell_phase },
    { .name = "Claim", .type = "string", .cell = cell_claim },
    { .name = "StorageClass", .type = "string", .cell = cell_class },
    { .name = "VolumeAttributesClass", .type = "string", .cell = cell_attributes },
    { .name = "Reason", .type = "string", .cell = cell_reason },
    AGE_COLUMN,
    { .name = "VolumeMode", .type = "string", .priority = 1, .cell = cell_mode },
};
COLUMNS(pv_columns);

TEXT_CELL(cell_volume, "spec.volumeName", "")

static bool has_volume(const struct kj_val *obj)
{
    return *kj_str_or(kj_path(obj, "spec.volumeName"), "");
}

static void cell_pvc_capacity(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_text(out, has_volume(obj) ? kj_str_or(kj_path(obj, "status.capacity.storage"), "0") : "");
}

static void cell_pvc_modes(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    append_modes(has_volume(obj) ? kj_path(obj, "status.accessModes") : NULL, out);
}

static const struct res_column pvc_columns_list[] = {
    NAME_COLUMN,
    { .name = "Status", .type = "string", .cell = cell_phase },
    { .name = "Volume", .type = "string", .cell = cell_volume },
    { .name = "Capacity", .type = "string", .cell = cell_pvc_capacity },
    { .name = "Access Modes", .type = "string", .cell = cell_pvc_modes },
    { .name = "StorageClass", .type = "string", .cell = cell_class },
    { .name = "VolumeAttributesClass", .type = "string", .cell = cell_attributes },
    AGE_COLUMN,
    { .name = "VolumeMode", .type = "string", .priority = 1, .cell = cell_mode },
};
COLUMNS(pvc_columns);

static void cell_sc_name(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *notes = kj_path(obj, "metadata.annotations");
    bool is_default = streq(v_str(notes, "storageclass.kubernetes.io/is-default-class"), "true");

    (void)now;
    strbuf_appendf(&b, "%s%s", kj_str_or(kj_path(obj, "metadata.name"), ""),
                   is_default ? " (default)" : "");
    cell_text(out, strbuf_str(&b));
}
TEXT_CELL(cell_provisioner, "provisioner", "")
TEXT_CELL(cell_sc_reclaim, "reclaimPolicy", "Delete")
TEXT_CELL(cell_binding, "volumeBindingMode", "Immediate")
BOOL_CELL(cell_expansion, "allowVolumeExpansion", false)

static const struct res_column storageclass_columns_list[] = {
    { .name = "Name", .type = "string", .cell = cell_sc_name },
    { .name = "Provisioner", .type = "string", .cell = cell_provisioner },
    { .name = "ReclaimPolicy", .type = "string", .cell = cell_sc_reclaim },
    { .name = "VolumeBindingMode", .type = "string", .cell = cell_binding },
    { .name = "AllowVolumeExpansion", .type = "string", .cell = cell_expansion },
    AGE_COLUMN,
};
COLUMNS(storageclass_columns);

static void cell_drivers(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    strbuf_append_i64(out, (int64_t)kj_len(kj_path(obj, "spec.drivers")));
}
static const struct res_column csinode_columns_list[] = {
    NAME_COLUMN,
    { .name = "Drivers", .type = "integer", .cell = cell_drivers },
    AGE_COLUMN,
};
COLUMNS(csinode_columns);

BOOL_CELL(cell_attach, "spec.attachRequired", true)
BOOL_CELL(cell_pod_info, "spec.podInfoOnMount", false)
BOOL_CELL(cell_storage_capacity, "spec.storageCapacity", false)
BOOL_CELL(cell_republish, "spec.requiresRepublish", false)

static void cell_joined(const struct kj_val *list, const char *key, const char *none,
                        struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        strbuf_appendf(&b, "%s%s", b.len ? "," : "", key ? v_str(v, key) : kj_str_or(v, ""));
    cell_text(out, b.len ? strbuf_str(&b) : none);
}

static void cell_tokens(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_joined(kj_path(obj, "spec.tokenRequests"), "audience", "<unset>", out);
}

static void cell_lifecycles(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_joined(kj_path(obj, "spec.volumeLifecycleModes"), NULL, "<none>", out);
}

static const struct res_column csidriver_columns_list[] = {
    NAME_COLUMN,
    { .name = "AttachRequired", .type = "boolean", .cell = cell_attach },
    { .name = "PodInfoOnMount", .type = "boolean", .cell = cell_pod_info },
    { .name = "StorageCapacity", .type = "boolean", .cell = cell_storage_capacity },
    { .name = "TokenRequests", .type = "string", .cell = cell_tokens },
    { .name = "RequiresRepublish", .type = "boolean", .cell = cell_republish },
    { .name = "Modes", .type = "string", .cell = cell_lifecycles },
    AGE_COLUMN,
};
COLUMNS(csidriver_columns);

TEXT_CELL(cell_attacher, "spec.attacher", "")
TEXT_CELL(cell_pv, "spec.source.persistentVolumeName", "")
TEXT_CELL(cell_va_node, "spec.nodeName", "")
BOOL_CELL(cell_attached, "status.attached", false)

static const struct res_column attachment_columns_list[] = {
    NAME_COLUMN,
    { .name = "Attacher", .type = "string", .cell = cell_attacher },
    { .name = "PV", .type = "string", .cell = cell_pv },
    { .name = "Node", .type = "string", .cell = cell_va_node },
    { .name = "Attached", .type = "boolean", .cell = cell_attached },
    AGE_COLUMN,
};
COLUMNS(attachment_columns);
