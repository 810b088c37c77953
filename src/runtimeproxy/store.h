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
struct podstore;

enum podstore_kind { STORE_POD, STORE_CONTAINER, STORE_KINDS };

/* path NULL: in memory only. */
struct podstore *podstore_new(struct loop *l, const char *path);
/* Nothing is written any more. */
struct podstore *podstore_free(struct podstore *s);
DEFINE_CLEANUP(podstore_free, struct podstore *)
/* What was on disk. A file that is not there is no error; of one that is damaged nothing is taken.
 */
int podstore_load(struct podstore *s, struct kerr *err);
/* Writes now, without waiting for the timer. */
int podstore_flush(struct podstore *s, struct kerr *err);

/* {NULL, 0}: not known. Borrowed until the entry changes. */
struct str podstore_get(const struct podstore *s, enum podstore_kind k, struct str id);
void podstore_put(struct podstore *s, enum podstore_kind k, struct str id, struct str message);
void podstore_remove(struct podstore *s, enum podstore_kind k, struct str id);
size_t podstore_count(const struct podstore *s, enum podstore_kind k);
/* Entries whose ID is in the list stay. */
void podstore_keep_only(struct podstore *s, enum podstore_kind k, const struct str *ids, size_t n);
#endif
