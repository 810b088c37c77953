/* hollow_metric.c - NodeMetric of a hollow node, as koordlet would publish it.
 *
 * A load profile is a function of time, so nothing is recorded: percentiles over a window are
 * computed from readings of the function. A NodeMetric that somebody else reports (a real koordlet
 * took over a node of this name) is left alone.
 */
#include <stdio.h>

#include "api/koord/nodemetric.h"
#include "api/podresources.h"
#include "api/protocol/pod_protocol.h"
#include "base/ktime.h"
#include "base/num.h"
#include "cluster/hollow.h"

#define REPORT_EVERY (60 * NSEC_PER_SEC)
#define FOREIGN_FOR  (600 * NSEC_PER_SEC)
enum { READINGS = 24 };

struct metered { /* a pod that runs */
    const struct pod *p;
    struct load load;
    uint64_t seed;
    nsec_t from;
    int64_t limit_mcpu, limit_bytes; /* 0: none */
    int64_t request_mcpu, request_bytes;
};
typedef struct vec_of(struct metered) meteredvec;

/* ---- who uses what ------------------------------------------------------------------------- */

/* Without a profile: a third of the cpu and half of the memory that was asked for. */
static struct load default_load(const struct metered *m)
{
    return (struct load){
        .kind = LOAD_CONSTANT,
        .low_mcpu = m->request_mcpu ? m->request_mcpu * 3 / 10 : 50,
        .low_bytes = m->request_bytes ? m->request_bytes / 2 : 64 << 20,
        .noise = 0.1,
    };
}

/* cpu or memory, by whichever name the pod's class has for it; 0: it has none. */
static int64_t count(const reslist *l, const char *name)
{
    for (unsigned c = PRIO_PROD; c <= PRIO_BATCH; c++) {
        const char *of_class = resource_of_class((enum priority_class)c, name);
        if (reslist_has(l, of_class))
            return resource_count(of_class, reslist_get(l, of_class));
    }
    return 0;
}

static void meter(const struct hnode *n, const struct hpod *hp, struct arena *a, meteredvec *out)
{
    struct kobj *o = informer_get(n->h->pod_cache, hp->key);
    struct metered m = { 0 };
    struct kerr err;

    if (!o || (hp->stage != H_STARTED && hp->stage != H_READY))
        return;
    m.p = pod_of(o);
    m.seed = hp->seed;
    m.from = hp->started_at;
    reslist limits = pod_limits(m.p, NULL, a), requests = pod_requests(m.p, NULL, a);
    m.limit_mcpu = count(&limits, "cpu");
    m.limit_bytes = count(&limits, "memory");
    m.request_mcpu = count(&requests, "cpu");
    m.request_bytes = count(&requests, "memory");
    const char *text = meta_annotation(o, ANNO_LOAD);
    m.load = default_load(&m);
    if (*text && load_parse(text, &m.load, &err) < 0)
        recorder_event_on(n->h->c->events, o, true, "InvalidLoadProfile", NULL,
                          "annotation " ANNO_LOAD ": %s", err.text);
    vec_push(out, m);
}

static struct load_usage usage_at(const struct metered *m, nsec_t wall)
{
    struct load_usage u = { 0 };
    if (wall < m->from)
        return u;
    u = load_at(&m->load, m->seed, wall);
    if (m->limit_mcpu)
        u.mcpu = MIN(u.mcpu, m->limit_mcpu);
    if (m->limit_bytes)
        u.bytes = MIN(u.bytes, m->limit_bytes);
    return u;
}

/* Kernel, runtime, agents: two percent and half a gigabyte, about. */
static struct load_usage system_at(const struct hnode *n, nsec_t wall)
{
    struct load l = { .kind = LOAD_CONSTANT,
                      .low_mcpu = n->shape->mcpu / 50,
                      .low_bytes = MIN(n->shape->memory_bytes / 20, INT64_C(1) << 29),
                      .noise = 0.2 };
    return load_at(&l, n->h->o.seed + n->index, wall);
}

static struct load_usage node_at(const struct hnode *n, const meteredvec *pods, nsec_t wall)
{
    struct load_usage sum = system_at(n, wall);
    vec_foreach(pods, i) {
        struct load_usage u = usage_at(&pods->items[i], wall);
        sum.mcpu += u.mcpu;
        sum.bytes += u.bytes;
    }
    sum.mcpu = MIN(sum.mcpu, n->shape->mcpu);
    sum.bytes = MIN(sum.bytes, n->shape->memory_bytes);
    return sum;
}

/* ---- the document -------------------------------------------------------------------------- */

static void write_usage(struct kjw *w, const char *key, struct load_usage u)
{
    char text[QTY_TEXT_MAX];
    size_t n;

    kjw_obj(w, key);
    kjw_obj(w, "resources");
    n = qty_print(qty_from_milli(u.mcpu, QTY_DECIMAL_SI), text);
    kjw_strn(w, "cpu", text, n);
    n = qty_print(qty_from_i64(u.bytes, QTY_BINARY_SI), text);
    kjw_strn(w, "memory", text, n);
    kjw_end(w);
    kjw_end(w);
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void write_aggregate(struct kjw *w, const struct hnode *n, const meteredvec *pods,
                            nsec_t now, nsec_t window)
{
    static const struct {
        const char *name;
        int percent;
    } kinds[] = { { "p50", 50 }, { "p90", 90 }, { "p95", 95 }, { "p99", 99 } };
    int64_t cpu[READINGS], mem[READINGS];
    struct load_usage avg = { 0 };
    char text[KTIME_TEXT_MAX];

    for (int i = 0; i < READINGS; i++) {
        struct load_usage u = node_at(n, pods, now - window * i / READINGS);
        cpu[i] = u.mcpu;
        mem[i] = u.bytes;
        avg.mcpu += u.mcpu;
        avg.bytes += u.bytes / READINGS;
    }
    avg.mcpu /= READINGS;
    qsort(cpu, READINGS, sizeof *cpu, by_number);
    qsort(mem, READINGS, sizeof *mem, by_number);
    kjw_obj(w, NULL);
    kjw_obj(w, "usage");
    write_usage(w, "avg", avg);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        int at = MIN(READINGS * kinds[i].percent / 100, READINGS - 1);
        write_usage(w, kinds[i].name, (struct load_usage){ cpu[at], mem[at] });
    }
    kjw_end(w);
    size_t len = kdur_format(window, text);
    kjw_strn(w, "duration", text, len);
    kjw_end(w);
}

static void write_aggregates(struct kjw *w, const struct hnode *n, const meteredvec *pods,
                             nsec_t now, const struct nodemetric *nm)
{
    static const nsec_t usual[] = { 300 * NSEC_PER_SEC, 600 * NSEC_PER_SEC, 1800 * NSEC_PER_SEC };
    const struct node_aggregate_policy *policy =
        nm && nm->collect_policy ? nm->collect_policy->node_aggregate_policy : NULL;
    const nsec_t *windows = policy && policy->durations_ns.n ? policy->durations_ns.items : usual;
    size_t count = policy && policy->durations_ns.n ? policy->durations_ns.n : ARRAY_LEN(usual);

    kjw_arr(w, "aggregatedNodeUsages");
    for (size_t i = 0; i < count && i < 8; i++)
        if (windows[i] > 0)
            write_aggregate(w, n, pods, now, windows[i]);
    kjw_end(w);
}

/* What prod pods asked for and, by their profiles' peaks of the last half hour, will not use. */
static struct load_usage reclaimable(const meteredvec *pods, nsec_t now)
{
    struct load_usage sum = { 0 };
    vec_foreach(pods, i) {
        const struct metered *m = &pods->items[i];
        struct load_usage peak = { 0 };
        if (pod_priority_class(m->p) != PRIO_PROD)
            continue;
        for (int k = 0; k < READINGS; k++) {
            struct load_usage u = usage_at(m, now - k * 75 * NSEC_PER_SEC);
            peak.mcpu = MAX(peak.mcpu, u.mcpu);
            peak.bytes = MAX(peak.bytes, u.bytes);
        }
        sum.mcpu += MAX(m->request_mcpu - peak.mcpu * 11 / 10, (int64_t)0);
        sum.bytes += MAX(m->request_bytes - peak.bytes / 10 * 11, (int64_t)0);
    }
    return sum;
}

static void write_pods(struct kjw *w, const meteredvec *pods, nsec_t now)
{
    kjw_arr(w, "podsMetric");
    vec_foreach(pods, i) {
        const struct pod *p = pods->items[i].p;
        kjw_obj(w, NULL);
        kjw_str(w, "name", p->obj.meta.name);
        kjw_str(w, "namespace", p->obj.meta.ns);
        kjw_str(w, "priority", priority_class_name(pod_priority_class(p)));
        kjw_str(w, "qos", qos_class_name(pod_qos_class(p)));
        write_usage(w, "podUsage", usage_at(&pods->items[i], now));
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_status(const struct hnode *n, const struct nodemetric *nm, nsec_t now,
                         struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kjw w = kjw_to(out);
    meteredvec pods = { 0 };

    vec_foreach(&n->pods, i)
        meter(n, n->pods.items[i], a, &pods);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    kjw_time(&w, "updateTime", now);
    kjw_obj(&w, "nodeMetric");
    write_usage(&w, "nodeUsage", node_at(n, &pods, now));
    write_usage(&w, "systemUsage", system_at(n, now));
    write_aggregates(&w, n, &pods, now, nm);
    kjw_end(&w);
    write_pods(&w, &pods, now);
    kjw_obj(&w, "prodReclaimableMetric");
    write_usage(&w, "resource", reclaimable(&pods, now));
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&pods);
}

/* ---- reporting ----------------------------------------------------------------------------- */

struct reporting {
    struct hnode *n;
    nsec_t at;
};

static bool on_reported(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct reporting *x = arg;
    (void)b, (void)r;
    if (!err)
        x->n->metric_written = x->at / NSEC_PER_SEC;
    return !err || err->reason == KR_NOT_FOUND;
}

static bool on_made(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)r, (void)arg;
    /* No such kind here: ask again much later. */
    if (err && err->reason == KR_NOT_FOUND)
        batch_again(b, 60 * NSEC_PER_SEC);
    else
        batch_again(b, NSEC_PER_SEC);
    return err && (err->reason == KR_ALREADY_EXISTS || err->reason == KR_NOT_FOUND);
}

/* Reported by somebody else, and not long ago. */
static bool is_foreign(const struct hnode *n, const struct nodemetric *nm, nsec_t now)
{
    nsec_t theirs = nm->status.update_time;
    return theirs && n->metric_written && theirs / NSEC_PER_SEC > n->metric_written &&
           now - theirs < FOREIGN_FOR;
}

void hmetric_sync(void *arg, struct batch *b, const char *node, struct kobj *o)
{
    struct hollow *h = arg;
    struct hnode *n = map_getz(&h->by_name, node);
    const struct nodemetric *nm = o ? nodemetric_of(o) : NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    nsec_t now = loop_wall(h->c->loop), every = h->o.metrics_interval;

    if (!every)
        every = nm && nm->collect_policy && nm->collect_policy->report_interval_seconds.set
                    ? MAX(nm->collect_policy->report_interval_seconds.v, (int64_t)1) * NSEC_PER_SEC
                    : REPORT_EVERY;
    if (n->gone)
        return;
    if (!n->registered) {
        batch_again(b, NSEC_PER_SEC);
    } else if (!nm) {
        strbuf_appendf(&body,
                       "{\"apiVersion\":\"slo.koordinator.sh/v1alpha1\",\"kind\":\"NodeMetric\","
                       "\"metadata\":{\"name\":\"%s\"},\"spec\":{}}",
                       node);
        batch_create(b, &kind_nodemetric, NULL, &body, on_made, NULL);
    } else {
        batch_again(b, every);
        if (!is_foreign(n, nm, now)) {
            struct reporting *x = arena_new0(batch_arena(b), struct reporting);
            *x = (struct reporting){ n, now };
            write_status(n, nm, now, &body);
            batch_patch(b, o, "status", KUBE_PATCH_MERGE, &body, on_reported, x);
        }
    }
}
