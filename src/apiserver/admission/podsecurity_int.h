/* podsecurity_int.h - what the checks of podsecurity_baseline.c and podsecurity_restricted.c are
 * made of, and their names for the table in podsecurity_checks.c.
 */
#ifndef KOORD_APISERVER_ADMISSION_PODSECURITY_INT_H
#define KOORD_APISERVER_ADMISSION_PODSECURITY_INT_H
#include "apiserver/admission/podsecurity.h"

struct podsec_pod {
    const struct kj_val *meta, *spec;
    struct arena *a;
};
struct podsec_violation {
    const char *reason; /* NULL: none */
    struct strbuf detail;
};
typedef void (*podsec_check_fn)(const struct podsec_pod *p, struct podsec_violation *v);

/* ---- names, in the arena of the pod ---------------------------------------------------------- */

struct podsec_names { /* all zero: none */
    const char **items;
    size_t n, cap;
};
void podsec_add(const struct podsec_pod *p, struct podsec_names *l, const char *name);
/* Makes it a set: each once, in byte order. */
void podsec_unique(struct podsec_names *l);
/* a, b */
void podsec_list(struct strbuf *out, const struct podsec_names *l);
/* "a", "b" */
void podsec_quote(struct strbuf *out, const struct podsec_names *l);
/* container "a"; containers "a", "b" */
void podsec_say(struct strbuf *out, const struct podsec_names *l, const char *one,
                const char *many);
void podsec_say_containers(struct strbuf *out, const struct podsec_names *l);

/* Who sets what may not be set: the pod, some of its containers, or both. */
struct podsec_setters {
    bool pod;
    struct podsec_names containers;
};
static inline bool podsec_any(const struct podsec_setters *s)
{
    return s->pod || s->containers.n;
}
/* pod and containers "a", "b" */
void podsec_say_setters(struct strbuf *out, const struct podsec_setters *s);

/* ---- containers: init, then regular, then ephemeral ones ------------------------------------- */

struct podsec_iter {
    const struct kj_val *spec;
    size_t list;
    struct kj_iter it;
};
struct podsec_iter podsec_containers(const struct podsec_pod *p);
const struct kj_val *podsec_next(struct podsec_iter *it); /* NULL: that was the last */
/* The names of those of which this is true. */
struct podsec_names podsec_those(const struct podsec_pod *p, bool (*is)(const struct kj_val *of));

static inline const char *podsec_name_of(const struct kj_val *v)
{
    return kj_str_or(kj_get(v, "name"), "");
}
/* The same key of the securityContext of the pod's spec or of a container. */
static inline const struct kj_val *podsec_context(const struct kj_val *of, const char *key)
{
    return kj_get(kj_get(of, "securityContext"), key);
}
static inline bool podsec_is_set(const struct kj_val *v)
{
    return kj_type(v) > KJ_NULL;
}
static inline bool podsec_is_false(const struct kj_val *v)
{
    return kj_type(v) == KJ_BOOL && !kj_bool(v, true);
}

/* ---- the checks ------------------------------------------------------------------------------ */

/* podsecurity_baseline.c */
void podsec_apparmor(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_capabilities(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_host_namespaces(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_host_paths(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_host_ports(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_host_probes(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_privileged(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_proc_mount(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_proc_mount_1_35(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_selinux(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_selinux_1_31(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_sysctls(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_sysctls_1_27(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_sysctls_1_29(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_sysctls_1_32(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_host_process(const struct podsec_pod *p, struct podsec_violation *v);

/* podsecurity_restricted.c, which has all about seccomp */
void podsec_seccomp_notes(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_seccomp(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_seccomp_set(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_seccomp_set_1_25(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_escalation(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_escalation_1_25(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_drop_all(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_drop_all_1_25(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_volumes(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_non_root(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_non_root_1_35(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_user(const struct podsec_pod *p, struct podsec_violation *v);
void podsec_user_1_35(const struct podsec_pod *p, struct podsec_violation *v);
#endif
