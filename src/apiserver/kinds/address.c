/* address.c - addresses of endpoints as kube-apiserver reads them, which is more than inet_pton()
 * takes: an octet may begin with zeros, and IPv4 written as IPv6 counts as IPv4.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"

struct address {
    struct in6_addr six;
    uint32_t four; /* with is_four */
    bool is_four, mapped, zeros;
};

/* Four decimal octets, and whether one begins with a zero that says nothing. */
static bool parse_octets(const char *s, uint32_t *ret, bool *zeros)
{
    uint32_t sum = 0;

    for (int i = 0; i < 4; i++) {
        size_t digits = strspn(s, "0123456789");
        uint32_t octet = 0;
        if (!digits)
            return false;
        *zeros |= digits > 1 && *s == '0';
        for (size_t k = 0; k < digits; k++) {
            octet = octet * 10 + (uint32_t)(s[k] - '0');
            if (octet > UINT8_MAX)
                return false;
        }
        sum = sum << 8 | octet;
        s += digits;
        if (*s++ != (i < 3 ? '.' : '\0'))
            return false;
    }
    *ret = sum;
    return true;
}

static void see_mapped(struct address *a)
{
    a->is_four = a->mapped = IN6_IS_ADDR_V4MAPPED(&a->six);
    memcpy(&a->four, a->six.s6_addr + 12, sizeof a->four);
    a->four = ntohl(a->four);
}

static bool address_parse(const char *s, struct address *ret)
{
    char text[INET6_ADDRSTRLEN + sizeof "255.255.255.255"];
    const char *colon = strrchr(s, ':'), *tail = colon ? colon + 1 : s;

    *ret = (struct address){ 0 };
    if (!colon)
        return ret->is_four = parse_octets(s, &ret->four, &ret->zeros);
    if (strchr(tail, '.')) {
        struct in_addr in;
        if (tail - s >= INET6_ADDRSTRLEN || !parse_octets(tail, &in.s_addr, &ret->zeros))
            return false;
        in.s_addr = htonl(in.s_addr);
        memcpy(text, s, (size_t)(tail - s));
        (void)inet_ntop(AF_INET, &in, text + (tail - s), sizeof "255.255.255.255");
        s = text;
    }
    if (inet_pton(AF_INET6, s, &ret->six) != 1)
        return false;
    see_mapped(ret);
    return true;
}

/* As Go prints it: no dots in IPv6. */
static const char *address_text(struct arena *arena, const struct address *a)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr in = { htonl(a->four) };
    const uint8_t *b = a->six.s6_addr;

    if (a->is_four)
        (void)inet_ntop(AF_INET, &in, text, sizeof text);
    else if (IN6_IS_ADDR_V4COMPAT(&a->six) && (b[12] || b[13])) /* "::5" has no dots */
        (void)snprintf(text, sizeof text, "::%x:%x", b[12] << 8 | b[13], b[14] << 8 | b[15]);
    else
        (void)inet_ntop(AF_INET6, &a->six, text, sizeof text);
    return arena_strdup(arena, text);
}

int address_family(const char *s)
{
    struct address a;
    return !address_parse(s, &a) ? 0 : a.is_four ? 4 : 6;
}

bool check_ip_loosely(struct check *c, const char *path, const char *s)
{
    if (address_family(s))
        return true;
    err_invalid(c, path, s, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    return false;
}

bool check_ip_strictly(struct check *c, const char *path, const char *s)
{
    struct address a;

    if (!check_ip_loosely(c, path, s))
        return false;
    (void)address_parse(s, &a);
    const char *canonical = address_text(c->a, &a);
    if (a.zeros)
        err_invalid(c, path, s, "must not have leading 0s");
    else if (a.mapped)
        err_invalid(c, path, s, "must not be an IPv4-mapped IPv6 address");
    else if (!streq(s, canonical))
        field_error_text(c->errors, FIELD_INVALID, path, s, "must be in canonical form (%s)",
                         quoted(c, canonical));
    else
        return true;
    return false;
}

void check_endpoint_ip(struct check *c, const char *path, const char *s)
{
    struct address a;

    if (!address_parse(s, &a)) {
        err_invalid(c, path, s, "must be a valid IP address");
        return;
    }
    if (a.is_four ? a.four == 0 : IN6_IS_ADDR_UNSPECIFIED(&a.six))
        err_invalid(c, path, s, at(c, "may not be unspecified (%s)", s));
    if (a.is_four ? a.four >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&a.six))
        err_invalid(c, path, s, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (a.is_four ? a.four >> 16 == 0xa9fe : IN6_IS_ADDR_LINKLOCAL(&a.six))
        err_invalid(c, path, s, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (a.is_four ? a.four >> 8 == 0xe00000 : IN6_IS_ADDR_MC_LINKLOCAL(&a.six))
        err_invalid(c, path, s,
                    "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

/* ---- ranges ---------------------------------------------------------------------------------- */

enum { BITS_V4 = 32, BITS_V6 = 128, BITS_MAPPED = 96 };

struct range {
    struct address ip;
    int bits, total; /* of the prefix; of an address as it is written */
    bool zeros;      /* the prefix begins with a zero that says nothing */
};

static bool range_parse(const char *s, struct range *ret)
{
    const char *slash = strchr(s, '/'), *prefix = slash ? slash + 1 : "";
    size_t n = slash ? (size_t)(slash - s) : 0, digits = strspn(prefix, "0123456789");
    char ip[2 * INET6_ADDRSTRLEN];

    if (!slash || n >= sizeof ip || !digits || prefix[digits])
        return false;
    memcpy(ip, s, n);
    ip[n] = '\0';
    *ret = (struct range){ .total = strchr(ip, ':') ? BITS_V6 : BITS_V4,
                           .zeros = digits > 1 && *prefix == '0' };
    long bits = strtol(prefix, NULL, 10);
    if (bits > ret->total || !address_parse(ip, &ret->ip))
        return false;
    ret->bits = (int)bits;
    return true;
}

/* Its first address: nothing is left behind the prefix. */
static struct address range_first(const struct range *r)
{
    struct address a = r->ip;

    if (r->total == BITS_V4) {
        a.four = r->bits ? a.four & UINT32_MAX << (BITS_V4 - r->bits) : 0;
        return a;
    }
    for (int i = r->bits; i < BITS_V6; i++)
        a.six.s6_addr[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
    see_mapped(&a);
    return a;
}

static bool cidr_parse(const char *s, struct cidr *ret)
{
    struct range r;

    if (!range_parse(s, &r))
        return false;
    struct address a = r.ip;
    bool mapped = a.mapped && r.bits >= BITS_MAPPED;
    *ret = (struct cidr){ .bits = mapped ? r.bits - BITS_MAPPED : r.bits,
                          .total = mapped ? BITS_V4 : r.total };
    uint32_t four = htonl(a.four);
    if (ret->total == BITS_V4)
        memcpy(ret->bytes, &four, sizeof four);
    else
        memcpy(ret->bytes, a.six.s6_addr, sizeof a.six.s6_addr);
    return true;
}

bool check_parsed_cidr(struct check *c, const char *path, const char *s, struct cidr *ret)
{
    if (cidr_parse(s, ret))
        return true;
    err_invalid(c, path, s, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    return false;
}

void check_cidr(struct check *c, const char *path, const char *s)
{
    struct cidr parsed;
    check_parsed_cidr(c, path, s, &parsed);
}

/* ---- warnings -------------------------------------------------------------------------------- */

void warn_of_ip(struct api_call *call, const char *s, const char *fmt, ...)
{
    struct address a;
    va_list ap;

    if (!address_parse(s, &a))
        return;
    const char *canonical = address_text(call->arena, &a);
    bool odd = a.zeros || a.mapped;
    if (!odd && (a.is_four || streq(s, canonical)))
        return;
    va_start(ap, fmt);
    const char *path = warn_path(call, fmt, ap);
    va_end(ap);
    if (odd)
        api_warn(call,
                 "%s: non-standard IP address %s will be considered invalid in a future Kubernetes "
                 "release: use \"%s\"",
                 path, text_quoted(call->arena, s), canonical);
    else
        api_warn(call, "%s: IPv6 address %s should be in RFC 5952 canonical format (\"%s\")", path,
                 text_quoted(call->arena, s), canonical);
}

/* Which of its two halves was meant: the network, or the one address? */
static void warn_of_ambiguity(struct api_call *call, const char *path, const char *s,
                              const struct range *r, const char *network)
{
    api_warn(
        call, "%s: CIDR value %s is ambiguous in this context (should be \"%s\" or \"%s/%d\"?)",
        path, text_quoted(call->arena, s), network, address_text(call->arena, &r->ip), r->total);
}

void warn_of_cidr(struct api_call *call, const char *s, const char *fmt, ...)
{
    struct range r;
    va_list ap;

    if (!range_parse(s, &r))
        return;
    struct address first = range_first(&r);
    bool odd = r.zeros || r.ip.zeros || r.ip.mapped;
    bool ambiguous =
        r.total == BITS_V4 ? first.four != r.ip.four : !IN6_ARE_ADDR_EQUAL(&first.six, &r.ip.six);
    int bits = r.total == BITS_V6 && first.is_four ? r.bits - BITS_MAPPED : r.bits;
    const char *network =
        arena_printf(call->arena, "%s/%d", address_text(call->arena, &first), bits);
    if (!odd && !ambiguous && (r.total == BITS_V4 || streq(s, network)))
        return;
    va_start(ap, fmt);
    const char *path = warn_path(call, fmt, ap);
    va_end(ap);
    if (ambiguous)
        warn_of_ambiguity(call, path, s, &r, network);
    if (odd)
        api_warn(call,
                 "%s: non-standard CIDR value %s will be considered invalid in a future Kubernetes "
                 "release: use \"%s\"",
                 path, text_quoted(call->arena, s), network);
    if (!ambiguous && !odd)
        api_warn(call, "%s: IPv6 CIDR value %s should be in RFC 5952 canonical format (\"%s\")",
                 path, text_quoted(call->arena, s), network);
}
