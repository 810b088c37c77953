/* b64.h - base64 (RFC 4648, standard alphabet with padding), as Go's StdEncoding reads it. */
#ifndef KOORD_BASE_B64_H
#define KOORD_BASE_B64_H
#include "base/base.h"
#include "base/strbuf.h"

/* Line breaks are ignored; anything else outside the alphabet is -EINVAL. Appends to out. */
int b64_decode(const char *s, size_t n, struct strbuf *out);
void b64_encode(const void *p, size_t n, struct strbuf *out);
#endif
