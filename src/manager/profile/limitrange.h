/* limitrange.h - what the API server's LimitRanger does to a pod before a webhook sees it.
 *
 * For explanations only: a pod from a file has not been through it yet.
 */
#ifndef KOORD_MANAGER_PROFILE_LIMITRANGE_H
#define KOORD_MANAGER_PROFILE_LIMITRANGE_H
#include "base/arena.h"
#include "json/kj.h"

/* ranges: the LimitRanges of the namespace, a list. Containers get default requests and limits that
 * they lack, and the pod the annotation that says so. */
void limitrange_apply(struct kj_mdoc *d, struct kj_mval *pod, const struct kj_val *ranges,
                      struct arena *a);
#endif
