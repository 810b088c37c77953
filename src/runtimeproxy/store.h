/* store.h - pods and containers that the proxy has seen start, and what hooks are asked about them.
 *
 * An entry is a message of api/wire/hook.h as bytes, by the runtime's ID. Kept on disk (mode 0600,
 * written as a whole), so that a restart of the proxy changes nothing. Loop thread only.
 */
#ifndef KOORD_RUNTIMEPROXY_STORE_H
#define KOORD_RUNTIMEPROXY_STORE_H
#include "base/base.h"
#include "base/strbuf.h"

struct loop;
struct store;

enum store_kind { STORE_POD, STORE_CONTAINER, STORE_KINDS };

/* path NULL: in memory only. */
struct store *store_new(struct loop *l, const char *path);
/* Nothing is written any more. */
struct store *store_free(struct store *s);
DEFINE_CLEANUP(store_free, struct store *)
/* What was on disk. A file that is not there is no error; of one that is damaged nothing is taken.
 */
int store_load(struct store *s, struct kerr *err);
/* Writes now, without waiting for the timer. */
int store_flush(struct store *s, struct kerr *err);

/* {NULL, 0}: not known. Borrowed until the entry changes. */
struct str store_get(const struct store *s, enum store_kind k, struct str id);
void store_put(struct store *s, enum store_kind k, struct str id, struct str message);
void store_remove(struct store *s, enum store_kind k, struct str id);
size_t store_count(const struct store *s, enum store_kind k);
/* Entries whose ID is in the list stay. */
void store_keep_only(struct store *s, enum store_kind k, const struct str *ids, size_t n);
#endif
