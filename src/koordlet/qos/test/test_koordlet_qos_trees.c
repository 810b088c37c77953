/* test_koordlet_qos_trees.c - rounds of strategies that read files themselves, on fixture trees:
 * resctrl's groups and threads, disks that have settings (koordlet-qos 11, 12). */
#include "koordlet/qos/test/qos_fixture.h"
/* clang-format off */
#include "koordlet/kernel/test/host_fixture.h"
/* clang-format on */
#include "base/klog.h"
#include "component/metrics.h"
#include "koordlet/collect/collect.h"
#include "koordlet/executor/executor.h"
#include "koordlet/facts/caps.h"
#include "koordlet/facts/storage.h"
#include "koordlet/qos/strategies.h"
#include "loop/loop.h"

#define SECOND   NSEC_PER_SEC
#define CLASS_BE "kubepods.slice/kubepods-besteffort.slice"
#define POD_DIR  CLASS_BE "/kubepods-besteffort-podbe.slice"

struct trees {
    struct object_fixture *b;
    struct fixture f;
    struct loop *l;
    struct executor *executor;
    struct metrics *metrics;
    struct snapshots *snapshots;
    struct snapshot known;
    struct podset *pods;
    struct koordlet_options o;
    struct collect_env collect;
    struct cpu_info cpus;
    struct caps caps;
    struct qos_env env;
    const struct qos_strategy *strategy;
    void *self;
    struct strbuf lines;
};

static void on_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

#define POD(annotations)                                                                        \
    "[{'metadata':{'name':'be','namespace':'d','uid':'be','labels':{'koordinator.sh/qosClass':" \
    "'BE'},'annotations':{" annotations "}},'spec':{'containers':[{'name':'c'}]},'status':{"    \
    "'phase':'Running','containerStatuses':[{'name':'c','containerID':'containerd://b1','state" \
    "':{'running':{}}}]}}]"

static void init(struct trees *t, struct object_fixture *b, const char *pods)
{
    static char vendor[] = "GenuineIntel";

    *t = (struct trees){ .b = b };
    klog_set_sink(on_line, &t->lines);
    fixture_init(&t->f);
    fixture_cgroup(&t->f, CGROUP_V1);
    t->pods = pods_of(b, pods);
    t->l = loop_new_virtual(NOW, 1);
    t->metrics = metrics_new();
    t->snapshots = snapshots_new(t->l);
    t->known = (struct snapshot){ .refs = 1, .pods = t->pods };
    snapshots_publish(t->snapshots, snapshot_ref(&t->known));
    t->cpus = (struct cpu_info){ .refs = 1, .vendor = vendor };
    t->collect.cpu_info = &t->cpus;
    t->caps.caps[CAP_RESCTRL].state = CAP_YES;
    gates_init(&t->o.gates, koordlet_gates, KOORDLET_GATES);
}

/* The files are there: the host is made, and the strategy. */
static void start(struct trees *t, const struct qos_strategy *s, const char *slo)
{
    struct host *h = fixture_host(&t->f);

    h->driver = CGROUP_SYSTEMD;
    h->driver_known = true;
    t->known.slo = slo_of(t->b, slo);
    t->executor = executor_new(&(struct executor_env){ .loop = t->l,
                                                       .host = h,
                                                       .ops = &executor_ops_host,
                                                       .ops_arg = h,
                                                       .metrics = t->metrics,
                                                       .force_update = 60 * SECOND });
    t->env = (struct qos_env){ .loop = t->l,
                               .host = h,
                               .snapshots = t->snapshots,
                               .o = &t->o,
                               .internal = t->metrics,
                               .node_name = "n",
                               .executor = t->executor,
                               .collect = &t->collect,
                               .caps = &t->caps };
    t->strategy = s;
    t->self = s->setup(&t->env);
}

static void round_of(struct trees *t)
{
    t->strategy->tick(t->self, &t->env);
    loop_advance(t->l, SECOND);
}

static void fini(struct trees *t)
{
    t->strategy->destroy(t->self);
    executor_free(t->executor);
    loop_advance(t->l, SECOND);
    snapshots_free(t->snapshots);
    podset_unref(t->pods);
    metrics_free(t->metrics);
    loop_free(t->l);
    fixture_fini(&t->f);
    klog_set_sink(NULL, NULL);
    strbuf_fini(&t->lines);
}

static void assert_file(struct trees *t, const char *path, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_free) char *whole = xasprintf("%s/%s", t->f.dir, path);
    struct kerr err = { 0 };

    if (file_read_all(AT_FDCWD, whole, 1 << 16, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(strbuf_str(&text), expected);
}

/* ---- resctrl --------------------------------------------------------------------------------- */

static void put_resctrl(struct trees *t)
{
    static const char *const groups[] = { "LSR", "LS", "BE" };

    fixture_put(&t->f, "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n", "sys-fs/resctrl/schemata");
    fixture_put(&t->f, "7ff\n", "sys-fs/resctrl/info/L3/cbm_mask");
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        fixture_put(&t->f, "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n", "sys-fs/resctrl/%s/schemata",
                    groups[i]);
        fixture_put(&t->f, "", "sys-fs/resctrl/%s/tasks", groups[i]);
    }
    fixture_put(&t->f, "41\n42\n43\n", "cgroup/cpu/" POD_DIR "/cri-containerd-b1.scope/tasks");
}

#define RESCTRL                                                                                  \
    "{'resourceQOSStrategy':{'beClass':{'resctrlQOS':{'enable':true,'catRangeStartPercent':10,'" \
    "catRangeEndPercent':50,'mbaPercent':100}}}}"

static void test_resctrl_groups_and_threads(void **state)
{
    struct trees t;

    init(&t, *state, POD(""));
    put_resctrl(&t);
    fixture_put(&t.f, "42\n", "sys-fs/resctrl/BE/tasks"); /* in its group already */
    start(&t, &strategy_resctrl, RESCTRL);
    round_of(&t);
    assert_file(&t, "sys-fs/resctrl/BE/schemata", "L3:0=3c;1=3c;\n");
    assert_file(&t, "sys-fs/resctrl/BE/tasks", "42\n4143"); /* appended, one write each */
    /* No news: nobody is moved again until a minute has passed. */
    fixture_put(&t.f, "", "sys-fs/resctrl/BE/tasks");
    round_of(&t);
    assert_file(&t, "sys-fs/resctrl/BE/tasks", "");
    loop_advance(t.l, 60 * SECOND);
    round_of(&t);
    assert_file(&t, "sys-fs/resctrl/BE/tasks", "414243");
    fini(&t);
}

static void test_resctrl_is_left_alone_until_a_class_is_enabled(void **state)
{
    struct trees t;

    init(&t, *state, POD(""));
    fixture_put(&t.f, "L3:0=7ff\n", "sys-fs/resctrl/schemata");
    start(&t, &strategy_resctrl, "{}");
    round_of(&t);
    assert_int_equal(executor_stats(t.executor).files, 0);
    assert_int_equal(t.lines.len, 0);
    fini(&t);
}

/* What an agent before this one left behind is widened again. */
static void test_resctrl_groups_left_behind_get_the_defaults(void **state)
{
    struct trees t;

    init(&t, *state, POD(""));
    put_resctrl(&t);
    fixture_put(&t.f, "    MB:0=100;1=100\n    L3:0=3c;1=3c\n", "sys-fs/resctrl/BE/schemata");
    start(&t, &strategy_resctrl, "{}");
    round_of(&t);
    assert_file(&t, "sys-fs/resctrl/BE/schemata", "L3:0=7ff;1=7ff;\n");
    assert_file(&t, "sys-fs/resctrl/BE/tasks", ""); /* nobody belongs into a group */
    fini(&t);
}

/* ---- disks ----------------------------------------------------------------------------------- */

#define IOPS "blkio.throttle.read_iops_device"

static void put_blkio(struct trees *t, const char *dir, const char *iops)
{
    static const char *const files[] = { "blkio.throttle.read_bps_device",
                                         "blkio.throttle.write_iops_device",
                                         "blkio.throttle.write_bps_device" };

    fixture_put(&t->f, iops, "cgroup/blkio/%s/" IOPS, dir);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        fixture_put(&t->f, "", "cgroup/blkio/%s/%s", dir, files[i]);
}

static void test_disks_without_a_block_lose_their_limits(void **state)
{
    struct storage_info storage = { .refs = 1, .stamp = 1 };
    struct trees t;

    init(&t, *state, POD("'koordinator.sh/blkioQOS':'{\\'blocks\\':[]}'"));
    put_blkio(&t, "kubepods.slice", "");
    put_blkio(&t, CLASS_BE, "");
    put_blkio(&t, POD_DIR, "253:16 2048\n");
    t.collect.storage_info = &storage;
    start(&t, &strategy_blkio, "{}");
    round_of(&t);
    assert_file(&t, "cgroup/blkio/" POD_DIR "/" IOPS, "253:16 0");
    assert_file(&t, "cgroup/blkio/" CLASS_BE "/" IOPS, "");
    fini(&t);
}

static void test_a_block_limits_the_class_and_a_bad_one_is_told(void **state)
{
    struct storage_pair disk = { "/dev/vda", "253:0" };
    struct storage_info storage = { .refs = 1, .stamp = 1, .disk_number = { &disk, 1 } };
    struct trees t;

    init(&t, *state,
         POD("'koordinator.sh/blkioQOS':'{\\'blocks\\':[{\\'name\\':\\'/dev/none\\',"
             "\\'type\\':\\'device\\'}]}'"));
    put_blkio(&t, "kubepods.slice", "");
    put_blkio(&t, CLASS_BE, "");
    put_blkio(&t, POD_DIR, "253:16 2048\n");
    t.collect.storage_info = &storage;
    start(&t, &strategy_blkio,
          "{'resourceQOSStrategy':{'beClass':{'blkioQOS':{'enable':true,'blocks':[{'name':'/dev/vda"
          "','type':'device','ioCfg':{'readIOPS':100}}]}}}}");
    round_of(&t);
    assert_file(&t, "cgroup/blkio/" CLASS_BE "/" IOPS, "253:0 100");
    assert_file(&t, "cgroup/blkio/" POD_DIR "/" IOPS, "253:16 2048\n"); /* as it was */
    assert_non_null(strstr(strbuf_str(&t.lines), "device /dev/none is on no known disk"));
    fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_resctrl_groups_and_threads),
        FIXTURE_TEST(test_resctrl_is_left_alone_until_a_class_is_enabled),
        FIXTURE_TEST(test_resctrl_groups_left_behind_get_the_defaults),
        FIXTURE_TEST(test_disks_without_a_block_lose_their_limits),
        FIXTURE_TEST(test_a_block_limits_the_class_and_a_bad_one_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
