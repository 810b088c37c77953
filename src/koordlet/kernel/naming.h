/* naming.h - where the cgroups of pods, containers, QoS classes and host applications are.
 *
 * Paths are relative to the root of a hierarchy, without a "/" at either end (koordlet-metrics
 * 2.4). Pure text: nothing is looked up.
 */
#ifndef KOORD_KOORDLET_KERNEL_NAMING_H
#define KOORD_KOORDLET_KERNEL_NAMING_H
#include "api/protocol/protocol.h" /* enum kube_qos */
#include "base/strbuf.h"
#include "koordlet/kernel/host.h" /* struct cgroup_layout */

struct host_application;

/* Of a driver below a cgroupRoot such as "/kubelet" or "/a/b". */
struct cgroup_layout *cgroup_layout_new(bool systemd, const char *root);
struct cgroup_layout *cgroup_layout_free(struct cgroup_layout *l);
DEFINE_CLEANUP(cgroup_layout_free, struct cgroup_layout *)

/* "kubepods.slice/kubepods-burstable.slice"; Guaranteed: the root of all pods. */
const char *cgroup_qos_dir(const struct cgroup_layout *d, enum kube_qos q);
/* The root of all pods: "kubepods.slice", "kubepods". */
const char *cgroup_kubepods(const struct cgroup_layout *d);
void cgroup_pod_dir(const struct cgroup_layout *d, enum kube_qos q, const char *uid,
                    struct strbuf *out);
/* The last component of a container's directory, from "containerd://<id>". -EINVAL with upstream's
 * words. */
int cgroup_container_name(const struct cgroup_layout *d, const char *container_id,
                          struct strbuf *out, struct kerr *err);
/* "containerd://abc" -> "containerd" and "abc". */
int container_id_split(const char *container_id, struct str *ret_runtime, struct str *ret_id,
                       struct kerr *err);

/* Back from the last component of a path. -EINVAL: "fail to parse pod id: ..." */
int cgroup_pod_id(const struct cgroup_layout *d, const char *name, struct str *ret,
                  struct kerr *err);
int cgroup_container_id(const struct cgroup_layout *d, const char *name, struct str *ret,
                        struct kerr *err);
enum kube_qos cgroup_qos_of_path(const char *path);

/* "" for NULL. */
void cgroup_host_app_dir(const struct cgroup_layout *d, const struct host_application *app,
                         struct strbuf *out);
#endif
