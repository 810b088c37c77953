/* listsplit.h - cuts the items out of a Kubernetes list while it arrives.
 *
 * Only one item is in memory at a time. Outside of the items no more is checked than is needed
 * to find them; the text of an item is for a real parser. No I/O.
 */
#ifndef KOORD_KOORDLET_STATES_LISTSPLIT_H
#define KOORD_KOORDLET_STATES_LISTSPLIT_H
#include "base/strbuf.h"

enum { LISTSPLIT_ITEM_MAX = 8 << 20 };

/* The text of one item; it may be written to, KJ_PADDING bytes behind its end too. Negative ends
 * the feeding; err is filled. */
typedef int (*listsplit_fn)(void *arg, char *text, size_t n, struct kerr *err);

struct listsplit { /* all zero is the beginning */
    struct strbuf item;
    uint32_t depth, items;
    char key[8]; /* of the list's own members */
    uint8_t key_len;
    bool in_string, escaped, is_value, in_items, ended;
};
void listsplit_fini(struct listsplit *c);
/* -EINVAL: this is no list of objects. -E2BIG: an item is too large. */
int listsplit_feed(struct listsplit *c, const char *p, size_t n, listsplit_fn fn, void *arg,
                   struct kerr *err);
/* All has come: -EINVAL when the text is not at its end. */
int listsplit_end(const struct listsplit *c, struct kerr *err);
#endif
