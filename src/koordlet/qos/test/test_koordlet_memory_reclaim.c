/* test_koordlet_memory_reclaim.c - best effort gives memory back: how much, who, and what is
 * written, on fixtures and on this machine's kernel. */
#include "base/test/asserts.h"
#include "koordlet/qos/test/acting_fixture.h"
/* clang-format off */
#include "koordlet/kernel/test/host_fixture.h"
/* clang-format on */
#include <sys/wait.h>

#include "koordlet/kernel/parse.h"
#include "koordlet/qos/reclaim/reclaim.h"

#ifndef GI
#define GI (1024 * MI)
#endif

/* ---- the decision ---------------------------------------------------------------------------- */

static void test_a_tenth_is_kept_free_near_the_threshold(void **state)
{
    struct threshold_strategy slo = { .enable = { true, true },
                                      .memory_evict_threshold_percent = { true, 70 } };
    struct reclaim_in in = { &slo, 100 * GI, 59 * GI, 2 * GI, false };

    (void)state;
    assert_int_equal(reclaim_wanted(&in), 0); /* far from the threshold */
    in.used = 60 * GI;
    assert_int_equal(reclaim_wanted(&in), 8 * GI);
    in.free = 10 * GI;
    assert_int_equal(reclaim_wanted(&in), 0);
    in.swap = true;
    in.used = 63 * GI;
    assert_int_equal(reclaim_wanted(&in), 3 * GI); /* down to where it begins */
    slo.enable.v = false;
    assert_int_equal(reclaim_wanted(&in), 0);
    slo.enable.v = true;
    slo.memory_evict_threshold_percent.v = -5; /* refused elsewhere; nothing overflows */
    in.free = 0;
    assert_int_equal(reclaim_wanted(&in), 63 * GI);
    slo.memory_evict_threshold_percent.set = false;
    assert_int_equal(reclaim_wanted(&in), 0);
}

#define POD(name, label, priority)                                                       \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" name                        \
    "','labels':{'koordinator.sh/qosClass':'" label "'}},'spec':{'priority':" priority   \
    ",'containers':[{'name':'c'}]},'status':{'phase':'Running','qosClass':'BestEffort'," \
    "'containerStatuses':[{'name':'c','containerID':'containerd://" name                 \
    "1','state':{'running':{}}}]}}"

static void test_the_least_priority_then_the_most_to_give(void **state)
{
    CLEANUP(podset_unref)
    struct podset *pods = pods_of(*state, "[" POD("a", "BE", "5100") "," POD(
                                              "b", "BE", "5000") "," POD("c", "BE", "5000") "]");
    struct reclaim_pod p[] = { { pod_named(pods, "a"), 900 * MI, 0 },
                               { pod_named(pods, "b"), 10 * MI, 0 },
                               { pod_named(pods, "c"), 20 * MI, 0 } };

    assert_int_equal(reclaim_choose(p, 3, SECOND), 2);
    p[2].asked = SECOND;
    assert_int_equal(reclaim_choose(p, 3, 2 * SECOND), 1);
    p[1].spare = MI; /* not worth a write */
    assert_int_equal(reclaim_choose(p, 3, 2 * SECOND), 0);
    assert_int_equal(reclaim_choose(p, 3, 11 * SECOND), 2); /* has rested */
    assert_int_equal(reclaim_choose(p, 0, SECOND), -1);
}

/* ---- the strategy, on files ------------------------------------------------------------------ */

struct scene {
    struct acting a;
    struct fixture f;
    struct executor *model_executor;
    struct kobj *node;
    enum cgroup_version v;
};

static void put_pod(struct scene *s, const char *name, int64_t cache_mb)
{
    const char *root = s->v == CGROUP_V1 ? "cgroup/memory" : "cgroup";
    char text[256];

    snprintf(text, sizeof text,
             "cache 0\nrss 0\ninactive_file %lld\nactive_file 0\ninactive_anon 4096\n"
             "active_anon 4096\nunevictable 0\nanon 0\nfile 0\ntotal_cache 0\ntotal_rss 0\n"
             "total_inactive_file %lld\ntotal_active_file 0\ntotal_inactive_anon 0\n"
             "total_active_anon 0\ntotal_unevictable 0\n",
             (long long)(cache_mb * MI), (long long)(cache_mb * MI));
    fixture_put(&s->f, text, "%s/" BE_DIR("%s") "/memory.stat", root, name);
    fixture_put(&s->f, "", "%s/" BE_DIR("%s") "/%s", root, name,
                s->v == CGROUP_V1 ? "memory.force_empty" : "memory.reclaim");
}

/* What a pod was asked for, and the file empty again. */
static const char *asked(struct scene *s, const char *name)
{
    static char text[64];
    char path[256];
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    snprintf(path, sizeof path, "%s/%s/" BE_DIR("%s") "/%s", s->f.dir,
             s->v == CGROUP_V1 ? "cgroup/memory" : "cgroup", name,
             s->v == CGROUP_V1 ? "memory.force_empty" : "memory.reclaim");
    assert_int_equal(file_read_all(AT_FDCWD, path, 64, &b, NULL), 0);
    snprintf(text, sizeof text, "%s", strbuf_str(&b));
    assert_int_equal(truncate(path, 0), 0);
    return text;
}

static void put_meminfo(struct scene *s, const char *swap)
{
    char text[256];

    snprintf(text, sizeof text,
             "MemTotal: 10485760 kB\nMemFree: 524288 kB\nMemAvailable: 4194304 kB\n"
             "Buffers: 0 kB\nCached: 3670016 kB\nSwapFree: %s kB\n",
             swap);
    fixture_put(&s->f, text, "proc/meminfo");
}

static void scene_init(struct scene *s, struct object_fixture *b, enum cgroup_version v)
{
    s->v = v;
    fixture_init(&s->f);
    fixture_cgroup(&s->f, v);
    fixture_put(&s->f, "", "%s/kubepods.slice/%s", v == CGROUP_V1 ? "cgroup/memory" : "cgroup",
                v == CGROUP_V1 ? "memory.force_empty" : "memory.reclaim");
    put_meminfo(s, "0");
    put_pod(s, "a", 100);
    put_pod(s, "b", 800);
    put_pod(s, "ls", 900);
    struct host *h = fixture_host(&s->f);
    h->driver = CGROUP_SYSTEMD;
    h->driver_known = true;
    acting_init(&s->a, b, v, 1);
    s->model_executor = s->a.executor;
    s->a.env.host = h;
    s->a.env.executor = executor_new(&(struct executor_env){
        .loop = s->a.l, .host = h, .ops = &executor_ops_host, .ops_arg = h });
    s->node = fixture_object(b, &kind_node,
                             "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'8','memory':"
                             "'10Gi'},'allocatable':{'cpu':'8','memory':'10Gi'}}}");
    snapshots_set_node(s->a.snapshots, s->node);
    struct arena *a = arena_new();
    struct nodeslo_spec *spec = arena_new0(a, struct nodeslo_spec);
    struct kerr why[NODESLO_SECTIONS] = { 0 };
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = fixture_doc("{'resourceUsedThresholdWithBE':{'enable':true,"
                                     "'memoryEvictThresholdPercent':70}}");
    assert_int_equal(nodeslo_merge(kj_root(doc), NULL, a, spec, why), 0);
    snapshots_set_nodeslo(s->a.snapshots, spec, a);
    snapshots_set_pods(s->a.snapshots,
                       pods_of(b, "[" POD("a", "BE", "5000") "," POD("b", "BE", "5000") "," POD(
                                      "ls", "LS", "5000") "]"));
}

static void scene_fini(struct scene *s)
{
    struct executor *mine = s->a.env.executor;

    s->a.qos = qos_free(s->a.qos);
    executor_free(mine);
    acting_fini(&s->a);
    kobj_unref(s->node);
    fixture_fini(&s->f);
}

/* Between two rounds, so that the worker of the last one is done. */
static void start(struct scene *s, const char *gates)
{
    acting_start(&s->a, gates);
    loop_advance(s->a.l, SECOND / 2);
}

static void pass_second(struct scene *s, double used_gib)
{
    acting_put(&s->a, M_NODE_MEMORY, NULL, used_gib * (double)GI);
    loop_advance(s->a.l, SECOND);
}

static void test_one_pod_at_a_time_and_each_rests(void **state)
{
    struct scene s;

    scene_init(&s, *state, CGROUP_V2);
    start(&s, "MemoryReclaim=true,RdtResctrl=false");
    pass_second(&s, 5.9);
    assert_string_equal(asked(&s, "b"), "");
    pass_second(&s, 6.1); /* 512 MiB of the gibibyte are missing; at most 256 in one go */
    assert_string_equal(asked(&s, "b"), "268435456");
    assert_string_equal(asked(&s, "a"), "");
    pass_second(&s, 6.1);
    assert_string_equal(asked(&s, "b"), "");
    assert_string_equal(asked(&s, "a"), "104857600");
    for (int i = 0; i < 8; i++)
        pass_second(&s, 6.1);
    assert_string_equal(asked(&s, "a"), "");
    for (int i = 0; i < 2; i++)
        pass_second(&s, 6.1);
    assert_string_equal(asked(&s, "b"), "268435456"); /* has rested */
    assert_string_equal(asked(&s, "ls"), "");         /* a service gives nothing */
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    metrics_write(&s.a.metrics, 1, &text);
    assert_contains(strbuf_str(&text), "koordlet_be_memory_reclaim_bytes_total{node=\"n\"} ");
    scene_fini(&s);
}

static void test_v1_gives_all_of_it_and_never_with_swap(void **state)
{
    struct scene s;

    scene_init(&s, *state, CGROUP_V1);
    start(&s, "MemoryReclaim=true,RdtResctrl=false");
    put_meminfo(&s, "100");
    pass_second(&s, 6.1);
    assert_string_equal(asked(&s, "b"), "");
    put_meminfo(&s, "0");
    pass_second(&s, 6.1);
    assert_string_equal(asked(&s, "b"), "0");
    scene_fini(&s);
}

static void test_off_by_default(void **state)
{
    struct scene s;

    scene_init(&s, *state, CGROUP_V2);
    start(&s, "RdtResctrl=false");
    pass_second(&s, 6.9);
    pass_second(&s, 6.9);
    assert_string_equal(asked(&s, "b"), "");
    scene_fini(&s);
}

/* ---- for real -------------------------------------------------------------------------------- */

#define REAL "/sys/fs/cgroup/memory/"

/* Page cache of one cgroup, by reading a file in it. */
static void fill_cache(const char *procs, const char *file, size_t bytes)
{
    pid_t child = fork();

    if (child == 0) {
        char block[65536] = "x", pid[16];
        int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        if (file_write_value(AT_FDCWD, procs, pid, NULL) < 0)
            _exit(2);
        for (size_t n = 0; n < bytes; n += sizeof block)
            if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
                _exit(3);
        _exit(fsync(fd) == 0 ? 0 : 4);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int64_t cache_of(const char *dir)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char path[128];
    struct memory_stat m;

    snprintf(path, sizeof path, REAL "%s/memory.stat", dir);
    assert_int_equal(file_read_all(AT_FDCWD, path, 65536, &b, NULL), 0);
    assert_int_equal(memory_stat_parse(CGROUP_V1, strbuf_str(&b), b.len, &m, NULL), 0);
    return m.inactive_file + m.active_file;
}

static bool is_there(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path; /* kubepods is not, on a machine without a kubelet */
    return true;
}

static void on_until(struct loop *l, void *arg)
{
    struct executor *e = arg;

    if (executor_stats(e).busy == 0)
        loop_stop(l);
    else
        loop_after(l, 5 * NSEC_PER_MSEC, on_until, e);
}

/* As the agent would: with the executor, on a worker. */
static void test_the_kernel_gives_the_page_cache_back(void **state)
{
    struct host_roots roots = host_roots_default("hostMode");
    CLEANUP(host_free) struct host *host = NULL;
    char dir[64], path[128], procs[160], file[64];
    struct kerr err = { 0 };

    (void)state;
    if (geteuid() != 0 || access(REAL "memory.force_empty", F_OK) != 0)
        skip();
    assert_int_equal(host_new(&roots, &host, &err), 0);
    snprintf(dir, sizeof dir, "koord-reclaim-%d", (int)getpid());
    snprintf(path, sizeof path, REAL "%s", dir);
    snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
    snprintf(file, sizeof file, "koord-reclaim-%d.tmp", (int)getpid());
    assert_int_equal(mkdir(path, 0755), 0);
    fill_cache(procs, file, 32 << 20);
    int64_t before = cache_of(dir);
    assert_that(before, >, 16 * MI);
    struct loop *l = loop_new();
    struct executor_ops ops = executor_ops_host;
    ops.exists = is_there;
    struct executor *e = executor_new(
        &(struct executor_env){ .loop = l, .host = host, .ops = &ops, .ops_arg = host });
    struct plan *p = executor_plan(e, PLAN_MEMORY_RECLAIM, NULL);
    plan_number(p, (struct plan_at){ dir, NULL, NULL }, PLAN_MEMORY_GIVE_BACK, 32 << 20)->rule =
        PLAN_ONCE;
    executor_submit(e, p);
    executor_apply(e);
    assert_int_equal(executor_stats(e).busy, 1); /* not on the loop */
    loop_after(l, 0, on_until, e);
    loop_run(l);
    assert_int_equal(executor_stats(e).refused, 0);
    assert_that(cache_of(dir), <, before / 4);
    executor_free(e);
    loop_free(l);
    unlink(file);
    assert_int_equal(rmdir(path), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_tenth_is_kept_free_near_the_threshold),
        FIXTURE_TEST(test_the_least_priority_then_the_most_to_give),
        FIXTURE_TEST(test_one_pod_at_a_time_and_each_rests),
        FIXTURE_TEST(test_v1_gives_all_of_it_and_never_with_swap),
        FIXTURE_TEST(test_off_by_default),
        FIXTURE_TEST(test_the_kernel_gives_the_page_cache_back),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
