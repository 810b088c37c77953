/* test_koordlet_kill.c - kill -9 of an acting agent at random points, while NodeSLO and pods
 * change: the next start ends in the same files as a run that nobody disturbed.
 *
 * A child process is the agent's acting half: strategies, hooks and executor. It kills itself with
 * SIGKILL before or after the n-th write, n at random, in the middle of a pass as well as between
 * two. Then another one starts, on the files as they are. The files are real cgroups (v1) where the
 * test may make some, and a model of the kernel in shared memory (v1 and v2). Usage is constant, so
 * that what is decided depends on pods and NodeSLO only.
 *
 * usage: test_koordlet_kill [KILLS [FIRST SEED]]     10 of each kind, with KOORD_TEST_FULL 100
 */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/asserts.h"
#include "koordlet/hooks/reconcile.h"
#include "koordlet/qos/test/acting_fixture.h"
#include "sys/file.h"

enum { PODS = 6, STEPS = 10, STEP_SECONDS = 6, SETTLE_SECONDS = 150 };

/* ---- the script ------------------------------------------------------------------------------ */

struct step {
    unsigned serial[PODS]; /* of the pod that is there; 0: none */
    char slo[512];
    bool normal; /* CPU normalization */
};
struct script {
    struct step steps[STEPS];
};

static uint64_t next_random(uint64_t *s) /* splitmix64 */
{
    uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void script_make(struct script *s, uint64_t seed)
{
    static const char *const bursts[] = { "none", "cpuBurstOnly", "auto" };
    unsigned born[PODS] = { 0 };

    *s = (struct script){ 0 };
    for (int i = 0; i < STEPS; i++) {
        struct step *t = &s->steps[i];
        for (int p = 0; p < PODS; p++) {
            bool was = i > 0 && s->steps[i - 1].serial[p], changes = next_random(&seed) % 4 == 0;
            bool there = i == 0 ? next_random(&seed) % 2 : was != changes;
            if (p == 0 && i == STEPS - 1)
                there = true; /* without any pod suppression leaves everything as it is */
            t->serial[p] = !there ? 0 : was ? s->steps[i - 1].serial[p] : ++born[p];
        }
        uint64_t r = next_random(&seed);
        snprintf(t->slo, sizeof t->slo,
                 "{'resourceUsedThresholdWithBE':{'enable':%s,'cpuSuppressPolicy':'%s',"
                 "'cpuSuppressThresholdPercent':%d},'cpuBurstStrategy':{'policy':'%s'},"
                 "'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':%s}}}}",
                 r % 4 ? "true" : "false", r >> 8 & 1 ? "cfsQuota" : "cpuset",
                 (int)(40 + 10 * ((r >> 16) % 6)), bursts[(r >> 24) % 3],
                 r >> 32 & 1 ? "true" : "false");
        t->normal = r >> 40 & 1;
    }
}

/* ---- the machine: files, and what the kubelet does to them -------------------------------------- */

struct machine {
    bool real;
    const struct cgroup_layout *layout;
    struct host *host;          /* real */
    struct kernel_model *model; /* shared with the children; NULL: real */
    unsigned ncpus;
};
struct shared {
    struct kernel_model model;
    unsigned writes; /* of the child */
    int step;        /* where it is */
};

static const char *const v1_controllers[] = { "cpu", "cpuset", "memory" };

static void write_real(const char *controller, const char *dir, const char *file, const char *value)
{
    char path[512];
    struct kerr err = { 0 };

    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s/%s", controller, dir, file);
    if (file_write_value(AT_FDCWD, path, value, &err) < 0)
        fail_msg("%s: %s", path, err.text);
}

static void make_dir(struct machine *w, const char *dir)
{
    char path[512], cpus[16];

    if (w->model) {
        model_mkdir(w->model, dir);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(v1_controllers); i++) {
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", v1_controllers[i], dir);
        if (mkdir(path, 0755) < 0)
            fail_msg("%s: %s", path, strerror(errno));
    }
    /* As the kubelet and runc do: all that the directory above has. */
    CLEANUP(strbuf_fini) struct strbuf up = STRBUF_INIT;
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpuset/%s/../cpuset.cpus", dir);
    assert_int_equal(file_read_all(AT_FDCWD, path, 64, &up, NULL), 0);
    snprintf(cpus, sizeof cpus, "%.*s", (int)strcspn(strbuf_str(&up), "\n"), strbuf_str(&up));
    write_real("cpuset", dir, "cpuset.cpus", cpus);
    write_real("cpuset", dir, "cpuset.mems", "0");
}

static bool dir_is_there(const struct machine *w, const char *dir)
{
    char path[512];

    if (w->model)
        return model_find(w->model, dir) >= 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu/%s", dir);
    return access(path, F_OK) == 0;
}

static void remove_dir(struct machine *w, const char *dir)
{
    char path[512];

    if (w->model) {
        model_rmdir(w->model, dir);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(v1_controllers); i++) {
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", v1_controllers[i], dir);
        (void)rmdir(path);
    }
}

static void set_kubelet_values(struct machine *w, const char *dir, int64_t quota, int64_t shares)
{
    char text[32];

    if (w->model) {
        struct model_dir *d = &w->model->dirs[model_find(w->model, dir)];
        d->quota = quota;
        d->shares = shares;
        if (w->model->version == CGROUP_V2)
            assert_int_equal(shares_to_weight(shares, &d->shares, NULL), 0);
        return;
    }
    snprintf(text, sizeof text, "%lld", (long long)quota);
    write_real("cpu", dir, "cpu.cfs_quota_us", text);
    snprintf(text, sizeof text, "%lld", (long long)shares);
    write_real("cpu", dir, "cpu.shares", text);
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* 0 to 2 best effort, 3 and 4 services with a limit, 5 with a CPU of its own. */
static const struct {
    enum kube_qos qos;
    const char *label, *resources;
    int64_t quota, shares;
    bool bound;
} kinds[PODS] = {
    { KUBE_QOS_BEST_EFFORT, "BE",
      "'requests':{'kubernetes.io/batch-cpu':'500','kubernetes.io/batch-memory':'1Gi'},"
      "'limits':{'kubernetes.io/batch-cpu':'500','kubernetes.io/batch-memory':'1Gi'}",
      -1, 2, false },
    { KUBE_QOS_BEST_EFFORT, "BE", "'requests':{'kubernetes.io/batch-cpu':'1000'}", -1, 2, false },
    { KUBE_QOS_BEST_EFFORT, "BE", "", -1, 2, false },
    { KUBE_QOS_BURSTABLE, "LS", "'limits':{'cpu':'1'},'requests':{'cpu':'500m'}", 100000, 512,
      false },
    { KUBE_QOS_BURSTABLE, "LS", "'limits':{'cpu':'500m'},'requests':{'cpu':'250m'}", 50000, 256,
      false },
    { KUBE_QOS_BURSTABLE, "LSR", "'limits':{'cpu':'1'},'requests':{'cpu':'1'}", 100000, 1024,
      true },
};

static const char *uid_of(int pod, unsigned serial, struct arena *a)
{
    return arena_printf(a, "p%dx%u", pod, serial);
}

static const char *pod_dir(const struct machine *w, int pod, unsigned serial, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    cgroup_pod_dir(w->layout, kinds[pod].qos, uid_of(pod, serial, a), &b);
    return arena_strdup(a, strbuf_str(&b));
}

static const char *container_dir(const struct machine *w, int pod, unsigned serial, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *id = arena_printf(a, "containerd://c%s", uid_of(pod, serial, a));

    strbuf_appendf(&b, "%s/", pod_dir(w, pod, serial, a));
    assert_int_equal(cgroup_container_name(w->layout, id, &b, NULL), 0);
    return arena_strdup(a, strbuf_str(&b));
}

/* The kubelet brings the directories to what the step has. */
static void kubelet_step(struct machine *w, const struct script *s, int at, struct arena *a)
{
    for (int p = 0; p < PODS; p++) {
        unsigned now = s->steps[at].serial[p];
        for (unsigned old = 1; old <= STEPS; old++)
            if (old != now && dir_is_there(w, pod_dir(w, p, old, a))) {
                remove_dir(w, container_dir(w, p, old, a));
                remove_dir(w, pod_dir(w, p, old, a));
            }
        if (!now || dir_is_there(w, pod_dir(w, p, now, a)))
            continue;
        make_dir(w, pod_dir(w, p, now, a));
        set_kubelet_values(w, pod_dir(w, p, now, a), kinds[p].quota, kinds[p].shares);
        make_dir(w, container_dir(w, p, now, a));
        set_kubelet_values(w, container_dir(w, p, now, a), kinds[p].quota, kinds[p].shares);
    }
}

static void publish_pods(struct acting *a, const struct machine *w, const struct step *t)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *arena = arena_new();
    struct npod **pods = xnewn0(PODS + 1, struct npod *);
    size_t n = 0;

    for (int p = 0; p < PODS; p++) {
        if (!t->serial[p])
            continue;
        strbuf_reset(&json);
        const char *uid = uid_of(p, t->serial[p], arena);
        strbuf_appendf(
            &json,
            "{'metadata':{'name':'%s','namespace':'d','uid':'%s','labels':{"
            "'koordinator.sh/qosClass':'%s'},'annotations':{%s}},'spec':{'containers':[{'name':"
            "'c','resources':{%s}}]},'status':{'phase':'Running','qosClass':'%s',"
            "'containerStatuses':[{'name':'c','containerID':'containerd://c%s','state':{'running':"
            "{}}}]}}",
            uid, uid, kinds[p].label,
            kinds[p].bound ? "'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":\\\"1"
                             "\\\"}'"
                           : "",
            kinds[p].resources, kinds[p].qos == KUBE_QOS_BEST_EFFORT ? "BestEffort" : "Burstable",
            uid);
        CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(strbuf_str(&json));
        struct kerr err = { 0 };
        if (npod_decode(kj_root(doc), 1, w->layout, a->b->scratch, &pods[n++], &err) < 0)
            fail_msg("%s", err.text);
    }
    snapshots_set_pods(a->snapshots, podset_new(pods, n));
    snapshots_tell(a->snapshots, STATES_PODS);
}

/* ---- the agent ------------------------------------------------------------------------------- */

struct killer { /* between executor and files */
    const struct executor_ops *ops;
    void *arg;
    struct shared *shared;
    unsigned at; /* the write with which it dies; UINT_MAX: never */
    bool before;
};

static void die_at(const struct killer *k, bool before)
{
    if (k->shared->writes == k->at && k->before == before)
        kill(getpid(), SIGKILL);
}

static int killer_read(void *arg, enum executor_root r, const char *path, struct strbuf *out)
{
    struct killer *k = arg;
    return k->ops->read(k->arg, r, path, out);
}

static int killer_write(void *arg, enum executor_root r, const char *path, const char *text,
                        size_t n, bool append)
{
    struct killer *k = arg;

    die_at(k, true);
    int code = k->ops->write(k->arg, r, path, text, n, append);
    die_at(k, false);
    k->shared->writes++;
    return code;
}

static int killer_begin(void *arg, enum executor_root r, const char *path)
{
    struct killer *k = arg;
    return k->ops->write_begin(k->arg, r, path);
}

static int killer_end(void *arg, int opened, const char *text, size_t n)
{
    struct killer *k = arg;

    die_at(k, true);
    int code = k->ops->write_end(k->arg, opened, text, n);
    die_at(k, false);
    k->shared->writes++;
    return code;
}

static bool killer_exists(void *arg, enum executor_root r, const char *path)
{
    struct killer *k = arg;
    return k->ops->exists(k->arg, r, path);
}

static int killer_make(void *arg, enum executor_root r, const char *path)
{
    struct killer *k = arg;
    return k->ops->make_dir(k->arg, r, path);
}

static int killer_remove(void *arg, enum executor_root r, const char *path)
{
    struct killer *k = arg;
    return k->ops->remove_dir(k->arg, r, path);
}

static void killer_list(void *arg, enum executor_root r, const char *path,
                        void (*fn)(void *to, const char *name), void *to)
{
    struct killer *k = arg;
    k->ops->list(k->arg, r, path, fn, to);
}

static const struct executor_ops killer_ops = {
    killer_read,   killer_write, killer_begin,  killer_end,
    killer_exists, killer_make,  killer_remove, killer_list,
};

static void measure(struct acting *a, const struct step *t)
{
    acting_put(a, M_NODE_CPU, NULL, 0.6);
    for (int p = 0; p < PODS; p++) {
        char uid[24], id[40];
        if (!t->serial[p])
            continue;
        snprintf(uid, sizeof uid, "p%dx%u", p, t->serial[p]);
        snprintf(id, sizeof id, "containerd://c%s", uid);
        acting_put(a, M_POD_CPU, uid, 0.1);
        acting_put(a, M_CONTAINER_CPU, id, 0.1);
        acting_put(a, M_CONTAINER_THROTTLED, id, 0.5);
    }
}

static void publish(struct acting *a, const struct machine *w, const struct step *t)
{
    struct arena *arena = arena_new();
    struct nodeslo_spec *spec = arena_new0(arena, struct nodeslo_spec);
    struct kerr why[NODESLO_SECTIONS] = { 0 };
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(t->slo);
    char node[256];

    assert_int_equal(nodeslo_merge(kj_root(doc), NULL, arena, spec, why), 0);
    snapshots_set_nodeslo(a->snapshots, spec, arena);
    snapshots_tell(a->snapshots, STATES_NODESLO);
    snprintf(node, sizeof node,
             "{'metadata':{'name':'n','annotations':{%s}},'status':{'capacity':{'cpu':'%u'},"
             "'allocatable':{'cpu':'%u'}}}",
             t->normal ? "'node.koordinator.sh/cpu-normalization-ratio':'1.25'" : "", w->ncpus,
             w->ncpus);
    struct kobj *o = fixture_object(a->b, &kind_node, node);
    snapshots_set_node(a->snapshots, o);
    snapshots_tell(a->snapshots, STATES_NODE);
    kobj_unref(o);
    publish_pods(a, w, t);
}

/* A life from step first on, in a child process; kill_at: with which write it ends. */
static void agent_life(struct object_fixture *b, struct machine *w, const struct script *s,
                       struct shared *shared, int first, unsigned kill_at, bool before)
{
    struct acting *a = xnew0(struct acting);
    CLEANUP(arena_free) struct arena *arena = arena_new();
    struct killer k = { .ops = w->model ? &model_ops : &executor_ops_host,
                        .arg = w->model ? (void *)w->model : (void *)w->host,
                        .shared = shared,
                        .at = kill_at,
                        .before = before };
    enum cgroup_version v = w->model ? w->model->version : CGROUP_V1;

    acting_init(a, b, v, 1);
    executor_free(a->executor);
    a->cpus.n = w->ncpus;
    a->host.driver = w->layout;
    struct host *host = w->real ? w->host : &a->host;
    host->driver = w->layout;
    host->driver_known = true;
    a->executor = executor_new(&(struct executor_env){ .loop = a->l,
                                                       .host = host,
                                                       .ops = &killer_ops,
                                                       .ops_arg = &k,
                                                       .force_update = 60 * SECOND });
    a->env.executor = a->executor;
    a->env.host = host;
    a->o.hooks.reconcile_interval = 10 * SECOND;
    shared->writes = 0;
    kubelet_step(w, s, first, arena);
    publish(a, w, &s->steps[first]);
    acting_start(a, "CPUNormalization=true,RdtResctrl=false");
    struct reconciler *hooks = reconciler_new(&(struct reconcile_env){ .loop = a->l,
                                                                       .host = host,
                                                                       .snapshots = a->snapshots,
                                                                       .executor = a->executor,
                                                                       .o = &a->o,
                                                                       .topology = acting_topology,
                                                                       .topology_arg = a });
    reconciler_start(hooks);
    reconciler_wake(hooks);
    for (int i = first; i < STEPS; i++) {
        shared->step = i;
        if (i > first) {
            kubelet_step(w, s, i, arena);
            publish(a, w, &s->steps[i]);
        }
        for (int t = 0; t < (i == STEPS - 1 ? SETTLE_SECONDS : STEP_SECONDS); t++) {
            measure(a, &s->steps[i]);
            loop_advance(a->l, SECOND);
        }
    }
    _exit(0); /* what it holds does not matter; how it let go is tested elsewhere */
}

/* The status of waitpid(). */
static int run_agent(struct object_fixture *b, struct machine *w, const struct script *s,
                     struct shared *shared, int first, unsigned kill_at, bool before)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        agent_life(b, w, s, shared, first, kill_at, before);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void dump_dir(struct machine *w, const char *dir, struct strbuf *out)
{
    static const char *const types[] = {
        "cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_burst_us",
        "cpu.idle",   "cpuset.cpus",      "memory.limit_in_bytes"
    };
    enum cgroup_version v = w->model ? w->model->version : CGROUP_V1;
    struct kerr err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
        const struct cgroup_resource *r = cgroup_resource_find(v, types[i], &err);
        cgroup_resource_path(r, v, "", dir, &path);
        int code = w->model
                       ? model_read(w->model, EXECUTOR_CGROUP, strbuf_str(&path), &text)
                       : executor_ops_host.read(w->host, EXECUTOR_CGROUP, strbuf_str(&path), &text);
        const char *value = code < 0 ? strerror(-code) : strbuf_str(&text);
        strbuf_appendf(out, "%s %.*s\n", strbuf_str(&path), (int)strcspn(value, "\n"), value);
    }
}

static void dump(struct machine *w, const struct script *s, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct step *last = &s->steps[STEPS - 1];

    dump_dir(w, cgroup_qos_dir(w->layout, KUBE_QOS_BURSTABLE), out);
    dump_dir(w, cgroup_qos_dir(w->layout, KUBE_QOS_BEST_EFFORT), out);
    for (int p = 0; p < PODS; p++) {
        if (!last->serial[p])
            continue;
        dump_dir(w, pod_dir(w, p, last->serial[p], a), out);
        dump_dir(w, container_dir(w, p, last->serial[p], a), out);
    }
}

/* Line by line; true: there are some. */
static bool show_differences(const char *want, const char *got)
{
    bool any = false;

    while (*want && *got) {
        size_t n = strcspn(want, "\n"), m = strcspn(got, "\n");
        if (n != m || memcmp(want, got, n) != 0) {
            print_error("undisturbed: %.*s\nafter the kill: %.*s\n", (int)n, want, (int)m, got);
            any = true;
        }
        want += n + 1;
        got += m + 1;
    }
    return any || *want || *got;
}

/* ---- one kill -------------------------------------------------------------------------------- */

static void machine_fill(struct machine *w)
{
    make_dir(w, cgroup_kubepods(w->layout));
    make_dir(w, cgroup_qos_dir(w->layout, KUBE_QOS_BURSTABLE));
    make_dir(w, cgroup_qos_dir(w->layout, KUBE_QOS_BEST_EFFORT));
}

static void machine_empty(struct machine *w)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct script none = { 0 };

    kubelet_step(w, &none, 0, a);
    remove_dir(w, cgroup_qos_dir(w->layout, KUBE_QOS_BURSTABLE));
    remove_dir(w, cgroup_qos_dir(w->layout, KUBE_QOS_BEST_EFFORT));
    remove_dir(w, cgroup_kubepods(w->layout));
}

static void kill_once(struct object_fixture *b, struct machine *w, struct shared *shared,
                      uint64_t seed)
{
    CLEANUP(mem_free) struct script *s = xnew0(struct script);
    CLEANUP(strbuf_fini) struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
    uint64_t random = seed * 7919;

    script_make(s, seed);
    machine_fill(w);
    assert_int_equal(run_agent(b, w, s, shared, 0, UINT_MAX, false), 0);
    unsigned writes = shared->writes;
    dump(w, s, &want);
    machine_empty(w);
    assert_that(writes, >, 10);

    machine_fill(w);
    unsigned at = (unsigned)(next_random(&random) % writes);
    int status = run_agent(b, w, s, shared, 0, at, next_random(&random) % 2);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("seed %llu: status %x, not killed at write %u of %u", (unsigned long long)seed,
                 (unsigned)status, at, writes);
    /* Pods and NodeSLO went on meanwhile, or did not. */
    int killed_in = shared->step, first = next_random(&random) % 2 ? killed_in : STEPS - 1;
    assert_int_equal(run_agent(b, w, s, shared, first, UINT_MAX, false), 0);
    dump(w, s, &got);
    machine_empty(w);
    if (show_differences(strbuf_str(&want), strbuf_str(&got)))
        fail_msg("seed %llu, killed at write %u of %u in step %d, started again in step %d, SLO %s",
                 (unsigned long long)seed, at, writes, killed_in, first, s->steps[STEPS - 1].slo);
}

static uint64_t kills = 10, first_seed = 1;

static struct shared *share(void)
{
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s != MAP_FAILED);
    return s;
}

static void on_model(struct object_fixture *b, enum cgroup_version v)
{
    struct shared *shared = share();

    for (uint64_t i = 0; i < kills; i++) {
        struct machine w = { .layout = CGROUP_SYSTEMD, .model = &shared->model, .ncpus = 8 };
        model_init(&shared->model, v, w.ncpus);
        kill_once(b, &w, shared, first_seed + i);
    }
    munmap(shared, sizeof *shared);
}

static void test_killed_on_the_model_of_v1(void **state)
{
    on_model(*state, CGROUP_V1);
}

static void test_killed_on_the_model_of_v2(void **state)
{
    on_model(*state, CGROUP_V2);
}

/* Below a cgroupRoot of the test's own. */
static void test_killed_on_real_cgroups(void **state)
{
    struct host_roots roots = host_roots_default("hostMode");
    CLEANUP(host_free) struct host *host = NULL;
    struct kerr err = { 0 };
    char root[64];

    if (geteuid() != 0 || access("/sys/fs/cgroup/cpu/cpu.shares", W_OK) != 0 ||
        access("/sys/fs/cgroup/cpuset/cpuset.cpus", F_OK) != 0)
        skip();
    assert_int_equal(host_new(&roots, &host, &err), 0);
    snprintf(root, sizeof root, "koord-kill-%d", (int)getpid());
    struct shared *shared = share();
    struct machine w = { .real = true,
                         .layout = host_layout(host, false, root),
                         .host = host,
                         .ncpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) };
    make_dir(&w, root);
    for (uint64_t i = 0; i < kills; i++)
        kill_once(*state, &w, shared, first_seed + i);
    remove_dir(&w, root);
    munmap(shared, sizeof *shared);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_killed_on_the_model_of_v1),
        FIXTURE_TEST(test_killed_on_the_model_of_v2),
        FIXTURE_TEST(test_killed_on_real_cgroups),
    };

    if (getenv("KOORD_TEST_FULL"))
        kills = 100;
    if (argc > 1)
        kills = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
