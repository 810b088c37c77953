/* tasks.h - the threads of a pod, by container: read from the kernel when somebody asks.
 *
 * Nobody keeps them, since they change with every thread that starts: the answer is of now (v1:
 * tasks, v2: cgroup.threads). Loop thread only.
 */
#ifndef KOORD_KOORDLET_TASKS_H
#define KOORD_KOORDLET_TASKS_H
#include "base/vec.h"
#include "koordlet/states/podset.h"

struct task_ids vec_of(pid_t); /* { 0 } to begin with; vec_fini() ends it */

/* Of one container of the pod, "containerd://...", or of its sandbox. Appends. -ENOENT or -ENODEV:
 * it is not there (any more). On an error out is as it was. */
int npod_task_ids(const struct host *h, const struct npod *p, const char *container_id,
                  struct task_ids *out, struct kerr *err);
/* Each container that is there, and the sandbox last; of a pod that is over, none. fn borrows. */
typedef void (*npod_tasks_fn)(void *arg, const char *container_id, const struct task_ids *ids);
void npod_tasks_each(const struct host *h, const struct npod *p, npod_tasks_fn fn, void *arg);
#endif
