/* idlepages.h - memory.idle_page_stats, which kernels with kidled have. */
#ifndef KOORD_KOORDLET_IDLEPAGES_H
#define KOORD_KOORDLET_IDLEPAGES_H
#include "base/base.h"

/* Bytes of file pages that nobody touched for five scans or more. */
int idle_pages_cold(const char *s, size_t n, uint64_t *ret, struct kerr *err);
#endif
