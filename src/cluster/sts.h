/* sts.h - inside the StatefulSet controller.
 *
 *   statefulset.c  news, what one pass does
 *   sts_view.c     what a pass sees: pods by ordinal, which revision they have; the status
 *   sts_plan.c     which pods are to be made or deleted, and in which order
 *   sts_pods.c     doing so
 *   sts_claims.c   claims of pods, and who owns them
 */
#ifndef KOORD_CLUSTER_STS_H
#define KOORD_CLUSTER_STS_H
#include "cluster/revisions.h"

#define LABEL_POD_NAME  "statefulset.kubernetes.io/pod-name"
#define LABEL_POD_INDEX "apps.kubernetes.io/pod-index"
enum { STS_STEPS_MAX = 500 }; /* in one pass */

struct stsctl {
    struct cluster *c;
    struct controller *controller;
    struct expect *expect;
    struct podhold *hold;
    struct informer *sets, *pods, *revisions, *claims;
};
struct sts_pod {
    int64_t ordinal;
    struct kobj *obj;
};
typedef struct vec_of(struct sts_pod) stspodvec;

struct stsview {
    const struct sts *s;
    stspodvec pods;                          /* by ordinal; also those outside start..end */
    int64_t start, end;                      /* ordinals that should be: [start, end) */
    bool ordered;                            /* one at a time */
    const struct revision *current, *update; /* current: what pods below the partition have */
    nsec_t now, wait;                        /* wait: until one more becomes available; or 0 */
};
/* -1: the pod is not one of the set's by its name. */
int64_t sts_ordinal(const struct kobj *set, const struct kobj *pod);
void stsview_init(struct stsview *v, const struct sts *s, const kobjvec *pods, nsec_t now);
void stsview_fini(struct stsview *v);
struct kobj *stsview_pod(const struct stsview *v, int64_t ordinal); /* or NULL */
bool stsview_is_condemned(const struct stsview *v, int64_t ordinal);
bool sts_pod_is_healthy(const struct kobj *pod); /* runs, is ready, stays */
bool stsview_is_available(const struct stsview *v, const struct kobj *pod);
struct sts_status stsview_status(const struct stsview *v);

enum sts_verb { STS_CREATE, STS_DELETE, STS_RECREATE };
struct sts_step {
    enum sts_verb verb;
    int64_t ordinal;
    struct kobj *pod; /* to delete; recreate: it has ended */
};
typedef struct vec_of(struct sts_step) stsstepvec;
void sts_plan(const struct stsview *v, stsstepvec *out);
/* The revision that a new pod gets. */
const struct revision *sts_revision_for(const struct stsview *v, int64_t ordinal);

void sts_create_pod(struct stsctl *sc, struct batch *b, const struct stsview *v, int64_t ordinal);
void sts_delete_pod(struct stsctl *sc, struct batch *b, const struct stsview *v,
                    const struct kobj *pod);
/* The labels by which a pod is known, where they are missing. */
void sts_mend_pod(struct batch *b, const struct kobj *pod, int64_t ordinal);

/* "data-web-3" for each template, NULL behind the last; in the arena. */
const char **sts_claim_names(const struct sts *s, int64_t ordinal, struct arena *a);
/* The body of the claim with this number. */
void sts_claim_write(const struct sts *s, size_t i, const char *name, struct strbuf *out);
/* Puts the volumes of the claims into a pod. */
void sts_claim_volumes(const struct sts *s, int64_t ordinal, struct kj_mdoc *d,
                       struct kj_mval *pod);
/* Who owns the claims of a pod, by the retention policy. False when that had to be written: the
 * pod is to be deleted after it. */
bool sts_claims_own(struct stsctl *sc, struct batch *b, const struct stsview *v, int64_t ordinal,
                    const struct kobj *pod);
#endif
