/* kobj.h - the head of every typed API object, and the table of kinds.
 *
 * An object is one immutable, reference-counted block of memory decoded from JSON by its schema
 * table; strings that repeat come from the process's string table. Counts belong to the loop
 * thread and are not atomic. Components hold only what they read and write only by patch or
 * subresource, so fields we do not know survive.
 */
#ifndef KOORD_API_KOBJ_H
#define KOORD_API_KOBJ_H
#include "json/schema.h"

struct kj_val;

/* One entry of labels or annotations. */
struct kstrpair {
    const char *key, *value;
};
typedef KLIST(struct kstrpair) kstrmap; /* sorted by key */
typedef KLIST(const char *) kstrlist;

/* The value of a key, NULL when absent. Binary search. */
const char *kstrmap_get(const kstrmap *m, const char *key);
bool kstrmap_equal(const kstrmap *a, const kstrmap *b);

struct owner_ref {
    const char *api_version, *kind, *name;
    struct kuid uid;
    bool controller, block_owner_deletion;
};

struct objmeta {
    const char *name, *ns, *generate_name;
    const char *resource_version; /* opaque */
    struct kuid uid;
    int64_t generation;
    nsec_t created, deleted; /* deleted: deletionTimestamp, 0 when not set */
    struct opt_i64 grace_seconds;
    kstrmap labels, annotations;
    KLIST(struct owner_ref) owners;
    kstrlist finalizers;
};
extern const struct kschema objmeta_schema;
extern const struct kschema owner_ref_schema;

/* Head of struct pod, struct node, ... The schema's first field is "metadata" at obj.meta. */
struct kobj {
    const struct kind *kind;
    uint32_t refs;
    uint32_t size; /* of the whole block, for memory accounting */
    struct objmeta meta;
};

extern const struct kschema kobj_schema; /* of a struct kobj alone: metadata, of any kind */

/* What one needs to know of a kind to talk about it with an API server. */
struct kind {
    const char *group, *version, *kind, *plural; /* group "" is core */
    const char *short_names;                     /* "po", comma separated; NULL */
    bool namespaced, has_status;
    const struct kschema *schema; /* of the struct that starts with struct kobj */
};
/* "v1", "apps/v1" into buf. */
size_t kind_api_version(const struct kind *k, char *buf, size_t size);
/* By plural, singular kind (any case) or short name, optionally "plural.group"; NULL: not known. */
const struct kind *kind_find(const char *word);
const struct kind *kind_find_gvk(const char *group, const char *version, const char *kind);
/* All kinds, in a fixed order; NULL after the last. */
const struct kind *kind_at(size_t i);

/* A new reference is returned. The scratch is the informer's, with the process's string table. */
int kobj_decode(const struct kind *k, const struct kj_val *in, struct kj_scratch *scratch,
                struct kobj **ret, struct kerr *err);
static inline struct kobj *kobj_ref(struct kobj *o)
{
    o->refs++;
    return o;
}
struct kobj *kobj_unref(struct kobj *o); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(kobj_unref, struct kobj *)

/* "namespace/name", or "name" for cluster-scoped objects, into buf; returns the length (cut at
 * size - 1). */
enum { KOBJ_KEY_MAX = 320 };
size_t kobj_key(const struct kobj *o, char *buf, size_t size);
/* The owner with controller: true, or NULL. */
const struct owner_ref *kobj_controller(const struct kobj *o);
#endif
