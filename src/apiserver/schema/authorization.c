/* authorization.c - what callers ask, about themselves and others: authorization.k8s.io,
 * authentication.k8s.io. Answered, never stored.
 */
#include "apiserver/schema/tables.h"

static const struct t_field field_selector_requirement_fields[] = {
    F(1, "key", T_STR, T_REQ | T_EMIT),
    F(2, "operator", T_STR, T_REQ | T_EMIT, GO("v1.FieldSelectorOperator")),
    LIST(3, "values", T_STR, T_ATOMIC),
    END,
};
static TYPE(field_selector_requirement,
            "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement");

static const struct t_field field_selector_attributes_fields[] = {
    F(1, "rawSelector", T_STR, 0),
    OBJS(2, "requirements", field_selector_requirement, T_ATOMIC),
    END,
};
static TYPE(field_selector_attributes, "io.k8s.api.authorization.v1.FieldSelectorAttributes");

static const struct t_field label_selector_attributes_fields[] = {
    F(1, "rawSelector", T_STR, 0),
    OBJS(2, "requirements", meta_label_selector_requirement, T_ATOMIC),
    END,
};
static TYPE(label_selector_attributes, "io.k8s.api.authorization.v1.LabelSelectorAttributes");

static const struct t_field resource_attributes_fields[] = {
    F(1, "namespace", T_STR, 0),
    F(2, "verb", T_STR, 0),
    F(3, "group", T_STR, 0),
    F(4, "version", T_STR, 0),
    F(5, "resource", T_STR, 0),
    F(6, "subresource", T_STR, 0),
    F(7, "name", T_STR, 0),
    OBJ(8, "fieldSelector", field_selector_attributes, T_PTR),
    OBJ(9, "labelSelector", label_selector_attributes, T_PTR),
    END,
};
static TYPE(resource_attributes, "io.k8s.api.authorization.v1.ResourceAttributes");

static const struct t_field non_resource_attributes_fields[] = {
    F(1, "path", T_STR, 0),
    F(2, "verb", T_STR, 0),
    END,
};
static TYPE(non_resource_attributes, "io.k8s.api.authorization.v1.NonResourceAttributes");

static const struct t_field self_subject_access_review_spec_fields[] = {
    OBJ(1, "resourceAttributes", resource_attributes, T_PTR),
    OBJ(2, "nonResourceAttributes", non_resource_attributes, T_PTR),
    END,
};
static TYPE(self_subject_access_review_spec,
            "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec");

static const struct t_field subject_access_review_status_fields[] = {
    F(1, "allowed", T_BOOL, T_REQ | T_EMIT),
    F(4, "denied", T_BOOL, 0),
    F(2, "reason", T_STR, 0),
    F(3, "evaluationError", T_STR, 0),
    END,
};
static TYPE(subject_access_review_status, "io.k8s.api.authorization.v1.SubjectAccessReviewStatus");

static const struct t_field authorization_self_subject_access_review_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", self_subject_access_review_spec, T_REQ | T_EMIT),
    OBJ(3, "status", subject_access_review_status, T_EMIT),
    END,
};
TYPE(authorization_self_subject_access_review,
     "io.k8s.api.authorization.v1.SelfSubjectAccessReview");

static const struct t_field self_subject_rules_review_spec_fields[] = {
    F(1, "namespace", T_STR, 0),
    END,
};
static TYPE(self_subject_rules_review_spec,
            "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec");

static const struct t_field resource_rule_fields[] = {
    LIST(1, "verbs", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    LIST(2, "apiGroups", T_STR, T_ATOMIC),
    LIST(3, "resources", T_STR, T_ATOMIC),
    LIST(4, "resourceNames", T_STR, T_ATOMIC),
    END,
};
static TYPE(resource_rule, "io.k8s.api.authorization.v1.ResourceRule");

static const struct t_field non_resource_rule_fields[] = {
    LIST(1, "verbs", T_STR, T_REQ | T_EMIT | T_ATOMIC),
    LIST(2, "nonResourceURLs", T_STR, T_ATOMIC),
    END,
};
static TYPE(non_resource_rule, "io.k8s.api.authorization.v1.NonResourceRule");

static const struct t_field subject_rules_review_status_fields[] = {
    OBJS(1, "resourceRules", resource_rule, T_REQ | T_EMIT | T_ATOMIC),
    OBJS(2, "nonResourceRules", non_resource_rule, T_REQ | T_EMIT | T_ATOMIC),
    F(3, "incomplete", T_BOOL, T_REQ | T_EMIT),
    F(4, "evaluationError", T_STR, 0),
    END,
};
static TYPE(subject_rules_review_status, "io.k8s.api.authorization.v1.SubjectRulesReviewStatus");

static const struct t_field authorization_self_subject_rules_review_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", self_subject_rules_review_spec, T_REQ | T_EMIT),
    OBJ(3, "status", subject_rules_review_status, T_EMIT),
    END,
};
TYPE(authorization_self_subject_rules_review, "io.k8s.api.authorization.v1.SelfSubjectRulesReview");

static const struct t_field user_info_fields[] = {
    F(1, "username", T_STR, 0),
    F(2, "uid", T_STR, 0),
    LIST(3, "groups", T_STR, T_ATOMIC),
    MAP(4, "extra", T_STRS, 0, GO("v1.ExtraValue")),
    END,
};
static TYPE(user_info, "io.k8s.api.authentication.v1.UserInfo");

static const struct t_field self_subject_review_status_fields[] = {
    OBJ(1, "userInfo", user_info, T_EMIT),
    END,
};
static TYPE(self_subject_review_status, "io.k8s.api.authentication.v1.SelfSubjectReviewStatus");

static const struct t_field authentication_self_subject_review_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "status", self_subject_review_status, T_EMIT),
    END,
};
TYPE(authentication_self_subject_review, "io.k8s.api.authentication.v1.SelfSubjectReview");

static const struct t_field subject_access_review_spec_fields[] = {
    OBJ(1, "resourceAttributes", resource_attributes, T_PTR),
    OBJ(2, "nonResourceAttributes", non_resource_attributes, T_PTR),
    F(3, "user", T_STR, 0),
    LIST(4, "groups", T_STR, T_ATOMIC),
    MAP(5, "extra", T_STRS, 0, GO("v1.ExtraValue")),
    F(6, "uid", T_STR, 0),
    END,
};
static TYPE(subject_access_review_spec, "io.k8s.api.authorization.v1.SubjectAccessReviewSpec");

static const struct t_field authorization_local_subject_access_review_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", subject_access_review_spec, T_REQ | T_EMIT),
    OBJ(3, "status", subject_access_review_status, T_EMIT),
    END,
};
TYPE(authorization_local_subject_access_review,
     "io.k8s.api.authorization.v1.LocalSubjectAccessReview");

static const struct t_field authorization_subject_access_review_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", subject_access_review_spec, T_REQ | T_EMIT),
    OBJ(3, "status", subject_access_review_status, T_EMIT),
    END,
};
TYPE(authorization_subject_access_review, "io.k8s.api.authorization.v1.SubjectAccessReview");

static const struct t_field bound_object_reference_fields[] = {
    F(1, "kind", T_STR, 0),
    F(2, "apiVersion", T_STR, 0),
    F(3, "name", T_STR, 0),
    F(4, "uid", T_STR, 0),
    END,
};
static TYPE(bound_object_reference, "io.k8s.api.authentication.v1.BoundObjectReference");

static const struct t_field token_request_spec_fields[] = {
    LIST(1, "audiences", T_STR, T_REQ | T_ATOMIC | T_EMIT),
    F(4, "expirationSeconds", T_I64, T_PTR | T_EMIT, DEF("3600")),
    OBJ(3, "boundObjectRef", bound_object_reference, T_PTR | T_EMIT),
    END,
};
static TYPE(token_request_spec, "io.k8s.api.authentication.v1.TokenRequestSpec");

static const struct t_field token_request_status_fields[] = {
    F(1, "token", T_STR, T_REQ | T_EMIT),
    F(2, "expirationTimestamp", T_TIME, T_REQ | T_EMIT),
    END,
};
static TYPE(token_request_status, "io.k8s.api.authentication.v1.TokenRequestStatus");

static const struct t_field authentication_token_request_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", token_request_spec, T_REQ | T_EMIT),
    OBJ(3, "status", token_request_status, T_EMIT),
    END,
};
TYPE(authentication_token_request, "io.k8s.api.authentication.v1.TokenRequest");

static const struct t_field token_review_spec_fields[] = {
    F(1, "token", T_STR, 0),
    LIST(2, "audiences", T_STR, T_ATOMIC),
    END,
};
static TYPE(token_review_spec, "io.k8s.api.authentication.v1.TokenReviewSpec");

static const struct t_field token_review_status_fields[] = {
    F(1, "authenticated", T_BOOL, 0),
    OBJ(2, "user", user_info, T_EMIT),
    LIST(4, "audiences", T_STR, T_ATOMIC),
    F(3, "error", T_STR, 0),
    END,
};
static TYPE(token_review_status, "io.k8s.api.authentication.v1.TokenReviewStatus");

static const struct t_field authentication_token_review_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    OBJ(2, "spec", token_review_spec, T_REQ | T_EMIT),
    OBJ(3, "status", token_review_status, T_EMIT),
    END,
};
TYPE(authentication_token_review, "io.k8s.api.authentication.v1.TokenReview");
