/* bootstrap_policy.h - roles and bindings that every cluster with RBAC has, as tables of text. */
#ifndef KOORD_APISERVER_AUTHZ_BOOTSTRAP_POLICY_H
#define KOORD_APISERVER_AUTHZ_BOOTSTRAP_POLICY_H

struct first_role {
    const char *ns, *name; /* ns "": a ClusterRole; NULL: the end */
    const char *aggregate; /* its label: becomes part of "view", "edit" or "admin"; NULL */
    const char *made_of;   /* its aggregationRule: of the roles with that label; NULL */
    const char *rules;
};
struct first_binding {
    const char *ns, *name, *role; /* to a role of the same scope */
    const char *subjects;         /* "Group system:masters;ServiceAccount kube-system/x" */
};

extern const struct first_role first_roles[];
extern const struct first_binding first_bindings[];
#endif
