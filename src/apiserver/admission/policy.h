/* policy.h - ValidatingAdmissionPolicies and their bindings: requests judged by expressions.
 *
 * A step of admission between what changes objects and validating webhooks. A policy counts where
 * a binding names it; both say which requests they mean. All policies judge every request; the
 * first denial is the answer. Loop thread only.
 *
 *   policy_set.c     policies and bindings as read from the store, compiled once
 *   policy_types.c   status.typeChecking: expressions against the types of what is matched
 *   policy_params.c  the objects that a binding's paramRef means
 *   policy_eval.c    the expressions of a policy on one request with one params object
 *   policy_run.c     who is meant, and what comes of it
 *   conditions.c, admitexpr.c   matchConditions; variables and their types (admitexpr.h)
 */
#ifndef KOORD_APISERVER_ADMISSION_POLICY_H
#define KOORD_APISERVER_ADMISSION_POLICY_H
#include "apiserver/admission/admission.h"

struct policies;

/* Adds its step to the server's last ones. */
struct policies *policies_new(struct apiserver *s);
struct policies *policies_free(struct policies *p); /* NULL is fine; returns NULL */
#endif
