/* quota.h - elastic quota: keys of quotas, profiles and pods (api 5.4). */
#ifndef KOORD_API_PROTOCOL_QUOTA_H
#define KOORD_API_PROTOCOL_QUOTA_H
#include "api/protocol/annotation.h"
#include "api/protocol/protocol.h"

/* max of a quota that a profile makes: the greatest int64 over 2000. */
#define QUOTA_PROFILE_MAX (INT64_MAX / 2000)

/* ---- labels ---------------------------------------------------------------------------------- */

/* The parent's name: the label, else the root; "" for the root itself. */
const char *quota_parent(const struct objmeta *quota);
static inline bool quota_is_parent(const kstrmap *labels)
{
    return label_is_true(labels, LABEL_QUOTA_IS_PARENT);
}
static inline bool quota_is_tree_root(const kstrmap *labels)
{
    return label_is_true(labels, LABEL_QUOTA_IS_ROOT);
}
/* Only the word "false" forbids lending. */
bool quota_allows_lent(const kstrmap *labels);
static inline bool quota_allows_force_update(const kstrmap *labels)
{
    return label_is_true(labels, LABEL_QUOTA_ALLOW_FORCE_UPDATE);
}
static inline bool quota_ignores_default_tree(const kstrmap *labels)
{
    return label_is_true(labels, LABEL_QUOTA_IGNORE_DEFAULT_TREE);
}
const char *quota_tree_id(const kstrmap *labels);  /* "" for the default tree */
const char *pod_quota_name(const kstrmap *labels); /* "" when the pod names none */
bool pod_quota_preemptible(const kstrmap *labels); /* only the word "false" says no */
/* The root and system quotas may not be changed: "invalid quota NAME". */
int quota_check_changeable(const char *name, struct kerr *err);

/* ---- annotations: resource lists ------------------------------------------------------------- */

DECLARE_ANNOTATION(quota_shared_weight, struct reslist_value)
DECLARE_ANNOTATION(quota_total_resource, struct reslist_value)
DECLARE_ANNOTATION(quota_unschedulable_resource, struct reslist_value)
DECLARE_ANNOTATION(quota_runtime, struct reslist_value)
DECLARE_ANNOTATION(quota_request, struct reslist_value)
DECLARE_ANNOTATION(quota_child_request, struct reslist_value)
DECLARE_ANNOTATION(quota_guaranteed, struct reslist_value)
DECLARE_ANNOTATION(quota_allocated, struct reslist_value)
DECLARE_ANNOTATION(quota_non_preemptible_request, struct reslist_value)
DECLARE_ANNOTATION(quota_non_preemptible_used, struct reslist_value)
DECLARE_ANNOTATION(quota_admission, struct reslist_value)

/* The weight that counts: the annotation unless missing, bad or all zero, then max. */
reslist quota_weight(const kstrmap *annotations, const reslist *max, struct arena *a);

/* ---- annotations: lists of names ------------------------------------------------------------- */

DECLARE_ANNOTATION(quota_namespaces, struct strlist_value)
DECLARE_ANNOTATION(quota_resource_keys, struct strlist_value)
DECLARE_ANNOTATION(quota_max_strict_keys, struct strlist_value)

/* Namespaces whose pods belong to the quota; a bad annotation is none. */
kstrlist quota_namespace_list(const kstrmap *annotations, struct arena *a);
/* Resources of a profile's quota: cpu and memory unless the annotation is there and good. */
kstrlist quota_profile_keys(const kstrmap *annotations, struct arena *a);
/* spec.resourceRatio: a number in (0, 1]; everything else, NULL too, is 1. */
double quota_profile_ratio(const char *text);
#endif
