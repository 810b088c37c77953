/* serve.c - paths of the HTTPS port (manager 7.1). */
#include "manager/webhook/serve.h"

#include "manager/quota/topology.h"
#include "manager/webhook/webhook_int.h"
#include "net/httpd.h"

#define JSON "application/json"

static void reply(struct httpd_req *r, const struct strbuf *text)
{
    httpd_reply(r, 200, JSON, strbuf_str(text), text->len);
}

struct waiting { /* a request whose answer waits for a charge */
    struct httpd_req *r;
    struct webhook_review *review;
};

static void on_reviewed(void *arg, const struct strbuf *answer)
{
    struct waiting *x = arg;

    httpd_set_events(x->r, &(struct httpd_events){ NULL }, NULL);
    reply(x->r, answer);
    free(x);
}

static void on_hung_up(void *arg)
{
    struct waiting *x = arg;

    webhook_review_cancel(x->review);
    free(x);
}

static void wait_for(struct httpd_req *r, struct webhook_review *review)
{
    static const struct httpd_events events = { .on_close = on_hung_up };
    struct waiting *x = xnew0(struct waiting);

    *x = (struct waiting){ r, review };
    httpd_set_events(r, &events, x);
    webhook_review_finish(review, on_reviewed, x);
}

static void on_review(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct webhook_route *route = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct str type = httpd_header(r, "content-type");
    struct webhook_review *later = NULL;

    if (!body) {
        webhook_review_unread(413, "request entity is too large; limit is 7340032 bytes", &out);
    } else if (n > 0 && !str_eqz(type, JSON)) {
        CLEANUP(mem_free)
        char *text =
            xasprintf("contentType=%.*s, expected " JSON, (int)MIN(type.n, (size_t)100), type.p);
        webhook_review_unread(400, text, &out);
    } else {
        later = webhook_review(route->w, route->id, body, n, &out);
    }
    if (later)
        wait_for(r, later);
    else
        reply(r, &out);
}

static void on_convert(void *arg, struct httpd_req *r, char *body, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)arg;
    webhook_convert(body, body ? n : 0, &out);
    reply(r, &out);
}

/* What the checks of quotas see. */
static void show_quotas(const struct webhooks *w, struct httpd_req *r)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct quota_topology *t = w->src->quotas(w->src->self);
    struct kjw to = kjw_to(&out);

    if (t)
        topology_write(t, &to);
    else
        strbuf_appendf(&out, "{}");
    reply(r, &out);
}

void webhook_serve(void *webhooks, struct httpd_req *r)
{
    struct webhooks *w = webhooks;
    const char *path = httpd_target(r);
    size_t n = strcspn(path, "?");
    int id = webhook_find(path, n);

    bool dump = id == WEBHOOK_VALIDATE_QUOTA || (n == 13 && memcmp(path, "/elasticQuota", n) == 0);

    if (dump && streq(httpd_method(r), "GET") && w->src->quotas)
        show_quotas(w, r);
    else if (id >= 0 && webhook_active(w, (enum webhook_id)id))
        httpd_read_body(r, on_review, &w->routes[id]);
    else if (n == 8 && memcmp(path, "/healthz", n) == 0)
        httpd_reply(r, 200, NULL, "", 0);
    else if (n == 8 && memcmp(path, "/convert", n) == 0)
        httpd_read_body(r, on_convert, NULL);
    else
        httpd_reply(r, 404, "text/plain; charset=utf-8", "404 page not found\n", 19);
}
