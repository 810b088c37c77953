/* volume.c - volumes of a pod and their mounts. */
#include "apiserver/kinds/internal.h"

static void check_items(struct check *c, const char *path, const struct kj_val *source)
{
    struct kj_iter it = kj_iter(kj_get(source, "items"));
    const struct kj_val *v;
    int64_t mode = kj_i64_or(kj_get(source, "defaultMode"), 0);

    if (mode < 0 || mode > 0777)
        err_invalid_i64(c, at(c, "%s.defaultMode", path), mode, FILE_MODE_WORDS);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s.items[%zu]", path, i), *local = v_str(v, "path");
        int64_t m = kj_i64_or(kj_get(v, "mode"), 0);
        if (!*v_str(v, "key"))
            err_required(c, at(c, "%s.key", p), "");
        if (!*local)
            err_required(c, at(c, "%s.path", p), "");
        check_local_path(c, at(c, "%s.path", p), local, true);
        if (m < 0 || m > 0777)
            err_invalid_i64(c, at(c, "%s.mode", p), m, FILE_MODE_WORDS);
    }
}

static void check_config_map(struct check *c, const char *path, const struct kj_val *v)
{
    if (!*v_str(v, "name"))
        err_required(c, at(c, "%s.name", path), "");
    check_items(c, path, v);
}

static void check_secret(struct check *c, const char *path, const struct kj_val *v)
{
    if (!*v_str(v, "secretName"))
        err_required(c, at(c, "%s.secretName", path), "");
    check_items(c, path, v);
}

static void check_host_path(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const types[] = {
        "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
        "File", "FileOrCreate", "Socket",     NULL
    };
    const char *host = v_str(v, "path");

    if (!*host) {
        err_required(c, at(c, "%s.path", path), "");
        return;
    }
    check_local_path(c, at(c, "%s.path", path), host, false);
    check_enum(c, at(c, "%s.type", path), v_str(v, "type"), types, true);
}

static void check_claim(struct check *c, const char *path, const struct kj_val *v)
{
    if (!*v_str(v, "claimName"))
        err_required(c, at(c, "%s.claimName", path), "");
}

static void check_empty_dir(struct check *c, const char *path, const struct kj_val *v)
{
    struct qty q;
    if (v_qty(v, "sizeLimit", &q) && qty_sign(q) < 0)
        err_forbidden(c, at(c, "%s.sizeLimit", path),
                      "SizeLimit field must be a valid resource quantity");
}

static void check_nfs(struct check *c, const char *path, const struct kj_val *v)
{
    const char *p = v_str(v, "path");
    if (!*v_str(v, "server"))
        err_required(c, at(c, "%s.server", path), "");
    if (!*p)
        err_required(c, at(c, "%s.path", path), "");
    if (*p != '/')
        err_invalid(c, at(c, "%s.path", path), p, "must be an absolute path");
}

static void check_csi(struct check *c, const char *path, const struct kj_val *v)
{
    const char *driver = v_str(v, "driver");

    if (!*driver)
        err_required(c, at(c, "%s.driver", path), "");
    else
        check_dns_subdomain(c, at(c, "%s.driver", path), driver);
}

static void check_token(struct check *c, const char *path, const struct kj_val *v)
{
    enum { MIN_S = 600 };
    int64_t seconds = kj_i64_or(kj_get(v, "expirationSeconds"), MIN_S);
    const char *file = v_str(v, "path");

    if (seconds < MIN_S)
        err_invalid_i64(c, at(c, "%s.expirationSeconds", path), seconds,
                        "may not specify a duration less than 10 minutes");
    if (!*file)
        err_required(c, at(c, "%s.path", path), "");
    check_local_path(c, at(c, "%s.path", path), file, true);
}

static void check_projected_secret(struct check *c, const char *path, const struct kj_val *v)
{
    if (!*v_str(v, "name"))
        err_required(c, at(c, "%s.name", path), "");
    check_items(c, path, v);
}

static void check_path_is_free(struct check *c, const char *path, struct map *seen,
                               const char *file, const char *said)
{
    if (*file && !names_add(seen, file))
        err_invalid(c, path, said, "conflicting duplicate paths");
}

/* The files of all sources lie in one directory. Tokens are left out, as upstream does. */
static void check_free_paths(struct check *c, const char *path, const struct kj_val *source,
                             struct map *seen)
{
    static const char *const with_items[] = { "secret", "configMap", "downwardAPI" };
    const struct kj_val *bundle = kj_get(source, "clusterTrustBundle"), *item;

    for (size_t i = 0; i < ARRAY_LEN(with_items); i++) {
        const struct kj_val *v = kj_get(source, with_items[i]);
        struct kj_iter it = kj_iter(kj_get(v, "items"));
        while (kj_next(&it, NULL, &item)) {
            const char *file = v_str(item, "path");
            check_path_is_free(c, path, seen, file,
                               streq(with_items[i], "downwardAPI") ? file : v_str(v, "name"));
        }
    }
    check_path_is_free(c, path, seen, v_str(bundle, "path"), v_str(bundle, "path"));
}

/* A source that says nothing projects nothing. */
static void check_projected(struct check *c, const char *path, const struct kj_val *v)
{
    static const struct {
        const char *name;
        void (*check)(struct check *c, const char *path, const struct kj_val *v);
    } kinds[] = { { "secret", check_projected_secret },
                  { "configMap", check_config_map },
                  { "downwardAPI", check_downward },
                  { "serviceAccountToken", check_token } };
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(kj_get(v, "sources"));
    const struct kj_val *source;

    for (size_t i = 0; kj_next(&it, NULL, &source); i++) {
        bool any = false;
        check_free_paths(c, path, source, &seen);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            const char *p = at(c, "%s.sources[%zu].%s", path, i, kinds[k].name);
            if (!v_has(source, kinds[k].name))
                continue;
            if (any)
                err_forbidden(c, p, "may not specify more than 1 volume type per source");
            else
                kinds[k].check(c, p, kj_get(source, kinds[k].name));
            any = true;
        }
    }
}

static void check_ephemeral(struct check *c, const char *path, const struct kj_val *v)
{
    const struct kj_val *t = kj_get(v, "volumeClaimTemplate");

    if (!t)
        err_required(c, at(c, "%s.volumeClaimTemplate", path), "");
    else
        check_pvc_spec(c, at(c, "%s.volumeClaimTemplate.spec", path), kj_get(t, "spec"));
}

static const struct {
    const char *name;
    void (*check)(struct check *c, const char *path, const struct kj_val *v);
} sources[] = { /* in the order in which kube-apiserver looks */
                { "emptyDir", check_empty_dir },
                { "hostPath", check_host_path },
                { "gitRepo", NULL },
                { "gcePersistentDisk", NULL },
                { "awsElasticBlockStore", NULL },
                { "secret", check_secret },
                { "nfs", check_nfs },
                { "iscsi", NULL },
                { "glusterfs", NULL },
                { "flexVolume", NULL },
                { "configMap", check_config_map },
                { "persistentVolumeClaim", check_claim },
                { "rbd", NULL },
                { "cinder", NULL },
                { "cephfs", NULL },
                { "flocker", NULL },
                { "downwardAPI", check_downward },
                { "fc", NULL },
                { "azureFile", NULL },
                { "vsphereVolume", NULL },
                { "quobyte", NULL },
                { "azureDisk", NULL },
                { "storageos", NULL },
                { "photonPersistentDisk", NULL },
                { "projected", check_projected },
                { "portworxVolume", NULL },
                { "scaleIO", NULL },
                { "csi", check_csi },
                { "ephemeral", check_ephemeral },
                { "image", NULL }
};

static void check_source(struct check *c, const char *path, const struct kj_val *v)
{
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        if (!v_has(v, sources[i].name))
            continue;
        const char *p = at(c, "%s.%s", path, sources[i].name);
        if (any)
            err_forbidden(c, p, "may not specify more than 1 volume type");
        else if (sources[i].check)
            sources[i].check(c, p, kj_get(v, sources[i].name));
        any = true;
    }
    if (!any)
        err_required(c, path, "must specify a volume type");
}

void check_volumes(struct check *c, const char *path, const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map names = { 0 };
    struct kj_iter it = kj_iter(kj_get(spec, "volumes"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s.volumes[%zu]", path, i), *name = v_str(v, "name");
        check_own_label(c, at(c, "%s.name", p), name, &names);
        check_source(c, p, v);
    }
}

/* ---- mounts ---------------------------------------------------------------------------------- */

static void check_mount(struct check *c, const char *path, size_t i, const struct kj_val *v,
                        const struct kj_val *container)
{
    static const char *const propagations[] = { "Bidirectional", "HostToContainer", "None", NULL };
    const char *sub = v_str(v, "subPath"), *expr = v_str(v, "subPathExpr");
    const char *propagation = v_str(v, "mountPropagation");

    if (*sub)
        check_local_path(c, at(c, "%s.subPath", path), sub, true);
    if (*expr) {
        if (*sub)
            err_invalid(c, at(c, "%s[%zu].subPathExpr", path, i), expr,
                        "subPathExpr and subPath are mutually exclusive");
        check_local_path(c, at(c, "%s.subPathExpr", path), expr, true);
    }
    if (!check_enum(c, at(c, "%s.mountPropagation", path), propagation, propagations, true))
        return;
    if (streq(propagation, "Bidirectional") &&
        !kj_bool(kj_path(container, "securityContext.privileged"), false))
        err_forbidden(c, at(c, "%s.mountPropagation", path),
                      "Bidirectional mount propagation is available only to privileged containers");
}

void check_volume_mounts(struct check *c, const char *path, const struct kj_val *container,
                         const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map volumes = { 0 };
    CLEANUP(map_fini) struct map paths = { 0 };
    struct kj_iter it = kj_iter(kj_get(spec, "volumes"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        (void)names_add(&volumes, v_str(v, "name"));
    it = kj_iter(kj_get(container, "volumeMounts"));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s.volumeMounts[%zu]", path, i), *name = v_str(v, "name");
        const char *mount = v_str(v, "mountPath");
        if (!*name)
            err_required(c, at(c, "%s.name", p), "");
        if (!*name || !map_getz(&volumes, name))
            field_error(c->errors, FIELD_NOT_FOUND, at(c, "%s.name", p), quoted(c, name), NULL);
        if (!*mount)
            err_required(c, at(c, "%s.mountPath", p), "");
        else if (!names_add(&paths, mount))
            err_invalid(c, at(c, "%s.mountPath", p), mount, "must be unique");
        check_mount(c, at(c, "%s.volumeMounts", path), i, v, container);
    }
    it = kj_iter(kj_get(container, "volumeDevices"));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s.volumeDevices[%zu]", path, i), *name = v_str(v, "name");
        const char *device = v_str(v, "devicePath");
        if (!*name)
            err_required(c, at(c, "%s.name", p), "");
        if (!*name || !map_getz(&volumes, name))
            field_error(c->errors, FIELD_NOT_FOUND, at(c, "%s.name", p), quoted(c, name), NULL);
        if (!*device)
            err_required(c, at(c, "%s.devicePath", p), "");
        else if (!names_add(&paths, device))
            err_invalid(c, at(c, "%s.devicePath", p), device, "must be unique");
    }
}
