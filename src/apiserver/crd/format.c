/* format.c - formats of strings that kube-apiserver checks; it lets unknown ones pass, so do we. */
#include <ctype.h>

#include "apiserver/crd/internal.h"
#include "base/num.h"
#include "cel/re_unicode.h"
#include "cel/strfmt.h"
#include "cel/urls.h"

static bool is_duration(struct str s)
{
    nsec_t t;
    return strfmt_duration(s, &t) == 0;
}

static bool is_uri(struct str s)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    return cel_uri_check(a, s) == NULL;
}

/* ---- addresses ----------------------------------------------------------------------------------- */

static bool is_ipv6(struct str s)
{
    struct cel_addr addr;
    return memchr(s.p, ':', s.n) && cel_addr_parse(s, &addr) == NULL;
}

/* As Go read addresses before 1.17: the numbers of a dotted part may begin with zeros. */
static bool is_sloppy(struct str s, struct cel_addr *ret)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *colon = memrchr(s.p, ':', s.n);
    const char *dotted = memchr(s.p, '.', s.n) ? colon ? colon + 1 : s.p : s.p + s.n;

    for (const char *p = s.p, *end = s.p + s.n; p < end; p++) {
        if (p == dotted || (p > dotted && p[-1] == '.'))
            while (p + 1 < end && *p == '0' && isdigit((unsigned char)p[1]))
                p++;
        strbuf_appendc(&b, *p);
    }
    return cel_addr_parse((struct str){ strbuf_str(&b), b.len }, ret) == NULL;
}

static bool is_ipv4(struct str s)
{
    struct cel_addr addr;
    return memchr(s.p, '.', s.n) && is_sloppy(s, &addr); /* ::ffff:10.0.0.1 too, as upstream */
}

static bool is_cidr(struct str s)
{
    const char *slash = memchr(s.p, '/', s.n);
    struct cel_addr addr;
    uint64_t bits;

    return slash && is_sloppy((struct str){ s.p, (size_t)(slash - s.p) }, &addr) &&
           u64_parse(slash + 1, s.n - (size_t)(slash + 1 - s.p), &bits) == 0 &&
           bits <= (addr.is6 ? 128 : 32);
}

static bool hex_pairs(struct str s, size_t group, char between)
{
    for (size_t i = 0; i < s.n; i++) {
        if (i % (group + 1) == group ? s.p[i] != between : !isxdigit((unsigned char)s.p[i]))
            return false;
    }
    return (s.n + 1) % (group + 1) == 0;
}

/* 6, 8 or 20 bytes: "01:23:45:67:89:ab", "01-23-...", "0123.4567.89ab"; digits alone are an address
 * from Go 1.26 on, which Kubernetes 1.35 is not built with. */
static bool is_mac(struct str s)
{
    bool quads = s.n > 4 && s.p[4] == '.';
    size_t bytes = quads ? (s.n + 1) / 5 * 2 : (s.n + 1) / 3;

    return s.n >= 14 && (bytes == 6 || bytes == 8 || bytes == 20) &&
           (quads ? hex_pairs(s, 4, '.')
                  : (s.p[2] == ':' || s.p[2] == '-') && hex_pairs(s, 2, s.p[2]));
}

/* ---- names --------------------------------------------------------------------------------------- */

/* The category of a code point: "Lu", "Sm", "" for none. */
static const char *category(uint32_t rune)
{
    size_t lo = 0, hi = re_category_n_runs;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (re_category_runs[mid] >> 8 <= rune)
            lo = mid;
        else
            hi = mid;
    }
    return re_category_names[re_category_runs[lo] & 0xff];
}

/* Letters and symbols of all scripts, and digits. A label alone may have one hyphen, as its second
 * sign; of several the last has letters only, two or more. */
static bool is_label(struct str s, bool alone, bool last)
{
    size_t runes = 0;
    unsigned len;

    for (size_t i = 0; i < s.n; i += len, runes++) {
        uint32_t rune = re_rune(s.p + i, s.n - i, &len);
        char of = *category(rune);
        bool hyphen = rune == '-' && (alone ? runes == 1 : runes > 0 && i + 1 < s.n);
        if (of != 'L' && (last || (of != 'S' && !(rune >= '0' && rune <= '9') && !hyphen)))
            return false;
    }
    return s.n <= 63 && runes >= (last ? 2 : 1);
}

static bool is_hostname(struct str s)
{
    size_t begin = 0;

    if (s.n == 0 || s.n > 255)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '.')
            continue;
        if (!is_label((struct str){ s.p + begin, i - begin }, false, false))
            return false;
        begin = i + 1;
    }
    return is_label((struct str){ s.p + begin, s.n - begin }, begin == 0, begin > 0);
}

/* Upstream reads what RFC 5322 allows; here what is nearly an address is one. */
static bool is_email(struct str s)
{
    const char *at = memchr(s.p, '@', s.n);
    return at && at > s.p && at + 1 < s.p + s.n && !memchr(s.p, ' ', s.n);
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* The text without what is of no weight in it: what does not count is not copied. */
static void only(struct str s, bool (*counts)(char c), struct strbuf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        if (counts(s.p[i]))
            strbuf_appendc(out, s.p[i]);
    }
}

static bool no_gap(char c)
{
    return !memchr("\t\n\f\r -", c, 6);
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_isbn10(struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    int sum = 0;

    only(s, no_gap, &b);
    if (!strfmt_whole("[0-9]{9}[0-9X]", (struct str){ strbuf_str(&b), b.len }))
        return false;
    for (int i = 0; i < 10; i++)
        sum += (i + 1) * (b.data[i] == 'X' ? 10 : b.data[i] - '0');
    return sum % 11 == 0;
}

static bool is_isbn13(struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    int sum = 0;

    only(s, no_gap, &b);
    if (!strfmt_whole("[0-9]{13}", (struct str){ strbuf_str(&b), b.len }))
        return false;
    for (int i = 0; i < 13; i++)
        sum += (i % 2 ? 3 : 1) * (b.data[i] - '0');
    return sum % 10 == 0;
}

static bool is_isbn(struct str s)
{
    return is_isbn10(s) || is_isbn13(s);
}

static bool is_card_number(const char *digits, size_t n)
{
    static const struct {
        const char *from, *to; /* first digits */
        size_t n;
    } issuers[] = { { "4", "4", 13 },       { "4", "4", 16 },       { "51", "55", 16 },
                    { "6011", "6011", 16 }, { "65", "65", 16 },     { "34", "34", 15 },
                    { "37", "37", 15 },     { "300", "305", 14 },   { "36", "36", 14 },
                    { "38", "38", 14 },     { "2131", "2131", 15 }, { "1800", "1800", 15 },
                    { "35", "35", 16 } };

    for (size_t i = 0; i < ARRAY_LEN(issuers); i++) {
        size_t k = strlen(issuers[i].from);
        if (n == issuers[i].n && memcmp(digits, issuers[i].from, k) >= 0 &&
            memcmp(digits, issuers[i].to, k) <= 0)
            return true;
    }
    return false;
}

static bool is_credit_card(struct str s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    int sum = 0;

    only(s, is_digit, &b);
    if (!is_card_number(strbuf_str(&b), b.len))
        return false;
    for (size_t i = 0; i < b.len; i++) { /* from the right every second one twice */
        int d = b.data[b.len - 1 - i] - '0';
        sum += i % 2 == 0 ? d : d * 2 % 10 + d / 5;
    }
    return sum % 10 == 0;
}

/* ---- the table ----------------------------------------------------------------------------------- */

#define NAME   "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define COLOUR "\\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\\s*"

static bool is_uuid(struct str s)
{
    return strfmt_is_uuid(s, 0);
}
static bool is_uuid3(struct str s)
{
    return strfmt_is_uuid(s, '3');
}
static bool is_uuid4(struct str s)
{
    return strfmt_is_uuid(s, '4');
}
static bool is_uuid5(struct str s)
{
    return strfmt_is_uuid(s, '5');
}

/* Without hyphens, which do not count in the names of formats. */
static const struct {
    const char *name;
    bool (*matches)(struct str s);
    const char *pattern; /* instead */
    size_t most;         /* bytes; 0: any number */
} formats[] = {
    { .name = "datetime", .matches = strfmt_is_date_time },
    { .name = "date", .matches = strfmt_is_date },
    { .name = "duration", .matches = is_duration },
    { .name = "byte", .matches = strfmt_is_byte },
    { .name = "uri", .matches = is_uri },
    { .name = "ipv4", .matches = is_ipv4 },
    { .name = "ipv6", .matches = is_ipv6 },
    { .name = "cidr", .matches = is_cidr },
    { .name = "mac", .matches = is_mac },
    { .name = "hostname", .matches = is_hostname },
    { .name = "email", .matches = is_email },
    { .name = "isbn", .matches = is_isbn },
    { .name = "isbn10", .matches = is_isbn10 },
    { .name = "isbn13", .matches = is_isbn13 },
    { .name = "creditcard", .matches = is_credit_card },
    { .name = "password" },
    { .name = "uuid", .matches = is_uuid },
    { .name = "uuid3", .matches = is_uuid3 },
    { .name = "uuid4", .matches = is_uuid4 },
    { .name = "uuid5", .matches = is_uuid5 },
    { .name = "bsonobjectid", .pattern = "[0-9a-fA-F]{24}", .most = 24 },
    { .name = "ssn", .pattern = "[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}", .most = 11 },
    { .name = "hexcolor", .pattern = "#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", .most = 7 },
    { .name = "rgbcolor", .pattern = "rgb\\(" COLOUR "," COLOUR "," COLOUR "\\)" },
    { .name = "k8sshortname", .pattern = NAME, .most = 63 },
    { .name = "k8slongname", .pattern = NAME "(\\." NAME ")*", .most = 253 },
};

static int find(const char *format)
{
    char name[16];
    size_t n = 0;

    for (; *format; format++) {
        if (*format == '-')
            continue;
        if (n == sizeof name - 1)
            return -1;
        name[n++] = *format;
    }
    name[n] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (streq(formats[i].name, name))
            return (int)i;
    return -1;
}

bool format_is_known(const char *format)
{
    return find(format) >= 0;
}

bool format_matches(const char *format, const char *text, size_t n)
{
    int i = find(format);
    struct str s = { text, n };

    if (i < 0)
        return true;
    if (formats[i].most && n > formats[i].most)
        return false;
    if (formats[i].matches)
        return formats[i].matches(s);
    return !formats[i].pattern || strfmt_whole(formats[i].pattern, s);
}
