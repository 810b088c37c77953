/* api_fixture.h - an API server in memory on the virtual loop, and one request at a time to its
 * registry.
 */
#ifndef KOORD_APISERVER_TEST_API_FIXTURE_H
#define KOORD_APISERVER_TEST_API_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "apiserver/registry/registry.h"
#include "apiserver/server.h"
#include "apiserver/store/store.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "loop/loop.h"
#include "json/kj.h"

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)
#define CMS   "/api/v1/namespaces/default/configmaps"
#define PODS  "/api/v1/namespaces/default/pods"
#define MERGE "application/merge-patch+json"

struct fixture {
    struct loop *loop;
    struct apiserver *s;
    /* The last answer. */
    int status;
    bool answered;
    nsec_t patience; /* how long an answer may take; 0: 100 ms */
    struct kj_doc *doc;
    struct strbuf text;
    char warnings[8192];
};

static inline void fixture_init(struct fixture *r, uint64_t seed)
{
    struct kerr err = { 0 };
    *r = (struct fixture){ .loop = loop_new_virtual(WALL0, seed) };
    if (apiserver_new(r->loop, &(struct apiserver_opts){ .no_crds = true }, &r->s, &err) < 0)
        fail_msg("%s", err.text);
    loop_advance(r->loop, NSEC_PER_SEC);
}

static inline UNUSED void fixture_fini_p(struct fixture *r)
{
    apiserver_free(r->s);
    kj_doc_free(r->doc);
    strbuf_fini(&r->text);
    loop_free(r->loop);
}

static inline void fixture_on_reply(void *arg, struct api_call *c, int status, const char *json,
                                    size_t n)
{
    struct fixture *r = arg;
    assert_false(r->answered);
    r->answered = true;
    r->status = status;
    strbuf_reset(&r->text);
    strbuf_appendn(&r->text, json, n);
    r->doc = kj_doc_free(r->doc);
    (void)kj_parse(json, n, 0, &r->doc, NULL);
    r->warnings[0] = '\0';
    vec_foreach(&c->warnings, i)
        (void)snprintf(r->warnings + strlen(r->warnings), sizeof r->warnings - strlen(r->warnings),
                       "%s;", c->warnings.items[i]);
}

static inline struct api_call *fixture_start(struct fixture *r, const struct api_sink *sink,
                                             void *arg, const char *method, const char *target,
                                             const char *type, const char *body)
{
    struct api_call *c = api_call_new(r->s, sink, arg);
    size_t n = body ? strlen(body) : 0;
    c->method = arena_strdup(c->arena, method);
    c->target = arena_strdup(c->arena, target);
    c->content_type = type;
    c->user = &api_user_admin;
    c->body = arena_alloc(c->arena, n + KJ_PADDING + 1, 1);
    memcpy(c->body, body ? body : "", n);
    memset(c->body + n, 0, KJ_PADDING + 1);
    c->body_len = n;
    api_run(c);
    return c;
}

/* One request; returns the HTTP status. */
static inline int fixture_do(struct fixture *r, const char *method, const char *target,
                             const char *type, const char *body)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    r->answered = false;
    r->status = 0;
    fixture_start(r, &sink, r, method, target, type, body);
    for (nsec_t left = r->patience ? r->patience : 100 * NSEC_PER_MSEC; left > 0 && !r->answered;
         left -= NSEC_PER_MSEC)
        loop_advance(r->loop, NSEC_PER_MSEC);
    assert_true(r->answered);
    return r->status;
}

static inline int fixture_get(struct fixture *r, const char *target)
{
    return fixture_do(r, "GET", target, NULL, NULL);
}
static inline int fixture_post(struct fixture *r, const char *target, const char *body)
{
    return fixture_do(r, "POST", target, "application/json", body);
}
static inline int fixture_put(struct fixture *r, const char *target, const char *body)
{
    return fixture_do(r, "PUT", target, "application/json", body);
}
static inline int fixture_delete(struct fixture *r, const char *target, const char *body)
{
    return fixture_do(r, "DELETE", target, "application/json", body);
}

/* A string of the last answer by dotted path; "" when absent. */
static inline const char *fixture_str(const struct fixture *r, const char *path)
{
    return kj_str_or(kj_path(kj_root(r->doc), path), "");
}
static inline const struct kj_val *fixture_val(const struct fixture *r, const char *path)
{
    return kj_path(kj_root(r->doc), path);
}

/* {"a":"b"} from {'a':'b'}, which people can read. Valid until the next call. */
static inline UNUSED char *fixture_json(const char *s)
{
    static char buf[4096];
    size_t n = strlen(s);
    assert_that(n, <, sizeof buf);
    for (size_t i = 0; i <= n; i++)
        buf[i] = s[i] == '\'' ? '"' : s[i];
    return buf;
}

/* A ConfigMap with this name, created. */
static inline void fixture_cm(struct fixture *r, const char *name, const char *labels)
{
    char body[300];
    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
                   "\"labels\":{%s}},\"data\":{\"k\":\"v\"}}",
                   name, labels);
    assert_int_equal(fixture_post(r, CMS, body), 201);
}

/* A watch that writes down what it is told: "ADDED a;MODIFIED a;". */
struct fixture_watch {
    struct api_call *c;
    char log[2000];
    int opened, ended, full_after; /* full_after > 0: says "full" from that event on */
    int n;
    char last_rev[24];
    bool initial_end;
};

static inline void fixture_watch_open(void *arg, struct api_call *c)
{
    (void)c;
    ((struct fixture_watch *)arg)->opened++;
}

static inline bool fixture_watch_event(void *arg, struct api_call *c, const char *type,
                                       const char *json, size_t n)
{
    struct fixture_watch *w = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    (void)c;
    assert_int_equal(kj_parse(json, n, 0, &doc, NULL), 0);
    const struct kj_val *o = kj_root(doc);
    const char *name = kj_str_or(kj_path(o, "metadata.name"), kj_str_or(kj_get(o, "reason"), ""));
    size_t len = strlen(w->log);
    (void)snprintf(w->log + len, sizeof w->log - len, "%s%s%s;", type, *name ? " " : "", name);
    (void)snprintf(w->last_rev, sizeof w->last_rev, "%s",
                   kj_str_or(kj_path(o, "metadata.resourceVersion"), ""));
    w->initial_end =
        kj_get(kj_path(o, "metadata.annotations"), "k8s.io/initial-events-end") != NULL;
    w->n++;
    return !(w->full_after && w->n >= w->full_after);
}

static inline void fixture_watch_end(void *arg, struct api_call *c)
{
    struct fixture_watch *w = arg;
    (void)c;
    w->ended++;
    w->c = NULL;
}

static inline void fixture_watch_reply(void *arg, struct api_call *c, int status, const char *json,
                                       size_t n)
{
    struct fixture_watch *w = arg;
    (void)c;
    (void)snprintf(w->log, sizeof w->log, "%d %.*s", status, (int)MIN(n, (size_t)1000), json);
    w->c = NULL;
    w->ended++;
}

static inline void fixture_watch(struct fixture *r, struct fixture_watch *w, const char *target)
{
    static const struct api_sink sink = { fixture_watch_reply, NULL, fixture_watch_open,
                                          fixture_watch_event, fixture_watch_end };
    int ended = w->ended;
    struct api_call *c = fixture_start(r, &sink, w, "GET", target, NULL, NULL);
    if (w->ended == ended)
        w->c = c;
    loop_advance(r->loop, 10 * NSEC_PER_MSEC);
}

#define FIXTURE_MAIN(tests)                               \
    int main(int argc, char **argv)                       \
    {                                                     \
        if (argc > 1)                                     \
            cmocka_set_test_filter(argv[1]);              \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }
#endif
