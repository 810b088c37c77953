/* fakeapi.h - a small API server for tests, over httpd on memory streams and any loop.
 *
 * Only what a client needs to be shaken: list in pages of one snapshot, watch from a revision with
 * bookmarks and 410, create, update, patch, delete with optimistic locking, binding and eviction of
 * pods; and the misbehaviour of real ones at reconnects. The truth is in fake_find() and
 * fake_each(), to compare caches with.
 */
#ifndef KOORD_CLIENT_TEST_FAKEAPI_H
#define KOORD_CLIENT_TEST_FAKEAPI_H
#include "base/base.h"
#include "net/http.h"

struct fakeapi;
struct kj_val;
struct loop;

struct fakeapi *fake_new(struct loop *l);
struct fakeapi *fake_free(struct fakeapi *f);
DEFINE_CLEANUP(fake_free, struct fakeapi *)
/* A client whose connections end in this server. Free it before the server. */
struct http *fake_client(struct fakeapi *f);
struct http *fake_client_as(struct fakeapi *f, const char *agent); /* its User-Agent */

/* Objects by collection path ("/api/v1/namespaces/ns/pods") and name. Body is a JSON object;
 * metadata (name, namespace, uid, resourceVersion) is filled in. */
void fake_put(struct fakeapi *f, const char *collection, const char *name, const char *body);
/* A merge patch of an object that is there. */
void fake_patch(struct fakeapi *f, const char *collection, const char *name, const char *body);
bool fake_delete(struct fakeapi *f, const char *collection, const char *name);
/* The stored JSON, NULL when absent. */
const char *fake_find(const struct fakeapi *f, const char *collection, const char *name);
size_t fake_count(const struct fakeapi *f, const char *plural);
typedef void (*fake_fn)(void *arg, const char *ns, const char *name, const char *version);
void fake_each(const struct fakeapi *f, const char *plural, fake_fn fn, void *arg);
uint64_t fake_revision(const struct fakeapi *f);

/* Forgets all history up to now: watches from older revisions and continue tokens get 410. */
void fake_compact(struct fakeapi *f);
/* Ends every watch in an orderly way. */
void fake_end_watches(struct fakeapi *f);
/* Breaks every connection, in the middle of whatever it sends. */
void fake_break_connections(struct fakeapi *f);
/* New connections are refused while true. */
void fake_refuse(struct fakeapi *f, bool refuse);
/* The next n requests are answered with this status (and Retry-After seconds, -1: none). */
void fake_answer_next(struct fakeapi *f, int n, int status, int retry_after);
/* Only those of this method whose target contains this text; both must live on. */
void fake_answer_next_to(struct fakeapi *f, const char *method, const char *target, int n,
                         int status);
/* What requests of this path are answered with from now on, whatever their method: for what is no
 * object, as reviews and proxies are. Said again: the new answer counts. */
void fake_say(struct fakeapi *f, const char *path, int status, const char *body);
/* At the start of a watch up to n older events are sent again, shuffled. */
void fake_replay_on_watch(struct fakeapi *f, unsigned n);
void fake_bookmark_all(struct fakeapi *f);
/* Requests wait this long for their answer. */
void fake_slow(struct fakeapi *f, nsec_t delay);
/* Bindings that wait for their slow answer are carried out though their client has hung up. */
void fake_late(struct fakeapi *f, bool late);
/* DELETE of a pod that has a node only marks it, as long as this is true. */
void fake_graceful(struct fakeapi *f, bool graceful);
/* Told of every request of a client that changed something; body may be NULL. */
typedef void (*fake_wrote_fn)(void *arg, const char *agent, const char *method, const char *target,
                              const struct kj_val *body);
void fake_on_write(struct fakeapi *f, fake_wrote_fn fn, void *arg);
/* 401 unless the authorization header is this; NULL: anybody. */
void fake_require_auth(struct fakeapi *f, const char *header);

struct fake_stats {
    unsigned requests, lists, pages, watches, gets, creates, patches, conflicts;
    unsigned binds, bind_conflicts; /* POST .../pods/NAME/binding */
    unsigned open_watches;
    char last_agent[64], last_target[512];
};
struct fake_stats fake_stats(const struct fakeapi *f);
#endif
