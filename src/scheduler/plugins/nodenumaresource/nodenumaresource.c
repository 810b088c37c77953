/* nodenumaresource.c - NodeNUMAResource: CPUs and NUMA nodes for pods (sched-numa 3, 4, 8).
 *
 * What a row has left stands in its row data (stock.h), made from the topology of the node and the
 * grants of its pods; whether a pod fits follows from that and from the pod alone. So verdicts and
 * scores are reused, and overlays need nothing of their own.
 */
#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/hint.h"
#include "api/protocol/keys.h"
#include "api/protocol/pod_protocol.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/plugins/nodenumaresource/numaresource.h"
#include "scheduler/plugins/registry.h"

/* ---- the pod --------------------------------------------------------------------------------- */

static void ask_for(struct incoming *in, struct numa_plugin *n, const char *name, int64_t amount)
{
    int res = amount > 0 ? numa_names_find(&n->grants->names, name) : -1;

    if (res < 0)
        return;
    in->amount[res] = amount;
    in->asks |= 1u << res;
}

static void read_requests(struct incoming *in, struct numa_plugin *n, const struct requests *r)
{
    ask_for(in, n, RES_CPU, r->fixed[KS_MCPU]);
    ask_for(in, n, RES_MEMORY, r->fixed[KS_MEMORY]);
    ask_for(in, n, RES_EPHEMERAL_STORAGE, r->fixed[KS_EPHEMERAL]);
    for (uint32_t i = 0; i < r->nmore; i++)
        ask_for(in, n, r->more[i].name, r->more[i].count);
}

static bool asks_for_nothing(const struct requests *r)
{
    int64_t sum = r->fixed[KS_MCPU] | r->fixed[KS_MEMORY] | r->fixed[KS_EPHEMERAL];

    for (uint32_t i = 0; i < r->nmore; i++)
        sum |= r->more[i].count;
    return sum == 0;
}

static bool is_prod_with_cpus(const struct pod *p)
{
    struct pod_identity id = pod_identity(p);
    const char *qos = kstrmap_get(&p->obj.meta.labels, LABEL_QOS_CLASS);

    return qos && (streq(qos, "LSE") || streq(qos, "LSR")) &&
           priority_class_with_default(&id) == PRIO_PROD;
}

static enum cpu_bind_policy policy_or(const char *name, enum cpu_bind_policy otherwise)
{
    enum cpu_bind_policy p = cpu_bind_policy_parse(str_or(name, ""));

    return p == CPU_BIND_DEFAULT ? otherwise : p;
}

/* false: it asks for a part of a CPU. */
static bool read_binding(struct incoming *in, const struct numa_plugin *n, const struct pod *p,
                         const struct resource_spec *spec)
{
    enum cpu_bind_policy required = policy_or(spec->required_bind_policy, n->default_bind);
    enum cpu_bind_policy preferred = policy_or(spec->preferred_bind_policy, n->default_bind);

    if (!is_prod_with_cpus(p))
        return true;
    if (preferred == CPU_BIND_NONE)
        preferred = n->default_bind;
    enum cpu_bind_policy bind = required != CPU_BIND_NONE ? required : preferred;
    if (bind != CPU_BIND_FULL_PCPUS && bind != CPU_BIND_SPREAD_BY_PCPUS)
        return true;
    if (in->amount[NUMA_RES_CPU] % 1000)
        return false;
    if (in->amount[NUMA_RES_CPU] == 0)
        return true;
    in->bind = true;
    in->required = required;
    in->preferred = bind;
    in->exclusive = cpu_exclusive_policy_parse(str_or(spec->preferred_exclusive_policy, ""));
    return true;
}

/* What a scheduling hint designates stands in the annotation that a placed pod would have. */
static enum ks_code read_designated(struct incoming *in, struct numa_plugin *n,
                                    const struct ks_cycle *c, const struct pod *p,
                                    struct ks_texts *why)
{
    struct numa_allocation *x = arena_new0(c->arena, struct numa_allocation);
    const kstrmap *annotations = &p->obj.meta.annotations;
    struct resource_status status;
    struct scheduling_hint hint;
    struct kerr err = { 0 };

    int r = scheduling_hint_get(annotations, c->arena, &hint, &err);
    if (r <= 0 || !scheduling_hint_extension(&hint, "NodeNUMAResource"))
        return KS_SUCCESS;
    r = resource_status_read(annotations, c->arena, &status, &err);
    if (r > 0)
        r = grants_read(n->grants, &status, x, &err);
    if (r < 0) {
        ks_texts_add(why, arena_strdup(c->arena, err.text));
        return KS_UNRESOLVABLE;
    }
    if (r > 0)
        in->designated = x;
    return KS_SUCCESS;
}

static enum ks_code numa_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    const kstrmap *annotations = &p->pod->obj.meta.annotations;
    struct incoming *in = arena_new0(c->arena, struct incoming);
    struct reservation_affinity affinity;
    struct numa_topology_spec topology;
    struct resource_spec spec;
    struct kerr err = { 0 };

    (void)only;
    if (resource_spec_read(annotations, c->arena, &spec, &err) < 0 ||
        numa_topology_spec_read(annotations, c->arena, &topology, &err) < 0) {
        ks_texts_add(why, arena_strdup(c->arena, err.text));
        return KS_ERROR;
    }
    if (asks_for_nothing(&p->requests))
        return KS_SKIP;
    int r = reservation_affinity_read(annotations, c->arena, &affinity, &err);
    if (r < 0) {
        ks_texts_add(why, arena_strdup(c->arena, err.text));
        return KS_UNRESOLVABLE;
    }
    in->of_others = r > 0 || label_is_true(&p->pod->obj.meta.labels, LABEL_PRE_ALLOCATION_REQUIRED);
    read_requests(in, self, &p->requests);
    in->policy = (enum numa_policy)topology.policy;
    in->numa_exclusive = (enum numa_exclusive)topology.exclusive;
    /* A pod that names a policy itself wants its NUMA nodes for itself, unless it says otherwise.
     */
    if (in->policy != NUMA_POLICY_NONE && in->numa_exclusive == NUMA_EXCLUSIVE_NONE)
        in->numa_exclusive = NUMA_EXCLUSIVE_REQUIRED;
    if (!read_binding(in, self, p->pod, &spec)) {
        ks_texts_add(why, "the requested CPUs must be integer");
        return KS_UNRESOLVABLE;
    }
    *ret_state = in;
    return read_designated(in, self, c, p->pod, why);
}

/* ---- filter ---------------------------------------------------------------------------------- */

static const struct ks_reason numa_reasons[] = {
    [WHY_FITS] = { KS_SUCCESS, "" },
    [WHY_POLICY] = { KS_UNRESOLVABLE, "node(s) NUMA Topology policy not match" },
    [WHY_INTEGER] = { KS_UNRESOLVABLE, "the requested CPUs must be integer" },
    [WHY_RATIO] = { KS_UNRESOLVABLE, "node(s) invalid CPU amplification ratio" },
    [WHY_AMPLIFIED] = { KS_UNSCHEDULABLE, "Insufficient amplified cpu" },
    [WHY_TOPOLOGY] = { KS_UNRESOLVABLE, "node(s) invalid CPU Topology" },
    [WHY_CONFLICT] = { KS_UNRESOLVABLE,
                       "node(s) cpu bind policy conflicts with pod's required cpu bind policy" },
    [WHY_SMT] = { KS_UNRESOLVABLE, "node(s) requested cpus not multiple cpus per core" },
    [WHY_CPUS] = { KS_UNSCHEDULABLE, CPUS_NOT_ENOUGH },
    [WHY_NUMA] = { KS_UNSCHEDULABLE, "node(s) Insufficient NUMA Node resources" },
    [WHY_NO_NUMA] = { KS_UNRESOLVABLE, "node(s) missing NUMA resources" },
};

static void numa_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                         struct ks_texts *out)
{
    uint8_t why = numa_judge(self, c, p, row, out);

    if (out->n == 0)
        ks_texts_add(out, numa_reasons[why].text);
}

/* ---- reserve --------------------------------------------------------------------------------- */

static enum ks_code numa_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    struct numa_plugin *n = self;
    const struct stock *s = ks_row(c->rows, row);
    const struct incoming *in = c->state;
    struct numa_allocation x;
    struct numa_request r;
    enum numa_policy policy;
    uint64_t mask = 0;

    if (!in || !incoming_policy(in, s, &policy) || !incoming_on(n, in, s, &r))
        return KS_SUCCESS;
    if (!r.bind && policy == NUMA_POLICY_NONE)
        return KS_SUCCESS;
    if (r.bind && !s->site->machine) {
        ks_texts_add(why, numa_reasons[WHY_TOPOLOGY].text);
        return KS_ERROR;
    }
    if (policy != NUMA_POLICY_NONE && !in->designated) {
        if (s->site->nzones == 0) {
            ks_texts_add(why, numa_reasons[WHY_NO_NUMA].text);
            return KS_UNRESOLVABLE;
        }
        enum ks_code code = numa_place(n, c, p, row, policy, &mask, why);
        if (code != KS_SUCCESS)
            return code;
    }
    const struct ks_reservation *of = ks_nominated(c, row);
    const struct numa_try t = { n, c, p, row, &r };
    enum ks_code code = numa_try_of(&t, of, mask, &x, why);
    if (code == KS_SUCCESS)
        grants_reserve(n->grants, p->pod, c->nodes->node[row]->obj.meta.name, of, &r, &x);
    return code;
}

static void numa_unreserve(void *self, const struct pod *p, const char *node)
{
    struct numa_plugin *n = self;

    (void)node;
    grants_release(n->grants, p->obj.meta.uid);
}

/* ---- what is written on the pod -------------------------------------------------------------- */

static const char *status_of(const struct numa_plugin *n, const struct grant *g, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct numa_node_resource zones[ZONES_MAX];
    struct resource_status s = { .cpuset = cpuset_format(&g->cpus, a) };
    struct resqty *q = arena_newn0(a, g->nparts, struct resqty);

    s.numa_node_resources.items = zones;
    for (uint32_t i = 0; i < g->nparts; i++) {
        const struct numa_part *part = &g->part[i];
        const char *name = n->grants->names.name[part->resource];
        uint32_t at = s.numa_node_resources.n;
        if (at == 0 || zones[at - 1].node != part->numa_id) {
            zones[at] = (struct numa_node_resource){ .node = part->numa_id };
            zones[at].resources.items = &q[i];
            s.numa_node_resources.n = ++at;
        }
        q[i] = (struct resqty){ name, resource_from_count(name, part->amount) };
        zones[at - 1].resources.n++;
    }
    resource_status_encode(&s, &b);
    return arena_strdup(a, strbuf_str(&b));
}

/* The policy that counted, where the pod leaves it to others; NULL: it says so already. */
static const char *spec_of(const struct resource_spec *was, enum cpu_bind_policy policy,
                           bool required, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const char *name = cpu_bind_policy_name(policy);
    struct resource_spec s = *was;

    if (required && (str_empty(s.required_bind_policy) || streq(s.required_bind_policy, "Default")))
        s.required_bind_policy = name;
    if (!str_empty(s.preferred_bind_policy) && streq(s.preferred_bind_policy, "Default"))
        s.preferred_bind_policy = name;
    if (str_empty(s.required_bind_policy) && str_empty(s.preferred_bind_policy) && *name)
        s.preferred_bind_policy = name;
    if (s.required_bind_policy == was->required_bind_policy &&
        s.preferred_bind_policy == was->preferred_bind_policy)
        return NULL;
    resource_spec_encode(&s, &b);
    return arena_strdup(a, strbuf_str(&b));
}

enum ks_code numa_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    struct numa_plugin *n = self;
    const struct pod *p = pod_of(b->pod);
    const struct grant *g = grants_find(n->grants, p->obj.meta.uid);
    CLEANUP(arena_free) struct arena *a = NULL;
    struct resource_spec spec;
    struct kerr err = { 0 };

    (void)why;
    if (!g)
        return KS_SKIP;
    a = arena_new();
    if (g->bind != CPU_BIND_NONE &&
        resource_spec_read(&p->obj.meta.annotations, a, &spec, &err) >= 0) {
        const char *text = spec_of(&spec, (enum cpu_bind_policy)g->bind, g->required, a);
        if (text)
            ks_bind_annotate(b, ANNO_RESOURCE_SPEC, text);
    }
    ks_bind_annotate(b, ANNO_RESOURCE_STATUS, status_of(n, g, a));
    return KS_SUCCESS;
}

/* ---- the plugin ------------------------------------------------------------------------------ */

static enum numa_strategy strategy_of(const struct scoring_strategy *s)
{
    return s && s->type && streq(s->type, "MostAllocated") ? NUMA_MOST_ALLOCATED
                                                           : NUMA_LEAST_ALLOCATED;
}

static int numa_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    const struct numa_args *given = args;
    struct numa_plugin *n = xnew0(struct numa_plugin);

    (void)err;
    *n = (struct numa_plugin){
        .grants = grants_of(env),
        .args = given,
        .default_bind = cpu_bind_policy_parse(given->bind_policy),
        .node_strategy = strategy_of(given->node),
        .zone_strategy = strategy_of(given->zone),
        .scratch = arena_new(),
    };
    for (uint32_t i = 0; i < given->node->resources.n; i++)
        numa_names_add(&n->grants->names, given->node->resources.items[i].name);
    *ret_self = n;
    return 0;
}

static void numa_destroy(void *self)
{
    struct numa_plugin *n = self;

    for (uint32_t i = 0; i < ATTEMPTS_NESTED; i++)
        vec_fini(&n->restored[i].rows);
    arena_free(n->scratch);
    free(n);
}

static enum ks_code numa_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_texts *why)
{
    (void)self, (void)p, (void)why;
    *ret_state = c->state;
    return c->state ? KS_SUCCESS : KS_SKIP;
}

static const struct ks_hint numa_hints[] = {
    { KS_RES_ASSIGNED_POD, KS_DELETE, NULL, NULL },
    { KS_RES_NODE, KS_ADD | KS_NODE_ALLOCATABLE | KS_NODE_LABEL | KS_NODE_ANNOTATION, NULL, NULL },
    { KS_RES_OTHER, KS_ALL, NULL, &kind_noderesourcetopology },
};
static const struct kind *const numa_kinds[] = { &kind_noderesourcetopology, NULL };
static const char *const numa_node_annotations[] = { ANNO_AMPLIFICATION_RATIO, NULL };
static const char *const numa_pod_annotations[] = { ANNO_RESOURCE_SPEC,
                                                    ANNO_NUMA_TOPOLOGY_SPEC,
                                                    ANNO_RESOURCE_STATUS,
                                                    ANNO_SCHEDULING_HINT,
                                                    ANNO_SCHEDULING_HINT_OLD,
                                                    ANNO_RESERVATION_AFFINITY,
                                                    NULL };
static const char *const numa_pod_labels[] = { LABEL_QOS_CLASS, LABEL_PRIORITY_CLASS,
                                               LABEL_PRE_ALLOCATION_REQUIRED,
                                               LABEL_RESERVATION_IGNORED, NULL };
static const struct ks_service *const numa_services[] = { &grants_service, NULL };

const struct ks_plugin ks_plugin_node_numa_resource = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeNUMAResource",
    .reasons = numa_reasons,
    .reuse = KS_REUSE_LOCAL,
    .kinds = numa_kinds,
    .node_annotations = numa_node_annotations,
    .pod_annotations = numa_pod_annotations,
    .pod_labels = numa_pod_labels,
    .row = &stock_rows,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(PRE_SCORE) | KS_AT(SCORE) | KS_AT(RESERVE) |
              KS_AT(PRE_BIND),
    .args = &numa_args,
    .create = numa_create,
    .destroy = numa_destroy,
    .services = numa_services,
    .hints = numa_hints,
    .nhints = ARRAY_LEN(numa_hints),
    .pre_filter = numa_pre_filter,
    .filter = numa_filter,
    .explain = numa_explain,
    .show = numa_show,
    .pre_score = numa_pre_score,
    .score = numa_score,
    .reserve = numa_reserve,
    .unreserve = numa_unreserve,
    .would_refuse = numa_would_refuse,
    .pre_bind = numa_pre_bind,
    .numa = &numa_provider,
    .reservations = &numa_reservations,
};
