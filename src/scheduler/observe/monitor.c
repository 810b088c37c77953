/* monitor.c - finds pods whose attempt or binding takes too long. */
#include "scheduler/observe/monitor.h"

#include "api/pod.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"

struct monitor {
    struct scheduler *s;
    nsec_t period, timeout;
    struct timer *timer;
};

struct monitor *monitor_new(struct scheduler *s, nsec_t period, nsec_t timeout)
{
    struct monitor *m = xnew0(struct monitor);
    *m = (struct monitor){ .s = s, .period = period, .timeout = timeout };
    return m;
}

struct monitor *monitor_free(struct monitor *m)
{
    if (!m)
        return NULL;
    timer_cancel(m->timer);
    free(m);
    return NULL;
}

static void complain(const struct monitor *m, const struct kobj *pod, nsec_t took)
{
    const struct active_profile *active = scheduler_profile(m->s, pod_of(pod));
    char uid[KUID_TEXT_MAX], d[KTIME_TEXT_MAX], limit[KTIME_TEXT_MAX];

    kuid_format(pod->meta.uid, uid, sizeof uid);
    d[kdur_format(took, d)] = '\0';
    limit[kdur_format(m->timeout, limit)] = '\0';
    CLEANUP(mem_free)
    char *text = xasprintf("!!!CRITICAL TIMEOUT!!! scheduling pod %s/%s(%s) took longer (%s) than "
                           "the timeout %s",
                           pod->meta.ns, pod->meta.name, uid, d, limit);
    KLOG_W(text);
    if (active)
        smetrics_late(active->metrics);
}

static void check(const struct monitor *m, struct kuid uid)
{
    struct podqueue_info info;
    struct kobj *pod;

    if (podqueue_find(m->s->queue, uid, &pod) != PODQUEUE_IN_FLIGHT ||
        !podqueue_info(m->s->queue, uid, &info))
        return;
    nsec_t took = loop_mono(m->s->loop) - info.popped;
    if (m->timeout && took > m->timeout)
        complain(m, pod, took);
}

static void on_period(struct loop *l, void *arg)
{
    struct monitor *m = arg;
    const struct kobj *pod;

    (void)l;
    m->timer = NULL;
    for (size_t it = 0; (pod = podqueue_next(m->s->queue, &it));)
        check(m, pod->meta.uid);
    if (podqueue_count(m->s->queue, PODQUEUE_IN_FLIGHT))
        monitor_began(m);
}

void monitor_began(struct monitor *m)
{
    if (!m->timer && m->period && m->timeout)
        m->timer = loop_after(m->s->loop, m->period, on_period, m);
}

void monitor_ended(struct monitor *m, struct kuid uid)
{
    check(m, uid);
}
