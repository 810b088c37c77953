/* policy_int.h - what the files of the policies share; policy.h says what is where. */
#ifndef KOORD_APISERVER_ADMISSION_POLICY_INT_H
#define KOORD_APISERVER_ADMISSION_POLICY_INT_H
#include "apiserver/admission/admitexpr.h"
#include "apiserver/admission/policy.h"
#include "apiserver/server_int.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct store_watch;

/* ---- policy_set.c ---------------------------------------------------------------------------- */

/* An expression of a policy; expr NULL: it does not compile, though it was stored. */
struct policy_expr {
    struct str name, text; /* of the document */
    struct cel_expr *expr;
};
struct policy {
    const char *name;
    const struct kj_val *spec;
    struct kj_doc *doc;
    struct arena *a;
    bool ignore_failure; /* failurePolicy Ignore */
    struct conditions *conditions;
    struct policy_expr *variables, *validations, *messages, *notes; /* messages: text empty: none */
    size_t n_variables, n_validations, n_notes;
    struct vec_of(const struct kj_val *) bindings; /* by name */
};
/* All of them as they were at one moment; immutable and counted. */
struct policy_set {
    unsigned refs;
    struct vec_of(struct policy *) list; /* by name */
    struct vec_of(struct kj_doc *) bindings;
};
struct policies {
    struct apiserver *s;
    struct store_watch *watches[2];
    struct policy_set *set; /* NULL: to be read anew */
};
struct policy_set *policy_set_get(struct policies *p);       /* the caller's reference */
struct policy_set *policy_set_unref(struct policy_set *set); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(policy_set_unref, struct policy_set *)

/* ---- policy_types.c -------------------------------------------------------------------------- */

struct store_event;
/* After a policy was written: its status tells what does not fit the kinds that it matches. */
void policy_status_update(struct apiserver *s, const struct store_event *e);

/* ---- policy_params.c ------------------------------------------------------------------------- */

struct policy_params vec_of(struct kj_doc *); /* NULL: params is null */
void policy_params_fini(struct policy_params *list);
static inline UNUSED void policy_params_fini_p(struct policy_params *list)
{
    policy_params_fini(list);
}
/* The resource of a policy's paramKind; NULL: nobody serves it, or there is no paramKind. */
const struct resource *policy_param_resource(const struct apiserver *s, const struct policy *p);
/* Those for which the policy is to be evaluated, perhaps none. -EINVAL: why says what is wrong. */
int policy_params_get(struct apiserver *s, const struct policy *p, const struct kj_val *binding,
                      const struct admission_req *r, struct policy_params *ret, struct strbuf *why);

/* ---- policy_eval.c --------------------------------------------------------------------------- */

#define POLICY_BUDGET UINT64_C(10000000) /* of the validations with one params object */
enum { POLICY_NOTE_MAX = 10 * 1024 };    /* of an audit annotation */

/* Texts live in the arena of the input. */
struct policy_denial {
    const char *reason; /* "" for an error */
    const char *message;
};
struct policy_note {
    struct str key;
    const char *value, *error; /* one of them */
};
struct policy_result {
    struct vec_of(struct policy_denial) denials; /* as validations come */
    struct vec_of(struct policy_note) notes;
};
void policy_result_fini(struct policy_result *r);
static inline UNUSED void policy_result_fini_p(struct policy_result *r)
{
    policy_result_fini(r);
}
/* ns: the Namespace, NULL: none. */
void policy_eval(const struct policy *p, struct admitexpr_input *in, const struct kj_val *params,
                 const struct kj_val *ns, struct policy_result *ret);

/* ---- policy_run.c ---------------------------------------------------------------------------- */

extern const struct admission_step policy_step;
#endif
