/* test_manager_registration.c - certificates and webhook configurations, with two replicas on the
 * virtual loop over the fake API server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/b64.h"
#include "base/test/asserts.h"
#include "client/test/client_fixture.h"
#include "manager/registration/certset.h"
#include "manager/registration/hookconfig.h"
#include "manager/registration/registration.h"
#include "net/certauth.h"
#include "sys/file.h"
#include "json/kj.h"

#define SECONDS(n) ((n)*NSEC_PER_SEC)
#define SECRETS    "/api/v1/namespaces/koordinator-system/secrets"
#define SECRET     "koordinator-webhook-certs"
#define GROUP      "/apis/admissionregistration.k8s.io/v1/"
#define MUTATING   GROUP "mutatingwebhookconfigurations"
#define VALIDATING GROUP "validatingwebhookconfigurations"
#define MNAME      "koordinator-mutating-webhook-configuration"
#define VNAME      "koordinator-validating-webhook-configuration"
#define HOST       "koordinator-webhook-service.koordinator-system.svc"

#define ENTRY(name, path)                                                                  \
    "{\"name\":\"" name "\",\"clientConfig\":{\"service\":{\"name\":\"x\","                \
    "\"namespace\":\"y\",\"path\":\"" path "\"}},\"rules\":[{\"operations\":[\"CREATE\"]," \
    "\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"resources\":[\"pods\"]}],"            \
    "\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"]}"

enum { REPLICAS = 2 };
struct fixture {
    struct client_fixture r;
    struct registration *replicas[REPLICAS];
    char dirs[REPLICAS][64];
    unsigned installed, mutating_writes, validating_writes;
    bool no_validation;
    unsigned port_step; /* between the replicas */
    const char *condition;
};

static bool serves(void *arg, const char *path)
{
    const struct fixture *f = arg;
    return streq(path, "/mutate-pod") || (streq(path, "/validate-pod") && !f->no_validation);
}

static void condition(void *arg, const char *path, struct strbuf *out)
{
    const struct fixture *f = arg;
    if (f->condition && streq(path, "/mutate-pod"))
        strbuf_append(out, f->condition);
}

static void installed(void *arg)
{
    ((struct fixture *)arg)->installed++;
}

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct fixture *f = arg;

    (void)agent, (void)method, (void)body;
    f->mutating_writes += str_starts(target, MUTATING);
    f->validating_writes += str_starts(target, VALIDATING);
}

static void make_configurations(struct fixture *f)
{
    fake_put(f->r.fake, MUTATING, MNAME,
             "{\"webhooks\":[" ENTRY("mpod-create.koordinator.sh", "/mutate-pod") "]}");
    fake_put(f->r.fake, VALIDATING, VNAME,
             "{\"webhooks\":[" ENTRY("vpod.koordinator.sh", "/validate-pod") "," ENTRY(
                 "velasticquota.koordinator.sh", "/validate-quota") "]}");
}

static void start(struct fixture *f, size_t i, const char *host)
{
    const struct registration_opts o = { .host = host,
                                         .port = (uint16_t)(9443 + i * f->port_step),
                                         .cert_dir = f->dirs[i],
                                         .writer = "secret",
                                         .serves = serves,
                                         .condition = condition,
                                         .installed = installed,
                                         .arg = f };

    f->replicas[i] = registration_new(f->r.loop, f->r.kube, &o);
    registration_start(f->replicas[i]);
}

static void init(struct fixture *f)
{
    *f = (struct fixture){ 0 };
    client_fixture_init(&f->r, 5);
    fake_on_write(f->r.fake, on_write, f);
    for (size_t i = 0; i < REPLICAS; i++) {
        (void)snprintf(f->dirs[i], sizeof f->dirs[i], "/tmp/koord-test-certs-XXXXXX");
        assert_non_null(mkdtemp(f->dirs[i]));
    }
}

static void fini(struct fixture *f)
{
    for (size_t i = 0; i < REPLICAS; i++) {
        registration_free(f->replicas[i]);
        CLEANUP(mem_free) char *command = xasprintf("rm -r %s", f->dirs[i]);
        assert_int_equal(system(command), 0);
    }
    client_fixture_fini(&f->r);
}

static void run(struct fixture *f, nsec_t by)
{
    client_fixture_run(&f->r, by);
}

/* ---- what is there --------------------------------------------------------------------------- */

static struct kj_doc *webhooks_of(struct fixture *f, const char *collection, const char *name)
{
    const char *text = fake_find(f->r.fake, collection, name);
    struct kj_doc *doc = NULL;

    assert_non_null(text);
    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    return doc;
}

static void bundle_of(struct fixture *f, const char *collection, const char *name,
                      struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = webhooks_of(f, collection, name);
    hookconfig_trusted(kj_get(kj_root(doc), "webhooks"), out);
}

static size_t bundle_size(struct fixture *f)
{
    CLEANUP(strbuf_fini) struct strbuf all = STRBUF_INIT, once = STRBUF_INIT;
    bundle_of(f, MUTATING, MNAME, &all);
    return certauth_bundle(&(struct str){ all.data, all.len }, 1, 8, loop_wall(f->r.loop), &once);
}

/* What a replica serves is trusted by both configurations, at any time. */
static void assert_trusted(struct fixture *f)
{
    for (size_t i = 0; i < REPLICAS; i++) {
        CLEANUP(strbuf_fini) struct strbuf m = STRBUF_INIT, v = STRBUF_INIT;
        CLEANUP(certset_fini) struct certset s = { 0 };
        certdir_read(f->dirs[i], &s);
        if (s.part[CERTSET_CA].len == 0)
            continue;
        bundle_of(f, MUTATING, MNAME, &m);
        bundle_of(f, VALIDATING, VNAME, &v);
        assert_true(certauth_contains((struct str){ m.data, m.len }, certset_get(&s, CERTSET_CA)));
        assert_true(certauth_contains((struct str){ v.data, v.len }, certset_get(&s, CERTSET_CA)));
    }
}

static void run_watching(struct fixture *f, nsec_t by)
{
    for (nsec_t t = 0; t < by; t += 100 * NSEC_PER_MSEC) {
        run(f, 100 * NSEC_PER_MSEC);
        assert_trusted(f);
    }
}

static void read_certs(struct fixture *f, size_t i, struct certset *ret)
{
    certdir_read(f->dirs[i], ret);
    assert_int_equal(certset_check(ret, HOST, loop_wall(f->r.loop), NULL), 0);
}

static int ready(struct fixture *f, size_t i, struct kerr *err)
{
    return registration_check(f->replicas[i], err);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_two_replicas_end_with_one_secret_and_one_ca(void **state)
{
    struct fixture f;
    CLEANUP(certset_fini) struct certset a = { 0 }, b = { 0 };
    struct kerr err = { 0 };
    struct stat st;
    char path[128];

    (void)state;
    init(&f);
    make_configurations(&f);
    start(&f, 0, NULL);
    start(&f, 1, NULL);
    assert_int_equal(ready(&f, 0, &err), -EAGAIN);
    assert_string_equal(err.text, "webhook controller has not initialized");
    run_watching(&f, SECONDS(3));
    assert_int_equal(f.installed, 2);
    assert_int_equal(ready(&f, 0, &err), 0);
    read_certs(&f, 0, &a);
    read_certs(&f, 1, &b);
    assert_true(certset_equal(&a, &b));
    assert_int_equal(fake_count(f.r.fake, "secrets"), 1);
    assert_int_equal(bundle_size(&f), 1);
    /* The key of the CA is in the Secret only; files are ours alone. */
    assert_int_equal(a.part[CERTSET_CA_KEY].len, 0);
    assert_contains(fake_find(f.r.fake, SECRETS, SECRET), "ca-key.pem");
    (void)snprintf(path, sizeof path, "%s/ca-key.pem", f.dirs[0]);
    assert_int_equal(access(path, F_OK), -1);
    (void)snprintf(path, sizeof path, "%s/tls.key", f.dirs[0]);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* Nothing more to write. */
    unsigned writes = f.mutating_writes + f.validating_writes;
    run(&f, SECONDS(300));
    assert_int_equal(f.mutating_writes + f.validating_writes, writes);
    fini(&f);
}

static void test_the_configuration_follows_its_template(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    make_configurations(&f);
    start(&f, 0, NULL);
    run(&f, SECONDS(3));
    CLEANUP(kj_doc_free) struct kj_doc *doc = webhooks_of(&f, VALIDATING, VNAME);
    const struct kj_val *hooks = kj_get(kj_root(doc), "webhooks");
    assert_int_equal(kj_len(hooks), 1);
    const struct kj_val *service = kj_path(kj_at(hooks, 0), "clientConfig.service");
    assert_string_equal(kj_str(kj_get(service, "name")), "koordinator-webhook-service");
    assert_string_equal(kj_str(kj_get(service, "namespace")), "koordinator-system");
    assert_string_equal(kj_str(kj_get(service, "path")), "/validate-pod");
    const char *tmpl = kj_str(kj_path(kj_root(doc), "metadata.annotations.template"));
    assert_contains(tmpl, "velasticquota.koordinator.sh");
    assert_lacks(tmpl, "caBundle");

    f.no_validation = true;
    registration_look(f.replicas[0]);
    run(&f, SECONDS(1));
    CLEANUP(kj_doc_free) struct kj_doc *off = webhooks_of(&f, VALIDATING, VNAME);
    assert_int_equal(kj_len(kj_get(kj_root(off), "webhooks")), 0);
    f.no_validation = false;
    registration_look(f.replicas[0]);
    run(&f, SECONDS(1));
    CLEANUP(kj_doc_free) struct kj_doc *on = webhooks_of(&f, VALIDATING, VNAME);
    assert_true(kj_equal(kj_get(kj_root(on), "webhooks"), hooks));
    fini(&f);
}

static void test_by_url(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    make_configurations(&f);
    start(&f, 0, "192.0.2.9");
    run(&f, SECONDS(3));
    CLEANUP(kj_doc_free) struct kj_doc *doc = webhooks_of(&f, MUTATING, MNAME);
    const struct kj_val *client =
        kj_get(kj_at(kj_get(kj_root(doc), "webhooks"), 0), "clientConfig");
    assert_string_equal(kj_str(kj_get(client, "url")), "https://192.0.2.9:9443/mutate-pod");
    assert_null(kj_get(client, "service"));
    CLEANUP(certset_fini) struct certset s = { 0 };
    certdir_read(f.dirs[0], &s);
    assert_int_equal(certset_check(&s, "192.0.2.9", loop_wall(f.r.loop), NULL), 0);
    fini(&f);
}

static void test_replicas_that_contradict_each_other_take_their_time(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    make_configurations(&f);
    f.port_step = 1;
    start(&f, 0, "192.0.2.8");
    start(&f, 1, "192.0.2.8");
    run(&f, SECONDS(5));
    unsigned before = f.mutating_writes + f.validating_writes;
    run(&f, SECONDS(100));
    assert_in_range(f.mutating_writes + f.validating_writes - before, 1, 110);
    fini(&f);
}

static void test_a_new_ca_is_trusted_before_it_serves(void **state)
{
    struct fixture f;
    CLEANUP(certset_fini) struct certset old = { 0 }, now = { 0 }, other = { 0 };

    (void)state;
    init(&f);
    make_configurations(&f);
    start(&f, 0, NULL);
    start(&f, 1, NULL);
    run(&f, SECONDS(3));
    read_certs(&f, 0, &old);
    assert_true(fake_delete(f.r.fake, SECRETS, SECRET));
    run_watching(&f, SECONDS(2));
    assert_non_null(fake_find(f.r.fake, SECRETS, SECRET));
    assert_int_equal(bundle_size(&f), 2);
    read_certs(&f, 0, &now);
    assert_true(certset_equal(&now, &old)); /* API servers may not know yet */
    run_watching(&f, SECONDS(10));
    read_certs(&f, 0, &now);
    read_certs(&f, 1, &other);
    assert_false(certset_equal(&now, &old));
    assert_true(certset_equal(&now, &other));
    run_watching(&f, SECONDS(60));
    assert_int_equal(bundle_size(&f), 2);
    run(&f, SECONDS(700));
    assert_int_equal(bundle_size(&f), 1);
    assert_trusted(&f);
    fini(&f);
}

static void test_garbage_is_made_anew_and_a_good_ca_is_kept(void **state)
{
    struct fixture f;
    CLEANUP(certset_fini) struct certset old = { 0 }, now = { 0 };

    (void)state;
    init(&f);
    make_configurations(&f);
    fake_put(f.r.fake, SECRETS, SECRET,
             "{\"data\":{\"cert.pem\":\"Z2FyYmFnZQ==\",\"key.pem\":\"!!\",\"other\":\"eA==\"}}");
    start(&f, 0, NULL);
    run_watching(&f, SECONDS(3));
    read_certs(&f, 0, &old);
    assert_contains(fake_find(f.r.fake, SECRETS, SECRET), "\"other\":\"eA==\"");
    /* The certificate is damaged, the CA is not. */
    fake_patch(f.r.fake, SECRETS, SECRET,
               "{\"data\":{\"cert.pem\":\"Z2FyYmFnZQ==\",\"tls.crt\":null}}");
    run_watching(&f, SECONDS(2));
    read_certs(&f, 0, &now);
    assert_false(certset_equal(&old, &now));
    assert_string_equal(strbuf_str(&old.part[CERTSET_CA]), strbuf_str(&now.part[CERTSET_CA]));
    assert_int_equal(bundle_size(&f), 1);
    fini(&f);
}

static void test_without_configurations_it_says_what_is_missing(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };

    (void)state;
    init(&f);
    start(&f, 0, NULL);
    run(&f, SECONDS(3));
    assert_int_equal(ready(&f, 0, &err), -EAGAIN);
    assert_contains(err.text, "not found ValidatingWebhookConfiguration " VNAME);
    assert_int_equal(f.installed, 0);
    make_configurations(&f);
    run(&f, SECONDS(3));
    assert_int_equal(ready(&f, 0, &err), 0);
    assert_int_equal(f.installed, 1);
    fini(&f);
}

static const char *condition_of(struct fixture *f, struct kj_doc **doc)
{
    kj_doc_free(*doc);
    *doc = webhooks_of(f, MUTATING, MNAME);
    const struct kj_val *list =
        kj_get(kj_at(kj_get(kj_root(*doc), "webhooks"), 0), "matchConditions");
    return kj_str_or(kj_get(kj_at(list, 0), "expression"), "");
}

static void test_conditions_are_the_leaders(void **state)
{
    struct fixture f;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)state;
    init(&f);
    f.condition = "first";
    make_configurations(&f);
    start(&f, 0, NULL);
    run(&f, SECONDS(3));
    assert_string_equal(condition_of(&f, &doc), "first");
    f.condition = "second";
    registration_look(f.replicas[0]);
    run(&f, SECONDS(2));
    assert_string_equal(condition_of(&f, &doc), "first");
    run(&f, SECONDS(5)); /* the leader seems to be gone */
    assert_string_equal(condition_of(&f, &doc), "second");
    f.condition = "third";
    registration_lead(f.replicas[0]);
    run(&f, SECONDS(1));
    assert_string_equal(condition_of(&f, &doc), "third");
    f.condition = NULL;
    registration_look(f.replicas[0]);
    run(&f, SECONDS(1));
    assert_string_equal(condition_of(&f, &doc), "");
    /* A server that refuses the condition gets the rest. */
    f.condition = "bad";
    fake_answer_next_to(f.r.fake, "PATCH", "mutatingwebhook", 1, 422);
    registration_look(f.replicas[0]);
    run(&f, SECONDS(3));
    assert_string_equal(condition_of(&f, &doc), "");
    assert_int_equal(bundle_size(&f), 1);
    fini(&f);
}

static void test_files_of_an_older_version_are_removed(void **state)
{
    struct fixture f;
    CLEANUP(certset_fini) struct certset s = { 0 }, back = { 0 };
    size_t versions = 0;

    (void)state;
    init(&f);
    for (size_t i = 0; i < CERTSET_PARTS; i++)
        strbuf_appendf(&s.part[i], "part %zu\n", i);
    for (nsec_t t = 1; t < 4; t++)
        assert_int_equal(certdir_write(f.dirs[0], &s, t * NSEC_PER_SEC, NULL), 0);
    certdir_read(f.dirs[0], &back);
    assert_true(certset_equal(&s, &back));
    DIR *d = opendir(f.dirs[0]);
    for (struct dirent *e; (e = readdir(d));)
        versions += str_starts(e->d_name, "..1") || str_starts(e->d_name, "..2");
    closedir(d);
    assert_int_equal(versions, 1);
    fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_replicas_end_with_one_secret_and_one_ca),
        cmocka_unit_test(test_the_configuration_follows_its_template),
        cmocka_unit_test(test_by_url),
        cmocka_unit_test(test_replicas_that_contradict_each_other_take_their_time),
        cmocka_unit_test(test_a_new_ca_is_trusted_before_it_serves),
        cmocka_unit_test(test_garbage_is_made_anew_and_a_good_ca_is_kept),
        cmocka_unit_test(test_without_configurations_it_says_what_is_missing),
        cmocka_unit_test(test_conditions_are_the_leaders),
        cmocka_unit_test(test_files_of_an_older_version_are_removed),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
