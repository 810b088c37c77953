/* test_koordlet_executor.c - plans become files: order, cache, composition, refusals, restoring
 * (koordlet-qos 2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/test/asserts.h"
#include "component/metrics.h"
#include "koordlet/audit/audit.h"
#include "koordlet/executor/test/kernel_model.h"
#include "koordlet/kernel/test/host_fixture.h"
#include "loop/loop.h"

#define BE  "kubepods/besteffort"
#define POD "kubepods/besteffort/pod1"
#define CTR "kubepods/besteffort/pod1/c1"

/* ---- on the model ---------------------------------------------------------------------------- */

struct stage {
    struct loop *loop;
    struct host host;
    struct kernel_model model;
    struct metrics *metrics;
    struct executor *e;
    struct strbuf lines; /* of the log */
};

static void on_line(void *arg, const char *line, size_t n)
{
    strbuf_appendn(arg, line, n);
}

static void stage_init(struct stage *s, enum cgroup_version v, bool dry_run)
{
    memset(s, 0, sizeof *s);
    klog_set_sink(on_line, &s->lines);
    model_init(&s->model, v, 8);
    model_mkdir(&s->model, "kubepods");
    model_mkdir(&s->model, BE);
    model_mkdir(&s->model, POD);
    model_mkdir(&s->model, CTR);
    s->loop = loop_new_virtual(0, 1);
    s->metrics = metrics_new();
    s->host = (struct host){ .version = v, .driver = CGROUP_CGROUPFS };
    s->e = executor_new(&(struct executor_env){ .loop = s->loop,
                                                .host = &s->host,
                                                .ops = &model_ops,
                                                .ops_arg = &s->model,
                                                .metrics = s->metrics,
                                                .force_update = 60 * NSEC_PER_SEC,
                                                .dry_run = dry_run });
}

static void stage_fini(struct stage *s)
{
    executor_free(s->e);
    loop_advance(s->loop, NSEC_PER_SEC);
    loop_free(s->loop);
    metrics_free(s->metrics);
    klog_set_sink(NULL, NULL);
    strbuf_fini(&s->lines);
}
static void stage_fini_p(struct stage *s)
{
    stage_fini(s);
}

static struct plan *plan_of(struct stage *s, enum plan_owner o)
{
    return executor_plan(s->e, o, NULL);
}

static struct plan_at at(const char *dir)
{
    return (struct plan_at){ dir, NULL, NULL };
}

/* One turn; the log of writes begins anew. */
static void settle(struct stage *s)
{
    s->model.log[0] = '\0';
    loop_advance(s->loop, 0);
}

static struct model_dir *dir(struct stage *s, const char *path)
{
    int i = model_find(&s->model, path);
    assert_that(i, >=, 0);
    return &s->model.dirs[i];
}

static void quotas(struct stage *s, int64_t be, int64_t pod, int64_t ctr)
{
    struct plan *p = plan_of(s, PLAN_CPU_SUPPRESS);

    plan_number(p, at(BE), PLAN_CPU_QUOTA, be);
    plan_number(p, at(POD), PLAN_CPU_QUOTA, pod);
    plan_number(p, at(CTR), PLAN_CPU_QUOTA, ctr);
    executor_submit(s->e, p);
    settle(s);
}

static void test_quotas_grow_from_the_top_and_shrink_from_the_bottom(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    quotas(&s, 30000, 20000, 10000);
    assert_string_equal(s.model.log, "cpu/" CTR "/cpu.cfs_quota_us=10000;"
                                     "cpu/" POD "/cpu.cfs_quota_us=20000;"
                                     "cpu/" BE "/cpu.cfs_quota_us=30000;");
    quotas(&s, 90000, 80000, 70000);
    assert_string_equal(s.model.log, "cpu/" BE "/cpu.cfs_quota_us=90000;"
                                     "cpu/" POD "/cpu.cfs_quota_us=80000;"
                                     "cpu/" CTR "/cpu.cfs_quota_us=70000;");
    /* No limit is above all others. */
    quotas(&s, -1, 80000, 70000);
    assert_string_equal(s.model.log, "cpu/" BE "/cpu.cfs_quota_us=-1;");
    quotas(&s, 10000, 80000, 70000);
    assert_string_equal(s.model.log, "cpu/" CTR "/cpu.cfs_quota_us=10000;"
                                     "cpu/" POD "/cpu.cfs_quota_us=10000;"
                                     "cpu/" BE "/cpu.cfs_quota_us=10000;");
    assert_int_equal(s.model.refused, 0);
}

static void test_v2_has_max_and_weights_and_no_clamp(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    (void)state;
    stage_init(&s, CGROUP_V2, false);
    dir(&s, BE)->quota = 10000;
    struct plan *p = plan_of(&s, PLAN_CPU_SUPPRESS);
    plan_number(p, at(BE), PLAN_CPU_QUOTA, -1);
    plan_number(p, at(POD), PLAN_CPU_SHARES, 1024);
    plan_number(p, at(POD), PLAN_MEMORY_LIMIT, -1);
    plan_number(p, at(CTR), PLAN_CPU_QUOTA, 400000);
    executor_submit(s.e, p);
    settle(&s);
    assert_string_equal(s.model.log,
                        BE "/cpu.max=max;" POD "/cpu.weight=39;" CTR "/cpu.max=400000;");
    /* The same again is not written again, although the files say it in other words. */
    loop_advance(s.loop, 61 * NSEC_PER_SEC);
    assert_int_equal(s.model.writes, 3);
}

static void test_a_cpuset_moves_through_the_union(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    static const char *const dirs[] = { BE, POD, CTR };

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    for (int round = 0; round < 2; round++) {
        struct plan *p = plan_of(&s, PLAN_CPU_SUPPRESS);
        for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
            plan_text(p, at(dirs[i]), PLAN_CPUSET_CPUS, round ? "2,3" : "0,1");
        executor_submit(s.e, p);
        settle(&s);
    }
    assert_string_equal(s.model.log, "cpuset/" BE "/cpuset.cpus=0-3;"
                                     "cpuset/" POD "/cpuset.cpus=0-3;"
                                     "cpuset/" CTR "/cpuset.cpus=0-3;"
                                     "cpuset/" CTR "/cpuset.cpus=2,3;"
                                     "cpuset/" POD "/cpuset.cpus=2,3;"
                                     "cpuset/" BE "/cpuset.cpus=2,3;");
}

static void test_the_same_set_in_other_words_is_not_written(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    dir(&s, CTR)->cpus = 7;
    struct plan *p = plan_of(&s, PLAN_CPUSET_ALLOCATOR);
    plan_text(p, at(CTR), PLAN_CPUSET_CPUS, "0,1,2");
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(s.model.writes, 0);
    /* No CPUs at all are never written. */
    p = plan_of(&s, PLAN_CPUSET_ALLOCATOR);
    plan_text(p, at(CTR), PLAN_CPUSET_CPUS, "");
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(s.model.writes, 0);
}

static void steady_plan(struct stage *s)
{
    struct plan *p = plan_of(s, PLAN_CPU_SUPPRESS);
    int64_t quota;
    struct cpuset cpus;
    struct plan_view v = executor_view(s->e);

    assert_int_equal(v.number(v.arg, BE, PLAN_CPU_QUOTA, &quota, NULL), 0);
    assert_int_equal(v.cpus(v.arg, BE, &cpus, NULL), 0);
    plan_number(p, at(BE), PLAN_CPU_QUOTA, 50000);
    PLAN_BECAUSE(p, { "current quota", quota, NULL });
    plan_text(p, at(CTR), PLAN_CPUSET_CPUS, "0-1");
    plan_number(p, at(CTR), PLAN_CPU_BURST_US, 1000);
    plan_number(p, at(CTR), PLAN_CPU_BVT, -1); /* not on this kernel */
    executor_submit(s->e, p);
    loop_advance(s->loop, NSEC_PER_SEC);
}

static void test_a_steady_tick_reads_writes_and_allocates_nothing(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    for (int i = 0; i < 5; i++)
        steady_plan(&s);
    unsigned reads = s.model.reads, writes = s.model.writes;
    uint64_t allocations = alloc_count();
    for (int i = 0; i < 50; i++)
        steady_plan(&s);
    assert_int_equal(s.model.reads, reads);
    assert_int_equal(s.model.writes, writes);
    assert_int_equal(alloc_count(), allocations);
    /* The forced update reads, and writes only what somebody else changed. */
    dir(&s, BE)->quota = 77000;
    loop_advance(s.loop, 60 * NSEC_PER_SEC);
    assert_that(s.model.reads, >, reads);
    assert_int_equal(s.model.writes, writes + 1);
    assert_int_equal(dir(&s, BE)->quota, 50000);
}

static void test_burst_scales_what_normalization_leaves(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    struct plan *p;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    p = plan_of(&s, PLAN_KUBELET);
    plan_number(p, at(CTR), PLAN_CPU_QUOTA, 200000);
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(dir(&s, CTR)->quota, -1); /* no reason to write */
    p = plan_of(&s, PLAN_CPU_NORMALIZATION);
    plan_number(p, at(CTR), PLAN_CPU_QUOTA, 100000);
    executor_submit(s.e, p);
    p = plan_of(&s, PLAN_CPU_BURST);
    plan_scale(p, at(CTR), PLAN_CPU_QUOTA, 240000, 200000);
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(dir(&s, CTR)->quota, 120000);
    /* Without normalization it scales what the kubelet wrote. */
    executor_submit(s.e, plan_of(&s, PLAN_CPU_NORMALIZATION));
    settle(&s);
    assert_int_equal(dir(&s, CTR)->quota, 240000);
    p = plan_of(&s, PLAN_INTERFERENCE_GUARD);
    plan_number(p, at(CTR), PLAN_CPU_QUOTA, 210000)->rule = PLAN_AT_MOST;
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(dir(&s, CTR)->quota, 210000);
    executor_submit(s.e, plan_of(&s, PLAN_INTERFERENCE_GUARD));
    executor_submit(s.e, plan_of(&s, PLAN_CPU_BURST));
    settle(&s);
    assert_int_equal(dir(&s, CTR)->quota, 200000); /* put back */
    /* Nobody's any more: the kubelet may write there. */
    dir(&s, CTR)->quota = 300000;
    loop_advance(s.loop, 61 * NSEC_PER_SEC);
    assert_int_equal(dir(&s, CTR)->quota, 300000);
}

static void test_burst_stays_within_the_quota(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    struct plan *p;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    for (int64_t quota = 200000; quota >= 50000; quota -= 50000) {
        p = plan_of(&s, PLAN_CPU_BURST);
        plan_number(p, at(CTR), PLAN_CPU_QUOTA, quota);
        plan_number(p, at(CTR), PLAN_CPU_BURST_US, 2000000);
        executor_submit(s.e, p);
        settle(&s);
        assert_int_equal(dir(&s, CTR)->quota, quota);
        assert_int_equal(dir(&s, CTR)->burst, quota);
    }
    p = plan_of(&s, PLAN_CPU_BURST);
    plan_number(p, at(CTR), PLAN_CPU_QUOTA, -1);
    plan_number(p, at(CTR), PLAN_CPU_BURST_US, 2000000);
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(dir(&s, CTR)->burst, 0); /* else a quota set by somebody else would fail */
    assert_int_equal(s.model.refused, 0);
}

static void test_a_resize_downwards_goes_through_while_burst_holds(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    dir(&s, CTR)->quota = 100000;
    struct plan *p = plan_of(&s, PLAN_CPU_BURST);
    plan_number(p, at(CTR), PLAN_CPU_BURST_US, 1000000);
    executor_submit(s.e, p);
    for (int64_t quota = 100000; quota >= 50000; quota -= 50000) {
        p = plan_of(&s, PLAN_KUBELET);
        plan_number(p, at(CTR), PLAN_CPU_QUOTA, quota);
        executor_submit(s.e, p);
        settle(&s);
        assert_int_equal(dir(&s, CTR)->burst, quota);
    }
    /* Now the kubelet's own write is taken. */
    assert_int_equal(model_write_text(&s.model, "cpu/" CTR "/cpu.cfs_quota_us", "50000"), 0);
    assert_int_equal(s.model.refused, 0);
}

static void test_idle_pods_get_their_shares_back(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    struct plan *p;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    dir(&s, POD)->shares = 2;
    p = plan_of(&s, PLAN_CPU_IDLE);
    plan_number(p, at(POD), PLAN_CPU_IDLE_CLASS, 1);
    executor_submit(s.e, p);
    p = plan_of(&s, PLAN_BATCH_RESOURCE);
    plan_number(p, at(POD), PLAN_CPU_SHARES, 512);
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(dir(&s, POD)->idle, 1);
    assert_int_equal(s.model.refused, 0);
    executor_submit(s.e, plan_of(&s, PLAN_CPU_IDLE));
    settle(&s);
    assert_int_equal(dir(&s, POD)->idle, 0);
    assert_int_equal(dir(&s, POD)->shares, 512);
    /* Also those that nobody proposed for. */
    dir(&s, CTR)->shares = 77;
    for (int on = 1; on >= 0; on--) {
        p = plan_of(&s, PLAN_CPU_IDLE);
        plan_number(p, at(CTR), PLAN_CPU_IDLE_CLASS, on);
        executor_submit(s.e, p);
        settle(&s);
    }
    assert_int_equal(dir(&s, CTR)->shares, 77);
}

static void test_a_pod_that_no_plan_knows_does_not_hold_the_class_up(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    struct plan *p;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    model_mkdir(&s.model, BE "/pod2");
    model_mkdir(&s.model, BE "/pod2/c2");
    dir(&s, BE "/pod2/c2")->cpus = 0x80;
    p = plan_of(&s, PLAN_CPU_SUPPRESS);
    plan_text(p, at(BE), PLAN_CPUSET_CPUS, "0-3");
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(dir(&s, BE)->cpus, 0xf);
    assert_int_equal(dir(&s, BE "/pod2")->cpus, 0xf);
    assert_int_equal(dir(&s, BE "/pod2/c2")->cpus, 0xf);
    assert_int_equal(s.model.refused, 0);
}

static void test_a_refusal_concerns_one_file_and_is_told_once(void **state)
{
    static const int codes[] = { -EINVAL, -EACCES, -EBUSY, -ENOSPC, -EROFS };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        CLEANUP(stage_fini) struct stage s;
        stage_init(&s, CGROUP_V1, false);
        s.model.fail_path = "pod1/cpu.shares";
        s.model.fail_code = codes[i];
        struct plan *p = plan_of(&s, PLAN_BATCH_RESOURCE);
        plan_number(p, at(BE), PLAN_CPU_SHARES, 5);
        plan_number(p, at(POD), PLAN_CPU_SHARES, 6);
        plan_number(p, at(CTR), PLAN_CPU_SHARES, 7);
        executor_submit(s.e, p);
        settle(&s);
        assert_int_equal(dir(&s, BE)->shares, 5);
        assert_int_equal(dir(&s, CTR)->shares, 7);
        loop_advance(s.loop, 30 * NSEC_PER_SEC);
        /* At 0, 1, 3, 7 and 15 s. */
        assert_int_equal(s.model.refused, 5);
        const char *line = strbuf_str(&s.lines);
        assert_contains(line, "write '6' to cpu/" POD "/cpu.shares");
        assert_lacks(strstr(line, "Failed") + 1, "Failed");
        s.model.fail_path = NULL;
        loop_advance(s.loop, 60 * NSEC_PER_SEC);
        assert_int_equal(dir(&s, POD)->shares, 6);
        assert_contains(strbuf_str(&s.lines), "takes the value again");
    }
}

static void test_a_container_that_comes_later_is_written_soon(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    struct plan *p = plan_of(&s, PLAN_BATCH_RESOURCE);
    plan_number(p, at(POD "/late"), PLAN_CPU_SHARES, 5);
    plan_number(p, at("../../etc"), PLAN_CPU_SHARES, 5); /* is refused */
    executor_submit(s.e, p);
    settle(&s);
    model_mkdir(&s.model, POD "/late");
    loop_advance(s.loop, 150 * NSEC_PER_MSEC);
    assert_int_equal(dir(&s, POD "/late")->shares, 5);
    assert_lacks(strbuf_str(&s.lines), "Failed");
    assert_int_equal(executor_stats(s.e).files, 1);
}

static bool hold(void *arg, work_fn work, post_fn done, void *work_arg)
{
    void **held = arg;
    (void)work, (void)done;
    held[0] = work_arg;
    held[1] = *(void **)&work;
    held[2] = *(void **)&done;
    return true;
}

/* One at a time in a directory; nothing is kept, and less than asked for is no failure. */
static void test_memory_is_asked_back_on_a_worker(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    void *held[3] = { 0 };

    (void)state;
    stage_init(&s, CGROUP_V2, false);
    loop_set_worker(s.loop, hold, held);
    for (int i = 0; i < 2; i++) {
        struct plan *p = plan_of(&s, PLAN_MEMORY_RECLAIM);
        plan_number(p, at(POD), PLAN_MEMORY_GIVE_BACK, 1 << 20)->rule = PLAN_ONCE;
        executor_submit(s.e, p);
        settle(&s);
    }
    assert_int_equal(executor_stats(s.e).busy, 1);
    assert_int_equal(executor_stats(s.e).writes, 1); /* the second was left out */
    s.model.fail_path = "memory.reclaim";
    s.model.fail_code = -EAGAIN;
    (*(work_fn *)&held[1])(held[0]);
    loop_set_worker(s.loop, NULL, NULL);
    (*(post_fn *)&held[2])(s.loop, held[0]);
    loop_advance(s.loop, 120 * NSEC_PER_SEC);
    assert_int_equal(executor_stats(s.e).busy, 0);
    assert_int_equal(executor_stats(s.e).refused, 0);
    assert_int_equal(executor_stats(s.e).writes, 1); /* and it is not written again */
    s.model.fail_code = -EINVAL;
    struct plan *p = plan_of(&s, PLAN_MEMORY_RECLAIM);
    plan_number(p, at(POD), PLAN_MEMORY_GIVE_BACK, 1 << 20)->rule = PLAN_ONCE;
    executor_submit(s.e, p);
    loop_advance(s.loop, 120 * NSEC_PER_SEC);
    assert_int_equal(executor_stats(s.e).refused, 1);
    assert_contains(strbuf_str(&s.lines), "owner=\"MemoryReclaim\"");
    assert_int_equal(executor_stats(s.e).writes, 2);
}

static void test_a_falling_memory_limit_does_not_hold_the_loop(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    void *held[3] = { 0 };

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    loop_set_worker(s.loop, hold, held);
    struct plan *p = plan_of(&s, PLAN_BATCH_RESOURCE);
    plan_number(p, at(CTR), PLAN_MEMORY_LIMIT, 1 << 20);
    plan_number(p, at(CTR), PLAN_CPU_SHARES, 9);
    executor_submit(s.e, p);
    settle(&s);
    assert_non_null(held[0]); /* the kernel takes its time */
    assert_int_equal(dir(&s, CTR)->limit, -1);
    assert_int_equal(dir(&s, CTR)->shares, 9);
    /* Meanwhile the limit changes: in order, not at the same time. */
    void *first = held[0];
    p = plan_of(&s, PLAN_BATCH_RESOURCE);
    plan_number(p, at(CTR), PLAN_MEMORY_LIMIT, 1 << 19);
    plan_number(p, at(CTR), PLAN_CPU_SHARES, 9);
    executor_submit(s.e, p);
    settle(&s);
    assert_ptr_equal(held[0], first);
    (*(work_fn *)&held[1])(first);
    assert_int_equal(dir(&s, CTR)->limit, 1 << 20);
    loop_set_worker(s.loop, NULL, NULL);
    (*(post_fn *)&held[2])(s.loop, first);
    loop_advance(s.loop, NSEC_PER_SEC);
    assert_int_equal(dir(&s, CTR)->limit, 1 << 19);
    /* A rising limit is written at once. */
    p = plan_of(&s, PLAN_BATCH_RESOURCE);
    plan_number(p, at(CTR), PLAN_MEMORY_LIMIT, 1 << 21);
    executor_submit(s.e, p);
    settle(&s);
    assert_int_equal(dir(&s, CTR)->limit, 1 << 21);
}

static double samples(struct stage *s, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    metrics_write(&s->metrics, 1, &text);
    const char *at_ = strstr(strbuf_str(&text), want);
    return at_ ? strtod(at_ + strlen(want), NULL) : 0;
}

static void test_a_file_of_the_other_version_is_left_out(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    struct plan *p = plan_of(&s, PLAN_MEMORY_QOS);
    plan_number(p, at(POD), PLAN_MEMORY_PAGECACHE_ENABLE, 1); /* v2 only */
    plan_number(p, at(POD), PLAN_CPU_SHARES, 5);
    executor_submit(s.e, p);
    settle(&s);
    loop_advance(s.loop, 5 * NSEC_PER_SEC);
    assert_int_equal(dir(&s, POD)->shares, 5);
    assert_int_equal(s.model.refused, 0);
    assert_int_equal(s.lines.len, 0);
    executor_table(s.e, &text);
    assert_non_null(strstr(strbuf_str(&text), POD "/memory.pagecache_limit.enable"));
}

static void test_only_real_writes_are_counted(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    static const char name[] = "koordlet_resource_update_duration_milliseconds_count"
                               "{status=\"success\",type=\"cpu.cfs_quota_us\"} ";

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    quotas(&s, 50000, -1, -1);
    quotas(&s, 50000, -1, -1);
    quotas(&s, 50000, -1, -1);
    assert_that(samples(&s, name), ==, 1);
}

static void test_a_dry_run_writes_nothing(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    (void)state;
    stage_init(&s, CGROUP_V1, true);
    quotas(&s, 50000, 40000, 30000);
    assert_int_equal(s.model.writes, 0);
    assert_int_equal(executor_stats(s.e).writes, 3);
}

static void test_the_plan_says_what_is_owned_and_why(void **state)
{
    CLEANUP(stage_fini) struct stage s;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, text = STRBUF_INIT;

    (void)state;
    stage_init(&s, CGROUP_V1, false);
    struct plan *p = plan_of(&s, PLAN_KUBELET);
    plan_number(p, at(CTR), PLAN_CPU_QUOTA, 100000);
    plan_number(p, at(POD), PLAN_CPU_SHARES, 2); /* nobody else's: is not shown */
    executor_submit(s.e, p);
    p = plan_of(&s, PLAN_CPU_BURST);
    plan_scale(p, at(CTR), PLAN_CPU_QUOTA, 120000, 100000);
    PLAN_BECAUSE(p, { "throttled", 1, NULL }, { "node", 0, "idle" });
    executor_submit(s.e, p);
    settle(&s);
    executor_json(s.e, &json);
    assert_string_equal(strbuf_str(&json),
                        "{\"dryRun\":false,\"files\":[{\"file\":\"cpu/" CTR
                        "/cpu.cfs_quota_us\",\"type\":\"cpu.cfs_quota_us\",\"value\":"
                        "\"120000\",\"current\":\"120000\",\"owner\":\"CPUBurst\",\"proposals\":"
                        "[{\"owner\":\"kubelet\",\"rule\":\"set\",\"value\":\"100000\"},"
                        "{\"owner\":\"CPUBurst\",\"rule\":\"scale\",\"value\":\"120000\","
                        "\"of\":100000,\"terms\":{\"throttled\":1,\"node\":\"idle\"}}]}]}");
    executor_table(s.e, &text);
    assert_string_equal(strbuf_str(&text),
                        "cpu/" CTR "/cpu.cfs_quota_us = 120000\n"
                        "    kubelet set 100000\n"
                        "    CPUBurst scale 120000/100000: throttled 1, node idle\n"
                        "1 files\n");
}

/* ---- on files -------------------------------------------------------------------------------- */

struct tree {
    struct fixture f;
    struct loop *loop;
    struct metrics *metrics;
    struct audit *audit;
    struct executor *e;
};

static void tree_init(struct tree *t)
{
    struct kerr err = { 0 };

    memset(t, 0, sizeof *t);
    fixture_init(&t->f);
    fixture_cgroup(&t->f, CGROUP_V1);
    fixture_dir(&t->f, "cgroup/cpu/kubepods");
    fixture_host(&t->f);
    host_detect_driver(t->f.host, &err);
    t->loop = loop_new_virtual(0, 1);
    t->metrics = metrics_new();
    fixture_dir(&t->f, "audit");
    char dir_[96];
    snprintf(dir_, sizeof dir_, "%s/audit", t->f.dir);
    const struct audit_options o = {
        .dir = dir_, .verbose = 3, .max_disk_mb = 16, .max_readers = 1, .max_events = 100
    };
    assert_int_equal(audit_new(t->loop, &o, t->metrics, &t->audit, &err), 0);
    t->e = executor_new(&(struct executor_env){ .loop = t->loop,
                                                .host = t->f.host,
                                                .ops = &executor_ops_host,
                                                .ops_arg = t->f.host,
                                                .audit = t->audit,
                                                .force_update = 60 * NSEC_PER_SEC });
}

static void tree_fini_p(struct tree *t)
{
    executor_free(t->e);
    audit_free(t->audit);
    loop_free(t->loop);
    metrics_free(t->metrics);
    fixture_fini(&t->f);
}

static void expect(const struct tree *t, const char *path, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char full[256];

    snprintf(full, sizeof full, "%s/%s", t->f.dir, path);
    assert_int_equal(file_read_all(AT_FDCWD, full, 1 << 20, &b, NULL), 0);
    assert_string_equal(strbuf_str(&b), want);
}

static void test_blkio_lines_are_compared_by_disk(void **state)
{
    CLEANUP(tree_fini) struct tree t;
    struct plan *p;

    (void)state;
    tree_init(&t);
    fixture_put(&t.f, "", "cgroup/blkio/kubepods/blkio.throttle.read_iops_device");
    fixture_put(&t.f, "253:16 2048\n8:0 5\n",
                "cgroup/blkio/" BE "/blkio.throttle.read_iops_device");
    p = executor_plan(t.e, PLAN_BLKIO, NULL);
    plan_item(p, at(BE), PLAN_BLKIO_READ_IOPS, "253:16", "253:16 2048");
    plan_item(p, at(BE), PLAN_BLKIO_READ_IOPS, "9:0", "9:0 0");
    executor_submit(t.e, p);
    executor_apply(t.e);
    expect(&t, "cgroup/blkio/" BE "/blkio.throttle.read_iops_device", "253:16 2048\n8:0 5\n");
    p = executor_plan(t.e, PLAN_BLKIO, NULL);
    plan_item(p, at(BE), PLAN_BLKIO_READ_IOPS, "253:16", "253:16 0");
    executor_submit(t.e, p);
    executor_apply(t.e);
    expect(&t, "cgroup/blkio/" BE "/blkio.throttle.read_iops_device", "253:16 0");
}

static void resctrl_plan(struct tree *t, const char *group)
{
    struct plan *p = executor_plan(t->e, PLAN_RESCTRL, NULL);

    plan_number(p, at(group), PLAN_RESCTRL_GROUP, 1);
    plan_item(p, at(group), PLAN_RESCTRL_SCHEMATA, "L3", "L3:0=3c;1=3c;\n");
    plan_tasks(p, at(group), (const pid_t[]){ 12, 13 }, 2);
    executor_submit(t->e, p);
    executor_apply(t->e);
}

static void test_resctrl_groups_schemata_and_tasks(void **state)
{
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t);
    fixture_dir(&t.f, "sys-fs/resctrl");
    resctrl_plan(&t, "koordlet-u1");
    assert_that(access(t.f.dir, F_OK), ==, 0);
    char path[128];
    snprintf(path, sizeof path, "%s/sys-fs/resctrl/koordlet-u1", t.f.dir);
    assert_int_equal(access(path, F_OK), 0);
    /* What the kernel puts into a new group. */
    fixture_put(&t.f, "", "sys-fs/resctrl/koordlet-u1/tasks");
    fixture_put(&t.f, "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n",
                "sys-fs/resctrl/koordlet-u1/schemata");
    loop_advance(t.loop, NSEC_PER_SEC);
    expect(&t, "sys-fs/resctrl/koordlet-u1/schemata", "L3:0=3c;1=3c;\n");
    resctrl_plan(&t, "koordlet-u1");
    expect(&t, "sys-fs/resctrl/koordlet-u1/tasks", "1213");
    /* The same in the kernel's words is not written. */
    fixture_put(&t.f, "    MB:0=100;1=100\n    L3:0=03c;1=03c\n",
                "sys-fs/resctrl/koordlet-u1/schemata");
    loop_advance(t.loop, 61 * NSEC_PER_SEC);
    expect(&t, "sys-fs/resctrl/koordlet-u1/schemata", "    MB:0=100;1=100\n    L3:0=03c;1=03c\n");
    /* A pod's group goes with its proposals. */
    fixture_remove(&t.f, "sys-fs/resctrl/koordlet-u1/tasks");
    fixture_remove(&t.f, "sys-fs/resctrl/koordlet-u1/schemata");
    executor_submit(t.e, executor_plan(t.e, PLAN_RESCTRL, NULL));
    executor_apply(t.e);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_files_of_the_node_and_the_audit_log(void **state)
{
    CLEANUP(tree_fini) struct tree t;
    CLEANUP(strbuf_fini) struct strbuf log = STRBUF_INIT;
    char path[128];

    (void)state;
    tree_init(&t);
    fixture_put(&t.f, "67584\n", "proc/sys/vm/min_free_kbytes");
    fixture_put(&t.f, "GENTLE_FAIR_SLEEPERS NO_ID_ABSOLUTE_EXPEL\n",
                "sys/kernel/debug/sched_features");
    struct plan *p = executor_plan(t.e, PLAN_SYSTEM_CONFIG, NULL);
    plan_number(p, at("sys/vm/min_free_kbytes"), PLAN_PROC_FILE, 4724464);
    plan_number(p, at("kernel/debug/sched_features"), PLAN_SCHED_FEATURE, 1)->item =
        "ID_ABSOLUTE_EXPEL";
    plan_number(p, at("kernel/debug/sched_features"), PLAN_SCHED_FEATURE, 1)->item =
        "GENTLE_FAIR_SLEEPERS";
    executor_submit(t.e, p);
    executor_apply(t.e);
    expect(&t, "proc/sys/vm/min_free_kbytes", "4724464");
    expect(&t, "sys/kernel/debug/sched_features", "ID_ABSOLUTE_EXPEL\n");
    assert_int_equal(executor_stats(t.e).writes, 2);
    /* Withdrawn: what was there before. */
    executor_submit(t.e, executor_plan(t.e, PLAN_SYSTEM_CONFIG, NULL));
    executor_apply(t.e);
    expect(&t, "proc/sys/vm/min_free_kbytes", "67584");
    audit_flush(t.audit);
    snprintf(path, sizeof path, "%s/audit/audit.log", t.f.dir);
    assert_int_equal(file_read_all(AT_FDCWD, path, 1 << 20, &log, NULL), 0);
    assert_contains(strbuf_str(&log), "update proc  of sys/vm/min_free_kbytes: 4724464");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotas_grow_from_the_top_and_shrink_from_the_bottom),
        cmocka_unit_test(test_v2_has_max_and_weights_and_no_clamp),
        cmocka_unit_test(test_a_cpuset_moves_through_the_union),
        cmocka_unit_test(test_the_same_set_in_other_words_is_not_written),
        cmocka_unit_test(test_a_steady_tick_reads_writes_and_allocates_nothing),
        cmocka_unit_test(test_burst_scales_what_normalization_leaves),
        cmocka_unit_test(test_burst_stays_within_the_quota),
        cmocka_unit_test(test_a_resize_downwards_goes_through_while_burst_holds),
        cmocka_unit_test(test_idle_pods_get_their_shares_back),
        cmocka_unit_test(test_a_pod_that_no_plan_knows_does_not_hold_the_class_up),
        cmocka_unit_test(test_a_refusal_concerns_one_file_and_is_told_once),
        cmocka_unit_test(test_a_container_that_comes_later_is_written_soon),
        cmocka_unit_test(test_memory_is_asked_back_on_a_worker),
        cmocka_unit_test(test_a_falling_memory_limit_does_not_hold_the_loop),
        cmocka_unit_test(test_a_file_of_the_other_version_is_left_out),
        cmocka_unit_test(test_only_real_writes_are_counted),
        cmocka_unit_test(test_a_dry_run_writes_nothing),
        cmocka_unit_test(test_the_plan_says_what_is_owned_and_why),
        cmocka_unit_test(test_blkio_lines_are_compared_by_disk),
        cmocka_unit_test(test_resctrl_groups_schemata_and_tasks),
        cmocka_unit_test(test_files_of_the_node_and_the_audit_log),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
