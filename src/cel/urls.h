/* urls.h - URLs in expressions: absolute ones and absolute paths, as Go's ParseRequestURI reads
 * them. */
#ifndef KOORD_CEL_URLS_H
#define KOORD_CEL_URLS_H
#include "cel/lib.h"

/* NULL, or what is wrong with it as a URI of a request: absolute, or an absolute path. */
const char *cel_uri_check(struct arena *a, struct str s);
/* Percent signs must be followed by two digits. NULL, or what is wrong. */
const char *cel_url_bad_escape(struct arena *a, struct str s);
/* NULL, or what is wrong. Such a URI, with its fragment apart. Parts point into s or the arena. */
const char *cel_url_parse(struct arena *a, struct str s, struct cel_url *ret);
/* As Go's %q prints it, in the arena: "a\n". */
const char *cel_quoted(struct arena *a, struct str s);
#endif
