/* share.h - one copy of what many objects have in common.
 *
 * Pods of one workload differ in name, node and status, but repeat their labels, owner,
 * containers and tolerations. kobj_decode() decodes that part into a block of its own, and keeps
 * one block for all objects where it is equal: the lists in struct pod then point into it. Readers
 * see no difference; a cache of 150,000 pods is half the size. Internal to api/.
 *
 * The table of blocks belongs to the thread, as reference counts do. It holds no references:
 * a block dies with its last object, and the table with its last block.
 */
#ifndef KOORD_API_SHARE_H
#define KOORD_API_SHARE_H
#include "api/kobj.h"

struct share; /* a reference-counted, immutable block of one schema */

struct sharepart {
    const struct kschema *schema;
    /* Takes out what is not kept, before the comparison; may be NULL. */
    void (*tidy)(void *data);
    /* Will tidy() take out this item of the list? It may look at keys and nulls only. */
    bool (*drops)(const struct kfield *f, const struct kj_val *item);
    /* What documents with an equal part have in common, to find it fast: a generateName. */
    struct str (*hint)(const struct kj_val *in);
};
/* The block for this part of the document; the caller owns one reference. */
int share_decode(const struct sharepart *part, const struct kj_val *in, struct kj_scratch *scratch,
                 struct share **ret, struct kerr *err);
const void *share_data(const struct share *s);
struct share *share_unref(struct share *s); /* NULL is fine; always returns NULL */
/* Blocks and bytes held by this thread, table included: for memory accounting. */
size_t share_count(void);
size_t share_bytes(void);

/* How the objects of a kind are split. `own` and the parts together have the lines of the kind's
 * own table, apart from what a cache does not need. */
enum { KINDSPLIT_PARTS = 2 };
struct kindsplit {
    const struct kschema *own;
    struct sharepart part[KINDSPLIT_PARTS];
    void (*attach)(struct kobj *o, struct share *const parts[KINDSPLIT_PARTS]);
    void (*detach)(struct kobj *o, struct share *ret_parts[KINDSPLIT_PARTS]);
};
/* NULL: the kind is one block. */
const struct kindsplit *kindsplit_of(const struct kind *k);
extern const struct kindsplit pod_split;
#endif
