/* host.h - the machine the agent looks after: where its kernel's files are, and how they are read.
 *
 * Every root is an option, so that a fixture tree can stand for a machine. Roots are opened once,
 * and all further names are relative to their descriptors. Loop thread only; reads of kernel files
 * do not block. No state outside of struct host.
 */
#ifndef KOORD_KOORDLET_KERNEL_HOST_H
#define KOORD_KOORDLET_KERNEL_HOST_H
#include "base/base.h"
#include "koordlet/kernel/resource.h"

struct host_roots { /* absolute directories; a final "/" does not matter */
    const char *cgroup, *proc, *sys, *sys_fs, *var_run, *run, *var_lib_kubelet;
};
/* By agent_mode: "hostMode", anything else: the mounts of the DaemonSet (koordlet-metrics 2.1). */
struct host_roots host_roots_default(const char *agent_mode);

/* How the kubelet names the cgroups of pods: by its driver, below its cgroupRoot. */
struct cgroup_layout {
    bool systemd;         /* the driver; else cgroupfs */
    const char *root;     /* "kubelet"; "": none */
    const char *dirs[4];  /* by enum kube_qos; Guaranteed: the root of all pods */
    const char *names[4]; /* what the last component of a pod's path begins with */
};
/* Those that are known without asking: no cgroupRoot, and kind's. */
enum { CGROUP_LAYOUTS = 4 };
extern const struct cgroup_layout cgroup_layouts[CGROUP_LAYOUTS];
#define CGROUP_SYSTEMD  (&cgroup_layouts[0])
#define CGROUP_CGROUPFS (&cgroup_layouts[1])

struct host {
    struct host_roots roots;                   /* copies, each with a final "/" */
    int cgroup_fd, proc_fd, sys_fd, sys_fs_fd; /* O_PATH directories; -1: not there */
    enum cgroup_version version;
    const struct cgroup_layout *driver; /* what host_detect_driver() or the caller found */
    struct host_layout *layouts;        /* of other cgroupRoots, as long as the host lives */
    bool driver_known;
    nsec_t jiffy; /* of the ticks in /proc/stat */
    int64_t page_size;
    struct kernelfile_buf
        *buf; /* where files are read into: one, for the thread that has the loop */
};

/* A root that is missing is an error for cgroup and proc only; the message names the flag. */
int host_new(const struct host_roots *roots, struct host **ret, struct kerr *err);
struct host *host_free(struct host *h);
DEFINE_CLEANUP(host_free, struct host *)

/* The layout of a driver and a cgroupRoot ("/kubelet", "/", ""); good as long as the host. */
const struct cgroup_layout *host_layout(struct host *h, bool systemd, const char *root);
/* Sets driver and driver_known by the directory that is there: one that host_layout() was asked
 * for, then kubepods.slice before kubepods, then those of kind. -ENOENT: none yet. */
int host_detect_driver(struct host *h, struct kerr *err);
/* Driver and cgroupRoot in the kubelet's command line, or in its configuration file: what listens
 * on port is found through /proc. -ENOENT when nothing listens. Reads a few hundred files: not for
 * a tick. */
int host_driver_of_kubelet(struct host *h, uint16_t port, const struct cgroup_layout **ret,
                           struct kerr *err);

/* ---- files that are read again and again ----------------------------------------------------- */

/* A buffer that grows to what the largest file needs, up to KERNELFILE_MAX, and stays. */
enum { KERNELFILE_MAX = 4 << 20 };
struct kernelfile_buf {
    char *p;
    size_t cap;
};

/* An open file of the kernel. -1: not open. */
struct kernelfile {
    int fd;
};
#define KERNELFILE_INIT \
    {                   \
        .fd = -1        \
    }
/* Errors: the errno of open, "open cpu.stat: No such file or directory". */
int kernelfile_open(struct kernelfile *p, int dirfd, const char *name, struct kerr *err);
void kernelfile_close(struct kernelfile *p);
/* The whole text from its beginning; borrowed until the next read with this buffer; a NUL follows
 * it. -ENODEV: the cgroup is gone: close it. Allocates only when the file outgrew the buffer. */
int kernelfile_read(const struct kernelfile *p, struct kernelfile_buf *b, struct str *ret,
                    struct kerr *err);
/* A file that is read now and then: open, read, close. */
int kernelfile_once(int dirfd, const char *name, struct kernelfile_buf *b, struct str *ret,
                    struct kerr *err);
#endif
