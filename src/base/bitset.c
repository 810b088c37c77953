/* bitset.c - sets of small integers. */
#include "base/bitset.h"

enum { WORD = 64 };

void bitset_init(struct bitset *b, size_t nbits)
{
    *b = (struct bitset){ 0 };
    bitset_resize(b, nbits);
}

void bitset_fini(struct bitset *b)
{
    free(b->words);
    *b = (struct bitset){ 0 };
}

void bitset_resize(struct bitset *b, size_t nbits)
{
    size_t old = b->nbits / WORD, now = nbits / WORD + (nbits % WORD != 0);

    if (now != old) {
        b->words = xreallocarray(b->words, now, sizeof *b->words);
        b->nbits = now * WORD;
        if (now > old)
            memset(b->words + old, 0, (now - old) * sizeof *b->words);
    }
    /* Members beyond the asked size must not survive in the last word. */
    if (nbits % WORD != 0 && now <= old)
        b->words[now - 1] &= (UINT64_C(1) << (nbits % WORD)) - 1;
}

void bitset_set(struct bitset *b, size_t i)
{
    if (UNLIKELY(i >= b->nbits))
        bitset_resize(b, MAX(i + 1, b->nbits * 2));
    b->words[i / WORD] |= UINT64_C(1) << (i % WORD);
}

void bitset_clear(struct bitset *b, size_t i)
{
    if (i < b->nbits)
        b->words[i / WORD] &= ~(UINT64_C(1) << (i % WORD));
}

bool bitset_test(const struct bitset *b, size_t i)
{
    return i < b->nbits && (b->words[i / WORD] >> (i % WORD) & 1);
}

void bitset_zero(struct bitset *b)
{
    if (b->nbits)
        memset(b->words, 0, b->nbits / 8);
}

size_t bitset_count(const struct bitset *b)
{
    size_t n = 0;
    for (size_t w = 0; w < b->nbits / WORD; w++)
        n += (size_t)__builtin_popcountll(b->words[w]);
    return n;
}

size_t bitset_next(const struct bitset *b, size_t from)
{
    if (from >= b->nbits)
        return SIZE_MAX;
    size_t w = from / WORD;
    uint64_t bits = b->words[w] & (~UINT64_C(0) << (from % WORD));
    while (bits == 0) {
        if (++w == b->nbits / WORD)
            return SIZE_MAX;
        bits = b->words[w];
    }
    return w * WORD + (size_t)__builtin_ctzll(bits);
}

void bitset_or(struct bitset *b, const struct bitset *o)
{
    if (b->nbits < o->nbits)
        bitset_resize(b, o->nbits);
    for (size_t w = 0; w < o->nbits / WORD; w++)
        b->words[w] |= o->words[w];
}

void bitset_and(struct bitset *b, const struct bitset *o)
{
    for (size_t w = 0; w < b->nbits / WORD; w++)
        b->words[w] &= w < o->nbits / WORD ? o->words[w] : 0;
}

void bitset_andnot(struct bitset *b, const struct bitset *o)
{
    for (size_t w = 0; w < MIN(b->nbits, o->nbits) / WORD; w++)
        b->words[w] &= ~o->words[w];
}

bool bitset_equal(const struct bitset *a, const struct bitset *b)
{
    const struct bitset *longer = a->nbits > b->nbits ? a : b;
    size_t common = MIN(a->nbits, b->nbits) / WORD;

    for (size_t w = 0; w < common; w++)
        if (a->words[w] != b->words[w])
            return false;
    return bitset_next(longer, common * WORD) == SIZE_MAX;
}

bool bitset_intersects(const struct bitset *a, const struct bitset *b)
{
    for (size_t w = 0; w < MIN(a->nbits, b->nbits) / WORD; w++)
        if (a->words[w] & b->words[w])
            return true;
    return false;
}
