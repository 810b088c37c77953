/* admitexpr.h - expressions of admission: what they may refer to, and the values of one request.
 *
 * The same for matchConditions of webhooks and for everything in a ValidatingAdmissionPolicy:
 * object, oldObject, request, namespaceObject, authorizer and authorizer.requestResource; policies
 * may add params and variables. Loop thread only.
 */
#ifndef KOORD_APISERVER_ADMISSION_ADMITEXPR_H
#define KOORD_APISERVER_ADMISSION_ADMITEXPR_H
#include "apiserver/admission/admission.h"
#include "apiserver/registry/resource.h"
#include "cel/authz.h"
#include "cel/cel.h"

/* The order of the variables in every environment. */
enum admitexpr_var {
    ADMITEXPR_OBJECT,
    ADMITEXPR_OLD,
    ADMITEXPR_NAMESPACE,
    ADMITEXPR_REQUEST,
    ADMITEXPR_AUTHORIZER,
    ADMITEXPR_RESOURCE,
    ADMITEXPR_PARAMS,
    ADMITEXPR_VARIABLES,
    ADMITEXPR_VARS
};

struct admitexpr_env {
    bool params, authorizer;
    const struct cel_type *variables; /* NULL: there are none */
    /* Of object and oldObject, and of params, where types are all that is checked; NULL: dyn. */
    const struct cel_type *object, *params_type;
};
/* want: types that the result may have, NULL at the end; NULL: any. 0; -EINVAL: it is no such
 * expression; -EIO: only a constant part of it fails. Then why has the words of kube-apiserver. */
int admitexpr_compile(const struct admitexpr_env *env, struct str text,
                      const struct cel_type *const *want, struct cel_expr **ret,
                      struct strbuf *why);
extern const struct cel_type *const admitexpr_bool[], *const admitexpr_text[],
                                                          *const admitexpr_note[];

/* The type of `variables`: a field for each that came before. */
struct admitexpr_variables {
    struct arena *a;
    struct cel_type type;
    struct cel_field *fields;
};
void admitexpr_variables_init(struct admitexpr_variables *v, struct arena *a, size_t n_max);
/* expr NULL: one that does not compile. The name lives longer than the type. */
void admitexpr_variables_add(struct admitexpr_variables *v, struct str name,
                             const struct cel_expr *expr);

/* What the variables are for one request. */
struct admitexpr_input {
    struct arena *a;
    const struct admission_req *r;
    struct kj_doc *request, *obj, *old;
    struct cel_authorizer authorizer;
    struct cel_val vars[ADMITEXPR_VARS];
};
/* as: the version in which objects are seen. obj is NULL for a deletion. */
void admitexpr_input_init(struct admitexpr_input *in, const struct admission_req *r,
                          const struct resource *as, const struct kj_val *obj);
void admitexpr_input_fini(struct admitexpr_input *in);
/* The value of `request` for a document of its shape, which is borrowed. */
struct cel_val admitexpr_request(struct arena *a, const struct kj_val *request);
/* ns, a Namespace, is borrowed; NULL: null. */
void admitexpr_input_namespace(struct admitexpr_input *in, const struct kj_val *ns);
static inline UNUSED void admitexpr_input_fini_p(struct admitexpr_input *in)
{
    admitexpr_input_fini(in);
}

/* ---- conditions.c ---------------------------------------------------------------------------- */

#define CONDITIONS_BUDGET UINT64_C(2500000) /* of all conditions of one webhook */
enum { CONDITIONS_MAX = 64 };

/* matchConditions, compiled. NULL: none. */
struct conditions;
struct conditions *conditions_new(const struct kj_val *list, bool params);
struct conditions *conditions_free(struct conditions *c); /* NULL is fine; returns NULL */
/* 1: all hold; 0: one does not; -EINVAL: nobody knows, and why says why. */
int conditions_eval(const struct conditions *c, const struct admitexpr_input *in,
                    struct strbuf *why);
/* What is wrong with them where somebody writes them. */
void conditions_check(const struct kj_val *list, bool params, const char *path,
                      struct field_errors *errors);
#endif
