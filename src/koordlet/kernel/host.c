/* host.c - roots of the machine, its cgroup version and driver. */
#include "koordlet/kernel/host.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "koordlet/kernel/naming.h"
#include "koordlet/kernel/sysfs.h"
#include "sys/file.h"

struct host_roots host_roots_default(const char *agent_mode)
{
    if (agent_mode && streq(agent_mode, "hostMode"))
        return (struct host_roots){
            .cgroup = "/sys/fs/cgroup/",
            .proc = "/proc/",
            .sys = "/sys/",
            .sys_fs = "/sys/fs/",
            .var_run = "/var/run/",
            .run = "/run/",
            .var_lib_kubelet = "/var/lib/kubelet/",
        };
    return (struct host_roots){
        .cgroup = "/host-cgroup/",
        .proc = "/proc/",
        .sys = "/host-sys/",
        .sys_fs = "/host-sys-fs/",
        .var_run = "/host-var-run/",
        .run = "/host-run/",
        .var_lib_kubelet = "/var/lib/kubelet/",
    };
}

static const char *root_copy(const char *root)
{
    size_t n = strlen(root);

    while (n > 0 && root[n - 1] == '/')
        n--;
    return xasprintf("%.*s/", (int)n, root);
}

static int root_open(const char *root, const char *flag, int *ret, struct kerr *err)
{
    *ret = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret < 0)
        return kerr_set(err, -errno, "open %s (--%s): %s", root, flag, strerror(errno));
    return 0;
}

/* A fixture is no mount of the kernel's: there, the file that only the root of v2 has tells. */
static enum cgroup_version version_of(int cgroup_fd)
{
    struct statfs fs;

    if (fstatfs(cgroup_fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
        return CGROUP_V2;
    return sysfs_exists(cgroup_fd, "cgroup.controllers") ? CGROUP_V2 : CGROUP_V1;
}

static nsec_t jiffy_of_system(void)
{
    long ticks = sysconf(_SC_CLK_TCK);
    return ticks > 0 ? NSEC_PER_SEC / ticks : 10 * NSEC_PER_MSEC;
}

int host_new(const struct host_roots *roots, struct host **ret, struct kerr *err)
{
    CLEANUP(host_free) struct host *h = xnew0(struct host);
    long page = sysconf(_SC_PAGESIZE);

    h->cgroup_fd = h->proc_fd = h->sys_fd = h->sys_fs_fd = -1;
    h->buf = xnew0(struct kernelfile_buf);
    h->roots = (struct host_roots){
        .cgroup = root_copy(roots->cgroup),
        .proc = root_copy(roots->proc),
        .sys = root_copy(roots->sys),
        .sys_fs = root_copy(roots->sys_fs),
        .var_run = root_copy(roots->var_run),
        .run = root_copy(roots->run),
        .var_lib_kubelet = root_copy(roots->var_lib_kubelet),
    };
    int r = root_open(h->roots.cgroup, "cgroup-root-dir", &h->cgroup_fd, err);
    if (r == 0)
        r = root_open(h->roots.proc, "proc-root-dir", &h->proc_fd, err);
    if (r < 0)
        return r;
    root_open(h->roots.sys, "sys-root-dir", &h->sys_fd, NULL);
    root_open(h->roots.sys_fs, "sys-fs-root-dir", &h->sys_fs_fd, NULL);
    h->version = version_of(h->cgroup_fd);
    h->driver = CGROUP_SYSTEMD;
    h->jiffy = jiffy_of_system();
    h->page_size = page > 0 ? page : 4096;
    *ret = take(h);
    return 0;
}

struct host_layout {
    struct host_layout *next;
    struct cgroup_layout *layout;
};

const struct cgroup_layout *host_layout(struct host *h, bool systemd, const char *root)
{
    CLEANUP(cgroup_layout_free) struct cgroup_layout *l = cgroup_layout_new(systemd, root);

    for (size_t i = 0; i < CGROUP_LAYOUTS; i++)
        if (streq(cgroup_layouts[i].dirs[0], l->dirs[0]))
            return &cgroup_layouts[i];
    for (const struct host_layout *o = h->layouts; o; o = o->next)
        if (streq(o->layout->dirs[0], l->dirs[0]))
            return o->layout;
    struct host_layout *o = xnew0(struct host_layout);
    *o = (struct host_layout){ h->layouts, take(l) };
    h->layouts = o;
    return o->layout;
}

static void layouts_free(struct host *h)
{
    while (h->layouts) {
        struct host_layout *o = h->layouts;
        h->layouts = o->next;
        cgroup_layout_free(o->layout);
        free(o);
    }
}

struct host *host_free(struct host *h)
{
    if (!h)
        return NULL;
    const char *const owned[] = { h->roots.cgroup,         h->roots.proc,    h->roots.sys,
                                  h->roots.sys_fs,         h->roots.var_run, h->roots.run,
                                  h->roots.var_lib_kubelet };
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free((char *)owned[i]);
    layouts_free(h);
    fd_close(h->cgroup_fd);
    fd_close(h->proc_fd);
    fd_close(h->sys_fd);
    fd_close(h->sys_fs_fd);
    if (h->buf)
        free(h->buf->p);
    free(h->buf);
    free(h);
    return NULL;
}

static bool take_if_there(struct host *h, const struct cgroup_layout *l)
{
    const char *subsystem = h->version == CGROUP_V1 ? "cpu/" : "";

    if (!sysfs_exists(h->cgroup_fd, "%s%s/", subsystem, cgroup_kubepods(l)))
        return false;
    h->driver = l;
    h->driver_known = true;
    return true;
}

int host_detect_driver(struct host *h, struct kerr *err)
{
    for (const struct host_layout *o = h->layouts; o; o = o->next)
        if (take_if_there(h, o->layout))
            return 0;
    for (size_t i = 0; i < CGROUP_LAYOUTS; i++)
        if (take_if_there(h, &cgroup_layouts[i]))
            return 0;
    return kerr_set(err, -ENOENT, "%s%s has neither %s nor %s", h->roots.cgroup,
                    h->version == CGROUP_V1 ? "cpu/" : "", cgroup_kubepods(CGROUP_SYSTEMD),
                    cgroup_kubepods(CGROUP_CGROUPFS));
}
