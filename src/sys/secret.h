/* secret.h - random texts for keys and tokens, from the kernel; never from the loop, whose numbers
 * can be guessed. Any thread.
 */
#ifndef KOORD_SYS_SECRET_H
#define KOORD_SYS_SECRET_H
#include "base/base.h"

/* n hexadecimal digits (even, at most 128) and a NUL into out: four bits of chance each. */
int secret_make(char *out, size_t n, struct kerr *err);
/* Whether both are the same n characters; the time it takes does not tell how many are. */
bool secret_equal(const char *secret, size_t n, struct str given);
#endif
