/* test_devicedaemon.c - vendors' tools that answer from a table, and a PCI bus made of files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "devicedaemon/devicedaemon.h"
#include "loop/loop.h"
#include "sys/file.h"
#include "json/kj.h"

#define MINUTE (60 * NSEC_PER_SEC)
enum { ANSWERS_MAX = 32 };

struct answer {
    const char *command, *text;
    int status; /* other than 0: the tool fails, after it has said this */
};
struct fixture {
    struct loop *loop;
    struct devicedaemon *daemon;
    struct answer answers[ANSWERS_MAX];
    size_t n_answers;
    uint32_t calls, done, failed;
    char root[64], output[96];
};

/* ---- the host -------------------------------------------------------------------------------- */

static void put(const struct fixture *f, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", f->root, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(dir_make(AT_FDCWD, path, 0755, NULL), 0);
    *slash = '/';
    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
}

/* A device on the bus, in the way of sysfs: a link into the tree of root complexes. */
static void put_pci(const struct fixture *f, const char *address, const char *vendor,
                    const char *product, const char *node)
{
    char path[256], link[256];

    snprintf(path, sizeof path, "sys/devices/pci0000:3a/%s/vendor", address);
    put(f, path, vendor);
    snprintf(path, sizeof path, "sys/devices/pci0000:3a/%s/device", address);
    put(f, path, product);
    snprintf(path, sizeof path, "sys/devices/pci0000:3a/%s/numa_node", address);
    put(f, path, node);
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices", f->root);
    assert_int_equal(dir_make(AT_FDCWD, path, 0755, NULL), 0);
    snprintf(path, sizeof path, "../../../devices/pci0000:3a/%s", address);
    snprintf(link, sizeof link, "%s/sys/bus/pci/devices/%s", f->root, address);
    assert_int_equal(symlink(path, link), 0);
}

static int tool(void *arg, const char *const *argv, struct strbuf *out, struct kerr *err)
{
    struct fixture *f = arg;
    CLEANUP(strbuf_fini) struct strbuf command = STRBUF_INIT;

    f->calls++;
    for (size_t i = 0; argv[i]; i++)
        strbuf_appendf(&command, i ? " %s" : "%s", argv[i]);
    for (size_t i = 0; i < f->n_answers; i++)
        if (streq(f->answers[i].command, strbuf_str(&command))) {
            strbuf_append(out, f->answers[i].text);
            return f->answers[i].status ? kerr_set(err, -EIO, "status %d", f->answers[i].status)
                                        : 0;
        }
    return kerr_set(err, -ENOENT, "%s: no such command", strbuf_str(&command));
}

static void answer(struct fixture *f, const char *command, const char *text)
{
    for (size_t i = 0; i < f->n_answers; i++)
        if (streq(f->answers[i].command, command)) {
            f->answers[i].text = text;
            return;
        }
    assert_true(f->n_answers < ANSWERS_MAX);
    f->answers[f->n_answers++] = (struct answer){ command, text, 0 };
}

static void refuse(struct fixture *f, const char *command, const char *text)
{
    answer(f, command, text);
    for (size_t i = 0; i < f->n_answers; i++)
        if (streq(f->answers[i].command, command))
            f->answers[i].status = 1;
}

static void on_done(void *arg, uint32_t failed)
{
    struct fixture *f = arg;
    f->done++;
    f->failed = failed;
}

static void drop_line(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static void init(struct fixture *f)
{
    *f = (struct fixture){ .loop = loop_new_virtual(0, 1), .root = "/tmp/devicedaemon-XXXXXX" };
    assert_non_null(mkdtemp(f->root));
    snprintf(f->output, sizeof f->output, "%s/run/ic-device", f->root);
    klog_set_sink(drop_line, NULL);
}

static void start(struct fixture *f, nsec_t interval)
{
    f->daemon = devicedaemon_new(
        f->loop, &(struct devicedaemon_opts){ f->root, f->output, interval, tool, f, on_done, f });
    loop_advance(f->loop, NSEC_PER_SEC);
}

static void remove_tree(const char *root)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static void fini(struct fixture *f)
{
    f->daemon = devicedaemon_free(f->daemon);
    loop_free(f->loop);
    remove_tree(f->root);
    klog_set_sink(NULL, NULL);
}

static void assert_output(const struct fixture *f, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT, wanted = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *other = NULL;

    assert_int_equal(file_read_all(AT_FDCWD, f->output, 1 << 20, &got, NULL), 0);
    assert_int_equal(kj_parse(strbuf_str(&got), got.len, 0, &doc, NULL), 0);
    assert_int_equal(kj_parse(want, strlen(want), 0, &other, NULL), 0);
    kj_write(kj_root(other), KJ_PRETTY, &wanted);
    strbuf_append(&wanted, "\n");
    assert_string_equal(strbuf_str(&got), strbuf_str(&wanted));
}

/* ---- Huawei ---------------------------------------------------------------------------------- */

#define MODEL "NPU ID  Chip ID  Chip Logic ID  Chip Name\n3  0  0  Ascend 310P3\n3  1  -  Mcu\n"
#define NPU(card, minor, status)                                                                   \
    "{\"vendor\":\"huawei\",\"model\":\"Ascend-310P3\",\"uuid\":\"npu-" card "-" minor             \
    "\",\"minor\":\"" minor "\",\"resources\":{\"koordinator.sh/gpu-memory\":\"21527Mi\","         \
    "\"huawei.com/npu-cpu\":\"7\",\"huawei.com/npu-core\":\"8\",\"huawei.com/npu-dvpp\":\"100\"}," \
    "\"topology\":{\"socketID\":\"-1\",\"nodeID\":\"0\",\"pcieID\":\"pci0000:3a\",\"busID\":"      \
    "\"0000:3b:00.0\"},\"status\":" status "}"
#define GOOD "{\"healthy\":true}"

static void put_npus(struct fixture *f)
{
    put_pci(f, "0000:3b:00.0", "0x19e5\n", "0xd500\n", "-1\n");
    put(f, "dev/davinci3", "");
    put(f, "dev/davinci_manager", "");
    answer(f, "npu-smi info -m", MODEL);
    answer(f, "npu-smi info -l", "Total Count : 1\n\n\tNPU ID      : 3\n\tChip Count  : 1\n");
    refuse(f, "npu-smi -t memory -i 1", "Error: Command or option is not found\n");
    answer(f, "npu-smi info -t cpu-num-cfg -i 3", "AI CPU : 7\nControl CPU : 1\n");
    answer(f, "npu-smi info -t board -i 3", "\tPCIe Bus Info : 0000:3B:00.0\n\tChip Fault : 0\n");
}

static void test_no_card_is_an_empty_list(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_pci(&f, "0000:01:00.0", "0x8086\n", "0x1234\n", "0\n");
    put_pci(&f, "0000:02:00.0", "0x19e5\n", "0x1711\n", "0\n"); /* a management controller */
    put_pci(&f, "0000:03:00.0", "garbage\n", "\n", "\n");
    start(&f, 0);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.failed, 0);
    assert_int_equal(f.calls, 0);
    assert_output(&f, "[]");
    f.daemon = devicedaemon_free(f.daemon);
    assert_int_equal(access(f.output, F_OK), 0); /* asked for once: the file stays */
    fini(&f);
}

static void test_an_npu(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_npus(&f);
    start(&f, 0);
    assert_int_equal(f.failed, 0);
    assert_output(&f, "[" NPU("3", "3", GOOD) "]");
    fini(&f);
}

/* davinci10 is the third, not the second. */
static void test_npus_in_numeric_order_with_faults(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_npus(&f);
    put(&f, "dev/davinci10", "");
    put(&f, "dev/davinci4", "");
    answer(&f, "npu-smi info -l", "NPU ID : 3\nNPU ID : 5\nNPU ID : 7\n");
    answer(&f, "npu-smi info -t board -i 7", "PCIe Bus Info : 0000:3b:00.0\nChip Fault : 2\n");
    start(&f, 0);
    assert_int_equal(f.failed, 0); /* card 5 does not answer and is left out */
    assert_output(&f, "[" NPU("3", "3", GOOD) "," NPU(
                          "7", "10",
                          "{\"healthy\":false,\"errCode\":\"chip error\",\"errMessage\":\"chip "
                          "faults of NPU 7: 2\"}") "]");
    fini(&f);
}

static void test_an_npu_of_another_model(void **state)
{
    struct fixture f;
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT;

    (void)state;
    init(&f);
    put_npus(&f);
    answer(&f, "npu-smi info -m", "NPU ID Chip Name\n3 Ascend 910B3\n");
    answer(&f, "npu-smi info -t memory -i 3", "DDR Capacity(MB) : 0\nHBM Capacity(MB) : 65536\n");
    answer(&f, "npu-smi info -t common -i 0", "Aicore Count : 20\nAicore Count : 4\n");
    start(&f, 0);
    assert_int_equal(f.failed, 0);
    assert_int_equal(file_read_all(AT_FDCWD, f.output, 1 << 20, &got, NULL), 0);
    assert_non_null(strstr(strbuf_str(&got), "\"model\": \"Ascend-910B3\""));
    assert_non_null(strstr(strbuf_str(&got), "\"koordinator.sh/gpu-memory\": \"65536Mi\""));
    assert_non_null(strstr(strbuf_str(&got), "\"huawei.com/npu-core\": \"24\""));
    assert_non_null(strstr(strbuf_str(&got), "\"huawei.com/npu-cpu\": \"7\""));
    fini(&f);
}

/* ---- the others ------------------------------------------------------------------------------ */

#define CARD(vendor, model, uuid, minor, memory, node, bus, status)                                \
    "{\"vendor\":\"" vendor "\",\"model\":\"" model "\",\"uuid\":\"" uuid "\",\"minor\":\"" minor  \
    "\",\"resources\":{\"koordinator.sh/gpu-memory\":\"" memory                                    \
    "\",\"koordinator.sh/gpu-core\":\"100\"},\"topology\":{\"socketID\":\"-1\",\"nodeID\":\"" node \
    "\",\"pcieID\":\"pci0000:3a\",\"busID\":\"" bus "\"},\"status\":" status "}"

static void test_mlus(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_pci(&f, "0000:4f:00.0", "0xcabc\n", "0x0370\n", "1\n");
    put_pci(&f, "0000:50:00.0", "cabc", "0x0370\n", "1\n");
    answer(&f, "cnmon -l",
           "Card 0 | MLU370-X4 | UUID : a\nCard 1 | MLU370-X4 | UUID : b\nCard 2 | MLU370-X4 | "
           "UUID : c\n");
    answer(&f, "cnmon info",
           "Virtual Memory Usage\n Total : 1 MiB\nPhysical Memory Usage :\n Total : 24576 MiB\n");
    answer(&f, "cnmon info -c 0",
           "UUID : mlu-a\nNUMA node id : 1\nDomain ID : 0000\nBus num : 4f\nDevice : 00\nFunction "
           ": 0\nHealth\n Device : Good\n");
    answer(&f, "cnmon info -c 1",
           "UUID : mlu-b\nNUMA node id : -1\nDomain ID : 0000\nBus num : 50\nDevice : "
           "00\nFunction : 0\nDevice : Warning\n");
    start(&f, 0);
    assert_int_equal(f.failed, 0); /* the third card says nothing */
    assert_output(&f, "[" CARD("cambricon", "MLU370-X4", "mlu-a", "0", "24576Mi", "1",
                               "0000:4f:00.0", GOOD) "," CARD("cambricon", "MLU370-X4", "mlu-b",
                                                              "1", "24576Mi", "0", "0000:50:00.0",
                                                              "{\"healthy\":false,\"errMessage\":"
                                                              "\"Device is Warning\"}") "]");
    fini(&f);
}

#define XPU(bus) bus " 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 32768 20 21 R300 23\n"

static void test_xpus(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_pci(&f, "0000:51:00.0", "0x1d22\n", "0x3684\n", "1\n");
    answer(&f, "xpu_smi -m", XPU("0000:51:00.0"));
    answer(&f, "xpu_smi -m -d /dev/xpu0", XPU("0000:51:00.0"));
    start(&f, 0);
    assert_int_equal(f.failed, 0);
    assert_output(
        &f, "[" CARD("kunlun", "R300", "xpu-0", "0", "32768Mi", "1", "0000:51:00.0", GOOD) "]");
    fini(&f);
}

static void test_metax_cards(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_pci(&f, "0000:0e:00.0", "0x9999\n", "0x4001\n", "0\n");
    put_pci(&f, "0000:0f:00.0", "0x9999\n", "0x4001\n", "0\n");
    answer(&f, "mx-smi --show-hwinfo",
           "GPU#0 MXC500 0000:0e:00.0\n Model Name : MXC500\n Memory Capacity : 64GB\n"
           "GPU#1 MXC500 0000:0f:00.0\n Model Name : MXC500\n Memory Capacity : 64GB\n");
    answer(&f, "mx-smi --list",
           "SGPU#0 a b c d (no)\nGPU#10 a b c d (x)\nGPU#0 MXC500 0000:0e:00.0 (UUID : GPU-a)\n"
           "GPU#1 MXC500 0000:0f:00.0 (UUID : (GPU-b))\n");
    answer(&f, "mx-smi --show-hwinfo -i 0", "GPU#0 MXC500 0000:0e:00.0\n");
    answer(&f, "mx-smi --show-hwinfo -i 1", "GPU#1 MXC500 0000:0f:00.0\n");
    answer(&f, "mx-smi --count-ecc -i 0", "SRAM Uncorrectable : 0\nDouble Bit ECC : 0\n");
    answer(&f, "mx-smi --count-ecc -i 1", "SRAM Uncorrectable : 4\nDouble Bit ECC : 0\n");
    start(&f, 0);
    assert_int_equal(f.failed, 0);
    assert_output(
        &f,
        "[" CARD("metax", "MXC500", "GPU-a", "0", "64Gi", "0", "0000:0e:00.0", GOOD) "," CARD(
            "metax", "MXC500", "GPU-b", "1", "64Gi", "0", "0000:0f:00.0",
            "{\"healthy\":false,\"errCode\":\"ECC error\",\"errMessage\":\"uncorrectable memory "
            "errors of GPU 1: 4\"}") "]");
    fini(&f);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void test_a_vendor_that_fails_keeps_its_cards_and_hides_no_other(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_npus(&f);
    put_pci(&f, "0000:51:00.0", "0x1d22\n", "0x3684\n", "1\n");
    refuse(&f, "xpu_smi -m", "no driver\n");
    start(&f, 15 * MINUTE);
    assert_int_equal(devicedaemon_failed(f.daemon), 1);
    assert_output(&f, "[" NPU("3", "3", GOOD) "]");
    refuse(&f, "npu-smi info -m", "no driver\n");
    loop_advance(f.loop, 15 * MINUTE);
    assert_int_equal(devicedaemon_failed(f.daemon), 2);
    assert_output(&f, "[" NPU("3", "3", GOOD) "]");
    fini(&f);
}

static void test_tools_that_print_rubbish(void **state)
{
    static const char *const rubbish[] = { "",
                                           "\n",
                                           "\n\n",
                                           "NPU ID",
                                           "NPU ID : -1\n",
                                           "NPU ID : 99999999999999999999\n",
                                           "\xff\xfe \xff\n\xff \xfe\n" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rubbish); i++) {
        struct fixture f;
        init(&f);
        put_npus(&f);
        for (size_t k = 0; k < f.n_answers; k++)
            f.answers[k] = (struct answer){ f.answers[k].command, rubbish[i], 0 };
        start(&f, 0);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.failed, 1);
        assert_output(&f, "[]");
        fini(&f);
    }
}

static void test_the_file_goes_with_the_daemon(void **state)
{
    struct fixture f;
    char beside[128];

    (void)state;
    init(&f);
    put_npus(&f);
    start(&f, MINUTE);
    assert_int_equal(f.done, 0);
    assert_int_equal(access(f.output, F_OK), 0);
    snprintf(beside, sizeof beside, "%s-tmp", f.output);
    assert_int_equal(mkdir(beside, 0755), 0);
    f.daemon = devicedaemon_free(f.daemon);
    assert_int_equal(access(f.output, F_OK), -1);
    assert_int_equal(access(beside, F_OK), -1);
    fini(&f);
}

static void test_an_end_in_the_middle_of_a_round(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put_npus(&f);
    f.daemon = devicedaemon_new(
        f.loop, &(struct devicedaemon_opts){ f.root, f.output, MINUTE, tool, &f, on_done, &f });
    f.daemon = devicedaemon_free(f.daemon);
    loop_advance(f.loop, MINUTE);
    assert_int_equal(f.done, 0);
    assert_int_equal(access(f.output, F_OK), -1);
    fini(&f);
}

static void test_a_file_that_cannot_be_written(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    put(&f, "run", "a file where a directory should be");
    start(&f, 0);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.failed, 1);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_card_is_an_empty_list),
        cmocka_unit_test(test_an_npu),
        cmocka_unit_test(test_npus_in_numeric_order_with_faults),
        cmocka_unit_test(test_an_npu_of_another_model),
        cmocka_unit_test(test_mlus),
        cmocka_unit_test(test_xpus),
        cmocka_unit_test(test_metax_cards),
        cmocka_unit_test(test_a_vendor_that_fails_keeps_its_cards_and_hides_no_other),
        cmocka_unit_test(test_tools_that_print_rubbish),
        cmocka_unit_test(test_the_file_goes_with_the_daemon),
        cmocka_unit_test(test_an_end_in_the_middle_of_a_round),
        cmocka_unit_test(test_a_file_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
