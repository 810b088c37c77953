/* admithook.h - admission webhooks over HTTPS: Mutating- and ValidatingWebhookConfigurations.
 *
 * The last but one of the admission steps (quotas come after it). What matches is asked with an
 * AdmissionReview: mutating webhooks one after the other in the order of their configurations'
 * names, and once more where they want it after a later one changed the object; validating ones at
 * the same time. A write waits for the answers without holding anything up, and is evaluated again
 * when its object changed meanwhile (admission.h, admission_later()). Loop thread only.
 *
 *   admithook_set.c     the configurations, as read from the store
 *   admithook_match.c   does a webhook want this request: rules, selectors, equivalent versions,
 *                       matchConditions (admitexpr.h)
 *   admithook_review.c  AdmissionReview: the question as text, the answer read and checked
 *   admithook_patch.c   objects in another version, and what a patch makes of them
 *   admithook_run.c     the questions of one request, and what comes of their answers
 *   hookcall.c        one POST; connections      hookservice.c  where the server is
 */
#ifndef KOORD_APISERVER_ADMISSION_ADMITHOOK_H
#define KOORD_APISERVER_ADMISSION_ADMITHOOK_H
#include "apiserver/admission/admission.h"

struct hookcalls;
struct admithooks;

/* Adds its step to the server's last ones. */
struct admithooks *admithooks_new(struct apiserver *s);
/* Requests that still wait are answered with 503. NULL is fine; returns NULL. */
struct admithooks *admithooks_free(struct admithooks *w);
struct hookcalls *admithooks_calls(struct admithooks *w); /* for conversion, and tests */
#endif
