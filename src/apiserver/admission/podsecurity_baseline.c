/* podsecurity_baseline.c - checks of the baseline level: no known way out of the container.
 *
 * A check says what it found in upstream's words: a reason, and in the detail who sets what. Those
 * of seccomp profiles stand with the restricted ones, which they share their walk with.
 */
#include "apiserver/admission/podsecurity_int.h"

static bool is_one_of(const char *s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (streq(s, list[i]))
            return true;
    return false;
}

/* ---- the host -------------------------------------------------------------------------------- */

void podsec_host_namespaces(const struct podsec_pod *p, struct podsec_violation *v)
{
    static const char *const keys[] = { "hostNetwork", "hostPID", "hostIPC" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (!kj_bool(kj_get(p->spec, keys[i]), false))
            continue;
        v->reason = "host namespaces";
        strbuf_appendf(&v->detail, "%s%s=true", v->detail.len ? ", " : "", keys[i]);
    }
}

void podsec_host_paths(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct kj_iter it = kj_iter(kj_get(p->spec, "volumes"));
    struct podsec_names bad = { 0 };
    const struct kj_val *volume;

    while (kj_next(&it, NULL, &volume))
        if (podsec_is_set(kj_get(volume, "hostPath")))
            podsec_add(p, &bad, podsec_name_of(volume));
    if (bad.n == 0)
        return;
    v->reason = "hostPath volumes";
    podsec_say(&v->detail, &bad, "volume", "volumes");
}

void podsec_host_ports(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names bad = { 0 }, numbers = { 0 };
    struct podsec_iter it = podsec_containers(p);
    const struct kj_val *c, *port;

    while ((c = podsec_next(&it))) {
        struct kj_iter ports = kj_iter(kj_get(c, "ports"));
        size_t before = numbers.n;
        while (kj_next(&ports, NULL, &port)) {
            int64_t n = kj_i64_or(kj_get(port, "hostPort"), 0);
            if (n != 0)
                podsec_add(p, &numbers, arena_printf(p->a, "%lld", (long long)n));
        }
        if (numbers.n > before)
            podsec_add(p, &bad, podsec_name_of(c));
    }
    if (bad.n == 0)
        return;
    podsec_unique(&numbers);
    v->reason = "hostPort";
    podsec_say_containers(&v->detail, &bad);
    strbuf_appendf(&v->detail, " %s %s ", bad.n == 1 ? "uses" : "use",
                   numbers.n == 1 ? "hostPort" : "hostPorts");
    podsec_list(&v->detail, &numbers);
}

/* Other hosts that a probe or a handler names. */
static void add_hosts(const struct podsec_pod *p, const struct kj_val *handler,
                      struct podsec_names *hosts)
{
    static const char *const ways[] = { "httpGet", "tcpSocket" };

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        const char *host = kj_str(kj_get(kj_get(handler, ways[i]), "host"));
        if (!str_empty(host))
            podsec_add(p, hosts, host);
    }
}

void podsec_host_probes(const struct podsec_pod *p, struct podsec_violation *v)
{
    static const char *const probes[] = { "livenessProbe", "readinessProbe", "startupProbe" };
    static const char *const handlers[] = { "postStart", "preStop" };
    struct podsec_names bad = { 0 }, hosts = { 0 };
    struct podsec_iter it = podsec_containers(p);
    const struct kj_val *c;

    while ((c = podsec_next(&it))) {
        size_t before = hosts.n;
        for (size_t i = 0; i < ARRAY_LEN(probes); i++)
            add_hosts(p, kj_get(c, probes[i]), &hosts);
        for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
            add_hosts(p, kj_get(kj_get(c, "lifecycle"), handlers[i]), &hosts);
        if (hosts.n > before)
            podsec_add(p, &bad, podsec_name_of(c));
    }
    if (bad.n == 0)
        return;
    podsec_unique(&bad);
    podsec_unique(&hosts);
    v->reason = "probe or lifecycle host";
    podsec_say_containers(&v->detail, &bad);
    strbuf_appendf(&v->detail, " %s ", bad.n == 1 ? "uses" : "use");
    podsec_say(&v->detail, &hosts, "probe or lifecycle host", "probe or lifecycle hosts");
}

static bool is_host_process(const struct kj_val *of)
{
    return kj_bool(kj_get(podsec_context(of, "windowsOptions"), "hostProcess"), false);
}

void podsec_host_process(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_setters bad = { is_host_process(p->spec), podsec_those(p, is_host_process) };

    if (!podsec_any(&bad))
        return;
    v->reason = "hostProcess";
    podsec_say_setters(&v->detail, &bad);
    strbuf_append(&v->detail, " must not set securityContext.windowsOptions.hostProcess=true");
}

/* ---- what containers may do ------------------------------------------------------------------ */

static bool is_privileged(const struct kj_val *container)
{
    return kj_bool(podsec_context(container, "privileged"), false);
}

void podsec_privileged(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names bad = podsec_those(p, is_privileged);

    if (bad.n == 0)
        return;
    v->reason = "privileged";
    podsec_say_containers(&v->detail, &bad);
    strbuf_append(&v->detail, " must not set securityContext.privileged=true");
}

void podsec_capabilities(const struct podsec_pod *p, struct podsec_violation *v)
{
    static const char *const harmless[] = {
        "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",      "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT"
    };
    struct podsec_names bad = { 0 }, added = { 0 };
    struct podsec_iter it = podsec_containers(p);
    const struct kj_val *c, *capability;

    while ((c = podsec_next(&it))) {
        struct kj_iter add = kj_iter(kj_get(podsec_context(c, "capabilities"), "add"));
        size_t before = added.n;
        while (kj_next(&add, NULL, &capability)) {
            const char *name = kj_str_or(capability, "");
            if (!is_one_of(name, harmless, ARRAY_LEN(harmless)))
                podsec_add(p, &added, name);
        }
        if (added.n > before)
            podsec_add(p, &bad, podsec_name_of(c));
    }
    if (bad.n == 0)
        return;
    podsec_unique(&added);
    v->reason = "non-default capabilities";
    podsec_say_containers(&v->detail, &bad);
    strbuf_append(&v->detail, " must not include ");
    podsec_quote(&v->detail, &added);
    strbuf_append(&v->detail, " in securityContext.capabilities.add");
}

void podsec_proc_mount(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names bad = { 0 }, types = { 0 };
    struct podsec_iter it = podsec_containers(p);
    const struct kj_val *c;

    while ((c = podsec_next(&it))) {
        const char *type = kj_str(podsec_context(c, "procMount"));
        if (!type || streq(type, "Default"))
            continue;
        podsec_add(p, &bad, podsec_name_of(c));
        podsec_add(p, &types, type);
    }
    if (bad.n == 0)
        return;
    podsec_unique(&types);
    v->reason = "procMount";
    podsec_say_containers(&v->detail, &bad);
    strbuf_append(&v->detail, " must not set securityContext.procMount to ");
    podsec_quote(&v->detail, &types);
}

/* In a user namespace of its own a pod sees nothing there that concerns others. */
void podsec_proc_mount_1_35(const struct podsec_pod *p, struct podsec_violation *v)
{
    if (!podsec_is_false(kj_get(p->spec, "hostUsers")))
        podsec_proc_mount(p, v);
}

/* ---- AppArmor -------------------------------------------------------------------------------- */

/* The profile of the pod or of a container that is neither the runtime's nor the node's; NULL:
 * fine. */
static const char *bad_profile(const struct kj_val *of)
{
    static const char *const fine[] = { "RuntimeDefault", "Localhost" };
    const struct kj_val *profile = podsec_context(of, "appArmorProfile");
    const char *type = kj_str_or(kj_get(profile, "type"), "");

    return podsec_is_set(profile) && !is_one_of(type, fine, ARRAY_LEN(fine)) ? type : NULL;
}

/* key="value" of each annotation that sets such a profile, as was usual before there was a field.
 */
static void add_profile_notes(const struct podsec_pod *p, struct podsec_names *notes)
{
    static const char prefix[] = "container.apparmor.security.beta.kubernetes.io/";
    struct kj_iter it = kj_iter(kj_get(p->meta, "annotations"));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        CLEANUP(strbuf_fini) struct strbuf note = STRBUF_INIT;
        const char *value = kj_str_or(v, "");
        if (key.n < sizeof prefix - 1 || memcmp(key.p, prefix, sizeof prefix - 1) != 0 || !*value ||
            streq(value, "runtime/default") || str_starts(value, "localhost/"))
            continue;
        strbuf_appendn(&note, key.p, key.n);
        strbuf_appendc(&note, '=');
        strbuf_append_quoted(&note, value, strlen(value));
        podsec_add(p, notes, arena_strdup(p->a, note.data));
    }
}

void podsec_apparmor(const struct podsec_pod *p, struct podsec_violation *v)
{
    struct podsec_names values = { 0 }, notes = { 0 };
    struct podsec_iter it = podsec_containers(p);
    struct podsec_setters bad = { .pod = false };
    const char *type = bad_profile(p->spec);
    const struct kj_val *c;

    bad.pod = type != NULL;
    if (type)
        podsec_add(p, &values, type);
    while ((c = podsec_next(&it))) {
        if (!(type = bad_profile(c)))
            continue;
        podsec_add(p, &bad.containers, podsec_name_of(c));
        podsec_add(p, &values, type);
    }
    podsec_unique(&values);
    add_profile_notes(p, &notes);
    podsec_unique(&notes);
    if (!podsec_any(&bad) && notes.n == 0)
        return;
    podsec_say_setters(&v->detail, &bad);
    if (notes.n)
        strbuf_appendf(&v->detail, "%s%s", v->detail.len ? " and " : "",
                       notes.n == 1 ? "annotation" : "annotations");
    for (size_t i = 0; i < notes.n; i++)
        podsec_add(p, &values, notes.items[i]);
    v->reason = values.n == 1 ? "forbidden AppArmor profile" : "forbidden AppArmor profiles";
    strbuf_append(&v->detail, " must not set AppArmor profile type to ");
    podsec_quote(&v->detail, &values);
}

/* ---- SELinux --------------------------------------------------------------------------------- */

struct selinux {
    bool with_engine; /* container_engine_t is a type of containers, too */
    struct podsec_names types;
    bool user, role;
};

/* false: the pod or a container sets what it may not. */
static bool check_options(const struct podsec_pod *p, const struct kj_val *of, struct selinux *x)
{
    static const char *const fine[] = { "", "container_t", "container_init_t", "container_kvm_t",
                                        "container_engine_t" };
    const struct kj_val *options = podsec_context(of, "seLinuxOptions");
    const char *type = kj_str_or(kj_get(options, "type"), "");
    bool user = *kj_str_or(kj_get(options, "user"), "") != '\0';
    bool role = *kj_str_or(kj_get(options, "role"), "") != '\0';
    bool known = is_one_of(type, fine, ARRAY_LEN(fine) - (x->with_engine ? 0 : 1));

    if (!known)
        podsec_add(p, &x->types, type);
    x->user |= user;
    x->role |= role;
    return known && !user && !role;
}

static void selinux(const struct podsec_pod *p, struct podsec_violation *v, bool with_engine)
{
    struct podsec_iter it = podsec_containers(p);
    struct selinux x = { .with_engine = with_engine };
    struct podsec_setters bad = { .pod = !check_options(p, p->spec, &x) };
    const struct kj_val *c;

    while ((c = podsec_next(&it)))
        if (!check_options(p, c, &x))
            podsec_add(p, &bad.containers, podsec_name_of(c));
    if (!podsec_any(&bad))
        return;
    podsec_unique(&x.types);
    v->reason = "seLinuxOptions";
    podsec_say_setters(&v->detail, &bad);
    strbuf_append(&v->detail, " set forbidden securityContext.seLinuxOptions: ");
    if (x.types.n)
        podsec_say(&v->detail, &x.types, "type", "types");
    if (x.user)
        strbuf_appendf(&v->detail, "%suser may not be set", x.types.n ? "; " : "");
    if (x.role)
        strbuf_appendf(&v->detail, "%srole may not be set", x.types.n || x.user ? "; " : "");
}

void podsec_selinux(const struct podsec_pod *p, struct podsec_violation *v)
{
    selinux(p, v, false);
}

void podsec_selinux_1_31(const struct podsec_pod *p, struct podsec_violation *v)
{
    selinux(p, v, true);
}

/* ---- sysctls --------------------------------------------------------------------------------- */

/* Those that concern only the pod, in the order in which they became so. */
static const char *const safe_sysctls[] = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
};
enum { SAFE_1_0 = 5, SAFE_1_27 = 6, SAFE_1_29 = 10, SAFE_1_32 = ARRAY_LEN(safe_sysctls) };

static void sysctls(const struct podsec_pod *p, struct podsec_violation *v, size_t safe)
{
    struct kj_iter it = kj_iter(podsec_context(p->spec, "sysctls"));
    struct podsec_names bad = { 0 };
    const struct kj_val *sysctl;

    while (kj_next(&it, NULL, &sysctl))
        if (!is_one_of(podsec_name_of(sysctl), safe_sysctls, safe))
            podsec_add(p, &bad, podsec_name_of(sysctl));
    if (bad.n == 0)
        return;
    v->reason = "forbidden sysctls";
    podsec_list(&v->detail, &bad);
}

void podsec_sysctls(const struct podsec_pod *p, struct podsec_violation *v)
{
    sysctls(p, v, SAFE_1_0);
}

void podsec_sysctls_1_27(const struct podsec_pod *p, struct podsec_violation *v)
{
    sysctls(p, v, SAFE_1_27);
}

void podsec_sysctls_1_29(const struct podsec_pod *p, struct podsec_violation *v)
{
    sysctls(p, v, SAFE_1_29);
}

void podsec_sysctls_1_32(const struct podsec_pod *p, struct podsec_violation *v)
{
    sysctls(p, v, SAFE_1_32);
}
