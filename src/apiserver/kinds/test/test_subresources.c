/* test_subresources.c - binding, eviction, scale, finalize, and what is refused. */
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

#define PDBS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

static void make_pod(struct fixture *r, const char *name, const char *more)
{
    char body[600];
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','labels':{'a':'b'}},"
                   "'spec':{'containers':[{'name':'c','image':'x'}]%s}}",
                   name, more);
    assert_int_equal(fixture_post(r, PODS, fixture_json(body)), 201);
}

static int bind_to(struct fixture *r, const char *pod, const char *meta, const char *target)
{
    char path[200], body[400];
    (void)snprintf(path, sizeof path, PODS "/%s/binding", pod);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'%s'%s},'target':{%s}}",
                   pod, meta, target);
    return fixture_post(r, path, fixture_json(body));
}

static int evict(struct fixture *r, const char *pod)
{
    char path[200], body[200];
    (void)snprintf(path, sizeof path, PODS "/%s/eviction", pod);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'%s'}}", pod);
    return fixture_post(r, path, fixture_json(body));
}

static void test_binding_gives_a_pod_its_node_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    make_pod(&r, "p", "");
    assert_int_equal(bind_to(&r, "p", ",'annotations':{'x':'y'},'labels':{'a':'z','zone':'1'}",
                             "'kind':'Node','name':'n1'"),
                     201);
    assert_string_equal(fixture_str(&r, "status"), "Success");
    assert_int_equal(kj_i64_or(fixture_val(&r, "code"), 0), 201);

    assert_int_equal(fixture_get(&r, PODS "/p"), 200);
    assert_string_equal(fixture_str(&r, "spec.nodeName"), "n1");
    assert_string_equal(fixture_str(&r, "metadata.annotations.x"), "y");
    assert_string_equal(fixture_str(&r, "metadata.labels.a"), "z"); /* the binding's wins */
    assert_string_equal(fixture_str(&r, "metadata.labels.zone"), "1");
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    const struct kj_val *c = kj_at(fixture_val(&r, "status.conditions"), 0);
    assert_string_equal(kj_str(kj_get(c, "type")), "PodScheduled");
    assert_string_equal(kj_str(kj_get(c, "status")), "True");

    assert_int_equal(bind_to(&r, "p", "", "'kind':'Node','name':'n2'"), 409);
    assert_string_equal(fixture_str(&r, "message"),
                        "Operation cannot be fulfilled on pods/binding \"p\": pod p is already "
                        "assigned to node \"n1\"");
}

static void test_binding_checks_before_it_binds(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    make_pod(&r, "p", "");
    make_pod(&r, "gated", ",'schedulingGates':[{'name':'x.io/g'}]");
    assert_int_equal(bind_to(&r, "p", ",'uid':'zz'", "'kind':'Node','name':'n'"), 409);
    assert_contains(fixture_str(&r, "message"), "Precondition failed: UID in precondition: zz");
    assert_int_equal(bind_to(&r, "p", ",'resourceVersion':'1'", "'kind':'Node','name':'n'"), 409);
    assert_int_equal(bind_to(&r, "p", "", "'kind':'Pod','name':'n'"), 500);
    assert_string_equal(fixture_str(&r, "message"),
                        "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", "
                        "\"<empty>\"");
    assert_int_equal(bind_to(&r, "p", "", "'kind':'Node','name':''"), 500);
    assert_int_equal(bind_to(&r, "nope", "", "'name':'n'"), 404);
    assert_int_equal(bind_to(&r, "gated", "", "'name':'n'"), 409);
    assert_contains(fixture_str(&r, "message"), "has non-empty .spec.schedulingGates");
    assert_int_equal(
        fixture_post(&r, PODS "/p/binding",
                     fixture_json("{'apiVersion':'v1','kind':'Binding','metadata':{'name':'q'},"
                                  "'target':{'name':'n'}}")),
        400);
}

static void make_pdb(struct fixture *r, const char *name)
{
    char body[400];
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':"
                   "'%s'},'spec':{'minAvailable':1,'selector':{'matchLabels':{'a':'b'}}}}",
                   name);
    assert_int_equal(fixture_post(r, PDBS, fixture_json(body)), 201);
}

static void set_budget(struct fixture *r, int allowed)
{
    char body[300];
    (void)snprintf(body, sizeof body,
                   "{'status':{'observedGeneration':1,'disruptionsAllowed':%d,'currentHealthy':1,"
                   "'desiredHealthy':1,'expectedPods':1}}",
                   allowed);
    assert_int_equal(fixture_do(r, "PATCH", PDBS "/b/status", MERGE, fixture_json(body)), 200);
}

static void run_pod(struct fixture *r, const char *name)
{
    char path[100];
    make_pod(r, name, ",'nodeName':'n1'");
    (void)snprintf(path, sizeof path, PODS "/%s/status", name);
    assert_int_equal(
        fixture_do(r, "PATCH", path, MERGE,
                   fixture_json("{'status':{'phase':'Running','conditions':[{'type':'Ready',"
                                "'status':'True'}]}}")),
        200);
}

static void test_eviction_asks_the_budget(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    run_pod(&r, "p");
    make_pdb(&r, "b");
    assert_int_equal(evict(&r, "p"), 429);
    assert_string_equal(fixture_str(&r, "message"),
                        "Cannot evict pod as it would violate the pod's disruption budget.");
    const struct kj_val *cause = kj_at(fixture_val(&r, "details.causes"), 0);
    assert_string_equal(kj_str(kj_get(cause, "reason")), "DisruptionBudget");
    assert_string_equal(kj_str(kj_get(cause, "message")),
                        "The disruption budget b is still being processed by the server.");
    assert_int_equal(kj_i64_or(fixture_val(&r, "details.retryAfterSeconds"), 0), 10);

    set_budget(&r, 0);
    assert_int_equal(evict(&r, "p"), 429);
    cause = kj_at(fixture_val(&r, "details.causes"), 0);
    assert_string_equal(kj_str(kj_get(cause, "message")),
                        "The disruption budget b needs 1 healthy pods and has 1 currently");

    set_budget(&r, 1);
    assert_int_equal(evict(&r, "p"), 201);
    assert_string_equal(fixture_str(&r, "status"), "Success");
    assert_int_equal(fixture_get(&r, PDBS "/b"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "status.disruptionsAllowed"), 9), 0);
    assert_non_null(fixture_val(&r, "status.disruptedPods.p"));
    assert_int_equal(fixture_get(&r, PODS "/p"), 200);
    assert_true(*fixture_str(&r, "metadata.deletionTimestamp"));
    const struct kj_val *c = kj_at(fixture_val(&r, "status.conditions"), 1);
    assert_string_equal(kj_str(kj_get(c, "type")), "DisruptionTarget");
    assert_string_equal(kj_str(kj_get(c, "reason")), "EvictionByEvictionAPI");
}

static void test_eviction_without_a_budget_deletes(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    make_pod(&r, "pending", "");
    assert_int_equal(evict(&r, "pending"), 201);
    assert_int_equal(fixture_get(&r, PODS "/pending"), 404);
    run_pod(&r, "p");
    assert_int_equal(evict(&r, "p"), 201);
    assert_int_equal(evict(&r, "nope"), 404);
}

static void test_pods_that_are_not_ready(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    static const char *const unready = "{'status':{'phase':'Running','conditions':[]}}";

    (void)state;
    fixture_init(&r, 3);
    run_pod(&r, "p");
    make_pdb(&r, "b");
    set_budget(&r, 0); /* healthy enough: an unready pod may go without taking from the budget */
    assert_int_equal(fixture_do(&r, "PATCH", PODS "/p/status", MERGE, fixture_json(unready)), 200);
    assert_int_equal(evict(&r, "p"), 201);
}

static void test_two_budgets_are_too_many(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    run_pod(&r, "p");
    make_pdb(&r, "b");
    make_pdb(&r, "b2");
    assert_int_equal(evict(&r, "p"), 500);
    assert_string_equal(fixture_str(&r, "message"),
                        "This pod has more than one PodDisruptionBudget, which the eviction "
                        "subresource does not support.");
}

static void test_what_only_a_kubelet_could_answer(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    make_pod(&r, "p", "");
    make_pod(&r, "q", ",'nodeName':'n1'");
    assert_int_equal(fixture_get(&r, PODS "/p/log"), 204); /* not placed yet */
    assert_int_equal(fixture_get(&r, PODS "/q/log"), 200);
    assert_int_equal(fixture_get(&r, PODS "/q/log?container=x"), 400);
    assert_string_equal(fixture_str(&r, "message"), "container x is not valid for pod q");
    assert_int_equal(fixture_get(&r, PODS "/q/log?tailLines=-1"), 422);
    assert_int_equal(fixture_get(&r, PODS "/q/log?limitBytes=x"), 400);
    assert_int_equal(fixture_post(&r, PODS "/p/exec?command=ls", NULL), 400);
    assert_string_equal(fixture_str(&r, "message"), "pod p does not have a host assigned");
    assert_int_equal(fixture_post(&r, PODS "/q/exec?command=ls", NULL), 400);
    assert_contains(fixture_str(&r, "message"), "exec is not supported here");
    assert_int_equal(fixture_get(&r, PODS "/nope/log"), 404);
}

static void test_scale_of_a_deployment(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    static const char path[] = "/apis/apps/v1/namespaces/default/deployments";

    (void)state;
    fixture_init(&r, 3);
    assert_int_equal(
        fixture_post(
            &r, path,
            fixture_json(
                "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'},'spec':"
                "{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':"
                "{'a':'b'}},'spec':{'containers':[{'name':'c','image':'x'}]}}}}")),
        201);
    assert_int_equal(fixture_get(&r, "/apis/apps/v1/namespaces/default/deployments/d/scale"), 200);
    assert_string_equal(fixture_str(&r, "kind"), "Scale");
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 1);
    assert_string_equal(fixture_str(&r, "status.selector"), "a=b");
    assert_int_equal(fixture_do(&r, "PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale",
                                MERGE, fixture_json("{'spec':{'replicas':5}}")),
                     200);
    assert_int_equal(fixture_get(&r, "/apis/apps/v1/namespaces/default/deployments/d"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 5);
}

static void test_namespace_goes_when_it_is_finalized(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 3);
    assert_int_equal(
        fixture_post(&r, "/api/v1/namespaces",
                     fixture_json("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':"
                                  "'x'}}")),
        201);
    assert_string_equal(kj_str_or(kj_at(fixture_val(&r, "spec.finalizers"), 0), ""), "kubernetes");
    assert_string_equal(
        kj_str_or(kj_get(fixture_val(&r, "metadata.labels"), "kubernetes.io/metadata.name"), ""),
        "x");
    assert_int_equal(fixture_delete(&r, "/api/v1/namespaces/x", NULL), 200);
    assert_int_equal(fixture_get(&r, "/api/v1/namespaces/x"), 200);
    assert_string_equal(fixture_str(&r, "status.phase"), "Terminating");
    assert_int_equal(
        fixture_put(&r, "/api/v1/namespaces/x/finalize",
                    fixture_json("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'x'},"
                                 "'spec':{}}")),
        200);
    assert_int_equal(fixture_get(&r, "/api/v1/namespaces/x"), 404);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding_gives_a_pod_its_node_once),
        cmocka_unit_test(test_binding_checks_before_it_binds),
        cmocka_unit_test(test_eviction_asks_the_budget),
        cmocka_unit_test(test_eviction_without_a_budget_deletes),
        cmocka_unit_test(test_pods_that_are_not_ready),
        cmocka_unit_test(test_two_budgets_are_too_many),
        cmocka_unit_test(test_what_only_a_kubelet_could_answer),
        cmocka_unit_test(test_scale_of_a_deployment),
        cmocka_unit_test(test_namespace_goes_when_it_is_finalized),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
