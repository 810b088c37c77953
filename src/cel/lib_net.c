/* lib_net.c - IP addresses and prefixes, as Go's net/netip reads and writes them. */
#include <stdio.h>

#include "cel/urls.h"

/* "1.2.3.4" into four bytes. NULL, or what is wrong in Go's words. */
static const char *parse4(struct str s, uint8_t out[4])
{
    int field = 0, value = 0, digits = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c >= '0' && c <= '9') {
            if (digits == 1 && value == 0)
                return "IPv4 field has octet with leading zero";
            value = value * 10 + (c - '0');
            digits++;
            if (value > 255)
                return "IPv4 field has value >255";
        } else if (c == '.') {
            if (digits == 0)
                return "IPv4 field must have at least one digit";
            if (field == 3)
                return "IPv4 address too long";
            out[field++] = (uint8_t)value;
            value = digits = 0;
        } else {
            return "unexpected character";
        }
    }
    if (field < 3)
        return "IPv4 address too short";
    if (digits == 0)
        return "IPv4 field must have at least one digit";
    out[3] = (uint8_t)value;
    return NULL;
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static const char *parse6(struct str s, uint8_t out[16])
{
    int n = 0, gap = -1;
    size_t i = 0;

    memset(out, 0, 16);
    if (s.n >= 2 && s.p[0] == ':' && s.p[1] == ':') {
        gap = 0;
        i = 2;
        if (i == s.n)
            return NULL;
    }
    while (n < 16) {
        size_t begin = i;
        uint32_t group = 0;
        for (; i < s.n && hex_of(s.p[i]) >= 0; i++) {
            group = group * 16 + (uint32_t)hex_of(s.p[i]);
            if (i - begin > 3)
                return "each group must have 4 or less digits";
        }
        if (i == begin)
            return "each colon-separated field must have at least one digit";
        if (i < s.n && s.p[i] == '.') {
            if ((gap < 0 && n != 12) || n + 4 > 16)
                return "embedded IPv4 address must replace the final 2 fields of the address";
            const char *why = parse4((struct str){ s.p + begin, s.n - begin }, out + n);
            if (why)
                return why;
            n += 4;
            i = s.n;
            break;
        }
        out[n++] = (uint8_t)(group >> 8);
        out[n++] = (uint8_t)group;
        if (i == s.n)
            break;
        if (s.p[i] != ':')
            return "unexpected character, want colon";
        if (++i == s.n)
            return "colon must be followed by more characters";
        if (s.p[i] == ':') {
            if (gap >= 0)
                return "multiple :: in address";
            gap = n;
            if (++i == s.n)
                break;
        }
    }
    if (i < s.n)
        return "trailing garbage after address";
    if (n < 16) {
        if (gap < 0)
            return "address string too short";
        memmove(out + gap + (16 - n), out + gap, (size_t)(n - gap));
        memset(out + gap, 0, (size_t)(16 - n));
    } else if (gap >= 0) {
        return "the :: must expand to at least one field of zeros";
    }
    return NULL;
}

const char *cel_addr_parse(struct str s, struct cel_addr *out)
{
    *out = (struct cel_addr){ 0 };
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.')
            return parse4(s, out->bytes);
        if (s.p[i] == ':') {
            out->is6 = 1;
            return parse6(s, out->bytes);
        }
    }
    return "unable to parse IP";
}

static bool is_mapped(const struct cel_addr *a)
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
    return a->is6 && memcmp(a->bytes, prefix, 12) == 0;
}

void cel_addr_print(const struct cel_addr *a, bool prefix, struct strbuf *out)
{
    const uint8_t *b = a->bytes;
    int best = -1, best_n = 1;

    if (!a->is6) {
        strbuf_appendf(out, "%d.%d.%d.%d", b[0], b[1], b[2], b[3]);
    } else {
        for (int i = 0; i < 8; i++) {
            int n = 0;
            while (i + n < 8 && !b[(i + n) * 2] && !b[(i + n) * 2 + 1])
                n++;
            if (n > best_n) {
                best = i;
                best_n = n;
            }
        }
        for (int i = 0; i < 8; i++) {
            if (i == best) {
                strbuf_append(out, "::");
                i += best_n - 1;
                continue;
            }
            strbuf_append(out, i && i != best + best_n ? ":" : "");
            strbuf_appendf(out, "%x", b[i * 2] << 8 | b[i * 2 + 1]);
        }
    }
    if (prefix)
        strbuf_appendf(out, "/%d", a->bits);
}

/* ---- ip ------------------------------------------------------------------------------------------ */

static struct cel_val make(struct cel_run *r, enum cel_kind kind, struct cel_addr a)
{
    struct cel_addr *keep = arena_new0(r->a, struct cel_addr);
    *keep = a;
    return (struct cel_val){ .kind = (uint8_t)kind, .addr = keep };
}

static struct cel_val parse_ip(struct cel_run *r, struct cel_val text)
{
    struct str s = cel_str(text);
    struct cel_addr a;
    const char *zone = memchr(s.p, '%', s.n);
    const char *why = cel_addr_parse(zone ? (struct str){ s.p, (size_t)(zone - s.p) } : s, &a);

    if (why)
        return cel_v_error(r->a,
                           "IP Address %s parse error during conversion from string: "
                           "ParseAddr(%s): %s",
                           cel_quoted(r->a, s), cel_quoted(r->a, s), why);
    if (zone)
        return cel_v_error(r->a, "IP address %s with zone value is not allowed",
                           cel_quoted(r->a, s));
    if (is_mapped(&a))
        return cel_v_error(r->a, "IPv4-mapped IPv6 address %s is not allowed", cel_quoted(r->a, s));
    return make(r, CK_IP, a);
}

static struct cel_val ip(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind == CK_CIDR) {
        struct cel_addr a = *v[0].addr;
        a.bits = 0;
        return make(r, CK_IP, a);
    }
    return v[0].kind == CK_STRING ? parse_ip(r, v[0]) : cel_misfit();
}

static struct cel_val is_ip(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return v[0].kind == CK_STRING ? cel_v_bool(!cel_is_err(parse_ip(r, v[0]))) : cel_misfit();
}

static struct cel_val is_canonical(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)n;
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    struct cel_val a = parse_ip(r, v[0]);
    if (cel_is_err(a))
        return a;
    cel_addr_print(a.addr, false, &b);
    return cel_v_bool(str_eq(cel_str(v[0]), (struct str){ b.data, b.len }));
}

enum trait { FAMILY, UNSPECIFIED, LOOPBACK, LINK_MULTICAST, LINK_UNICAST, GLOBAL_UNICAST };

static bool all_zero(const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (b[i])
            return false;
    }
    return true;
}

static bool holds(const struct cel_addr *a, enum trait t)
{
    const uint8_t *b = a->bytes;

    switch (t) {
    case UNSPECIFIED: return all_zero(b, a->is6 ? 16 : 4);
    case LOOPBACK: return a->is6 ? all_zero(b, 15) && b[15] == 1 : b[0] == 127;
    case LINK_MULTICAST:
        return a->is6 ? b[0] == 0xff && (b[1] & 0x0f) == 2 : b[0] == 224 && !b[1] && !b[2];
    case LINK_UNICAST:
        return a->is6 ? b[0] == 0xfe && (b[1] & 0xc0) == 0x80 : b[0] == 169 && b[1] == 254;
    default: break;
    }
    bool multicast = a->is6 ? b[0] == 0xff : (b[0] & 0xf0) == 0xe0;
    bool broadcast = !a->is6 && b[0] == 255 && b[1] == 255 && b[2] == 255 && b[3] == 255;
    return !multicast && !broadcast && !holds(a, UNSPECIFIED) && !holds(a, LOOPBACK) &&
           !holds(a, LINK_UNICAST);
}

static struct cel_val trait(const struct cel_val *v, enum trait t)
{
    if (v[0].kind != CK_IP)
        return cel_misfit();
    return t == FAMILY ? cel_v_int(v[0].addr->is6 ? 6 : 4) : cel_v_bool(holds(v[0].addr, t));
}

#define TRAIT(name, t)                                                                 \
    static struct cel_val name(struct cel_run *r, const struct cel_val *v, unsigned n) \
    {                                                                                  \
        (void)r, (void)n;                                                              \
        return trait(v, t);                                                            \
    }
TRAIT(family, FAMILY)
TRAIT(is_unspecified, UNSPECIFIED)
TRAIT(is_loopback, LOOPBACK)
TRAIT(is_link_multicast, LINK_MULTICAST)
TRAIT(is_link_unicast, LINK_UNICAST)
TRAIT(is_global_unicast, GLOBAL_UNICAST)

/* ---- cidr ---------------------------------------------------------------------------------------- */

static struct cel_val no_cidr(struct cel_run *r, struct str s, const char *why)
{
    return cel_v_error(r->a,
                       "network address parse error during conversion from string: network address "
                       "parse error during conversion from string: netip.ParsePrefix(%s): %s",
                       cel_quoted(r->a, s), why);
}

static struct cel_val parse_cidr(struct cel_run *r, struct cel_val text)
{
    struct str s = cel_str(text);
    struct cel_addr a;
    const char *slash = memrchr(s.p, '/', s.n);
    int bits = 0;

    if (!slash)
        return no_cidr(r, s, "no '/'");
    struct str host = { s.p, (size_t)(slash - s.p) },
               len = { slash + 1, s.n - (size_t)(slash + 1 - s.p) };
    const char *zone = memchr(host.p, '%', host.n);
    if (zone)
        host.n = (size_t)(zone - host.p);
    const char *why = cel_addr_parse(host, &a);
    if (why)
        return no_cidr(r, s, arena_printf(r->a, "ParseAddr(%s): %s", cel_quoted(r->a, host), why));
    if (zone)
        return no_cidr(r, s, "IPv6 zones cannot be present in a prefix");
    bool ok = len.n > 0 && len.n <= 3 && (len.n == 1 || len.p[0] != '0');
    for (size_t i = 0; i < len.n && ok; i++) {
        ok = len.p[i] >= '0' && len.p[i] <= '9';
        bits = bits * 10 + (len.p[i] - '0');
    }
    if (!ok)
        return no_cidr(r, s, arena_printf(r->a, "bad bits after slash: %s", cel_quoted(r->a, len)));
    if (bits > (a.is6 ? 128 : 32))
        return no_cidr(r, s, "prefix length out of range");
    if (is_mapped(&a))
        return cel_v_error(r->a, "IPv4-mapped IPv6 address %s is not allowed", cel_quoted(r->a, s));
    a.bits = (uint8_t)bits;
    return make(r, CK_CIDR, a);
}

static struct cel_addr masked_addr(const struct cel_addr *a)
{
    struct cel_addr m = *a;

    for (int i = 0; i < 16; i++) {
        int left = (int)a->bits - i * 8;
        m.bytes[i] &= left >= 8 ? 0xff : left <= 0 ? 0 : (uint8_t)(0xff << (8 - left));
    }
    return m;
}

static bool in_prefix(const struct cel_addr *net, const struct cel_addr *a)
{
    struct cel_addr x = masked_addr(net), y = *a;

    y.bits = net->bits;
    y = masked_addr(&y);
    return net->is6 == a->is6 && memcmp(x.bytes, y.bytes, 16) == 0;
}

static struct cel_val cidr(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return v[0].kind == CK_STRING ? parse_cidr(r, v[0]) : cel_misfit();
}

static struct cel_val is_cidr(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return v[0].kind == CK_STRING ? cel_v_bool(!cel_is_err(parse_cidr(r, v[0]))) : cel_misfit();
}

static struct cel_val contains_ip(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val a = v[1].kind == CK_STRING ? parse_ip(r, v[1]) : v[1];

    (void)n;
    if (v[0].kind == CK_CIDR && cel_is_err(a)) /* upstream loses why the text is no address */
        return cel_v_no_overload();
    return v[0].kind == CK_CIDR && a.kind == CK_IP ? cel_v_bool(in_prefix(v[0].addr, a.addr))
                                                   : cel_misfit();
}

static struct cel_val contains_cidr(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val a = v[1].kind == CK_STRING ? parse_cidr(r, v[1]) : v[1];

    (void)n;
    if (v[0].kind != CK_CIDR || (a.kind != CK_CIDR && !cel_is_err(a)))
        return cel_misfit();
    return cel_is_err(a)
               ? a
               : cel_v_bool(a.addr->bits >= v[0].addr->bits && in_prefix(v[0].addr, a.addr));
}

static struct cel_val masked(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return v[0].kind == CK_CIDR ? make(r, CK_CIDR, masked_addr(v[0].addr)) : cel_misfit();
}

static struct cel_val prefix_length(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return v[0].kind == CK_CIDR ? cel_v_int(v[0].addr->bits) : cel_misfit();
}

#define S &cel_string
#define B &cel_bool
static const struct cel_overload o_ip[] = {
    CEL_GLOBAL(&cel_ip, S),
    CEL_MEMBER(&cel_ip, &cel_cidr),
};
static const struct cel_overload o_test[] = { CEL_GLOBAL(B, S) };
static const struct cel_overload o_family[] = { CEL_MEMBER(&cel_int, &cel_ip) };
static const struct cel_overload o_trait[] = { CEL_MEMBER(B, &cel_ip) };
static const struct cel_overload o_cidr[] = { CEL_GLOBAL(&cel_cidr, S) };
static const struct cel_overload o_contains_ip[] = {
    CEL_MEMBER(B, &cel_cidr, S),
    CEL_MEMBER(B, &cel_cidr, &cel_ip),
};
static const struct cel_overload o_contains_cidr[] = {
    CEL_MEMBER(B, &cel_cidr, S),
    CEL_MEMBER(B, &cel_cidr, &cel_cidr),
};
static const struct cel_overload o_masked[] = { CEL_MEMBER(&cel_cidr, &cel_cidr) };
static const struct cel_overload o_length[] = { CEL_MEMBER(&cel_int, &cel_cidr) };
static const struct cel_function functions[] = {
    CEL_FN("ip", ip, o_ip, .cost = CC_IP),
    CEL_FN("isIP", is_ip, o_test, .cost = CC_TENTH),
    CEL_FN("ip.isCanonical", is_canonical, o_test, .cost = CC_FIFTH),
    CEL_FN("family", family, o_family),
    CEL_FN("isUnspecified", is_unspecified, o_trait),
    CEL_FN("isLoopback", is_loopback, o_trait),
    CEL_FN("isLinkLocalMulticast", is_link_multicast, o_trait),
    CEL_FN("isLinkLocalUnicast", is_link_unicast, o_trait),
    CEL_FN("isGlobalUnicast", is_global_unicast, o_trait),
    CEL_FN("cidr", cidr, o_cidr, .cost = CC_TENTH),
    CEL_FN("isCIDR", is_cidr, o_test, .cost = CC_TENTH),
    CEL_FN("containsIP", contains_ip, o_contains_ip, .cost = CC_CONTAINS_IP),
    CEL_FN("containsCIDR", contains_cidr, o_contains_cidr, .cost = CC_CONTAINS_CIDR),
    CEL_FN("masked", masked, o_masked),
    CEL_FN("prefixLength", prefix_length, o_length),
};
const struct cel_library cel_lib_net = { functions, ARRAY_LEN(functions) };
