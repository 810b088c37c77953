/* node.c - nodes. */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"

static void node_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *status = kj_mget(obj, "status"), *spec = kj_mget(obj, "spec");

    if (m_has(status, "capacity") && !m_has(status, "allocatable"))
        kj_mset(d, status, "allocatable", kj_mclone(d, kj_mget(status, "capacity")));
    if (*m_str(spec, "podCIDR") && !m_has(spec, "podCIDRs")) {
        struct kj_mval *list = kj_marr(d);
        kj_mpush(list, kj_mstr(d, m_str(spec, "podCIDR")));
        kj_mset(d, spec, "podCIDRs", list);
    }
}

/* Unlike other kinds a node may be created with its status: kubelets register themselves so. */
static void node_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                         const struct kj_val *old, nsec_t now)
{
    static const char source[] = "configSource";

    (void)now;
    if (!v_has(kj_get(old, "spec"), source)) /* dynamic configuration of kubelets is gone */
        kj_mdel(kj_mget(obj, "spec"), source, strlen(source));
    if (verb != RES_CREATE)
        prepare_status(verb, d, obj, old, "", "Node");
}

static void check_spec(struct check *c, const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "podCIDRs"));
    const struct kj_val *v;

    check_taints(c, "metadata.taints",
                 kj_get(spec, "taints")); /* the server's path, strange as it is */
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_cidr(c, at(c, "spec.podCIDRs[%zu]", i), kj_str_or(v, ""));
}

static void check_update(struct check *c, const struct kj_val *spec, const struct kj_val *old)
{
    const struct kj_val *was = kj_get(old, "podCIDRs"), *now = kj_get(spec, "podCIDRs");
    const char *provider = v_str(old, "providerID");

    if (kj_len(was) > 0 && !(now && kj_equal(was, now)))
        err_forbidden(c, "spec.podCIDRs",
                      "node updates may not change podCIDR except from \"\" to valid");
    if (*provider && !streq(provider, v_str(spec, "providerID")))
        err_forbidden(c, "spec.providerID",
                      "node updates may not change providerID except from \"\" to valid");
}

static void node_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                          struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *status = kj_get(obj, "status");

    if (verb != RES_STATUS)
        check_spec(&c, spec);
    if (verb != RES_UPDATE) {
        check_resource_list(&c, "status.capacity", kj_get(status, "capacity"));
        check_resource_list(&c, "status.allocatable", kj_get(status, "allocatable"));
    }
    if (verb == RES_UPDATE)
        check_update(&c, spec, kj_get(old, "spec"));
}

static const char *node_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    (void)a;
    if (streq(path, "spec.unschedulable"))
        return kj_bool(kj_path(obj, path), false) ? "true" : "false";
    return NULL;
}

static void node_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                      const struct kj_val *old)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *v;
    struct kj_iter it = kj_iter(kj_get(spec, "podCIDRs"));

    (void)old;
    if (verb == RES_STATUS)
        return;
    if (*v_str(spec, "externalID"))
        api_warn(call, "spec.externalID: this field is deprecated, and is unused by Kubernetes");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_cidr(call, kj_str_or(v, ""), "spec.podCIDRs[%zu]", i);
}

const struct res_strategy node_strategy = { .set_defaults = node_set_defaults,
                                            .prepare = node_prepare,
                                            .validate = node_validate,
                                            .warn = node_warn,
                                            .field = node_field,
                                            .subresource = object_proxy };

/* ---- columns --------------------------------------------------------------------------------- */

static void cell_status(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_path(obj, "status.conditions"));
    const struct kj_val *c;
    const char *word = "Unknown";

    (void)now;
    while (kj_next(&it, NULL, &c))
        if (streq(v_str(c, "type"), "Ready"))
            word = streq(v_str(c, "status"), "True") ? "Ready" : "NotReady";
    strbuf_appendf(out, "\"%s%s\"", word,
                   kj_bool(kj_path(obj, "spec.unschedulable"), false) ? ",SchedulingDisabled" : "");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void cell_roles(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_path(obj, "metadata.labels"));
    const struct kj_val *v;
    const char *roles[16];
    size_t n = 0;
    struct str key;

    (void)now;
    while (n < ARRAY_LEN(roles) && kj_next(&it, &key, &v)) {
        if (key.n > sizeof prefix - 1 && memcmp(key.p, prefix, sizeof prefix - 1) == 0)
            roles[n++] = arena_strndup(a, key.p + sizeof prefix - 1, key.n - (sizeof prefix - 1));
        else if (str_eqz(key, "kubernetes.io/role") && *kj_str_or(v, ""))
            roles[n++] = kj_str(v);
    }
    qsort(roles, n, sizeof roles[0], by_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !streq(roles[i], roles[i - 1]))
            strbuf_appendf(&b, "%s%s", b.len ? "," : "", roles[i]);
    cell_text(out, n ? strbuf_str(&b) : "<none>");
}

static void info(const struct kj_val *obj, const char *key, const char *otherwise,
                 struct strbuf *out)
{
    const char *s = v_str(kj_path(obj, "status.nodeInfo"), key);
    cell_text(out, *s ? s : otherwise);
}

static void address(const struct kj_val *obj, const char *type, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_path(obj, "status.addresses"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v)) {
        if (streq(v_str(v, "type"), type)) {
            cell_text(out, v_str(v, "address"));
            return;
        }
    }
    cell_text(out, "<none>");
}

static void cell_version(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    info(obj, "kubeletVersion", "", out);
}

static void cell_internal_ip(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    address(obj, "InternalIP", out);
}

static void cell_external_ip(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    address(obj, "ExternalIP", out);
}

static void cell_os(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    info(obj, "osImage", "<unknown>", out);
}

static void cell_kernel(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    info(obj, "kernelVersion", "<unknown>", out);
}

static void cell_runtime(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    info(obj, "containerRuntimeVersion", "<unknown>", out);
}

static const struct res_column node_columns_list[] = {
    NAME_COLUMN,
    { .name = "Status", .type = "string", .cell = cell_status },
    { .name = "Roles", .type = "string", .cell = cell_roles },
    AGE_COLUMN,
    { .name = "Version", .type = "string", .cell = cell_version },
    { .name = "Internal-IP", .type = "string", .priority = 1, .cell = cell_internal_ip },
    { .name = "External-IP", .type = "string", .priority = 1, .cell = cell_external_ip },
    { .name = "OS-Image", .type = "string", .priority = 1, .cell = cell_os },
    { .name = "Kernel-Version", .type = "string", .priority = 1, .cell = cell_kernel },
    { .name = "Container-Runtime", .type = "string", .priority = 1, .cell = cell_runtime },
};
COLUMNS(node_columns);
