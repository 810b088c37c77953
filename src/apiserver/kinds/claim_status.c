/* claim_status.c - resource.k8s.io: the status of a ResourceClaim: what was allocated, for whom. */
#include <arpa/inet.h>

#include "apiserver/kinds/device_check.h"
#include "base/num.h"

enum {
    CONFIG_MAX = 64, /* of class and claim */
    RESULTS_MAX = 32,
    RESERVED_MAX = 256,
    STATUS_CONDITIONS_MAX = 8,
    IPS_MAX = 16,
    INTERFACE_MAX = 256,
    HARDWARE_MAX = 128,
};
#define RESULTS "status.allocation.devices.results"

static void check_result(struct check *c, const char *path, const struct kj_val *r,
                         const struct kj_val *devices)
{
    check_request_ref(c, at(c, "%s.request", path), v_str(r, "request"), devices);
    check_driver(c, at(c, "%s.driver", path), v_str(r, "driver"));
    check_pool(c, at(c, "%s.pool", path), v_str(r, "pool"));
    check_dns_label(c, at(c, "%s.device", path), v_str(r, "device"));
    check_binding_conditions(c, path, r);
    if (v_has(r, "shareID"))
        check_share(c, at(c, "%s.shareID", path), v_str(r, "shareID"));
}

static void check_allocation(struct check *c, const struct kj_val *allocation,
                             const struct kj_val *devices)
{
    const struct kj_val *results = kj_path(allocation, "devices.results"), *r;
    struct kj_iter it = kj_iter(results);

    if (check_at_most(c, RESULTS, results, RESULTS_MAX))
        for (size_t i = 0; kj_next(&it, NULL, &r); i++)
            check_result(c, at(c, RESULTS "[%zu]", i), r, devices);
    check_device_configs(c, "status.allocation.devices.config",
                         kj_path(allocation, "devices.config"), CONFIG_MAX, devices, true);
    if (v_has(allocation, "nodeSelector"))
        check_node_selector(c, "status.allocation.nodeSelector",
                            kj_get(allocation, "nodeSelector"));
}

static bool has_consumer(const struct kj_val *list, const struct kj_val *one)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (kj_equal(v, one))
            return true;
    return false;
}

static void check_consumers(struct check *c, const struct kj_val *obj, const struct kj_val *old)
{
    static const char path[] = "status.reservedFor";
    static const char *const fields[] = { "resource", "name", "uid" };
    CLEANUP(map_fini) struct map uids = { 0 };
    const struct kj_val *list = kj_path(obj, path), *v;
    struct kj_iter it = kj_iter(list);
    bool deleted = v_has(kj_get(obj, "metadata"), "deletionTimestamp"), added = false;

    if (!check_at_most(c, path, list, RESERVED_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i);
        for (size_t k = 0; k < ARRAY_LEN(fields); k++)
            if (!*v_str(v, fields[k]))
                err_required(c, at(c, "%s.%s", p, fields[k]), "");
        if (!names_add(&uids, v_str(v, "uid")))
            err_duplicate(c, p, v_str(v, "uid"));
        added |= deleted && !has_consumer(kj_path(old, path), v);
    }
    if (kj_len(list) > 0 && !v_has(kj_get(obj, "status"), "allocation"))
        err_forbidden(c, path, "may not be specified when `allocated` is not set");
    else if (added)
        err_forbidden(c, path,
                      "new entries may not be added while `deallocationRequested` or "
                      "`deletionTimestamp` are set");
}

/* driver/pool/device, with its share where it has one: what a result and its status agree in. */
static const char *device_key(struct arena *a, const struct kj_val *v)
{
    const char *share = v_str(v, "shareID");
    return arena_printf(a, "%s/%s/%s%s%s", v_str(v, "driver"), v_str(v, "pool"), v_str(v, "device"),
                        *share ? "/" : "", share);
}

/* An address with the length of its prefix, "10.9.8.7/24", as Go would print it. */
static void check_address(struct check *c, const char *path, const char *s)
{
    const char *slash = strchr(s, '/');
    const char *text = slash ? arena_strndup(c->a, s, (size_t)(slash - s)) : s;
    unsigned char bytes[16];
    char canonical[INET6_ADDRSTRLEN];
    int family = strchr(text, ':') ? AF_INET6 : AF_INET;
    uint64_t prefix;

    if (!slash || inet_pton(family, text, bytes) != 1 ||
        u64_parse(slash + 1, strlen(slash + 1), &prefix) < 0 ||
        prefix > (family == AF_INET ? 32 : 128)) {
        err_invalid(c, path, s,
                    "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)");
        return;
    }
    (void)inet_ntop(family, bytes, canonical, sizeof canonical);
    const char *want = at(c, "%s/%lld", canonical, (long long)prefix);
    if (!streq(want, s))
        field_error_text(c->errors, FIELD_INVALID, path, s, "must be in canonical form (%s)",
                         quoted(c, want));
}

static void check_network(struct check *c, const char *path, const struct kj_val *data)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    const struct kj_val *ips = kj_get(data, "ips"), *v;
    struct kj_iter it = kj_iter(ips);
    const char *p = at(c, "%s.ips", path);

    check_length(c, at(c, "%s.interfaceName", path), strlen(v_str(data, "interfaceName")),
                 INTERFACE_MAX);
    check_length(c, at(c, "%s.hardwareAddress", path), strlen(v_str(data, "hardwareAddress")),
                 HARDWARE_MAX);
    if (!check_at_most(c, p, ips, IPS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *one = at(c, "%s[%zu]", p, i);
        check_address(c, one, kj_str_or(v, ""));
        if (!names_add(&seen, kj_str_or(v, "")))
            err_duplicate(c, one, kj_str_or(v, ""));
    }
}

static void check_device_status(struct check *c, const char *path, const struct kj_val *v,
                                bool allocated)
{
    const struct kj_val *conditions = kj_get(v, "conditions");
    const char *p = at(c, "%s.conditions", path);

    check_driver(c, at(c, "%s.driver", path), v_str(v, "driver"));
    check_pool(c, at(c, "%s.pool", path), v_str(v, "pool"));
    check_dns_label(c, at(c, "%s.device", path), v_str(v, "device"));
    if (v_has(v, "shareID"))
        check_share(c, at(c, "%s.shareID", path), v_str(v, "shareID"));
    if (!allocated)
        err_invalid(c, path, device_key(c->a, v), "must be an allocated device in the claim");
    (void)check_at_most(c, p, conditions, STATUS_CONDITIONS_MAX);
    check_conditions(c, p, conditions);
    if (v_has(v, "data"))
        check_raw_object(c, at(c, "%s.data", path), kj_get(v, "data"));
    if (v_has(v, "networkData"))
        check_network(c, at(c, "%s.networkData", path), kj_get(v, "networkData"));
}

static void add_devices(struct map *devices, struct arena *a, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        (void)names_add(devices, device_key(a, v));
}

static void check_device_statuses(struct check *c, const struct kj_val *obj)
{
    CLEANUP(map_fini) struct map allocated = { 0 };
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(kj_path(obj, "status.devices"));
    const struct kj_val *v;

    add_devices(&allocated, c->a, kj_path(obj, RESULTS));
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "status.devices[%zu]", i), *key = device_key(c->a, v);
        check_device_status(c, p, v, map_getz(&allocated, key));
        if (!names_add(&seen, key))
            err_duplicate(c, p, key);
    }
}

void claim_drop_deallocated(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old)
{
    struct kj_mval *status = kj_mget(obj, "status"), *kept = kj_marr(d);
    const struct kj_val *v;

    if (!m_has(status, "devices"))
        return;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(map_fini) struct map was = { 0 };
    CLEANUP(map_fini) struct map is = { 0 };
    CLEANUP(kj_doc_free) struct kj_doc *now = kj_view(status);
    struct kj_iter it = kj_iter(kj_get(kj_root(now), "devices"));
    add_devices(&was, a, kj_path(old, RESULTS));
    add_devices(&is, a, kj_path(kj_root(now), "allocation.devices.results"));
    while (kj_next(&it, NULL, &v)) {
        const char *key = device_key(a, v);
        if (!map_getz(&was, key) || map_getz(&is, key))
            kj_mpush(kept, kj_mcopy(d, v));
    }
    if (kj_mlen(kept) > 0)
        kj_mset(d, status, "devices", kept);
    else
        (void)kj_mdel(status, "devices", strlen("devices"));
}

void check_claim_status(struct check *c, const struct kj_val *obj, const struct kj_val *old)
{
    const struct kj_val *was = kj_path(old, "status.allocation"),
                        *is = kj_path(obj, "status.allocation");

    check_consumers(c, obj, old);
    check_device_statuses(c, obj);
    if (kj_type(was) > KJ_NULL && kj_type(is) > KJ_NULL)
        check_immutable(c, "status.allocation", is, was);
    else if (kj_type(is) > KJ_NULL)
        check_allocation(c, is, kj_path(obj, "spec.devices"));
}
