/* uidmap.h - values by UID. A value begins with its struct kuid; that is also the key, so whoever
 * swaps the object behind a UID that is not a canonical UUID (its text lives in the object) also
 * rewrites the value's member. Stored values are never NULL.
 */
#ifndef KOORD_SCHEDULER_MODEL_UIDMAP_H
#define KOORD_SCHEDULER_MODEL_UIDMAP_H
#include "json/schema.h"

struct uidmap { /* all zero is an empty map */
    void **slots;
    uint32_t n, mask;
};
void uidmap_fini(struct uidmap *m);
void *uidmap_get(const struct uidmap *m, struct kuid uid); /* NULL when absent */
void uidmap_put(struct uidmap *m, void *value);            /* its UID must be absent */
void *uidmap_remove(struct uidmap *m, struct kuid uid);    /* the value taken out, or NULL */
/* Iterate: for (size_t it = 0; (v = uidmap_next(&m, &it));). Do not change the map meanwhile. */
void *uidmap_next(const struct uidmap *m, size_t *it);
/* The same UID, independent of the object that it came from. *ret_text: to be freed with it. */
struct kuid uidmap_own(struct kuid uid, char **ret_text);
#endif
