/* re.h - regular expressions in RE2's syntax, matched in time linear in the text.
 *
 * What Go's regexp accepts: classes (Perl, POSIX, Unicode categories and scripts), the flags i m s
 * U, named and unnamed groups, greedy and lazy repeats up to 1000, \A \z \b \B \Q..\E. Characters
 * are code points; a byte that is no UTF-8 is one U+FFFD. No back-references, no look-around.
 *
 * A compiled expression is immutable and may be used by several threads at once. Matching keeps its
 * sets of states on the stack, or for very large expressions in memory of its own for that call.
 */
#ifndef KOORD_CEL_RE_H
#define KOORD_CEL_RE_H
#include "base/base.h"

struct re;

struct re_span {
    size_t begin, end; /* bytes of the text */
};

/* -EINVAL with the words of Go: "error parsing regexp: missing closing ]: `[a`". */
int re_new(const char *pattern, size_t n, struct re **ret, struct kerr *err);
struct re *re_free(struct re *re); /* returns NULL */
DEFINE_CLEANUP(re_free, struct re *)
size_t re_states(const struct re *re); /* each takes time when it is made, and at each character */
/* Is there a match anywhere in the text? */
bool re_match(const struct re *re, const char *s, size_t n);
/* The same within a number of steps, each one state at one character: false too when they are used
 * up, and *steps is 0 then. Expressions may have as many states as texts have characters. */
bool re_match_within(const struct re *re, const char *s, size_t n, uint64_t *steps);
/* The leftmost match that begins at `from` or later; of those the one that the alternatives prefer,
 * as in Perl. What stands before `from` still decides ^ and \b. */
bool re_find_within(const struct re *re, const char *s, size_t n, size_t from, uint64_t *steps,
                    struct re_span *ret);
#endif
