/* explain.h - what becomes of a pod, in JSON: which profiles match it, or why they do not, who
 * overrides whom, the pod before and after. What `koordctl explain profile` shows.
 *
 * Runs the webhooks themselves on the objects given; nothing is written anywhere.
 */
#ifndef KOORD_MANAGER_PROFILE_EXPLAIN_H
#define KOORD_MANAGER_PROFILE_EXPLAIN_H
#include "base/strbuf.h"
#include "manager/profile/profiles.h"
#include "json/kj.h"

struct kmerge;
struct priority_class_obj;

struct profile_explain_in {
    const struct kj_val *pod; /* as somebody would send it */
    const char *ns;           /* where, unless the pod says */
    const struct profile_set *profiles;
    const kstrmap *namespace_labels; /* NULL: there is no such namespace */
    const struct priority_class_obj *(*priority_class)(void *self, const char *name);
    void *self;
    const struct kj_val *limit_ranges; /* of the namespace; a list, or NULL */
    const struct kmerge *pod_merge;
};
/* One JSON object:
 *   pod, namespace, namespaceFound
 *   profiles   [{name, matches, why, problem, percent, skipsResources, changes [{field, from, to,
 *              overrides}]}]: why it does not match, or is not applied; overrides: another profile
 *   mutation, validation {allowed, code, message}; the latter of the pod after the former
 *   warnings   [text]
 *   before     the pod with what the API server itself adds (priority, LimitRanges)
 *   after      the pod as it would be stored, as far as the webhooks go
 */
void profile_explain(const struct profile_explain_in *in, struct strbuf *out);
#endif
