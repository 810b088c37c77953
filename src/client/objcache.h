/* store.h - the informer's cache: objects by key, with indexes. Internal to the client room.
 *
 * Holds one reference on each object. Keys are "namespace/name"; they live beside the entry, so a
 * replaced object never leaves a dangling key.
 */
#ifndef KOORD_CLIENT_STORE_H
#define KOORD_CLIENT_STORE_H
#include "api/kobj.h"
#include "base/map.h"
#include "client/informer.h"

struct store_index;
struct store {
    struct map objects; /* key -> struct store_entry */
    struct store_index *indexes;
    int nindexes;
    size_t bytes;
};
struct store_entry {
    struct kobj *obj;
    uint32_t seen; /* list round that last named it */
    uint32_t key_len;
    char key[];
};

void store_fini(struct store *s);
int store_add_index(struct store *s, index_fn fn);
struct store_entry *store_find(const struct store *s, const char *key, size_t len);
/* Takes over the caller's reference on obj; the old object (with its reference) is returned, NULL
 * when the key is new. */
struct kobj *store_put(struct store *s, const char *key, size_t len, struct kobj *obj,
                       uint32_t round);
/* The object taken out, with its reference; NULL when absent. */
struct kobj *store_remove(struct store *s, const char *key, size_t len);
struct kobj *const *store_by_index(const struct store *s, int index, const char *value,
                                   size_t *ret_n);
#endif
