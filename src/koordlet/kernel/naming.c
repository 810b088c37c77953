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

const char *cgroup_kubepods(enum cgroup_driver d)
{
    return d == CGROUP_SYSTEMD ? "kubepods.slice" : "kubepods";
}

const char *cgroup_qos_dir(enum cgroup_driver d, enum kube_qos q)
{
    if (q == KUBE_QOS_BURSTABLE)
        return d == CGROUP_SYSTEMD ? "kubepods.slice/kubepods-burstable.slice"
                                   : "kubepods/burstable";
    if (q == KUBE_QOS_BEST_EFFORT)
        return d == CGROUP_SYSTEMD ? "kubepods.slice/kubepods-besteffort.slice"
                                   : "kubepods/besteffort";
    return cgroup_kubepods(d);
}

/* What a pod's slice begins with, "pod" included. */
static const char *pod_prefix(enum kube_qos q)
{
    return q == KUBE_QOS_BURSTABLE     ? "kubepods-burstable-pod"
           : q == KUBE_QOS_BEST_EFFORT ? "kubepods-besteffort-pod"
                                       : "kubepods-pod";
}

void cgroup_pod_dir(enum cgroup_driver d, enum kube_qos q, const char *uid, struct strbuf *out)
{
    strbuf_append(out, cgroup_qos_dir(d, q));
    if (d == CGROUP_CGROUPFS) {
        strbuf_appendf(out, "/pod%s", uid);
        return;
    }
    strbuf_appendf(out, "/%s", pod_prefix(q));
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

int cgroup_container_name(enum cgroup_driver d, const char *container_id, struct strbuf *out,
                          struct kerr *err)
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
        if (d == CGROUP_SYSTEMD)
            strbuf_append(out, runtimes[i].prefix);
        strbuf_appendn(out, id.p, id.n);
        if (d == CGROUP_SYSTEMD)
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

int cgroup_pod_id(enum cgroup_driver d, const char *name, struct str *ret, struct kerr *err)
{
    static const enum kube_qos classes[] = { KUBE_QOS_BURSTABLE, KUBE_QOS_BEST_EFFORT,
                                             KUBE_QOS_GUARANTEED };

    if (d == CGROUP_CGROUPFS && strip(name, "pod", "", ret))
        return 0;
    for (size_t i = 0; d == CGROUP_SYSTEMD && i < ARRAY_LEN(classes); i++)
        if (strip(name, pod_prefix(classes[i]), slice, ret))
            return 0;
    return kerr_set(err, -EINVAL, "fail to parse pod id: %s", name);
}

int cgroup_container_id(enum cgroup_driver d, const char *name, struct str *ret, struct kerr *err)
{
    if (d == CGROUP_CGROUPFS) {
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

static const char *base_dir(enum cgroup_driver d, const char *base)
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

void cgroup_host_app_dir(enum cgroup_driver d, const struct host_application *app,
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
