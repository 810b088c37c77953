/* hook_fixture.h - webhook servers of one process: what they answer depends on the path, and what
 * they were asked is kept. On the virtual loop, below the HTTP client. */
#ifndef KOORD_APISERVER_TEST_HOOK_FIXTURE_H
#define KOORD_APISERVER_TEST_HOOK_FIXTURE_H
#include "apiserver/admission/admithook.h"
#include "apiserver/admission/hookcall.h"
#include "apiserver/server_int.h"
#include "apiserver/test/api_fixture.h"
#include "base/b64.h"
#include "net/http.h"

enum { HOOKS_MAX = 256 };

struct hook_call;

struct hook_server {
    struct http http;
    struct loop *loop;
    struct kj_doc *asked[HOOKS_MAX]; /* the reviews, in the order they came */
    char paths[HOOKS_MAX][80];
    size_t n;
    nsec_t delay;      /* of every answer */
    unsigned open;     /* calls that wait for theirs */
    unsigned open_max; /* at the same time */
    void (*on_ask)(struct hook_server *h, void *arg);
    /* Instead of hook_answer(). */
    void (*answer)(struct hook_server *h, struct hook_call *c, const char *path,
                   const struct kj_val *review);
    void *arg;
};

struct hook_call {
    struct http_call head;
    struct hook_server *h;
    const struct http_handler *on;
    void *arg;
    struct timer *timer;
    int status, error;
    char *body;
};

static inline void hook_call_free(struct hook_call *c)
{
    timer_cancel(c->timer);
    c->h->open--;
    free(c->body);
    free(c);
}

static inline void hook_reply(struct loop *l, void *arg)
{
    struct hook_call *c = arg;
    const struct http_handler *on = c->on;
    void *on_arg = c->arg;
    const struct http_resp r = { .status = c->status };
    struct kerr err = { 0 };
    int error = c->error;

    (void)l;
    c->timer = NULL;
    if (error) {
        kerr_set(&err, error, "injected");
    } else {
        on->on_headers(on_arg, &r);
        on->on_data(on_arg, c->body, strlen(c->body));
    }
    hook_call_free(c);
    on->on_end(on_arg, error ? &err : NULL, true);
}

static inline char *hook_review(const char *uid, const char *rest)
{
    char *text = NULL;
    assert_true(asprintf(&text,
                         "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
                         "\"response\":{\"uid\":\"%s\",%s}}",
                         uid, rest) > 0);
    return text;
}

static inline char *hook_patch(const char *uid, const char *patch)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT, rest = STRBUF_INIT;

    b64_encode(patch, strlen(patch), &b);
    strbuf_appendf(&rest, "\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":\"%s\"", b.data);
    return hook_review(uid, rest.data);
}

/* By the first word of the path: what this server is like. */
static inline void hook_answer(struct hook_call *c, const char *path, const struct kj_val *review)
{
    const char *uid = kj_str_or(kj_path(review, "request.uid"), "");
    const char *word = path + 1;
    size_t n = strcspn(word, "/?");
    char name[40] = "", patch[200];

    memcpy(name, word, MIN(n, sizeof name - 1));
    c->status = 200;
    if (streq(name, "deny")) {
        c->body =
            hook_review(uid, "\"allowed\":false,\"status\":{\"code\":418,\"reason\":\"Teapot\","
                             "\"message\":\"no\",\"details\":{\"name\":\"pot\"}},"
                             "\"warnings\":[\"hot\"]");
    } else if (str_starts(name, "label-")) {
        (void)snprintf(patch, sizeof patch,
                       "[{\"op\":\"add\",\"path\":\"/data/%s\",\"value\":\"1\"}]", name + 6);
        c->body = hook_patch(uid, patch);
    } else if (streq(name, "broken")) {
        c->body = hook_patch(uid, "[{\"op\":\"remove\",\"path\":\"/spec/nothing/here\"}]");
    } else if (streq(name, "mistyped")) {
        c->body = hook_patch(uid, "[{\"op\":\"add\",\"path\":\"/data\",\"value\":7}]");
    } else if (streq(name, "spoil-owners")) {
        c->body = hook_patch(uid, "[{\"op\":\"add\",\"path\":\"/metadata/managedFields\",\"value\":"
                                  "[{\"manager\":\"hook\",\"operation\":\"Steal\"}]}]");
    } else if (streq(name, "take-owners")) {
        c->body = hook_patch(uid, "[{\"op\":\"add\",\"path\":\"/metadata/managedFields\",\"value\":"
                                  "[{\"manager\":\"hook\",\"operation\":\"Update\",\"apiVersion\":"
                                  "\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{"
                                  "\"f:k\":{}}}}]}]");
    } else if (streq(name, "liar")) {
        c->body = hook_review("somebody-else", "\"allowed\":true");
    } else if (streq(name, "garbage")) {
        c->body = xstrdup("{\"response\":{\"allowed\":\"yes\"");
    } else if (streq(name, "sick")) {
        c->status = 500;
        c->body = xstrdup("out of order\n");
    } else if (streq(name, "hang")) {
        c->error = -ETIMEDOUT;
    } else if (streq(name, "refuse")) {
        c->error = -ECONNREFUSED;
    } else if (streq(name, "cut")) {
        c->error = -ECONNRESET;
    } else if (streq(name, "warn")) {
        c->body = hook_review(uid, "\"allowed\":true,\"warnings\":[\"mind the gap\"]");
    } else {
        c->body = hook_review(uid, "\"allowed\":true");
    }
}

static inline struct http_call *hook_send(struct http *h, const struct http_req *r,
                                          const struct http_handler *on, void *arg)
{
    struct hook_server *s = (struct hook_server *)h;
    struct hook_call *c = xnew0(struct hook_call);

    assert_true(s->n < HOOKS_MAX);
    *c = (struct hook_call){ .head = { h->ops }, .h = s, .on = on, .arg = arg };
    (void)snprintf(s->paths[s->n], sizeof s->paths[0], "%s", r->target);
    assert_int_equal(kj_parse(r->body, r->body_len, 0, &s->asked[s->n], NULL), 0);
    if (s->answer)
        s->answer(s, c, r->target, kj_root(s->asked[s->n]));
    else
        hook_answer(c, r->target, kj_root(s->asked[s->n]));
    s->n++;
    s->open++;
    s->open_max = MAX(s->open_max, s->open);
    c->timer = loop_after(s->loop, c->error == -ETIMEDOUT ? r->timeout : s->delay, hook_reply, c);
    if (s->on_ask)
        s->on_ask(s, s->arg);
    return &c->head;
}

static inline void hook_cancel(struct http_call *c)
{
    hook_call_free((struct hook_call *)c);
}

static inline void hook_pause(struct http_call *c, bool paused)
{
    (void)c, (void)paused;
}

static inline void hook_free(struct http *h)
{
    (void)h;
}

static inline struct http *hook_transport(void *arg, const char *host, uint16_t port)
{
    (void)host, (void)port;
    return &((struct hook_server *)arg)->http;
}

static inline void hook_server_init(struct hook_server *h, struct fixture *r)
{
    static const struct http_ops ops = { hook_send, hook_cancel, hook_pause, hook_free };

    *h = (struct hook_server){ .http = { &ops }, .loop = r->loop, .delay = NSEC_PER_MSEC };
    hookcalls_set_transport(admithooks_calls(r->s->webhooks), hook_transport, h);
}

static inline UNUSED void hook_server_fini_p(struct hook_server *h)
{
    for (size_t i = 0; i < h->n; i++)
        kj_doc_free(h->asked[i]);
    h->n = 0;
}

static inline const char *hook_asked(const struct hook_server *h, size_t i, const char *path)
{
    assert_true(i < h->n);
    return kj_str_or(kj_path(kj_root(h->asked[i]), path), "");
}

#define MUTATING   "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
#define VALIDATING "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
#define ALL_RULES                                                                       \
    "\"rules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"]," \
    "\"resources\":[\"configmaps\",\"pods\",\"pods/*\"]}],"
/* One webhook at this path; more: further members of it, each with a comma behind. */
#define HOOK(name, path, more)                                                           \
    "{\"name\":\"" name ".ex.io\",\"clientConfig\":{\"url\":\"https://127.0.0.1:9/" path \
    "\"}," more "\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"]}"

static inline void hook_config(struct fixture *r, const char *kind, const char *name,
                               const char *hooks)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b, "{\"metadata\":{\"name\":\"%s\"},\"webhooks\":[%s]}", name, hooks);
    if (fixture_post(r, kind, b.data) != 201)
        fail_msg("%s", r->text.data);
}
#endif
