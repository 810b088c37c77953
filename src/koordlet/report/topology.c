/* topology.c - annotations of NodeResourceTopology: CPU details, shared pools, reservations. */
#include "koordlet/report/topology.h"

#include "api/protocol/cpu.h"
#include "base/vec.h"
#include "koordlet/report/takecpus.h"
#include "koordlet/report/topology_int.h"

struct computing {
    const struct topology_in *in;
    struct arena *a;
    struct cpuset all;
    struct cpuset pool;      /* all but what the kubelet pinned */
    struct cpuset ls, be;    /* pools before the reservations */
    struct cpuset reserved;  /* by the node's annotation */
    struct cpuset exclusive; /* of system QoS */
    struct pairs vec_of(struct kstrpair) pairs;
};

/* The text moves into the arena. */
static void put(struct computing *c, const char *key, struct strbuf *text)
{
    vec_push(&c->pairs,
             ((struct kstrpair){ key, arena_strndup(c->a, strbuf_str(text), text->len) }));
    strbuf_reset(text);
}

bool pod_bound_cpus(const struct npod *p, struct arena *a, struct cpuset *ret)
{
    struct resource_status rs;

    return resource_status_read(&p->obj->meta.annotations, a, &rs, NULL) > 0 && *rs.cpuset &&
           cpuset_parse(rs.cpuset, strlen(rs.cpuset), ret, NULL) == 0 && !cpuset_is_empty(ret);
}

/* ---- what the CPUs are ----------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct cpu_topology_entry *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void add_details(struct computing *c, struct strbuf *text)
{
    const struct cpu_info *cpu = c->in->cpu;
    struct cpu_topology t = { { arena_newn0(c->a, cpu->n, struct cpu_topology_entry), cpu->n } };
    struct cpu_basic_info basic = { .cpu_model = str_or(cpu->model, ""),
                                    .vendor_id = str_or(cpu->vendor, ""),
                                    .cat_l3_cbm_mask = str_or(cpu->l3_mask, ""),
                                    .hyper_thread_enabled = cpu->hyper_thread,
                                    .turbo_enabled = cpu->turbo };

    for (uint32_t i = 0; i < cpu->n; i++) {
        const struct cpu_place *p = &cpu->cpus[i];
        t.detail.items[i] = (struct cpu_topology_entry){ p->cpu, p->core, p->socket, p->node };
    }
    if (cpu->n)
        qsort(t.detail.items, t.detail.n, sizeof *t.detail.items, by_id);
    cpu_topology_encode(&t, text);
    put(c, ANNO_CPU_TOPOLOGY, text);
    cpu_basic_info_encode(&basic, text);
    put(c, ANNO_CPU_BASIC_INFO, text);
}

/* ---- the kubelet ----------------------------------------------------------------------------- */

static int add_kubelet(struct computing *c, struct strbuf *text, struct kerr *err)
{
    const struct kubelet_config *k = c->in->kubelet;
    struct kubelet_cpu_manager m = { .policy = "", .reserved_cpus = "" };
    bool is_static = k && streq(str_or(k->cpu_manager_policy, ""), KUBELET_CPU_POLICY_STATIC);
    struct cpuset reserved, taken = { 0 };
    struct kerr ignored = { 0 };

    if (k) {
        m.policy = str_or(k->cpu_manager_policy, "");
        m.options = k->cpu_manager_options;
    }
    /* Without a usable reservation the kubelet would not start; its word is then simply missing. */
    if (is_static && kubelet_reserved_cpus(k, c->in->cpu, &reserved, &ignored) == 0)
        m.reserved_cpus = cpuset_format(&reserved, c->a);
    kubelet_cpu_manager_encode(&m, text);
    put(c, ANNO_KUBELET_CPU_MANAGER, text);
    if (is_static) {
        int r = kubelet_allocs(c->in, c->a, text, &taken, err);
        if (r < 0)
            return r;
    }
    if (text->len == 0)
        strbuf_append(text, "null");
    put(c, ANNO_POD_CPU_ALLOCS, text);
    c->pool = cpuset_minus(&c->all, &taken);
    return 0;
}

/* ---- reservations on the node ---------------------------------------------------------------- */

static void resolve_reservation(struct computing *c, struct node_reservation *r)
{
    int64_t cores = node_reservation_cores(r);
    struct cpuset set = { 0 };

    if (*r->reserved_cpus) {
        if (cpuset_parse(r->reserved_cpus, strlen(r->reserved_cpus), &set, NULL) < 0)
            set = (struct cpuset){ 0 };
    } else if (cores > 0 && cpus_take(c->in->cpu, &c->all, cores, &set, NULL) < 0) {
        set = (struct cpuset){ 0 };
    }
    r->reserved_cpus = cpuset_format(&set, c->a);
    c->reserved = set;
}

static void add_reservation(struct computing *c, struct strbuf *text)
{
    struct node_reservation r;

    if (node_reservation_read(&c->in->node->obj.meta.annotations, c->a, &r, NULL) < 0)
        r = (struct node_reservation){ .reserved_cpus = "" };
    else
        resolve_reservation(c, &r);
    node_reservation_encode(&r, text);
    put(c, ANNO_NODE_RESERVATION, text);
}

static int add_system_qos(struct computing *c, struct strbuf *text, struct kerr *err)
{
    const kstrmap *annotations = &c->in->node->obj.meta.annotations;
    struct system_qos_resource s;

    int r = system_qos_resource_read(annotations, c->a, &s, err);
    if (r < 0)
        return kerr_wrap(err, "failed to get system qos resource from node annotation, error");
    if (system_qos_is_exclusive(&s) &&
        cpuset_parse(s.cpuset, strlen(s.cpuset), &c->exclusive, NULL) < 0)
        c->exclusive = (struct cpuset){ 0 };
    if (annotations->n == 0)
        strbuf_append(text, "null");
    else
        system_qos_resource_encode(&s, text);
    put(c, ANNO_SYSTEM_QOS_RESOURCE, text);
    return 0;
}

/* ---- pools ----------------------------------------------------------------------------------- */

static void subtract_pods(struct computing *c)
{
    const struct podset *pods = c->in->pods;

    c->ls = c->be = c->pool;
    for (uint32_t i = 0; pods && i < pods->n; i++) {
        struct cpuset bound;
        if (!pod_bound_cpus(pods->pods[i], c->a, &bound))
            continue;
        c->ls = cpuset_minus(&c->ls, &bound);
        if (qos_raw(&pods->pods[i]->obj->meta.labels) == QOS_LSE)
            c->be = cpuset_minus(&c->be, &bound);
    }
}

struct pool {
    int32_t socket, node;
    struct cpuset cpus;
};

static int by_place(const void *a, const void *b)
{
    const struct pool *x = a, *y = b;
    if (x->socket != y->socket)
        return x->socket < y->socket ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* By NUMA node, without nodes that have nothing in the set. */
static struct pool *split(const struct computing *c, const struct cpuset *set, uint32_t *ret_n)
{
    struct pool *pools = arena_newn0(c->a, c->in->cpu->n, struct pool);
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->in->cpu->n; i++) {
        const struct cpu_place *p = &c->in->cpu->cpus[i];
        uint32_t at = 0;
        if (!cpuset_has(set, (unsigned)p->cpu))
            continue;
        while (at < n && pools[at].node != p->node)
            at++;
        if (at == n)
            pools[n++] = (struct pool){ .socket = p->socket, .node = p->node };
        cpuset_add(&pools[at].cpus, (unsigned)p->cpu);
    }
    if (n)
        qsort(pools, n, sizeof *pools, by_place);
    *ret_n = n;
    return pools;
}

/* Reserved CPUs leave their pool afterwards: it may become empty, but stays listed. */
static void add_pools(struct computing *c, const char *key, const struct cpuset *set,
                      struct strbuf *text)
{
    uint32_t n;
    struct pool *pools = split(c, set, &n);
    struct cpu_shared_pools out = { { arena_newn0(c->a, n, struct cpu_shared_pool), n } };

    for (uint32_t i = 0; i < n; i++) {
        struct cpuset rest = cpuset_minus(&pools[i].cpus, &c->reserved);
        rest = cpuset_minus(&rest, &c->exclusive);
        out.v.items[i] =
            (struct cpu_shared_pool){ pools[i].socket, pools[i].node, cpuset_format(&rest, c->a) };
    }
    cpu_shared_pools_encode(&out, text);
    put(c, key, text);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int add_annotations(struct computing *c, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    add_details(c, &text);
    int r = add_kubelet(c, &text, err);
    if (r < 0)
        return r;
    add_reservation(c, &text);
    r = add_system_qos(c, &text, err);
    if (r < 0)
        return r;
    subtract_pods(c);
    add_pools(c, ANNO_CPU_SHARED_POOLS, &c->ls, &text);
    add_pools(c, ANNO_BE_CPU_SHARED_POOLS, &c->be, &text);
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct kstrpair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static void fill(const struct computing *c, struct topology *t)
{
    const char *numa = kstrmap_get(&c->in->node->obj.meta.labels, LABEL_ENABLE_NUMA_RESERVATION);

    t->annotations.items = arena_newn0(c->a, c->pairs.n, struct kstrpair);
    t->annotations.n = (uint32_t)c->pairs.n;
    memcpy(t->annotations.items, c->pairs.items, c->pairs.n * sizeof *c->pairs.items);
    qsort(t->annotations.items, t->annotations.n, sizeof *t->annotations.items, by_key);
    if (!str_empty(numa)) {
        t->labels.items = arena_new0(c->a, struct kstrpair);
        t->labels.items[t->labels.n++] =
            (struct kstrpair){ LABEL_ENABLE_NUMA_RESERVATION, arena_strdup(c->a, numa) };
    }
    t->policy = kubelet_topology_policy(c->in->kubelet);
}

int topology_compute(const struct topology_in *in, struct arena *a, struct topology *ret,
                     struct kerr *err)
{
    struct computing c = { .in = in, .a = a };
    struct topology t = { 0 };

    if (!in->cpu || in->cpu->n == 0)
        return kerr_set(err, -ENODATA, "node cpu info not exist");
    if (!in->numa)
        return kerr_set(err, -ENODATA, "node numa info not exist");
    c.all = cpu_info_set(in->cpu);
    int r = add_annotations(&c, err);
    if (r == 0)
        r = topology_zones(in, a, &t, err);
    if (r == 0) {
        fill(&c, &t);
        *ret = t;
    }
    vec_fini(&c.pairs);
    return r;
}
