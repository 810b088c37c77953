/* sim_koordlet.c - an acting koordlet among faults: refused writes, cgroups that vanish, a
 * kubelet that falls silent, evictions that are refused, fail or get lost, NodeSLOs that change,
 * clocks that jump.
 *
 * Whatever happens: nobody is evicted outside the filters of the specification (koordlet-qos 6), no
 * cool-down is broken, the kernel refuses only what the simulation makes it refuse, and when the
 * NodeSLO is switched off, everything is restored.
 *
 * usage: sim_koordlet [SEEDS [FIRST]]        200 seeds, with KOORD_TEST_FULL 2000
 */
#include "base/test/asserts.h"
#include "koordlet/qos/test/acting_fixture.h"

enum { PODS_MAX = 12, STEPS = 180 };

struct sim_pod {
    char name[16];
    unsigned serial; /* of its container */
    bool there, be, enabled, denied;
    int priority;
    double cores, gib;
};
struct sim {
    struct acting a;
    uint64_t seed;
    struct sim_pod pods[PODS_MAX];
    struct vec_of(struct sim_pod) ever; /* a kubelet that is silent has told of some long gone */
    struct kobj *node;
    int64_t threshold; /* of priorities */
    int64_t before;    /* the threshold until then */
    nsec_t changed;    /* when */
    bool silent;       /* the kubelet */
    bool faults;       /* writes may fail */
    bool memory;       /* eviction for memory, else for CPU */
    nsec_t cool;
    nsec_t last, answer; /* the last success; when the last request is answered; monotonic */
    int status;          /* of that answer */
    bool asked, evicted;
    nsec_t off_since; /* the NodeSLO was switched off; INT64_MAX: it is on */
    unsigned evictions;
};

static uint64_t draw(struct sim *s, uint64_t n)
{
    return loop_rand_below(s->a.l, n);
}

static bool chance(struct sim *s, unsigned percent)
{
    return draw(s, 100) < percent;
}

#define CHECK(s, what, ...)                                                       \
    do {                                                                          \
        if (!(what)) {                                                            \
            char text_[512];                                                      \
            snprintf(text_, sizeof text_, __VA_ARGS__);                           \
            fail_msg("seed %llu, second %lld: %s", (unsigned long long)(s)->seed, \
                     (long long)(loop_mono((s)->a.l) / SECOND), text_);           \
        }                                                                         \
    } while (0)

/* ---- pods ------------------------------------------------------------------------------------ */

static const char *pod_dir(const struct sim_pod *p, struct arena *a)
{
    return arena_printf(a, p->be ? BE_DIR("%s") : BURSTABLE_DIR("%s"), p->name);
}

static const char *container_dir(const struct sim_pod *p, struct arena *a)
{
    return arena_printf(a, "%s/cri-containerd-%s%u.scope", pod_dir(p, a), p->name, p->serial);
}

static void pod_json(const struct sim_pod *p, struct strbuf *out)
{
    strbuf_appendf(
        out,
        "%s{'metadata':{'name':'%s','namespace':'d','uid':'%s','labels':{'koordinator.sh/qosClass':"
        "'%s','koordinator.sh/eviction-enabled':'%s'},'annotations':{%s}},'spec':{'priority':%d,"
        "'containers':[{'name':'c','resources':{%s}}]},'status':{'phase':'Running',"
        "'containerStatuses':[{'name':'c','containerID':'containerd://%s%u','state':{'running':{}}"
        "}]}}",
        out->len > 1 ? "," : "", p->name, p->name, p->be ? "BE" : "LS",
        p->enabled ? "true" : "false", p->denied ? "'koordinator.sh/eviction-policy':'[]'" : "",
        p->priority,
        p->be ? "'requests':{'kubernetes.io/batch-cpu':'1000'}"
              : "'limits':{'cpu':'1'},'requests':{'cpu':'500m'}",
        p->name, p->serial);
}

static void add_pod(struct sim *s, unsigned i)
{
    struct sim_pod *p = &s->pods[i];

    *p = (struct sim_pod){ .there = true,
                           .be = chance(s, 60),
                           .enabled = chance(s, 50),
                           .denied = chance(s, 10),
                           .serial = p->serial + 1,
                           .priority = (int)(3000 + draw(s, 7000)),
                           .cores = (double)draw(s, 2000) / 1000,
                           .gib = (double)(1 + draw(s, 6)) };
    snprintf(p->name, sizeof p->name, "p%ux%u", i, p->serial);
    int pod = model_mkdir(&s->a.model, pod_dir(p, s->a.b->arena));
    int container = model_mkdir(&s->a.model, container_dir(p, s->a.b->arena));
    if (!p->be) /* as the kubelet sets them */
        s->a.model.dirs[pod].quota = s->a.model.dirs[container].quota = 100000;
    vec_push(&s->ever, *p);
}

/* The kernel knows at once, the kubelet's list later. */
static void remove_pod(struct sim *s, unsigned i)
{
    struct sim_pod *p = &s->pods[i];

    if (!p->there)
        return;
    p->there = false;
    model_rmdir(&s->a.model, container_dir(p, s->a.b->arena));
    model_rmdir(&s->a.model, pod_dir(p, s->a.b->arena));
}

static const struct sim_pod *find_pod(const struct sim *s, const char *name)
{
    vec_foreach(&s->ever, i)
        if (streq(s->ever.items[i].name, name))
            return &s->ever.items[i];
    return NULL;
}

static void publish_pods(struct sim *s)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    if (s->silent)
        return;
    strbuf_appendn(&json, "[", 1);
    for (unsigned i = 0; i < PODS_MAX; i++)
        if (s->pods[i].there)
            pod_json(&s->pods[i], &json);
    strbuf_appendn(&json, "]", 1);
    snapshots_set_pods(s->a.snapshots, pods_of(s->a.b, strbuf_str(&json)));
}

/* ---- NodeSLO --------------------------------------------------------------------------------- */

static void publish_slo(struct sim *s, bool enabled)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct arena *a = arena_new();
    struct nodeslo_spec *spec = arena_new0(a, struct nodeslo_spec);
    struct kerr why[NODESLO_SECTIONS] = { 0 };

    s->before = s->threshold;
    s->changed = loop_mono(s->a.l);
    s->threshold = (int64_t)(4000 + draw(s, 5000));
    CLEANUP(mem_free)
    char *json =
        xasprintf("{'resourceUsedThresholdWithBE':{'enable':%s,'cpuSuppressPolicy':'%s',"
                  "'cpuSuppressThresholdPercent':%d,'memoryEvictThresholdPercent':%d,"
                  "'cpuEvictThresholdPercent':%d,'evictEnabledPriorityThreshold':%lld,"
                  "'cpuEvictTimeWindowSeconds':10},'cpuBurstStrategy':{'policy':'%s'}}",
                  enabled ? "true" : "false", chance(s, 50) ? "cfsQuota" : "cpuset",
                  (int)(40 + draw(s, 50)), (int)(30 + draw(s, 60)), (int)(40 + draw(s, 50)),
                  (long long)s->threshold, chance(s, 50) ? "auto" : "none");
    doc = fixture_doc(json);
    assert_int_equal(nodeslo_merge(kj_root(doc), NULL, a, spec, why), 0);
    snapshots_set_nodeslo(s->a.snapshots, spec, a);
    s->off_since = enabled ? INT64_MAX : loop_mono(s->a.l);
}

/* ---- evictions ------------------------------------------------------------------------------- */

/* A run may be under way with the NodeSLO that stood when it began. */
static bool may_go(const struct sim *s, const struct sim_pod *p)
{
    bool fresh = loop_mono(s->a.l) - s->changed <= 3 * SECOND;
    int64_t threshold = fresh ? MAX(s->threshold, s->before) : s->threshold;

    return !p->denied && ((s->memory && p->be) || (p->enabled && p->priority <= threshold));
}

static int on_evict(void *arg, const char *name, nsec_t *ret_delay)
{
    static const int statuses[] = { 201, 201, 201, 201, 429, 500, 404, 0 };
    struct sim *s = arg;
    const struct sim_pod *p = find_pod(s, name);
    nsec_t now = loop_mono(s->a.l);
    bool same_run = s->asked && now == s->answer && s->status != 0;

    CHECK(s, p, "%s is evicted and never was", name);
    CHECK(s, may_go(s, p), "%s is evicted against the filters", name);
    CHECK(s, s->off_since == INT64_MAX || now - s->off_since <= 3 * SECOND,
          "%s is evicted long after the NodeSLO was switched off", name);
    if (!same_run)
        CHECK(s, (!s->evicted && s->memory) || now - s->last >= s->cool,
              "%s is evicted %lld ms after the last", name,
              (long long)((now - s->last) / NSEC_PER_MSEC));
    *ret_delay = (nsec_t)(1 + draw(s, 200)) * NSEC_PER_MSEC;
    s->status = statuses[draw(s, ARRAY_LEN(statuses))];
    s->answer = now + *ret_delay;
    s->asked = true;
    if (s->status == 201 || s->status == 404) {
        s->evicted = true;
        s->last = s->answer;
        s->evictions++;
    }
    return s->status;
}

/* ---- one second ------------------------------------------------------------------------------ */

static void measure(struct sim *s)
{
    double cores = 0.5, gib = 4;

    for (unsigned i = 0; i < PODS_MAX; i++) {
        const struct sim_pod *p = &s->pods[i];
        char id[40];
        if (!p->there)
            continue;
        cores += p->cores, gib += p->gib;
        acting_put(&s->a, M_POD_CPU, p->name, p->cores);
        acting_put(&s->a, M_POD_MEMORY, p->name, p->gib * (double)GI);
        snprintf(id, sizeof id, "containerd://%s%u", p->name, p->serial);
        acting_put(&s->a, M_CONTAINER_CPU, id, p->cores);
        acting_put(&s->a, M_CONTAINER_THROTTLED, id, chance(s, 30) ? 0.5 : 0);
    }
    if (chance(s, 95)) { /* now and then a sample is missing */
        acting_put(&s->a, M_NODE_CPU, NULL, MIN(cores, 8.0));
        acting_put(&s->a, M_NODE_MEMORY, NULL, gib * (double)GI);
    }
}

static void disturb(struct sim *s)
{
    unsigned i = (unsigned)draw(s, PODS_MAX);

    if (chance(s, 20) && s->pods[i].there)
        s->pods[i].cores = (double)draw(s, 3000) / 1000;
    if (chance(s, 15)) {
        if (s->pods[i].there)
            remove_pod(s, i);
        else
            add_pod(s, i);
    }
    if (chance(s, 5))
        s->silent = !s->silent;
    if (chance(s, 60))
        publish_pods(s);
    if (chance(s, 4))
        publish_slo(s, chance(s, 70));
    if (chance(s, 2)) {
        nsec_t wall = loop_wall(s->a.l) + ((nsec_t)draw(s, 7200) - 3600) * SECOND;
        loop_set_wall(s->a.l, wall);
        metriccache_rewind(s->a.mc, wall / NSEC_PER_MSEC);
    }
    /* Writes below a class fail for a while. */
    if (s->faults && chance(s, 5)) {
        s->a.model.fail_path = chance(s, 50) ? "besteffort" : "burstable";
        static const int codes[] = { -EINVAL, -EACCES, -EBUSY, -ENOSPC, -EROFS };
        s->a.model.fail_code = codes[draw(s, ARRAY_LEN(codes))];
    } else if (chance(s, 30)) {
        s->a.model.fail_path = NULL;
    }
}

static void second(struct sim *s)
{
    unsigned refused = s->a.model.refused;

    loop_advance(s->a.l, SECOND - 2 * NSEC_PER_MSEC);
    measure(s);
    loop_advance(s->a.l, 2 * NSEC_PER_MSEC);
    /* After a fault the files are in a state of their own, and a refusal tells of it. */
    CHECK(s, s->faults || s->a.model.refused == refused, "the kernel refused: %.400s",
          s->a.model.log);
    s->a.model.log[0] = '\0';
    arena_reset(s->a.b->arena);
}

/* ---- invariants ------------------------------------------------------------------------------ */

static void check_tree(struct sim *s)
{
    for (int i = 0; i < MODEL_DIRS; i++) {
        const struct model_dir *d = &s->a.model.dirs[i];
        if (!d->there || d->parent < 0)
            continue;
        const struct model_dir *up = &s->a.model.dirs[d->parent];
        CHECK(s, d->cpus != 0, "%s has no CPUs", d->path);
        /* What a v2 child may not have does not count. */
        CHECK(s, s->a.host.version == CGROUP_V2 || (d->cpus & ~up->cpus) == 0,
              "%s has CPUs that its parent lacks", d->path);
    }
}

/* All faults are over and the NodeSLO is off: nothing of ours is left. */
static void check_restored(struct sim *s)
{
    const struct model_dir *class = acting_dir(&s->a, CLASS_BE);

    CHECK(s, class->quota == -1, "the quota of best effort is %lld", (long long)class->quota);
    CHECK(s, class->cpus == 0xff, "the CPUs of best effort are %llx",
          (unsigned long long)class->cpus);
    for (unsigned i = 0; i < PODS_MAX; i++) {
        const struct sim_pod *p = &s->pods[i];
        if (!p->there)
            continue;
        const struct model_dir *c = acting_dir(&s->a, container_dir(p, s->a.b->arena));
        CHECK(s, !p->be || c->cpus == 0xff, "the CPUs of %s are %llx", p->name,
              (unsigned long long)c->cpus);
        CHECK(s, p->be || c->quota == 100000, "the quota of %s is %lld", p->name,
              (long long)c->quota);
        CHECK(s, p->be || c->burst == 0, "the burst of %s is %lld", p->name, (long long)c->burst);
    }
}

/* ---- a life ---------------------------------------------------------------------------------- */

static void sim_init(struct sim *s, struct object_fixture *b, uint64_t seed)
{
    *s = (struct sim){ .seed = seed, .off_since = 0 };
    acting_init(&s->a, b, seed % 3 == 0 ? CGROUP_V2 : CGROUP_V1, seed);
    s->a.on_evict = on_evict;
    s->a.on_evict_arg = s;
    s->memory = seed % 2;
    s->faults = seed % 4 < 2;
    s->cool = s->memory ? 4 * SECOND : 20 * SECOND;
    s->node = fixture_object(b, &kind_node,
                             "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'8','memory':"
                             "'32Gi'},'allocatable':{'cpu':'8','memory':'32Gi'}}}");
    snapshots_set_node(s->a.snapshots, s->node);
    publish_slo(s, false);
    publish_pods(s);
    acting_start(&s->a, s->memory ? "BEMemoryEvict=true,MemoryEvict=true,RdtResctrl=false"
                                  : "CPUEvict=true,RdtResctrl=false");
}

static void sim_fini(struct sim *s)
{
    acting_fini(&s->a);
    kobj_unref(s->node);
    vec_fini(&s->ever);
}

static unsigned live(struct object_fixture *b, uint64_t seed)
{
    CLEANUP(mem_free) struct sim *s = xnew0(struct sim);

    sim_init(s, b, seed);
    for (int i = 0; i < STEPS; i++) {
        disturb(s);
        second(s);
        check_tree(s);
    }
    s->a.model.fail_path = NULL;
    s->silent = false;
    publish_slo(s, false);
    /* Without burst too. */
    struct arena *a = arena_new();
    struct nodeslo_spec *spec = arena_new0(a, struct nodeslo_spec);
    struct kerr why[NODESLO_SECTIONS] = { 0 };
    nodeslo_merge(NULL, NULL, a, spec, why);
    snapshots_set_nodeslo(s->a.snapshots, spec, a);
    publish_pods(s);
    for (int i = 0; i < 90; i++) /* the longest back-off is a minute */
        second(s);
    check_restored(s);
    unsigned evictions = s->evictions;
    sim_fini(s);
    return evictions;
}

static uint64_t seeds = 200, first = 1;

static void test_faults_of_all_kinds(void **state)
{
    unsigned evictions = 0;

    for (uint64_t i = first; i < first + seeds; i++)
        evictions += live(*state, i);
    print_message("sim_koordlet: %llu seeds, %u evictions\n", (unsigned long long)seeds, evictions);
    assert_that(evictions, >, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { FIXTURE_TEST(test_faults_of_all_kinds) };

    if (getenv("KOORD_TEST_FULL"))
        seeds = 2000;
    if (argc > 1)
        seeds = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
