/* naming.c - names of cgroups, there and back. */
#include "koordlet/kernel/naming.h"

#include "api/koord/nodeslo.h"

/* What a runtime's container IDs and the directories of its containers begin with. */
static const struct {
    const char *scheme, *prefix;
} runtimes[] = {
    { "docker", "docker-" },
    { "containerd", "cri-containerd-" },
    { "pouch", "pouch-" },
    { "cri-o", "crio-" },
};
static const char scope[] = ".scope", slice[] = ".slice";

/* ---- layouts --------------------------------------------------------------------------------- */

#define SYSTEMD(root_, top, prefix)                                                               \
    {                                                                                             \
        .systemd = true, .root = (root_),                                                         \
        .dirs = { top prefix "kubepods.slice", top prefix "kubepods.slice",                       \
                  top prefix "kubepods.slice/" prefix "kubepods-burstable.slice",                 \
                  top prefix "kubepods.slice/" prefix "kubepods-besteffort.slice" },              \
        .names = { prefix "kubepods-pod", prefix "kubepods-pod", prefix "kubepods-burstable-pod", \
                   prefix "kubepods-besteffort-pod" },                                            \
    }
#define CGROUPFS(root_, top)                                                \
    {                                                                       \
        .root = (root_),                                                    \
        .dirs = { top "kubepods", top "kubepods", top "kubepods/burstable", \
                  top "kubepods/besteffort" },                              \
        .names = { "pod", "pod", "pod", "pod" },                            \
    }
const struct cgroup_layout cgroup_layouts[CGROUP_LAYOUTS] = {
    SYSTEMD("", "", ""),
    CGROUPFS("", ""),
    SYSTEMD("kubelet", "kubelet.slice/", "kubelet-"),
    CGROUPFS("kubelet", "kubelet/"),
};

/* A component of a cgroupRoot; one that leads elsewhere is none. */
static bool is_component(const char *p, size_t n)
{
    return n > 0 && !(n <= 2 && strncmp(p, "..", n) == 0);
}

/* "a.slice/a-b.slice/" and "a-b-" of "/a/b"; a dash within a component is escaped, as the kubelet
 * does. */
static void slices_of(const char *root, struct strbuf *dir, struct strbuf *prefix)
{
    for (const char *p = root; *p;) {
        size_t n = strcspn(p, "/");
        if (is_component(p, n)) {
            for (size_t i = 0; i < n; i++)
                strbuf_appendc(prefix, p[i] == '-' ? '_' : p[i]);
            strbuf_appendf(dir, "%s%s/", strbuf_str(prefix), slice);
            strbuf_appendc(prefix, '-');
        }
        p += n + (p[n] == '/');
    }
}

static void paths_of(const char *root, struct strbuf *dir)
{
    for (const char *p = root; *p;) {
        size_t n = strcspn(p, "/");
        if (is_component(p, n))
            strbuf_appendf(dir, "%.*s/", (int)n, p);
        p += n + (p[n] == '/');
    }
}

struct cgroup_layout *cgroup_layout_new(bool systemd, const char *root)
{
    CLEANUP(strbuf_fini) struct strbuf dir = STRBUF_INIT, prefix = STRBUF_INIT;
    const struct cgroup_layout *base = systemd ? CGROUP_SYSTEMD : CGROUP_CGROUPFS;
    struct cgroup_layout *l = xnew0(struct cgroup_layout);

    if (systemd)
        slices_of(root, &dir, &prefix);
    else
        paths_of(root, &dir);
    const char *d = strbuf_str(&dir), *p = strbuf_str(&prefix);
    l->systemd = systemd;
    l->root = xstrdup(root + strspn(root, "/"));
    for (int q = 0; q < 4; q++) {
        const char *class = strchr(base->dirs[q], '/'); /* below the root of all pods */
        l->dirs[q] = xasprintf("%s%s%s%s%s%s", d, p, base->dirs[0], class ? "/" : "",
                               class ? p : "", class ? class + 1 : "");
        l->names[q] = xasprintf("%s%s", p, base->names[q]);
    }
    return l;
}

struct cgroup_layout *cgroup_layout_free(struct cgroup_layout *l)
{
    if (!l)
        return NULL;
    for (int q = 0; q < 4; q++) {
        free((char *)(uintptr_t)l->dirs[q]);
        free((char *)(uintptr_t)l->names[q]);
    }
    free((char *)(uintptr_t)l->root);
    free(l);
    return NULL;
}

const char *cgroup_kubepods(const struct cgroup_layout *d)
{
    return d->dirs[KUBE_QOS_GUARANTEED];
}

const char *cgroup_qos_dir(const struct cgroup_layout *d, enum kube_qos q)
{
    return d->dirs[q];
}

/* ---- pods ------------------------------------------------------------------------------------ */

void cgroup_pod_dir(const struct cgroup_layout *d, enum kube_qos q, const char *uid,
                    struct strbuf *out)
{
    strbuf_appendf(out, "%s/%s", d->dirs[q], d->names[q]);
    if (!d->systemd) {
        strbuf_append(out, uid);
        return;
    }
    for (; *uid; uid++)
        strbuf_appendc(out, *uid == '-' ? '_' : *uid);
    strbuf_append(out, slice);
}

/* ---- containers ------------------------------------------------------------------------------ */

int container_id_split(const char *container_id, struct str *ret_runtime, struct str *ret_id,
                       struct kerr *err)
{
    const char *sep = strstr(container_id, "://");
    if (!sep)
        return kerr_set(err, -EINVAL, "parse container id %s failed", container_id);
    *ret_runtime = (struct str){ container_id, (size_t)(sep - container_id) };
    *ret_id = str_of(sep + 3);
    return 0;
}

int cgroup_container_name(const struct cgroup_layout *d, const char *container_id,
                          struct strbuf *out, struct kerr *err)
{
    struct str runtime, id;
    int r = container_id_split(container_id, &runtime, &id, err);

    if (r < 0)
        return r;
    /* An ID that is no single name would lead out of the pod's directory. */
    if (id.n == 0 || memchr(id.p, '/', id.n) || id.p[0] == '.')
        return kerr_set(err, -EINVAL, "parse container id %s failed", container_id);
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
        if (!str_eqz(runtime, runtimes[i].scheme))
            continue;
        if (d->systemd)
            strbuf_append(out, runtimes[i].prefix);
        strbuf_appendn(out, id.p, id.n);
        if (d->systemd)
            strbuf_append(out, scope);
        return 0;
    }
    return kerr_set(err, -EINVAL, "unknown container protocol %s", container_id);
}

/* ---- back from names ------------------------------------------------------------------------- */

/* What is left of a name between the two; false when it does not have them, or nothing else. */
static bool strip(const char *name, const char *prefix, const char *suffix, struct str *ret)
{
    size_t n = strlen(name), from = strlen(prefix), behind = strlen(suffix);

    if (n <= from + behind || !str_starts(name, prefix) || !str_ends(name, suffix))
        return false;
    *ret = (struct str){ name + from, n - from - behind };
    return true;
}

int cgroup_pod_id(const struct cgroup_layout *d, const char *name, struct str *ret,
                  struct kerr *err)
{
    static const enum kube_qos classes[] = { KUBE_QOS_BURSTABLE, KUBE_QOS_BEST_EFFORT,
                                             KUBE_QOS_GUARANTEED };

    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strip(name, d->names[classes[i]], d->systemd ? slice : "", ret))
            return 0;
    return kerr_set(err, -EINVAL, "fail to parse pod id: %s", name);
}

int cgroup_container_id(const struct cgroup_layout *d, const char *name, struct str *ret,
                        struct kerr *err)
{
    if (!d->systemd) {
        *ret = str_of(name);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
        if (strip(name, runtimes[i].prefix, scope, ret))
            return 0;
    if (strip(name, "crio-", "", ret)) /* a sandbox of CRI-O */
        return 0;
    return kerr_set(err, -EINVAL, "fail to parse container id: %s", name);
}

enum kube_qos cgroup_qos_of_path(const char *path)
{
    return strstr(path, "besteffort")  ? KUBE_QOS_BEST_EFFORT
           : strstr(path, "burstable") ? KUBE_QOS_BURSTABLE
                                       : KUBE_QOS_GUARANTEED;
}

/* ---- host applications ----------------------------------------------------------------------- */

/* Adds a part of a path, with one "/" before it and none around. */
static void path_join(struct strbuf *out, size_t from, const char *part)
{
    size_t n = strlen(str_or(part, ""));

    while (n > 0 && *part == '/')
        part++, n--;
    while (n > 0 && part[n - 1] == '/')
        n--;
    if (n == 0)
        return;
    if (out->len > from)
        strbuf_appendc(out, '/');
    strbuf_appendn(out, part, n);
}

static const char *base_dir(const struct cgroup_layout *d, const char *base)
{
    base = str_or(base, "");
    if (streq(base, "Kubepods"))
        return cgroup_kubepods(d);
    if (streq(base, "KubepodsBurstable"))
        return cgroup_qos_dir(d, KUBE_QOS_BURSTABLE);
    if (streq(base, "KubepodsBesteffort"))
        return cgroup_qos_dir(d, KUBE_QOS_BEST_EFFORT);
    return "";
}

void cgroup_host_app_dir(const struct cgroup_layout *d, const struct host_application *app,
                         struct strbuf *out)
{
    size_t from = out->len;

    if (!app)
        return;
    if (app->cgroup_path) {
        path_join(out, from, base_dir(d, app->cgroup_path->base));
        path_join(out, from, app->cgroup_path->parent_dir);
        path_join(out, from, app->cgroup_path->relative_path);
        return;
    }
    switch (qos_class_parse(app->qos)) {
    case QOS_LSE:
    case QOS_LSR:
    case QOS_LS: path_join(out, from, "host-latency-sensitive"); break;
    case QOS_BE: path_join(out, from, "host-best-effort"); break;
    default: break;
    }
    path_join(out, from, app->name);
}
