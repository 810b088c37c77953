/* ranges.c - cluster addresses and node ports: what is taken, and the IPAddress objects. */
#include "apiserver/ranges.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "apiserver/registry/internal.h"
#include "base/klog.h"
#include "base/map.h"

#define SERVICES   "services"
#define ADDRESSES  "ipaddresses.networking.k8s.io"
#define CIDRS      "servicecidrs.networking.k8s.io"
#define MANAGED_BY "ipaddress.kubernetes.io/managed-by"
#define MANAGER    "ipallocator.k8s.io"
#define ADDRESS_BODY                                                                        \
    "{\"metadata\":{\"labels\":{\"ipaddress.kubernetes.io/ip-family\":\"%s\",\"" MANAGED_BY \
    "\":\"" MANAGER "\"}},\"spec\":{\"parentRef\":{\"group\":\"\",\"name\":\"%s\","         \
    "\"namespace\":\"%s\",\"resource\":\"services\"}}}"

enum {
    PORTS = RANGES_PORT_LAST - RANGES_PORT_FIRST + 1,
};

struct holding { /* an address; files of older versions may have one twice */
    unsigned n;
    char ip[];
};

struct ranges {
    struct apiserver *s;
    struct map ips;
    uint16_t ports[PORTS]; /* how many Services have it */
    bool counted;
};

struct ranges *ranges_new(struct apiserver *s)
{
    struct ranges *r = xnew0(struct ranges);
    r->s = s;
    return r;
}

static void forget(struct ranges *r)
{
    map_foreach(&r->ips, e)
        free(e->value);
    map_fini(&r->ips);
    memset(r->ports, 0, sizeof r->ports);
    r->counted = false;
}

struct ranges *ranges_free(struct ranges *r)
{
    if (!r)
        return NULL;
    forget(r);
    free(r);
    return NULL;
}

void ranges_doubt(struct ranges *r)
{
    r->counted = false;
}

/* ---- what one Service has -------------------------------------------------------------------- */

static void hold_ip(struct ranges *r, const char *ip, int by)
{
    struct holding *h = map_getz(&r->ips, ip);

    if (!h && by > 0) {
        size_t n = strlen(ip) + 1;
        h = xmalloc(sizeof *h + n);
        h->n = 0;
        memcpy(h->ip, ip, n);
        map_putz(&r->ips, h->ip, h);
    }
    if (!h)
        return;
    h->n += (unsigned)by;
    if (h->n == 0) {
        map_removez(&r->ips, ip);
        free(h);
    }
}

static void hold_port(struct ranges *r, int64_t port, int by)
{
    if (port < RANGES_PORT_FIRST || port > RANGES_PORT_LAST)
        return;
    uint16_t *n = &r->ports[port - RANGES_PORT_FIRST];
    if (by > 0 || *n > 0)
        *n = (uint16_t)(*n + by);
}

static bool is_address(const char *ip)
{
    unsigned char buf[16];
    return inet_pton(AF_INET, ip, buf) == 1 || inet_pton(AF_INET6, ip, buf) == 1;
}

static void hold(struct ranges *r, const struct kj_val *service, int by)
{
    const struct kj_val *spec = kj_get(service, "spec"), *v;

    for (struct kj_iter it = kj_iter(kj_get(spec, "clusterIPs")); kj_next(&it, NULL, &v);)
        if (is_address(kj_str_or(v, "")))
            hold_ip(r, kj_str(v), by);
    for (struct kj_iter it = kj_iter(kj_get(spec, "ports")); kj_next(&it, NULL, &v);)
        hold_port(r, kj_i64_or(kj_get(v, "nodePort"), 0), by);
    hold_port(r, kj_i64_or(kj_get(spec, "healthCheckNodePort"), 0), by);
}

static bool has_ip(const struct kj_val *service, const char *ip)
{
    struct kj_iter it = kj_iter(kj_path(service, "spec.clusterIPs"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(kj_str_or(v, ""), ip))
            return true;
    return false;
}

/* ---- IPAddress objects ----------------------------------------------------------------------- */

static bool address_there(struct ranges *r, const char *ip)
{
    CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT;
    struct store_key k = { ADDRESSES, "", ip };
    return store_get_latest(r->s->store, &k, &there, NULL, NULL) == 0;
}

static void address_make(struct ranges *r, const char *ip, const char *ns, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kerr err = { 0 };

    strbuf_appendf(&body, ADDRESS_BODY, strchr(ip, ':') ? "IPv6" : "IPv4", name, ns);
    const struct first_object f = { "networking.k8s.io", "ipaddresses", "", ip, body.data };
    if (bootstrap_put(r->s, &f, &err) < 0) {
        KLOG_E(&err, "Failed to create an IPAddress", KV_S("address", ip));
        r->counted = false;
    }
}

static void on_removed(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)rev;
    if (err)
        ranges_doubt(arg);
}

static void address_remove(struct ranges *r, const char *ip)
{
    CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT, last = STRBUF_INIT;
    struct store_key k = { ADDRESSES, "", ip };
    struct kerr err = { 0 };
    uint64_t rev;

    if (store_get_latest(r->s->store, &k, &there, &rev, NULL) < 0)
        return;
    object_set_rev(there.data, there.len, store_next_revision(r->s->store), &last);
    if (store_delete(r->s->store, &k, rev, last.data, last.len, on_removed, r, &err) < 0) {
        KLOG_E(&err, "Failed to delete an IPAddress", KV_S("address", ip));
        r->counted = false;
    }
}

/* ---- counting anew --------------------------------------------------------------------------- */

struct address {
    const char *ip, *ns, *name;
};
struct repair {
    struct ranges *r;
    struct arena *a;
    struct vec_of(struct address) make, drop;
};

static bool count_service(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                          size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct repair *x = arg;
    const struct kj_val *v;

    (void)rev;
    if (kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return true;
    hold(x->r, kj_root(parsed), 1);
    struct kj_iter it = kj_iter(kj_path(kj_root(parsed), "spec.clusterIPs"));
    while (kj_next(&it, NULL, &v))
        if (is_address(kj_str_or(v, "")) && !address_there(x->r, kj_str(v)))
            vec_push(&x->make,
                     ((struct address){ arena_strdup(x->a, kj_str(v)), arena_strdup(x->a, k->ns),
                                        arena_strdup(x->a, k->name) }));
    return true;
}

/* One of ours whose Service is gone. */
static bool check_address(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                          size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct repair *x = arg;

    (void)rev;
    if (map_getz(&x->r->ips, k->name) || kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return true;
    const struct kj_val *labels = kj_path(kj_root(parsed), "metadata.labels");
    if (streq(kj_str_or(kj_get(labels, MANAGED_BY), ""), MANAGER))
        vec_push(&x->drop, ((struct address){ .ip = arena_strdup(x->a, k->name) }));
    return true;
}

static void count(struct ranges *r)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    struct kerr err = { 0 };

    if (r->counted)
        return;
    a = arena_new();
    struct repair x = { .r = r, .a = a };
    forget(r);
    r->counted = true;
    if (store_list_latest(r->s->store, SERVICES, NULL, count_service, &x, &err) < 0 ||
        store_list_latest(r->s->store, ADDRESSES, NULL, check_address, &x, &err) < 0) {
        KLOG_E(&err, "Failed to count the addresses of Services");
        r->counted = false;
    }
    vec_foreach(&x.make, i)
        address_make(r, x.make.items[i].ip, x.make.items[i].ns, x.make.items[i].name);
    vec_foreach(&x.drop, i)
        address_remove(r, x.drop.items[i].ip);
    vec_fini(&x.make);
    vec_fini(&x.drop);
}

/* ---- ServiceCIDRs ---------------------------------------------------------------------------- */

struct cidr4 {
    uint32_t first, last; /* that Services may have: neither the network's own nor the broadcast */
};
struct cidrs vec_of(struct cidr4);

static bool is_ready(const struct kj_val *cidr)
{
    struct kj_iter it = kj_iter(kj_path(cidr, "status.conditions"));
    const struct kj_val *v;

    if (kj_path(cidr, "metadata.deletionTimestamp"))
        return false;
    while (kj_next(&it, NULL, &v))
        if (streq(kj_str_or(kj_get(v, "type"), ""), "Ready"))
            return streq(kj_str_or(kj_get(v, "status"), ""), "True");
    return true; /* nobody has judged it yet */
}

static bool parse4(const char *text, struct cidr4 *ret)
{
    char ip[INET_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    struct in_addr in;

    if (!slash || (size_t)(slash - text) >= sizeof ip)
        return false;
    memcpy(ip, text, (size_t)(slash - text));
    ip[slash - text] = '\0';
    unsigned bits = (unsigned)strtoul(slash + 1, NULL, 10);
    if (inet_pton(AF_INET, ip, &in) != 1 || bits == 0 || bits > 30)
        return false;
    uint32_t mask = ~UINT32_C(0) << (32 - bits), net = ntohl(in.s_addr) & mask;
    *ret = (struct cidr4){ net + 1, (net | ~mask) - 1 };
    return true;
}

static bool add_cidr(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct cidrs *all = arg;
    const struct kj_val *v;
    struct cidr4 c;

    (void)rev;
    if (kj_parse(doc, n, 0, &parsed, NULL) < 0 || !is_ready(kj_root(parsed)))
        return true;
    struct kj_iter it = kj_iter(kj_path(kj_root(parsed), "spec.cidrs"));
    while (kj_next(&it, NULL, &v))
        if (parse4(kj_str_or(v, ""), &c)) {
            if (streq(k->name, "kubernetes"))
                vec_insert(all, 0, c); /* addresses come from it while it has any */
            else
                vec_push(all, c);
        }
    return true;
}

static void cidrs_list(struct ranges *r, struct cidrs *ret)
{
    (void)store_list_latest(r->s->store, CIDRS, NULL, add_cidr, ret, NULL);
}

static void cidrs_fini(struct cidrs *c)
{
    vec_fini(c);
}
static inline UNUSED void cidrs_fini_p(struct cidrs *c)
{
    cidrs_fini(c);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static bool is_taken(struct ranges *r, const char *ip)
{
    return map_getz(&r->ips, ip) || address_there(r, ip);
}

int ranges_ip_state(struct ranges *r, const char *ip)
{
    CLEANUP(cidrs_fini) struct cidrs all = { 0 };
    struct in_addr in;
    bool within = false;

    count(r);
    if (inet_pton(AF_INET, ip, &in) != 1)
        return -ERANGE;
    cidrs_list(r, &all);
    vec_foreach(&all, i)
        within = within ||
                 (ntohl(in.s_addr) >= all.items[i].first && ntohl(in.s_addr) <= all.items[i].last);
    return !within ? -ERANGE : is_taken(r, ip) ? -EEXIST : 0;
}

/* A free one of these n, beginning at the hash's. */
static bool find_ip(struct ranges *r, uint32_t first, uint32_t n, uint64_t hash, char *ret,
                    size_t size)
{
    for (uint32_t i = 0; i < n; i++) {
        struct in_addr in = { .s_addr = htonl(first + (uint32_t)((hash + i) % n)) };
        if (inet_ntop(AF_INET, &in, ret, (socklen_t)size) && !is_taken(r, ret))
            return true;
    }
    return false;
}

/* The first of a range are given last: people choose among them. */
static uint32_t static_part(uint32_t n)
{
    enum { LEAST = 16, MOST = 256, STEP = 16 };
    return n <= LEAST ? 0 : MIN(MAX(n / STEP, (uint32_t)LEAST), (uint32_t)MOST);
}

int ranges_next_ip(struct ranges *r, uint64_t hash, char *ret, size_t size)
{
    CLEANUP(cidrs_fini) struct cidrs all = { 0 };

    count(r);
    cidrs_list(r, &all);
    vec_foreach(&all, i) {
        uint32_t first = all.items[i].first, n = all.items[i].last - first + 1;
        uint32_t low = static_part(n);
        if (find_ip(r, first + low, n - low, hash, ret, size) ||
            find_ip(r, first, low, hash, ret, size))
            return 0;
    }
    return -ENOSPC;
}

bool ranges_port_taken(struct ranges *r, int64_t port)
{
    count(r);
    return port >= RANGES_PORT_FIRST && port <= RANGES_PORT_LAST &&
           r->ports[port - RANGES_PORT_FIRST] > 0;
}

/* ---- accounting ------------------------------------------------------------------------------ */

bool ranges_concern(const struct store_key *k)
{
    return streq(k->res, SERVICES) || streq(k->res, ADDRESSES);
}

static void each_lost_ip(struct ranges *r, const struct kj_val *had)
{
    struct kj_iter it = kj_iter(kj_path(had, "spec.clusterIPs"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (is_address(kj_str_or(v, "")) && !map_getz(&r->ips, kj_str(v)))
            address_remove(r, kj_str(v));
}

static void each_new_ip(struct ranges *r, const struct store_key *k, const struct kj_val *has)
{
    struct kj_iter it = kj_iter(kj_path(has, "spec.clusterIPs"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (is_address(kj_str_or(v, "")) && !address_there(r, kj_str(v)))
            address_make(r, kj_str(v), k->ns, k->name);
}

/* Whoever deletes the IPAddress of a Service finds it made again. */
static void keep_address(struct ranges *r, const char *ip, const struct kj_val *had)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *service = NULL;
    const struct kj_val *ref = kj_path(had, "spec.parentRef");
    struct store_key k = { SERVICES, kj_str_or(kj_get(ref, "namespace"), ""),
                           kj_str_or(kj_get(ref, "name"), "") };

    if (store_get_latest(r->s->store, &k, &text, NULL, NULL) == 0 &&
        kj_parse(text.data, text.len, 0, &service, NULL) == 0 && has_ip(kj_root(service), ip))
        address_make(r, ip, k.ns, k.name);
}

void ranges_account(struct ranges *r, const struct store_key *k, const struct strbuf *before,
                    const char *doc, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *had = NULL, *has = NULL;

    if (before->len && kj_parse(before->data, before->len, 0, &had, NULL) < 0)
        had = NULL;
    if (n && kj_parse(doc, n, 0, &has, NULL) < 0)
        has = NULL;
    if (streq(k->res, ADDRESSES)) {
        if (had && !has)
            keep_address(r, k->name, kj_root(had));
        return;
    }
    if (!r->counted) {
        count(r); /* this write is among what it finds */
    } else {
        hold(r, kj_root(has), 1);
        hold(r, kj_root(had), -1);
    }
    each_lost_ip(r, kj_root(had));
    each_new_ip(r, k, kj_root(has));
}
