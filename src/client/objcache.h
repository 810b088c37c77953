/* objcache.h - the informer's cache: objects by key, with indexes. Internal to the client room.
 *
 * Holds one reference on each object. Keys are "namespace/name"; they live beside the entry, so a
 * replaced object never leaves a dangling key.
 */
#ifndef KOORD_CLIENT_OBJCACHE_H
#define KOORD_CLIENT_OBJCACHE_H
#include "api/kobj.h"
#include "base/map.h"
#include "client/informer.h"

struct objcache_index;
struct objcache {
    struct map objects; /* key -> struct objcache_entry */
    struct objcache_index *indexes;
    int nindexes;
    size_t bytes;
};
struct objcache_entry {
    struct kobj *obj;
    uint32_t seen; /* list round that last named it */
    uint32_t key_len;
    char key[];
};

void objcache_fini(struct objcache *s);
int objcache_add_index(struct objcache *s, index_fn fn);
struct objcache_entry *objcache_find(const struct objcache *s, const char *key, size_t len);
/* Takes over the caller's reference on obj; the old object (with its reference) is returned, NULL
 * when the key is new. */
struct kobj *objcache_put(struct objcache *s, const char *key, size_t len, struct kobj *obj,
                          uint32_t round);
/* The object taken out, with its reference; NULL when absent. */
struct kobj *objcache_remove(struct objcache *s, const char *key, size_t len);
struct kobj *const *objcache_by_index(const struct objcache *s, int index, const char *value,
                                      size_t *ret_n);
#endif
