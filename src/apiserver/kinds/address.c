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
    if (IN6_IS_ADDR_V4MAPPED(&ret->six)) {
        memcpy(&ret->four, ret->six.s6_addr + 12, sizeof ret->four);
        ret->four = ntohl(ret->four);
        ret->is_four = ret->mapped = true;
    }
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
