/* bitset.h - sets of small integers in 64-bit words. */
#ifndef KOORD_BASE_BITSET_H
#define KOORD_BASE_BITSET_H
#include "base/base.h"

struct bitset { /* all zero is an empty set of size 0 */
    uint64_t *words;
    size_t nbits; /* capacity in bits, a multiple of 64 */
};

void bitset_init(struct bitset *b, size_t nbits);
void bitset_fini(struct bitset *b);
void bitset_resize(struct bitset *b, size_t nbits); /* keeps what fits */
void bitset_set(struct bitset *b, size_t i);        /* grows when needed */
void bitset_clear(struct bitset *b, size_t i);
bool bitset_test(const struct bitset *b, size_t i); /* false beyond the size */
void bitset_zero(struct bitset *b);
size_t bitset_count(const struct bitset *b);
/* First member >= from, or SIZE_MAX. */
size_t bitset_next(const struct bitset *b, size_t from);
void bitset_or(struct bitset *b, const struct bitset *o);
void bitset_and(struct bitset *b, const struct bitset *o);
void bitset_andnot(struct bitset *b, const struct bitset *o);
bool bitset_equal(const struct bitset *a, const struct bitset *b); /* trailing zeros ignored */
bool bitset_intersects(const struct bitset *a, const struct bitset *b);
#define bitset_foreach(b, i) \
    for (size_t i = bitset_next((b), 0); i != SIZE_MAX; i = bitset_next((b), i + 1))
#endif
