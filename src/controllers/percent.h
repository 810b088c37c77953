/* percent.h - numbers that may be given as a share: maxUnavailable: 25%. */
#ifndef KOORD_CONTROLLERS_PERCENT_H
#define KOORD_CONTROLLERS_PERCENT_H
#include "json/schema.h"

/* The number itself, or its percentage of n, rounded up or down; 0 for a text that is no
 * percentage. Percentages are kept between 0 and a million. */
int64_t int_or_percent(const struct int_or_str *v, int64_t n, bool up);
#endif
