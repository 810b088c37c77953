/* bench_koordlet.c - what the collectors cost on a machine made of files.
 *
 *     bench_koordlet PODS SECONDS
 *
 * Makes a cgroup v2 tree of PODS pods with three containers each in memory (/dev/shm), runs the
 * collectors over it on a virtual loop for SECONDS ticks with pressure and counters on, and the
 * same reads without anything else. Prints one line of JSON: microseconds of CPU time a tick, for
 * both, allocations a tick, and the memory of the process when the rings are full.
 */
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/vec.h"
#include "koordlet/collect/collect_int.h"
#include "koordlet/collect/perf.h"
#include "sys/file.h"
#include "json/kj.h"

enum { CONTAINERS = 3 };

static int null_open(int cgroup_fd, int cpu, enum perf_event event, int leader, struct kerr *err)
{
    (void)cgroup_fd, (void)cpu, (void)event, (void)leader, (void)err;
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}
static int null_read(int fd, struct perf_value *ret, struct kerr *err)
{
    (void)fd, (void)err;
    *ret = (struct perf_value){ 1000, 10, 10 };
    return 0;
}
static const struct perf_driver null_driver = { null_open, null_read };

/* ---- the tree -------------------------------------------------------------------------------- */

static char root[] = "/dev/shm/koord-bench-XXXXXX";

static void put(const char *text, const char *dir, const char *name)
{
    CLEANUP(mem_free) char *up = xasprintf("%s/%s", root, dir);
    CLEANUP(mem_free) char *path = xasprintf("%s/%s", up, name);

    dir_make(AT_FDCWD, up, 0755, NULL);
    FILE *f = fopen(path, "w");
    assert(f);
    fputs(text, f);
    fclose(f);
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* As long as the kernel's, in its order. */
static void put_group(const char *dir)
{
    static const char psi[] = "some avg10=0.12 avg60=0.34 avg300=0.56 total=123456789\n"
                              "full avg10=0.02 avg60=0.04 avg300=0.06 total=12345678\n";
    static const char *const before[] = { "anon",
                                          "file",
                                          "kernel",
                                          "kernel_stack",
                                          "pagetables",
                                          "sec_pagetables",
                                          "percpu",
                                          "sock",
                                          "vmalloc",
                                          "shmem",
                                          "zswap",
                                          "zswapped",
                                          "file_mapped",
                                          "file_dirty",
                                          "file_writeback",
                                          "swapcached",
                                          "anon_thp",
                                          "file_thp",
                                          "shmem_thp",
                                          "inactive_anon",
                                          "active_anon",
                                          "inactive_file",
                                          "active_file",
                                          "unevictable",
                                          "slab_reclaimable",
                                          "slab_unreclaimable",
                                          "slab",
                                          "workingset_refault_anon",
                                          "workingset_refault_file",
                                          "workingset_activate_anon",
                                          "workingset_activate_file",
                                          "workingset_restore_anon",
                                          "workingset_restore_file",
                                          "workingset_nodereclaim",
                                          "pgscan",
                                          "pgsteal",
                                          "pgscan_kswapd",
                                          "pgscan_direct",
                                          "pgsteal_kswapd",
                                          "pgsteal_direct",
                                          "pgfault",
                                          "pgmajfault",
                                          "pgrefill",
                                          "pgactivate",
                                          "pgdeactivate",
                                          "pglazyfree",
                                          "pglazyfreed",
                                          "thp_fault_alloc",
                                          "thp_collapse_alloc" };
    CLEANUP(strbuf_fini) struct strbuf memory = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        strbuf_appendf(&memory, "%s %zu\n", before[i], (i + 1) * 1234567);
    put(strbuf_str(&memory), dir, "memory.stat");
    put("usage_usec 123456789\nuser_usec 100000000\nsystem_usec "
        "23456789\ncore_sched.force_idle_usec "
        "0\nnr_periods 1000\nnr_throttled 10\nthrottled_usec 123456\nnr_bursts 0\nburst_usec 0\n",
        dir, "cpu.stat");
    put(psi, dir, "cpu.pressure");
    put(psi, dir, "memory.pressure");
    put(psi, dir, "io.pressure");
}

static struct podset *make_pods(int n, struct kj_scratch *scratch)
{
    struct npod **pods = xnewn0((size_t)n, struct npod *);
    struct kerr err = { 0 };

    for (int i = 0; i < n; i++) {
        CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
        struct kj_doc *doc = NULL;
        strbuf_appendf(&json,
                       "{\"metadata\":{\"name\":\"bench-%d\",\"namespace\":\"default\",\"uid\":"
                       "\"aaaaaaaa-bbbb-cccc-dddd-%012d\"},\"spec\":{\"containers\":[]},"
                       "\"status\":{\"qosClass\":\"Burstable\",\"containerStatuses\":[",
                       i, i);
        for (int c = 0; c < CONTAINERS; c++)
            strbuf_appendf(&json, "%s{\"name\":\"c%d\",\"containerID\":\"containerd://%060d%04d\"}",
                           c ? "," : "", c, i, c);
        strbuf_append(&json, "]}}");
        if (kj_parse(json.data, json.len, 0, &doc, &err) < 0 ||
            npod_decode(kj_root(doc), 1, CGROUP_SYSTEMD, scratch, &pods[i], &err) < 0)
            abort();
        kj_doc_free(doc);
        CLEANUP(mem_free) char *dir = xasprintf("cgroup/%s", pods[i]->cgroup_dir);
        put_group(dir);
        for (uint32_t c = 0; c < pods[i]->ncontainers; c++) {
            CLEANUP(mem_free) char *sub = xasprintf("%s/%s", dir, pods[i]->containers[c].dir);
            put_group(sub);
        }
    }
    return podset_new(pods, (size_t)n);
}

static void put_machine(void)
{
    CLEANUP(strbuf_fini) struct strbuf stat = STRBUF_INIT;

    put("cpu\n", "cgroup", "cgroup.controllers");
    put_group("cgroup/kubepods.slice");
    put_group("cgroup/kubepods.slice/kubepods-besteffort.slice");
    put("0-3\n", "cgroup/kubepods.slice/kubepods-besteffort.slice", "cpuset.cpus.effective");
    put("max 100000\n", "cgroup/kubepods.slice/kubepods-besteffort.slice", "cpu.max");
    for (int i = -1; i < 4; i++) {
        strbuf_append(&stat, "cpu");
        if (i >= 0)
            strbuf_append_i64(&stat, i);
        strbuf_append(&stat, " 514003 37519 593580 1706155242 5134 45033 38832 0 0 0\n");
    }
    put(strbuf_str(&stat), "proc", "stat");
    put("MemTotal: 8048576 kB\nMemFree: 1262144 kB\nMemAvailable: 4524288 kB\n", "proc", "meminfo");
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void read_memory(long *rss_kb, long *dirty_kb)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];

    while (f && fgets(line, sizeof line, f)) {
        sscanf(line, "Rss: %ld", rss_kb);
        sscanf(line, "Private_Dirty: %ld", dirty_kb);
    }
    if (f)
        fclose(f);
}

/* The same files, opened once: those of every tick, and those of every tenth. */
struct bare {
    struct vec_of(int) often, seldom;
};

static void bare_open(struct bare *b, const char *dir)
{
    static const char *const names[] = { "cpu.stat", "memory.stat", "cpu.pressure",
                                         "memory.pressure", "io.pressure" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_free) char *path = xasprintf("%s/cgroup/%s/%s", root, dir, names[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (i < 2)
            vec_push(&b->often, fd);
        else
            vec_push(&b->seldom, fd);
    }
}

static double bare_tick(const struct podset *set, int ticks)
{
    struct bare b = { 0 };
    char buf[16384];
    ssize_t sum = 0;

    for (uint32_t i = 0; i < set->n; i++) {
        bare_open(&b, set->pods[i]->cgroup_dir);
        for (uint32_t c = 0; c < set->pods[i]->ncontainers; c++) {
            CLEANUP(mem_free)
            char *dir =
                xasprintf("%s/%s", set->pods[i]->cgroup_dir, set->pods[i]->containers[c].dir);
            bare_open(&b, dir);
        }
    }
    double begin = cpu_us();
    for (int t = 0; t < ticks; t++) {
        vec_foreach(&b.often, i)
            sum += pread(b.often.items[i], buf, sizeof buf, 0);
        if (t % 10)
            continue;
        vec_foreach(&b.seldom, i)
            sum += pread(b.seldom.items[i], buf, sizeof buf, 0);
    }
    double used = cpu_us() - begin;
    assert(sum > 0);
    vec_foreach(&b.often, i)
        close(b.often.items[i]);
    vec_foreach(&b.seldom, i)
        close(b.seldom.items[i]);
    vec_fini(&b.often);
    vec_fini(&b.seldom);
    return used / ticks;
}

static struct host *make_host(void)
{
    CLEANUP(mem_free) char *cgroup = xasprintf("%s/cgroup", root);
    CLEANUP(mem_free) char *proc = xasprintf("%s/proc", root);
    struct host_roots roots = { cgroup, proc, "/sys", root, root, root, root };
    struct host *h = NULL;
    struct kerr err = { 0 };

    if (host_new(&roots, &h, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    h->driver = CGROUP_SYSTEMD;
    h->driver_known = true;
    return h;
}

static void set_options(struct koordlet_options *o)
{
    gates_init(&o->gates, koordlet_gates, KOORDLET_GATES);
    gates_parse(&o->gates, "PSICollector=true,CPICollector=true", NULL);
    o->collect = (struct collect_options){ .interval = NSEC_PER_SEC,
                                           .sys_outdated = 10 * NSEC_PER_SEC,
                                           .node_cpu_info = 60 * NSEC_PER_SEC,
                                           .cpi = 60 * NSEC_PER_SEC,
                                           .cpi_window = 10 * NSEC_PER_SEC,
                                           .psi = 10 * NSEC_PER_SEC };
    o->predict.training = 60 * NSEC_PER_SEC;
}

static void run(struct collect_env *e, struct podset *set, int seconds)
{
    long before_rss = 0, before_dirty = 0, rss = 0, dirty = 0;

    read_memory(&before_rss, &before_dirty);
    struct collect *c = collect_new(e);
    collect_start(c);
    loop_advance(e->loop, 65 * NSEC_PER_SEC);
    uint64_t quiet = UINT64_MAX;
    double begin = cpu_us();
    for (int i = 0; i < seconds; i++) {
        uint64_t count = alloc_count();
        loop_advance(e->loop, NSEC_PER_SEC);
        quiet = MIN(quiet, alloc_count() - count);
    }
    double tick = (cpu_us() - begin) / seconds;
    read_memory(&rss, &dirty);
    struct collect_cost cost = collect_cost(e);
    struct metriccache_stats st = metriccache_stats(e->mc);
    uint32_t fds = e->pods->reader.open;
    double bare = bare_tick(set, seconds);
    printf("{\"pods\": %u, \"tick_us\": %.1f, \"bare_us\": %.1f, \"allocations\": %" PRIu64
           ", \"rss_kb\": %ld, \"private_dirty_kb\": %ld, \"grown_dirty_kb\": %ld, "
           "\"bytes_per_pod\": %zu, \"bytes_per_container\": %zu, \"series\": %zu, "
           "\"cache_kb\": %zu, \"descriptors\": %u}\n",
           set->n, tick, bare, quiet, rss, dirty, dirty - before_dirty, cost.per_pod,
           cost.per_container, st.series, st.bytes / 1024, fds);
    collect_free(c);
}

int main(int argc, char **argv)
{
    struct koordlet_options o = { 0 };
    struct snapshot known = { .refs = 1,
                              .policy = { .aggregate = 300 * NSEC_PER_SEC,
                                          .durations = { 1800 * NSEC_PER_SEC },
                                          .ndurations = 1 } };
    if (argc != 3 || !mkdtemp(root)) {
        fprintf(stderr, "usage: bench_koordlet PODS SECONDS\n");
        return 2;
    }
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    set_options(&o);
    put_machine();
    known.pods = make_pods(atoi(argv[1]), scratch);
    scratch = kj_scratch_free(scratch);
    struct collect_env e = { .loop = loop_new_virtual(1700000000 * NSEC_PER_SEC, 1),
                             .host = make_host(),
                             .mc = metriccache_new(),
                             .o = &o,
                             .internal = metrics_new(),
                             .external = metrics_new(),
                             .node_name = "bench",
                             .perf = &null_driver };
    e.snapshots = snapshots_new(e.loop);
    snapshots_publish(e.snapshots, snapshot_ref(&known));
    run(&e, known.pods, atoi(argv[2]));
    snapshots_free(e.snapshots);
    loop_free(e.loop);
    host_free(e.host);
    metriccache_free(e.mc);
    metrics_free(e.internal);
    metrics_free(e.external);
    podset_unref(known.pods);
    intern_free(strings);
    nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
