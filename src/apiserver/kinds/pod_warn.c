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

/* A pod, or the template at this path ("" for a pod, else with a dot at its end). */
struct subject {
    struct api_call *call;
    const char *at;
    const struct kj_val *annotations, *spec;
    bool annotated_containers; /* some annotation is about a container by its name */
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
    struct kj_iter it = kj_iter(kj_get(x->spec, "nodeSelector"));
    const struct kj_val *v;
    const char *advice;
    struct str key;

    while (kj_next(&it, &key, &v))
        if ((advice = deprecated_node_label(key.p)))
            api_warn(x->call, "%sspec.nodeSelector[%s]: %s", x->at, key.p, advice);
    warn_of_node_affinity(x, kj_get(kj_get(x->spec, "affinity"), "nodeAffinity"));
    it = kj_iter(kj_get(x->spec, "topologySpreadConstraints"));
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
    const struct kj_val *affinity = kj_get(kj_get(x->spec, "affinity"), kind), *v;
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

static void warn_of_twins(const struct subject *x, const char *list, const char *name)
{
    CLEANUP(few_fini) struct few seen = { 0 };
    struct kj_iter it = kj_iter(kj_get(x->spec, list));
    const struct kj_val *v;

    for (size_t i = 0; it.n > 1 && kj_next(&it, NULL, &v); i++)
        if (!few_add(&seen, v_str(v, name)))
            api_warn(x->call, "%sspec.%s[%zu].%s: duplicate %s %s", x->at, list, i, name, name,
                     quote(x, v_str(v, name)));
}

static void warn_of_own_fields(const struct subject *x)
{
    static const char *const bytes[] = { "memory", "ephemeral-storage" };
    const struct kj_val *overhead = kj_get(x->spec, "overhead"), *v;
    struct kj_iter it = kj_iter(kj_get(x->spec, "imagePullSecrets"));

    warn_of_twins(x, "hostAliases", "ip");
    warn_of_twins(x, "imagePullSecrets", "name");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (!*v_str(v, "name"))
            api_warn(x->call, "%sspec.imagePullSecrets[%zu].name: invalid empty name \"\"", x->at,
                     i);
    for (size_t i = 0; overhead && i < ARRAY_LEN(bytes); i++) {
        const char *s = fraction_of_byte(overhead, bytes[i]);
        if (s)
            api_warn(x->call, "%sspec.overhead[%s]: " FRACTION_WORDS, x->at, bytes[i], quote(x, s));
    }
    if (kj_get(x->annotations, SECCOMP) &&
        !v_has(kj_get(x->spec, "securityContext"), "seccompProfile"))
        api_warn(x->call, "%smetadata.annotations[" SECCOMP "]: " SECCOMP_WORDS, x->at);
}

/* ---- containers ------------------------------------------------------------------------------ */

static const char *const container_lists[] = { "initContainers", "containers",
                                               "ephemeralContainers" };

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
    const struct kj_val *of_pod = kj_get(x->spec, "securityContext"),
                        *own = kj_get(b->v, "securityContext");
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

static void warn_of_bytes(const struct subject *x, const struct box *b)
{
    static const char *const names[] = { "memory", "ephemeral-storage" };
    static const char *const lists[] = { "limits", "requests" };
    const struct kj_val *resources = kj_get(b->v, "resources");

    if (kj_len(resources) == 0)
        return;
    const struct kj_val *in[] = { kj_get(resources, lists[0]), kj_get(resources, lists[1]) };
    for (size_t k = 0; k < ARRAY_LEN(names); k++)
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
            const char *s = fraction_of_byte(in[i], names[k]);
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

static void warn_of_env(const struct subject *x, const struct box *b)
{
    CLEANUP(few_fini) struct few seen = { 0 };
    struct kj_iter it = kj_iter(kj_get(b->v, "env"));
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

static void warn_of_containers(const struct subject *x)
{
    for (size_t k = 0; k < ARRAY_LEN(container_lists); k++) {
        struct box b = { .list = container_lists[k] };
        struct kj_iter it = kj_iter(kj_get(x->spec, b.list));
        for (; kj_next(&it, NULL, &b.v); b.i++) {
            if (x->annotated_containers)
                warn_of_container_annotations(x, &b);
            warn_of_bytes(x, &b);
            warn_of_env(x, &b);
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
    struct kj_iter it = kj_iter(kj_get(b->v, "ports"));
    const struct kj_val *v;

    for (size_t i = 0; ports->pairs < PAIRS_MAX && kj_next(&it, NULL, &v); i++) {
        struct port p = { .box = *b,
                          .i = i,
                          .number = kj_i64_or(kj_get(v, "containerPort"), 0),
                          .on_host = kj_i64_or(kj_get(v, "hostPort"), 0),
                          .name = v_str(v, "name"),
                          .protocol = v_str(v, "protocol"),
                          .ip = v_str(v, "hostIP") };
        if (*p.ip && p.on_host == 0)
            warn_of_host_ip(x, &p);
        warn_of_clashes(x, ports, &p);
        vec_push(&ports->list, p);
    }
}

/* Two ports of one name, mostly of two containers: of one they are refused. */
static void warn_of_port_names(const struct subject *x, const struct ports *ports)
{
    CLEANUP(map_fini) struct map names = { 0 };

    for (size_t i = 0; ports->list.n > 1 && i < ports->list.n; i++) {
        struct port *p = &ports->list.items[i];
        const struct port *first = *p->name ? map_getz(&names, p->name) : NULL;
        if (first)
            api_warn(x->call,
                     "%sspec.%s[%zu].ports[%zu]: duplicate port name %s with "
                     "%sspec.%s[%zu].ports[%zu], services and probes that select ports by name "
                     "will use %sspec.%s[%zu].ports[%zu]",
                     x->at, p->box.list, p->box.i, p->i, quote(x, p->name), x->at, first->box.list,
                     first->box.i, first->i, x->at, first->box.list, first->box.i, first->i);
        else if (*p->name)
            (void)map_putz(&names, p->name, p);
    }
}

static void warn_of_ports(const struct subject *x)
{
    struct ports ports = { 0 };

    for (size_t k = 0; k < ARRAY_LEN(container_lists); k++) {
        struct box b = { .list = container_lists[k] };
        struct kj_iter it = kj_iter(kj_get(x->spec, b.list));
        for (; kj_next(&it, NULL, &b.v); b.i++)
            warn_of_ports_of(x, &b, &ports);
    }
    warn_of_port_names(x, &ports);
    vec_fini(&ports.list);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void warn_of_addresses(const struct subject *x)
{
    struct kj_iter it = kj_iter(kj_get(kj_get(x->spec, "dnsConfig"), "nameservers"));
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_ip(x->call, kj_str_or(v, ""), "%sspec.dnsConfig.nameservers[%zu]", x->at, i);
    it = kj_iter(kj_get(x->spec, "hostAliases"));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        warn_of_ip(x->call, v_str(v, "ip"), "%sspec.hostAliases[%zu].ip", x->at, i);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void warn_of_pod(struct api_call *call, const char *at, const struct kj_val *pod)
{
    struct subject x = { .call = call,
                         .at = at,
                         .annotations = kj_get(kj_get(pod, "metadata"), "annotations"),
                         .spec = kj_get(pod, "spec") };

    warn_of_placement(&x);
    if (kj_len(x.annotations) > 0)
        warn_of_annotations(&x);
    warn_of_volumes(call, at, kj_get(x.spec, "volumes"));
    warn_of_own_fields(&x);
    warn_of_containers(&x);
    warn_of_ports(&x);
    if (kj_i64_or(kj_get(x.spec, "terminationGracePeriodSeconds"), 0) < 0)
        api_warn(call,
                 "%sspec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid "
                 "and will be treated as 1",
                 at);
    if (kj_get(x.spec, "affinity")) {
        warn_of_pod_affinity(&x, "podAffinity");
        warn_of_pod_affinity(&x, "podAntiAffinity");
    }
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
