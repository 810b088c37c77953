/* podsecurity_restricted.c - checks of the restricted level: what hardening asks for has to be
 * said. And all about seccomp profiles, baseline included.
 */
#include "apiserver/admission/podsecurity_int.h"

/* What these checks want cannot be set for Windows, nor would it mean anything there. */
static bool is_windows(const struct podsec_pod *p)
{
    return streq(podsec_name_of(kj_get(p->spec, "os")), "windows");
}

/* Its root is nobody outside. */
static bool has_own_users(const struct podsec_pod *p)
{
    return podsec_is_false(kj_get(p->spec, "hostUsers"));
}

/* ---- privileges ------------------------------------------------------------------------------ */

static bool may_escalate(const struct kj_val *container)
{
    return !podsec_is_false(podsec_context(container, "allowPrivilegeEscalation"));
}

void podsec_escalation(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names bad = podsec_those(p, may_escalate);

    if (bad.n == 0)
        return;
    v->reason = "allowPrivilegeEscalation != false";
    podsec_say_containers(&v->detail, &bad);
    strbuf_append(&v->detail, " must set securityContext.allowPrivilegeEscalation=false");
}

void podsec_escalation_1_25(const struct podsec_pod *p, struct podsec_violation *v)
{
    if (!is_windows(p))
        podsec_escalation(p, v);
}

static bool drops_all(const struct kj_val *container)
{
    struct kj_iter it = kj_iter(kj_get(podsec_context(container, "capabilities"), "drop"));
    const struct kj_val *capability;

    while (kj_next(&it, NULL, &capability))
        if (streq(kj_str_or(capability, ""), "ALL"))
            return true;
    return false;
}

/* What a container adds beside the one capability that it may. */
static void add_added(const struct podsec_pod *p, const struct kj_val *container,
                      struct podsec_names *added)
{
    struct kj_iter it = kj_iter(kj_get(podsec_context(container, "capabilities"), "add"));
    const struct kj_val *capability;

    while (kj_next(&it, NULL, &capability)) {
        const char *name = kj_str_or(capability, "");
        if (!streq(name, "NET_BIND_SERVICE"))
            podsec_add(p, added, name);
    }
}

void podsec_drop_all(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names keeping = { 0 }, adding = { 0 }, added = { 0 };
    struct podsec_iter it = podsec_containers(p);
    const struct kj_val *c;

    while ((c = podsec_next(&it))) {
        size_t before = added.n;
        if (!drops_all(c))
            podsec_add(p, &keeping, podsec_name_of(c));
        add_added(p, c, &added);
        if (added.n > before)
            podsec_add(p, &adding, podsec_name_of(c));
    }
    if (keeping.n) {
        v->reason = "unrestricted capabilities";
        podsec_say_containers(&v->detail, &keeping);
        strbuf_append(&v->detail, " must set securityContext.capabilities.drop=[\"ALL\"]");
    }
    if (adding.n) {
        podsec_unique(&added);
        v->reason = "unrestricted capabilities";
        strbuf_append(&v->detail, keeping.n ? "; " : "");
        podsec_say_containers(&v->detail, &adding);
        strbuf_append(&v->detail, " must not include ");
        podsec_quote(&v->detail, &added);
        strbuf_append(&v->detail, " in securityContext.capabilities.add");
    }
}

void podsec_drop_all_1_25(const struct podsec_pod *p, struct podsec_violation *v)
{
    if (!is_windows(p))
        podsec_drop_all(p, v);
}

/* ---- volumes --------------------------------------------------------------------------------- */

static bool has_any(const struct kj_val *volume, const char *const *types, size_t n,
                    const char **ret)
{
    for (size_t i = 0; i < n; i++) {
        if (!podsec_is_set(kj_get(volume, types[i])))
            continue;
        *ret = types[i];
        return true;
    }
    return false;
}

/* The type of a volume that may not be used; NULL: it may. */
static const char *bad_type(const struct kj_val *volume)
{
    static const char *const fine[] = { "configMap", "csi",       "downwardAPI",
                                        "emptyDir",  "ephemeral", "image",
                                        "projected", "secret",    "persistentVolumeClaim" };
    static const char *const others[] = { "hostPath",
                                          "gcePersistentDisk",
                                          "awsElasticBlockStore",
                                          "gitRepo",
                                          "nfs",
                                          "iscsi",
                                          "glusterfs",
                                          "rbd",
                                          "flexVolume",
                                          "cinder",
                                          "cephfs",
                                          "flocker",
                                          "fc",
                                          "azureFile",
                                          "vsphereVolume",
                                          "quobyte",
                                          "azureDisk",
                                          "photonPersistentDisk",
                                          "portworxVolume",
                                          "scaleIO",
                                          "storageos" };
    const char *type = "unknown";

    if (has_any(volume, fine, ARRAY_LEN(fine), &type))
        return NULL;
    (void)has_any(volume, others, ARRAY_LEN(others), &type);
    return type;
}

void podsec_volumes(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct kj_iter it = kj_iter(kj_get(p->spec, "volumes"));
    struct podsec_names bad = { 0 }, types = { 0 };
    const struct kj_val *volume;

    while (kj_next(&it, NULL, &volume)) {
        const char *type = bad_type(volume);
        if (!type)
            continue;
        podsec_add(p, &bad, podsec_name_of(volume));
        podsec_add(p, &types, type);
    }
    if (bad.n == 0)
        return;
    podsec_unique(&types);
    v->reason = "restricted volume types";
    podsec_say(&v->detail, &bad, "volume", "volumes");
    strbuf_appendf(&v->detail, " %s ", bad.n == 1 ? "uses" : "use");
    podsec_say(&v->detail, &types, "restricted volume type", "restricted volume types");
}

/* ---- users ----------------------------------------------------------------------------------- */

void podsec_non_root(const struct podsec_pod *p, struct podsec_violation *v)
{
    static const char key[] = "runAsNonRoot";
    const struct kj_val *of_pod = podsec_context(p->spec, key), *c;
    struct podsec_setters bad = { .pod = podsec_is_false(of_pod) };
    struct podsec_names silent = { 0 }; /* neither they nor the pod say it */
    struct podsec_iter it = podsec_containers(p);

    while ((c = podsec_next(&it))) {
        const struct kj_val *own = podsec_context(c, key);
        if (podsec_is_false(own))
            podsec_add(p, &bad.containers, podsec_name_of(c));
        else if (!podsec_is_set(own) && !kj_bool(of_pod, false))
            podsec_add(p, &silent, podsec_name_of(c));
    }
    if (!podsec_any(&bad) && silent.n == 0)
        return;
    v->reason = "runAsNonRoot != true";
    if (podsec_any(&bad)) {
        podsec_say_setters(&v->detail, &bad);
        strbuf_append(&v->detail, " must not set securityContext.runAsNonRoot=false");
        return;
    }
    strbuf_append(&v->detail, "pod or ");
    podsec_say_containers(&v->detail, &silent);
    strbuf_append(&v->detail, " must set securityContext.runAsNonRoot=true");
}

void podsec_non_root_1_35(const struct podsec_pod *p, struct podsec_violation *v)
{
    if (!has_own_users(p))
        podsec_non_root(p, v);
}

static bool is_root(const struct kj_val *of)
{
    return kj_i64_or(podsec_context(of, "runAsUser"), -1) == 0;
}

void podsec_user(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_setters bad = { is_root(p->spec), podsec_those(p, is_root) };

    if (!podsec_any(&bad))
        return;
    v->reason = "runAsUser=0";
    podsec_say_setters(&v->detail, &bad);
    strbuf_append(&v->detail, " must not set runAsUser=0");
}

void podsec_user_1_35(const struct podsec_pod *p, struct podsec_violation *v)
{
    if (!has_own_users(p))
        podsec_user(p, v);
}

/* ---- seccomp --------------------------------------------------------------------------------- */

static void check_note(const struct podsec_pod *p, const char *key, struct podsec_names *bad)
{
    CLEANUP(strbuf_fini) struct strbuf note = STRBUF_INIT;
    const char *value = kj_str(kj_get(kj_get(p->meta, "annotations"), key));

    if (!value || streq(value, "runtime/default") || streq(value, "docker/default") ||
        str_starts(value, "localhost/"))
        return;
    strbuf_appendf(&note, "%s=", key);
    strbuf_append_quoted(&note, value, strlen(value));
    podsec_add(p, bad, arena_strdup(p->a, note.data));
}

/* Before 1.19 profiles were annotations. */
void podsec_seccomp_notes(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_iter it = podsec_containers(p);
    struct podsec_names bad = { 0 };
    const struct kj_val *c;

    check_note(p, "seccomp.security.alpha.kubernetes.io/pod", &bad);
    while ((c = podsec_next(&it)))
        check_note(p,
                   arena_printf(p->a, "container.seccomp.security.alpha.kubernetes.io/%s",
                                podsec_name_of(c)),
                   &bad);
    if (bad.n == 0)
        return;
    podsec_unique(&bad);
    v->reason = "seccompProfile";
    strbuf_appendf(&v->detail, "forbidden %s ", bad.n == 1 ? "annotation" : "annotations");
    podsec_list(&v->detail, &bad);
}

/* What the pod or a container sets; NULL: nothing. */
static const char *profile_of(const struct kj_val *of)
{
    const struct kj_val *profile = podsec_context(of, "seccompProfile");
    return podsec_is_set(profile) ? kj_str_or(kj_get(profile, "type"), "") : NULL;
}

static bool is_confined(const char *profile)
{
    return streq(profile, "RuntimeDefault") || streq(profile, "Localhost");
}

/* Containers for which neither they nor the pod set anything. */
static void seccomp(const struct podsec_pod *p, struct podsec_violation *v,
                    struct podsec_names *silent)
{
    const char *profile = profile_of(p->spec);
    struct podsec_setters bad = { .pod = profile && !is_confined(profile) };
    bool set_by_pod = profile && !bad.pod;
    struct podsec_iter it = podsec_containers(p);
    struct podsec_names values = { 0 };
    const struct kj_val *c;

    if (bad.pod)
        podsec_add(p, &values, profile);
    while ((c = podsec_next(&it))) {
        profile = profile_of(c);
        if (!profile && !set_by_pod)
            podsec_add(p, silent, podsec_name_of(c));
        if (!profile || is_confined(profile))
            continue;
        podsec_add(p, &bad.containers, podsec_name_of(c));
        podsec_add(p, &values, profile);
    }
    if (!podsec_any(&bad))
        return;
    podsec_unique(&values);
    v->reason = "seccompProfile";
    podsec_say_setters(&v->detail, &bad);
    strbuf_append(&v->detail, " must not set securityContext.seccompProfile.type to ");
    podsec_quote(&v->detail, &values);
}

void podsec_seccomp(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names silent = { 0 };

    seccomp(p, v, &silent);
}

void podsec_seccomp_set(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names silent = { 0 };

    seccomp(p, v, &silent);
    if (v->reason || silent.n == 0)
        return;
    v->reason = "seccompProfile";
    strbuf_append(&v->detail, "pod or ");
    podsec_say_containers(&v->detail, &silent);
    strbuf_append(&v->detail, " must set securityContext.seccompProfile.type to \"RuntimeDefault\" "
                              "or \"Localhost\"");
}

void podsec_seccomp_set_1_25(const struct podsec_pod *p, struct podsec_violation *v)
{
    if (!is_windows(p))
        podsec_seccomp_set(p, v);
}
