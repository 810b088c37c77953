/* test_manager_hookport.c - the port of the webhooks on real sockets: it answers itself, and
 * follows its certificate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "loop/loop.h"
#include "manager/registration/certset.h"
#include "manager/registration/hookport.h"
#include "net/http.h"
#include "net/tls.h"

struct fixture {
    struct loop *loop;
    char dir[64];
    uint16_t port;
    struct certset certs;
    struct hookport *p;
    bool ended, done;
    struct kerr err;
    int status;
};

static void answer(void *arg, struct httpd_req *r)
{
    (void)arg;
    httpd_reply(r, 200, "text/plain", "", 0);
}

static uint16_t free_port(struct loop *l)
{
    CLEANUP(httpd_free) struct httpd *d = httpd_new(l, &(struct httpd_opts){ 0 }, answer, NULL);
    uint16_t port = 0;

    assert_int_equal(httpd_listen(d, "127.0.0.1:0", NULL, &port, NULL), 0);
    return port;
}

static void renew(struct fixture *f)
{
    const struct certset none = { 0 };

    assert_int_equal(certset_make(&none, "127.0.0.1", loop_wall(f->loop), &f->certs, NULL), 0);
    assert_int_equal(certdir_write(f->dir, &f->certs, loop_wall(f->loop), NULL), 0);
}

static void init(struct fixture *f)
{
    *f = (struct fixture){ .loop = loop_new() };
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/koord-test-port-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->port = free_port(f->loop);
    renew(f);
}

static void fini(struct fixture *f)
{
    CLEANUP(mem_free) char *command = xasprintf("rm -r %s", f->dir);

    hookport_free(f->p);
    certset_fini(&f->certs);
    loop_free(f->loop);
    assert_int_equal(system(command), 0);
}

static int start(struct fixture *f, struct kerr *err)
{
    const struct hookport_opts o = {
        .dir = f->dir, .address = "127.0.0.1", .port = f->port, .serve = answer
    };
    return hookport_new(f->loop, &o, &f->p, err);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void on_tick(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* Up to ten seconds. */
static bool wait_for(struct fixture *f, bool (*is)(struct fixture *f))
{
    for (int i = 0; i < 200 && !is(f); i++) {
        loop_after(f->loop, 50 * NSEC_PER_MSEC, on_tick, NULL);
        loop_run(f->loop);
    }
    return is(f);
}

static bool is_well(struct fixture *f)
{
    struct kerr err = { 0 };
    return hookport_check(f->p, &err) == 0;
}

static void on_headers(void *arg, const struct http_resp *r)
{
    ((struct fixture *)arg)->status = r->status;
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct fixture *f = arg;

    (void)sent;
    f->ended = true;
    f->err = err ? *err : (struct kerr){ 0 };
}

static bool has_ended(struct fixture *f)
{
    return f->ended;
}

/* By a client that trusts the CA of the newest certificates alone. */
static bool is_trusted(struct fixture *f)
{
    static const struct http_handler on = { .on_headers = on_headers, .on_end = on_end };
    CLEANUP(tls_unref) struct tls_ctx *tls = NULL;
    const struct tls_client_opts o = { .ca_pem = certset_get(&f->certs, CERTSET_CA) };

    assert_int_equal(tls_client_new(&o, &tls, NULL), 0);
    CLEANUP(http_free)
    struct http *h = http_client_new(
        f->loop, &(struct http_client_opts){ .host = "127.0.0.1", .port = f->port, .tls = tls });
    f->ended = false;
    f->status = 0;
    http_send(h, &(struct http_req){ .method = "GET", .target = "/", .timeout = 5 * NSEC_PER_SEC },
              &on, f);
    return wait_for(f, has_ended) && f->status == 200;
}

static void on_stopped(void *arg)
{
    ((struct fixture *)arg)->done = true;
}

static bool has_stopped(struct fixture *f)
{
    return f->done;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_it_answers_itself_and_follows_its_certificate(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };

    (void)state;
    init(&f);
    assert_int_equal(start(&f, &err), 0);
    assert_true(hookport_check(f.p, &err) < 0);
    assert_string_equal(err.text, "webhook port: not asked yet");
    assert_true(wait_for(&f, is_well));
    assert_true(is_trusted(&f));
    renew(&f); /* another CA */
    assert_true(wait_for(&f, is_trusted));
    assert_true(wait_for(&f, is_well));
    hookport_stop(f.p, NSEC_PER_SEC, on_stopped, &f);
    assert_true(wait_for(&f, has_stopped));
    assert_false(is_trusted(&f));
    fini(&f);
}

static void test_what_it_cannot_serve_with(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };

    (void)state;
    init(&f);
    strbuf_reset(&f.certs.part[CERTSET_KEY]);
    strbuf_append(&f.certs.part[CERTSET_KEY], "no key");
    assert_int_equal(certdir_write(f.dir, &f.certs, loop_wall(f.loop), NULL), 0);
    assert_true(start(&f, &err) < 0);
    assert_non_null(strstr(err.text, "webhook port: webhook certificate"));
    renew(&f);
    assert_int_equal(start(&f, &err), 0);
    struct hookport *other = NULL;
    const struct hookport_opts taken = {
        .dir = f.dir, .address = "127.0.0.1", .port = f.port, .serve = answer
    };
    assert_true(hookport_new(f.loop, &taken, &other, &err) < 0);
    assert_null(other);
    /* A broken version leaves the old one in use. */
    strbuf_reset(&f.certs.part[CERTSET_CERT]);
    assert_int_equal(certdir_write(f.dir, &f.certs, loop_wall(f.loop), NULL), 0);
    assert_true(wait_for(&f, is_trusted));
    fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_answers_itself_and_follows_its_certificate),
        cmocka_unit_test(test_what_it_cannot_serve_with),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
