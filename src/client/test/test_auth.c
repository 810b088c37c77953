/* test_auth.c - credentials: where they come from and how they are renewed. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/test/asserts.h"
#include "client/auth.h"
#include "client/kubeconfig.h"
#include "client/test/client_fixture.h"

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    assert_int_equal(chmod(path, mode), 0);
}

struct outcome {
    int calls, code;
    char text[256];
};

static void on_ready(void *arg, const struct kerr *err)
{
    struct outcome *o = arg;
    o->calls++;
    o->code = err ? err->code : 0;
    snprintf(o->text, sizeof o->text, "%s", err ? err->text : "");
}

static void test_token_and_basic_headers(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(WALL0, 1);
    struct kube_config token = { .token = "abc" }, basic = { .username = "u", .password = "p" };
    struct kube_config none = { 0 };

    (void)state;
    struct auth *a = auth_new(l, &token), *b = auth_new(l, &basic), *c = auth_new(l, &none);
    assert_string_equal(auth_header(a), "Bearer abc");
    assert_string_equal(auth_header(b), "Basic dTpw");
    assert_null(auth_header(c));
    assert_true(auth_ready(c, on_ready, NULL));
    assert_false(auth_rejected(a)); /* nothing fresher to be had */
    auth_free(a);
    auth_free(b);
    auth_free(c);
}

static void test_token_file_is_read_again(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(WALL0, 1);
    char path[] = "/tmp/koord-token-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_that(fd, >=, 0);
    close(fd);
    klog_set_sink(client_fixture_quiet, NULL);
    write_file(path, "one\n", 0600);
    struct kube_config c = { .token_file = path };
    struct auth *a = auth_new(l, &c);
    assert_string_equal(auth_header(a), "Bearer one");
    write_file(path, "two", 0600);
    loop_advance(l, 30 * NSEC_PER_SEC);
    assert_string_equal(auth_header(a), "Bearer one");
    loop_advance(l, 31 * NSEC_PER_SEC);
    assert_string_equal(auth_header(a), "Bearer two");
    write_file(path, "three", 0600);
    assert_true(auth_rejected(a)); /* a 401 does not wait for the minute */
    assert_string_equal(auth_header(a), "Bearer three");
    unlink(path);
    loop_advance(l, 61 * NSEC_PER_SEC);
    assert_string_equal(auth_header(a), "Bearer three"); /* the last one stays */
    auth_free(a);
}

struct plugin {
    char path[64];
    struct kube_config config;
};

static void plugin_init(struct plugin *p, const char *script)
{
    snprintf(p->path, sizeof p->path, "/tmp/koord-plugin-XXXXXX");
    int fd = mkstemp(p->path);
    assert_that(fd, >=, 0);
    close(fd);
    write_file(p->path, script, 0700);
    p->config = (struct kube_config){ 0 };
    p->config.exec = (struct kube_exec){
        .command = p->path,
        .api_version = "client.authentication.k8s.io/v1",
    };
}

static void test_exec_plugin_gives_a_token_until_it_expires(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(WALL0, 1);
    struct outcome o = { 0 };
    struct plugin p;

    (void)state;
    /* WALL0 is 2025-11-15T09:46:40Z. */
    plugin_init(&p, "#!/bin/sh\n"
                    "case $KUBERNETES_EXEC_INFO in *ExecCredential*) ;; *) exit 9;; esac\n"
                    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication."
                    "k8s.io/v1\",\"status\":{\"token\":\"t1\",\"expirationTimestamp\":"
                    "\"2025-11-15T10:00:00Z\"}}'\n");
    struct auth *a = auth_new(l, &p.config);
    assert_false(auth_ready(a, on_ready, &o));
    assert_int_equal(o.calls, 0);
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(o.calls, 1);
    assert_int_equal(o.code, 0);
    assert_string_equal(auth_header(a), "Bearer t1");
    assert_true(auth_ready(a, on_ready, &o));
    loop_advance(l, 900 * NSEC_PER_SEC); /* past its end */
    assert_false(auth_ready(a, on_ready, &o));
    auth_forget(a, &o);
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(o.calls, 1);
    assert_true(auth_rejected(a));
    auth_free(a);
    unlink(p.path);
}

static void test_exec_plugin_is_told_of_the_cluster_when_it_asks(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(WALL0, 1);
    struct outcome o = { 0 };
    struct plugin p;

    (void)state;
    /* The token it gives is what it was told, without the blanks a header cannot have. */
    plugin_init(
        &p,
        "#!/bin/sh\n"
        "s=$(printf %s \"$KUBERNETES_EXEC_INFO\" | tr -d '\"{} ')\n"
        "echo "
        "\"{\\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{\\\"token\\\":\\\"$s\\\"}}\"\n");
    p.config.server = "https://h:1";
    p.config.ca_pem = STR("foo");
    p.config.exec.provide_cluster_info = true;
    struct auth *a = auth_new(l, &p.config);
    assert_false(auth_ready(a, on_ready, &o));
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(o.code, 0);
    assert_contains(auth_header(a), "cluster:server:https://h:1,"
                                    "certificate-authority-data:Zm9v,");
    assert_contains(auth_header(a), "interactive:false");
    auth_free(a);
    unlink(p.path);
}

static void failing_plugin(const char *script, const char *says)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(WALL0, 1);
    struct outcome o = { 0 };
    struct plugin p;

    plugin_init(&p, script);
    struct auth *a = auth_new(l, &p.config);
    assert_false(auth_ready(a, on_ready, &o));
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(o.calls, 1);
    assert_that(o.code, <, 0);
    if (!strstr(o.text, says))
        fail_msg("'%s' does not say '%s'", o.text, says);
    auth_free(a);
    unlink(p.path);
}

static void test_exec_plugin_failures_say_why(void **state)
{
    (void)state;
    failing_plugin("#!/bin/sh\necho 'log in first' >&2; exit 3\n", "status 3: log in first");
    failing_plugin("#!/bin/sh\necho nonsense\n", "its output");
    failing_plugin("#!/bin/sh\necho '{\"kind\":\"Pod\"}'\n", "not an ExecCredential");
    failing_plugin("#!/bin/sh\necho '{\"kind\":\"ExecCredential\"}'\n", "neither a token");
}

static void test_plugin_may_end_after_the_auth(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(WALL0, 1);
    struct outcome o = { 0 };
    struct plugin p;

    (void)state;
    plugin_init(&p, "#!/bin/sh\necho '{}'\n");
    struct auth *a = auth_new(l, &p.config);
    assert_false(auth_ready(a, on_ready, &o));
    auth_free(a);
    loop_advance(l, NSEC_PER_SEC);
    assert_int_equal(o.calls, 0);
    unlink(p.path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_and_basic_headers),
        cmocka_unit_test(test_token_file_is_read_again),
        cmocka_unit_test(test_exec_plugin_gives_a_token_until_it_expires),
        cmocka_unit_test(test_exec_plugin_is_told_of_the_cluster_when_it_asks),
        cmocka_unit_test(test_exec_plugin_failures_say_why),
        cmocka_unit_test(test_plugin_may_end_after_the_auth),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
