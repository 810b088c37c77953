/* list_text.h - the encoded items of a list: one copy for all clients that are still taking it.
 *
 * A list of ten thousand pods is 24 MB, and a client that does not read holds its answer for a
 * minute. Carriers therefore keep a reference and an offset instead of a copy, and whoever asks for
 * the same list while nothing of its resource has changed gets the same text. It lives as long as
 * somebody holds it: no cache grows here. Loop thread only.
 */
#ifndef KOORD_APISERVER_REGISTRY_LIST_TEXT_H
#define KOORD_APISERVER_REGISTRY_LIST_TEXT_H
#include "base/strbuf.h"

struct list_text {
    struct list_texts *all;
    struct list_text *prev, *next;
    unsigned refs;
    char *key;    /* what was asked for and how it is encoded; NULL: nobody else can use it */
    uint64_t rev; /* of the last change of the resource */
    struct strbuf items;
    int64_t n; /* of items */
};
struct list_texts { /* those in use */
    struct list_text *first;
    size_t bytes;
};

/* A reference to what somebody else is being sent, or NULL. */
struct list_text *list_text_find(struct list_texts *all, const char *key, uint64_t rev);
/* Takes the items over. key NULL: not to be shared. */
struct list_text *list_text_new(struct list_texts *all, const char *key, uint64_t rev,
                                struct strbuf *items, int64_t n);
struct list_text *list_text_ref(struct list_text *t);
struct list_text *list_text_unref(struct list_text *t); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(list_text_unref, struct list_text *)
#endif
