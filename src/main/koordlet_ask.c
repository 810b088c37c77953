/* koordlet_ask.c - one request to the agent of this machine. */
#include "main/koordlet_ask.h"

#include "base/num.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/http.h"

struct asking {
    struct loop *loop;
    struct http *http;
    struct strbuf body;
    int status;
    struct kerr err;
    koordlet_answer_fn fn;
    void *arg;
};

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct asking *)arg)->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct asking *)arg)->body, p, n);
}

/* Not from inside the call that ends. */
static void on_free(struct loop *l, void *arg)
{
    struct asking *a = arg;

    (void)l;
    a->fn(a->arg, strbuf_str(&a->body), a->body.len, a->err.code < 0 ? &a->err : NULL);
    strbuf_fini(&a->body);
    http_free(a->http);
    free(a);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct asking *a = arg;

    (void)sent;
    if (err)
        a->err = *err;
    else if (a->status != 200)
        kerr_set(&a->err, -EPROTO, "the agent refused to answer: HTTP status %d", a->status);
    loop_post(a->loop, on_free, a);
}

int koordlet_ask(struct loop *l, const char *addr, const char *path, nsec_t timeout,
                 koordlet_answer_fn fn, void *arg, struct kerr *err)
{
    static const struct http_handler on = { .on_headers = on_headers,
                                            .on_data = on_data,
                                            .on_end = on_end };
    const char *colon = strrchr(addr, ':');
    int64_t port = 0;

    if (!colon || i64_parse(colon + 1, strlen(colon + 1), &port) < 0 || port < 1 || port > 65535)
        return kerr_set(err, -EINVAL, "--addr %s has no port", addr);
    CLEANUP(mem_free) char *host = xstrndup(addr, (size_t)(colon - addr));
    bool any = !*host || streq(host, "0.0.0.0") || streq(host, "[::]");
    struct asking *a = xnew0(struct asking);
    a->loop = l;
    a->fn = fn;
    a->arg = arg;
    a->http = http_client_new(l, &(struct http_client_opts){ .host = any ? "127.0.0.1" : host,
                                                             .port = (uint16_t)port,
                                                             .user_agent = "koordlet" });
    http_send(a->http,
              &(struct http_req){
                  .method = "GET", .target = path, .timeout = timeout, .max_body = 64 << 20 },
              &on, a);
    return 0;
}
