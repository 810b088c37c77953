/* digest.h - SHA-256: names for secrets that must not be kept. */
#ifndef KOORD_NET_DIGEST_H
#define KOORD_NET_DIGEST_H
#include "base/base.h"

enum { DIGEST_SIZE = 32 };
void digest_sha256(const void *p, size_t n, uint8_t ret[DIGEST_SIZE]);
#endif
