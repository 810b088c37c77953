/* wire.c - keys, varints, lengths. */
#include "base/wire.h"

enum { VARINT_MAX = 10 };

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_varint(struct str *rest, uint64_t *ret)
{
    uint64_t v = 0;

    for (size_t i = 0; i < MIN(rest->n, (size_t)VARINT_MAX); i++) {
        uint64_t b = (unsigned char)rest->p[i];

        if (i == VARINT_MAX - 1 && b > 1) /* more than 64 bits */
            return false;
        v |= (b & 0x7f) << (7 * i);
        if (b < 0x80) {
            *rest = (struct str){ rest->p + i + 1, rest->n - i - 1 };
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool read_fixed(struct str *rest, size_t n, uint64_t *ret)
{
    uint64_t v = 0;

    if (rest->n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)(unsigned char)rest->p[i] << (8 * i);
    *rest = (struct str){ rest->p + n, rest->n - n };
    *ret = v;
    return true;
}

static bool read_bytes(struct str *rest, struct str *ret)
{
    uint64_t n;

    if (!read_varint(rest, &n) || n > rest->n)
        return false;
    *ret = (struct str){ rest->p, n };
    *rest = (struct str){ rest->p + n, rest->n - n };
    return true;
}

static bool read_value(struct str *rest, struct wire_field *f)
{
    switch (f->type) {
    case WIRE_VARINT: return read_varint(rest, &f->value);
    case WIRE_FIXED64: return read_fixed(rest, 8, &f->value);
    case WIRE_BYTES: return read_bytes(rest, &f->bytes);
    case WIRE_FIXED32: return read_fixed(rest, 4, &f->value);
    default: return false;
    }
}

int wire_next(struct str *rest, struct wire_field *ret)
{
    struct str at = *rest;
    uint64_t key;

    if (at.n == 0)
        return 0;
    if (!read_varint(&at, &key) || key >> 3 == 0 || key >> 3 > WIRE_NUM_MAX)
        return -EBADMSG;
    struct wire_field f = { .num = (uint32_t)(key >> 3), .type = (enum wire_type)(key & 7) };
    if (!read_value(&at, &f))
        return -EBADMSG;
    f.raw = (struct str){ rest->p, (size_t)(at.p - rest->p) };
    *rest = at;
    *ret = f;
    return 1;
}

bool wire_valid(struct str message)
{
    struct wire_field f;
    int r;

    while ((r = wire_next(&message, &f)) > 0)
        ;
    return r == 0;
}

int wire_next_packed(struct str *rest, uint64_t *ret)
{
    if (rest->n == 0)
        return 0;
    return read_varint(rest, ret) ? 1 : -EBADMSG;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_varint(struct strbuf *out, uint64_t v)
{
    char bytes[VARINT_MAX];
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (char)(v | 0x80);
    bytes[n++] = (char)v;
    strbuf_appendn(out, bytes, n);
}

static void put_key(struct strbuf *out, uint32_t num, enum wire_type type)
{
    assert(num > 0 && num <= WIRE_NUM_MAX);
    put_varint(out, (uint64_t)num << 3 | type);
}

void wire_put_varint(struct strbuf *out, uint32_t num, uint64_t v)
{
    put_key(out, num, WIRE_VARINT);
    put_varint(out, v);
}

void wire_put_fixed64(struct strbuf *out, uint32_t num, uint64_t v)
{
    put_key(out, num, WIRE_FIXED64);
    for (unsigned i = 0; i < 8; i++)
        strbuf_appendc(out, (char)(v >> 8 * i));
}

void wire_put_length(struct strbuf *out, uint32_t num, size_t n)
{
    put_key(out, num, WIRE_BYTES);
    put_varint(out, n);
}

void wire_put_bytes(struct strbuf *out, uint32_t num, struct str bytes)
{
    wire_put_length(out, num, bytes.n);
    if (bytes.n > 0)
        strbuf_appendn(out, bytes.p, bytes.n);
}

void wire_wrap(struct strbuf *out, uint32_t num, size_t start)
{
    size_t n = out->len - start;

    /* Written behind the message, then brought in front of it. */
    wire_put_length(out, num, n);
    char head[2 * VARINT_MAX];
    size_t h = out->len - start - n;
    memcpy(head, out->data + start + n, h);
    memmove(out->data + start + h, out->data + start, n);
    memcpy(out->data + start, head, h);
}
