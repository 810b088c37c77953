/* kuid.c - UIDs in 16 bytes.
 *
 * A canonical RFC 9562 UUID (lower-case, variant bits 10) is kept as its 128 bits; the variant
 * makes the top bit of `lo` 1. Everything else is a pointer to its text in `lo`, whose top bit is
 * 0 for every user-space address on x86-64 and arm64, and its length in `hi`. So all text forms
 * keep their spelling, and comparing the usual ones is two integer compares.
 */
#include "json/schema.h"

#include <endian.h>

#define KUID_BINARY (UINT64_C(1) << 63)

static bool is_binary(struct kuid u)
{
    return u.lo & KUID_BINARY;
}

static const char *text_of(struct kuid u)
{
    return (const char *)(uintptr_t)u.lo;
}

bool kuid_is_empty(struct kuid u)
{
    return u.lo == 0;
}

bool kuid_equal(struct kuid a, struct kuid b)
{
    if (a.hi == b.hi && a.lo == b.lo)
        return true;
    if (is_binary(a) || is_binary(b) || a.hi != b.hi || !a.lo || !b.lo)
        return false;
    return memcmp(text_of(a), text_of(b), a.hi) == 0;
}

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= UINT64_C(0x9E3779B97F4A7C15);
    h ^= h >> 29;
    h *= UINT64_C(0xBF58476D1CE4E5B9);
    return h ^ h >> 32;
}

uint64_t kuid_hash(struct kuid u)
{
    if (is_binary(u) || !u.lo)
        return mix(u.hi ^ mix(u.lo));
    uint64_t h = u.hi;
    for (size_t i = 0; i < u.hi; i++)
        h = mix(h ^ (unsigned char)text_of(u)[i]);
    return h;
}

/* Eight lower-case hex digits at once, the first in the lowest byte; *bad when one is none. */
static inline uint64_t hex8(uint64_t text, uint64_t *bad)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t v = (text & ones * 15) + (text >> 6 & ones) * 9; /* 'a' & 15 is 1, and 9 more is 10 */
    uint64_t letters = (v + ones * (128 - 10)) >> 7 & ones;

    /* A digit of 16 values that prints the same is what was there. */
    *bad |= (v & ones * 0xF0) | (text ^ (v + ones * '0' + letters * ('a' - '0' - 10)));
    v = __builtin_bswap64(v);
    v = (v | v >> 4) & UINT64_C(0x00FF00FF00FF00FF);
    v = (v | v >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (v | v >> 16) & UINT64_C(0xFFFFFFFF);
}

/* n bytes at a and, if n is 4, the other 4 at b: a group of eight digits around a hyphen. */
static inline uint64_t load8(const char *a, const char *b, size_t n)
{
    char text[8];
    uint64_t v;

    memcpy(text, a, n);
    memcpy(text + n, b, 8 - n);
    memcpy(&v, text, 8);
    return le64toh(v);
}

struct kuid kuid_parse(const char *text, size_t n)
{
    if (n == 0)
        return (struct kuid){ 0, 0 };
    if (n == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-') {
        uint64_t bad = 0;
        uint64_t hi = hex8(load8(text, text, 8), &bad) << 32;
        hi |= hex8(load8(text + 9, text + 14, 4), &bad);
        uint64_t lo = hex8(load8(text + 19, text + 24, 4), &bad) << 32;
        lo |= hex8(load8(text + 28, text, 8), &bad);
        if (!bad && lo >> 62 == 2)
            return (struct kuid){ hi, lo };
    }
    assert(!((uintptr_t)text & KUID_BINARY));
    return (struct kuid){ n, (uintptr_t)text };
}

size_t kuid_format(struct kuid u, char *buf, size_t size)
{
    static const char hex[] = "0123456789abcdef";
    char text[36];
    const char *p = text;
    size_t n = 0;

    if (is_binary(u)) {
        for (int digit = 0; digit < 32; digit++) {
            if (digit == 8 || digit == 12 || digit == 16 || digit == 20)
                text[n++] = '-';
            uint64_t half = digit < 16 ? u.hi : u.lo;
            text[n++] = hex[half >> (60 - 4 * (digit % 16)) & 15];
        }
    } else if (u.lo) {
        p = text_of(u);
        n = u.hi;
    }
    if (size == 0)
        return 0;
    n = MIN(n, size - 1);
    memcpy(buf, p, n);
    buf[n] = '\0';
    return n;
}
