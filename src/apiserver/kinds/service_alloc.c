/* service_alloc.c - families, addresses and node ports of a service: what the client left out, and
 * whether it may have what it asks for. The steps, their order and the words are kube-apiserver's.
 */
#include <stdio.h>

#include "apiserver/kinds/internal.h"
#include "apiserver/ranges.h"
#include "apiserver/server_int.h"
#include "base/map.h"

/* Numbers that a client may send, and nothing else: lists of ports may be long. */
struct portset {
    uint64_t bits[65536 / 64];
};

struct alloc {
    const struct res_allocation *x;
    struct ranges *r;
    struct kj_mdoc *d;
    struct kj_mval *spec;
    const struct kj_val *old; /* its spec; NULL on create */
    struct check *c;
    struct kerr *err;
    struct portset *taken; /* node ports that this operation takes */
    struct portset *had;   /* those of the old object */
    struct map shared;     /* "80": the node port of ports with this number */
    struct map pairs;      /* "TCP/30080": seen */
};

static bool portset_has(const struct portset *s, int64_t port)
{
    return port > 0 && port < 65536 && (s->bits[port / 64] >> (port % 64) & 1);
}

static void portset_add(struct portset *s, int64_t port)
{
    if (port > 0 && port < 65536)
        s->bits[port / 64] |= UINT64_C(1) << (port % 64);
}

static void *as_value(int64_t port)
{
    return (void *)(uintptr_t)port; /* never 0 */
}

static uint64_t service_hash(const struct kj_mval *obj, uint64_t salt)
{
    char text[600];
    struct kj_mval *meta = kj_mget(obj, "metadata");
    int n = snprintf(text, sizeof text, "%s/%s/%llu", m_str(meta, "namespace"), m_str(meta, "name"),
                     (unsigned long long)salt);
    return hash_stable(text, n < 0 ? 0 : MIN((size_t)n, sizeof text - 1));
}

static int fail_full(struct alloc *a, const char *what)
{
    return kerr_api(a->err, -ENOSPC, KR_INTERNAL,
                    "Internal error occurred: failed to allocate %s: range is full", what);
}

static bool is_none(const struct kj_mval *spec)
{
    return streq(m_str(spec, "clusterIP"), "None");
}

static void invalid(struct alloc *a, const char *path, const char *why)
{
    CLEANUP(kj_doc_free) struct kj_doc *now = kj_freeze(a->spec);
    field_error(a->x->errors, FIELD_INVALID, path,
                as_json(a->c, kj_get(kj_root(now), path + strlen("spec."))), "%s", why);
}

/* ---- what a client may leave out ------------------------------------------------------------- */

static bool m_same(const struct kj_mval *spec, const struct kj_val *old, const char *key)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *now = kj_mget(spec, key) ? kj_freeze(kj_mget(spec, key)) : NULL;
    return kj_equal(kj_root(now), kj_get(old, key)) || (!now && !kj_get(old, key));
}

static void keep(struct alloc *a, const char *key)
{
    if (kj_get(a->old, key))
        kj_mset(a->d, a->spec, key, kj_mcopy(a->d, kj_get(a->old, key)));
}

static void set_ips(struct alloc *a, const char *ip)
{
    struct kj_mval *list = kj_marr(a->d);
    kj_mpush(list, kj_mstr(a->d, ip));
    kj_mset(a->d, a->spec, "clusterIPs", list);
}

/* clusterIP and clusterIPs, of which a client may know only the first. */
static void match_ips(struct alloc *a)
{
    const char *ip = m_str(a->spec, "clusterIP"), *was = v_str(a->old, "clusterIP");
    size_t n = kj_mlen(kj_mget(a->spec, "clusterIPs"));

    if (!a->old) {
        if (*ip && n == 0)
            set_ips(a, ip);
        return;
    }
    if (n == 0 && streq(ip, was) && kj_len(kj_get(a->old, "clusterIPs")))
        keep(a, "clusterIPs");
    if (streq(ip, was) || !m_same(a->spec, a->old, "clusterIPs"))
        return;
    if (*was && !*ip)
        kj_mdel(a->spec, "clusterIPs", strlen("clusterIPs"));
    else
        set_ips(a, ip);
}

static bool needs_ports(const char *type, bool allocated)
{
    return streq(type, "NodePort") || (streq(type, "LoadBalancer") && allocated);
}

static bool gets_ports(const struct kj_mval *spec)
{
    struct kj_mval *v = kj_mget(spec, "allocateLoadBalancerNodePorts");
    return needs_ports(m_str(spec, "type"), !v || m_true(spec, "allocateLoadBalancerNodePorts"));
}

static bool old_gets_ports(const struct kj_val *old)
{
    return needs_ports(v_str(old, "type"),
                       kj_bool(kj_get(old, "allocateLoadBalancerNodePorts"), true));
}

/* Node ports by the names of their ports, unless another port asks for them. */
static void keep_ports(struct alloc *a)
{
    CLEANUP(map_fini) struct map by_name = { 0 };
    struct portset asked = { 0 };
    const struct kj_val *o;
    struct kj_mval *p;

    for (struct kj_iter it = kj_iter(kj_get(a->old, "ports")); kj_next(&it, NULL, &o);)
        if (kj_i64_or(kj_get(o, "nodePort"), 0) > 0)
            map_putz(&by_name, v_str(o, "name"), as_value(kj_i64_or(kj_get(o, "nodePort"), 0)));
    for (struct kj_miter it = kj_miter(kj_mget(a->spec, "ports")); kj_mnext(&it, NULL, &p);)
        portset_add(&asked, m_i64(p, "nodePort", 0));
    for (struct kj_miter it = kj_miter(kj_mget(a->spec, "ports")); kj_mnext(&it, NULL, &p);) {
        int64_t was = (int64_t)(uintptr_t)map_getz(&by_name, m_str(p, "name"));
        if (was && !m_i64(p, "nodePort", 0) && !portset_has(&asked, was))
            kj_mset(a->d, p, "nodePort", kj_mi64(a->d, was));
    }
}

static bool needs_health_port(const char *type, const char *policy)
{
    return streq(type, "LoadBalancer") && streq(policy, "Local");
}

static bool has_health_port(const struct kj_mval *spec)
{
    return needs_health_port(m_str(spec, "type"), m_str(spec, "externalTrafficPolicy"));
}

static bool had_health_port(const struct kj_val *old)
{
    return needs_health_port(v_str(old, "type"), v_str(old, "externalTrafficPolicy"));
}

static void keep_allocated(struct alloc *a)
{
    bool addressed = !streq(m_str(a->spec, "type"), "ExternalName") &&
                     !streq(v_str(a->old, "type"), "ExternalName");

    if (addressed && !*m_str(a->spec, "clusterIP"))
        keep(a, "clusterIP");
    if (addressed && kj_mlen(kj_mget(a->spec, "clusterIPs")) == 0)
        keep(a, "clusterIPs");
    if (gets_ports(a->spec) && old_gets_ports(a->old))
        keep_ports(a);
    if (has_health_port(a->spec) && had_health_port(a->old) &&
        m_i64(a->spec, "healthCheckNodePort", 0) == 0)
        keep(a, "healthCheckNodePort");
}

/* ---- families -------------------------------------------------------------------------------- */

static void default_policy(struct alloc *a)
{
    const char *was = v_str(a->old, "ipFamilyPolicy");
    bool both = is_none(a->spec) && kj_mlen(kj_mget(a->spec, "selector")) == 0;

    m_default_str(a->d, a->spec, "ipFamilyPolicy",
                  *was   ? was
                  : both ? "RequireDualStack"
                         : "SingleStack");
}

static void cut_to_one(struct alloc *a, const char *key)
{
    struct kj_mval *list = kj_mget(a->spec, key);
    if (m_same(a->spec, a->old, key))
        while (kj_mlen(list) > 1)
            kj_mdel_at(list, kj_mlen(list) - 1);
}

static void check_reduced(struct alloc *a, const char *key, const char *why)
{
    size_t n = kj_mlen(kj_mget(a->spec, key));
    if (n && n < kj_len(kj_get(a->old, key)))
        invalid(a, "spec.ipFamilyPolicy", why);
}

/* Does the policy fit to how many there are? */
static void check_policy(struct alloc *a)
{
    bool single = streq(m_str(a->spec, "ipFamilyPolicy"), "SingleStack");

    if (a->old && single) {
        cut_to_one(a, "clusterIPs");
        cut_to_one(a, "ipFamilies");
    } else if (a->old) {
        check_reduced(a, "clusterIPs", "must be 'SingleStack' to release the secondary cluster IP");
        check_reduced(a, "ipFamilies", "must be 'SingleStack' to release the secondary IP family");
    }
    if (single && kj_mlen(kj_mget(a->spec, "clusterIPs")) == 2)
        invalid(a, "spec.ipFamilyPolicy",
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are "
                "specified");
    if (single && kj_mlen(kj_mget(a->spec, "ipFamilies")) == 2)
        invalid(a, "spec.ipFamilyPolicy",
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
                "specified");
}

static struct kj_mval *families(struct alloc *a)
{
    struct kj_mval *list = kj_mget(a->spec, "ipFamilies");
    if (kj_mtype(list) != KJ_ARR) {
        list = kj_marr(a->d);
        kj_mset(a->d, a->spec, "ipFamilies", list);
    }
    return list;
}

static void families_of_ips(struct alloc *a)
{
    struct kj_mval *ips = kj_mget(a->spec, "clusterIPs");

    for (size_t i = 0; i < kj_mlen(ips); i++) {
        const char *ip = str_or(kj_mstr_get(kj_mat(ips, i)), "");
        if (streq(ip, "None"))
            break;
        if (i < kj_mlen(kj_mget(a->spec, "ipFamilies")))
            continue;
        if (strchr(ip, ':')) {
            CLEANUP(kj_doc_free) struct kj_doc *all = kj_freeze(ips);
            field_error(a->x->errors, FIELD_INVALID, at(a->c, "spec.clusterIPs[%zu]", i),
                        as_json(a->c, kj_root(all)), "IPv6 is not configured on this cluster");
        } else {
            kj_mpush(families(a), kj_mstr(a->d, "IPv4"));
        }
    }
}

/* Services without address and selector: anybody may make endpoints for them, of either family. */
static void headless_families(struct alloc *a)
{
    struct kj_mval *list = families(a);

    if (kj_mlen(list) == 0)
        kj_mpush(list, kj_mstr(a->d, "IPv4"));
    if (kj_mlen(list) < 2 && !streq(m_str(a->spec, "ipFamilyPolicy"), "SingleStack")) {
        bool four = streq(str_or(kj_mstr_get(kj_mat(list, 0)), ""), "IPv4");
        kj_mpush(list, kj_mstr(a->d, four ? "IPv6" : "IPv4"));
    }
}

static void check_configured(struct alloc *a)
{
    struct kj_mval *list = kj_mget(a->spec, "ipFamilies");

    if (streq(m_str(a->spec, "ipFamilyPolicy"), "RequireDualStack"))
        invalid(a, "spec.ipFamilyPolicy", "this cluster is not configured for dual-stack services");
    for (size_t i = 0; i < kj_mlen(list); i++) {
        const char *family = str_or(kj_mstr_get(kj_mat(list, i)), "");
        if (!streq(family, "IPv4"))
            err_invalid(a->c, at(a->c, "spec.ipFamilies[%zu]", i), family,
                        "not configured on this cluster");
    }
    if (field_errors_count(a->x->errors) == 0 && kj_mlen(list) == 0)
        kj_mpush(families(a), kj_mstr(a->d, "IPv4"));
}

static void set_families(struct alloc *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *now = NULL;

    if (streq(m_str(a->spec, "type"), "ExternalName"))
        return;
    default_policy(a);
    now = kj_freeze(a->spec);
    check_service_ips(a->c, kj_root(now));
    if (field_errors_count(a->x->errors))
        return;
    check_policy(a);
    families_of_ips(a);
    if (field_errors_count(a->x->errors))
        return;
    if (is_none(a->spec) && kj_mlen(kj_mget(a->spec, "selector")) == 0)
        headless_families(a);
    else
        check_configured(a);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static int take_next_ip(struct alloc *a)
{
    char ip[64] = "10.96.0.0"; /* what a dry run shows, as there */

    if (!a->x->dry_run && ranges_next_ip(a->r, service_hash(a->x->obj, 0), ip, sizeof ip) < 0)
        return fail_full(a, "a serviceIP");
    kj_mset(a->d, a->spec, "clusterIP", kj_mstr(a->d, ip));
    set_ips(a, ip);
    return 0;
}

static int take_ip(struct alloc *a)
{
    const char *ip = m_str(a->spec, "clusterIP"), *why = NULL;

    if (streq(m_str(a->spec, "type"), "ExternalName") || is_none(a->spec) ||
        (a->old && !streq(v_str(a->old, "type"), "ExternalName")))
        return 0;
    if (!*ip)
        return take_next_ip(a);
    int e = ranges_ip_state(a->r, ip);
    if (e == -ERANGE)
        why = "the provided network does not match the current range";
    else if (e == -EEXIST && !a->x->dry_run)
        why = "provided IP is already allocated";
    if (why)
        invalid(a, "spec.clusterIPs", at(a->c, "failed to allocate IP %s: %s", ip, why));
    return 0;
}

/* ---- node ports ------------------------------------------------------------------------------ */

static bool port_free(struct alloc *a, int64_t port)
{
    return !portset_has(a->taken, port) && !ranges_port_taken(a->r, port);
}

/* Why not; NULL: it is taken now. */
static const char *take_port(struct alloc *a, int64_t port)
{
    if (!a->x->dry_run && (port < RANGES_PORT_FIRST || port > RANGES_PORT_LAST))
        return "provided port is not in the valid range. The range of valid ports is 30000-32767";
    if (!port_free(a, port))
        return "provided port is already allocated";
    portset_add(a->taken, port);
    return NULL;
}

/* 0: none is left. */
static int64_t take_next_port(struct alloc *a, uint64_t salt)
{
    enum { STATIC = 86, ALL = RANGES_PORT_LAST - RANGES_PORT_FIRST + 1, DYNAMIC = ALL - STATIC };
    uint64_t hash = service_hash(a->x->obj, salt);

    for (uint64_t i = 0; i < ALL; i++) { /* the first ones last: people like to choose them */
        uint64_t at = i < DYNAMIC ? STATIC + (hash + i) % DYNAMIC : (hash + i) % STATIC;
        int64_t port = RANGES_PORT_FIRST + (int64_t)at;
        if (port_free(a, port)) {
            portset_add(a->taken, port);
            return port;
        }
    }
    return 0;
}

static void refuse_port(struct alloc *a, size_t i, int64_t port, const char *why)
{
    err_invalid_i64(a->c, at(a->c, "spec.ports[%zu].nodePort", i), port, why);
}

static int set_next_port(struct alloc *a, struct kj_mval *p)
{
    int64_t port = take_next_port(a, (uint64_t)m_i64(p, "port", 0) + 1);

    if (!port)
        return fail_full(a, "a nodePort");
    kj_mset(a->d, p, "nodePort", kj_mi64(a->d, port));
    return 0;
}

static const char *port_key(struct alloc *a, const struct kj_mval *p)
{
    return at(a->c, "%lld", (long long)m_i64(p, "port", 0));
}

/* What ports ask for, the first of each number: another one of that number shares it. */
static void note_asked(struct alloc *a, struct map *asked)
{
    struct kj_miter it = kj_miter(kj_mget(a->spec, "ports"));
    struct kj_mval *p;

    while (kj_mnext(&it, NULL, &p))
        if (m_i64(p, "nodePort", 0) > 0 && !map_getz(asked, port_key(a, p)))
            map_putz(asked, port_key(a, p), as_value(m_i64(p, "nodePort", 0)));
}

/* Ports of one number, of TCP and UDP, share their node port. */
static int new_port(struct alloc *a, struct kj_mval *p, size_t i, const struct map *asked)
{
    const char *key = port_key(a, p), *why = NULL;
    int64_t own = m_i64(p, "nodePort", 0);
    int64_t shared = (int64_t)(uintptr_t)map_getz(&a->shared, key);

    if (!own && !gets_ports(a->spec))
        return 0;
    if (shared && (!own || own == shared)) {
        own = shared;
    } else if (shared) {
        why = take_port(a, own);
    } else if (map_getz(asked, key)) {
        own = (int64_t)(uintptr_t)map_getz(asked, key);
        why = take_port(a, own);
    } else {
        int e = own < 0 ? 0 : set_next_port(a, p);
        if (e < 0)
            return e;
        why = own < 0 ? take_port(a, own) : NULL;
        own = m_i64(p, "nodePort", 0);
    }
    if (why) {
        refuse_port(a, i, own, why);
        return 0;
    }
    kj_mset(a->d, p, "nodePort", kj_mi64(a->d, own));
    if (!shared)
        map_putz(&a->shared, key, as_value(own));
    return 0;
}

static int changed_port(struct alloc *a, struct kj_mval *p, size_t i)
{
    int64_t own = m_i64(p, "nodePort", 0);
    const char *why = NULL;

    if (!own && !gets_ports(a->spec))
        return 0;
    if (!own) {
        int e = set_next_port(a, p);
        if (e < 0)
            return e;
        own = m_i64(p, "nodePort", 0);
    } else if (!portset_has(a->had, own) && !portset_has(a->taken, own)) {
        why = take_port(a, own);
    }
    if (why)
        refuse_port(a, i, own, why);
    else if (!names_add(&a->pairs, at(a->c, "%s %lld", m_str(p, "protocol"), (long long)own)))
        return kerr_api(a->err, -EINVAL, KR_INTERNAL, "duplicate nodePort: {%s %lld}",
                        m_str(p, "protocol"), (long long)own);
    return 0;
}

static int take_ports(struct alloc *a)
{
    CLEANUP(map_fini) struct map asked = { 0 };
    struct kj_miter it = kj_miter(kj_mget(a->spec, "ports"));
    const char *type = m_str(a->spec, "type");
    const struct kj_val *o;
    struct kj_mval *p;
    int e = 0;

    if (!streq(type, "NodePort") && !streq(type, "LoadBalancer"))
        return 0;
    note_asked(a, &asked);
    for (struct kj_iter had = kj_iter(kj_get(a->old, "ports")); kj_next(&had, NULL, &o);)
        portset_add(a->had, kj_i64_or(kj_get(o, "nodePort"), 0));
    for (size_t i = 0; e == 0 && !field_errors_count(a->x->errors) && kj_mnext(&it, NULL, &p); i++)
        e = a->old ? changed_port(a, p, i) : new_port(a, p, i, &asked);
    return e;
}

static int take_health_port(struct alloc *a)
{
    int64_t port = m_i64(a->spec, "healthCheckNodePort", 0);

    if (!has_health_port(a->spec) || (a->old && had_health_port(a->old)))
        return 0;
    if (port) {
        const char *why = take_port(a, port);
        if (why)
            return kerr_api(a->err, -EINVAL, KR_INTERNAL,
                            "Internal error occurred: failed to allocate requested HealthCheck "
                            "NodePort %lld: %s",
                            (long long)port, why);
        return 0;
    }
    port = take_next_port(a, 0);
    if (!port)
        return fail_full(a, "a HealthCheck NodePort 0");
    kj_mset(a->d, a->spec, "healthCheckNodePort", kj_mi64(a->d, port));
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int service_allocate(const struct res_allocation *x, struct kerr *err)
{
    CLEANUP(check_end) struct check c = check_begin(x->errors);
    struct portset taken = { 0 }, had = { 0 };
    struct alloc a = { .x = x,
                       .r = x->s->ranges,
                       .d = x->d,
                       .spec = m_obj(x->d, x->obj, "spec"),
                       .old = kj_get(x->old, "spec"),
                       .c = &c,
                       .taken = &taken,
                       .had = &had,
                       .err = err };
    int e = 0;

    if (a.old)
        keep_allocated(&a);
    match_ips(&a);
    set_families(&a);
    if (field_errors_count(x->errors) == 0)
        e = take_ip(&a);
    if (e == 0 && field_errors_count(x->errors) == 0)
        e = take_ports(&a);
    if (e == 0 && field_errors_count(x->errors) == 0)
        e = take_health_port(&a);
    map_fini(&a.shared);
    map_fini(&a.pairs);
    return e;
}

bool service_still_free(struct apiserver *s, const struct kj_val *obj)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *v;
    const char *ip = v_str(spec, "clusterIP");

    if (*ip && !streq(ip, "None") && ranges_ip_state(s->ranges, ip) < 0)
        return false;
    for (struct kj_iter it = kj_iter(kj_get(spec, "ports")); kj_next(&it, NULL, &v);)
        if (ranges_port_taken(s->ranges, kj_i64_or(kj_get(v, "nodePort"), 0)))
            return false;
    return !ranges_port_taken(s->ranges, kj_i64_or(kj_get(spec, "healthCheckNodePort"), 0));
}
