/* objedit.h - many changes to one mutable object (inside this room only).
 *
 * kj_mset() searches the members each time; a patch with as many keys as the object would make
 * that quadratic in untrusted input. Here the members are taken out once, looked up by hash when
 * there are many, and linked again in order at the end.
 */
#ifndef KOORD_JSON_OBJEDIT_H
#define KOORD_JSON_OBJEDIT_H
#include "base/map.h"
#include "json/kj_int.h"

struct objedit_member {
    yyjson_mut_val *key, *val; /* val NULL: removed */
};
struct objedit {
    struct kj_mdoc *d;
    yyjson_mut_val *obj;
    struct objedit_member *m;
    size_t n, cap;
    struct map by_key; /* index + 1; only when there are many members */
    bool hashed;
};
/* Until objedit_close() the object itself must not be used. */
void objedit_open(struct objedit *e, struct kj_mdoc *d, struct kj_mval *obj);
struct kj_mval *objedit_get(const struct objedit *e, const char *key, size_t n);
void objedit_set(struct objedit *e, const char *key, size_t n, struct kj_mval *val);
void objedit_del(struct objedit *e, const char *key, size_t n);
/* Also the way out after a failure. */
void objedit_close(struct objedit *e);
#endif
