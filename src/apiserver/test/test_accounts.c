/* test_accounts.c - tokens of service accounts: signed, remembered, out of date, in Secrets; what
 * admission makes of pods where no controller makes accounts. */
#include "apiserver/authn/accounts.h"
#include "apiserver/authn/claims.h"
#include "apiserver/authn/jwt.h"
#include "apiserver/server_int.h"
#include "apiserver/test/api_fixture.h"
#include "base/b64.h"
#include "net/es256.h"

#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define SECRETS  "/api/v1/namespaces/default/secrets"

static void make_account(struct fixture *r, const char *name)
{
    char body[100];
    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'}}", name);
    assert_int_equal(fixture_post(r, ACCOUNTS, fixture_json(body)), 201);
}

static char *ask(struct fixture *r, const char *name, const char *body)
{
    char target[200];
    (void)snprintf(target, sizeof target, ACCOUNTS "/%s/token", name);
    assert_int_equal(fixture_post(r, target, fixture_json(body)), 201);
    return xstrdup(fixture_str(r, "status.token"));
}

static bool is_good(struct fixture *r, const char *token)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    static const char *const own[] = { AUTHN_ISSUER, NULL };
    struct authn_answer who;

    return accounts_authenticate(r->s->accounts, str_of(token), own, a, &who);
}

static void test_a_token_lives_as_long_as_it_says(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    make_account(&r, "robot");
    CLEANUP(mem_free) char *token = ask(&r, "robot", "{'spec':{'expirationSeconds':600}}");
    assert_true(is_good(&r, token));
    loop_advance(r.loop, 650 * NSEC_PER_SEC); /* a minute of leeway */
    assert_true(is_good(&r, token));
    loop_advance(r.loop, 20 * NSEC_PER_SEC);
    assert_false(is_good(&r, token));
}

static void test_a_remembered_token_ends_with_its_account(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 2);
    make_account(&r, "robot");
    CLEANUP(mem_free) char *token = ask(&r, "robot", "{}");
    assert_true(is_good(&r, token));
    assert_true(is_good(&r, token));
    assert_int_equal(fixture_delete(&r, ACCOUNTS "/robot", NULL), 200);
    assert_false(is_good(&r, token));
    make_account(&r, "robot");
    assert_false(is_good(&r, token));
}

/* More tokens than are remembered: all stay good. */
static void test_many_tokens(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 3);
    make_account(&r, "robot");
    CLEANUP(mem_free) char *first = ask(&r, "robot", "{}");
    assert_true(is_good(&r, first));
    for (int i = 0; i < 1030; i++) {
        CLEANUP(mem_free) char *token = ask(&r, "robot", "{}");
        assert_true(is_good(&r, token));
    }
    assert_true(is_good(&r, first));
}

static void test_a_key_of_another_server(void **state)
{
    CLEANUP(fixture_fini) struct fixture r, other;
    (void)state;
    fixture_init(&r, 4);
    fixture_init(&other, 4);
    make_account(&r, "robot");
    make_account(&other, "robot"); /* the same seed: the same uid */
    CLEANUP(mem_free) char *token = ask(&other, "robot", "{}");
    assert_true(is_good(&other, token));
    assert_false(is_good(&r, token));
}

/* Signed well, but not what a token of ours says. */
static void test_claims_that_do_not_fit(void **state)
{
    static const char *const claims[] = {
        "{}",
        "{'iss':'https://kubernetes.default.svc.cluster.local'}",
        "{'iss':'https://evil','aud':['" AUTHN_ISSUER "'],'sub':'system:serviceaccount:default:x'}",
        "{'iss':'" AUTHN_ISSUER "','aud':['" AUTHN_ISSUER
        "'],'exp':9999999999,'nbf':1,'iat':1,'sub':"
        "'system:serviceaccount:kube-system:x','kubernetes.io':{'namespace':'default',"
        "'serviceaccount':{'name':'x','uid':'u'}}}",
        "{'iss':'" AUTHN_ISSUER "','exp':'x'}",
        "{'iss':'" AUTHN_ISSUER "','exp':99999999999999999,'nbf':1,'iat':1}",
        "{'iss':'kubernetes/serviceaccount','sub':'system:serviceaccount::'}",
    };
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 5);
    for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
        CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, token = STRBUF_INIT;
        struct kerr err = { 0 };
        strbuf_append(&in, fixture_json(claims[i]));
        assert_int_equal(accounts_sign(r.s->accounts, &in, &token, &err), 0);
        assert_false(is_good(&r, token.data));
    }
}

static void test_keys_round_trip(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT;
    CLEANUP(es256_free) struct es256 *key = NULL, *again = NULL, *bad = NULL;
    uint8_t sig[ES256_SIZE];
    struct kerr err = { 0 };
    (void)state;
    assert_int_equal(es256_new(&key, &err), 0);
    assert_int_equal(es256_format(key, &pem, &err), 0);
    assert_int_equal(es256_parse(pem.data, pem.len, &again, &err), 0);
    assert_int_equal(es256_sign(key, "text", 4, sig, &err), 0);
    assert_true(es256_verify(again, "text", 4, sig));
    assert_false(es256_verify(again, "test", 4, sig));
    sig[5] ^= 1;
    assert_false(es256_verify(again, "text", 4, sig));
    assert_that(es256_parse("nonsense", 8, &bad, &err), <, 0);
    assert_null(bad);
}

/* ---- Secrets ------------------------------------------------------------------------------------ */

static void test_a_secret_gets_a_token(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf token = STRBUF_INIT;
    static const char body[] =
        "{'metadata':{'name':'s','annotations':{'kubernetes.io/service-account.name':'robot'}},"
        "'type':'kubernetes.io/service-account-token'}";
    (void)state;
    fixture_init(&r, 6);
    assert_int_equal(fixture_post(&r, SECRETS, fixture_json(body)), 201);
    assert_string_equal(fixture_str(&r, "data.token"), ""); /* there is no such account */
    assert_int_equal(fixture_delete(&r, SECRETS "/s", NULL), 200);
    make_account(&r, "robot");
    assert_int_equal(fixture_post(&r, SECRETS, fixture_json(body)), 201);
    const char *text = fixture_str(&r, "data.token");
    assert_int_equal(b64_decode(text, strlen(text), &token), 0);
    assert_string_equal(fixture_str(&r, "data.namespace"), "ZGVmYXVsdA==");
    assert_true(is_good(&r, strbuf_str(&token)));
    loop_advance(r.loop, 400 * 86400 * NSEC_PER_SEC); /* it does not end by itself */
    assert_true(is_good(&r, strbuf_str(&token)));
    assert_int_equal(fixture_delete(&r, SECRETS "/s", NULL), 200);
    assert_false(is_good(&r, strbuf_str(&token)));
}

/* ---- pods --------------------------------------------------------------------------------------- */

#define POD "{'metadata':{'name':'%s'},'spec':{%s'containers':[{'name':'a','image':'b'}]}}"

static int make_pod(struct fixture *r, const char *name, const char *spec)
{
    char body[300];
    (void)snprintf(body, sizeof body, POD, name, spec);
    return fixture_post(r, PODS, fixture_json(body));
}

static void test_pods_where_nobody_makes_accounts(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(make_pod(&r, "a", ""), 201);
    assert_string_equal(fixture_str(&r, "spec.serviceAccountName"), "");
    assert_int_equal(kj_len(fixture_val(&r, "spec.volumes")), 0);
    assert_int_equal(make_pod(&r, "b", "'serviceAccountName':'robot',"), 403);
    assert_int_equal(make_pod(&r, "d", "'serviceAccountName':'default',"), 201);
    assert_int_equal(kj_len(fixture_val(&r, "spec.volumes")), 0);
    make_account(&r, "default");
    assert_int_equal(make_pod(&r, "c", ""), 201);
    assert_string_equal(fixture_str(&r, "spec.serviceAccountName"), "default");
    assert_int_equal(kj_len(fixture_val(&r, "spec.volumes")), 1);
}

static void test_admission_without_some_plugins(void **state)
{
    static const char *const none[] = { "ServiceAccount", "DefaultTolerationSeconds" },
                             *const bad[] = { "ServiceAccount", "CertificateRequester" };
    CLEANUP(fixture_fini) struct fixture r;
    struct apiserver_opts o = { .no_crds = true,
                                .accounts = APISERVER_ACCOUNTS_MADE,
                                .disabled_admission = none,
                                .ndisabled = ARRAY_LEN(none) };
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&r, 8);
    r.s = apiserver_free(r.s);
    assert_int_equal(apiserver_new(r.loop, &o, &r.s, &err), 0);
    make_account(&r, "default");
    assert_int_equal(make_pod(&r, "a", ""), 201);
    assert_string_equal(fixture_str(&r, "spec.serviceAccountName"), "");
    assert_int_equal(kj_len(fixture_val(&r, "spec.volumes")), 0);
    assert_int_equal(kj_len(fixture_val(&r, "spec.tolerations")), 0);
    assert_int_equal(make_pod(&r, "b", "'serviceAccountName':'nobody',"), 201);
    assert_int_equal(fixture_post(&r, "/api/v1/namespaces/nowhere/configmaps",
                                  fixture_json("{'metadata':{'name':'a'}}")),
                     404); /* the others are there */
    r.s = apiserver_free(r.s);
    o.disabled_admission = bad;
    assert_int_equal(apiserver_new(r.loop, &o, &r.s, &err), -EINVAL);
    assert_contains(err.text,
                    "disable-admission-plugins plugin \"CertificateRequester\" is unknown");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_token_lives_as_long_as_it_says),
        cmocka_unit_test(test_a_remembered_token_ends_with_its_account),
        cmocka_unit_test(test_many_tokens),
        cmocka_unit_test(test_a_key_of_another_server),
        cmocka_unit_test(test_claims_that_do_not_fit),
        cmocka_unit_test(test_keys_round_trip),
        cmocka_unit_test(test_a_secret_gets_a_token),
        cmocka_unit_test(test_pods_where_nobody_makes_accounts),
        cmocka_unit_test(test_admission_without_some_plugins),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
