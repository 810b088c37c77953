/* serve.h - the webhooks over HTTP: AdmissionReview v1 and v1beta1, /healthz, /convert.
 *
 * For an httpd that somebody else listens with:
 *
 *     struct httpd_opts o = { .max_body = WEBHOOK_BODY_MAX, .tell_too_large = true };
 *     d = httpd_new(loop, &o, webhook_serve, webhooks);
 */
#ifndef KOORD_MANAGER_WEBHOOK_SERVE_H
#define KOORD_MANAGER_WEBHOOK_SERVE_H
#include "manager/webhook/webhook.h"

struct httpd_req;

enum { WEBHOOK_BODY_MAX = 7 * 1024 * 1024 - 1 }; /* from 7 MiB on: code 413 */

/* An httpd_fn; arg: the struct webhooks. */
void webhook_serve(void *webhooks, struct httpd_req *r);

/* The answer to a review, as JSON text appended to out. The body, and KJ_PADDING bytes behind it,
 * are overwritten. Never fails: what cannot be read is answered as such. Returns NULL; or, when a
 * quota has to be charged first, a review for webhook_review_finish(), and nothing in out. */
struct webhook_review;
struct webhook_review *webhook_review(struct webhooks *w, enum webhook_id id, char *body, size_t n,
                                      struct strbuf *out);
/* Charges, and hands over the answer in a later turn; the review is gone then. */
typedef void (*webhook_reviewed_fn)(void *arg, const struct strbuf *answer);
void webhook_review_finish(struct webhook_review *v, webhook_reviewed_fn fn, void *arg);
/* Before that: nobody waits for the answer any more. */
void webhook_review_cancel(struct webhook_review *v);
/* The same for a body that was not read: a review that is not allowed, with this code. */
void webhook_review_unread(int code, const char *message, struct strbuf *out);
/* The answer to a ConversionReview. All kinds have one version, so objects that have the version
 * that is asked for come back as they are, and others are a failure. */
void webhook_convert(char *body, size_t n, struct strbuf *out);
#endif
