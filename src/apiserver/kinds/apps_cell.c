/* apps_cell.c - columns of the workloads. */
#include "apiserver/kinds/internal.h"

static void ready_of(const struct kj_val *obj, struct strbuf *out)
{
    strbuf_appendf(out, "\"%lld/%lld\"",
                   (long long)kj_i64_or(kj_path(obj, "status.readyReplicas"), 0),
                   (long long)kj_i64_or(kj_path(obj, "spec.replicas"), 0));
}

static void cell_ready(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    ready_of(obj, out);
}
INT_CELL(cell_updated, "status.updatedReplicas")
INT_CELL(cell_available, "status.availableReplicas")
INT_CELL(cell_desired, "spec.replicas")
INT_CELL(cell_current, "status.replicas")
INT_CELL(cell_ready_count, "status.readyReplicas")

#define WIDE_CONTAINERS                                                                          \
    { .name = "Containers", .type = "string", .priority = 1, .cell = cell_template_containers }, \
    {                                                                                            \
        .name = "Images", .type = "string", .priority = 1, .cell = cell_template_images          \
    }
#define WIDE_SELECTOR                                                              \
    {                                                                              \
        .name = "Selector", .type = "string", .priority = 1, .cell = cell_selector \
    }

static const struct res_column deployment_columns_list[] = {
    NAME_COLUMN,
    { .name = "Ready", .type = "string", .cell = cell_ready },
    { .name = "Up-to-date", .type = "string", .cell = cell_updated },
    { .name = "Available", .type = "string", .cell = cell_available },
    AGE_COLUMN,
    WIDE_CONTAINERS,
    WIDE_SELECTOR,
};
COLUMNS(deployment_columns);

static const struct res_column replicaset_columns_list[] = {
    NAME_COLUMN,
    { .name = "Desired", .type = "integer", .cell = cell_desired },
    { .name = "Current", .type = "integer", .cell = cell_current },
    { .name = "Ready", .type = "integer", .cell = cell_ready_count },
    AGE_COLUMN,
    WIDE_CONTAINERS,
    WIDE_SELECTOR,
};
COLUMNS(replicaset_columns);

LABELS_CELL(cell_rc_selector, "spec.selector")

static const struct res_column rc_columns_list[] = {
    NAME_COLUMN,
    { .name = "Desired", .type = "integer", .cell = cell_desired },
    { .name = "Current", .type = "integer", .cell = cell_current },
    { .name = "Ready", .type = "integer", .cell = cell_ready_count },
    AGE_COLUMN,
    WIDE_CONTAINERS,
    { .name = "Selector", .type = "string", .priority = 1, .cell = cell_rc_selector },
};
COLUMNS(rc_columns);

static const struct res_column statefulset_columns_list[] = {
    NAME_COLUMN,
    { .name = "Ready", .type = "string", .cell = cell_ready },
    AGE_COLUMN,
    WIDE_CONTAINERS,
};
COLUMNS(statefulset_columns);

INT_CELL(cell_ds_desired, "status.desiredNumberScheduled")
INT_CELL(cell_ds_current, "status.currentNumberScheduled")
INT_CELL(cell_ds_ready, "status.numberReady")
INT_CELL(cell_ds_updated, "status.updatedNumberScheduled")
INT_CELL(cell_ds_available, "status.numberAvailable")

LABELS_CELL(cell_node_selector, "spec.template.spec.nodeSelector")

static const struct res_column daemonset_columns_list[] = {
    NAME_COLUMN,
    { .name = "Desired", .type = "integer", .cell = cell_ds_desired },
    { .name = "Current", .type = "integer", .cell = cell_ds_current },
    { .name = "Ready", .type = "integer", .cell = cell_ds_ready },
    { .name = "Up-to-date", .type = "integer", .cell = cell_ds_updated },
    { .name = "Available", .type = "integer", .cell = cell_ds_available },
    { .name = "Node Selector", .type = "string", .cell = cell_node_selector },
    AGE_COLUMN,
    WIDE_CONTAINERS,
    WIDE_SELECTOR,
};
COLUMNS(daemonset_columns);

static void cell_controller(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_path(obj, "metadata.ownerReferences"));
    const struct kj_val *v;

    (void)now;
    while (kj_next(&it, NULL, &v)) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        const char *api = v_str(v, "apiVersion"), *slash = strchr(api, '/');
        if (!kj_bool(kj_get(v, "controller"), false))
            continue;
        for (const char *p = v_str(v, "kind"); *p; p++)
            strbuf_appendc(&b, *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p);
        if (slash)
            strbuf_appendf(&b, ".%.*s", (int)(slash - api), api);
        strbuf_appendf(&b, "/%s", v_str(v, "name"));
        cell_text(out, strbuf_str(&b));
        return;
    }
    cell_text(out, "<none>");
}
INT_CELL(cell_revision, "revision")

static const struct res_column revision_columns_list[] = {
    NAME_COLUMN,
    { .name = "Controller", .type = "string", .cell = cell_controller },
    { .name = "Revision", .type = "string", .cell = cell_revision },
    AGE_COLUMN,
};
COLUMNS(revision_columns);
