/* podsecrets.h - which Secrets a pod uses, and whether its service account lets it. */
#ifndef KOORD_APISERVER_ADMISSION_PODSECRETS_H
#define KOORD_APISERVER_ADMISSION_PODSECRETS_H
#include "base/strbuf.h"
#include "json/kj.h"

/* Any Secret, wherever a pod may name one. */
bool podsecrets_any(const struct kj_val *pod);
/* The account wants its pods to use no Secrets but those that it lists. */
bool podsecrets_are_limited(const struct kj_val *account);
/* The first Secret that the account does not list, in the words of kube-apiserver; false: none.
 * Looked at are volumes with a Secret, containers and pull secrets. */
bool podsecrets_foreign(const struct kj_val *account, const struct kj_val *pod, struct strbuf *why);
/* ...of the ephemeral containers alone. */
bool podsecrets_foreign_ephemeral(const struct kj_val *account, const struct kj_val *pod,
                                  struct strbuf *why);
#endif
