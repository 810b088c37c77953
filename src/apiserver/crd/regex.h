/* regex.h - patterns of schemas, kept with their text (cel/re.h does the matching). */
#ifndef KOORD_APISERVER_CRD_REGEX_H
#define KOORD_APISERVER_CRD_REGEX_H
#include "base/base.h"

struct regex; /* immutable */

/* -EINVAL with what is wrong, in the words of Go's regexp. */
int regex_new(const char *go, struct regex **ret, struct kerr *err);
struct regex *regex_free(struct regex *r); /* returns NULL */
DEFINE_CLEANUP(regex_free, struct regex *)
/* Compiled for the message only. */
int regex_check(const char *go, struct kerr *err);
bool regex_is(const struct regex *r, const char *go); /* made from this text? */
/* Found anywhere in the text? */
bool regex_match(const struct regex *r, const char *s, size_t n);
#endif
