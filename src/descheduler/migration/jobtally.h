/* jobtally.h - the jobs that are not over, counted by node, namespace and workload of their pods.
 *
 * Made anew when jobs or their pods have changed; a job that passes arbitration is added to the
 * count at once. A query costs the same however many jobs there are. Objects are borrowed and must
 * outlive it. Loop thread only.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_JOBTALLY_H
#define KOORD_DESCHEDULER_MIGRATION_JOBTALLY_H
#include "api/koord/podmigrationjob.h"
#include "api/pod.h"

struct strbuf;
struct jobtally;

/* Which jobs count: a plugin that wants to add one looks at all, the arbitrator at those which have
 * passed or run. Paused ones hold no slot; but those that wait for approval count when a plugin
 * wants another one, or they would pile up. */
enum tally_scope { TALLY_ALL, TALLY_PASSED, TALLY_SCOPES };
enum tally_by { TALLY_CLUSTER, TALLY_NODE, TALLY_NAMESPACE, TALLY_WORKLOAD };

struct jobtally *jobtally_new(void);
struct jobtally *jobtally_free(struct jobtally *t); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(jobtally_free, struct jobtally *)

static inline bool job_is_over(const struct podmigrationjob *j)
{
    return j->status.phase >= MIGRATION_SUCCEEDED;
}
/* Of a job that is over: it was paused, and a person has said no. */
#define MIGRATION_REASON_REJECTED "Rejected"
static inline bool job_is_rejected(const struct podmigrationjob *j)
{
    return j->status.phase == MIGRATION_ABORTED &&
           streq(str_or(j->status.reason, ""), MIGRATION_REASON_REJECTED);
}
/* pod: of its reference, by name; NULL when there is none. Jobs that are over are ignored, unless
 * they were rejected. */
void jobtally_add(struct jobtally *t, const struct podmigrationjob *j, const struct pod *pod,
                  bool has_passed);
/* It passes now. */
void jobtally_pass(struct jobtally *t, const struct podmigrationjob *j);

/* A person has rejected a job for the pod with this UID, and the job is still there. */
bool jobtally_rejected(const struct jobtally *t, const struct pod *p);
/* An unfinished job is about this pod: by its UID, or by its name. */
bool jobtally_has(const struct jobtally *t, const struct pod *p);
/* How many, without those of the pod itself: jobs in the cluster and a namespace, pods with jobs on
 * a node and of a workload (in its namespace, by the UID of the controller). */
int64_t jobtally_count(const struct jobtally *t, enum tally_by by, enum tally_scope scope,
                       const struct pod *p);
/* Of the pods of its workload that jobtally_count() counts: how many are up. */
int64_t jobtally_count_up(const struct jobtally *t, enum tally_scope scope, const struct pod *p);
/* Jobs of pods with the same controller, by UID; for arbitration. */
int64_t jobtally_jobs_of(const struct jobtally *t, const struct pod *p);
/* The names of those that hold the slots, at most a few: "job-1 (ns/pod-1), ..." */
void jobtally_holders(const struct jobtally *t, enum tally_by by, enum tally_scope scope,
                      const struct pod *p, struct strbuf *out);
#endif
