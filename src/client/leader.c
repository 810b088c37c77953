/* leader.c - leader election on coordination.k8s.io/v1 Lease. */
#include "client/leader.h"

#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

struct record { /* what the Lease says */
    char *version, *holder, *renew, *acquired;
    int64_t transitions;
    nsec_t duration;
};

struct leader {
    struct kube *kube;
    struct leader_opts o;
    char *ns, *name, *identity;
    const struct leader_handler *h;
    void *arg;
    const struct kind *kind;
    struct kube_call *call;
    struct timer *timer, *deadline; /* next round; when we must have renewed, while leading */
    struct record seen;
    char *reported; /* holder last told to on_new_leader */
    nsec_t seen_at; /* mono time when `seen` last changed */
    nsec_t sent_at; /* of the write under way */
    nsec_t renewed; /* mono time when our last successful write was sent */
    bool leading, releasing, release_sent;
    bool writing; /* the call under way is a write */
    void (*done)(void *arg);
    void *done_arg;
};

static void step(struct leader *ld);

static void set_str(char **p, const char *s)
{
    char *copy = xstrdup(s ? s : "");
    free(*p);
    *p = copy;
}

int leader_new(struct kube *k, const struct leader_opts *o, const struct leader_handler *h,
               void *arg, struct leader **ret, struct kerr *err)
{
    struct leader_opts d = *o;
    d.lease_duration = o->lease_duration ? o->lease_duration : 15 * NSEC_PER_SEC;
    d.renew_deadline = o->renew_deadline ? o->renew_deadline : 10 * NSEC_PER_SEC;
    d.retry_period = o->retry_period ? o->retry_period : 2 * NSEC_PER_SEC;
    if (d.lease_duration < NSEC_PER_SEC || d.retry_period <= 0)
        return kerr_set(err, -EINVAL, "leaseDuration must be at least 1s, retryPeriod positive");
    if (d.renew_deadline >= d.lease_duration)
        return kerr_set(err, -EINVAL, "leaseDuration must be greater than renewDeadline");
    if (d.renew_deadline <= d.retry_period + d.retry_period / 5)
        return kerr_set(err, -EINVAL, "renewDeadline must be greater than retryPeriod*1.2");
    if (str_empty(o->identity) || str_empty(o->name) || str_empty(o->ns))
        return kerr_set(err, -EINVAL, "namespace, name and identity are required");

    struct leader *ld = xnew0(struct leader);
    ld->kube = k;
    ld->o = d;
    ld->h = h;
    ld->arg = arg;
    ld->ns = xstrdup(o->ns);
    ld->name = xstrdup(o->name);
    ld->identity = xstrdup(o->identity);
    ld->kind = kind_find_gvk("coordination.k8s.io", "v1", "Lease");
    assert(ld->kind);
    *ret = ld;
    return 0;
}

static void record_fini(struct record *r)
{
    free(r->version);
    free(r->holder);
    free(r->renew);
    free(r->acquired);
    *r = (struct record){ 0 };
}

struct leader *leader_free(struct leader *ld)
{
    if (!ld)
        return NULL;
    kube_cancel(ld->call);
    timer_cancel(ld->timer);
    timer_cancel(ld->deadline);
    record_fini(&ld->seen);
    free(ld->reported);
    free(ld->ns);
    free(ld->name);
    free(ld->identity);
    free(ld);
    return NULL;
}

bool leader_is(const struct leader *ld)
{
    return ld->leading && loop_mono(ld->kube->loop) < ld->renewed + ld->o.renew_deadline;
}

const char *leader_holder(const struct leader *ld)
{
    return str_or(ld->seen.holder, "");
}

nsec_t leader_renewed(const struct leader *ld)
{
    return ld->renewed;
}

/* ---- being told and telling ---------------------------------------------------------------------
 */

static void stop_leading(struct leader *ld)
{
    ld->deadline = timer_cancel(ld->deadline);
    if (!ld->leading)
        return;
    ld->leading = false;
    KLOG_I(0, "Stopped leading", KV_S("lease", ld->name), KV_S("identity", ld->identity));
    if (ld->h->on_stopped)
        ld->h->on_stopped(ld->arg);
}

static void report_holder(struct leader *ld)
{
    const char *holder = str_or(ld->seen.holder, "");
    if (ld->reported && streq(ld->reported, holder))
        return;
    set_str(&ld->reported, holder);
    if (*holder && ld->h->on_new_leader)
        ld->h->on_new_leader(ld->arg, holder);
}

/* Remembers what the server says; the clock of a lease starts when it changed. */
static void observe(struct leader *ld, const struct kj_val *lease)
{
    const struct kj_val *spec = kj_get(lease, "spec");
    const char *version = kj_str_or(kj_path(lease, "metadata.resourceVersion"), "");
    const char *holder = kj_str_or(kj_get(spec, "holderIdentity"), "");
    const char *renew = kj_str_or(kj_get(spec, "renewTime"), "");
    struct record *s = &ld->seen;

    bool same = s->holder && streq(s->holder, holder) && streq(s->renew, renew);
    if (!same)
        ld->seen_at = loop_mono(ld->kube->loop);
    set_str(&s->version, version);
    set_str(&s->holder, holder);
    set_str(&s->renew, renew);
    set_str(&s->acquired, kj_str_or(kj_get(spec, "acquireTime"), ""));
    s->transitions = kj_i64_or(kj_get(spec, "leaseTransitions"), 0);
    s->duration = kj_i64_or(kj_get(spec, "leaseDurationSeconds"), 0) * NSEC_PER_SEC;
}

static bool is_ours(const struct leader *ld)
{
    return ld->seen.holder && streq(ld->seen.holder, ld->identity);
}

/* ---- one round: read, judge, write ----------------------------------------------------------- */

static bool is_too_late(const struct leader *ld)
{
    return loop_mono(ld->kube->loop) >= ld->renewed + ld->o.renew_deadline;
}

static void give_up(struct leader *ld)
{
    if (ld->leading)
        KLOG_W("Failed to renew the lease in time", KV_S("lease", ld->name));
    stop_leading(ld);
}

/* Calls under way may last longer than the lease: this one does not wait for them. */
static void on_deadline(struct loop *l, void *arg)
{
    struct leader *ld = arg;
    (void)l;
    ld->deadline = NULL;
    give_up(ld);
}

static void next_round(struct loop *l, void *arg)
{
    struct leader *ld = arg;
    (void)l;
    ld->timer = NULL;
    /* After a freeze the lease may have run out while we slept: say so before anything else. */
    if (is_too_late(ld))
        give_up(ld);
    step(ld);
}

static void wait_round(struct leader *ld)
{
    nsec_t wait = ld->o.retry_period;
    if (!ld->leading) {
        wait = loop_jitter(ld->kube->loop, wait, 1.2);
        /* When the lease of another runs out before that, it need not lie idle. */
        nsec_t left = ld->seen_at + ld->seen.duration - loop_mono(ld->kube->loop);
        if (!str_empty(ld->seen.holder) && !is_ours(ld) && left >= 0)
            wait = MIN(wait, left + NSEC_PER_MSEC);
    }
    ld->timer = loop_after(ld->kube->loop, wait, next_round, ld);
}

static void finish_release(struct leader *ld)
{
    if (ld->done)
        ld->done(ld->done_arg);
}

static void write_lease(struct leader *ld, bool create, bool release);

static void on_written(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct leader *ld = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    ld->call = NULL;
    ld->writing = false;
    bool good = !err && kj_parse_insitu(r->body, r->n, 0, &doc, NULL) == 0;
    if (ld->releasing) {
        if (good && !ld->release_sent) {
            observe(ld, kj_root(doc));
            write_lease(ld, false, true);
        } else {
            finish_release(ld);
        }
        return;
    }
    if (!good) {
        KLOG_I(4, "Failed to acquire or renew the lease", KV_S("lease", ld->name),
               KV_S("err", err ? err->text : "unreadable answer"));
        /* Somebody else wrote: our view is stale, read again next time. */
        free(take(ld->seen.version));
        wait_round(ld);
        return;
    }
    observe(ld, kj_root(doc));
    ld->renewed = ld->sent_at;
    if (is_too_late(ld)) {
        /* The answer is so old that the lease may be somebody else's by now. */
        report_holder(ld);
        give_up(ld);
        wait_round(ld);
        return;
    }
    timer_cancel(ld->deadline);
    ld->deadline =
        loop_after(ld->kube->loop, ld->renewed + ld->o.renew_deadline - loop_mono(ld->kube->loop),
                   on_deadline, ld);
    bool started = !ld->leading;
    ld->leading = true;
    report_holder(ld);
    wait_round(ld);
    if (started) {
        KLOG_I(0, "Started leading", KV_S("lease", ld->name), KV_S("identity", ld->identity));
        if (ld->h->on_started)
            ld->h->on_started(ld->arg);
    }
}

static void write_spec(struct leader *ld, struct kjw *w, bool release)
{
    char now[KTIME_TEXT_MAX];
    bool renewal = is_ours(ld);

    ktime_format_micro(loop_wall(ld->kube->loop), now);
    kjw_obj(w, "spec");
    kjw_str(w, "holderIdentity", release ? "" : ld->identity);
    kjw_i64(w, "leaseDurationSeconds", release ? 1 : ld->o.lease_duration / NSEC_PER_SEC);
    kjw_str(w, "renewTime", now);
    kjw_str(w, "acquireTime", renewal && *ld->seen.acquired ? ld->seen.acquired : now);
    kjw_i64(w, "leaseTransitions",
            ld->seen.version && !renewal ? ld->seen.transitions + 1 : ld->seen.transitions);
    kjw_end(w);
}

/* Creates the lease, or patches it on the condition that nobody else wrote in between. */
static void write_lease(struct leader *ld, bool create, bool release)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "coordination.k8s.io/v1");
    kjw_str(&w, "kind", "Lease");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", ld->name);
    kjw_str(&w, "namespace", ld->ns);
    if (!create)
        kjw_str(&w, "resourceVersion", ld->seen.version);
    kjw_end(&w);
    write_spec(ld, &w, release);
    kjw_end(&w);
    struct kube_req r = {
        .verb = create ? KUBE_CREATE : KUBE_PATCH,
        .kind = ld->kind,
        .ns = ld->ns,
        .name = create ? NULL : ld->name,
        .patch = KUBE_PATCH_MERGE,
        .body = body.data,
        .body_len = body.len,
        .timeout = ld->o.renew_deadline / 2,
        .no_retry = true,
    };
    ld->sent_at = loop_mono(ld->kube->loop);
    ld->writing = true;
    ld->release_sent = release;
    ld->call = kube_do(ld->kube, &r, on_written, ld);
}

static void on_read(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct leader *ld = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr bad = { 0 };

    ld->call = NULL;
    if (err && err->reason == KR_NOT_FOUND) {
        record_fini(&ld->seen);
        write_lease(ld, true, false);
        return;
    }
    if (!err && kj_parse_insitu(r->body, r->n, 0, &doc, &bad) < 0)
        err = &bad;
    if (err) {
        KLOG_I(2, "Failed to read the lease", KV_S("lease", ld->name), KV_S("err", err->text));
        wait_round(ld);
        return;
    }
    observe(ld, kj_root(doc));
    report_holder(ld);
    nsec_t runs_out = ld->seen_at + ld->seen.duration;
    bool held = *ld->seen.holder && !is_ours(ld) && loop_mono(ld->kube->loop) < runs_out;
    if (held) {
        stop_leading(ld);
        wait_round(ld);
    } else {
        write_lease(ld, false, false);
    }
}

static void step(struct leader *ld)
{
    if (ld->releasing)
        return;
    /* Nobody writes a lease that is held, so the leader renews without reading first. */
    if (ld->leading && ld->seen.version && is_ours(ld)) {
        write_lease(ld, false, false);
        return;
    }
    struct kube_req r = {
        .verb = KUBE_GET,
        .kind = ld->kind,
        .ns = ld->ns,
        .name = ld->name,
        .timeout = ld->o.renew_deadline / 2,
        .no_retry = true,
    };
    ld->call = kube_do(ld->kube, &r, on_read, ld);
}

void leader_start(struct leader *ld)
{
    step(ld);
}

static void release_done(struct loop *l, void *arg)
{
    struct leader *ld = arg;
    (void)l;
    ld->timer = NULL;
    finish_release(ld);
}

void leader_release(struct leader *ld, void (*done)(void *arg), void *arg)
{
    bool was_ours = leader_is(ld) && ld->seen.version && is_ours(ld);

    ld->timer = timer_cancel(ld->timer);
    ld->releasing = true;
    ld->done = done;
    ld->done_arg = arg;
    stop_leading(ld);
    /* A write under way may succeed: what there is to give back is known when it has ended. */
    if (ld->writing)
        return;
    ld->call = kube_cancel(ld->call);
    if (was_ours)
        write_lease(ld, false, true);
    else
        ld->timer = loop_after(ld->kube->loop, 0, release_done, ld);
}
