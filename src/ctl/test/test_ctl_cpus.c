/* test_ctl_cpus.c - koordctl cpus: what it asks for and what it draws. */
#include "base/test/asserts.h"
#include "ctl/explain.h"
#include "ctl/test/fixture.h"

/* ---- a scheduler that stands in -------------------------------------------------------------- */

static int sched_open(const char *name, const struct explain_config *config, struct strbuf *notes,
                      void **ret, struct kerr *err)
{
    (void)config, (void)notes, (void)err;
    assert_string_equal(name, "koord-scheduler");
    *ret = (void *)(uintptr_t)&sched_open;
    return 0;
}
static void sched_close(void *self)
{
    (void)self;
}
static const struct kind *sched_kind(const void *self, unsigned i)
{
    (void)self, (void)i;
    return NULL;
}
static int sched_add(void *self, struct kobj *o, struct kerr *err)
{
    (void)self, (void)o, (void)err;
    return 0;
}

#define CPU(id, core, node, socket, more) \
    "{\"id\":" #id ",\"core\":" #core ",\"numaNode\":" #node ",\"socket\":" #socket more "}"
#define HELD(n) ",\"holder\":" #n
static const char map[] =
    "{\"node\":\"n1\",\"sockets\":2,\"numaNodes\":2,\"cores\":3,\"free\":\"3\",\"freeCPUs\":1,"
    "\"freeCores\":0,\"holders\":[{\"kind\":\"pod\",\"name\":\"shop/we\\u001bb\",\"cpus\":\"0-1\"},"
    "{\"kind\":\"reservation\",\"name\":\"r\",\"cpus\":\"2\"},{\"kind\":\"kubelet\",\"cpus\":"
    "\"10\"}"
    ",{\"kind\":\"system\",\"cpus\":\"11\"}],\"cpus\":[" CPU(0, 0, 0, 0, HELD(0)) "," CPU(
        1, 0, 0, 0, HELD(0)) "," CPU(2, 1, 0, 0,
                                     HELD(1)) "," CPU(3, 1, 0, 0,
                                                      "") "," CPU(10, 2, 1, 1,
                                                                  HELD(2)) "," CPU(11, 2, 1, 1,
                                                                                   HELD(3)) "]}";

static int sched_cpus(void *self, const char *node, const struct cpus_want *want,
                      struct strbuf *json, struct kerr *err)
{
    assert_ptr_equal(self, (void *)(uintptr_t)&sched_open);
    if (node && !streq(node, "n1"))
        return kerr_set(err, -ENOENT, "there is no node %s", node);
    if (node)
        strbuf_append(json, map);
    else
        strbuf_appendf(json,
                       "{\"nodes\":[{\"name\":\"%u-%s-%d\",\"fits\":3,\"largest\":28},{\"name\":"
                       "\"b\",\"fits\":0,\"largest\":0,\"why\":\"no CPU topology\"}],\"fits\":3,"
                       "\"largest\":28}",
                       want->ncpus, want->bind, want->single_numa);
    return 0;
}
static const struct explain_scheduler scheduler = {
    .open = sched_open, .close = sched_close, .kind = sched_kind, .add = sched_add
};
static const struct ctl_parts parts = { .explain = &scheduler, .cpus = sched_cpus };

static void cluster(struct fixture *x)
{
    fixture_init(x);
    x->parts = &parts;
    fake_add(&x->f, (struct fake_answer){ "/api/v1/pods", 200, "{\"metadata\":{},\"items\":[]}" });
    fake_add(&x->f, (struct fake_answer){ "/api/v1/nodes", 200, "{\"metadata\":{},\"items\":[]}" });
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_a_node_is_drawn(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    cluster(&x);
    assert_int_equal(run(&x, "cpus", "n1"), CTL_OK);
    assert_string_equal(
        x.out,
        "Node n1: 6 CPUs in 3 cores, 2 NUMA nodes, 2 sockets. Free: 1 CPU, 0 whole cores.\n"
        "\nSocket 0\n  NUMA node 0\n    [ 0 a  1 a] [ 2 b  3 .]\n"
        "\nSocket 1\n  NUMA node 1\n    [10 K 11 S]\n"
        "\n  a  pod shop/we b  0-1\n  b  reservation r  2\n  K  kubelet  10\n  S  system  11\n"
        "  .  free  3\n");
    assert_int_equal(run(&x, "cpus", "n1", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"freeCPUs\": 1");
    assert_int_equal(run(&x, "cpus", "n2"), CTL_FAILED);
    assert_string_equal(x.err, "error: there is no node n2\n");
}

static void test_how_many_fit(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    cluster(&x);
    assert_int_equal(run(&x, "cpus", "--fits", "16", "--bind", "FullPCPUs", "--single-numa"),
                     CTL_OK);
    assert_string_equal(x.out, "NODE             FITS  LARGEST\n"
                               "16-FullPCPUs-1      3       28\n"
                               "b                   0        0  no CPU topology\n"
                               "all                 3       28\n");
    assert_int_equal(run(&x, "cpus", "--fits", "4"), CTL_OK);
    assert_contains(x.out, "4--0 ");
}

static void test_wrong_usage(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    cluster(&x);
    assert_int_equal(run(&x, "cpus"), CTL_USAGE);
    assert_int_equal(run(&x, "cpus", "n1", "--fits", "4"), CTL_USAGE);
    assert_int_equal(run(&x, "cpus", "n1", "--single-numa"), CTL_USAGE);
    assert_int_equal(run(&x, "cpus", "--fits", "4", "--bind", "Sometimes"), CTL_USAGE);
    assert_int_equal(run(&x, "cpus", "n1", "-o", "wide"), CTL_USAGE);
    x.parts = NULL;
    assert_int_equal(run(&x, "cpus", "n1"), CTL_FAILED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_is_drawn),
        cmocka_unit_test(test_how_many_fit),
        cmocka_unit_test(test_wrong_usage),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
