/* core_sched.h - CoreSched: which containers may share a physical core (koordlet-qos 15.7).
 *
 * Processes with the same cookie share cores with each other only. The kernel hands cookies from
 * task to task, so a group is remembered by its cookie and the processes that hold it. Loop thread
 * only; the calls that change the caller's own cookie run on a thread that ends with them.
 */
#ifndef KOORD_KOORDLET_HOOKS_CORE_SCHED_H
#define KOORD_KOORDLET_HOOKS_CORE_SCHED_H
#include "koordlet/hooks/rules.h"
#include "koordlet/states/podset.h"

struct core_sched;

struct core_sched_ops { /* 0 or a negative errno */
    int (*get)(void *arg, pid_t pid, uint64_t *ret);
    int (*create)(void *arg, pid_t pid); /* a new cookie for its thread group */
    /* The cookie of from, 0: none, for the thread groups of n processes; ok tells each answer. */
    void (*share)(void *arg, pid_t from, const pid_t *to, size_t n, bool *ok);
};
extern const struct core_sched_ops core_sched_ops_kernel; /* prctl(PR_SCHED_CORE) */

struct core_sched *core_sched_new(const struct core_sched_ops *ops, void *arg);
struct core_sched *core_sched_free(struct core_sched *c);
DEFINE_CLEANUP(core_sched_free, struct core_sched *)
/* Whether this kernel can. */
bool core_sched_supported(const struct core_sched *c);

/* The group of a pod: false when it shall have none. The text is in the arena. */
bool core_sched_group(const struct rule_core_sched *r, const struct npod *p, struct arena *a,
                      const char **ret);
/* What holds cookies already, before the first round: of one container, in the group. */
void core_sched_learn(struct core_sched *c, const char *uid, const char *container_id,
                      const char *group, const pid_t *pids, size_t n, nsec_t now);
/* The processes of a container belong to the group (NULL: to none) from now on. Returns the cookie;
 * 0: none. */
uint64_t core_sched_put(struct core_sched *c, const char *uid, const char *container_id,
                        const char *group, const pid_t *pids, size_t n, nsec_t now);
/* Takes the cookies of processes, whoever gave them. Returns how many had one. */
size_t core_sched_clear(struct core_sched *c, const pid_t *pids, size_t n);
/* Forgets what was not refreshed for five minutes. */
void core_sched_sweep(struct core_sched *c, nsec_t now);
/* For tests: the processes that the group is remembered by, ascending; 0 when it is not known. */
size_t core_sched_members(const struct core_sched *c, const char *group, const pid_t **ret,
                          uint64_t *ret_cookie);
#endif
