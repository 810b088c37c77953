/* admithook_int.h - what the files of the webhooks share; admithook.h says what is where. */
#ifndef KOORD_APISERVER_ADMISSION_ADMITHOOK_INT_H
#define KOORD_APISERVER_ADMISSION_ADMITHOOK_INT_H
#include "apiserver/admission/admithook.h"
#include "apiserver/server_int.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct conditions;
struct store_watch;

/* ---- admithook_set.c --------------------------------------------------------------------------- */

/* One entry of a configuration. All texts are those of its document. */
struct admithook {
    const char *config, *name;
    const struct kj_val *spec;
    bool mutating;
    bool ignore_failure; /* failurePolicy Ignore */
    bool exact;          /* matchPolicy Exact */
    bool reinvoke;       /* reinvocationPolicy IfNeeded */
    bool dry_run_safe;   /* sideEffects None or NoneOnDryRun */
    int64_t timeout_s;
    struct conditions *conditions; /* NULL: none */
    const char *version; /* of the AdmissionReview: "v1" or "v1beta1"; NULL: none that we know */
};
struct admithook_list vec_of(struct admithook);
/* All configurations as they were at one moment; immutable and counted. */
struct admithook_set {
    unsigned refs;
    struct vec_of(struct kj_doc *) docs;
    struct admithook_list mutating, validating; /* in the order in which they are asked */
};

struct admithooks {
    struct apiserver *s;
    struct hookcalls *calls;
    struct store_watch *watches[2]; /* of each kind */
    struct admithook_set *set;      /* NULL: to be read anew */
    struct admithook_run *runs;
};
/* The caller's reference. */
struct admithook_set *admithook_set_get(struct admithooks *w);
struct admithook_set *admithook_set_unref(
    struct admithook_set *set); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(admithook_set_unref, struct admithook_set *)

/* ---- admithook_match.c ------------------------------------------------------------------------- */

/* The resource as whose object the webhook wants to see it (another version of the same objects
 * with matchPolicy Equivalent), by its rules alone; NULL: it does not ask for such requests. */
const struct resource *admithook_rules_match(const struct admithook *h,
                                             const struct admission_req *r);
/* The same for a list of rules, those of policies too. exact: no other versions. name: the
 * object's, for rules with resourceNames. */
const struct resource *rules_match(const struct kj_val *rules, bool exact,
                                   const struct admission_req *r, const char *name);
/* namespaceSelector and objectSelector of a webhook or of matchResources. 1 or 0; negative: the
 * namespace is not there. */
int selectors_match(struct apiserver *s, const struct kj_val *spec, const struct admission_req *r,
                    const struct kj_val *obj, struct kerr *err);
/* matchConditions. 1 or 0; -EINVAL: nobody knows, and why says why. */
int admithook_conditions_match(const struct admithook *h, const struct admission_req *r,
                               const struct resource *as, const struct kj_val *obj,
                               struct strbuf *why);
/* Requests about webhook configurations themselves ask nobody. */
bool admithook_is_exempt(const struct resource *r);

/* ---- admithook_review.c ------------------------------------------------------------------------ */

/* What the request calls the object: "" when the server has yet to make the name. */
const char *admithook_name(const struct admission_req *r, const struct kj_val *obj);
/* The members of an AdmissionRequest. as: see admithook_rules_match(). obj is NULL for a deletion.
 * uid NULL: those that expressions see, which have the objects beside it. */
void admithook_request_write(struct kjw *w, const struct resource *as,
                             const struct admission_req *r, const struct kj_val *obj,
                             const char *uid);
void admithook_review_write(const struct admithook *h, const struct resource *as,
                            const struct admission_req *r, const struct kj_val *obj,
                            const char *uid, struct strbuf *out);

struct admithook_answer {
    struct kj_doc *doc, *patch; /* patch NULL: nothing is to be changed */
    const struct kj_val *status, *warnings;
    bool allowed;
};
void admithook_answer_fini(struct admithook_answer *a);
static inline UNUSED void admithook_answer_fini_p(struct admithook_answer *a)
{
    admithook_answer_fini(a);
}
/* -EBADMSG: it is no answer, and why says why not. -EINVAL: the patch is none. */
int admithook_answer_read(const char *body, size_t n, const char *version, const char *uid,
                          bool mutating, struct admithook_answer *ret, struct strbuf *why);
/* The Status of a refusal in the words of kube-apiserver. Texts live in the arena. */
struct api_refusal admithook_answer_refusal(const struct admithook_answer *a, const char *webhook,
                                            struct arena *arena);

/* ---- admithook_run.c --------------------------------------------------------------------------- */

extern const struct admission_step admithook_step;
void admithook_runs_fail(struct admithooks *w); /* the server ends */
#endif
