/* b64.c - base64. */
#include "base/b64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int b64_decode(const char *s, size_t n, struct strbuf *out)
{
    uint32_t group = 0;
    size_t digits = 0, pads = 0;

    (void)strbuf_reserve(out, n / 4 * 3 + 3);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n' || s[i] == '\r')
            continue;
        int d = digit(s[i]);
        if (s[i] == '=' && digits % 4 >= 2 && digits % 4 + pads < 4) {
            pads++;
            continue;
        }
        if (d < 0 || pads > 0)
            return -EINVAL;
        group = group << 6 | (uint32_t)d;
        if (++digits % 4 == 0) {
            char b[3] = { (char)(group >> 16), (char)(group >> 8), (char)group };
            strbuf_appendn(out, b, 3);
        }
    }
    size_t rest = digits % 4;
    if ((rest == 0) != (pads == 0) || (rest && rest + pads != 4))
        return -EINVAL;
    if (rest == 3)
        strbuf_appendn(out, (char[]){ (char)(group >> 10), (char)(group >> 2) }, 2);
    else if (rest == 2)
        strbuf_appendc(out, (char)(group >> 4));
    return 0;
}

void b64_encode(const void *p, size_t n, struct strbuf *out)
{
    const unsigned char *s = p;
    size_t quads = n / 3 + (n % 3 != 0);
    char *q = strbuf_reserve(out, quads * 4);

    for (size_t i = 0; i < n; i += 3, q += 4) {
        size_t left = n - i;
        uint32_t g = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
                     (left > 2 ? s[i + 2] : 0);
        q[0] = alphabet[g >> 18];
        q[1] = alphabet[g >> 12 & 63];
        q[2] = left > 1 ? alphabet[g >> 6 & 63] : '=';
        q[3] = left > 2 ? alphabet[g & 63] : '=';
    }
    out->len += quads * 4;
    out->data[out->len] = '\0';
}
