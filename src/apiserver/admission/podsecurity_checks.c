/* podsecurity_checks.c - which checks make up a level in each of its versions. */
#include "apiserver/admission/podsecurity_int.h"

/* ---- the table ------------------------------------------------------------------------------- */

enum {
    NEWEST = 35, /* the last version in which a check changed: what "latest" means */
    ALWAYS = INT32_MAX,
};
struct row {
    const char *id; /* upstream's, in the order of which violations are told */
    enum podsec_level level;
    int from, until; /* versions: the first, and the first in which it is another */
    int replaced;    /* of the baseline: restricted has a check in its place from here on */
    podsec_check_fn check;
};

#define BASELINE(id, from, until, replaced, check)        \
    {                                                     \
        id, PODSEC_BASELINE, from, until, replaced, check \
    }
#define RESTRICTED(id, from, until, check)                \
    {                                                     \
        id, PODSEC_RESTRICTED, from, until, ALWAYS, check \
    }
static const struct row rows[] = {
    BASELINE("appArmorProfile", 0, ALWAYS, ALWAYS, podsec_apparmor),
    BASELINE("capabilities_baseline", 0, ALWAYS, 22, podsec_capabilities),
    BASELINE("hostNamespaces", 0, ALWAYS, ALWAYS, podsec_host_namespaces),
    BASELINE("hostPathVolumes", 0, ALWAYS, 0, podsec_host_paths),
    BASELINE("hostPorts", 0, ALWAYS, ALWAYS, podsec_host_ports),
    BASELINE("hostProbesAndHostLifecycle", 34, ALWAYS, ALWAYS, podsec_host_probes),
    BASELINE("privileged", 0, ALWAYS, ALWAYS, podsec_privileged),
    BASELINE("procMount", 0, 35, ALWAYS, podsec_proc_mount),
    BASELINE("procMount", 35, ALWAYS, 35, podsec_proc_mount_1_35),
    BASELINE("seLinuxOptions", 0, 31, ALWAYS, podsec_selinux),
    BASELINE("seLinuxOptions", 31, ALWAYS, ALWAYS, podsec_selinux_1_31),
    BASELINE("seccompProfile_baseline", 0, 19, ALWAYS, podsec_seccomp_notes),
    BASELINE("seccompProfile_baseline", 19, ALWAYS, 19, podsec_seccomp),
    BASELINE("sysctls", 0, 27, ALWAYS, podsec_sysctls),
    BASELINE("sysctls", 27, 29, ALWAYS, podsec_sysctls_1_27),
    BASELINE("sysctls", 29, 32, ALWAYS, podsec_sysctls_1_29),
    BASELINE("sysctls", 32, ALWAYS, ALWAYS, podsec_sysctls_1_32),
    BASELINE("windowsHostProcess", 0, ALWAYS, ALWAYS, podsec_host_process),
    RESTRICTED("allowPrivilegeEscalation", 8, 25, podsec_escalation),
    RESTRICTED("allowPrivilegeEscalation", 25, ALWAYS, podsec_escalation_1_25),
    RESTRICTED("capabilities_restricted", 22, 25, podsec_drop_all),
    RESTRICTED("capabilities_restricted", 25, ALWAYS, podsec_drop_all_1_25),
    RESTRICTED("procMount_restricted", 35, ALWAYS, podsec_proc_mount),
    RESTRICTED("restrictedVolumes", 0, ALWAYS, podsec_volumes),
    RESTRICTED("runAsNonRoot", 0, 35, podsec_non_root),
    RESTRICTED("runAsNonRoot", 35, ALWAYS, podsec_non_root_1_35),
    RESTRICTED("runAsUser", 23, 35, podsec_user),
    RESTRICTED("runAsUser", 35, ALWAYS, podsec_user_1_35),
    RESTRICTED("seccompProfile_restricted", 19, 25, podsec_seccomp_set),
    RESTRICTED("seccompProfile_restricted", 25, ALWAYS, podsec_seccomp_set_1_25),
};

static bool is_part(const struct row *r, enum podsec_level level, int minor)
{
    if (r->level > level || minor < r->from || minor >= r->until)
        return false;
    return level == PODSEC_BASELINE || minor < r->replaced;
}

void podsec_violations_fini(struct podsec_violations *v)
{
    strbuf_fini(&v->reasons);
    strbuf_fini(&v->details);
}

bool podsec_allows(struct podsec_standard s, const struct kj_val *pod, struct arena *a,
                   struct podsec_violations *v)
{
    const struct podsec_pod p = { kj_get(pod, "metadata"), kj_get(pod, "spec"), a };
    int minor = s.minor < 0 || s.minor > NEWEST ? NEWEST : (int)s.minor;
    bool allowed = true;

    if (s.level == PODSEC_PRIVILEGED)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct podsec_violation found = { .reason = NULL };
        if (!is_part(&rows[i], s.level, minor))
            continue;
        rows[i].check(&p, &found);
        if (found.reason) {
            const char *comma = allowed ? "" : ", ";
            strbuf_appendf(&v->reasons, "%s%s", comma, found.reason);
            strbuf_appendf(&v->details, "%s%s (%s)", comma, found.reason,
                           strbuf_str(&found.detail));
            allowed = false;
        }
        strbuf_fini(&found.detail);
    }
    return allowed;
}

/* ---- names ----------------------------------------------------------------------------------- */

void podsec_add(const struct podsec_pod *p, struct podsec_names *l, const char *name)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 4;
        const char **items = arena_newn0(p->a, cap, const char *);
        if (l->n)
            memcpy(items, l->items, l->n * sizeof *items);
        l->items = items;
        l->cap = cap;
    }
    l->items[l->n++] = name;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void podsec_unique(struct podsec_names *l)
{
    size_t kept = 0;

    if (l->n)
        qsort(l->items, l->n, sizeof *l->items, by_bytes);
    for (size_t i = 0; i < l->n; i++)
        if (kept == 0 || !streq(l->items[kept - 1], l->items[i]))
            l->items[kept++] = l->items[i];
    l->n = kept;
}

static void join(struct strbuf *out, const struct podsec_names *l, const char *around)
{
    for (size_t i = 0; i < l->n; i++)
        strbuf_appendf(out, "%s%s%s%s", i ? ", " : "", around, l->items[i], around);
}

void podsec_list(struct strbuf *out, const struct podsec_names *l)
{
    join(out, l, "");
}

void podsec_quote(struct strbuf *out, const struct podsec_names *l)
{
    join(out, l, "\"");
}

void podsec_say(struct strbuf *out, const struct podsec_names *l, const char *one, const char *many)
{
    strbuf_appendf(out, "%s ", l->n == 1 ? one : many);
    podsec_quote(out, l);
}

void podsec_say_containers(struct strbuf *out, const struct podsec_names *l)
{
    podsec_say(out, l, "container", "containers");
}

void podsec_say_setters(struct strbuf *out, const struct podsec_setters *s)
{
    if (s->pod)
        strbuf_append(out, s->containers.n ? "pod and " : "pod");
    if (s->containers.n)
        podsec_say_containers(out, &s->containers);
}

/* ---- containers ------------------------------------------------------------------------------ */

struct podsec_iter podsec_containers(const struct podsec_pod *p)
{
    return (struct podsec_iter){ .spec = p->spec, .it = kj_iter(NULL) };
}

const struct kj_val *podsec_next(struct podsec_iter *it)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };
    const struct kj_val *c;

    while (!kj_next(&it->it, NULL, &c)) {
        if (it->list == ARRAY_LEN(lists))
            return NULL;
        it->it = kj_iter(kj_get(it->spec, lists[it->list++]));
    }
    return c;
}

struct podsec_names podsec_those(const struct podsec_pod *p, bool (*is)(const struct kj_val *of))
{
    struct podsec_iter it = podsec_containers(p);
    struct podsec_names names = { 0 };
    const struct kj_val *c;

    while ((c = podsec_next(&it)))
        if (is(c))
            podsec_add(p, &names, podsec_name_of(c));
    return names;
}
