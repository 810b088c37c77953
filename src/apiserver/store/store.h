/* store.h - revisioned documents with history and watches: what etcd is to kube-apiserver.
 *
 * One revision counter over all kinds. A document is the JSON text of an object, with its final
 * resourceVersion inside. Two backends, one contract: SQLite (WAL, synchronous=FULL, one writer
 * thread, group commit) and memory. Loop thread only; the writer thread is the store's own secret.
 *
 * Writes are optimistic: they name the revision they were computed from (0: must not exist). They
 * are judged at once against what is committed plus what is under way, but acknowledged - and seen
 * by readers and watchers - only when on disk. A batch that cannot be committed fails all of its
 * writes and those that were built on them; nothing of it was ever visible.
 *
 * Not all documents are in memory: an index of keys and revisions is, and a byte-capped ring of
 * recent events shared by all watchers. Older events come from history, then 410 (KR_EXPIRED).
 */
#ifndef KOORD_APISERVER_STORE_STORE_H
#define KOORD_APISERVER_STORE_STORE_H
#include "base/base.h"
#include "base/strbuf.h"

struct loop;
struct store;
struct store_watch;

struct store_opts {
    const char *path;     /* NULL: memory only */
    size_t ring_bytes;    /* recent events kept in memory; 0: 16 MB */
    nsec_t history;       /* how long old revisions can be read; 0: 5 minutes */
    nsec_t compact_every; /* 0: 1 minute */
};
int store_open(struct loop *l, const struct store_opts *o, struct store **ret, struct kerr *err);
/* Waits for what is under way; unacknowledged writes end without a callback (on disk they are
 * committed all the same), watches by on_end with KR_UNAVAILABLE. Not from inside a callback of the
 * store. Returns NULL. */
struct store *store_close(struct store *s);
DEFINE_CLEANUP(store_close, struct store *)

/* The last committed revision. Never goes back, also over restarts. An empty store stands at 1. */
uint64_t store_revision(const struct store *s);

/* The revision of the last committed change of this resource; 0: none is known. */
uint64_t store_changed(const struct store *s, const char *res);

/* A key: resource ("pods", "deployments.apps"), namespace ("" for cluster scope) and name. */
struct store_key {
    const char *res, *ns, *name;
};

/* ---- reading (committed state) --------------------------------------------------------------- */

/* Appends the document; -ENOENT when absent. *ret_rev (may be NULL): its revision. */
int store_get(struct store *s, const struct store_key *k, struct strbuf *doc, uint64_t *ret_rev,
              struct kerr *err);
/* The state as of a revision, in key order (namespace, then name), after the key `after` (NULL:
 * from the start). fn returns false to stop. at == 0: now. ns == NULL: all namespaces.
 * -EIDRM with KR_EXPIRED when `at` is before history, -ERANGE with KR_TIMEOUT when it is yet to
 * come. fn may write, but not compact. */
typedef bool (*store_fn)(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                         size_t n);
int store_list(struct store *s, const char *res, const char *ns, uint64_t at,
               const struct store_key *after, store_fn fn, void *arg, struct kerr *err);
size_t store_count(const struct store *s, const char *res, const char *ns);

/* ---- writing --------------------------------------------------------------------------------- */

/* The newest version, committed or under way: what an update has to be computed from. */
int store_get_latest(struct store *s, const struct store_key *k, struct strbuf *doc,
                     uint64_t *ret_rev, struct kerr *err);
/* All newest versions of a resource, committed or under way, in key order; fn must not write. */
int store_list_latest(struct store *s, const char *res, const char *ns, store_fn fn, void *arg,
                      struct kerr *err);
/* Is there any? Reads no documents. */
bool store_has_latest(const struct store *s, const char *res, const char *ns);
/* The revision the next store_put() or store_delete() gets: put it into the document. */
uint64_t store_next_revision(const struct store *s);

/* err == NULL: on disk, visible, told to watchers. */
typedef void (*store_done_fn)(void *arg, uint64_t rev, const struct kerr *err);
/* from: the revision the write was computed from, 0 to create. Judged at once: -EEXIST
 * (KR_ALREADY_EXISTS), -ESTALE (KR_CONFLICT), -ENOENT (KR_NOT_FOUND): then no callback follows.
 * Also no callback: -EFBIG (KR_TOO_LARGE, over 16 MB), -EAGAIN (KR_TOO_MANY_REQUESTS, 128 MB wait
 * for the disk). Otherwise 0 and exactly one callback (fn may be NULL), in a later turn; callbacks
 * come in the order of revisions. The document is copied. */
int store_put(struct store *s, const struct store_key *k, uint64_t from, const char *doc, size_t n,
              store_done_fn fn, void *arg, struct kerr *err);
/* last: the document as watchers shall see it in the DELETED event. */
int store_delete(struct store *s, const struct store_key *k, uint64_t from, const char *last,
                 size_t n, store_done_fn fn, void *arg, struct kerr *err);

/* ---- watching -------------------------------------------------------------------------------- */

enum store_event_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };
struct store_event {
    enum store_event_type type;
    struct store_key key;
    uint64_t rev;
    /* old_doc: before the change, NULL when added; for selectors. In memory as long as the ring
     * reaches back to it, otherwise read from disk once for all watchers. */
    const char *doc, *old_doc;
    size_t n, old_n;
};
struct store_watch_handler {
    /* false: take no more now; call store_watch_resume() when there is room again. The event was
     * taken all the same. */
    bool (*on_event)(void *arg, const struct store_event *e);
    /* Nothing new up to this revision, now and then (at most once a second, and only when the
     * revision moved): for bookmarks. May be NULL. */
    void (*on_progress)(void *arg, uint64_t rev);
    /* Too far behind, or the store ends: the watch is gone, its pointer dead after the call. */
    void (*on_end)(void *arg, const struct kerr *err);
};
/* Events after revision `from` (which may be yet to come), in order. *h is copied. -EIDRM with
 * KR_EXPIRED when that is before history. ns == NULL: all. Events come in later turns. */
int store_watch(struct store *s, const char *res, const char *ns, uint64_t from,
                const struct store_watch_handler *h, void *arg, struct store_watch **ret,
                struct kerr *err);
void store_watch_resume(struct store_watch *w);
struct store_watch *store_unwatch(struct store_watch *w); /* NULL is fine; returns NULL */

struct store_stats {
    uint64_t writes, batches, conflicts, failed_batches;
    size_t objects, ring_bytes, watchers, pending;
    uint64_t oldest; /* revision from which history is there */
};
/* Why the last commit failed; NULL: it did not. Reads go on, every write tries again, and so does
 * the store by itself when nobody writes, after a second and then less often (30 s at most). */
const struct kerr *store_failing(const struct store *s);
struct store_stats store_stats(const struct store *s);
/* Drops history up to a revision now (tests; otherwise by time). */
void store_compact(struct store *s, uint64_t upto);
/* Fault injection for tests: the next commit fails with this errno (ENOSPC, EIO). */
void store_fail_next_commit(struct store *s, int code);
#endif
