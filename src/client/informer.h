/* informer.h - a local cache of one kind, kept equal to the server's, and news of its changes.
 *
 * Lists page by page (a page is decoded in one turn and never kept as text), then watches and
 * resumes; a 410 lists again and reports only the differences. Objects are immutable: an update
 * swaps the pointer; hold a reference to keep one. Handlers run on the loop; they should enqueue a
 * key and read the cache again later. Nothing observable depends on iteration order.
 */
#ifndef KOORD_CLIENT_INFORMER_H
#define KOORD_CLIENT_INFORMER_H
#include "api/kobj.h"
#include "base/base.h"

struct informer;
struct kube;

struct informer_opts {
    const struct kind *kind;
    const char *ns; /* NULL: all */
    const char *label_selector, *field_selector;
    int64_t page;  /* objects a page; 0: 500 */
    nsec_t resync; /* every object is handed to on_update again this often; 0: never */
    /* What the cache keeps of an object, where that is less: takes the decoded one over and returns
     * another, whose kind may have a struct of its own but the same name, namespace, uid and
     * resourceVersion. NULL: the object as it is. */
    struct kobj *(*reduce)(struct kobj *obj);
};
struct informer_handler { /* any member may be NULL */
    void (*on_add)(void *arg, struct kobj *obj);
    void (*on_update)(void *arg, struct kobj *old, struct kobj *obj); /* old == obj: a resync */
    void (*on_delete)(void *arg, struct kobj *obj);                   /* last known state */
    void (*on_synced)(void *arg); /* the first complete list is in */
    /* The first list was refused, and informer_refused() says so. It is tried again. */
    void (*on_refused)(void *arg);
};

struct informer *informer_new(struct kube *k, const struct informer_opts *o);
struct informer *informer_free(struct informer *inf);
DEFINE_CLEANUP(informer_free, struct informer *)
/* Before or after the start; a late handler gets on_add for what is there, in a later turn. The
 * subscription is for informer_remove_handler(); it ends with the informer. */
struct subscription;
struct subscription *informer_add_handler(struct informer *inf, const struct informer_handler *h,
                                          void *arg);
/* No callback follows, also when it is called from inside one. NULL is fine; returns NULL. */
struct subscription *informer_remove_handler(struct subscription *s);
void informer_start(struct informer *inf);
bool informer_synced(const struct informer *inf);
/* There was no complete list yet, and the server said that there is no such kind, or that we may
 * not read it. */
bool informer_refused(const struct informer *inf);
const struct kind *informer_kind(const struct informer *inf);

struct kobj *informer_get(const struct informer *inf, const char *key); /* "ns/name"; borrowed */
size_t informer_count(const struct informer *inf);
/* Iterate: size_t it = 0; while ((o = informer_next(inf, &it))) ... The cache must not change. */
struct kobj *informer_next(const struct informer *inf, size_t *it);

/* An index: fn names the values under which an object is found, by calling emit for each. Returns
 * its number; the same function has the same number. Before or after the start: a late index is
 * filled with what is there. */
typedef void (*index_emit_fn)(void *to, const char *value);
typedef void (*index_fn)(const struct kobj *obj, index_emit_fn emit, void *to);
int informer_add_index(struct informer *inf, index_fn fn);
/* The objects under a value, borrowed until the next turn; *ret_n may be 0. */
struct kobj *const *informer_by_index(const struct informer *inf, int index, const char *value,
                                      size_t *ret_n);

/* Of two resourceVersions; false when they are no numbers, so that nothing can be told. */
bool version_is_older(const char *a, const char *b);

struct informer_stats {
    uint64_t lists, watches, events, duplicates, decode_errors, relists_gone;
    size_t objects, bytes; /* bytes: blocks of the objects, without the string table */
};
struct informer_stats informer_stats(const struct informer *inf);
/* What went wrong last while listing or watching; NULL when the informer is well. */
const char *informer_problem(const struct informer *inf);
/* The server's reason for it: KR_FORBIDDEN, KR_NOT_FOUND ...; KR_NONE when it did not answer. */
enum kreason informer_problem_reason(const struct informer *inf);
#endif
