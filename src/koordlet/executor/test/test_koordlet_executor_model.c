/* test_koordlet_executor_model.c - random plans against a model of the kernel, and the model
 * against the kernel.
 *
 * usage: test_koordlet_executor_model [CASE]; KOORD_SEQUENCES=N takes another number of sequences
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/executor/test/kernel_model.h"
#include "koordlet/kernel/host.h"
#include "loop/loop.h"
#include "sys/file.h"

enum { PODS = 3, CONTAINERS = 2, STEPS = 6 };

struct fixture {
    struct loop *loop;
    struct host host;
    struct kernel_model model;
    struct executor *executor;
    char top[32]; /* "kubepods", or below a directory of our own on the real kernel */
    unsigned ncpus;
    bool kubelet; /* plans of what the kubelet wrote */
    /* Pods that are there, in both classes. */
    bool pods[2][PODS];
    unsigned born[2][PODS]; /* a pod's directory has its own name, as UIDs differ */
};

static const char *const classes[] = { "burstable", "besteffort" };

static unsigned below(struct fixture *f, unsigned n)
{
    return (unsigned)loop_rand_below(f->loop, n);
}

static const char *dir_of(struct fixture *f, struct plan *p, int class, int pod, int container)
{
    if (class < 0)
        return f->top;
    if (pod < 0)
        return arena_printf(p->arena, "%s/%s", f->top, classes[class]);
    if (container < 0)
        return arena_printf(p->arena, "%s/%s/pod%d-%u", f->top, classes[class], pod,
                            f->born[class][pod]);
    return arena_printf(p->arena, "%s/%s/pod%d-%u/c%d", f->top, classes[class], pod,
                        f->born[class][pod], container);
}

static int64_t some_quota(struct fixture *f)
{
    return below(f, 4) == 0 ? -1 : 1000 + (int64_t)below(f, 20) * 10000;
}

static struct cpuset some_cpus(struct fixture *f)
{
    struct cpuset c = { 0 };

    for (unsigned i = 0; i < f->ncpus; i++)
        if (below(f, 2))
            cpuset_add(&c, i);
    if (cpuset_is_empty(&c))
        cpuset_add(&c, below(f, f->ncpus));
    return c;
}

/* One directory's share of a random plan of this owner. */
static void propose(struct fixture *f, struct plan *p, const char *dir)
{
    struct plan_at at = { dir, NULL, NULL };
    struct cpuset cpus;

    if (below(f, 4) == 0)
        return;
    switch ((int)p->owner) {
    case PLAN_KUBELET:
        plan_number(p, at, PLAN_CPU_QUOTA, some_quota(f));
        plan_number(p, at, PLAN_CPU_SHARES, 2 + below(f, 5000));
        return;
    case PLAN_CPU_NORMALIZATION: plan_number(p, at, PLAN_CPU_QUOTA, some_quota(f)); return;
    case PLAN_CPU_BURST:
        plan_scale(p, at, PLAN_CPU_QUOTA, 100000 + below(f, 200000), 100000);
        plan_number(p, at, PLAN_CPU_BURST_US, below(f, 300000));
        return;
    case PLAN_CPU_SUPPRESS:
        cpus = some_cpus(f);
        plan_cpus(p, at, &cpus);
        if (below(f, 3) == 0)
            plan_number(p, at, PLAN_CPU_QUOTA, some_quota(f));
        return;
    case PLAN_CPU_IDLE: plan_number(p, at, PLAN_CPU_IDLE_CLASS, below(f, 2)); return;
    default:
        plan_number(p, at, PLAN_CPU_SHARES, 2 + below(f, 5000));
        plan_number(p, at, PLAN_MEMORY_LIMIT, below(f, 3) ? (int64_t)below(f, 1 << 20) * 4096 : -1);
        return;
    }
}

static void submit_random(struct fixture *f)
{
    static const enum plan_owner owners[] = { PLAN_KUBELET,        PLAN_CPU_NORMALIZATION,
                                              PLAN_BATCH_RESOURCE, PLAN_CPU_SUPPRESS,
                                              PLAN_CPU_BURST,      PLAN_CPU_IDLE };
    enum plan_owner o = owners[below(f, ARRAY_LEN(owners))];
    struct plan *p = executor_plan(f->executor, o, NULL);

    if (o == PLAN_KUBELET && !f->kubelet)
        return;

    propose(f, p, dir_of(f, p, -1, -1, -1));
    for (int c = 0; c < 2; c++) {
        propose(f, p, dir_of(f, p, c, -1, -1));
        for (int i = 0; i < PODS; i++) {
            if (!f->pods[c][i])
                continue;
            propose(f, p, dir_of(f, p, c, i, -1));
            for (int k = 0; k < CONTAINERS; k++)
                propose(f, p, dir_of(f, p, c, i, k));
        }
    }
    executor_submit(f->executor, p);
}

/* A pod comes, or goes. */
static void change_pods(struct fixture *f)
{
    unsigned class = below(f, 2), pod = below(f, PODS);
    CLEANUP(plan_free) struct plan *names = plan_new(PLAN_KUBELET);
    bool there = f->pods[class][pod] = !f->pods[class][pod];

    f->born[class][pod] += there;
    const char *dir = dir_of(f, names, (int)class, (int)pod, -1);
    if (there)
        model_mkdir(&f->model, dir);
    for (int k = 0; k < CONTAINERS; k++) {
        const char *c = dir_of(f, names, (int)class, (int)pod, k);
        if (there)
            model_mkdir(&f->model, c);
        else
            model_rmdir(&f->model, c);
    }
    if (!there)
        model_rmdir(&f->model, dir);
}

static void model_holds(struct fixture *f, uint64_t seed)
{
    const struct kernel_model *m = &f->model;

    if (m->refused || executor_stats(f->executor).refused)
        fail_msg("seed %llu: the kernel refused a write: %s", (unsigned long long)seed, m->log);
    if (m->version == CGROUP_V1 && !model_quotas_hold(m))
        fail_msg("seed %llu: a quota above its parent's", (unsigned long long)seed);
    if (m->version == CGROUP_V1 && !model_cpus_hold(m))
        fail_msg("seed %llu: a cpuset outside of its parent's", (unsigned long long)seed);
    for (int i = 0; i < MODEL_DIRS; i++)
        if (m->dirs[i].there && m->dirs[i].quota >= 0 && m->dirs[i].burst > m->dirs[i].quota)
            fail_msg("seed %llu: a burst above its quota", (unsigned long long)seed);
}

static void start(struct fixture *f, uint64_t seed, const struct executor_ops *ops, void *ops_arg)
{
    f->loop = loop_new_virtual(0, seed);
    f->host.version = f->model.version;
    f->host.driver = CGROUP_CGROUPFS;
    f->executor = executor_new(&(struct executor_env){ .loop = f->loop,
                                                       .host = &f->host,
                                                       .ops = ops,
                                                       .ops_arg = ops_arg,
                                                       .force_update = 60 * NSEC_PER_SEC });
}

static void stop(struct fixture *f)
{
    f->executor = executor_free(f->executor);
    loop_advance(f->loop, NSEC_PER_SEC); /* what workers had taken ends without it */
    f->loop = loop_free(f->loop);
}

static void sequence(uint64_t seed, enum cgroup_version v)
{
    struct fixture f = { .ncpus = 8, .top = "kubepods", .kubelet = seed % 2 };

    model_init(&f.model, v, 8);
    model_mkdir(&f.model, "kubepods");
    model_mkdir(&f.model, "kubepods/burstable");
    model_mkdir(&f.model, "kubepods/besteffort");
    start(&f, seed, &model_ops, &f.model);
    change_pods(&f);
    for (int i = 0; i < STEPS; i++) {
        if (below(&f, 3) == 0)
            change_pods(&f);
        submit_random(&f);
        if (below(&f, 2))
            submit_random(&f);
        f.model.log[0] = '\0';
        loop_advance(f.loop, below(&f, 10) == 0 ? 61 * NSEC_PER_SEC : 10 * NSEC_PER_MSEC);
        model_holds(&f, seed);
    }
    /* Everything withdrawn: what we owned is put back, and nothing is refused on the way. */
    for (int o = 0; o < PLAN_OWNERS; o++)
        executor_submit(f.executor, executor_plan(f.executor, (enum plan_owner)o, NULL));
    loop_advance(f.loop, NSEC_PER_SEC);
    model_holds(&f, seed);
    for (int i = 0; i < MODEL_DIRS; i++)
        if (f.model.dirs[i].there && (f.model.dirs[i].burst || f.model.dirs[i].idle ||
                                      (f.model.dirs[i].quota != -1 && !f.kubelet)))
            fail_msg("seed %llu: %s was not restored: quota %lld, burst %lld, idle %lld",
                     (unsigned long long)seed, f.model.dirs[i].path,
                     (long long)f.model.dirs[i].quota, (long long)f.model.dirs[i].burst,
                     (long long)f.model.dirs[i].idle);
    stop(&f);
}

static void test_random_plans_meet_no_refusal(void **state)
{
    const char *wanted = getenv("KOORD_SEQUENCES");
    uint64_t n = wanted ? strtoull(wanted, NULL, 10) : getenv("KOORD_TEST_FULL") ? 1000000 : 50000;

    (void)state;
    for (uint64_t i = 0; i < n; i++)
        sequence(i, i % 4 >= 2 ? CGROUP_V2 : CGROUP_V1);
}

/* ---- the model against the kernel ------------------------------------------------------------ */

static const char *const subsystems[] = { "cpu", "cpuset", "memory" };

/* The quota of a removed cgroup counts for some milliseconds more, until the kernel has released
 * it. */
static void real_unlimited(const char *dir)
{
    char path[256];

    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu/%s/cpu.cfs_burst_us", dir);
    file_write_value(AT_FDCWD, path, "0", NULL);
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu/%s/cpu.cfs_quota_us", dir);
    file_write_value(AT_FDCWD, path, "-1", NULL);
}

static void real_dir(const char *dir, bool make)
{
    char path[256];

    for (size_t i = 0; i < ARRAY_LEN(subsystems); i++) {
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", subsystems[i], dir);
        if (!make) {
            if (i == 0)
                real_unlimited(dir);
            rmdir(path);
            continue;
        }
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            fail_msg("%s: %s", path, strerror(errno));
        if (i != 1)
            continue;
        snprintf(path, sizeof path, "/sys/fs/cgroup/cpuset/%s/cpuset.mems", dir);
        assert_int_equal(file_write_value(AT_FDCWD, path, "0", NULL), 0);
    }
}

/* Each write goes to the model and to the kernel: the same answer, and the same text afterwards. */
struct both {
    struct kernel_model *model;
    struct host *host;
    unsigned compared, refused;
};

static int both_read(void *arg, enum executor_root r, const char *path, struct strbuf *out)
{
    struct both *b = arg;
    CLEANUP(strbuf_fini) struct strbuf real = STRBUF_INIT;
    size_t before = out->len;
    int code = model_read(b->model, r, path, out);
    int real_code = executor_ops_host.read(b->host, r, path, &real);

    if (code != real_code || !streq(strbuf_str(out) + before, strbuf_str(&real)))
        fail_msg("%s: the model has %d '%s', the kernel %d '%s'", path, code,
                 strbuf_str(out) + before, real_code, strbuf_str(&real));
    return code;
}

static int both_write(void *arg, enum executor_root r, const char *path, const char *text, size_t n,
                      bool append)
{
    struct both *b = arg;
    int code = model_write(b->model, r, path, text, n, append);
    int real_code = executor_ops_host.write(b->host, r, path, text, n, append);

    b->compared++;
    b->refused += code < 0;
    if (code != real_code)
        fail_msg("%.*s to %s: the model says %d, the kernel %d", (int)n, text, path, code,
                 real_code);
    return code;
}

static int both_write_begin(void *arg, enum executor_root r, const char *path)
{
    return model_write_begin(((struct both *)arg)->model, r, path);
}

static int both_write_end(void *arg, int opened, const char *text, size_t n)
{
    struct both *b = arg;
    return both_write(b, EXECUTOR_CGROUP, b->model->opened[opened].path, text, n, false);
}

static bool both_exists(void *arg, enum executor_root r, const char *path)
{
    (void)r, (void)arg;
    return strstr(path, "cpu.bvt_warp_ns") == NULL;
}

static void both_list(void *arg, enum executor_root r, const char *path,
                      void (*fn)(void *to, const char *name), void *to)
{
    model_list(((struct both *)arg)->model, r, path, fn, to);
}

static const struct executor_ops both_ops = {
    .read = both_read,
    .write = both_write,
    .write_begin = both_write_begin,
    .write_end = both_write_end,
    .exists = both_exists,
    .make_dir = model_no_dir,
    .remove_dir = model_no_dir,
    .list = both_list,
};

/* Somebody else writes what comes to mind. */
static void write_anything(struct fixture *f, struct both *b)
{
    static const char *const files[][2] = { { "cpu", "cpu.cfs_quota_us" },
                                            { "cpu", "cpu.cfs_burst_us" },
                                            { "cpu", "cpu.shares" },
                                            { "cpu", "cpu.idle" },
                                            { "cpuset", "cpuset.cpus" } };
    CLEANUP(plan_free) struct plan *names = plan_new(PLAN_KUBELET);
    unsigned kind = below(f, ARRAY_LEN(files));
    int class = (int)below(f, 2), pod = (int)below(f, PODS);
    const char *dir = dir_of(f, names, class, f->pods[class][pod] ? pod : -1,
                             f->pods[class][pod] ? (int)below(f, CONTAINERS) : -1);
    struct cpuset cpus = some_cpus(f);
    char path[256], text[64];

    snprintf(path, sizeof path, "%s/%s/%s", files[kind][0], dir, files[kind][1]);
    if (kind == 4)
        snprintf(text, sizeof text, "%s", cpuset_format(&cpus, names->arena));
    else
        snprintf(text, sizeof text, "%lld",
                 (long long)(kind == 0   ? some_quota(f) - (int64_t)below(f, 3)
                             : kind == 1 ? (int64_t)below(f, 300000) - 1
                             : kind == 2 ? (int64_t)below(f, 5000)
                                         : (int64_t)below(f, 3)));
    both_write(b, EXECUTOR_CGROUP, path, text, strlen(text), false);
}

static void real_pods(struct fixture *f, bool before[2][PODS])
{
    CLEANUP(plan_free) struct plan *names = plan_new(PLAN_KUBELET);

    for (int c = 0; c < 2; c++)
        for (int i = 0; i < PODS; i++) {
            if (before[c][i] == f->pods[c][i])
                continue;
            bool make = f->pods[c][i];
            if (make)
                real_dir(dir_of(f, names, c, i, -1), true);
            for (int k = 0; k < CONTAINERS; k++)
                real_dir(dir_of(f, names, c, i, k), make);
            if (!make)
                real_dir(dir_of(f, names, c, i, -1), false);
            /* A new cpuset has no CPUs yet: the parent's, as runc writes. */
            for (int k = -1; make && k < CONTAINERS; k++) {
                const char *dir = dir_of(f, names, c, i, k);
                int at = model_find(&f->model, dir);
                struct cpuset cpus = { .w = { f->model.dirs[at].cpus } };
                char path[256];
                snprintf(path, sizeof path, "/sys/fs/cgroup/cpuset/%s/cpuset.cpus", dir);
                assert_int_equal(
                    file_write_value(AT_FDCWD, path, cpuset_format(&cpus, names->arena), NULL), 0);
            }
        }
}

static void real_clean(struct fixture *f)
{
    bool before[2][PODS];
    CLEANUP(plan_free) struct plan *names = plan_new(PLAN_KUBELET);

    memcpy(before, f->pods, sizeof before);
    memset(f->pods, 0, sizeof f->pods);
    real_pods(f, before);
    real_dir(dir_of(f, names, 0, -1, -1), false);
    real_dir(dir_of(f, names, 1, -1, -1), false);
    real_dir(f->top, false);
}

static void real_begin(struct fixture *f)
{
    char path[256], all[16];
    CLEANUP(plan_free) struct plan *names = plan_new(PLAN_KUBELET);

    model_init(&f->model, CGROUP_V1, f->ncpus);
    snprintf(all, sizeof all, "0-%u", f->ncpus - 1);
    for (int c = -1; c < 2; c++) {
        const char *dir = dir_of(f, names, c, -1, -1);
        model_mkdir(&f->model, dir);
        real_dir(dir, true);
        snprintf(path, sizeof path, "/sys/fs/cgroup/cpuset/%s/cpuset.cpus", dir);
        assert_int_equal(file_write_value(AT_FDCWD, path, all, NULL), 0);
    }
}

static void real_sequence(struct fixture *f, struct both *b, uint64_t seed)
{
    bool before[2][PODS];

    memset(f->pods, 0, sizeof f->pods);
    real_begin(f);
    start(f, seed, &both_ops, b);
    for (int i = 0; i < 3; i++) {
        memcpy(before, f->pods, sizeof before);
        change_pods(f);
        real_pods(f, before);
        submit_random(f);
        executor_apply(f->executor);
        write_anything(f, b);
        write_anything(f, b);
    }
    stop(f);
    real_clean(f);
}

static bool has_v1(void)
{
    return geteuid() == 0 && access("/sys/fs/cgroup/cpu/cpu.shares", W_OK) == 0 &&
           access("/sys/fs/cgroup/cpuset/cpuset.cpus", W_OK) == 0 &&
           access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) == 0;
}

static void test_the_kernel_answers_as_the_model(void **state)
{
    struct fixture f = { 0 };
    struct host_roots roots = host_roots_default("hostMode");
    struct kerr err = { 0 };
    CLEANUP(host_free) struct host *host = NULL;
    struct both b = { &f.model, NULL, 0, 0 };

    (void)state;
    if (!has_v1())
        skip();
    roots.cgroup = "/sys/fs/cgroup/";
    assert_int_equal(host_new(&roots, &host, &err), 0);
    b.host = host;
    snprintf(f.top, sizeof f.top, "koord-model-%d", (int)getpid());
    f.ncpus = (unsigned)MIN(sysconf(_SC_NPROCESSORS_ONLN), 64L);
    for (uint64_t i = 0; i < 2000; i++)
        real_sequence(&f, &b, i);
    print_message("%u writes compared, %u of them refused\n", b.compared, b.refused);
    assert_that(b.refused, >, 1000); /* there was something to compare */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_plans_meet_no_refusal),
        cmocka_unit_test(test_the_kernel_answers_as_the_model),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
