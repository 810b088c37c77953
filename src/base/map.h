/* map.h - hash map from text to a pointer, keyed SipHash (labels and names come from users).
 *
 * Keys are borrowed: they must live as long as their entry, usually inside the value. A stored
 * value is never NULL. Iteration order means nothing; sort before anything observable.
 */
#ifndef KOORD_BASE_MAP_H
#define KOORD_BASE_MAP_H
#include "base/base.h"

struct map_entry {
    const char *key;
    void *value; /* NULL: free slot */
    uint32_t len, hash;
};

struct map { /* all zero is an empty map */
    struct map_entry *slots;
    uint32_t n, mask; /* mask + 1 slots; mask 0 with slots NULL: nothing allocated */
};

void map_fini(struct map *m);
void *map_get(const struct map *m, const char *key, size_t len); /* NULL when absent */
/* Inserts or replaces (the new key pointer is kept too); returns the old value or NULL. */
void *map_put(struct map *m, const char *key, size_t len, void *value);
void *map_remove(struct map *m, const char *key, size_t len); /* the value taken out, or NULL */
void map_reserve(struct map *m, size_t n);
/* Iterate: for (size_t it = 0; (e = map_next(&m, &it));). Do not change the map meanwhile. */
struct map_entry *map_next(const struct map *m, size_t *it);
#define map_foreach(m, e)                                             \
    for (size_t e##_it_ = 0, e##_once_ = 1; e##_once_; e##_once_ = 0) \
        for (struct map_entry * e; (e = map_next((m), &e##_it_));)

static inline void *map_getz(const struct map *m, const char *key)
{
    return map_get(m, key, strlen(key));
}
static inline void *map_putz(struct map *m, const char *key, void *value)
{
    return map_put(m, key, strlen(key), value);
}
static inline void *map_removez(struct map *m, const char *key)
{
    return map_remove(m, key, strlen(key));
}
static inline UNUSED void map_fini_p(struct map *m)
{
    map_fini(m);
}

/* The process-wide hash key is random; a test fixes it before the first use of any map. */
void hash_set_key(uint64_t k0, uint64_t k1);
uint64_t hash_bytes(const void *p, size_t n); /* SipHash-1-3 with that key */
/* Stable over processes and releases (FNV-1a): for jitter by name, shards, fingerprints. */
uint64_t hash_stable(const void *p, size_t n);
#endif
