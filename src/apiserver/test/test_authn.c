/* test_authn.c - token files, and what a request asks for by its method and target. */
#include "apiserver/authn/tokenfile.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/test/api_fixture.h"

/* ---- token files ---------------------------------------------------------------------------- */

static struct tokenfile *parsed(const char *text)
{
    struct tokenfile *t = NULL;
    struct kerr err = { 0 };

    if (tokenfile_parse("users.csv", text, strlen(text), &t, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

static void expect_user(const struct tokenfile *t, const char *token, const char *want)
{
    const struct api_user *u = tokenfile_find(t, str_of(token));
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (u)
        strbuf_appendf(&b, "%s/%s", u->name, u->uid);
    for (size_t i = 0; u && i < u->ngroups; i++)
        strbuf_appendf(&b, " %s", u->groups[i]);
    assert_string_equal(strbuf_str(&b), want);
}

static void test_token_file(void **state)
{
    CLEANUP(tokenfile_free)
    struct tokenfile *t = parsed("t1,alice,1\n\nt2,bob,2,dev\r\n\"t,3\",\"c \"\"x\"\"\",3,\"a,b\"\n"
                                 ",nobody,4\nt5,eve,5,system:authenticated,more,columns");
    (void)state;
    expect_user(t, "t1", "alice/1 system:authenticated");
    expect_user(t, "t2", "bob/2 dev system:authenticated");
    expect_user(t, "t,3", "c \"x\"/3 a b system:authenticated");
    expect_user(t, "t5", "eve/5 system:authenticated");
    expect_user(t, "", "");
    expect_user(t, "t", "");
    expect_user(t, "t11", "");
    assert_null(tokenfile_find(NULL, STR("t1")));
}

static void test_token_file_that_is_wrong(void **state)
{
    static const char *const texts[] = { "t1,alice",       "t1",         "\"t1,alice,1\n",
                                         "t\"1,alice,1\n", "\"t\"1,a,1", "a,b,c\nx,y\n" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct tokenfile *t = NULL;
        struct kerr err = { 0 };
        assert_that(tokenfile_parse("f", texts[i], strlen(texts[i]), &t, &err), <, 0);
        assert_null(t);
        assert_true(str_starts(err.text, "token file "));
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const struct {
    const char *method, *target,
        *want; /* verb group/version/resource/subresource ns/name, or verb path */
} asked[] = {
    { "GET", "/api/v1/pods", "list /v1/pods/ /" },
    { "HEAD", "/api/v1/pods", "list /v1/pods/ /" },
    { "GET", "/api/v1/namespaces/a/pods?watch=1", "watch /v1/pods/ a/" },
    { "GET", "/api/v1/namespaces/a/pods?watch=false", "list /v1/pods/ a/" },
    { "GET", "/api/v1/namespaces/a/pods?watch=true&fieldSelector=metadata.name%3Dx",
      "watch /v1/pods/ a/x" },
    { "GET", "/api/v1/pods?fieldSelector=spec.nodeName=n,metadata.name==x", "list /v1/pods/ /x" },
    { "GET", "/api/v1/pods?fieldSelector=metadata.name!=x", "list /v1/pods/ /" },
    { "GET", "/api/v1/namespaces/a/pods/p", "get /v1/pods/ a/p" },
    { "GET", "/api/v1/namespaces/a/pods/p/log?follow=1", "get /v1/pods/log a/p" },
    { "POST", "/api/v1/namespaces/a/pods/p/eviction", "create /v1/pods/eviction a/p" },
    { "PUT", "/apis/apps/v1/namespaces/a/deployments/d/status",
      "update apps/v1/deployments/status a/d" },
    { "PATCH", "/apis/apps/v1/namespaces/a/deployments/d", "patch apps/v1/deployments/ a/d" },
    { "DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "delete apps/v1/deployments/ a/d" },
    { "DELETE", "/apis/apps/v1/namespaces/a/deployments?fieldSelector=metadata.name=x",
      "deletecollection apps/v1/deployments/ a/" },
    { "GET", "/api/v1/namespaces", "list /v1/namespaces/ /" },
    { "GET", "/api/v1/namespaces/a", "get /v1/namespaces/ a/a" },
    { "PUT", "/api/v1/namespaces/a/finalize", "update /v1/namespaces/finalize a/a" },
    { "GET", "/api/v1/watch/namespaces/a/pods", "watch /v1/pods/ a/" },
    { "GET", "/api/v1/watch/pods?watch=false", "watch /v1/pods/ /" },
    { "GET", "/api/v1/nosuch/x", "get /v1/nosuch/ /x" },
    { "OPTIONS", "/api/v1/pods", " /v1/pods/ /" },
    { "GET", "/api/v1/nodes/a%2Fb", "get /v1/nodes/b /a" },
    { "GET", "/api", "get /api" },
    { "GET", "/apis/apps/v1", "get /apis/apps/v1" },
    { "GET", "/apis/apps/v1/", "get /apis/apps/v1/" },
    { "POST", "/healthz?verbose", "post /healthz" },
    { "GET", "/", "get /" },
};

static void test_attributes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        struct authz_attributes r;
        assert_true(authz_attributes_of(asked[i].method, asked[i].target, a, &r));
        if (r.is_path)
            strbuf_appendf(&b, "%s %s", r.verb, r.path);
        else
            strbuf_appendf(&b, "%s %s/%s/%s/%s %s/%s", r.verb, r.group, r.version, r.resource,
                           r.subresource, r.ns, r.name);
        assert_string_equal(b.data, asked[i].want);
    }
}

static void test_attributes_that_cannot_be_read(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct authz_attributes r;
    (void)state;
    assert_false(authz_attributes_of("GET", "/api/v1/pods/%zz", a, &r));
    assert_false(authz_attributes_of("GET", "/api/v1/watch", a, &r));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_file),
        cmocka_unit_test(test_token_file_that_is_wrong),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_attributes_that_cannot_be_read),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
