/* test_autoscaling.c - what a HorizontalPodAutoscaler is told that breaks the rules, and which of
 * them one may go on breaking that is older than they are.
 *
 * Expected words are those of kube-apiserver 1.35, seen on a real one.
 */
#include "apiserver/kinds/internal.h"
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

#define SCALERS "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
#define SCALER(more)                                                                             \
    "{'metadata':{'name':'a'},'spec':{'maxReplicas':3,'scaleTargetRef':{'apiVersion':'apps/v1'," \
    "'kind':'Deployment','name':'d'}," more "}}"
#define METRIC(type, key, more) SCALER("'metrics':[{'type':'" type "','" key "':{" more "}}]")
#define NAMED                   "'metric':{'name':'m'},"
#define VALUE                   "'target':{'type':'Value','value':1}"
#define AVERAGE                 "'target':{'type':'AverageValue','averageValue':1}"
#define SERVICE                 "'describedObject':{'kind':'Service','name':'s'},"

static const struct {
    const char *body, *message; /* message: after "... is invalid: " */
} refusals[] = {
    { METRIC("Object", "object", SERVICE NAMED "'target':{'type':'Value','value':0}"),
      "spec.metrics[0].object.target.value: Invalid value: \"0\": must be positive" },
    { METRIC("Object", "object", SERVICE NAMED "'target':{'type':'Value'}"),
      "spec.metrics[0].object.target.averageValue: Required value: must set either a target value "
      "or averageValue" },
    { METRIC("Object", "object", SERVICE "'metric':{'name':'%/'}," VALUE),
      "[spec.metrics[0].object.metric.name: Invalid value: \"%/\": may not contain '/', "
      "spec.metrics[0].object.metric.name: Invalid value: \"%/\": may not contain '%']" },
    { METRIC("External", "external",
             "'metric':{'name':''},'target':{'type':'x','value':'2','averageValue':'-010m'}"),
      "[spec.metrics[0].external.metric.name: Required value: must specify a metric name, "
      "spec.metrics[0].external.target.type: Invalid value: \"x\": must be either Utilization, "
      "Value, or AverageValue, spec.metrics[0].external.target.averageValue: Invalid value: "
      "\"-010m\": must be positive, spec.metrics[0].external.target.value: Forbidden: may not set "
      "both a target value for metric and a per-pod target]" },
    { METRIC("Pods", "pods", "'metric':{'name':'..'}," VALUE),
      "[spec.metrics[0].pods.metric.name: Invalid value: \"..\": may not be '..', "
      "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target "
      "averageValue]" },
    { METRIC("ContainerResource", "containerResource", "'name':'x'," AVERAGE),
      "[spec.metrics[0].containerResource.name: Invalid value: \"x\": must be a standard resource "
      "type or fully qualified, spec.metrics[0].containerResource.name: Invalid value: \"x\": must "
      "be a standard resource for containers, spec.metrics[0].containerResource.container: "
      "Required value: must specify a container]" },
    { METRIC("X", "pods", NAMED AVERAGE),
      "spec.metrics[0].type: Unsupported value: \"X\": supported values: \"ContainerResource\", "
      "\"External\", \"Object\", \"Pods\", \"Resource\"" },
    { METRIC("Resource", "pods", NAMED AVERAGE),
      "spec.metrics[0].resource: Required value: must populate information for the given metric "
      "source" },
    { SCALER("'metrics':[{'type':'Pods','pods':{" NAMED AVERAGE "},'external':{" NAMED VALUE "}}]"),
      "spec.metrics[0].external: Forbidden: must populate the given metric source only" },
    { SCALER("'behavior':{'scaleDown':{'tolerance':'-50m','selectPolicy':''}}"),
      "[spec.behavior.scaleDown.selectPolicy: Unsupported value: \"\": supported values: "
      "\"Disabled\", \"Max\", \"Min\", spec.behavior.scaleDown.tolerance: Invalid value: "
      "\"-50m\": must be greater than or equal to 0]" },
};

static void test_these_are_refused_in_these_words(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        int status = fixture_post(&r, SCALERS, fixture_json(refusals[i].body));
        const char *got = strstr(fixture_str(&r, "message"), "is invalid: ");
        if (status != 422 || !got || !streq(got + strlen("is invalid: "), refusals[i].message))
            fail_msg("%s\n  got %d %s", refusals[i].body, status, fixture_str(&r, "message"));
    }
}

/* The number of errors of a change. */
static size_t errors_of_change(const char *from, const char *to)
{
    CLEANUP(kj_doc_free) struct kj_doc *old = NULL, *new = NULL;
    CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();
    const char *text = fixture_json(from);

    assert_int_equal(kj_parse(text, strlen(text), 0, &old, NULL), 0);
    text = fixture_json(to);
    assert_int_equal(kj_parse(text, strlen(text), 0, &new, NULL), 0);
    hpa_strategy.validate(RES_UPDATE, kj_root(new), kj_root(old), errors);
    return field_errors_count(errors);
}

#define OLD_TARGET "'scaleTargetRef':{'kind':'Deployment','name':'d'}"
#define NEW_TARGET "'scaleTargetRef':{'kind':'ReplicaSet','name':'d'}"
#define ABOUT(version, name)                                                                    \
    "{'type':'Object','object':{'describedObject':{'apiVersion':'" version "','kind':'Service'" \
    ",'name':'" name "'}," NAMED VALUE "}}"
#define SPEC(more) "{'spec':{'maxReplicas':3," more "}}"
#define KIND(version) \
    "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'A','name':'d'},'metrics':[" version "]"

static void test_what_is_older_than_a_rule_may_stay(void **state)
{
    static const struct {
        const char *from, *to;
        size_t errors;
    } changes[] = {
        { SPEC(OLD_TARGET), SPEC(OLD_TARGET), 0 },
        { SPEC(NEW_TARGET), SPEC(OLD_TARGET), 1 },
        { SPEC(KIND(ABOUT("a/b/c", "s"))), SPEC(KIND(ABOUT("a/b/c", "t"))), 0 },
        { SPEC(KIND(ABOUT("a/b", "s"))), SPEC(KIND(ABOUT("a/b/c", "s"))), 1 },
        { SPEC("'minReplicas':0," KIND(ABOUT("v1", "s"))),
          SPEC("'minReplicas':0," KIND(ABOUT("v1", "s"))), 0 },
        { SPEC("'minReplicas':1," KIND(ABOUT("v1", "s"))),
          SPEC("'minReplicas':0," KIND(ABOUT("v1", "s"))), 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++)
        if (errors_of_change(changes[i].from, changes[i].to) != changes[i].errors)
            fail_msg("%s to %s", changes[i].from, changes[i].to);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_these_are_refused_in_these_words),
    cmocka_unit_test(test_what_is_older_than_a_rule_may_stay),
};

FIXTURE_MAIN(tests)
