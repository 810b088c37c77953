/* quota_usage.c - what objects count for in quotas, as kube-apiserver 1.35 counts. */
#include "api/qos.h"
#include "apiserver/admission/quota.h"
#include "apiserver/kinds/internal.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static size_t position(const struct quota_usage *u, const char *name)
{
    size_t lo = 0, hi = u->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (strcmp(u->items[mid].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct qty quota_usage_get(const struct quota_usage *u, const char *name)
{
    size_t i = position(u, name);

    return i < u->n && streq(u->items[i].name, name) ? u->items[i].value : (struct qty){ 0 };
}

void quota_usage_add(struct quota_usage *u, const char *name, struct qty value)
{
    size_t i = position(u, name);

    if (i < u->n && streq(u->items[i].name, name)) {
        u->items[i].value = qty_add(u->items[i].value, value);
        return;
    }
    if (u->n == u->cap) {
        size_t cap = u->cap ? u->cap * 2 : 16;
        struct quota_item *items = arena_newn0(u->a, cap, struct quota_item);
        if (u->n)
            memcpy(items, u->items, u->n * sizeof *items);
        u->items = items;
        u->cap = cap;
    }
    memmove(u->items + i + 1, u->items + i, (u->n - i) * sizeof *u->items);
    u->items[i] = (struct quota_item){ arena_strdup(u->a, name), value };
    u->n++;
}

static void add_count(struct quota_usage *u, const char *name, int64_t n)
{
    if (n)
        quota_usage_add(u, name, qty_from_i64(n, QTY_DECIMAL_SI));
}

/* ---- other kinds ----------------------------------------------------------------------------- */

static void usage_of_service(struct quota_usage *u, const struct kj_val *obj)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *ports = kj_get(spec, "ports");
    const char *type = v_str(spec, "type");
    int64_t given = 0;

    add_count(u, "services", 1);
    for (size_t i = 0; i < kj_len(ports); i++)
        given += kj_i64_or(kj_get(kj_at(ports, i), "nodePort"), 0) != 0;
    if (streq(type, "LoadBalancer"))
        add_count(u, "services.loadbalancers", 1);
    if (streq(type, "NodePort") || (streq(type, "LoadBalancer") &&
                                    kj_bool(kj_get(spec, "allocateLoadBalancerNodePorts"), true)))
        add_count(u, "services.nodeports", (int64_t)kj_len(ports));
    else if (streq(type, "LoadBalancer"))
        add_count(u, "services.nodeports", given);
}

static void usage_of_claim(struct quota_usage *u, const struct kj_val *obj)
{
    static const char beta[] = "volume.beta.kubernetes.io/storage-class";
    const struct kj_val *spec = kj_get(obj, "spec");
    const char *class = kj_str(kj_get(kj_path(obj, "metadata.annotations"), beta));
    struct qty storage, allocated;
    bool has = v_qty(kj_path(spec, "resources.requests"), "storage", &storage);

    /* An expansion that was taken back counts until the volume is known to be small. */
    if (has && v_qty(kj_path(obj, "status.allocatedResources"), "storage", &allocated) &&
        qty_cmp(allocated, storage) > 0)
        storage = allocated;

    class = str_empty(class) ? v_str(spec, "storageClassName") : class;
    add_count(u, "persistentvolumeclaims", 1);
    if (has)
        quota_usage_add(u, "requests.storage", storage);
    if (!*class)
        return;
    add_count(u, arena_printf(u->a, "%s.storageclass.storage.k8s.io/persistentvolumeclaims", class),
              1);
    if (has)
        quota_usage_add(
            u, arena_printf(u->a, "%s.storageclass.storage.k8s.io/requests.storage", class),
            storage);
}

static int64_t devices_of(const struct kj_val *request)
{
    enum { ALL_MAX = 32 }; /* an allocation has no more */

    return streq(v_str(request, "allocationMode"), "All") ? ALL_MAX
                                                          : kj_i64_or(kj_get(request, "count"), 1);
}

static void add_devices(struct quota_usage *u, const char *class, int64_t n)
{
    if (*class)
        add_count(u, arena_printf(u->a, "%s.deviceclass.resource.k8s.io/devices", class), n);
}

/* Of alternatives any may be taken: each class counts with the most that one of them asks for. */
static void usage_of_alternatives(struct quota_usage *u, const struct kj_val *list)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *class = v_str(kj_at(list, i), "deviceClassName");
        int64_t most = 0;
        bool seen = false;
        for (size_t j = 0; j < kj_len(list); j++) {
            if (!streq(v_str(kj_at(list, j), "deviceClassName"), class))
                continue;
            seen |= j < i;
            most = MAX(most, devices_of(kj_at(list, j)));
        }
        if (!seen)
            add_devices(u, class, most);
    }
}

static void usage_of_resource_claim(struct quota_usage *u, const struct kj_val *obj)
{
    const struct kj_val *list = kj_path(obj, "spec.devices.requests");

    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *r = kj_at(list, i), *exact = kj_get(r, "exactly");
        exact = exact ? exact : r;
        if (kj_len(kj_get(r, "firstAvailable")))
            usage_of_alternatives(u, kj_get(r, "firstAvailable"));
        else
            add_devices(u, v_str(exact, "deviceClassName"), devices_of(exact));
    }
}

void quota_usage_of(struct quota_usage *u, const char *res, const struct kj_val *obj, nsec_t now)
{
    static const char *const plain[] = { "secrets", "configmaps", "replicationcontrollers",
                                         "resourcequotas" };

    if (!obj)
        return;
    add_count(u, arena_printf(u->a, "count/%s", res), 1);
    if (streq(res, "pods"))
        quota_usage_of_pod(u, obj, now);
    else if (streq(res, "services"))
        usage_of_service(u, obj);
    else if (streq(res, "persistentvolumeclaims"))
        usage_of_claim(u, obj);
    else if (streq(res, "resourceclaims.resource.k8s.io"))
        usage_of_resource_claim(u, obj);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (streq(res, plain[i]))
            add_count(u, res, 1);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && streq(s + n - m, end);
}

const char *quota_counts(const char *name, struct arena *a)
{
    if (str_starts(name, "count/"))
        return arena_strdup(a, name + strlen("count/"));
    if (streq(name, "requests.storage") || strstr(name, ".storageclass.storage.k8s.io/"))
        return "persistentvolumeclaims";
    if (ends_with(name, ".deviceclass.resource.k8s.io/devices"))
        return "resourceclaims.resource.k8s.io";
    if (str_starts(name, "services."))
        return "services";
    if (str_starts(name, "requests.") || str_starts(name, "limits.") ||
        str_starts(name, "hugepages-") || streq(name, "cpu") || streq(name, "memory") ||
        streq(name, "ephemeral-storage"))
        return "pods";
    return arena_strdup(a, name);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static bool crosses_namespaces(const struct kj_val *affinity)
{
    static const char *const kinds[] = { "podAffinity", "podAntiAffinity" };

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        const struct kj_val *of = kj_get(affinity, kinds[k]);
        const struct kj_val *hard = kj_get(of, "requiredDuringSchedulingIgnoredDuringExecution");
        const struct kj_val *soft = kj_get(of, "preferredDuringSchedulingIgnoredDuringExecution");
        for (size_t i = 0; i < kj_len(hard) + kj_len(soft); i++) {
            const struct kj_val *term =
                i < kj_len(hard) ? kj_at(hard, i)
                                 : kj_get(kj_at(soft, i - kj_len(hard)), "podAffinityTerm");
            if (kj_len(kj_get(term, "namespaces")) > 0 ||
                kj_type(kj_get(term, "namespaceSelector")) == KJ_OBJ)
                return true;
        }
    }
    return false;
}

static bool class_matches(const char *op, const struct kj_val *values, const char *class)
{
    bool among = false;

    for (size_t i = 0; i < kj_len(values); i++)
        among |= streq(kj_str_or(kj_at(values, i), ""), class);
    if (streq(op, "In"))
        return *class && among;
    if (streq(op, "NotIn"))
        return !*class || !among;
    return streq(op, "DoesNotExist") ? !*class : *class != '\0';
}

static bool pod_matches(const char *scope, const char *op, const struct kj_val *values,
                        const struct kj_val *pod)
{
    const struct kj_val *spec = kj_get(pod, "spec");
    bool ends = quota_pod_terminating(pod);
    bool best_effort = kube_qos_of_document(spec) == KUBE_QOS_BEST_EFFORT;

    if (streq(scope, "Terminating"))
        return ends;
    if (streq(scope, "NotTerminating"))
        return !ends;
    if (streq(scope, "BestEffort"))
        return best_effort;
    if (streq(scope, "NotBestEffort"))
        return !best_effort;
    if (streq(scope, "CrossNamespacePodAffinity"))
        return crosses_namespaces(kj_get(spec, "affinity"));
    return streq(scope, "PriorityClass") &&
           class_matches(op, values, v_str(spec, "priorityClassName"));
}

/* A claim counts with every class that it has, had or is to get. */
static bool claim_matches(const char *scope, const char *op, const struct kj_val *values,
                          const struct kj_val *claim)
{
    static const char *const paths[] = {
        "spec.volumeAttributesClassName", "status.currentVolumeAttributesClassName",
        "status.modifyVolumeStatus.targetVolumeAttributesClassName"
    };
    bool any = false;

    if (!streq(scope, "VolumeAttributesClass"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *class = kj_str_or(kj_path(claim, paths[i]), "");
        if (*class && class_matches(op, values, class))
            return true;
        any = any || *class;
    }
    return !any && class_matches(op, values, "");
}

static bool scope_matches(const char *scope, const char *op, const struct kj_val *values,
                          const char *res, const struct kj_val *obj)
{
    if (streq(res, "pods"))
        return pod_matches(scope, op, values, obj);
    return streq(res, "persistentvolumeclaims") && claim_matches(scope, op, values, obj);
}

bool quota_scopes_match(const struct kj_val *spec, const char *res, const struct kj_val *obj)
{
    const struct kj_val *scopes = kj_get(spec, "scopes");
    const struct kj_val *list = kj_path(spec, "scopeSelector.matchExpressions");

    for (size_t i = 0; i < kj_len(scopes); i++)
        if (!scope_matches(kj_str_or(kj_at(scopes, i), ""), "Exists", NULL, res, obj))
            return false;
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *e = kj_at(list, i);
        if (!scope_matches(v_str(e, "scopeName"), v_str(e, "operator"), kj_get(e, "values"), res,
                           obj))
            return false;
    }
    return true;
}

/* ---- what containers have to say ------------------------------------------------------------- */

/* Does the list of the container, or of the whole pod, say it? */
static bool says(const struct kj_val *resources, const char *list, const char *name)
{
    return kj_str(kj_get(kj_get(resources, list), name)) != NULL;
}

static void missing_in(const struct kj_val *containers, const char *list, const char *name,
                       struct quota_usage *names)
{
    for (size_t i = 0; i < kj_len(containers); i++) {
        const struct kj_val *c = kj_at(containers, i);
        if (!says(kj_get(c, "resources"), list, name))
            quota_usage_add(names, v_str(c, "name"), (struct qty){ 0 });
    }
}

const char *quota_missing(const struct kj_val *hard, const struct kj_val *pod, struct arena *a)
{
    static const struct {
        const char *name, *list, *of;
    } known[] = { /* by name: that is their order in the message */
                  { "cpu", "requests", "cpu" },
                  { "limits.cpu", "limits", "cpu" },
                  { "limits.memory", "limits", "memory" },
                  { "memory", "requests", "memory" },
                  { "requests.cpu", "requests", "cpu" },
                  { "requests.memory", "requests", "memory" }
    };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct kj_val *spec = kj_get(pod, "spec");

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        struct quota_usage names = { .a = a }; /* sorted, each once */
        if (!kj_get(hard, known[i].name) ||
            says(kj_get(spec, "resources"), known[i].list, known[i].of))
            continue;
        missing_in(kj_get(spec, "containers"), known[i].list, known[i].of, &names);
        missing_in(kj_get(spec, "initContainers"), known[i].list, known[i].of, &names);
        for (size_t j = 0; j < names.n; j++) {
            if (j == 0)
                strbuf_appendf(&text, "%s%s for: ", text.len ? "; " : "must specify ",
                               known[i].name);
            strbuf_appendf(&text, "%s%s", j ? "," : "", names.items[j].name);
        }
    }
    return text.len ? arena_strdup(a, text.data) : NULL;
}
