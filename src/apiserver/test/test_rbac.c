/* test_rbac.c - roles and bindings followed in the store, aggregation, and who may grant what. */
#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/test/api_fixture.h"

#define RBAC     "/apis/rbac.authorization.k8s.io/v1"
#define ROLES    RBAC "/clusterroles"
#define BINDINGS RBAC "/clusterrolebindings"

static void modes_init(struct fixture *r, uint64_t seed, unsigned modes)
{
    struct kerr err = { 0 };
    *r = (struct fixture){ .loop = loop_new_virtual(WALL0, seed) };
    if (apiserver_new(r->loop, &(struct apiserver_opts){ .no_crds = true, .authorization = modes },
                      &r->s, &err) < 0)
        fail_msg("%s", err.text);
    loop_advance(r->loop, NSEC_PER_SEC);
}

static void rbac_init(struct fixture *r, uint64_t seed)
{
    modes_init(r, seed, APISERVER_RBAC);
}

static bool may(struct fixture *r, const char *user, const char *verb, const char *resource,
                const char *ns)
{
    const char *const groups[] = { GROUP_AUTHENTICATED };
    const struct api_user u = { .name = user, .uid = "", .groups = groups, .ngroups = 1 };
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;

    a.verb = verb;
    a.resource = resource;
    a.ns = ns;
    return authorizer_check(r->s, &u, &a, NULL);
}

static void make_role(struct fixture *r, const char *name, const char *labels, const char *rules)
{
    char body[600];
    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s','labels':{%s}},'rules':[%s]}", name,
                   labels, rules);
    assert_int_equal(fixture_post(r, ROLES, fixture_json(body)), 201);
}

static void bind(struct fixture *r, const char *role, const char *user, const char *ns)
{
    char body[600], target[200];
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'roleRef':{'apiGroup':'" RBAC_GROUP
                   "','kind':'ClusterRole','name':'%s'},'subjects':[{'kind':'User','name':'%s'}]}",
                   user, role, user);
    (void)snprintf(target, sizeof target, "%s%s%s", RBAC, *ns ? "/namespaces/default" : "",
                   *ns ? "/rolebindings" : "/clusterrolebindings");
    assert_int_equal(fixture_post(r, target, fixture_json(body)), 201);
}

#define PODS_RULE "{'verbs':['list'],'apiGroups':[''],'resources':['pods']}"

static void test_rights_come_and_go(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    rbac_init(&r, 1);
    assert_false(may(&r, "jane", "list", "pods", ""));
    make_role(&r, "lister", "", PODS_RULE);
    bind(&r, "lister", "jane", "");
    assert_true(may(&r, "jane", "list", "pods", ""));
    assert_true(may(&r, "jane", "list", "pods", "default"));
    assert_false(may(&r, "john", "list", "pods", ""));
    assert_false(may(&r, "jane", "get", "pods", ""));
    assert_int_equal(fixture_delete(&r, ROLES "/lister", NULL), 200);
    assert_false(may(&r, "jane", "list", "pods", ""));
    make_role(&r, "lister", "", PODS_RULE);
    assert_true(may(&r, "jane", "list", "pods", ""));
    assert_int_equal(fixture_delete(&r, BINDINGS "/jane", NULL), 200);
    assert_false(may(&r, "jane", "list", "pods", ""));
}

static void test_rights_in_a_namespace(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    rbac_init(&r, 2);
    make_role(&r, "lister", "", PODS_RULE);
    bind(&r, "lister", "jane", "default");
    assert_true(may(&r, "jane", "list", "pods", "default"));
    assert_false(may(&r, "jane", "list", "pods", "kube-system"));
    assert_false(may(&r, "jane", "list", "pods", ""));
}

/* The cluster's own roles: view is part of edit, and edit part of admin. */
static void test_first_roles_are_aggregated(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    rbac_init(&r, 3);
    bind(&r, "view", "viewer", "default");
    bind(&r, "admin", "admin", "default");
    assert_true(may(&r, "viewer", "get", "configmaps", "default"));
    assert_false(may(&r, "viewer", "create", "configmaps", "default"));
    assert_false(may(&r, "viewer", "get", "secrets", "default"));
    assert_true(may(&r, "admin", "get", "secrets", "default"));
    assert_true(may(&r, "admin", "get", "limitranges", "default"));
    assert_false(may(&r, "admin", "get", "nodes", ""));
}

static void test_aggregation_follows_its_parts(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    rbac_init(&r, 4);
    bind(&r, "view", "viewer", "default");
    make_role(&r, "part", "'rbac.authorization.k8s.io/aggregate-to-view':'true'",
              "{'verbs':['get'],'apiGroups':[''],'resources':['gadgets']}");
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_true(may(&r, "viewer", "get", "gadgets", "default"));
    /* What somebody writes into an aggregated role does not stay. */
    fixture_do(&r, "PATCH", ROLES "/view", MERGE, "{\"rules\":[]}");
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_true(may(&r, "viewer", "get", "gadgets", "default"));
    assert_int_equal(fixture_delete(&r, ROLES "/part", NULL), 200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_false(may(&r, "viewer", "get", "gadgets", "default"));
    assert_true(may(&r, "viewer", "get", "configmaps", "default"));
}

/* A start on data that has the roles already adds none twice, and keeps what people changed. */
static void test_first_roles_are_made_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    rbac_init(&r, 5);
    assert_int_equal(fixture_get(&r, ROLES), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 68);
    assert_int_equal(fixture_get(&r, BINDINGS), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 49);
    assert_int_equal(fixture_get(&r, RBAC "/roles"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 7);
    assert_int_equal(fixture_get(&r, RBAC "/rolebindings"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 7);
}

/* Many rights in one grant: bounded work, and the answer is still no. */
static void test_absurd_grants(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *many[501] = { NULL };
    struct rbac_rules held = { 0 }, wanted = { 0 }, missing = { 0 };
    static const char *const none[] = { NULL };
    (void)state;
    for (size_t i = 0; i < 500; i++)
        many[i] = arena_printf(a, "x%zu", i);
    const struct rbac_rule rule = { many, many, many, none, none };
    vec_push(&wanted, &rule);
    const char *one[] = { "x1", NULL };
    const struct rbac_rule narrow = { one, many, one, none, none };
    vec_push(&held, &narrow);
    rbac_rules_missing(&held, &wanted, a, &missing);
    assert_that(missing.n, >, 0);
    assert_that(missing.n, <=, 1000);
    /* Somebody who holds all of it is refused as well: nobody needs a role of 125 million rights.
     */
    held.items[0] = &rule;
    missing.n = 0;
    rbac_rules_missing(&held, &wanted, a, &missing);
    assert_int_equal(missing.n, 1);
    vec_fini(&held);
    vec_fini(&wanted);
    vec_fini(&missing);
}

/* One mode that says yes suffices; nobody but the administrator gets past AlwaysDeny. */
static void test_modes(void **state)
{
    static const struct {
        unsigned modes;
        bool known, unknown, anonymous; /* who may list pods: one of a token file, a reviewed one */
    } rows[] = {
        { 0, true, true, false },
        { APISERVER_ALWAYS_ALLOW, true, true, false },
        { APISERVER_RBAC, false, false, false },
        { APISERVER_RBAC | APISERVER_ALWAYS_ALLOW, true, true, false },
        { APISERVER_ALWAYS_DENY, false, false, false },
        { APISERVER_RBAC | APISERVER_ALWAYS_DENY, false, false, false },
    };
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;

    (void)state;
    a.verb = "list";
    a.resource = "pods";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(fixture_fini) struct fixture r;
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        const struct api_user reviewed = { .name = "x", .uid = "" };
        modes_init(&r, 20 + i, rows[i].modes);
        assert_int_equal(may(&r, "jane", "list", "pods", ""), rows[i].known);
        assert_int_equal(authorizer_check(r.s, &reviewed, &a, &why), rows[i].unknown);
        assert_int_equal(why.len > 0, rows[i].modes == APISERVER_ALWAYS_DENY);
        assert_int_equal(authorizer_check(r.s, &api_user_anonymous, &a, NULL), rows[i].anonymous);
        assert_true(authorizer_check(r.s, &api_user_admin, &a, NULL));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rights_come_and_go),
        cmocka_unit_test(test_rights_in_a_namespace),
        cmocka_unit_test(test_first_roles_are_aggregated),
        cmocka_unit_test(test_aggregation_follows_its_parts),
        cmocka_unit_test(test_first_roles_are_made_once),
        cmocka_unit_test(test_absurd_grants),
        cmocka_unit_test(test_modes),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
