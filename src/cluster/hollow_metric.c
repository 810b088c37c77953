/* hollow_metric.c - NodeMetric of a hollow node, as koordlet would publish it.
 *
 * What pods and the node use is what the model of contention gave them at the last reading
 * (hollow_usage.c); percentiles over a window are those of the readings that are kept, half an hour
 * of them. A NodeMetric that somebody else reports (a real koordlet took over a node of this name)
 * is left alone.
 */
#include <stdio.h>

#include "api/koord/nodemetric.h"
#include "api/protocol/pod_protocol.h"
#include "base/ktime.h"
#include "cluster/hollow.h"

#define REPORT_EVERY (60 * NSEC_PER_SEC)
#define FOREIGN_FOR  (600 * NSEC_PER_SEC)

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
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The latest readings of a window, sorted. At least one: the report itself took one. */
static uint32_t pick(const struct hreadings *r, const uint32_t *values, nsec_t window,
                     uint32_t out[static READINGS_MAX])
{
    nsec_t fit = MAX(window / READING_EVERY, (nsec_t)1);
    uint32_t n = (uint32_t)MIN(fit, (nsec_t)r->n);

    for (uint32_t i = 0; i < n; i++)
        out[i] = values[(r->next + READINGS_MAX - 1 - i) % READINGS_MAX];
    qsort(out, n, sizeof *out, by_number);
    return n;
}

static int64_t mean(const uint32_t *values, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += values[i];
    return n ? sum / n : 0;
}

static void write_aggregate(struct kjw *w, const struct hnode *n, nsec_t window)
{
    static const struct {
        const char *name;
        uint32_t percent;
    } kinds[] = { { "p50", 50 }, { "p90", 90 }, { "p95", 95 }, { "p99", 99 } };
    uint32_t cpu[READINGS_MAX], kib[READINGS_MAX];
    uint32_t count = pick(&n->readings, n->readings.mcpu, window, cpu);
    char text[KTIME_TEXT_MAX];

    pick(&n->readings, n->readings.kib, window, kib);
    kjw_obj(w, NULL);
    kjw_obj(w, "usage");
    write_usage(w, "avg", (struct load_usage){ mean(cpu, count), mean(kib, count) << 10 });
    for (size_t i = 0; i < ARRAY_LEN(kinds) && count; i++) {
        uint32_t at = MIN(count * kinds[i].percent / 100, count - 1);
        write_usage(w, kinds[i].name, (struct load_usage){ cpu[at], (int64_t)kib[at] << 10 });
    }
    kjw_end(w);
    size_t len = kdur_format(window, text);
    kjw_strn(w, "duration", text, len);
    kjw_end(w);
}

static void write_aggregates(struct kjw *w, const struct hnode *n, const struct nodemetric *nm)
{
    static const nsec_t usual[] = { 300 * NSEC_PER_SEC, 600 * NSEC_PER_SEC, 1800 * NSEC_PER_SEC };
    const struct node_aggregate_policy *policy =
        nm && nm->collect_policy ? nm->collect_policy->node_aggregate_policy : NULL;
    const nsec_t *windows = policy && policy->durations_ns.n ? policy->durations_ns.items : usual;
    size_t count = policy && policy->durations_ns.n ? policy->durations_ns.n : ARRAY_LEN(usual);

    kjw_arr(w, "aggregatedNodeUsages");
    for (size_t i = 0; i < count && i < 8; i++)
        if (windows[i] > 0)
            write_aggregate(w, n, windows[i]);
    kjw_end(w);
}

/* What prod pods asked for and, by their peaks of the last half hour or less, will not use. */
static struct load_usage reclaimable(const struct hnode *n)
{
    struct load_usage sum = { 0 };
    vec_foreach(&n->pods, i) {
        const struct hpod *hp = n->pods.items[i];
        const struct husage *u = &hp->usage;
        if (!husage_runs(hp) || !hp->demand.prod)
            continue;
        int64_t mcpu = MAX(u->peak_mcpu[0], u->peak_mcpu[1]);
        int64_t bytes = MAX(u->peak_bytes[0], u->peak_bytes[1]);
        sum.mcpu += MAX(hp->demand.request_mcpu - mcpu * 11 / 10, (int64_t)0);
        sum.bytes += MAX(hp->demand.request_bytes - bytes / 10 * 11, (int64_t)0);
    }
    return sum;
}

static void write_pods(struct kjw *w, const struct hnode *n)
{
    kjw_arr(w, "podsMetric");
    vec_foreach(&n->pods, i) {
        const struct hpod *hp = n->pods.items[i];
        struct kobj *o = husage_runs(hp) ? informer_get(n->h->pod_cache, hp->key) : NULL;
        if (!o)
            continue;
        kjw_obj(w, NULL);
        kjw_str(w, "name", o->meta.name);
        kjw_str(w, "namespace", o->meta.ns);
        kjw_str(w, "priority", priority_class_name(pod_priority_class(pod_of(o))));
        kjw_str(w, "qos", qos_class_name(pod_qos_class(pod_of(o))));
        write_usage(w, "podUsage", hp->usage.now);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_status(struct hnode *n, const struct nodemetric *nm, nsec_t now,
                         struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    husage_read(n);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    kjw_time(&w, "updateTime", now);
    kjw_obj(&w, "nodeMetric");
    write_usage(&w, "nodeUsage", n->use);
    write_usage(&w, "systemUsage", n->system);
    write_aggregates(&w, n, nm);
    kjw_end(&w);
    write_pods(&w, n);
    kjw_obj(&w, "prodReclaimableMetric");
    write_usage(&w, "resource", reclaimable(n));
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}

/* ---- reporting ----------------------------------------------------------------------------- */

static bool on_reported(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)b, (void)r, (void)arg;
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
                    ? nsec_after(0, MAX(nm->collect_policy->report_interval_seconds.v, (int64_t)1))
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
            write_status(n, nm, now, &body);
            /* Before the answer: it may get lost, and what is stored then is still ours. */
            n->metric_written = now / NSEC_PER_SEC;
            batch_patch(b, o, "status", KUBE_PATCH_MERGE, &body, on_reported, NULL);
        }
    }
}
