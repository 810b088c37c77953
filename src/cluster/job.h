/* job.h - inside the Job controller.
 *
 *   job.c         news, what one pass does
 *   job_view.c    what a pass sees: pods sorted by what they are to the Job; indexes; back-off
 *   job_indexes.c sets of indexes
 *   job_policy.c  podFailurePolicy, successPolicy
 *   job_status.c  status, conditions, and the three steps in which ended pods are counted
 */
#ifndef KOORD_CLUSTER_JOB_H
#define KOORD_CLUSTER_JOB_H
#include "cluster/internal.h"
#include "cluster/job_indexes.h"

#define JOB_FINALIZER      "batch.kubernetes.io/job-tracking"
#define JOB_INDEX          "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED  "batch.kubernetes.io/job-index-ignored-failure-count"
#define JOB_BACKOFF        (10 * NSEC_PER_SEC)
#define JOB_BACKOFF_MAX    (600 * NSEC_PER_SEC)

/* What failed pods of an index say of it, where failures count by index. */
struct job_index {
    int64_t index;
    int32_t failures, ignored;
    nsec_t last_failure;
};

struct jview {
    struct cluster *c;
    const struct job *j;
    kobjvec active;                   /* running or about to */
    kobjvec terminating;              /* being deleted, not ended yet; may be failed already */
    kobjvec uncounted;                /* ended, with the finalizer: not in the counters yet */
    int64_t parallelism, completions; /* completions -1: any pod's success ends the Job */
    int64_t succeeded, failed;        /* counters with what is uncounted */
    bool enough;                      /* have succeeded: the Job ends with its last pod */
    int64_t ready;
    int64_t restarts; /* of containers that are restarted in place: restartPolicy OnFailure */
    bool indexed;
    jrangevec done_set, taken_set, failed_set; /* indexes; taken: their pods are there */
    bool by_index; /* failures count for each index: backoffLimitPerIndex */
    struct vec_of(struct job_index) failures; /* then: sorted, of those that have any */
    int64_t failed_indexes;
    const char *fail_job; /* why a rule fails the Job; NULL: none does */
    nsec_t last_failure;  /* when the last failed pod ended; 0: none known */
    const char *ended;    /* what the Job's end is called: "Complete", "Failed"; NULL: goes on */
    const char *reason, *message;
};

enum job_action { JOB_COUNT, JOB_IGNORE, JOB_FAIL_INDEX, JOB_FAIL_JOB };
/* What podFailurePolicy says of a failed pod. *ret_why: for people, in the arena; may be NULL. */
enum job_action job_policy_match(const struct job *j, const struct pod *p, struct arena *a,
                                 const char **ret_why);
/* The first rule of successPolicy that is met; -1: none. */
int64_t job_success_rule(const struct jview *v);

bool job_is_over(const struct job *j); /* Complete or Failed stands in its conditions */
/* A pod that is being deleted is replaced when it has ended, not before; and only then it counts.
 */
bool job_replaces_ended_only(const struct job *j);
bool job_pod_failed(const struct job *j, const struct pod *p);
void jview_init(struct jview *v, struct cluster *c, const struct job *j, const kobjvec *pods,
                struct arena *a);
void jview_fini(struct jview *v);
/* How long new pods have to wait because of failures; 0: no longer. */
nsec_t jview_backoff(const struct jview *v, nsec_t now);
/* The failures of an index; all zero when there are none. */
struct job_index jview_index(const struct jview *v, int64_t i);
/* How long the pod of an index has to wait, where failures count by index. */
nsec_t jview_index_backoff(const struct jview *v, int64_t i, nsec_t now);

/* The status with what this pass knows; then, in answers, the finalizers of counted pods. */
void jstatus_write(struct batch *b, const struct jview *v);
void job_release_pod(struct batch *b, const struct kobj *pod);
/* The same, and fn hears of it. */
void job_release_pod_first(struct batch *b, const struct kobj *pod, batch_fn fn, void *arg);
/* The same, unless somebody changed the pod meanwhile: a Job may have adopted it. */
void job_release_orphan(struct batch *b, const struct kobj *pod);
#endif
