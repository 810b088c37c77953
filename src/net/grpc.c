/* grpc.c - what both sides of gRPC write and read: frames, status texts, time-outs. */
#include "net/grpc.h"

#include <stdio.h>

enum { FRAME_HEAD = 5 };

const char *grpc_code_name(enum grpc_code code)
{
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };

    return (size_t)code < ARRAY_LEN(names) ? names[code] : "UNKNOWN";
}

/* ---- frames ---------------------------------------------------------------------------------- */

void grpc_frame_head(size_t n, char out[FRAME_HEAD])
{
    assert(n <= UINT32_MAX);
    out[0] = 0; /* not compressed */
    for (int i = 1; i < FRAME_HEAD; i++)
        out[i] = (char)(n >> (8 * (FRAME_HEAD - 1 - i)));
}

static size_t frame_size(const char *head)
{
    size_t n = 0;

    for (int i = 1; i < FRAME_HEAD; i++)
        n = n << 8 | (unsigned char)head[i];
    return n;
}

static int frame_check(const struct grpc_reader *r, const char *head, struct kerr *err)
{
    size_t n = frame_size(head);

    if (n > r->max)
        return kerr_set(err, -EMSGSIZE, "a message of %zu bytes; at most %zu are taken", n, r->max);
    if (head[0] != 0)
        return kerr_set(err, -EOPNOTSUPP, "the message is compressed, which nobody asked for");
    return 0;
}

int grpc_reader_feed(struct grpc_reader *r, const char *p, size_t n, grpc_message_fn fn, void *arg,
                     struct kerr *err)
{
    size_t at = 0;
    int code = 0;

    strbuf_appendn(&r->buf, p, n);
    while (r->buf.len - at >= FRAME_HEAD) {
        const char *head = r->buf.data + at;
        size_t len = frame_size(head);

        code = frame_check(r, head, err);
        if (code < 0 || r->buf.len - at - FRAME_HEAD < len)
            break;
        at += FRAME_HEAD + len;
        if (!fn(arg, (struct str){ head + FRAME_HEAD, len }))
            return 0; /* the reader may be gone */
    }
    strbuf_consume(&r->buf, at);
    return code;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '%';
}

void grpc_text_encode(struct str text, struct strbuf *out)
{
    for (size_t i = 0; i < MIN(text.n, (size_t)GRPC_TEXT_MAX); i++) {
        if (is_plain(text.p[i]))
            strbuf_appendc(out, text.p[i]);
        else
            strbuf_appendf(out, "%%%02X", (unsigned char)text.p[i]);
    }
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* What is no escape stays as it is: a text that is a little wrong is better than none. */
void grpc_text_decode(struct str text, struct strbuf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        int hi = -1, lo = -1;

        if (text.p[i] == '%' && i + 2 < text.n) {
            hi = hex_of(text.p[i + 1]);
            lo = hex_of(text.p[i + 2]);
        }
        if (hi >= 0 && lo >= 0)
            i += 2;
        strbuf_appendc(out, hi >= 0 && lo >= 0 ? (char)(hi << 4 | lo) : text.p[i]);
    }
}

/* ---- time-outs ------------------------------------------------------------------------------- */

static const struct {
    char name;
    nsec_t unit;
} units[] = {
    { 'n', 1 },
    { 'u', NSEC_PER_USEC },
    { 'm', NSEC_PER_MSEC },
    { 'S', NSEC_PER_SEC },
    { 'M', 60 * NSEC_PER_SEC },
    { 'H', 3600 * NSEC_PER_SEC },
};
enum { TIMEOUT_DIGITS_MAX = 99999999 };

/* Rounded up: a call is not to end before its caller gives up. */
static nsec_t in_units(nsec_t t, nsec_t unit)
{
    return t / unit + (t % unit > 0);
}

/* In the finest unit whose number fits. */
void grpc_timeout_format(nsec_t t, char out[16])
{
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(units) && in_units(t, units[i].unit) > TIMEOUT_DIGITS_MAX)
        i++;
    nsec_t n = MIN(in_units(t, units[i].unit), (nsec_t)TIMEOUT_DIGITS_MAX);
    snprintf(out, 16, "%d%c", (int)MAX(n, (nsec_t)0), units[i].name);
}

nsec_t grpc_timeout_parse(struct str text)
{
    nsec_t n = 0;

    if (text.n < 2 || text.n > 9)
        return 0;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 0;
        n = n * 10 + (text.p[i] - '0');
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (units[i].name == text.p[text.n - 1])
            return n > NSEC_MAX / units[i].unit ? NSEC_MAX : n * units[i].unit;
    return 0;
}
