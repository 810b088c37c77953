/* fakeapi_int.h - shared by the files of the small API server. */
#ifndef KOORD_CLIENT_TEST_FAKEAPI_INT_H
#define KOORD_CLIENT_TEST_FAKEAPI_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "client/test/fakeapi.h"
#include "json/kj.h"

struct httpd;
struct httpd_req;

struct object {
    char *key; /* "<prefix>|<ns>|<name>", prefix = "/api/v1/pods" */
    char *prefix, *ns, *name, *json;
    char uid[40];
    uint64_t revision;
};
struct event {
    uint64_t revision;
    char *prefix, *ns, *line;
};
struct watcher {
    struct fakeapi *f;
    struct httpd_req *req;
    char *prefix, *ns;
    struct timer *timeout;
    bool bookmarks;
};
struct snapshot { /* the rest of a paged list */
    uint64_t id, revision;
    struct texts vec_of(char *) items;
    size_t next;
};
struct delayed {
    struct fakeapi *f;
    struct httpd_req *req; /* NULL: nobody waits for the answer any more */
    struct timer *timer;
    char *body;
    size_t n;
    char *agent, *target;
};

struct said {
    char *path, *body;
    int status;
};

struct fakeapi {
    struct loop *loop;
    struct httpd *httpd;
    struct map objects;
    struct events vec_of(struct event) events;
    struct watchers vec_of(struct watcher *) watchers;
    struct snapshots vec_of(struct snapshot *) snapshots;
    struct waiting vec_of(struct delayed *) waiting;
    struct sayings vec_of(struct said) sayings;
    uint64_t revision, floor, next_id, uids;
    int answer_n, answer_status, answer_after;
    const char *answer_method, *answer_target; /* NULL: any */
    unsigned replay;
    nsec_t slow;
    bool refuse, late, graceful;
    bool breaking; /* connections end by our own doing */
    fake_wrote_fn on_write;
    void *on_write_arg;
    char *auth;
    struct fake_stats stats;
};

/* ---- fakeapi_store.c ------------------------------------------------------------------------- */

/* prefix is the collection of all namespaces: "/api/v1/pods". */
struct object *fake_object_find(const struct fakeapi *f, const char *prefix, const char *ns,
                                const char *name);
/* Creates or replaces it, and tells the watches; never NULL. */
struct object *fake_object_store(struct fakeapi *f, const char *prefix, const char *ns,
                                 const char *name, const struct kj_val *v);
/* A merge patch, or a JSON patch: that is an array. NULL: it cannot be. */
struct object *fake_object_merge(struct fakeapi *f, struct object *o, const struct kj_val *patch,
                                 struct kerr *err);
void fake_object_remove(struct fakeapi *f, struct object *o);
void fake_send_line(struct watcher *w, const char *line);
struct snapshot *fake_snapshot_take(struct fakeapi *f, const char *prefix, const char *ns);
struct snapshot *fake_snapshot_find(struct fakeapi *f, const char *token);
void fake_snapshot_drop(struct fakeapi *f, struct snapshot *s);
void fake_store_fini(struct fakeapi *f);

/* ---- fakeapi_answer.c ------------------------------------------------------------------------ */

void fake_answer_status(struct httpd_req *r, int code, const char *reason, const char *message,
                        int retry_after);
void fake_dispatch(struct fakeapi *f, struct httpd_req *r, const struct kj_val *body);
/* Splits "/api/v1/namespaces/x/pods/name" or ".../pods" by counting segments. */
void fake_split_target(const char *target, char *prefix, size_t psize, char *ns, size_t nsize,
                       char *name, size_t namesize);
bool fake_is_binding(const char *target);
/* Sets spec.nodeName, once; the status of the answer. */
int fake_bind_pod(struct fakeapi *f, struct object *o, const struct kj_val *body);
#endif
