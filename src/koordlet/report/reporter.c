/* reporter.c - one request at a time, tried again with growing pauses. */
#include "koordlet/report/reporter.h"

#include <stdio.h>

#include "base/klog.h"
#include "component/metrics.h"
#include "loop/loop.h"

#define REQUEST_TIMEOUT (15 * NSEC_PER_SEC)
#define OVERLOAD_PAUSE  NSEC_PER_SEC
#define PAUSE_MAX       (60 * NSEC_PER_SEC)

static const struct metric_desc report_desc = {
    "koordlet_report_total", "Objects of this node written to the API server, by result.",
    METRIC_COUNTER, .labels = { "node", "object", "status" }
};

void reporter_init(struct reporter *r, const struct report_env *env, const struct reporter_ops *ops,
                   void *arg)
{
    *r = (struct reporter){
        .env = env,
        .ops = ops,
        .arg = arg,
        .backoff = { .initial = 100 * NSEC_PER_MSEC, .max = PAUSE_MAX, .factor = 3, .jitter = 0.2 },
    };
    r->reports = metrics_add(env->internal, &report_desc);
}

/* Nothing is shown of a node before its Node object is known. */
static void count(struct reporter *r, const char *status)
{
    if (snapshots_get(r->env->snapshots)->node)
        counter_inc(
            metric_counter(r->reports, METRIC_VALUES(r->env->node_name, r->ops->what, status)));
}

void reporter_fini(struct reporter *r)
{
    r->timer = timer_cancel(r->timer);
    r->call = kube_cancel(r->call);
}

static void on_time(struct loop *l, void *arg)
{
    struct reporter *r = arg;
    (void)l;
    r->timer = NULL;
    r->ops->run(r->arg);
}

void reporter_after(struct reporter *r, nsec_t delay)
{
    if (r->call)
        return;
    timer_cancel(r->timer);
    r->timer = loop_after(r->env->loop, delay, on_time, r);
}

void reporter_rest(struct reporter *r)
{
    reporter_after(r, r->rest);
}

void reporter_miss(struct reporter *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(r->missing, sizeof r->missing, fmt, ap);
    va_end(ap);
}

void reporter_complain(struct reporter *r, const struct kerr *err)
{
    reporter_miss(r, "%s", err->text);
    if (complaint_due(&r->complaint, loop_mono(r->env->loop)))
        KLOG_E(err, "Failed to report", KV_S("object", r->ops->what));
}

void reporter_well(struct reporter *r)
{
    r->missing[0] = '\0';
    if (complaint_over(&r->complaint))
        KLOG_I(0, "Reporting works again", KV_S("object", r->ops->what));
}

/* Somebody else was faster: at once again. Anything else may mean that the server has enough. */
static nsec_t pause_after(struct reporter *r, const struct kube_resp *resp, const struct kerr *err)
{
    nsec_t pause = backoff_next(&r->backoff, r->env->loop);

    if (err->reason != KR_CONFLICT)
        pause = MAX(pause, OVERLOAD_PAUSE);
    return MAX(pause, resp->retry_after);
}

static void on_done(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct reporter *r = arg;

    r->call = NULL;
    if (r->ops->done(r->arg, resp, err)) {
        backoff_reset(&r->backoff);
        count(r, "succeeded");
        if (!err)
            reporter_well(r);
        reporter_rest(r);
        return;
    }
    count(r, "failed");
    reporter_complain(r, err);
    reporter_after(r, pause_after(r, resp, err));
}

void reporter_send(struct reporter *r, struct kube_req req, const struct strbuf *body)
{
    req.name = req.verb == KUBE_CREATE ? NULL : r->env->node_name;
    req.body = body->data;
    req.body_len = body->len;
    req.timeout = REQUEST_TIMEOUT;
    req.no_retry = true; /* by then the numbers are old: we try again with new ones */
    r->call = kube_do(r->env->kube, &req, on_done, r);
}
