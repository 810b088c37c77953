/* re_unicode.h - sets of code points: Unicode's categories and scripts, case folds. */
#ifndef KOORD_CEL_RE_UNICODE_H
#define KOORD_CEL_RE_UNICODE_H
#include "base/base.h"
#include "base/vec.h"

enum { RE_RUNE_MAX = 0x10ffff, RE_RUNE_BAD = 0xfffd };

struct re_range {
    uint32_t lo, hi;
};
struct re_set vec_of(struct re_range); /* sorted and without gaps of zero after re_set_clean() */

void re_set_add(struct re_set *s, uint32_t lo, uint32_t hi);
void re_set_add_folded(struct re_set *s, uint32_t lo, uint32_t hi); /* and what equals it in (?i) */
void re_set_clean(struct re_set *s);
void re_set_negate(struct re_set *s); /* of a clean set */
/* Adds the category, group of categories or script of this name; spelling is loose (case, blanks,
 * underscores and hyphens do not count). false: there is none. */
bool re_set_add_named(struct re_set *s, const char *name, size_t n);

/* The next code point with the same letter in (?i); c itself when there is none. */
uint32_t re_fold_next(uint32_t c);
/* Reads one code point of s[0..n), n > 0. A byte that is no UTF-8 is U+FFFD of length 1. */
uint32_t re_rune(const char *s, size_t n, unsigned *ret_len);

/* re_unicode_data.c. A run is (first code point << 8) + index of the name; it ends at the next. */
struct re_fold {
    uint32_t lo, hi;
    int32_t delta; /* 0: pairs of neighbours */
};
extern const char *const re_category_names[], *const re_script_names[];
extern const uint32_t re_category_runs[], re_script_runs[];
extern const size_t re_category_n_names, re_category_n_runs, re_script_n_names, re_script_n_runs;
extern const struct re_fold re_folds[];
extern const size_t re_n_folds;
#endif
