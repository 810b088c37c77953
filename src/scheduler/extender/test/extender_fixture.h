/* extender_fixture.h - a scheduler with extenders, which are all played by one HTTP server in
 * memory.
 *
 * Verbs are told apart by their paths. What a path answers is set beforehand; the last question is
 * kept. Answers use ' for ".
 */
#ifndef KOORD_SCHEDULER_EXTENDER_TEST_EXTENDER_FIXTURE_H
#define KOORD_SCHEDULER_EXTENDER_TEST_EXTENDER_FIXTURE_H
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "net/httpd.h"
#include "net/stream.h"
#include "scheduler/config/config.h"

enum { PATHS_MAX = 8 };

struct fake_extenders {
    struct engine_fixture engine;
    struct httpd *httpd;
    struct path {
        const char *path; /* "/x/filter" */
        int status;       /* 0: never answers */
        char *body;
        nsec_t delay;
        unsigned asked;
        struct kj_doc *last; /* its last question */
    } paths[PATHS_MAX];
    unsigned npaths;
    unsigned cut; /* questions that nobody waits for any more */
};

struct question {
    struct fake_extenders *o;
    struct path *p;
    struct httpd_req *r;
    struct timer *timer;
    int status; /* as set when it was asked */
};

static inline void question_cut(void *arg)
{
    struct question *q = arg;
    q->o->cut++;
    timer_cancel(q->timer);
    free(q);
}

static inline void question_answer(struct loop *l, void *arg)
{
    struct question *q = arg;
    (void)l;
    httpd_reply(q->r, q->status, "application/json", q->p->body, strlen(q->p->body));
    free(q);
}

static inline void fake_extender_body(void *arg, struct httpd_req *r, char *body, size_t n)
{
    static const struct httpd_events events = { .on_close = question_cut };
    struct fake_extenders *o = arg;
    struct kerr err = { 0 };

    for (unsigned i = 0; i < o->npaths; i++) {
        struct path *p = &o->paths[i];
        if (!streq(p->path, httpd_target(r)))
            continue;
        p->asked++;
        p->last = kj_doc_free(p->last);
        assert_int_equal(kj_parse(body, n, 0, &p->last, &err), 0);
        struct question *q = xnew0(struct question);
        *q = (struct question){ o, p, r, NULL, p->status };
        httpd_set_events(r, &events, q);
        if (p->status)
            q->timer = loop_after(o->engine.client.loop, p->delay, question_answer, q);
        return;
    }
    fail_msg("nobody serves %s", httpd_target(r));
}

static inline void fake_extender_request(void *arg, struct httpd_req *r)
{
    assert_string_equal(httpd_method(r), "POST");
    assert_true(str_eqz(httpd_header(r, "content-type"), "application/json"));
    httpd_read_body(r, fake_extender_body, arg);
}

struct fake_extender_dialing {
    struct fake_extenders *o;
    http_dialed_fn fn;
    void *arg;
};
static inline void fake_extender_dialed(struct loop *l, void *arg)
{
    struct fake_extender_dialing *d = arg;
    struct stream *ends[2];
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    httpd_serve(d->o->httpd, ends[1], "mem");
    d->fn(d->arg, ends[0], NULL);
    free(d);
}
static inline void fake_extender_dial(void *arg, struct loop *l, http_dialed_fn fn, void *fn_arg)
{
    struct fake_extender_dialing *d = xnew0(struct fake_extender_dialing);
    *d = (struct fake_extender_dialing){ arg, fn, fn_arg };
    loop_post(l, fake_extender_dialed, d);
}

/* plugins: NULL for the built-in ones. */
static inline void fake_extender_start_with(struct fake_extenders *o,
                                            const struct sched_extender *extenders, size_t n,
                                            const struct ks_registered *plugins)
{
    struct client_fixture *client = &o->engine.client;
    struct kerr err = { 0 };

    *o = (struct fake_extenders){ 0 };
    client_fixture_init(client, 1);
    o->httpd = httpd_new(client->loop, &(struct httpd_opts){ 0 }, fake_extender_request, o);
    o->engine.s = scheduler_new(client->loop, client->kube,
                                &(struct scheduler_opts){ .verify_reuse = true,
                                                          .plugins = plugins,
                                                          .extenders = extenders,
                                                          .nextenders = n,
                                                          .extender_dial = fake_extender_dial,
                                                          .extender_dial_arg = o },
                                &err);
    assert_string_equal(err.text, "");
    scheduler_start(o->engine.s);
    client_fixture_run(client, SEC);
}

static inline void fake_extender_start(struct fake_extenders *o,
                                       const struct sched_extender *extenders, size_t n)
{
    fake_extender_start_with(o, extenders, n, NULL);
}

static inline UNUSED void fake_extender_stop_p(struct fake_extenders *o)
{
    scheduler_free(o->engine.s);
    httpd_free(o->httpd);
    for (unsigned i = 0; i < o->npaths; i++) {
        kj_doc_free(o->paths[i].last);
        free(o->paths[i].body);
    }
    client_fixture_fini(&o->engine.client);
}

static inline struct path *fake_extender_path(struct fake_extenders *o, const char *path)
{
    for (unsigned i = 0; i < o->npaths; i++)
        if (streq(o->paths[i].path, path))
            return &o->paths[i];
    assert_that(o->npaths, <, PATHS_MAX);
    o->paths[o->npaths].path = path;
    return &o->paths[o->npaths++];
}

/* status 0: never answers. */
static inline void fake_extender_answer(struct fake_extenders *o, const char *path, int status,
                                        const char *body)
{
    struct path *p = fake_extender_path(o, path);
    free(p->body);
    p->body = xstrdup(body);
    p->status = status;
    for (char *c = p->body; *c; c++)
        *c = *c == '\'' ? '"' : *c;
}

static inline UNUSED unsigned fake_extender_asked(struct fake_extenders *o, const char *path)
{
    return fake_extender_path(o, path)->asked;
}
/* A member of the last question; valid until the next one. */
static inline UNUSED const struct kj_val *fake_extender_said(struct fake_extenders *o,
                                                             const char *path, const char *member)
{
    return kj_path(kj_root(fake_extender_path(o, path)->last), member);
}

/* One that serves nothing yet. */
static inline UNUSED struct sched_extender fake_extender_extender(void)
{
    return (struct sched_extender){
        .url_prefix = "http://extender:8080/x/",
        .filter_verb = "",
        .preempt_verb = "",
        .prioritize_verb = "",
        .bind_verb = "",
        .weight = 1,
        .node_cache_capable = true,
    };
}

static inline UNUSED void fake_extender_two_nodes(struct fake_extenders *o)
{
    engine_node(&o->engine, "n1", 4000, 8192, 110, "");
    engine_node(&o->engine, "n2", 4000, 8192, 110, "");
    client_fixture_run(&o->engine.client, SEC);
}
#endif
