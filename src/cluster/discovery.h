/* discovery.h - every kind that the API server serves and that can be listed and deleted.
 *
 * Asked of the server at the start, every half minute, and a moment after a
 * CustomResourceDefinition changed. Kinds never go away again while the room lives (their informers
 * would be in use); those the server no longer serves are marked.
 */
#ifndef KOORD_CLUSTER_DISCOVERY_H
#define KOORD_CLUSTER_DISCOVERY_H
#include "cluster/internal.h"

struct disco_kind {
    struct kind kind; /* metadata only, unless it is one of the caches that the room has anyway */
    bool served;
    bool watch, delete_collection;
    bool ownerless; /* of no interest to the garbage collector */
    void *gc;       /* the garbage collector's */
};

struct discovery *discovery_new(struct cluster *c);
void discovery_stop(struct discovery *d); /* no round follows; the kinds stay until the end */
struct discovery *discovery_free(struct discovery *d);
/* fn is called in a later turn after each complete round. */
typedef void (*discovery_fn)(void *arg);
void discovery_on_round(struct discovery *d, discovery_fn fn, void *arg);
bool discovery_complete(const struct discovery *d); /* the last round had no failure */
size_t discovery_count(const struct discovery *d);
struct disco_kind *discovery_at(const struct discovery *d, size_t i); /* stays where it is */
/* api_version as in an owner reference; any served version of the group counts. */
struct disco_kind *discovery_find(const struct discovery *d, const char *api_version,
                                  const char *kind);
#endif
