/* collect_fixture.h - collectors over a machine made of files, on a virtual loop, for tests. */
#ifndef KOORD_KOORDLET_COLLECT_TEST_COLLECT_FIXTURE_H
#define KOORD_KOORDLET_COLLECT_TEST_COLLECT_FIXTURE_H
#include <dirent.h>

#include "base/intern.h"
#include "koordlet/collect/collect_int.h"
#include "koordlet/kernel/test/host_fixture.h"
#include "json/kj.h"

#define UID(n) "11111111-1111-1111-1111-00000000000" #n
#define MIB    (1024.0 * 1024)

struct collect_fixture {
    struct fixture f;
    struct collect_env env;
    struct collect *collect;
    struct snapshots *snapshots;
    struct snapshot known; /* what the agent knows, said by the test */
    struct koordlet_options o;
    struct intern *strings;
    struct kj_scratch *scratch;
    struct node node;
    enum cgroup_version v;
};

UNUSED static void collect_fixture_init(struct collect_fixture *b, enum cgroup_version v)
{
    *b = (struct collect_fixture){ .v = v };
    fixture_init(&b->f);
    fixture_cgroup(&b->f, v);
    b->strings = intern_new();
    b->scratch = kj_scratch_new(b->strings);
    b->known = (struct snapshot){ .refs = 1, .node = &b->node, .policy = collect_policy_default };
    gates_init(&b->o.gates, koordlet_gates, KOORDLET_GATES);
    b->o.collect = (struct collect_options){
        .interval = NSEC_PER_SEC,
        .sys_outdated = 10 * NSEC_PER_SEC,
        .node_cpu_info = 60 * NSEC_PER_SEC,
        .node_storage_info = NSEC_PER_SEC,
        .cpi = 60 * NSEC_PER_SEC,
        .cpi_window = 10 * NSEC_PER_SEC,
        .psi = 10 * NSEC_PER_SEC,
        .cold_page = 5 * NSEC_PER_SEC,
        .resctrl = 10 * NSEC_PER_SEC,
    };
    b->o.predict.training = 60 * NSEC_PER_SEC;
    b->env = (struct collect_env){
        .loop = loop_new_virtual(1700000000 * NSEC_PER_SEC, 1),
        .host = fixture_host(&b->f),
        .mc = metriccache_new(),
        .o = &b->o,
        .internal = metrics_new(),
        .external = metrics_new(),
        .node_name = "node-1",
    };
    b->snapshots = b->env.snapshots = snapshots_new(b->env.loop);
    snapshots_publish(b->snapshots, snapshot_ref(&b->known));
    b->env.host->driver = CGROUP_SYSTEMD;
    b->env.host->driver_known = true;
    b->env.host->jiffy = 10 * NSEC_PER_MSEC;
    fixture_put(&b->f, "cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0\n",
                "proc/stat");
    fixture_put(&b->f, "MemTotal: 1048576 kB\nMemFree: 262144 kB\nMemAvailable: 524288 kB\n",
                "proc/meminfo");
}

UNUSED static void collect_fixture_start(struct collect_fixture *b)
{
    b->collect = collect_new(&b->env);
    collect_start(b->collect);
}

UNUSED static void collect_fixture_fini(struct collect_fixture *b)
{
    b->collect = collect_free(b->collect);
    snapshots_free(b->snapshots);
    podset_unref(b->known.pods);
    loop_free(b->env.loop);
    metriccache_free(b->env.mc);
    metrics_free(b->env.internal);
    metrics_free(b->env.external);
    fixture_fini(&b->f);
    kj_scratch_free(b->scratch);
    intern_free(b->strings);
}

/* The collect policy is another one. */
UNUSED static void collect_fixture_policy(struct collect_fixture *b)
{
    snapshots_tell(b->snapshots, STATES_POLICY);
    loop_advance(b->env.loop, 0);
}

/* The kubelet tells these pods: a JSON list. */
UNUSED static void collect_fixture_pods(struct collect_fixture *b, const char *json)
{
    struct kerr err = { 0 };
    struct kj_doc *doc = NULL;
    static uint64_t stamp;

    if (kj_parse(json, strlen(json), 0, &doc, &err) < 0)
        fail_msg("%s", err.text);
    size_t n = kj_len(kj_root(doc));
    struct npod **pods = xnewn0(MAX(n, (size_t)1), struct npod *);
    for (size_t i = 0; i < n; i++)
        if (npod_decode(kj_at(kj_root(doc), i), ++stamp, CGROUP_SYSTEMD, b->scratch, &pods[i],
                        &err) < 0)
            fail_msg("%s", err.text);
    podset_unref(b->known.pods);
    b->known.pods = podset_new(pods, n);
    kj_doc_free(doc);
}

/* A Burstable pod with one container. */
#define POD_JSON(n, id)                                                                           \
    "{\"metadata\":{\"name\":\"p" #n "\",\"namespace\":\"d\",\"uid\":\"" UID(                     \
        n) "\"},"                                                                                 \
           "\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"status\":{\"qosClass\":\"Burstable\"," \
           "\"containerStatuses\":[{\"name\":\"c\",\"containerID\":\"containerd://" id "\","      \
           "\"state\":{\"running\":{}}}]}}"
#define POD_DIR(n)                                                                           \
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_1111_1111_1111_" \
    "00000000000" #n ".slice"
#define CONTAINER_DIR(n, id) POD_DIR(n) "/cri-containerd-" id ".scope"

UNUSED static void collect_fixture_cpu(struct collect_fixture *b, const char *dir,
                                       uint64_t usage_ns, uint64_t periods, uint64_t throttled)
{
    char text[256];
    unsigned long long u = usage_ns, p = periods, t = throttled;

    if (b->v == CGROUP_V2) {
        snprintf(text, sizeof text,
                 "usage_usec %llu\nuser_usec 1\nsystem_usec 1\nnr_periods %llu\n"
                 "nr_throttled %llu\nthrottled_usec 5\n",
                 u / 1000, p, t);
        fixture_put(&b->f, text, "cgroup/%s/cpu.stat", dir);
        return;
    }
    snprintf(text, sizeof text, "%llu\n", u);
    fixture_put(&b->f, text, "cgroup/cpuacct/%s/cpuacct.usage", dir);
    snprintf(text, sizeof text, "nr_periods %llu\nnr_throttled %llu\nthrottled_time 5\n", p, t);
    fixture_put(&b->f, text, "cgroup/cpu/%s/cpu.stat", dir);
}

UNUSED static void collect_fixture_memory(struct collect_fixture *b, const char *dir,
                                          uint64_t inactive_anon, uint64_t inactive_file)
{
    const char *total = b->v == CGROUP_V1 ? "total_" : "";
    unsigned long long a = inactive_anon, f = inactive_file;
    char text[512];

    snprintf(text, sizeof text,
             "%s %llu\n%s %llu\n%sinactive_anon %llu\n%sactive_anon 0\n"
             "%sinactive_file %llu\n%sactive_file 0\n%sunevictable 0\npgfault 7\n",
             b->v == CGROUP_V1 ? "total_cache" : "file", f,
             b->v == CGROUP_V1 ? "total_rss" : "anon", a, total, a, total, total, f, total, total);
    fixture_put(&b->f, text, "cgroup/%s%s/memory.stat", b->v == CGROUP_V1 ? "memory/" : "", dir);
}

UNUSED static void collect_fixture_stat(struct collect_fixture *b, unsigned user, unsigned cpu0,
                                        unsigned cpu1)
{
    char text[256];

    snprintf(text, sizeof text,
             "cpu %u 0 0 50 60 0 0 9\ncpu0 %u 0 0 0 0 0 0\ncpu1 %u 0 0 0 0 0 0\nintr 5\n", user,
             cpu0, cpu1);
    fixture_put(&b->f, text, "proc/stat");
}

UNUSED static void collect_fixture_advance(struct collect_fixture *b, int seconds)
{
    loop_advance(b->env.loop, seconds * NSEC_PER_SEC);
}

/* The last sample of a series in the last two seconds; -1: none. */
UNUSED static double collect_fixture_last(struct collect_fixture *b, enum metric_kind k,
                                          const char *const *labels)
{
    int64_t now = loop_wall(b->env.loop) / NSEC_PER_MSEC;
    double v;

    if (metriccache_ask(b->env.mc, k, labels, now - 1500, now, WINDOW_LAST, &v, NULL) < 0)
        return -1;
    return v;
}
UNUSED static double collect_fixture_last1(struct collect_fixture *b, enum metric_kind k,
                                           const char *label)
{
    return collect_fixture_last(b, k, &label);
}

UNUSED static unsigned collect_fixture_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

UNUSED static double collect_fixture_failures(struct collect_fixture *b, const char *collector)
{
    static const struct metric_desc d = { "koordlet_collect_failures_total", "", METRIC_COUNTER,
                                          .labels = { "collector" } };
    return metric_counter(metrics_add(b->env.internal, &d), METRIC_VALUES(collector))->v;
}

UNUSED static bool collect_fixture_is_missing(const struct collect_fixture *b, const char *text)
{
    for (size_t i = 0; collect_missing(b->collect, i); i++)
        if (streq(collect_missing(b->collect, i), text))
            return true;
    return false;
}
#endif
