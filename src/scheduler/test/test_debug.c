/* test_debug.c - tables and views for people (scheduler-core 11.1, 11.4, 7.2). */
#include "scheduler/test/field.h"

#include "scheduler/debug.h"

#define NODE(name, cpu)                                                    \
    "{'metadata':{'name':'" name "'},'status':{'allocatable':{'cpu':'" cpu \
    "','memory':'10Gi','pods':'9'}}}"
#define POD \
    "{'metadata':{'name':'p|q','namespace':'ns','uid':'u'},'spec':{'containers':[{'name':'c'}]}}"

static void test_the_score_table(void **state)
{
    CLEANUP(field_fini) struct field f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    field_init(&f, state, "NodeResourcesFit TaintToleration", NULL);
    field_node(&f, NODE("small", "1"));
    field_node(&f, NODE("large", "100"));
    field_try(&f, POD);
    debug_score_table(&f.a, 1, &out);
    assert_string_equal(strbuf_str(&out),
                        "| # | Pod | Node | Score | TaintToleration | NodeResourcesFit |\n"
                        "| --- | --- | --- | ---:| ---:| ---:|\n"
                        "| 0 | ns/p\\|q | large | 398 | 300 | 98 |\n");
}

static void test_a_node_as_the_scheduler_sees_it(void **state)
{
    CLEANUP(field_fini) struct field f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    field_init(&f, state, NULL, NULL);
    field_node(&f, NODE("n", "4"));
    field_pod(&f, "{'metadata':{'name':'s','namespace':'ns','uid':'s'},'spec':{'nodeName':'n',"
                  "'containers':[{'name':'c','ports':[{'hostPort':80}],'resources':{'requests':{"
                  "'cpu':'1500m'}}}]}}");
    assert_false(debug_node(f.cache, "nobody", &out));
    assert_true(debug_node(f.cache, "n", &out));
    assert_int_equal(kj_parse(out.data, out.len, 0, &doc, NULL), 0);
    assert_string_equal(kj_str_or(kj_path(kj_root(doc), "node.metadata.name"), ""), "n");
    assert_int_equal(kj_i64_or(kj_path(kj_root(doc), "remaining.MilliCPU"), 0), 2500);
    assert_int_equal(kj_i64_or(kj_path(kj_root(doc), "requested.MilliCPU"), 0), 1500);
    const struct kj_val *ports = kj_get(kj_get(kj_root(doc), "usedPorts"), "0.0.0.0");
    assert_int_equal(kj_i64_or(kj_get(kj_at(ports, 0), "Port"), 0), 80);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_the_score_table),
        BED_TEST(test_a_node_as_the_scheduler_sees_it),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
