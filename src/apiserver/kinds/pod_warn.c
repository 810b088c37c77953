/* pod_warn.c - what is taken of pods and templates and better written otherwise.
 *
 * In the order of kube-apiserver: placement, annotations, volumes, the pod's own fields, then what
 * each container says, the ports of all of them, and selectors that match nothing.
 */
#include "api/names.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/vec.h"

#define REQUIRED      "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED     "preferredDuringSchedulingIgnoredDuringExecution"
#define SECCOMP       "seccomp.security.alpha.kubernetes.io/pod"
#define SECCOMP_OF    "container.seccomp.security.alpha.kubernetes.io/"
#define APPARMOR_OF   "container.apparmor.security.beta.kubernetes.io/"
#define SECCOMP_WORDS "non-functional in v1.27+; use the \"seccompProfile\" field instead"

enum {
    AFFINITY,
    ALIASES,
    CONTAINERS,
    DNS,
    EPHEMERAL,
    GRACE,
    INIT,
    OVERHEAD,
    PULL_SECRETS,
    SECURITY,
    SELECTOR,
    SPREAD,
    VOLUMES,
    NFIELDS
};
static const struct str fields[NFIELDS] = {
    [AFFINITY] = STR("affinity"),
    [ALIASES] = STR("hostAliases"),
    [CONTAINERS] = STR("containers"),
    [DNS] = STR("dnsConfig"),
    [EPHEMERAL] = STR("ephemeralContainers"),
    [GRACE] = STR("terminationGracePeriodSeconds"),
    [INIT] = STR("initContainers"),
    [OVERHEAD] = STR("overhead"),
    [PULL_SECRETS] = STR("imagePullSecrets"),
    [SECURITY] = STR("securityContext"),
    [SELECTOR] = STR("nodeSelector"),
    [SPREAD] = STR("topologySpreadConstraints"),
    [VOLUMES] = STR("volumes"),
};

/* A pod, or the template at this path ("" for a pod, else with a dot at its end). */
struct subject {
    struct api_call *call;
    const char *at;
    const struct kj_val *annotations, *spec[NFIELDS];
    bool annotated_containers; /* some annotation is about a container by its name */
    size_t nports;             /* of all containers */
};

static const char *quote(const struct subject *x, const char *s)
{
    return text_quoted(x->call->arena, s);
}

/* ---- placement ------------------------------------------------------------------------------- */

/* What is preferred may name values that no label can have: nobody ever refused that. */
static void warn_of_values(const struct subject *x, size_t term, const struct kj_val *expressions)
{
    struct kj_iter it = kj_iter(expressions), values;
    const struct kj_val *e, *v;

    for (size_t i = 0; kj_next(&it, NULL, &e); i++) {
        values = kj_iter(kj_get(e, "values"));
        for (size_t k = 0; kj_next(&values, NULL, &v); k++) {
            const char *wrong = name_check_label_value(str_of(kj_str_or(v, "")));
            if (wrong)
                api_warn(x->call,
                         "%sspec.affinity.nodeAffinity." PREFERRED
                         "[%zu].preference.matchExpressions[%zu].values[%zu]: %s is invalid, %s",
                         x->at, term, i, k, kj_str_or(v, ""), wrong);
        }
    }
}

static void warn_of_node_affinity(const struct subject *x, const struct kj_val *affinity)
{
    struct kj_iter it = kj_iter(kj_get(kj_get(affinity, REQUIRED), "nodeSelectorTerms"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_node_terms(x->call, kj_get(v, "matchExpressions"),
                           "%sspec.affinity.nodeAffinity." REQUIRED ".nodeSelectorTerms[%zu]",
                           x->at, i);
    it = kj_iter(kj_get(affinity, PREFERRED));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const struct kj_val *list = kj_get(kj_get(v, "preference"), "matchExpressions");
        warn_of_node_terms(x->call, list,
                           "%sspec.affinity.nodeAffinity." PREFERRED "[%zu].preference", x->at, i);
        warn_of_values(x, i, list);
    }
}

static void warn_of_placement(const struct subject *x)
{
    struct kj_iter it = kj_iter(x->spec[SELECTOR]);
    const struct kj_val *v;
    const char *advice;
    struct str key;

    while (kj_next(&it, &key, &v))
        if ((advice = deprecated_node_label(key.p)))
            api_warn(x->call, "%sspec.nodeSelector[%s]: %s", x->at, key.p, advice);
    if (x->spec[AFFINITY])
        warn_of_node_affinity(x, kj_get(x->spec[AFFINITY], "nodeAffinity"));
    it = kj_iter(x->spec[SPREAD]);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *topology = v_str(v, "topologyKey");
        if ((advice = deprecated_node_label(topology)))
            api_warn(x->call, "%sspec.topologySpreadConstraints[%zu].topologyKey: %s is %s", x->at,
                     i, topology, advice);
        if (!v_has(v, "labelSelector"))
            api_warn(x->call,
                     "%sspec.topologySpreadConstraints[%zu].labelSelector: " NULL_SELECTOR_WORDS,
                     x->at, i);
    }
}

static void warn_of_pod_affinity(const struct subject *x, const char *kind)
{
    const struct kj_val *affinity = kj_get(x->spec[AFFINITY], kind), *v;
    struct kj_iter it = kj_iter(kj_get(affinity, REQUIRED));

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (!v_has(v, "labelSelector"))
            api_warn(x->call,
                     "%sspec.affinity.%s." REQUIRED "[%zu].labelSelector: " NULL_SELECTOR_WORDS,
                     x->at, kind, i);
    it = kj_iter(kj_get(affinity, PREFERRED));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (!v_has(kj_get(v, "podAffinityTerm"), "labelSelector"))
            api_warn(x->call,
                     "%sspec.affinity.%s." PREFERRED
                     "[%zu].podAffinityTerm.labelSelector: " NULL_SELECTOR_WORDS,
                     x->at, kind, i);
}

/* ---- the pod's own --------------------------------------------------------------------------- */

static void warn_of_annotations(struct subject *x)
{
    static const struct {
        const char *key, *advice;
    } old[] = {
        { "scheduler.alpha.kubernetes.io/critical-pod",
          "non-functional in v1.16+; use the \"priorityClassName\" field instead" },
        { "security.alpha.kubernetes.io/sysctls",
          "non-functional in v1.11+; use the \"sysctls\" field instead" },
        { "security.alpha.kubernetes.io/unsafe-sysctls",
          "non-functional in v1.11+; use the \"sysctls\" field instead" },
    };
    struct kj_iter it = kj_iter(x->annotations);
    const struct kj_val *v;
    struct str key;

    for (size_t i = 0; i < ARRAY_LEN(old); i++)
        if (kj_get(x->annotations, old[i].key))
            api_warn(x->call, "%smetadata.annotations[%s]: %s", x->at, old[i].key, old[i].advice);
    while (kj_next(&it, &key, &v))
        x->annotated_containers |= str_starts(key.p, "container.");
}

static void warn_of_twins(const struct subject *x, int field, const char *name)
{
    CLEANUP(few_fini) struct few seen = { 0 };
    struct kj_iter it = kj_iter(x->spec[field]);
    const struct kj_val *v;

    for (size_t i = 0; it.n > 1 && kj_next(&it, NULL, &v); i++)
        if (!few_add(&seen, v_str(v, name)))
            api_warn(x->call, "%sspec.%s[%zu].%s: duplicate %s %s", x->at, fields[field].p, i, name,
                     name, quote(x, v_str(v, name)));
}

static void warn_of_own_fields(const struct subject *x)
{
    static const char *const bytes[] = { "memory", "ephemeral-storage" };
    const struct kj_val *overhead = x->spec[OVERHEAD], *v;
    struct kj_iter it = kj_iter(x->spec[PULL_SECRETS]);

    warn_of_twins(x, ALIASES, "ip");
    warn_of_twins(x, PULL_SECRETS, "name");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (!*v_str(v, "name"))
            api_warn(x->call, "%sspec.imagePullSecrets[%zu].name: invalid empty name \"\"", x->at,
                     i);
    for (size_t i = 0; overhead && i < ARRAY_LEN(bytes); i++) {
        const char *s = fraction_of_byte(overhead, bytes[i]);
        if (s)
            api_warn(x->call, "%sspec.overhead[%s]: " FRACTION_WORDS, x->at, bytes[i], quote(x, s));
    }
    if (kj_get(x->annotations, SECCOMP) && !v_has(x->spec[SECURITY], "seccompProfile"))
        api_warn(x->call, "%smetadata.annotations[" SECCOMP "]: " SECCOMP_WORDS, x->at);
}

/* ---- containers ------------------------------------------------------------------------------ */

static const int container_lists[] = { INIT, CONTAINERS, EPHEMERAL };

struct box {
    const char *list;
    size_t i;
    const struct kj_val *v;
};

/* An annotation about one container; NULL: none. */
static const char *noted(const struct subject *x, const char *prefix, const char *container)
{
    return kj_str(kj_get(x->annotations, arena_printf(x->call->arena, "%s%s", prefix, container)));
}

/* Does the field say what an AppArmor annotation says? */
static bool is_profile(const struct kj_val *field, const char *annotation)
{
    static const char *const types[][2] = { { "unconfined", "Unconfined" },
                                            { "runtime/default", "RuntimeDefault" } };

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (streq(annotation, types[i][0]))
            return streq(v_str(field, "type"), types[i][1]) && !v_has(field, "localhostProfile");
    return str_starts(annotation, "localhost/") && streq(v_str(field, "type"), "Localhost") &&
           streq(v_str(field, "localhostProfile"), annotation + strlen("localhost/"));
}

static void warn_of_container_annotations(const struct subject *x, const struct box *b)
{
    const struct kj_val *of_pod = x->spec[SECURITY], *own = kj_get(b->v, "securityContext");
    const char *name = v_str(b->v, "name");

    if (!v_has(own, "seccompProfile") && noted(x, SECCOMP_OF, name))
        api_warn(x->call, "%smetadata.annotations[" SECCOMP_OF "%s]: " SECCOMP_WORDS, x->at, name);
    const char *profile = noted(x, APPARMOR_OF, name);
    if (*x->at && profile && !v_has(own, "appArmorProfile") &&
        !is_profile(kj_get(of_pod, "appArmorProfile"), profile))
        api_warn(x->call,
                 "%smetadata.annotations[" APPARMOR_OF
                 "%s]: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                 x->at, name);
}

/* Is there something to parse at all? Mostly there is not. */
static bool may_have_fractions(const struct kj_val *resources)
{
    struct kj_iter lists = kj_iter(resources), it;
    const struct kj_val *list, *v;

    while (kj_next(&lists, NULL, &list))
        for (it = kj_iter(list); kj_next(&it, NULL, &v);)
            if (kj_str(v) && strpbrk(kj_str(v), FRACTION_SIGNS))
                return true;
    return false;
}

static void warn_of_bytes(const struct subject *x, const struct box *b,
                          const struct kj_val *resources)
{
    static const char *const names[] = { "memory", "ephemeral-storage" };
    static const char *const lists[] = { "limits", "requests" };

    if (!may_have_fractions(resources))
        return;
    for (size_t k = 0; k < ARRAY_LEN(names); k++)
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
            const char *s = fraction_of_byte(kj_get(resources, lists[i]), names[k]);
            if (s)
                api_warn(x->call, "%sspec.%s[%zu].resources.%s[%s]: " FRACTION_WORDS, x->at,
                         b->list, b->i, lists[i], names[k], quote(x, s));
        }
}

/* Does a second definition of the variable build on the first? */
static bool refers_to(const struct kj_val *var, const char *name)
{
    const char *value = v_str(var, "value"), *p;
    size_t n = strlen(name);

    if (v_has(var, "valueFrom"))
        return false;
    for (p = value; (p = strstr(p, "$(")); p += 2)
        if (strncmp(p + 2, name, n) == 0 && p[2 + n] == ')')
            return p != value || p[3 + n]; /* "$(X)" alone adds nothing */
    return false;
}

static void warn_of_env(const struct subject *x, const struct box *b, const struct kj_val *env)
{
    CLEANUP(few_fini) struct few seen = { 0 };
    struct kj_iter it = kj_iter(env);
    const struct kj_val *v;

    for (size_t i = 0; it.n > 1 && kj_next(&it, NULL, &v); i++) {
        const char *name = v_str(v, "name");
        if (!few_add(&seen, name) && !refers_to(v, name))
            api_warn(x->call,
                     "%sspec.%s[%zu].env[%zu]: hides previous definition of %s, which may be "
                     "dropped when using apply",
                     x->at, b->list, b->i, i, quote(x, name));
    }
}

static void warn_of_containers(struct subject *x)
{
    static const struct str names[] = { STR("resources"), STR("env"), STR("ports") };
    const struct kj_val *parts[ARRAY_LEN(names)];

    for (size_t k = 0; k < ARRAY_LEN(container_lists); k++) {
        struct box b = { .list = fields[container_lists[k]].p };
        struct kj_iter it = kj_iter(x->spec[container_lists[k]]);
        for (; kj_next(&it, NULL, &b.v); b.i++) {
            v_pick(b.v, names, ARRAY_LEN(names), parts);
            if (x->annotated_containers)
                warn_of_container_annotations(x, &b);
            warn_of_bytes(x, &b, parts[0]);
            warn_of_env(x, &b, parts[1]);
            x->nports += kj_len(parts[2]);
        }
    }
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* Pairs that are looked at, which is every one of 1400 ports; who writes more is not told all. */
enum { PAIRS_MAX = 1 << 20 };

struct port {
    struct box box;
    size_t i;
    int64_t number, on_host;
    const char *name, *protocol, *ip;
};
struct ports {
    struct vec_of(struct port) list;
    size_t pairs;
};

static void warn_of_host_ip(const struct subject *x, const struct port *p)
{
    api_warn(x->call,
             "%sspec.%s[%zu].ports[%zu]: hostIP set without hostPort: {Name:%s HostPort:0 "
             "ContainerPort:%lld Protocol:%s HostIP:%s}",
             x->at, p->box.list, p->box.i, p->i, p->name, (long long)p->number, p->protocol, p->ip);
}

/* How two definitions of one port disturb each other; NULL: not at all. */
static const char *clash(const struct port *a, const struct port *b)
{
    if (a->number != b->number || !streq(a->protocol, b->protocol))
        return NULL;
    if (a->on_host == b->on_host && streq(a->ip, b->ip))
        return "duplicate";
    if (a->on_host == 0 || b->on_host == 0)
        return "overlapping";
    return a->on_host == b->on_host && !*a->ip != !*b->ip ? "dangerously ambiguous" : NULL;
}

static void warn_of_clashes(const struct subject *x, struct ports *ports, const struct port *p)
{
    vec_foreach(&ports->list, k) {
        const struct port *other = &ports->list.items[k];
        const char *how = clash(p, other);
        if (ports->pairs++ == PAIRS_MAX)
            return;
        if (how)
            api_warn(x->call,
                     "%sspec.%s[%zu].ports[%zu]: %s port definition with %sspec.%s[%zu].ports[%zu]",
                     x->at, p->box.list, p->box.i, p->i, how, x->at, other->box.list, other->box.i,
                     other->i);
    }
}

static void warn_of_ports_of(const struct subject *x, const struct box *b, struct ports *ports)
{
    enum { NUMBER, ON_HOST, NAME, PROTOCOL, IP, NPARTS };
    static const struct str names[NPARTS] = { STR("containerPort"), STR("hostPort"), STR("name"),
                                              STR("protocol"), STR("hostIP") };
    struct kj_iter it = kj_iter(kj_get(b->v, "ports"));
    const struct kj_val *v, *parts[NPARTS];

    for (size_t i = 0; ports->pairs < PAIRS_MAX && kj_next(&it, NULL, &v); i++) {
        v_pick(v, names, NPARTS, parts);
        struct port p = { .box = *b,
                          .i = i,
                          .number = kj_i64_or(parts[NUMBER], 0),
                          .on_host = kj_i64_or(parts[ON_HOST], 0),
                          .name = kj_str_or(parts[NAME], ""),
                          .protocol = kj_str_or(parts[PROTOCOL], ""),
                          .ip = kj_str_or(parts[IP], "") };
        if (*p.ip && p.on_host == 0)
            warn_of_host_ip(x, &p);
        warn_of_clashes(x, ports, &p);
        vec_push(&ports->list, p);
    }
}

static void tell_port_name(const struct subject *x, const struct port *p, const struct port *first)
{
    api_warn(x->call,
             "%sspec.%s[%zu].ports[%zu]: duplicate port name %s with %sspec.%s[%zu].ports[%zu], "
             "services and probes that select ports by name will use %sspec.%s[%zu].ports[%zu]",
             x->at, p->box.list, p->box.i, p->i, quote(x, p->name), x->at, first->box.list,
             first->box.i, first->i, x->at, first->box.list, first->box.i, first->i);
}

/* Two ports of one name, mostly of two containers: of one they are refused. */
static void warn_of_port_names(const struct subject *x, const struct ports *ports)
{
    const struct port *list = ports->list.items;
    size_t pairs = 0;

    for (size_t i = 1; i < ports->list.n; i++)
        for (size_t k = 0; k < i && *list[i].name && pairs < PAIRS_MAX; k++, pairs++)
            if (streq(list[i].name, list[k].name)) {
                tell_port_name(x, &list[i], &list[k]);
                break;
            }
}

static void warn_of_ports(const struct subject *x)
{
    struct ports ports = { 0 };

    for (size_t k = 0; k < ARRAY_LEN(container_lists); k++) {
        struct box b = { .list = fields[container_lists[k]].p };
        struct kj_iter it = kj_iter(x->spec[container_lists[k]]);
        for (; kj_next(&it, NULL, &b.v); b.i++)
            warn_of_ports_of(x, &b, &ports);
    }
    warn_of_port_names(x, &ports);
    vec_fini(&ports.list);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void warn_of_addresses(const struct subject *x)
{
    struct kj_iter it = kj_iter(kj_get(x->spec[DNS], "nameservers"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_ip(x->call, kj_str_or(v, ""), "%sspec.dnsConfig.nameservers[%zu]", x->at, i);
    it = kj_iter(x->spec[ALIASES]);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_ip(x->call, v_str(v, "ip"), "%sspec.hostAliases[%zu].ip", x->at, i);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void warn_of_pod(struct api_call *call, const char *at, const struct kj_val *pod)
{
    struct subject x = { .call = call,
                         .at = at,
                         .annotations = kj_get(kj_get(pod, "metadata"), "annotations") };

    v_pick(kj_get(pod, "spec"), fields, NFIELDS, x.spec);
    warn_of_placement(&x);
    if (x.annotations)
        warn_of_annotations(&x);
    warn_of_volumes(call, at, x.spec[VOLUMES]);
    warn_of_own_fields(&x);
    warn_of_containers(&x);
    if (x.nports > 0)
        warn_of_ports(&x);
    if (kj_i64_or(x.spec[GRACE], 0) < 0)
        api_warn(call,
                 "%sspec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid "
                 "and will be treated as 1",
                 at);
    if (x.spec[AFFINITY]) {
        warn_of_pod_affinity(&x, "podAffinity");
        warn_of_pod_affinity(&x, "podAntiAffinity");
    }
    if (x.spec[DNS] || x.spec[ALIASES])
        warn_of_addresses(&x);
}

void warn_of_workload(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                      const struct kj_val *old, bool names)
{
    if (verb == RES_CREATE && names)
        warn_of_name(call, obj, WARN_POD_NAMES);
    if (verb != RES_STATUS && spec_changed(obj, old))
        warn_of_pod(call, "spec.template.", kj_get(kj_get(obj, "spec"), "template"));
}
