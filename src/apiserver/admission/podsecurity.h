/* podsecurity.h - Pod Security Standards: what the labels of a namespace ask for, and what of a pod
 * violates it. Everything here is a pure function of documents; podsecurity.c has the step.
 *
 * Upstream's words are kept: a level (privileged, baseline, restricted) has policy versions, as
 * checks came and were loosened over the releases, and a namespace has a level and a version for
 * each of three modes: enforce, audit, warn.
 */
#ifndef KOORD_APISERVER_ADMISSION_PODSECURITY_H
#define KOORD_APISERVER_ADMISSION_PODSECURITY_H
#include "base/arena.h"
#include "base/strbuf.h"
#include "json/kj.h"

struct apiserver;
struct field_errors;

enum podsec_level { PODSEC_PRIVILEGED, PODSEC_BASELINE, PODSEC_RESTRICTED }; /* ever stricter */
enum { PODSEC_LATEST = -1 };
struct podsec_standard { /* restricted:v1.25 */
    enum podsec_level level;
    int64_t minor; /* of v1.25: 25; PODSEC_LATEST */
};
struct podsec_policy {
    struct podsec_standard enforce, audit, warn;
};

/* ---- podsecurity_level.c -------------------------------------------------------------------- */

/* What stands before every label about pod security. */
#define PODSEC_LABELS "pod-security.kubernetes.io/"

/* There is always a policy: a label that is wrong means restricted to enforce, latest as a version,
 * and nothing to audit and warn. errors NULL: nobody wants to know what is wrong. */
struct podsec_policy podsec_policy_of(const struct kj_val *labels, struct field_errors *errors);
bool podsec_equal(struct podsec_standard a, struct podsec_standard b);
/* "restricted:latest" */
const char *podsec_name(struct podsec_standard s, struct arena *a);

/* ---- podsecurity_checks.c ------------------------------------------------------------------- */

struct podsec_violations {
    struct strbuf reasons; /* privileged, host namespaces */
    struct strbuf details; /* privileged (container "a" must not ...), host namespaces (...) */
};
void podsec_violations_fini(struct podsec_violations *v);
static inline UNUSED void podsec_violations_fini_p(struct podsec_violations *v)
{
    podsec_violations_fini(v);
}
/* Of a pod or a pod template: false: it violates the standard, and v says how. */
bool podsec_allows(struct podsec_standard s, const struct kj_val *pod, struct arena *a,
                   struct podsec_violations *v);

/* ---- podsecurity_existing.c ----------------------------------------------------------------- */

/* What a namespace that enforces this from now on is warned of: those of its pods that violate it,
 * grouped by what is wrong with them. fn gets each text, in order. */
typedef void (*podsec_warn_fn)(void *arg, const char *text);
void podsec_existing(struct apiserver *s, const char *ns, struct podsec_standard enforce,
                     podsec_warn_fn fn, void *arg);
#endif
