/* test_kubeconfig.c - kubeconfig files: what resolves, and what each mistake says. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test/asserts.h"
#include "client/kubeconfig.h"
#include "client/test/client_fixture.h"

static const char good[] =
    "apiVersion: v1\n"
    "kind: Config\n"
    "current-context: main\n"
    "clusters:\n"
    "- name: c1\n"
    "  cluster:\n"
    "    server: https://10.0.0.1:6443\n"
    "    certificate-authority-data: Zm9v\n"
    "    tls-server-name: api.example\n"
    "- name: c2\n"
    "  cluster: {server: 'http://127.0.0.1:8080', insecure-skip-tls-verify: true}\n"
    "users:\n"
    "- name: u1\n"
    "  user: {token: secret}\n"
    "- name: u2\n"
    "  user:\n"
    "    exec:\n"
    "      apiVersion: client.authentication.k8s.io/v1\n"
    "      command: ./login\n"
    "      args: [a, b]\n"
    "      env: [{name: X, value: z}]\n"
    "contexts:\n"
    "- name: main\n"
    "  context: {cluster: c1, user: u1, namespace: team}\n"
    "- name: other\n"
    "  context: {cluster: c2, user: u2}\n";

static void test_the_current_context_is_resolved(void **state)
{
    CLEANUP(kube_config_fini) struct kube_config c = { 0 };
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(kube_config_parse(good, strlen(good), "/dir", NULL, &c, &err), 0);
    assert_string_equal(c.server, "https://10.0.0.1:6443");
    assert_string_equal(c.tls_server_name, "api.example");
    assert_string_equal(c.ns, "team");
    assert_string_equal(c.token, "secret");
    assert_true(str_eqz(c.ca_pem, "foo"));
    assert_null(c.exec.command);
}

static void test_another_context_and_its_exec_plugin(void **state)
{
    CLEANUP(kube_config_fini) struct kube_config c = { 0 };
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(kube_config_parse(good, strlen(good), "/dir", "other", &c, &err), 0);
    assert_true(c.insecure);
    assert_string_equal(c.ns, "default");
    assert_string_equal(c.exec.command, "/dir/./login");
    assert_string_equal(c.exec.args[1], "b");
    assert_string_equal(c.exec.env[0], "X=z");
    assert_null(c.exec.env[1]);
}

/* Each mistake gives one line that says where it is. */
static void refused(const char *text, const char *context, const char *says)
{
    struct kube_config c = { 0 };
    struct kerr err = { 0 };
    int r = kube_config_parse(text, strlen(text), "/nowhere", context, &c, &err);
    if (r >= 0)
        fail_msg("taken: %s", text);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
    assert_null(strchr(err.text, '\n'));
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    refused("", NULL, "empty");
    refused("a: b: c", NULL, "line 1");
    refused("{\"kind\": \"Pod\"}", NULL, "expected Config");
    refused("kind: Config", NULL, "current-context");
    refused(good, "nope", "context 'nope' does not exist (contexts: main, other)");
    refused("current-context: x\ncontexts: [{name: x, context: {cluster: gone}}]", NULL,
            "cluster 'gone' is not defined");
    refused("current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
            "contexts: [{name: x, context: {cluster: c, user: gone}}]",
            NULL, "user 'gone' is not defined");
    refused("current-context: x\nclusters: [{name: c, cluster: {}}]\n"
            "contexts: [{name: x, context: {cluster: c}}]",
            NULL, "server: is required");
    refused("current-context: x\nclusters: [{name: c, cluster: {server: 5}}]\n"
            "contexts: [{name: x, context: {cluster: c}}]",
            NULL, "clusters[0].cluster.server");
    refused("current-context: x\nclusters: [{name: c, cluster: {server: s, "
            "certificate-authority: ca.pem}}]\ncontexts: [{name: x, context: {cluster: c}}]",
            NULL, "/nowhere/ca.pem");
    refused("current-context: x\nclusters: [{name: c, cluster: {server: s, "
            "certificate-authority-data: '*'}}]\ncontexts: [{name: x, context: {cluster: c}}]",
            NULL, "certificate-authority-data: not valid base64");
    refused("current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
            "users: [{name: u, user: {auth-provider: {name: gcp}}}]\n"
            "contexts: [{name: x, context: {cluster: c, user: u}}]",
            NULL, "auth-provider");
    refused("current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
            "users: [{name: u, user: {exec: {command: l, apiVersion: v9}}}]\n"
            "contexts: [{name: x, context: {cluster: c, user: u}}]",
            NULL, "exec.apiVersion");
}

struct files {
    char dir[64];
};

static void write_file(const struct files *f, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void files_init(struct files *f)
{
    snprintf(f->dir, sizeof f->dir, "/tmp/koord-kubeconfig-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
}

static void files_fini_p(struct files *f)
{
    static const char *const names[] = { "a", "b", "token", "ca.crt", "namespace", "pem" };
    char path[128];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof path, "%s/%s", f->dir, names[i]);
        unlink(path);
    }
    rmdir(f->dir);
}

static void test_files_of_a_list_are_merged_first_wins(void **state)
{
    CLEANUP(kube_config_fini) struct kube_config c = { 0 };
    CLEANUP(files_fini) struct files f;
    struct kerr err = { 0 };
    char list[256];

    (void)state;
    files_init(&f);
    write_file(&f, "a", "clusters: [{name: c, cluster: {server: 'https://first'}}]\n");
    write_file(&f, "b",
               "current-context: x\nclusters: [{name: c, cluster: {server: 'https://second'}}]\n"
               "contexts: [{name: x, context: {cluster: c}}]\n");
    snprintf(list, sizeof list, "%s/none:%s/a::%s/b", f.dir, f.dir, f.dir);
    struct kube_config_opts o = { .env_kubeconfig = list };
    assert_int_equal(kube_config_load(&o, &c, &err), 0);
    assert_string_equal(c.server, "https://first");
}

static void test_relative_files_count_from_the_file_that_names_them(void **state)
{
    CLEANUP(kube_config_fini) struct kube_config c = { 0 };
    CLEANUP(files_fini) struct files f;
    struct kerr err = { 0 };
    char path[128];

    (void)state;
    files_init(&f);
    write_file(&f, "pem", "PEM TEXT");
    write_file(&f, "a",
               "current-context: x\n"
               "clusters: [{name: c, cluster: {server: s, certificate-authority: pem}}]\n"
               "contexts: [{name: x, context: {cluster: c}}]\n");
    snprintf(path, sizeof path, "%s/a", f.dir);
    struct kube_config_opts o = { .path = path, .env_kubeconfig = "/ignored" };
    assert_int_equal(kube_config_load(&o, &c, &err), 0);
    assert_true(str_eqz(c.ca_pem, "PEM TEXT"));
    o.path = "/no/such/file";
    struct kube_config none = { 0 };
    assert_int_equal(kube_config_load(&o, &none, &err), -ENOENT);
    assert_contains(err.text, "kubeconfig /no/such/file");
}

static void test_in_cluster_configuration(void **state)
{
    CLEANUP(kube_config_fini) struct kube_config c = { 0 };
    CLEANUP(files_fini) struct files f;
    struct kerr err = { 0 };

    (void)state;
    files_init(&f);
    write_file(&f, "token", "tok\n");
    write_file(&f, "ca.crt", "CA");
    write_file(&f, "namespace", "koordinator-system\n");
    struct kube_config_opts o = {
        .service_host = "fd00::1", .service_port = "443", .sa_dir = f.dir, .home = "/nonexistent"
    };
    assert_int_equal(kube_config_load(&o, &c, &err), 0);
    assert_string_equal(c.server, "https://[fd00::1]:443");
    assert_string_equal(c.ns, "koordinator-system");
    assert_non_null(c.token_file);
    o = (struct kube_config_opts){ .home = "/nonexistent" };
    struct kube_config none = { 0 };
    assert_int_equal(kube_config_load(&o, &none, &err), -ENOENT);
    assert_contains(err.text, "--kubeconfig");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_current_context_is_resolved),
        cmocka_unit_test(test_another_context_and_its_exec_plugin),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_files_of_a_list_are_merged_first_wins),
        cmocka_unit_test(test_relative_files_count_from_the_file_that_names_them),
        cmocka_unit_test(test_in_cluster_configuration),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
