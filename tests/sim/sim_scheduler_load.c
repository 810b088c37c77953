/* sim_scheduler_load.c - LoadAwareScheduling takes part: reports of nodes that are late, stale, cut
 * or wrong, thresholds of nodes, NodeSLOs, and a plugin that adds up anew what a node uses whenever
 * a pod is reserved there (sched-loadaware 4, 5), from reports and from what its service was told.
 */
#include "sim_scheduler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/koord/nodemetric.h"
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"
#include "json/kj.h"

#define REPORTS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define SLOS    "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
#define SEC     NSEC_PER_SEC
#define EXPIRES (180 * SEC)
#define MIB     (INT64_C(1) << 20)
enum { CPU, MEMORY, RESOURCES };

/* ---- what its service was told --------------------------------------------------------------- */

struct known {
    struct kobj *pod; /* as it was when its time was taken */
    int node;
    nsec_t since;
};
struct sim_load {
    struct sim_scheduler *of;
    struct loads *loads; /* of the plugin that is judged */
    struct vec_of(struct known) pods;
};

static struct sim_scheduler *next_born;

void load_for(struct sim_scheduler *s)
{
    next_born = s;
}

static struct known *find(struct sim_load *l, struct kuid uid)
{
    vec_foreach(&l->pods, i)
        if (kuid_equal(l->pods.items[i].pod->meta.uid, uid))
            return &l->pods.items[i];
    return NULL;
}

static void drop(struct sim_load *l, struct kuid uid)
{
    struct known *k = find(l, uid);

    if (!k)
        return;
    kobj_unref(k->pod);
    vec_swap_remove(&l->pods, (size_t)(k - l->pods.items));
}

static void put(struct sim_load *l, const struct pod *p, const char *node)
{
    const struct condition *c = condition_find(&p->status.conditions, "PodScheduled");
    bool says = c && c->status == COND_TRUE && c->last_transition_time;
    struct known k = { .pod = kobj_ref((struct kobj *)&p->obj),
                       .node = sim_node_of(l->of->sim, node),
                       .since = says ? c->last_transition_time : loop_wall(l->of->sim->loop) };

    drop(l, p->obj.meta.uid);
    vec_push(&l->pods, k);
}

static bool same_conditions(const struct pod *a, const struct pod *b)
{
    const conditionlist *x = &a->status.conditions, *y = &b->status.conditions;

    if (x->n != y->n)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->items[i].status != y->items[i].status ||
            x->items[i].last_transition_time != y->items[i].last_transition_time ||
            !streq(str_or(x->items[i].type, ""), str_or(y->items[i].type, "")) ||
            !streq(str_or(x->items[i].reason, ""), str_or(y->items[i].reason, "")) ||
            !streq(str_or(x->items[i].message, ""), str_or(y->items[i].message, "")))
            return false;
    return true;
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    put(service, now, now->node_name);
}

static void on_changed(void *service, const struct pod *before, const struct pod *now)
{
    const struct known *k = find(service, now->obj.meta.uid);

    (void)before;
    if (!k || pod_of(k->pod)->spec != now->spec || !same_conditions(pod_of(k->pod), now))
        put(service, now, now->node_name);
}

static void on_gone(void *service, const struct pod *last)
{
    drop(service, last->obj.meta.uid);
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    put(service, p, node);
}

static void on_forgotten(void *service, const struct pod *p, const char *node)
{
    (void)node;
    drop(service, p->obj.meta.uid);
}

static int service_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct sim_load *l = xnew0(struct sim_load);

    (void)env, (void)args, (void)err;
    l->of = next_born;
    next_born->load = l;
    *ret = l;
    return 0;
}

static void service_destroy(void *service)
{
    struct sim_load *l = service;

    l->of->load = NULL;
    vec_foreach(&l->pods, i)
        kobj_unref(l->pods.items[i].pod);
    vec_fini(&l->pods);
    free(l);
}

static const struct ks_pod_handler pod_handler = { .placed = on_placed,
                                                   .changed = on_changed,
                                                   .gone = on_gone,
                                                   .assumed = on_assumed,
                                                   .forgotten = on_forgotten };
KS_SERVICE(sim_load, struct sim_load)
const struct ks_service sim_load_service = {
    .name = "LoadJudge",
    .create = service_create,
    .destroy = service_destroy,
    .pods = &pod_handler,
};

/* ---- one pod --------------------------------------------------------------------------------- */

static bool is_best_effort(const struct pod *p)
{
    const char *qos = kstrmap_get(&p->obj.meta.labels, LABEL_QOS_CLASS);

    return qos && streq(qos, "BE");
}

/* Pods of these runs have one container, requests and no limits; best-effort ones no batch
 * resources. */
static int64_t estimate_of(const struct pod *p, int resource)
{
    const reslist *requests = &p->spec->containers.items[0].resources.requests;

    if (is_best_effort(p))
        return resource == CPU ? 250 : 200 * MIB;
    return resource == CPU ? (qty_milli(reslist_get(requests, RES_CPU)) * 85 + 50) / 100
                           : (qty_value(reslist_get(requests, RES_MEMORY)) * 70 + 50) / 100;
}

static int64_t amount(const reslist *list, int resource)
{
    int64_t v = resource == CPU ? qty_milli(reslist_get(list, RES_CPU))
                                : qty_value(reslist_get(list, RES_MEMORY));
    return MIN(MAX(v, 0), LOADS_AMOUNT_MAX);
}

/* The last entry about it that says something. */
static const struct pod_metric_info *report_of(const struct nodemetric *m, const struct kobj *pod)
{
    const struct pod_metric_info *found = NULL;

    for (uint32_t i = 0; i < m->status.pods_metric.n; i++) {
        const struct pod_metric_info *x = &m->status.pods_metric.items[i];
        if (x->usage.resources.n && streq(x->ns, pod->meta.ns) && streq(x->name, pod->meta.name))
            found = x;
    }
    return found;
}

/* ---- a node ---------------------------------------------------------------------------------- */

/* What the node uses and will use, without this pod; prod: its prod pods. */
static int64_t load_on(struct sim_load *l, int node, const struct nodemetric *m, struct kuid but,
                       int resource, bool prod)
{
    int64_t sum = prod ? 0 : amount(&m->status.node_metric->node_usage.resources, resource);
    nsec_t interval = m->collect_policy && m->collect_policy->report_interval_seconds.set
                          ? m->collect_policy->report_interval_seconds.v * SEC
                          : 60 * SEC;

    vec_foreach(&l->pods, i) {
        const struct known *k = &l->pods.items[i];
        const struct pod_metric_info *seen = report_of(m, k->pod);
        int64_t e = estimate_of(pod_of(k->pod), resource);
        int64_t u = seen ? amount(&seen->usage.resources, resource) : 0;
        bool new = !seen || m->status.update_time - interval < k->since;
        if (k->node != node || kuid_equal(k->pod->meta.uid, but))
            continue;
        if (!prod)
            sum += new ? MAX(e - u, 0) : 0;
        else if (is_best_effort(pod_of(k->pod)))
            continue;
        else if (seen && streq(seen->priority, "koord-prod"))
            sum += u + (new ? MAX(e - u, 0) : 0);
        else
            sum += e;
    }
    return sum;
}

struct limits {
    int64_t usage[RESOURCES], prod[RESOURCES];
};

static bool read_group(const struct kj_val *v, int64_t *out)
{
    int64_t own[RESOURCES] = { kj_i64_or(kj_get(v, "cpu"), 0), kj_i64_or(kj_get(v, "memory"), 0) };

    if (own[CPU] || own[MEMORY])
        memcpy(out, own, sizeof own);
    return own[CPU] || own[MEMORY];
}

static struct limits limits_of(const struct node *n)
{
    const char *text = kstrmap_get(&n->obj.meta.annotations, ANNO_USAGE_THRESHOLDS);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct limits v = { .usage = { 65, 95 } };

    if (!text || kj_parse(text, strlen(text), 0, &doc, NULL) < 0)
        return v;
    read_group(kj_get(kj_root(doc), "usageThresholds"), v.usage);
    read_group(kj_get(kj_root(doc), "prodUsageThresholds"), v.prod);
    return v;
}

/* At which koordlet evicts best-effort pods; 101: never. */
static int64_t evicts_at(const struct sim_load *l, const char *node)
{
    const struct kobj *o = objects_get(l->of->env.objects, &kind_nodeslo, NULL, node);
    const struct threshold_strategy *s = o ? nodeslo_of(o)->spec.threshold : NULL;

    return s && s->enable.v && s->memory_evict_threshold_percent.set
               ? s->memory_evict_threshold_percent.v
               : 101;
}

static void judge_resource(struct sim_load *l, const struct node *n, const struct nodemetric *m,
                           const struct pod *p, int resource)
{
    const struct limits v = limits_of(n);
    bool prod = !is_best_effort(p) && (v.prod[CPU] || v.prod[MEMORY]);
    int64_t limit = prod ? v.prod[resource] : v.usage[resource];
    int64_t of = amount(&n->status.allocatable, resource);
    int node = sim_node_of(l->of->sim, n->obj.meta.name);
    int64_t load = load_on(l, node, m, p->obj.meta.uid, resource, prod) + estimate_of(p, resource);

    if (limit && of && round((double)load / (double)of * 100) > (double)limit)
        sim_fail(l->of->sim, "%s goes to %s, of whose %s %lld of %lld will be used, above %lld%%",
                 p->obj.meta.name, n->obj.meta.name, resource == CPU ? "cpu" : "memory",
                 (long long)load, (long long)of, (long long)limit);
    l->of->sim->n.judged += limit != 0;
    if (resource == MEMORY && is_best_effort(p) && of > 0 &&
        load * 100 / of >= evicts_at(l, n->obj.meta.name))
        sim_fail(l->of->sim, "%s goes to %s, and will be evicted there", p->obj.meta.name,
                 n->obj.meta.name);
}

static enum ks_code judge_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    struct sim_load *l = self;
    const struct node *n = c->nodes->node[row];
    const struct kobj *o =
        objects_get(l->of->env.objects, &kind_nodemetric, NULL, n->obj.meta.name);
    const struct nodemetric *m = o ? nodemetric_of(o) : NULL;

    (void)why;
    if (!m)
        return KS_SUCCESS;
    if (!m->status.update_time || c->now - m->status.update_time >= EXPIRES)
        sim_fail(l->of->sim, "%s goes to %s, whose report has expired", p->pod->obj.meta.name,
                 n->obj.meta.name);
    for (int r = 0; m->status.node_metric && r < RESOURCES; r++)
        judge_resource(l, n, m, p->pod, r);
    return KS_SUCCESS;
}

static int judge_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    struct sim_load *l = sim_load_of(env);

    (void)args, (void)err;
    l->of->env = *env;
    l->loads = loads_of(env);
    *ret_self = l;
    return 0;
}

static const struct ks_service *const judge_services[] = { &sim_load_service, NULL };
static const struct ks_hint no_hints[] = { { KS_RES_NODE, KS_ADD, NULL, NULL } };
const struct ks_plugin load_judge = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "LoadJudge",
    .create = judge_create,
    .services = judge_services,
    .hints = no_hints,
    .nhints = ARRAY_LEN(no_hints),
    .reserve = judge_reserve,
};

/* ---- reports --------------------------------------------------------------------------------- */

static nsec_t any_time(struct sim *s)
{
    nsec_t now = loop_wall(s->loop);

    switch (sim_below(s, 10)) {
    case 0: return now - sim_below(s, 300) * SEC; /* late, or expired already */
    case 1: return now + sim_below(s, 7200) * SEC;
    default: return now - sim_below(s, 20) * SEC;
    }
}

static int any_mcpu(struct sim *s)
{
    switch (sim_below(s, 12)) {
    case 0: return -sim_below(s, 5000);
    case 1: return 1000000 + sim_below(s, 1000000);
    default: return sim_below(s, 2500);
    }
}

/* Pods that are on the node, were, or never existed. */
static void write_pods(struct sim *s, int node, struct strbuf *b)
{
    static const char *const classes[] = { "koord-prod", "koord-prod", "koord-batch", "", "x" };
    const char *comma = "";

    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *p = &s->pods[i];
        if (p->node != node ? !sim_chance(s, 3) : sim_chance(s, 15))
            continue;
        strbuf_appendf(b,
                       "%s{\"namespace\":\"ns\",\"name\":\"%s\",\"priority\":\"%s\",\"podUsage\":{"
                       "\"resources\":{",
                       comma, p->name, classes[sim_below(s, (int)ARRAY_LEN(classes))]);
        if (sim_chance(s, 90))
            strbuf_appendf(b, "\"cpu\":\"%dm\",\"memory\":\"%dMi\"", any_mcpu(s) / 4,
                           sim_below(s, 900));
        strbuf_append(b, "}}}");
        comma = ",";
    }
}

static void put_report(struct sim *s, int node)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char at[KTIME_TEXT_MAX];

    ktime_format(any_time(s), at);
    strbuf_append(&b, "{");
    if (sim_chance(s, 30))
        strbuf_appendf(&b, "\"spec\":{\"metricCollectPolicy\":{\"reportIntervalSeconds\":%d}},",
                       sim_below(s, 200));
    strbuf_append(&b, "\"status\":{");
    if (sim_chance(s, 95))
        strbuf_appendf(&b, "\"updateTime\":\"%s\",", at);
    if (sim_chance(s, 95))
        strbuf_appendf(&b,
                       "\"nodeMetric\":{\"nodeUsage\":{\"resources\":{\"cpu\":\"%dm\",\"memory\":"
                       "\"%dMi\"}}},",
                       any_mcpu(s), sim_below(s, 3000));
    strbuf_append(&b, "\"podsMetric\":[");
    if (sim_chance(s, 90))
        write_pods(s, node, &b);
    strbuf_append(&b, "]}}");
    fake_put(s->fake, REPORTS, s->nodes[node].name, strbuf_str(&b));
}

static void put_slo(struct sim *s, int node)
{
    char body[192];

    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"resourceUsedThresholdWithBE\":{\"enable\":%s,"
                   "\"memoryEvictThresholdPercent\":%d}}}",
                   sim_chance(s, 70) ? "true" : "false", 30 + sim_below(s, 70));
    fake_put(s->fake, SLOS, s->nodes[node].name, body);
}

static void forget(struct sim *s, const char *path, int node)
{
    if (fake_find(s->fake, path, s->nodes[node].name))
        fake_delete(s->fake, path, s->nodes[node].name);
}

void load_report(struct sim *s)
{
    int node = sim_below(s, SIM_NODES);

    if (sim_chance(s, 15))
        forget(s, REPORTS, node);
    else
        put_report(s, node);
    if (sim_chance(s, 10))
        put_slo(s, sim_below(s, SIM_NODES));
}

void load_calm(struct sim *s)
{
    for (int node = 0; node < SIM_NODES; node++) {
        forget(s, REPORTS, node);
        forget(s, SLOS, node);
    }
}

const char *load_annotation(struct sim *s)
{
    static const char *const texts[] = {
        "",
        "",
        "",
        "",
        "\"" ANNO_USAGE_THRESHOLDS "\":"
        "\"{\\\"usageThresholds\\\":{\\\"cpu\\\":40,\\\"memory\\\":80}}\",",
        "\"" ANNO_USAGE_THRESHOLDS "\":"
        "\"{\\\"prodUsageThresholds\\\":{\\\"cpu\\\":50}}\",",
        "\"" ANNO_USAGE_THRESHOLDS "\":\"{\\\"usageThresholds\\\":\",",
        "\"" ANNO_USAGE_THRESHOLDS "\":"
        "\"{\\\"usageThresholds\\\":{\\\"cpu\\\":0}}\",",
    };

    return texts[sim_below(s, (int)ARRAY_LEN(texts))];
}

/* ---- the end --------------------------------------------------------------------------------- */

static void judge_empty(struct sim_scheduler *of, struct loads *l)
{
    size_t it = 0;

    if (uidmap_next(&l->pods, &it))
        sim_fail(of->sim, "all pods are gone, and the load of some is known");
    map_foreach(&l->nodes, e) {
        struct load_node *n = e->value;
        for (int sum = LOAD_SUM_PROD_USAGE; sum < LOAD_SUMS; sum++)
            for (uint32_t r = 0; r < l->n; r++)
                if (load_sum(n, l, (enum load_sum)sum)[r] != 0)
                    sim_fail(of->sim, "all pods are gone, and sum %d of %s is %lld", sum, n->name,
                             (long long)load_sum(n, l, (enum load_sum)sum)[r]);
    }
}

/* Everybody goes, and nodes report all that they had. */
void load_judge_end(struct sim *s)
{
    for (int node = 0; node < SIM_NODES; node++)
        put_report(s, node);
    loop_advance(s->loop, 30 * SEC);
    churn_end_all(s);
    loop_advance(s->loop, 60 * SEC);
    vec_foreach(&s->schedulers, i) {
        struct sim_scheduler *of = s->schedulers.items[i];
        if (of->s && of->load)
            judge_empty(of, of->load->loads);
    }
}
