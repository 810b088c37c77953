/* test_extender_tls.c - extenders over real sockets: who is trusted (scheduler-core 4.4). */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include <stdio.h>
#include <unistd.h>

#include "api/pod.h"
#include "base/b64.h"
#include "loop/loop.h"
#include "net/certgen.h"
#include "net/httpd.h"
#include "net/tls.h"
#include "scheduler/config/config.h"
#include "scheduler/extender/extender.h"

struct plugin_fixture {
    struct loop *loop;
    struct httpd *httpd;
    struct strbuf cert, key, ca64;
    char url[64];
    char file[64]; /* with the certificate */
    struct sched_extender_tls tls;
    struct sched_extender e;
    struct kerr err; /* of the answer */
};

static void on_body(void *arg, struct httpd_req *r, char *body, size_t n)
{
    (void)arg, (void)body, (void)n;
    httpd_reply(r, 200, "application/json", "{}", 2);
}

static void on_request(void *arg, struct httpd_req *r)
{
    assert_string_equal(httpd_target(r), "/bind");
    httpd_read_body(r, on_body, arg);
}

static void start(struct plugin_fixture *f)
{
    static const char *const hosts[] = { "localhost", "extender.example", NULL };
    struct certgen_opts c = { "extender", hosts, 0, 1 };
    struct tls_ctx *tls = NULL;
    uint16_t port;

    *f = (struct plugin_fixture){ .loop = loop_new() };
    c.now = loop_wall(f->loop);
    assert_int_equal(certgen_self_signed(&c, &f->cert, &f->key, &f->err), 0);
    b64_encode(f->cert.data, f->cert.len, &f->ca64);
    assert_int_equal(
        tls_server_new(&(struct tls_server_opts){ .cert_pem = { f->cert.data, f->cert.len },
                                                  .key_pem = { f->key.data, f->key.len } },
                       &tls, &f->err),
        0);
    f->httpd = httpd_new(f->loop, &(struct httpd_opts){ 0 }, on_request, f);
    assert_int_equal(httpd_listen(f->httpd, "127.0.0.1:0", tls, &port, &f->err), 0);
    tls_unref(tls);
    (void)snprintf(f->url, sizeof f->url, "https://127.0.0.1:%u", port);
    (void)snprintf(f->file, sizeof f->file, "extender-%d.pem", (int)getpid());
    f->tls = (struct sched_extender_tls){ .server_name = "extender.example",
                                          .cert_file = "",
                                          .key_file = "",
                                          .ca_file = "",
                                          .cert_data = "",
                                          .key_data = "",
                                          .ca_data = "" };
    f->e = (struct sched_extender){ .url_prefix = f->url,
                                    .filter_verb = "",
                                    .preempt_verb = "",
                                    .prioritize_verb = "",
                                    .bind_verb = "bind",
                                    .tls = &f->tls };
}

static void stop_p(struct plugin_fixture *f)
{
    httpd_free(f->httpd);
    loop_free(f->loop);
    strbuf_fini(&f->cert);
    strbuf_fini(&f->key);
    strbuf_fini(&f->ca64);
    (void)unlink(f->file);
}

static void on_bound(void *arg, const struct kerr *err)
{
    struct plugin_fixture *f = arg;
    if (err)
        f->err = *err;
    loop_stop(f->loop);
}

/* 0 when the extender was believed, or the code of the refusal. */
static int ask_one(struct plugin_fixture *f, struct object_fixture *base, struct extenders *s)
{
    CLEANUP(kobj_unref)
    struct kobj *pod =
        fixture_object(base, &kind_pod, "{'metadata':{'name':'p','namespace':'ns','uid':'u'}}");

    f->err = (struct kerr){ 0 };
    struct extender *e = extenders_first(s, EXTENDER_BIND, pod_of(pod));
    assert_non_null(e);
    assert_null(extenders_first(s, EXTENDER_FILTER, pod_of(pod)));
    extender_bind(e, pod, "n", on_bound, f);
    loop_run(f->loop);
    return f->err.code;
}

static int make(struct plugin_fixture *f, struct extenders **ret)
{
    f->err = (struct kerr){ 0 };
    return extenders_new(f->loop, &(struct extenders_opts){ .items = &f->e, .n = 1 }, ret, &f->err);
}

static int ask(struct plugin_fixture *f, struct object_fixture *base)
{
    CLEANUP(extenders_unref) struct extenders *s = NULL;
    return make(f, &s) < 0 ? f->err.code : ask_one(f, base, s);
}

static void put_file(const struct plugin_fixture *f, const struct strbuf *pem)
{
    FILE *file = fopen(f->file, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(pem->data, 1, pem->len, file), pem->len);
    assert_int_equal(fclose(file), 0);
}

static void test_trust(void **state)
{
    CLEANUP(stop) struct plugin_fixture f;

    start(&f);
    assert_int_equal(ask(&f, *state), -EKEYREJECTED); /* nobody knows this certificate */
    f.e.https = true;                                 /* no authority is named: anybody will do */
    assert_int_equal(ask(&f, *state), 0);
    f.e.https = false;
    f.tls.insecure = true;
    assert_int_equal(ask(&f, *state), 0);
    f.tls.insecure = false;
    f.tls.ca_data = strbuf_str(&f.ca64);
    assert_int_equal(ask(&f, *state), 0);
    f.e.https = true;
    assert_int_equal(ask(&f, *state), 0);
    f.tls.server_name = "other.example";
    assert_int_equal(ask(&f, *state), -EKEYREJECTED);
}

static void test_files(void **state)
{
    CLEANUP(stop) struct plugin_fixture f;

    start(&f);
    f.tls.ca_file = f.file;
    assert_int_equal(ask(&f, *state), -ENOENT);
    assert_contains(f.err.text, "extenders[0]: tlsConfig: ");
    put_file(&f, &f.cert);
    assert_int_equal(ask(&f, *state), 0);
    f.tls.ca_data = "%%%"; /* data wins over the file */
    assert_int_equal(ask(&f, *state), -EINVAL);
    assert_string_equal(f.err.text, "extenders[0]: tlsConfig: bad base64 data");
    f.tls.ca_data = "";
    f.tls.cert_file = f.file; /* a certificate without its key */
    assert_that(ask(&f, *state), <, 0);
}

static void look_again(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

static void test_renewed_files_are_read_again(void **state)
{
    static const char *const hosts[] = { "extender.example", NULL };
    CLEANUP(strbuf_fini) struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    CLEANUP(stop) struct plugin_fixture f;
    struct certgen_opts c = { "another", hosts, 0, 1 };
    struct extenders *s = NULL;

    start(&f);
    assert_int_equal(certgen_self_signed(&c, &cert, &key, &f.err), 0);
    put_file(&f, &cert);
    f.tls.ca_file = f.file;
    assert_int_equal(make(&f, &s), 0);
    assert_int_equal(ask_one(&f, *state, s), -EKEYREJECTED);
    put_file(&f, &f.cert);
    for (int i = 0; i < 600 && ask_one(&f, *state, s) < 0; i++) { /* until it was noticed */
        loop_after(f.loop, 100 * NSEC_PER_MSEC, look_again, NULL);
        loop_run(f.loop);
    }
    assert_int_equal(f.err.code, 0);
    extenders_unref(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_trust),
        FIXTURE_TEST(test_files),
        FIXTURE_TEST(test_renewed_files_are_read_again),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
