/* scan.h - what the directories of pods tell: a pod's sandbox, the CPUs best effort has in force.
 *
 * Loop thread only.
 */
#ifndef KOORD_KOORDLET_KERNEL_SCAN_H
#define KOORD_KOORDLET_KERNEL_SCAN_H
#include "base/cpuset.h"
#include "koordlet/kernel/naming.h"

/* The container ID of the sandbox of a pod, "containerd://...": of the directories below the pod's
 * the one that none of the given containers (regular and init, "containerd://...") has. Appends
 * nothing when there is no container. -EAGAIN: not exactly one is left, with upstream's words. */
int cgroup_sandbox_id(const struct host *h, const char *pod_dir, const char *const *container_ids,
                      size_t n, struct strbuf *out, struct kerr *err);

/* The cpuset with the fewest CPUs among the best-effort class and its containers. Descriptors stay
 * open between reads, so that one in the steady state is one pread() and no allocation; the
 * containers are read when the class changed, and at every tenth read; directories are listed again
 * when somebody says that pods changed, when a directory is gone or the class has more or fewer of
 * them, and every minute or so. */
struct be_cpus;
struct be_cpus *be_cpus_new(struct host *h); /* the host's driver is known by the first read */
struct be_cpus *be_cpus_free(struct be_cpus *b);
DEFINE_CLEANUP(be_cpus_free, struct be_cpus *)
void be_cpus_changed(struct be_cpus *b); /* pods came, went, or have other containers */
/* -ENOENT: there is no best-effort class. A container without CPUs of its own (not set up yet) and
 * one that vanishes do not count. */
int be_cpus_read(struct be_cpus *b, struct cpuset *ret, struct kerr *err);
#endif
