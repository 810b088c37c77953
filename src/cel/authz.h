/* authz.h - the variable `authorizer`: expressions that ask whether somebody may do something.
 *
 * This room knows no rules: who evaluates gives a callback. Types are in type.h (cel_authorizer,
 * cel_resource_check); the variables are `authorizer` and `authorizer.requestResource`.
 */
#ifndef KOORD_CEL_AUTHZ_H
#define KOORD_CEL_AUTHZ_H
#include "cel/val.h"

/* What is asked. Empty text: not given. */
struct cel_access {
    struct str service_account; /* "namespace:name"; empty: whoever made the request */
    struct str verb, path;      /* path: then it is about no resource */
    struct str group, resource, subresource, namespace, name;
    struct str field_selector, label_selector;
};
struct cel_access_answer {
    bool allowed;
    struct str reason, error; /* in the arena, or constant */
};
struct cel_authorizer {
    void (*check)(void *arg, const struct cel_access *access, struct arena *a,
                  struct cel_access_answer *ret);
    void *arg;
};

/* Values of the two variables; the authorizer must outlive them. */
struct cel_val cel_v_authorizer(struct arena *a, const struct cel_authorizer *auth);
struct cel_val cel_v_resource_check(struct arena *a, const struct cel_authorizer *auth,
                                    const struct cel_access *access);
#endif
