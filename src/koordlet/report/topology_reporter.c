/* topology_reporter.c - NodeResourceTopology, when something of it changed. */
#include "base/map.h"
#include "client/informer.h"
#include "koordlet/collect/collect.h"
#include "koordlet/report/pool_gauges.h"
#include "koordlet/report/reporter.h"
#include "loop/loop.h"
#include "sys/file.h"

enum { STATE_FILE_MAX = 1 << 20, VERSION_MAX = 64 };

struct inputs { /* what the local copy was made of; references are held */
    struct podset *pods;
    struct cpu_info *cpu;
    struct numa_info *numa;
    char node_version[VERSION_MAX];
    uint64_t kubelet;    /* fingerprint of its configuration */
    uint64_t state_file; /* stamp of its checkpoint */
};

struct topology_reporter {
    struct reporter r;
    struct informer *objects; /* NULL: local only */
    char *selector, *state_path;
    struct inputs seen;
    bool seen_valid;
    struct arena *arena; /* of local; NULL: none yet */
    struct topology local;
    struct pool_gauges gauges;
    uint64_t generation; /* of local */
    /* The stored version that was compared with, or patched to, this generation: nothing to do. */
    uint64_t settled_generation;
    char settled_version[VERSION_MAX], sent_version[VERSION_MAX];
};

/* ---- inputs ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, const char *s)
{
    s = str_or(s, "");
    return (h ^ hash_stable(s, strlen(s))) * UINT64_C(0x100000001b3) + 1;
}

static uint64_t mix_map(uint64_t h, const kstrmap *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        h = mix(mix(h, m->items[i].key), m->items[i].value);
    return mix(h, "");
}

static uint64_t fingerprint(const struct kubelet_config *k)
{
    uint64_t h = 1;

    if (!k)
        return 0;
    h = mix(mix(mix(mix(h, k->cpu_manager_policy), k->reserved_system_cpus), k->topology_policy),
            k->topology_scope);
    return mix_map(mix_map(mix_map(h, &k->cpu_manager_options), &k->kube_reserved),
                   &k->system_reserved);
}

static bool is_static(const struct kubelet_config *k)
{
    return k && streq(str_or(k->cpu_manager_policy, ""), "static");
}

/* Two sets of the same pods: one that did not change is the same struct in both. */
static bool same_pods(const struct podset *a, const struct podset *b)
{
    return a == b ||
           (a && b && a->n == b->n && memcmp(a->pods, b->pods, a->n * sizeof *a->pods) == 0);
}

static bool same_inputs(const struct inputs *a, const struct inputs *b)
{
    return same_pods(a->pods, b->pods) && a->cpu == b->cpu && a->numa == b->numa &&
           a->kubelet == b->kubelet && a->state_file == b->state_file &&
           streq(a->node_version, b->node_version);
}

static void copy_version(char *to, const char *version)
{
    size_t n = strlen(version);
    n = MIN(n, (size_t)VERSION_MAX - 1);
    memcpy(to, version, n);
    to[n] = '\0';
}

static void inputs_release(struct inputs *i)
{
    podset_unref(i->pods);
    cpu_info_unref(i->cpu);
    numa_info_unref(i->numa);
}

/* false: something is not there yet. */
static bool inputs_look(struct topology_reporter *tr, struct inputs *ret)
{
    const struct report_env *e = tr->r.env;
    const struct node *n = snapshots_get(e->snapshots)->node;
    const struct kubelet_config *k = snapshots_get(e->snapshots)->kubelet;

    *ret = (struct inputs){ .pods = snapshots_get(e->snapshots)->pods,
                            .cpu = e->collect->cpu_info,
                            .numa = e->collect->numa_info,
                            .kubelet = fingerprint(k),
                            .state_file = is_static(k) ? file_stamp(AT_FDCWD, tr->state_path) : 0 };
    if (!n)
        reporter_miss(&tr->r, "no Node object yet");
    else if (!ret->pods)
        reporter_miss(&tr->r, "no pods from the kubelet yet");
    else if (!ret->cpu || !ret->numa)
        reporter_miss(&tr->r, "the CPUs of this node are not known yet");
    else if (!k && !e->o->disable_kubelet_config)
        reporter_miss(&tr->r, "no configuration from the kubelet yet");
    else
        return copy_version(ret->node_version, str_or(n->obj.meta.resource_version, "")), true;
    return false;
}

static void inputs_keep(struct topology_reporter *tr, const struct inputs *now)
{
    struct inputs old = tr->seen;

    tr->seen = *now;
    podset_ref(tr->seen.pods);
    cpu_info_ref(tr->seen.cpu);
    numa_info_ref(tr->seen.numa);
    inputs_release(&old);
    tr->seen_valid = true;
}

/* ---- the local copy -------------------------------------------------------------------------- */

static int read_state_file(struct topology_reporter *tr, struct arena *a, struct str *ret,
                           struct kerr *err)
{
    int r = file_read_arena(AT_FDCWD, tr->state_path, STATE_FILE_MAX, a, ret, err);
    if (r == -ENOENT)
        *ret = (struct str){ "", 0 };
    return r == -ENOENT ? 0 : r;
}

static int compute(struct topology_reporter *tr, const struct inputs *now, struct arena *a,
                   struct topology *ret, struct kerr *err)
{
    const struct report_env *e = tr->r.env;
    struct topology_in in = { .cpu = now->cpu,
                              .numa = now->numa,
                              .node = snapshots_get(e->snapshots)->node,
                              .pods = now->pods };

    if (!e->o->disable_kubelet_config)
        in.kubelet = snapshots_get(e->snapshots)->kubelet;
    if (is_static(in.kubelet)) {
        int r = read_state_file(tr, a, &in.cpu_manager_state, err);
        if (r < 0)
            return r;
    }
    return topology_compute(&in, a, ret, err);
}

static int update_local(struct topology_reporter *tr, const struct inputs *now, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct topology t;

    int r = compute(tr, now, a, &t, err);
    if (r < 0)
        return r;
    inputs_keep(tr, now);
    if (tr->arena && topology_equal(&tr->local, &t))
        return 0;
    struct arena *old = tr->arena;
    tr->arena = take(a);
    tr->local = t;
    tr->generation++;
    arena_free(old);
    pool_gauges_set(&tr->gauges, tr->r.env->node_name, &tr->local);
    snapshots_tell(tr->r.env->snapshots, STATES_TOPOLOGY);
    return 0;
}

/* ---- the stored object ----------------------------------------------------------------------- */

static void create(struct topology_reporter *tr)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    topology_object(&tr->local, snapshots_get(tr->r.env->snapshots)->node, &body);
    tr->sent_version[0] = '\0';
    reporter_send(&tr->r,
                  (struct kube_req){ .verb = KUBE_CREATE, .kind = &kind_noderesourcetopology },
                  &body);
}

static void patch(struct topology_reporter *tr, const struct noderesourcetopology *stored)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    topology_patch(&tr->local, stored, &body);
    copy_version(tr->sent_version, stored->obj.meta.resource_version);
    reporter_send(&tr->r,
                  (struct kube_req){ .verb = KUBE_PATCH,
                                     .kind = &kind_noderesourcetopology,
                                     .patch = KUBE_PATCH_MERGE },
                  &body);
}

static void settle(struct topology_reporter *tr, const char *version)
{
    tr->settled_generation = tr->generation;
    copy_version(tr->settled_version, version);
}

static void update_stored(struct topology_reporter *tr)
{
    struct kobj *o = informer_get(tr->objects, tr->r.env->node_name);
    const struct noderesourcetopology *stored = o ? noderesourcetopology_of(o) : NULL;

    if (!stored) {
        create(tr);
        return;
    }
    const char *version = o->meta.resource_version;
    bool settled = tr->settled_generation == tr->generation && streq(tr->settled_version, version);
    if (!settled && topology_differs(&tr->local, stored)) {
        patch(tr, stored);
        return;
    }
    settle(tr, version);
    reporter_well(&tr->r);
    reporter_rest(&tr->r);
}

static void run(void *arg)
{
    struct topology_reporter *tr = arg;
    struct inputs now;
    struct kerr err = { 0 };

    bool known = inputs_look(tr, &now);
    if (known && !(tr->seen_valid && same_inputs(&tr->seen, &now))) {
        known = update_local(tr, &now, &err) == 0;
        if (!known) {
            tr->seen_valid = false;
            reporter_complain(&tr->r, &err);
        }
    }
    if (!known) {
        reporter_rest(&tr->r);
    } else if (!tr->objects) {
        reporter_well(&tr->r);
        reporter_rest(&tr->r);
    } else if (!informer_synced(tr->objects)) {
        reporter_miss(&tr->r, "NodeResourceTopologies are not listed yet: %s",
                      str_or(informer_problem(tr->objects), "no answer"));
        reporter_rest(&tr->r);
    } else {
        update_stored(tr);
    }
}

static bool done(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct topology_reporter *tr = arg;

    (void)resp;
    if (err)
        return err->reason == KR_ALREADY_EXISTS; /* the watch will bring it */
    if (tr->sent_version[0])
        settle(tr, tr->sent_version); /* until the watch tells of the new version */
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct topology_reporter *topology_reporter_new(const struct report_env *env)
{
    static const struct reporter_ops ops = { "NodeResourceTopology", run, done };
    struct topology_reporter *tr = xnew0(struct topology_reporter);

    reporter_init(&tr->r, env, &ops, tr);
    tr->r.rest = env->o->topology_interval;
    pool_gauges_init(&tr->gauges, env->internal, gates_on(&env->o->gates, GATE_PER_CPU_METRIC));
    tr->selector = xasprintf("metadata.name=%s", env->node_name);
    tr->state_path = xasprintf("%s/cpu_manager_state", env->host->roots.var_lib_kubelet);
    if (gates_on(&env->o->gates, GATE_NODE_TOPOLOGY_REPORT) && env->o->topology_interval > 0)
        tr->objects =
            informer_new(env->kube, &(struct informer_opts){ .kind = &kind_noderesourcetopology,
                                                             .field_selector = tr->selector });
    return tr;
}

struct topology_reporter *topology_reporter_free(struct topology_reporter *tr)
{
    if (!tr)
        return NULL;
    reporter_fini(&tr->r);
    informer_free(tr->objects);
    inputs_release(&tr->seen);
    arena_free(tr->arena);
    free(tr->selector);
    free(tr->state_path);
    free(tr);
    return NULL;
}

void topology_reporter_start(struct topology_reporter *tr)
{
    nsec_t interval = tr->r.env->o->topology_interval;

    if (interval <= 0)
        return;
    if (tr->objects)
        informer_start(tr->objects);
    reporter_after(&tr->r, (nsec_t)loop_rand_below(tr->r.env->loop, (uint64_t)interval));
}

const char *topology_reporter_missing(const struct topology_reporter *tr)
{
    return tr->r.missing[0] ? tr->r.missing : NULL;
}

const struct topology *topology_reporter_local(const struct topology_reporter *tr)
{
    return tr->arena ? &tr->local : NULL;
}
