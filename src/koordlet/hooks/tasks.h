/* tasks.h - what the hooks do to processes and threads: OOM scores, members of resctrl groups.
 *
 * Processes come and go, so nothing is kept for them: a look reads the kernel and proposes only
 * what differs, once.
 */
#ifndef KOORD_KOORDLET_HOOKS_TASKS_H
#define KOORD_KOORDLET_HOOKS_TASKS_H
#include "koordlet/executor/plan.h"
#include "koordlet/kernel/host.h"

struct metrics;
struct oom_scores;

/* m NULL: no gauges. */
struct oom_scores *oom_scores_new(struct host *h, struct metrics *m, const char *node_name);
struct oom_scores *oom_scores_free(struct oom_scores *s);
/* For each process of the annotated containers whose oom_score_adj differs. Reads files. */
void plan_oom_scores(struct oom_scores *s, const struct snapshot *snapshot, nsec_t mono,
                     struct plan *p);

/* The score that the kubelet gives the processes of a container; memory: of the node, in bytes. */
int64_t oom_score_of_kubelet(const struct npod *p, const struct container *c, int64_t memory);
/* For each process that has the score of its annotation: what the kubelet gave it. Reads files. */
void plan_oom_restore(struct oom_scores *s, const struct snapshot *snapshot, struct plan *p);

/* The processes of a cgroup. Appends; nothing when it is not there. */
struct task_ids;
void cgroup_pids(const struct host *h, const char *dir, struct task_ids *out);

/* For each group that the plan proposes: the threads of its pod that are not in it. Reads files. */
void plan_resctrl_tasks(const struct host *h, struct plan *p);
/* Groups of pods that are gone, from before a restart too, shall go when they are older than 10 s.
 * Lists a directory. */
void plan_resctrl_stale(const struct host *h, const struct podset *pods, nsec_t wall,
                        struct plan *p);
#endif
