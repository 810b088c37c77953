/* test_ctl_gpus.c - koordctl gpus: what it asks for and what it draws. */
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

#define GI "1073741824"
static const char map[] =
    "{\"nodes\":[{\"name\":\"n1\",\"model\":\"A100\",\"partitions\":\"Prefer\",\"cards\":[{"
    "\"minor\":0,\"healthy\":true,\"numaNode\":0,\"pcie\":\"3\",\"core\":100,\"coreFree\":50,"
    "\"memory\":2147483648,\"memoryFree\":" GI ",\"holders\":[{\"name\":\"ns/a\",\"core\":30},{"
    "\"name\":\"ns/b\",\"core\":20}]},{\"minor\":1,\"healthy\":false,\"core\":0,\"coreFree\":0,"
    "\"holders\":[]}]}],\"free\":50,\"requests\":[{\"percent\":50,\"cards\":1,\"fits\":1,"
    "\"usable\":50},{\"percent\":100,\"cards\":2,\"fits\":0,\"usable\":0}]}";

static int sched_gpus(void *self, const char *node, struct strbuf *json, struct kerr *err)
{
    assert_ptr_equal(self, (void *)(uintptr_t)&sched_open);
    if (node && !streq(node, "n1"))
        return kerr_set(err, -ENOENT, "there is no node %s", node);
    strbuf_append(json, node ? map : "{\"nodes\":[],\"free\":0,\"requests\":[]}");
    return 0;
}
static const struct explain_scheduler scheduler = {
    .open = sched_open, .close = sched_close, .kind = sched_kind, .add = sched_add
};
static const struct ctl_parts parts = { .explain = &scheduler, .gpus = sched_gpus };

static void cluster(struct fixture *x)
{
    fixture_init(x);
    x->parts = &parts;
    fake_add(&x->f, (struct fake_answer){ "/api/v1/pods", 200, "{\"metadata\":{},\"items\":[]}" });
    fake_add(&x->f, (struct fake_answer){ "/api/v1/nodes", 200, "{\"metadata\":{},\"items\":[]}" });
}

static void test_cards_are_drawn(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    cluster(&x);
    assert_int_equal(run(&x, "gpus", "n1"), CTL_OK);
    assert_string_equal(
        x.out, "Node n1: 2 GPUs, A100, partitions: Prefer\n"
               "    0 [##########..........]  50% free, 1Gi of 2Gi  NUMA 0, PCIe 3  ns/a 30%, "
               "ns/b 20%\n"
               "    1 [xxxxxxxxxxxxxxxxxxxx]  not healthy\n"
               "\nFree: 50% of a card in all.\n"
               "REQUEST            FITS  TOO FRAGMENTED\n"
               "50%                   1  0%\n"
               "2 cards               0  100%\n");
    assert_int_equal(run(&x, "gpus"), CTL_OK);
    assert_string_equal(x.out, "No node has GPUs.\n");
    assert_int_equal(run(&x, "gpus", "n2"), CTL_FAILED);
    assert_string_equal(x.err, "error: there is no node n2\n");
}

static void test_wrong_usage(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    cluster(&x);
    assert_int_equal(run(&x, "gpus", "n1", "n2"), CTL_USAGE);
    assert_int_equal(run(&x, "gpus", "-o", "wide"), CTL_USAGE);
    x.parts = NULL;
    assert_int_equal(run(&x, "gpus"), CTL_FAILED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cards_are_drawn),
        cmocka_unit_test(test_wrong_usage),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
