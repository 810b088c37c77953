/* urls.h - URLs in expressions: absolute ones and absolute paths, as Go's ParseRequestURI reads
 * them. */
#ifndef KOORD_CEL_URLS_H
#define KOORD_CEL_URLS_H
#include "cel/lib.h"

/* NULL, or what is wrong. Parts point into s or the arena. */
const char *cel_url_parse(struct arena *a, struct str s, struct cel_url *ret);
#endif
