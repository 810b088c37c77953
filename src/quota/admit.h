/* admit.h - is there room for a pod in its quota (sched-quota 10)? */
#ifndef KOORD_QUOTA_ADMIT_H
#define KOORD_QUOTA_ADMIT_H
#include "quota/forest.h"

struct admit_rules {
    bool runtime;      /* enableRuntimeQuota; otherwise max is the limit */
    bool check_parent; /* enableCheckParentQuota */
};

struct admit_request {
    uint64_t keys; /* what the pod requests: forest_request() */
    const int64_t *amount;
    const reslist *list; /* the same as it was written, for texts; may be NULL */
    bool preemptible;
    /* Pods that were added to the quota or removed from it for a dry run, by column; may be NULL.
     */
    const int64_t *used_shift;
};

enum admit_code {
    ADMIT_OK,
    ADMIT_NO_ROOM,       /* used and request exceed the limit of the quota */
    ADMIT_NO_GUARANTEE,  /* the same of pods that are not preemptible, and min */
    ADMIT_NO_ROOM_ABOVE, /* the limit of an ancestor */
    ADMIT_NO_PARENT      /* the quota has no place in its tree */
};
struct admit_verdict {
    enum admit_code code;
    struct quota *quota;   /* of the pod */
    struct quota *limiter; /* whose limit it is */
    uint64_t exceeded;     /* columns */
};

/* The limit that counts for a quota: values[column * QUOTA_FIELDS] of *ret_keys. */
const int64_t *admit_limit(struct quota_forest *f, struct quota *q, const struct admit_rules *r,
                           uint64_t *ret_keys);
/* The quota itself, then (check_parent) those above it. */
void admit_own(struct quota_forest *f, struct quota *q, const struct admit_rules *r,
               const struct admit_request *p, struct admit_verdict *ret);
void admit_above(struct quota_forest *f, struct quota *q, const struct admit_rules *r,
                 const struct admit_request *p, struct admit_verdict *ret);
/* As upstream words it. */
const char *admit_text(struct quota_forest *f, const struct admit_verdict *v,
                       const struct admit_rules *r, const struct admit_request *p, struct arena *a);
#endif
