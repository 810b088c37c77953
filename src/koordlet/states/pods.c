/* pods.c - the pods of the node, asked of the kubelet in rounds, or of the API server where there
 * is none.
 *
 * The answer is cut into pods while it arrives; a pod whose text is known is taken over as it is,
 * so a round in which nothing changed decodes nothing and keeps one pod's text at a time.
 */
#include <malloc.h>

#include "base/klog.h"
#include "client/kube.h"
#include "component/metrics.h"
#include "koordlet/states/states_int.h"
#include "loop/loop.h"
#include "json/kj.h"

#define PODS_PATH "/pods/"
enum {
    PODS_MAX = 20000,
    ASK_QPS = 5,
    ASK_BURST = 10,
    TRIM_FROM = 16, /* so many pods decoded in one round: worth giving memory back */
};

static const struct metric_desc failures_desc = {
    .name = "koordlet_kubelet_failures_total",
    .help = "Rounds in which the kubelet gave no usable answer.",
    .type = METRIC_COUNTER,
    .labels = { "path" },
};

/* ---- one round ------------------------------------------------------------------------------- */

static void round_fini(struct pods *p)
{
    vec_foreach(&p->incoming, i)
        npod_unref(p->incoming.items[i]);
    vec_fini(&p->incoming);
    listsplit_fini(&p->cut);
    p->cut = (struct listsplit){ 0 };
    p->fresh = 0;
    p->err = (struct kerr){ 0 };
}

/* A pod that we cannot read does not spoil the others; its last good form stays. */
static void odd_pod(struct states *s, const struct kj_val *item, const struct kerr *err)
{
    struct pods *p = &s->pods;
    const char *uid = kj_str_or(kj_path(item, "metadata.uid"), "");
    const struct npod *old = podset_find(states_now(s)->pods, uid);

    if (complaint_due(&p->odd_pod, loop_mono(s->env.loop)))
        KLOG_E(err, "Cannot decode a pod from the kubelet, keeping its last valid state",
               KV_S("pod", kj_str_or(kj_path(item, "metadata.name"), "")),
               KV_B("known", old != NULL));
    if (p->failures)
        counter_inc(metric_counter(p->failures, METRIC_VALUES(PODS_PATH)));
    if (old)
        vec_push(&p->incoming, npod_ref((struct npod *)(uintptr_t)old));
}

static int fresh_pod(struct states *s, char *text, size_t n, uint64_t stamp, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct pods *p = &s->pods;
    struct kerr odd = { 0 };
    struct npod *pod;

    int r = kj_parse_insitu(text, n, 0, &doc, err);
    if (r < 0)
        return kerr_wrap(err, "item %zu", p->incoming.n);
    if (npod_decode(kj_root(doc), stamp, p->driver, kube_scratch(s->env.kube), &pod, &odd) < 0) {
        odd_pod(s, kj_root(doc), &odd);
        return 0;
    }
    p->fresh++;
    vec_push(&p->incoming, pod);
    return 0;
}

static int on_item(void *arg, char *text, size_t n, struct kerr *err)
{
    struct states *s = arg;
    struct pods *p = &s->pods;
    uint64_t stamp = hash_bytes(text, n);

    if (p->incoming.n >= PODS_MAX)
        return kerr_set(err, -E2BIG, "more than %d pods", PODS_MAX);
    struct npod *same = map_get(&p->by_stamp, (const char *)&stamp, sizeof stamp);
    if (!same)
        return fresh_pod(s, text, n, stamp, err);
    vec_push(&p->incoming, npod_ref(same));
    return 0;
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    struct states *s = arg;
    struct pods *p = &s->pods;

    if (p->err.code == 0) /* what follows nonsense is not looked at */
        listsplit_feed(&p->cut, bytes, n, on_item, s, &p->err);
}

/* ---- its end --------------------------------------------------------------------------------- */

static void set_swap(struct states *s, struct podset *set)
{
    struct pods *p = &s->pods;
    struct podset *known = states_now(s)->pods;
    CLEANUP(podset_unref) struct podset *old = known ? podset_ref(known) : NULL;

    map_fini(&p->by_stamp);
    map_reserve(&p->by_stamp, set->n);
    for (uint32_t i = 0; i < set->n; i++)
        map_put(&p->by_stamp, (const char *)&set->pods[i]->stamp, sizeof set->pods[i]->stamp,
                set->pods[i]);
    pod_gauges_update(s, old, set);
    snapshots_set_pods(s->env.snapshots, set);
}

static void round_failed(struct states *s, const struct kerr *err)
{
    struct pods *p = &s->pods;
    const struct podset *known = states_now(s)->pods;

    p->problem = *err;
    p->ended_badly = true;
    if (p->failures)
        counter_inc(metric_counter(p->failures, METRIC_VALUES(PODS_PATH)));
    if (complaint_due(&p->complaint, loop_mono(s->env.loop)))
        KLOG_E(err, "Failed to get the pods of the node; the known ones stay",
               KV_I("known", known ? known->n : 0));
}

/* true: there is a set to work with, new or old. */
static bool round_take(struct states *s, struct kerr *err)
{
    struct pods *p = &s->pods;
    const struct podset *known = states_now(s)->pods;
    bool trim = p->fresh >= TRIM_FROM;

    if (p->err.code == 0)
        listsplit_end(&p->cut, &p->err);
    if (p->err.code < 0) {
        *err = p->err;
        kerr_wrap(err, "answer to " PODS_PATH);
        return false;
    }
    /* A kubelet that has just started knows no pods yet. */
    if (p->incoming.n == 0 && !s->o.no_kubelet) {
        kerr_set(err, -ENODATA, "the kubelet knows no pods");
        return false;
    }
    if (known && p->fresh == 0 && p->incoming.n == known->n)
        return true; /* all of them are known, and none is missing */
    struct podset *set = podset_new(p->incoming.items, p->incoming.n);
    p->incoming = (struct incoming){ 0 };
    set_swap(s, set);
    if (trim)
        (void)malloc_trim(0);
    return true;
}

static void arm(struct states *s);

static void on_end(void *arg, const struct kerr *http_err)
{
    struct states *s = arg;
    struct pods *p = &s->pods;
    struct kerr err = http_err ? *http_err : (struct kerr){ 0 };

    p->call = NULL;
    bool good = !http_err && round_take(s, &err);
    round_fini(p);
    if (good) {
        if (complaint_over(&p->complaint))
            KLOG_I(0, "Listing the node's pods works again", KV_I("pods", states_now(s)->pods->n));
        s->configz.wanted |= p->ended_badly; /* it may have been restarted */
        p->ended_badly = false;
        p->problem = (struct kerr){ 0 };
        configz_check(s);
        if (s->o.volume_names)
            volumes_update(s);
    } else {
        round_failed(s, &err);
    }
    arm(s);
    if (p->again) {
        p->again = false;
        pods_ask(s);
    }
}

static const struct kubelet_handler handler = { on_data, on_end };

static void on_list(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct states *s = arg;

    s->pods.api_call = NULL;
    if (!err)
        on_data(s, r->body, r->n);
    on_end(s, err);
}

static bool is_asking(const struct pods *p)
{
    return p->call || p->api_call;
}

static void ask_api(struct states *s)
{
    CLEANUP(mem_free) char *selector = xasprintf("spec.nodeName=%s", s->o.node_name);
    const struct kube_req r = { .verb = KUBE_LIST,
                                .kind = &kind_pod,
                                .field_selector = selector,
                                .timeout = s->o.kubelet_sync_timeout };

    s->pods.api_call = kube_do(s->env.kube, &r, on_list, s);
}

/* ---- when ------------------------------------------------------------------------------------ */

static void on_timer(struct loop *l, void *arg)
{
    struct states *s = arg;

    (void)l;
    s->pods.timer = NULL;
    pods_sync(s);
}

static void arm(struct states *s)
{
    timer_cancel(s->pods.timer);
    s->pods.timer = loop_after(s->env.loop, s->o.kubelet_sync_interval, on_timer, s);
}

/* Where the pods' cgroups are depends on the driver: with another one nothing known is good. */
static void follow_driver(struct states *s)
{
    struct pods *p = &s->pods;
    struct kerr not_yet = { 0 };

    if (!s->env.host->driver_known)
        (void)host_detect_driver(s->env.host, &not_yet);
    if (p->driver == s->env.host->driver)
        return;
    p->driver = s->env.host->driver;
    map_fini(&p->by_stamp);
}

void pods_sync(struct states *s)
{
    struct pods *p = &s->pods;

    if (s->o.kubelet_sync_interval <= 0 || is_asking(p))
        return;
    if (!s->o.no_kubelet && !kubelet_is_aimed(s->kubelet)) {
        arm(s);
        return;
    }
    p->timer = timer_cancel(p->timer);
    follow_driver(s);
    if (s->o.no_kubelet)
        ask_api(s);
    else
        p->call = kubelet_get(s->kubelet, PODS_PATH, &handler, s);
}

static void on_asked(struct loop *l, void *arg)
{
    struct states *s = arg;

    (void)l;
    s->pods.asked = NULL;
    if (is_asking(&s->pods))
        s->pods.again = true;
    else
        pods_sync(s);
}

void pods_ask(struct states *s)
{
    struct pods *p = &s->pods;

    if (p->asked || p->again)
        return;
    if (is_asking(p)) {
        p->again = true; /* the answer under way may have missed it */
        return;
    }
    p->asked =
        loop_after(s->env.loop, bucket_take(&p->bucket, loop_mono(s->env.loop)), on_asked, s);
}

/* ---- life ------------------------------------------------------------------------------------ */

void pods_init(struct states *s)
{
    bucket_init(&s->pods.bucket, ASK_QPS, ASK_BURST, loop_mono(s->env.loop));
    s->pods.driver = s->env.host->driver;
    if (s->env.internal)
        s->pods.failures = metrics_add(s->env.internal, &failures_desc);
    pod_gauges_init(s);
}

void pods_fini(struct states *s)
{
    struct pods *p = &s->pods;

    p->call = kubelet_cancel(p->call);
    p->api_call = kube_cancel(p->api_call);
    p->timer = timer_cancel(p->timer);
    p->asked = timer_cancel(p->asked);
    round_fini(p);
    map_fini(&p->by_stamp);
}
