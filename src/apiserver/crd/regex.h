/* regex.h - patterns of schemas: Go's regular expressions on top of POSIX ones.
 *
 * Schemas are written for Go's regexp. What ERE can say is translated; what it cannot (Unicode
 * classes, flags but (?i), word classes with bytes beyond ASCII) is refused when the definition is
 * created, never misread later. Characters are bytes: "." and lengths in {} count UTF-8 bytes.
 */
#ifndef KOORD_APISERVER_CRD_REGEX_H
#define KOORD_APISERVER_CRD_REGEX_H
#include "base/base.h"
#include "base/strbuf.h"

struct regex; /* compiled on first use */

/* -EINVAL with what is wrong, in the words of Go's regexp where they are known. */
int regex_new(const char *go, struct regex **ret, struct kerr *err);
struct regex *regex_free(struct regex *r); /* returns NULL */
DEFINE_CLEANUP(regex_free, struct regex *)
/* Translated and compiled once, for the message only. */
int regex_check(const char *go, struct kerr *err);
bool regex_is(const struct regex *r, const char *go); /* made from this text? */
/* Found anywhere in the text? */
bool regex_match(struct regex *r, const char *s, size_t n);
#endif
