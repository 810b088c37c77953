/* witness.c - durations of the hooks, and events of what they refuse and make. */
#include "koordlet/hooks/witness.h"

#include "api/protocol/slo.h"
#include "base/klog.h"
#include "base/map.h"
#include "client/events.h"
#include "component/metrics.h"
#include "koordlet/kernel/sysfs.h"
#include "loop/loop.h"

static const double buckets[] = { 0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84 };
static const struct metric_desc invoked_desc = {
    "koordlet_runtime_hook_reconciler_invoked_duration_milliseconds",
    "Time that the reconciler took to ask a hook for a value, in milliseconds.",
    METRIC_HISTOGRAM,
    .labels = { "node", "level", "resource_type", "status" },
    .buckets = buckets,
    .nbuckets = ARRAY_LEN(buckets),
};

enum answer_type { /* fields of an answer */
                   ANSWER_SHARES,
                   ANSWER_QUOTA,
                   ANSWER_LIMIT,
                   ANSWER_CPUSET,
                   ANSWER_BVT,
                   ANSWER_SCHEMATA,
                   ANSWER_TYPES
};
static const enum plan_file answer_files[ANSWER_TYPES] = {
    [ANSWER_SHARES] = PLAN_CPU_SHARES,  [ANSWER_QUOTA] = PLAN_CPU_QUOTA,
    [ANSWER_LIMIT] = PLAN_MEMORY_LIMIT, [ANSWER_CPUSET] = PLAN_CPUSET_CPUS,
    [ANSWER_BVT] = PLAN_CPU_BVT,        [ANSWER_SCHEMATA] = PLAN_RESCTRL_SCHEMATA,
};

struct said { /* about a pod */
    char *text;
    uint32_t round;
    char key[]; /* "Resctrl/<uid>" */
};
struct witness {
    const struct reconcile_env *env;
    struct metric *invoked; /* NULL: none */
    struct histogram *durations[HOOK_LEVELS][ANSWER_TYPES][2];
    struct recorder *recorder; /* made when there is something to say */
    struct map said;
    uint32_t round;
};

struct witness *witness_new(const struct reconcile_env *env)
{
    struct witness *w = xnew0(struct witness);

    w->env = env;
    w->invoked = env->metrics ? metrics_add(env->metrics, &invoked_desc) : NULL;
    return w;
}

static void said_free(struct said *s)
{
    free(s->text);
    free(s);
}

struct witness *witness_free(struct witness *w)
{
    if (!w)
        return NULL;
    map_foreach(&w->said, e)
        said_free(e->value);
    map_fini(&w->said);
    recorder_free(w->recorder);
    free(w);
    return NULL;
}

/* ---- durations ------------------------------------------------------------------------------- */

static void observe(struct witness *w, enum hook_level level, enum answer_type type, nsec_t took,
                    bool failed)
{
    static const char *const levels[HOOK_LEVELS] = { "pod", "container", "sandbox" };
    struct histogram **h = &w->durations[level][type][failed];

    if (!*h)
        *h =
            metric_histogram(w->invoked, METRIC_VALUES(str_or(w->env->node_name, ""), levels[level],
                                                       plan_file_type(answer_files[type]),
                                                       failed ? "failed" : "succeeded"));
    histogram_observe(*h, (double)took / (double)NSEC_PER_MSEC);
}

/* What a plugin is asked for first: without an answer there is nothing else to go by. */
static enum answer_type first_of(const struct hook_plugin *p)
{
    return p == &hook_group_identity      ? ANSWER_BVT
           : p == &hook_cpuset_allocator  ? ANSWER_CPUSET
           : p == &hook_cpu_normalization ? ANSWER_QUOTA
           : p == &hook_resctrl           ? ANSWER_SCHEMATA
                                          : ANSWER_SHARES;
}

void witness_asked(struct witness *w, const struct hook_plugin *plugin, enum hook_level level,
                   const struct hook_resources *a, nsec_t began, bool failed)
{
    const bool set[ANSWER_TYPES] = {
        [ANSWER_SHARES] = a->cpu_shares.set,
        [ANSWER_QUOTA] = a->cfs_quota.set,
        [ANSWER_LIMIT] = a->memory_limit.set,
        [ANSWER_CPUSET] = a->cpuset != NULL,
        [ANSWER_BVT] = a->bvt.set,
        [ANSWER_SCHEMATA] = plugin == &hook_resctrl,
    };

    if (!w->invoked)
        return;
    nsec_t took = loop_stopwatch(w->env->loop) - began;
    if (failed) {
        observe(w, level, first_of(plugin), took, true);
        return;
    }
    for (int i = 0; i < ANSWER_TYPES; i++)
        if (set[i])
            observe(w, level, (enum answer_type)i, took, false);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* false: it was said in the last round too. */
static bool is_news(struct witness *w, const char *about, const struct npod *p, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "%s/%s", about, p->uid);
    struct said *s = map_getz(&w->said, strbuf_str(&key));
    if (!s) {
        s = xcalloc(1, sizeof *s + key.len + 1);
        memcpy(s->key, strbuf_str(&key), key.len);
        map_putz(&w->said, s->key, s);
    }
    bool news = !s->text || !streq(s->text, text);
    if (news) {
        free(s->text);
        s->text = xstrdup(text);
    }
    s->round = w->round;
    return news;
}

static struct recorder *recorder_of(struct witness *w)
{
    const char *node = str_or(w->env->node_name, "");

    if (!w->recorder && w->env->kube)
        w->recorder =
            recorder_new(w->env->kube, &(struct recorder_opts){ .component = "koordlet-runtimehook",
                                                                .instance = node,
                                                                .host = node,
                                                                .queue_max = 256,
                                                                .in_flight = 1 });
    return w->recorder;
}

#define POD_RESCTRL "Pod Level Resctrl" /* upstream's reason */

void witness_refused(struct witness *w, const struct hook_plugin *plugin, const struct npod *p,
                     const struct kerr *err)
{
    if (!is_news(w, plugin->name, p, err->text))
        return;
    KLOG_W("A runtime hook refused a pod", KV_S("err", err->text), KV_S("hook", plugin->name),
           KV_S("namespace", str_or(p->obj->meta.ns, "")), KV_S("pod", p->obj->meta.name));
    if (recorder_of(w))
        recorder_event_on(w->recorder, p->obj, true,
                          plugin == &hook_resctrl ? POD_RESCTRL : "RuntimeHookRefused",
                          plugin->name, "%s leaves the pod as it is: %s", plugin->name, err->text);
}

void witness_resctrl(struct witness *w, const struct npod *p, const char *group)
{
    /* From before a restart it is no news to anybody. */
    if (!is_news(w, "group", p, group) ||
        sysfs_exists(w->env->host->sys_fs_fd, "resctrl/%s", group) || !recorder_of(w))
        return;
    recorder_event_on(w->recorder, p->obj, false, POD_RESCTRL, hook_resctrl.name,
                      "Create Resctrl Group %s", group);
}

/* ---- annotations of the strategies ----------------------------------------------------------- */

static int check_burst(const struct npod *p, struct arena *a, struct kerr *err)
{
    struct cpu_burst_config own;
    return pod_cpu_burst_read(&p->obj->meta.annotations, a, &own, err);
}

static int check_memory(const struct npod *p, struct arena *a, struct kerr *err)
{
    struct pod_memory_qos own;
    return pod_memory_qos_read(&p->obj->meta.annotations, a, &own, err);
}

static int check_disks(const struct npod *p, struct arena *a, struct kerr *err)
{
    struct pod_blkio_qos own;
    return pod_blkio_qos_read(&p->obj->meta.annotations, a, &own, err);
}

static int check_network(const struct npod *p, struct arena *a, struct kerr *err)
{
    struct pod_network_qos own;
    return pod_network_qos_read(&p->obj->meta.annotations, a, &own, err);
}

static int check_oom(const struct npod *p, struct arena *a, struct kerr *err)
{
    const containerlist *l = &npod_pod(p)->spec->containers;
    int64_t score;

    for (uint32_t i = 0; i < l->n; i++)
        if (oom_score_adj(&p->obj->meta.annotations, l->items[i].name, a, &score, err) < 0)
            return err->code;
    return 0;
}

static const struct {
    const char *key;
    enum koordlet_gate gate, or_gate;
    int (*check)(const struct npod *p, struct arena *a, struct kerr *err);
} checks[] = {
    { ANNO_CPU_BURST, GATE_CPU_BURST, GATE_CPU_BURST, check_burst },
    { ANNO_MEMORY_QOS, GATE_CGROUP_RECONCILE, GATE_CGROUP_RECONCILE, check_memory },
    { ANNO_BLKIO_QOS, GATE_BLKIO_RECONCILE, GATE_BLKIO_RECONCILE, check_disks },
    { ANNO_NETWORK_QOS, GATE_TC_NETWORK_QOS, GATE_TERWAY_QOS, check_network },
    { ANNO_OOM_SCORE_ADJ, GATE_OOM_SCORE_ADJ, GATE_OOM_SCORE_ADJ, check_oom },
    { ANNO_OOM_SCORE_ADJ_SPEC, GATE_OOM_SCORE_ADJ, GATE_OOM_SCORE_ADJ, check_oom },
};

static void ignored(struct witness *w, const struct npod *p, const char *key,
                    const struct kerr *err)
{
    if (!is_news(w, key, p, err->text))
        return;
    KLOG_W("Ignored an annotation", KV_S("err", err->text), KV_S("annotation", key),
           KV_S("namespace", str_or(p->obj->meta.ns, "")), KV_S("pod", p->obj->meta.name));
    if (recorder_of(w))
        recorder_event_on(w->recorder, p->obj, true, "AnnotationInvalid", "Configure",
                          "annotation %s is ignored: %s", key, err->text);
}

void witness_annotations(struct witness *w, const struct podset *pods)
{
    const struct gates *g = &w->env->o->gates;
    CLEANUP(arena_free) struct arena *a = arena_new();

    for (uint32_t i = 0; i < pods->n; i++)
        for (size_t k = 0; k < ARRAY_LEN(checks); k++) {
            struct kerr err = { 0 };
            if (!kstrmap_get(&pods->pods[i]->obj->meta.annotations, checks[k].key) ||
                !(gates_on(g, checks[k].gate) || gates_on(g, checks[k].or_gate)))
                continue;
            if (checks[k].check(pods->pods[i], a, &err) < 0)
                ignored(w, pods->pods[i], checks[k].key, &err);
            arena_reset(a);
        }
}

void witness_round(struct witness *w)
{
    struct vec_of(struct said *) over = { 0 };

    map_foreach(&w->said, e)
        if (((struct said *)e->value)->round != w->round)
            vec_push(&over, (struct said *)e->value);
    vec_foreach(&over, i) {
        map_removez(&w->said, over.items[i]->key);
        said_free(over.items[i]);
    }
    vec_fini(&over);
    w->round++;
}
