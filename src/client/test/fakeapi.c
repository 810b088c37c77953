/* fakeapi.c - a small API server for tests: its connections, faults and life. */
#include <stdio.h>

#include "base/strbuf.h"
#include "client/test/fakeapi_int.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"

/* ---- requests ---------------------------------------------------------------------------------
 */

static void wrote(struct fakeapi *f, uint64_t before, const char *agent, const char *method,
                  const char *target, const struct kj_val *body)
{
    if (f->on_write && f->revision != before)
        f->on_write(f->on_write_arg, agent, method, target, body);
}

static void serve(struct fakeapi *f, struct httpd_req *r, const char *body, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct str agent = httpd_header(r, "user-agent");
    uint64_t before = f->revision;
    char who[64], method[16], target[512];

    if (n > 0 && kj_parse(body, n, 0, &doc, NULL) < 0) {
        fake_answer_status(r, 400, "BadRequest", "unreadable body", -1);
        return;
    }
    /* the answer may be the end of the request */
    (void)snprintf(who, sizeof who, "%.*s", (int)agent.n, agent.p ? agent.p : "");
    (void)snprintf(method, sizeof method, "%s", httpd_method(r));
    (void)snprintf(target, sizeof target, "%s", httpd_target(r));
    fake_dispatch(f, r, doc ? kj_root(doc) : NULL);
    wrote(f, before, who, method, target, doc ? kj_root(doc) : NULL);
}

static void delayed_drop(struct delayed *d)
{
    struct fakeapi *f = d->f;
    vec_foreach(&f->waiting, i) {
        if (f->waiting.items[i] == d) {
            vec_swap_remove(&f->waiting, i);
            break;
        }
    }
    timer_cancel(d->timer);
    free(d->body);
    free(d->agent);
    free(d->target);
    free(d);
}

static void delayed_closed(void *arg)
{
    struct delayed *d = arg;

    d->req = NULL;
    if (!d->f->late || d->f->breaking || !fake_is_binding(d->target))
        delayed_drop(d);
}

static void bind_late(struct delayed *d)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct fakeapi *f = d->f;
    uint64_t before = f->revision;
    char prefix[256], ns[128], name[256];

    fake_split_target(d->target, prefix, sizeof prefix, ns, sizeof ns, name, sizeof name);
    struct object *o = fake_object_find(f, prefix, ns, name);
    if (!o || kj_parse(d->body, d->n, 0, &doc, NULL) < 0)
        return;
    fake_bind_pod(f, o, kj_root(doc));
    wrote(f, before, d->agent, "POST", d->target, kj_root(doc));
}

static void delayed_serve(struct loop *l, void *arg)
{
    static const struct httpd_events none = { 0 };
    struct delayed *d = arg;
    (void)l;
    d->timer = NULL;
    if (d->req) {
        httpd_set_events(d->req, &none, NULL);
        serve(d->f, d->req, d->body, d->n);
    } else {
        bind_late(d);
    }
    delayed_drop(d);
}

static bool is_refused(const struct fakeapi *f, const struct httpd_req *r)
{
    return (!f->answer_method || streq(f->answer_method, httpd_method(r))) &&
           (!f->answer_target || strstr(httpd_target(r), f->answer_target));
}

void fake_say(struct fakeapi *f, const char *path, int status, const char *body)
{
    struct said *s = NULL;

    vec_foreach(&f->sayings, i)
        if (streq(f->sayings.items[i].path, path))
            s = &f->sayings.items[i];
    if (!s) {
        vec_push(&f->sayings, ((struct said){ .path = xstrdup(path) }));
        s = &vec_last(&f->sayings);
    }
    free(s->body);
    s->body = xstrdup(body);
    s->status = status;
}

static const struct said *find_saying(const struct fakeapi *f, const struct httpd_req *r)
{
    size_t n = strcspn(httpd_target(r), "?");

    vec_foreach(&f->sayings, i)
        if (strlen(f->sayings.items[i].path) == n &&
            memcmp(f->sayings.items[i].path, httpd_target(r), n) == 0)
            return &f->sayings.items[i];
    return NULL;
}

static void on_body(void *arg, struct httpd_req *r, char *body, size_t n)
{
    static const struct httpd_events waiting = { .on_close = delayed_closed };
    struct fakeapi *f = arg;
    struct str auth = httpd_header(r, "authorization");

    f->stats.requests++;
    (void)snprintf(f->stats.last_target, sizeof f->stats.last_target, "%s", httpd_target(r));
    struct str agent = httpd_header(r, "user-agent");
    (void)snprintf(f->stats.last_agent, sizeof f->stats.last_agent, "%.*s", (int)agent.n,
                   agent.p ? agent.p : "");
    if (f->auth && !str_eqz(auth, f->auth)) {
        fake_answer_status(r, 401, "Unauthorized", "Unauthorized", -1);
        return;
    }
    if (f->answer_n > 0 && is_refused(f, r)) {
        f->answer_n--;
        fake_answer_status(r, f->answer_status, "", "asked to fail", f->answer_after);
        return;
    }
    const struct said *said = find_saying(f, r);
    if (said) {
        httpd_reply(r, said->status, *said->body == '{' ? "application/json" : "text/plain",
                    said->body, strlen(said->body));
        return;
    }
    if (f->slow == 0) {
        serve(f, r, body, n);
        return;
    }
    struct delayed *d = xnew0(struct delayed);
    *d = (struct delayed){ .f = f, .req = r, .body = xmemdup(body, n), .n = n };
    d->agent = xasprintf("%.*s", (int)agent.n, agent.p ? agent.p : "");
    d->target = xstrdup(httpd_target(r));
    vec_push(&f->waiting, d);
    httpd_set_events(r, &waiting, d);
    d->timer = loop_after(f->loop, f->slow, delayed_serve, d);
}

static void on_request(void *arg, struct httpd_req *r)
{
    httpd_read_body(r, on_body, arg);
}

/* ---- connections, life ------------------------------------------------------------------------
 */

struct dialing {
    struct fakeapi *f;
    http_dialed_fn fn;
    void *arg;
};

static void dialed(struct loop *l, void *arg)
{
    struct dialing *d = arg;
    struct stream *ends[2];
    struct kerr err = { 0 };

    if (d->f->refuse) {
        kerr_set(&err, -ECONNREFUSED, "connection refused");
        d->fn(d->arg, NULL, &err);
    } else {
        stream_mem_pair(l, &(struct mem_opts){ .latency = NSEC_PER_MSEC }, ends);
        httpd_serve(d->f->httpd, ends[1], "memory");
        d->fn(d->arg, ends[0], NULL);
    }
    free(d);
}

static void dial(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct dialing *d = xnew(struct dialing);
    *d = (struct dialing){ arg, fn, fn_arg };
    loop_post(l, dialed, d);
}

struct http *fake_client(struct fakeapi *f)
{
    return fake_client_as(f, "fake-test");
}

struct http *fake_client_as(struct fakeapi *f, const char *agent)
{
    struct http_client_opts o = {
        .host = "fake",
        .port = 80,
        .dial = dial,
        .dial_arg = f,
        .h2_prior_knowledge = true,
        .user_agent = agent,
    };
    return http_client_new(f->loop, &o);
}

void fake_break_connections(struct fakeapi *f)
{
    struct httpd *old = f->httpd;
    struct httpd_opts o = { .max_conns = 100000 };
    /* A new server for new connections: all the old ones are gone at once. */
    f->httpd = httpd_new(f->loop, &o, on_request, f);
    f->breaking = true;
    httpd_free(old);
    f->breaking = false;
}

struct fakeapi *fake_new(struct loop *l)
{
    struct fakeapi *f = xnew0(struct fakeapi);
    struct httpd_opts o = { .max_conns = 100000 };
    f->loop = l;
    f->revision = 100;
    f->httpd = httpd_new(l, &o, on_request, f);
    return f;
}

struct fakeapi *fake_free(struct fakeapi *f)
{
    if (!f)
        return NULL;
    f->breaking = true;
    httpd_free(f->httpd);
    while (f->waiting.n)
        delayed_drop(f->waiting.items[0]);
    fake_store_fini(f);
    vec_fini(&f->watchers);
    vec_fini(&f->waiting);
    vec_foreach(&f->sayings, i) {
        free(f->sayings.items[i].path);
        free(f->sayings.items[i].body);
    }
    vec_fini(&f->sayings);
    free(f->auth);
    free(f);
    return NULL;
}

void fake_refuse(struct fakeapi *f, bool refuse)
{
    f->refuse = refuse;
}

void fake_answer_next(struct fakeapi *f, int n, int status, int retry_after)
{
    f->answer_n = n;
    f->answer_status = status;
    f->answer_after = retry_after;
    f->answer_method = f->answer_target = NULL;
}

void fake_answer_next_to(struct fakeapi *f, const char *method, const char *target, int n,
                         int status)
{
    fake_answer_next(f, n, status, -1);
    f->answer_method = method;
    f->answer_target = target;
}

void fake_replay_on_watch(struct fakeapi *f, unsigned n)
{
    f->replay = n;
}

void fake_slow(struct fakeapi *f, nsec_t delay)
{
    f->slow = delay;
}

void fake_late(struct fakeapi *f, bool late)
{
    f->late = late;
}

void fake_graceful(struct fakeapi *f, bool graceful)
{
    f->graceful = graceful;
}

void fake_on_write(struct fakeapi *f, fake_wrote_fn fn, void *arg)
{
    f->on_write = fn;
    f->on_write_arg = arg;
}

void fake_require_auth(struct fakeapi *f, const char *header)
{
    free(f->auth);
    f->auth = header ? xstrdup(header) : NULL;
}

struct fake_stats fake_stats(const struct fakeapi *f)
{
    struct fake_stats s = f->stats;
    s.open_watches = (unsigned)f->watchers.n;
    return s;
}
