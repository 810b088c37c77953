/* linediff.h - two texts as a diff: lines that went with '-', new ones with '+', some around them.
 */
#ifndef KOORD_CTL_LINEDIFF_H
#define KOORD_CTL_LINEDIFF_H
#include "base/strbuf.h"

/* Appends nothing when they are equal. Texts of more than 2,000 differing lines are shown as a
 * whole, one after the other. */
void linediff(const char *from, const char *to, struct strbuf *out);
#endif
