/* review.h - questions to an API server whose answers are kept for a while: TokenReview and
 * SubjectAccessReview.
 *
 * Requests that ask the same share one question. A question is known by its SHA-256 only: what it
 * holds (a token) is not kept. Kept answers and open questions are bounded; failures are not kept.
 * Loop thread only.
 */
#ifndef KOORD_COMPONENT_REVIEW_H
#define KOORD_COMPONENT_REVIEW_H
#include "base/base.h"

struct kj_val;
struct kube;
struct review_wait;
struct reviews;

struct review {   /* what is kept of an answer */
    bool good;    /* authenticated; allowed */
    bool masters; /* TokenReview: of the group system:masters */
    char *name;   /* TokenReview: the user */
    char *text;   /* TokenReview: the user for a SubjectAccessReview; else the reason, or NULL */
};
struct review_opts {
    const char *path; /* where to post */
    void (*read)(const struct kj_val *status, struct review *ret);
    nsec_t good_ttl, bad_ttl; /* how long answers are kept; 0: not at all */
    size_t max;               /* answers kept, and questions open; 0: 4096 */
};
struct reviews *reviews_new(struct kube *k, const struct review_opts *o);
/* Who waits hears nothing. Not from inside a review_fn. NULL is fine; always returns NULL. */
struct reviews *reviews_free(struct reviews *rv);
DEFINE_CLEANUP(reviews_free, struct reviews *)

/* answer NULL: nobody knows, err says why. Valid during the call. */
typedef void (*review_fn)(void *arg, const struct review *answer, const struct kerr *err);
/* A kept answer comes from inside the call, which then returns NULL. The body is copied. */
struct review_wait *reviews_ask(struct reviews *rv, const void *body, size_t n, review_fn fn,
                                void *arg);
struct review_wait *review_cancel(struct review_wait *w); /* NULL is fine; always returns NULL */
#endif
