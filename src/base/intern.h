/* intern.h - one copy of each string that repeats: label keys and values, namespaces, images.
 *
 * A table belongs to one loop thread and is shared by the components of the process; counts are
 * not atomic. An interned string is an ordinary NUL-terminated `const char *`: two interned
 * strings of one table are equal exactly when their pointers are. The table lives until
 * intern_free() was called and the last string is gone, whichever comes later.
 */
#ifndef KOORD_BASE_INTERN_H
#define KOORD_BASE_INTERN_H
#include "base/base.h"

struct intern;

struct intern *intern_new(void);
struct intern *intern_free(struct intern *t);
/* The one copy of this text; the caller owns one reference. */
const char *intern_get(struct intern *t, const char *s, size_t n);
static inline const char *intern_getz(struct intern *t, const char *s)
{
    return intern_get(t, s, strlen(s));
}
/* The one copy if it exists, without a new reference; NULL otherwise. */
const char *intern_find(const struct intern *t, const char *s, size_t n);
const char *istr_ref(const char *istr);
const char *istr_unref(const char *istr); /* NULL is fine; always returns NULL */
size_t istr_len(const char *istr);
size_t intern_count(const struct intern *t);
size_t intern_bytes(const struct intern *t); /* memory held by table and strings */
DEFINE_CLEANUP(intern_free, struct intern *)
#endif
