/* checks.h - may a pod be moved at all, and may it be moved now (descheduler 4.4).
 *
 * Checks of the first kind do not change while a job waits: who fails them is refused. Those of the
 * second kind are limits: who fails them waits for others to finish. Both are functions of the
 * args, the pod, its workload and the jobs under way. Loop thread only.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_CHECKS_H
#define KOORD_DESCHEDULER_MIGRATION_CHECKS_H
#include "descheduler/migration/args.h"
#include "descheduler/migration/jobtally.h"

struct strbuf;
struct workloads;

struct checks {
    const struct migration_args *args;
    struct workloads *workloads;
    const struct jobtally *tally;
};

/* ---- for good -------------------------------------------------------------------------------- */

/* What keeps a pod, in the words of upstream; for the first of them, a text each. */
enum base_check {
    BASE_DAEMONSET,
    BASE_MIRROR,
    BASE_STATIC,
    BASE_BARE,
    BASE_BARE_NOT_FAILED,
    BASE_CRITICAL,
    BASE_PRIORITY,
    BASE_LOCAL_STORAGE,
    BASE_PVC,
    BASE_LABELS,
    BASE_CHECKS
};
extern const char *const base_check_texts[BASE_CHECKS];
/* Bits 1 << enum base_check of those that it fails. */
unsigned check_base(const struct migration_args *a, const struct pod *p);

/* The annotation that lets a pod pass all checks but those for jobs and schedulers. */
bool pod_wants_eviction(const struct pod *p);
/* A Reservation is made for pods of these schedulers only. */
bool check_scheduler(const struct migration_args *a, const struct pod *p);

enum check_answer {
    CHECK_NO,
    CHECK_LATER, /* the workload is being asked for */
    CHECK_YES
};
/* why: for people; may be NULL. */
enum check_answer check_permanent(const struct checks *c, const struct pod *p, struct strbuf *why);

/* ---- for now --------------------------------------------------------------------------------- */

enum limit {
    LIMIT_GLOBALLY,
    LIMIT_NODE,
    LIMIT_NAMESPACE,
    LIMIT_WORKLOAD, /* moved, unavailable, or in the middle of a change */
    LIMITS
};
struct limit_hit {
    const char *name; /* "MaxMigratingPerNode", ...: a reason of a condition */
    enum limit limit;
    int64_t count, max;
};
/* Is it below this limit? Otherwise *hit says by how much; NULL is fine. */
bool check_limit(const struct checks *c, enum limit l, enum tally_scope s, const struct pod *p,
                 struct limit_hit *hit);
/* Below all; the annotation counts. */
bool check_limits(const struct checks *c, enum tally_scope s, const struct pod *p,
                  struct limit_hit *hit);
/* "maxMigratingPerNode 2 is reached on node n1: job-1 (ns/pod-1), ..." */
void limit_text(const struct checks *c, enum tally_scope s, const struct pod *p,
                const struct limit_hit *hit, struct strbuf *out);

/* Everything together, as the filter of plugins. */
bool check_filter(const struct checks *c, const struct pod *p, struct strbuf *why);
#endif
