/* sim_dra.c - ResourceClaims in a whole cluster on the virtual loop: the embedded API server, the
 * claim controller, hollow nodes, two schedulers with a lease; drivers whose slices change
 * generation, vanish and come in pieces; pods and claims that come and go in every way; lost, late
 * and repeated requests, watches that lag and break; programs that die between any two writes.
 * In half of the runs one feature of devices that is off by default is on.
 *
 *     sim_dra [FIRST [COUNT]]     a run is its seed: 500 of them, with KOORD_TEST_FULL 10000
 */
#include "sim_dra.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/core.h"
#include "base/arena.h"
#include "base/map.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "sim_seeds.h"

#define LATE_MAX (3 * SEC) /* requests and events, at most */
#define LEASE    (8 * SEC) /* from the end of a leader to the next */
#define QUIET    (150 * SEC)
enum { STEPS = 40, SEEDS = 500, SEEDS_FULL = 10000, SHARED = 40 };
/* They found faults that nothing smaller shows: a dead scheduler's nomination kept others out, a
 * claim outlived its pod, which had gone while the controllers began anew, a claim that was
 * reserved for several pods was of no use to any of them, and a pod that a hollow node had refused
 * began again on it after a restart. */
static const uint64_t past[] = { 4493, 5664, 4514, 6932 };

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },     { &ks_plugin_node_unschedulable, 0, true },
    { &ks_plugin_taint_toleration, 3, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_dynamic_resources, 2, true }, { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },    { NULL, 0, false },
};

#define IS_GPU   "device.driver == 'gpu.sim'"
#define MODEL(x) "device.attributes['gpu.sim'].model == '" x "'"
const struct known_selector known_selectors[] = {
    { IS_GPU, GPU_DRIVER, NULL },
    { "device.driver == 'net.sim'", NET_DRIVER, NULL },
    { IS_GPU " && " MODEL("a"), GPU_DRIVER, "a" },
    { IS_GPU " && " MODEL("b"), GPU_DRIVER, "b" },
    { MODEL("a"), NULL, "a" },
    { MODEL("b"), NULL, "b" },
    { NULL, NULL, NULL },
};

void dra_die(const struct dra_sim *d, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "seed %llu, step %d, at %.1f s: ", (unsigned long long)d->seed, d->step,
            (double)loop_mono(d->s.loop) / NSEC_PER_SEC);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    abort();
}

/* ' stands for ", ` for '. */
static int create(struct dra_sim *d, const char *fmt, ...) PRINTF(2, 3);
static int create(struct dra_sim *d, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&b, fmt, ap);
    va_end(ap);
    for (char *p = b.data; *p; p++)
        *p = *p == '\'' ? '"' : *p == '`' ? '\'' : *p;
    int status = sim_create(&d->s, strbuf_str(&b));
    if (status != 201 && status != 409)
        dra_die(d, "create: %d: %s", status, strbuf_str(&b));
    return status;
}

/* ---- classes, templates, claims ---------------------------------------------------------------- */

static void put_class(struct dra_sim *d, const char *name, const char *selector)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)sim_delete(&d->s, &kind_device_class, NULL, name, NULL);
    strbuf_appendf(&b,
                   "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\",\"metadata\":{"
                   "\"name\":\"%s\"},\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"%s\"}}]}}",
                   name, selector);
    if (sim_create(&d->s, strbuf_str(&b)) != 201)
        dra_die(d, "class %s", strbuf_str(&b));
}

static void new_classes(struct dra_sim *d)
{
    put_class(d, "gpu", known_selectors[0].expression);
    put_class(d, "net", known_selectors[1].expression);
    put_class(d, "some", known_selectors[2 + below(d, 2)].expression);
}

/* What a claim may ask for: every kind of request, alone and together. */
#define ONE(name, class, more) \
    "{'name':'" name "','exactly':{'deviceClassName':'" class "'" more "}}"
#define SEL(x) \
    ",'selectors':[{'cel':{'expression':'device.attributes[`gpu.sim`].model == `" x "`'}}]"
#define ALL                    ",'allocationMode':'All'"
#define ADMIN                  ",'adminAccess':true"
#define NEAR                   "],'constraints':[{'matchAttribute':'gpu.sim/numa'}"
#define SUB(name, class, more) "{'name':'" name "','deviceClassName':'" class "'" more "}"
#define FIRST(list)            "{'name':'f','firstAvailable':[" list "]}"
static const char *const specs[TEMPLATES] = {
    ONE("r", "gpu", ""),
    ONE("r", "gpu", ",'count':2"),
    ONE("r", "gpu", SEL("a")),
    ONE("r", "gpu", SEL("b")),
    ONE("r", "net", ""),
    ONE("r", "some", ""),
    ONE("r", "gpu", ",'count':2") NEAR,
    ONE("r", "gpu", SEL("a")) "," ONE("q", "gpu", "") NEAR,
    ONE("r", "gpu", "") "," ONE("n", "net", ""),
    ONE("r", "gpu", ALL),
    ONE("r", "gpu", ADMIN),
    ONE("r", "gpu", ALL ADMIN),
    FIRST(SUB("s0", "gpu", ",'count':3") "," SUB("s1", "gpu",
                                                 ",'count':2" SEL("a")) "," SUB("s2", "net", "")),
    FIRST(SUB("s0", "some", ",'count':2") "," SUB("s1", "gpu", ALL)) "," ONE("n", "net", ""),
};

/* What makes use of a gate. */
#define TOLERATIONS(x) ",'tolerations':[{" x "}]"
#define TAKES(x)       ",'capacity':{'requests':{" x "}}"
#define APART          "],'constraints':[{'distinctAttribute':'gpu.sim/numa'}"
static const char *const partitioned[GATED_TEMPLATES] = {
    ONE("r", "net", ",'count':2"),
    ONE("r", "gpu", ",'count':3"),
    ONE("r", "net", "") "," ONE("q", "net", ""),
    FIRST(SUB("s0", "gpu", ",'count':3") "," SUB("s1", "net", "")),
};
#define BY_VALUE "'key':'sim/broken','operator':'Equal','value':'yes','effect':'NoExecute'"
static const char *const tolerant[GATED_TEMPLATES] = {
    ONE("r", "gpu", TOLERATIONS("'key':'sim/worn','operator':'Exists'")),
    ONE("r", "gpu", ALL TOLERATIONS("'operator':'Exists'")),
    ONE("r", "net", TOLERATIONS(BY_VALUE)),
    FIRST(SUB("s0", "gpu", ",'count':3") "," SUB("s1", "gpu", TOLERATIONS("'operator':'Exists'"))),
};
static const char *const sharing[GATED_TEMPLATES] = {
    ONE("r", "gpu", TAKES("'memory':'2'")),
    ONE("r", "gpu", ",'count':2" TAKES("'memory':'5'")),
    ONE("r", "net", TAKES("'rate':'2'")) "," ONE("q", "net", ""),
    ONE("r", "gpu", TAKES("'memory':'1'")) "," ONE("q", "gpu", TAKES("'memory':'6'")) APART,
};
static const char *const attached[GATED_TEMPLATES] = {
    ONE("r", "gpu", ",'count':3"),
    ONE("r", "net", ""),
    ONE("r", "net", ",'count':2"),
    FIRST(SUB("s0", "gpu", ",'count':4") "," SUB("s1", "gpu", ",'count':3")),
};
static const char *const *const gated_specs[SIM_GATES] = {
    [PARTITIONS] = partitioned, [TAINTS] = tolerant,     [TAINT_RULES] = tolerant,
    [CAPACITY] = sharing,       [CONDITIONS] = attached,
};

static unsigned templates(const struct dra_sim *d)
{
    return TEMPLATES + (d->gate ? GATED_TEMPLATES : 0);
}

static const char *spec_number(const struct dra_sim *d, unsigned i)
{
    return i < TEMPLATES ? specs[i] : gated_specs[d->gate][i - TEMPLATES];
}

static void new_templates(struct dra_sim *d)
{
    for (unsigned i = 0; i < templates(d); i++)
        (void)create(d,
                     "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaimTemplate','metadata':"
                     "{'name':'t%u'},'spec':{'spec':{'devices':{'requests':[%s]}}}}",
                     i, spec_number(d, i));
}

/* Claims that pods share; one that is there stays. */
static void new_claim(struct dra_sim *d, unsigned number)
{
    (void)create(d,
                 "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':{'name':"
                 "'c%u'},'spec':{'devices':{'requests':[%s]}}}",
                 number, spec_number(d, below(d, templates(d))));
}

static void delete_claim(struct dra_sim *d)
{
    char name[16];

    (void)snprintf(name, sizeof name, "c%u", below(d, CLAIMS));
    (void)sim_delete(&d->s, &kind_resource_claim, "default", name, NULL);
}

/* Somebody writes something else into a claim: versions are old at once. */
static void touch_claims(struct dra_sim *d)
{
    struct vec_of(char *) names = { 0 };
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(d->claims, &it));)
        if (chance(d, 30))
            vec_push(&names, xstrdup(o->meta.name));
    vec_foreach(&names, i) {
        (void)sim_patch(&d->s, &kind_resource_claim, "default", names.items[i], NULL,
                        "{\"metadata\":{\"labels\":{\"touched\":\"yes\"}}}");
        free(names.items[i]);
    }
    vec_fini(&names);
}

/* ---- pods ------------------------------------------------------------------------------------- */

static void append_entries(struct dra_sim *d, struct strbuf *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bool shared = chance(d, 30);
        strbuf_appendf(b, "%s{'name':'e%u','%s':'%s%u'}", i ? "," : "", i,
                       shared ? "resourceClaimName" : "resourceClaimTemplateName",
                       shared ? "c" : "t", below(d, shared ? CLAIMS : templates(d)));
    }
}

static void put_pod(struct dra_sim *d, int number)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    unsigned entries = chance(d, 5) ? 0 : 1 + below(d, 2);

    strbuf_appendf(&b,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p%d','annotations':{"
                   "'sim.koordinator.sh/run':'%us'}},'spec':{'schedulerName':'koord-scheduler',"
                   "'restartPolicy':'Never','terminationGracePeriodSeconds':%u,"
                   "'containers':[{'name':'c','image':'i','resources':{'claims':[",
                   number, chance(d, 50) ? 3 + below(d, 30) : 100000, below(d, 4));
    for (unsigned i = 0; i < entries; i++)
        strbuf_appendf(&b, "%s{'name':'e%u'}", i ? "," : "", i);
    strbuf_append(&b, "]}}],'resourceClaims':[");
    append_entries(d, &b, entries);
    strbuf_append(&b, "]}}");
    (void)create(d, "%s", strbuf_str(&b));
}

static void new_pods(struct dra_sim *d)
{
    for (unsigned n = 1 + below(d, 3); n; n--)
        put_pod(d, d->npods++);
}

/* It goes in time, by force, or another of its name comes at once. */
static void delete_pod(struct dra_sim *d)
{
    int number = (int)below(d, (unsigned)d->npods + 1);
    bool force = chance(d, 40);
    char name[16];

    (void)snprintf(name, sizeof name, "p%d", number);
    (void)sim_delete(&d->s, &kind_pod, "default", name,
                     force ? "{\"gracePeriodSeconds\":0}" : NULL);
    d->n.forced += force;
    if (chance(d, 30))
        put_pod(d, number);
}

/* ---- programs --------------------------------------------------------------------------------- */

static void set_faults(struct dra_sim *d, struct kube *link, unsigned level)
{
    struct net_faults f = { 0 };

    if (level)
        f = (struct net_faults){
            .refuse = 10 * level,
            .lose = 20 * level,
            .twice = 10 * level,
            .conflict = 10 * level,
            .fail = 5 * level,
            .fail_done = 5 * level,
            .too_many = 5 * level,
            .slow = 60 * level,
            .slow_max = LATE_MAX,
            .repeat = 20,
            .lag = chance(d, 50) ? (nsec_t)below(d, 1000) * (LATE_MAX / 1000) : 0,
        };
    if (link)
        link_set(link, &f);
}

/* Devices that do not become ready are given up soon. */
static void *short_timeout(struct dra_sim *d, struct arena *a)
{
    static const char text[] = "{\"bindingTimeout\":\"8s\"}";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    void *args = NULL;

    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0 ||
        args_decode(ks_plugin_dynamic_resources.args, kj_root(doc), &(struct ks_args_context){ 0 },
                    a, &args, &err) < 0)
        dra_die(d, "args: %s", err.text);
    return args;
}

static void member_begin(struct dra_sim *d, struct member *m)
{
    static const char *const names[] = { "koord-scheduler", NULL };
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config profile = profile_config_default(plugins, names[0], a);
    struct profile_args args = { ks_plugin_dynamic_resources.name, NULL };
    struct kerr err = { 0 };

    if (d->gate == CONDITIONS) {
        args.args = short_timeout(d, a);
        profile.args = &args;
        profile.nargs = 1;
    }
    m->link = net_link(d->net);
    set_faults(d, m->link, d->faults ? 1 + below(d, 2) : 0);
    m->s = scheduler_new(d->s.loop, m->link,
                         &(struct scheduler_opts){ .plugins = plugins,
                                                   .scheduler_names = names,
                                                   .profiles = &profile,
                                                   .nprofiles = 1,
                                                   .gates = &d->gates,
                                                   .verify_reuse = true },
                         &err);
    if (!m->s)
        dra_die(d, "scheduler: %s", err.text);
    scheduler_watch(m->s);
}

/* SIGKILL: nothing is said, and what was sent arrives. */
static void member_kill(struct member *m)
{
    m->s = scheduler_free(m->s);
    kube_free(m->link);
    m->link = NULL;
}

static void kill_leader(void *arg)
{
    struct dra_sim *d = arg;

    if (!d->leader.s)
        return;
    member_kill(&d->leader);
    d->lead_at = loop_mono(d->s.loop) + LEASE;
    d->n.kills++;
}

/* The lease has run out: the one that stood by, or a new one. */
static void see_to_leader(struct dra_sim *d)
{
    if (d->leader.s || loop_mono(d->s.loop) < d->lead_at)
        return;
    if (!d->standby.s)
        member_begin(d, &d->standby);
    else
        d->n.takeovers++;
    d->leader = d->standby;
    d->standby = (struct member){ 0 };
    scheduler_lead(d->leader.s);
    if (chance(d, 50))
        member_begin(d, &d->standby);
}

static void start_cluster(struct dra_sim *d)
{
    static const struct hollow_shape shape = {
        .prefix = "n", .count = NODES, .max_pods = NODE_PODS, .zones = 2
    };
    struct kerr err = { 0 };

    d->cluster_link = net_link(d->net);
    set_faults(d, d->cluster_link, d->faults ? 1 : 0);
    d->s.cluster = cluster_new(d->s.loop, d->cluster_link,
                               &(struct cluster_opts){ .gc = true,
                                                       .nodes = true,
                                                       .resourceclaims = true,
                                                       .node_grace = 3600 * SEC,
                                                       .discovery_interval = 600 * SEC,
                                                       .hollow = { .shapes = &shape,
                                                                   .nshapes = 1,
                                                                   .seed = d->seed,
                                                                   .no_metrics = true,
                                                                   .lease_interval = 60 * SEC } },
                               &err);
    if (!d->s.cluster)
        dra_die(d, "cluster: %s", err.text);
}

static void kill_cluster(struct dra_sim *d)
{
    sim_stop_cluster(&d->s);
    kube_free(d->cluster_link);
    sim_run(&d->s, (nsec_t)below(d, 3000) * NSEC_PER_MSEC);
    start_cluster(d);
    d->n.kills++;
}

static void end_watches(struct dra_sim *d)
{
    struct kube *links[] = { d->leader.link, d->standby.link, d->cluster_link };
    struct kube *one = links[below(d, 3)];

    if (one)
        link_end_watches(one, (enum net_end)below(d, NET_ENDS));
}

/* ---- a run ------------------------------------------------------------------------------------ */

static void change_class(struct dra_sim *d)
{
    if (chance(d, 30)) {
        (void)sim_delete(&d->s, &kind_device_class, NULL, "some", NULL);
        sim_run(&d->s, (nsec_t)below(d, 3000) * NSEC_PER_MSEC);
    }
    put_class(d, "some", known_selectors[2 + below(d, 2)].expression);
}

static void step(struct dra_sim *d)
{
    unsigned dice = below(d, 100);
    int pool = (int)below(d, POOLS);

    if (dice < 40)
        new_pods(d);
    else if (dice < 55)
        delete_pod(d);
    else if (dice < 61)
        change_pool(d, pool);
    else if (dice < 65)
        lose_slice(d, pool);
    else if (dice < 70)
        mend_pool(d, pool);
    else if (dice < 73)
        change_class(d);
    else if (dice < 77)
        new_claim(d, below(d, CLAIMS));
    else if (dice < 80)
        delete_claim(d);
    else if (dice < 84)
        touch_claims(d);
    else if (dice < 89)
        end_watches(d);
    else if (dice < 93 && d->leader.link)
        link_at_write(d->leader.link, 1 + below(d, 8), kill_leader, d);
    else if (dice < 95)
        kill_leader(d);
    else if (dice < 97)
        kill_cluster(d);
    else if (d->faults)
        set_faults(d, d->leader.link, below(d, 3));
    sim_run(&d->s, (nsec_t)below(d, 2500) * NSEC_PER_MSEC);
    drivers_report(d, false);
    change_taints(d);
    see_to_leader(d);
    judge_step(d);
}

static void calm(struct dra_sim *d)
{
    d->faults = false;
    set_faults(d, d->leader.link, 0);
    set_faults(d, d->standby.link, 0);
    set_faults(d, d->cluster_link, 0);
    for (int i = 0; i < POOLS; i++)
        mend_pool(d, i);
    for (unsigned i = 0; i < CLAIMS; i++)
        new_claim(d, i);
    if (d->leader.link)
        link_at_write(d->leader.link, 0, kill_leader, d);
    while (!d->leader.s) {
        sim_run(&d->s, SEC);
        see_to_leader(d);
    }
    for (int i = 0; i < QUIET / SEC; i++) {
        drivers_report(d, true);
        sim_run(&d->s, SEC);
    }
}

static const char *const gate_names[SIM_GATES] = {
    [NO_GATE] = "",
    [PARTITIONS] = "DRAPartitionableDevices=true",
    [TAINTS] = "DRADeviceTaints=true",
    [TAINT_RULES] = "DRADeviceTaints=true,DRADeviceTaintRules=true",
    [CAPACITY] = "DRAConsumableCapacity=true",
    [CONDITIONS] = "DRADeviceBindingConditions=true",
};

/* Of ten seeds in a row five have each a gate of its own. */
static void draw_gate(struct dra_sim *d)
{
    unsigned number = (unsigned)(d->seed % 10) + 1;
    struct kerr err = { 0 };

    d->gate = number < SIM_GATES ? (enum sim_gate)number : NO_GATE;
    gates_init(&d->gates, ks_gates, ks_ngates);
    if (gates_parse(&d->gates, gate_names[d->gate], &err) < 0)
        dra_die(d, "gates: %s", err.text);
}

static void begin(struct dra_sim *d, uint64_t seed)
{
    hash_set_key(seed, 1); /* it decides the order of maps */
    d->seed = seed;
    sim_init_alpha(&d->s, seed);
    draw_gate(d);
    d->s.no_binder = true;
    d->net = net_new(d->s.loop, d->s.kube);
    judge_begin(d);
    (void)sim_patch(
        &d->s, &kind_namespace, NULL, "default", NULL,
        "{\"metadata\":{\"labels\":{\"resource.kubernetes.io/admin-access\":\"true\"}}}");
    start_cluster(d);
    if (!sim_until(&d->s, 30 * SEC, sim_nodes_ready, NULL))
        dra_die(d, "nodes do not become ready");
    new_classes(d);
    new_templates(d);
    new_pools(d);
    for (unsigned i = 0; i < CLAIMS; i++)
        new_claim(d, i);
    d->faults = d->had_faults = seed / 10 % 4 != 0;
    set_faults(d, d->cluster_link, d->faults);
    see_to_leader(d);
}

static void end(struct dra_sim *d)
{
    if (d->leader.s)
        member_kill(&d->leader);
    if (d->standby.s)
        member_kill(&d->standby);
    sim_stop_cluster(&d->s);
    kube_free(d->cluster_link);
    judge_stop(d);
    net_free(d->net);
    sim_fini(&d->s);
}

static void add_counts(struct dra_counts *to, const struct dra_counts *n)
{
    const uint64_t *from = (const uint64_t *)n;

    for (size_t i = 0; i < sizeof *n / sizeof *from; i++)
        ((uint64_t *)to)[i] += from[i];
}

static uint64_t running; /* for whoever reads of an abort */

static void run(uint64_t seed, struct dra_counts *sum)
{
    struct dra_sim *d = xnew0(struct dra_sim);
    struct kerr err = { 0 };

    running = seed;
    begin(d, seed);
    for (d->step = 1; d->step <= STEPS; d->step++)
        step(d);
    calm(d);
    judge_end(d);
    if (scheduler_verify(d->leader.s, &err) < 0)
        dra_die(d, "the cache is wrong: %s", err.text);
    add_counts(sum, &d->n);
    end(d);
    free(d);
}

static void on_abort(int signum)
{
    char text[32];
    int n = snprintf(text, sizeof text, "seed %llu\n", (unsigned long long)running);

    (void)signum;
    (void)!write(STDERR_FILENO, text, (size_t)n);
}

static void print_counts(uint64_t n, const struct dra_counts *c)
{
    printf("%llu runs: %llu looks, %llu pods bound, %llu allocations, %llu changes of shared "
           "claims, devices: %llu by administrators, %llu of the network, %llu of a later choice; "
           "%llu kills, %llu takeovers, %llu deletions by force, %llu pods without room\n",
           (unsigned long long)n, (unsigned long long)c->judged, (unsigned long long)c->bound,
           (unsigned long long)c->allocated, (unsigned long long)c->shared,
           (unsigned long long)c->admin, (unsigned long long)c->network,
           (unsigned long long)c->later, (unsigned long long)c->kills,
           (unsigned long long)c->takeovers, (unsigned long long)c->forced,
           (unsigned long long)c->pending);
    printf("with gates: %llu parts of counters, %llu taints, %llu rules, %llu tainted devices "
           "tolerated, %llu shares of devices, %llu devices attached before their pod was bound, "
           "%llu that failed\n",
           (unsigned long long)c->parts, (unsigned long long)c->taints,
           (unsigned long long)c->rules, (unsigned long long)c->tolerated,
           (unsigned long long)c->shares, (unsigned long long)c->attached,
           (unsigned long long)c->failures);
}

static bool gates_used(const struct dra_counts *c)
{
    return c->parts && c->taints && c->rules && c->tolerated && c->shares && c->attached &&
           c->failures;
}

static int run_all(uint64_t first, uint64_t n)
{
    struct dra_counts c = { 0 };

    for (uint64_t i = 0; i < n; i++)
        run(first + i, &c);
    for (size_t i = 0; n >= SHARED && first == 1 && i < ARRAY_LEN(past); i++)
        run(past[i], &c);
    print_counts(n, &c);
    bool idle = n >= SHARED && !(c.bound && c.shared && c.admin && c.network && c.later &&
                                 c.kills && c.takeovers && c.forced && c.pending && gates_used(&c));
    printf("sim_dra: %llu passed, %d failed\n", (unsigned long long)(idle ? 0 : n), idle);
    return idle;
}

int main(int argc, char **argv)
{
    static const struct sim_seeds seeds = { SEEDS, SEEDS_FULL, 2 * SHARED, run_all };

    (void)signal(SIGABRT, on_abort);
    return sim_seeds_main(&seeds, argc, argv);
}
