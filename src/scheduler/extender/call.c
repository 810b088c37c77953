/* call.c - one question to an extender, and its answer as a JSON value. */
#include <stdio.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/extender/extender_int.h"
#include "json/kj.h"

/* The whole objects of the largest cluster there is come back from a filter. */
#define ANSWER_MAX (UINT64_C(256) << 20)

struct extender_call {
    struct extender *e;
    const char *verb;
    struct http_call *http;
    struct strbuf answer;
    int status;
    extender_fn fn;
    extender_bound_fn bound; /* instead, of a binding */
    void *arg;
};

static void call_free(struct extender_call *c)
{
    strbuf_fini(&c->answer);
    free(c);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct extender_call *c = arg;
    c->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct extender_call *c = arg;
    if (c->status == 200)
        strbuf_appendn(&c->answer, p, n);
}

/* `Error` of the answer to a filter or a binding. */
static int named_error(const struct kj_val *answer, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    struct error_result said = { 0 };

    if (kj_type(answer) != KJ_OBJ)
        return 0;
    a = arena_new();
    int r = extender_decode(&error_result_schema, answer, a, &said, err);
    if (r == 0 && !str_empty(said.error))
        r = kerr_set(err, -EREMOTEIO, "%s", said.error);
    return r;
}

static int read_answer(const struct extender_call *c, const struct kerr *failed,
                       struct kj_doc **ret, struct kerr *err)
{
    const char *url = c->e->url;

    if (failed)
        return kerr_set(err, failed->code, "Post \"%s/%s\": %s", url, c->verb, failed->text);
    if (c->status != 200)
        return kerr_set(err, -EREMOTEIO, "failed %s with extender at URL %s/%s, code %d", c->verb,
                        url, c->verb, c->status);
    if (kj_parse(strbuf_str(&c->answer), c->answer.len, 0, ret, err) < 0)
        return kerr_wrap(err, "answer of extender at URL %s/%s", url, c->verb);
    return named_error(kj_root(*ret), err);
}

static void on_end(void *arg, const struct kerr *failed, bool sent)
{
    struct extender_call *c = arg, was = *c;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    (void)sent;
    int r = read_answer(c, failed, &doc, &err);
    call_free(c);
    if (was.bound)
        was.bound(was.arg, r < 0 ? &err : NULL);
    else
        was.fn(was.arg, r < 0 ? NULL : kj_root(doc), r < 0 ? &err : NULL);
}

static struct extender_call *post(struct extender *e, enum extender_verb verb,
                                  const struct strbuf *body)
{
    static const struct http_handler handler = { on_headers, on_data, on_end, NULL };
    static const struct http_header json = { STR("content-type"), STR("application/json") };
    CLEANUP(mem_free) char *target = xasprintf("%s/%s", e->path, e->verbs[verb]);
    struct extender_call *c = xnew0(struct extender_call);

    c->e = e;
    c->verb = e->verbs[verb];
    c->http = http_send(e->http,
                        &(struct http_req){
                            .method = "POST",
                            .target = target,
                            .headers = { &json, 1 },
                            .body = body->data,
                            .body_len = body->len,
                            .timeout = e->c.timeout,
                            .max_body = ANSWER_MAX,
                        },
                        &handler, c);
    return c;
}

struct extender_call *extender_post(struct extender *e, enum extender_verb verb,
                                    const struct strbuf *body, extender_fn fn, void *arg)
{
    struct extender_call *c = post(e, verb, body);
    c->fn = fn;
    c->arg = arg;
    return c;
}

struct extender_call *extender_bind(struct extender *e, const struct kobj *pod, const char *node,
                                    extender_bound_fn fn, void *arg)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "PodName", pod->meta.name);
    kjw_str(&w, "PodNamespace", pod->meta.ns);
    extender_put_uid(&w, "PodUID", pod->meta.uid);
    kjw_str(&w, "Node", node);
    kjw_end(&w);
    struct extender_call *c = post(e, EXTENDER_BIND, &body);
    c->bound = fn;
    c->arg = arg;
    return c;
}

struct extender_call *extender_cancel(struct extender_call *c)
{
    if (!c)
        return NULL;
    http_cancel(c->http);
    call_free(c);
    return NULL;
}
