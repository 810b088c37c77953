/* format.c - formats of strings that kube-apiserver checks; it lets unknown ones pass, so do we. */
#include <arpa/inet.h>
#include <ctype.h>

#include "api/names.h"
#include "apiserver/crd/internal.h"
#include "base/b64.h"
#include "base/ktime.h"
#include "base/num.h"

static bool is_date_time(const char *s, size_t n)
{
    nsec_t t;
    int e = ktime_parse(s, n, &t, NULL);
    return e == 0 || e == -ERANGE;
}

static bool is_date(const char *s, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    if (n != 10)
        return false;
    strbuf_appendn(&b, s, n);
    strbuf_append(&b, "T00:00:00Z");
    return is_date_time(b.data, b.len);
}

static bool is_duration(const char *s, size_t n)
{
    nsec_t t;
    return kdur_parse(s, n, &t, NULL) == 0;
}

static bool is_uuid(const char *s, size_t n)
{
    size_t digits = 0;
    for (size_t i = 0; i < n; i++) {
        if (isxdigit((unsigned char)s[i]))
            digits++;
        else if (s[i] != '-' || (digits != 8 && digits != 12 && digits != 16 && digits != 20))
            return false;
    }
    return digits == 32 && n <= 36;
}

static bool is_byte(const char *s, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    return n > 0 && b64_decode(s, n, &b) == 0; /* nothing is no base64 there */
}

static bool is_address(int family, const char *s)
{
    unsigned char buf[16];
    return inet_pton(family, s, buf) == 1;
}
static bool is_ipv4(const char *s, size_t n)
{
    (void)n;
    return is_address(AF_INET, s);
}
static bool is_ipv6(const char *s, size_t n)
{
    (void)n;
    return is_address(AF_INET6, s);
}

static bool is_cidr(const char *s, size_t n)
{
    const char *slash = memchr(s, '/', n);
    int64_t bits;
    if (!slash || i64_parse(slash + 1, n - (size_t)(slash + 1 - s), &bits) < 0 || bits < 0)
        return false;
    CLEANUP(mem_free) char *addr = xstrndup(s, (size_t)(slash - s));
    return (is_address(AF_INET, addr) && bits <= 32) || (is_address(AF_INET6, addr) && bits <= 128);
}

static bool is_hostname(const char *s, size_t n)
{
    CLEANUP(mem_free) char *lower = xstrndup(s, n);
    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return name_check_dns_subdomain(str_of(lower)) == NULL;
}

static bool is_email(const char *s, size_t n)
{
    const char *at = memchr(s, '@', n);
    return at && at > s && at + 1 < s + n && !memchr(s, ' ', n);
}

static bool is_uri(const char *s, size_t n)
{
    size_t scheme = 0;
    while (scheme < n && (isalnum((unsigned char)s[scheme]) || strchr("+-.", s[scheme])))
        scheme++;
    return n > 0 && (s[0] == '/' || (scheme > 0 && scheme < n && s[scheme] == ':'));
}

static const struct {
    const char *name;
    bool (*matches)(const char *s, size_t n);
} formats[] = {
    { "date-time", is_date_time }, { "datetime", is_date_time }, { "date", is_date },
    { "duration", is_duration },   { "uuid", is_uuid },          { "byte", is_byte },
    { "ipv4", is_ipv4 },           { "ipv6", is_ipv6 },          { "cidr", is_cidr },
    { "hostname", is_hostname },   { "email", is_email },        { "uri", is_uri },
};

static int find(const char *format)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (streq(formats[i].name, format))
            return (int)i;
    return -1;
}

bool format_is_known(const char *format)
{
    return find(format) >= 0;
}

bool format_matches(const char *format, const char *s, size_t n)
{
    int i = find(format);
    return i < 0 || formats[i].matches(s, n);
}
