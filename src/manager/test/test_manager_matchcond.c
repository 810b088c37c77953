/* test_manager_matchcond.c - conditions as text; tests/system/test_koord_manager has a real API
 * server evaluate them on every recorded case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/intern.h"
#include "base/test/asserts.h"
#include "manager/profile/profiles.h"
#include "manager/registration/matchcond.h"
#include "manager/webhook/webhook.h"
#include "json/kj.h"

#define ONLY_PROFILES (1u << GATE_NO_EXTENDED_SPEC | 1u << GATE_NO_DEVICE_SPEC)

struct fixture {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct profile_set *set;
    struct strbuf out;
};

static void init(struct fixture *f)
{
    *f = (struct fixture){ .strings = intern_new(), .set = profile_set_new() };
    f->scratch = kj_scratch_new(f->strings);
}

static void fini(struct fixture *f)
{
    profile_set_free(f->set);
    kj_scratch_free(f->scratch);
    intern_free(f->strings);
    strbuf_fini(&f->out);
}

static void put(struct fixture *f, const char *name, const char *spec)
{
    CLEANUP(mem_free)
    char *text = xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}", name, spec);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kobj_unref) struct kobj *o = NULL;

    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    assert_int_equal(kobj_decode(&kind_colocation_profile, kj_root(doc), f->scratch, &o, NULL), 0);
    profile_set_put(f->set, o);
}

static const char *mutate(struct fixture *f, unsigned gates)
{
    strbuf_reset(&f->out);
    matchcond_mutate_pod(f->set, gates, &f->out);
    return strbuf_str(&f->out);
}

static void test_a_selector_becomes_an_expression(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    assert_string_equal(mutate(&f, ONLY_PROFILES), "request.operation == 'CREATE' && (false)");
    put(&f, "a",
        "{\"selector\":{\"matchLabels\":{\"app\":\"x\"},\"matchExpressions\":["
        "{\"key\":\"t\",\"operator\":\"NotIn\",\"values\":[\"a\",\"b\"]},"
        "{\"key\":\"e\",\"operator\":\"Exists\"},{\"key\":\"d\",\"operator\":\"DoesNotExist\"}]}}");
    assert_string_equal(mutate(&f, ONLY_PROFILES),
                        "request.operation == 'CREATE' && (false\n"
                        "|| ((has(object.metadata.labels) && 'app' in object.metadata.labels && "
                        "object.metadata.labels['app'] in ['x']) && "
                        "!(has(object.metadata.labels) && 't' in object.metadata.labels && "
                        "object.metadata.labels['t'] in ['a', 'b']) && "
                        "(has(object.metadata.labels) && 'e' in object.metadata.labels) && "
                        "!(has(object.metadata.labels) && 'd' in object.metadata.labels)))");
    fini(&f);
}

static void test_where_no_condition_is_possible(void **state)
{
    static const char one[] = "{\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}";
    struct fixture f;
    char name[16];

    (void)state;
    init(&f);
    put(&f, "a", one);
    assert_true(*mutate(&f, 0));
    put(&f, "b",
        "{\"namespaceSelector\":{\"matchLabels\":{\"n\":\"y\"}},\"selector\":{\"matchLabels\":{"
        "\"a\":\"b\"}}}");
    assert_string_equal(mutate(&f, 0), "");
    profile_set_remove(f.set, "b");
    put(&f, "b", "{\"qosClass\":\"BE\"}");
    assert_string_equal(mutate(&f, 0), "");
    put(&f, "b", "{\"selector\":{}}");
    assert_string_equal(mutate(&f, 0), "");
    /* It matches nothing. */
    put(&f, "b", "{\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Near\"}]}}");
    assert_true(*mutate(&f, 0));
    for (int i = 0; i < MATCHCOND_PROFILES_MAX; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        put(&f, name, one);
    }
    assert_string_equal(mutate(&f, 0), "");
    strbuf_reset(&f.out);
    matchcond_validate_pod(1u << GATE_ENHANCED_VALIDATOR, &f.out);
    assert_int_equal(f.out.len, 0);
    fini(&f);
}

static void test_gates_add_their_resources(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    assert_contains(mutate(&f, 0), "'kubernetes.io/batch-cpu'");
    assert_contains(mutate(&f, 0), "'koordinator.sh/gpu.shared'");
    assert_lacks(mutate(&f, 1u << GATE_NO_EXTENDED_SPEC), "batch-cpu");
    assert_lacks(mutate(&f, 1u << GATE_NO_DEVICE_SPEC), "gpu");
    strbuf_reset(&f.out);
    matchcond_validate_pod(0, &f.out);
    assert_lacks(strbuf_str(&f.out), "gpu");
    assert_contains(strbuf_str(&f.out), "'koordinator.sh/qosClass' in oldObject.metadata.labels");
    strbuf_reset(&f.out);
    matchcond_validate_pod(1u << GATE_VALIDATE_DEVICES, &f.out);
    assert_contains(strbuf_str(&f.out), "gpu");
    fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_selector_becomes_an_expression),
        cmocka_unit_test(test_where_no_condition_is_possible),
        cmocka_unit_test(test_gates_add_their_resources),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
