/* probe_event.c - Events about an object, through the recorder.
 *
 * Arguments     KIND KEY REASON MESSAGE    --count times; --different numbers the messages
 * Prints        asked=N written=N ...      what became of them, once nothing is left to do
 */
#include <stdio.h>

#include "client/events.h"
#include "loop/loop.h"
#include "json/kj.h"

#include "probe.h"

#define POLL_EVERY (50 * NSEC_PER_MSEC)
#define POLL_LIMIT (20 * NSEC_PER_SEC)

struct reporter {
    struct probe *p;
    const struct kind *kind;
    struct recorder *rec;
    struct kube_call *call;
    struct timer *poll;
    nsec_t until;
};

static void poll_end(struct loop *l, void *arg)
{
    struct reporter *r = arg;
    struct recorder_stats s = recorder_stats(r->rec);
    uint64_t settled = s.written + s.patched + s.suppressed + s.dropped + s.failed;

    r->poll = NULL;
    if (settled < s.asked && loop_mono(l) < r->until) {
        r->poll = loop_after(l, POLL_EVERY, poll_end, r);
        return;
    }
    printf("asked=%llu written=%llu patched=%llu folded=%llu suppressed=%llu dropped=%llu "
           "failed=%llu\n",
           (unsigned long long)s.asked, (unsigned long long)s.written,
           (unsigned long long)s.patched, (unsigned long long)s.folded,
           (unsigned long long)s.suppressed, (unsigned long long)s.dropped,
           (unsigned long long)s.failed);
    if (settled < s.asked || s.failed || s.dropped)
        r->p->status = 1;
    loop_stop(l);
}

static void record(struct reporter *r, const struct kobj *obj)
{
    const struct probe_opts *o = &r->p->o;
    const char *reason = o->words[2], *message = o->words[3];
    int64_t count = o->count ? o->count : 1;

    for (int64_t i = 1; i <= count; i++) {
        if (o->different)
            recorder_event_on(r->rec, obj, o->warning, reason, o->action, "%s %lld", message,
                              (long long)i);
        else
            recorder_event_on(r->rec, obj, o->warning, reason, o->action, "%s", message);
    }
    r->until = loop_mono(r->p->loop) + POLL_LIMIT;
    r->poll = loop_after(r->p->loop, POLL_EVERY, poll_end, r);
}

static void on_object(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct reporter *r = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(r->p->strings);
    CLEANUP(kobj_unref) struct kobj *obj = NULL;
    struct kerr bad = { 0 };

    r->call = NULL;
    if (!err && (kj_parse_insitu(resp->body, resp->n, 0, &doc, &bad) < 0 ||
                 kobj_decode(r->kind, kj_root(doc), scratch, &obj, &bad) < 0))
        err = &bad;
    if (err) {
        (void)fprintf(stderr, "kube_probe: %s\n", err->text);
        r->p->status = 1;
        loop_stop(r->p->loop);
        return;
    }
    record(r, obj);
}

static int start(struct probe *p, void **ret_state, struct kerr *err)
{
    const char *const *w = p->o.words;
    struct reporter *r = xnew0(struct reporter);
    struct recorder_opts o = {
        .component = "kube-probe",
        .instance = "kube-probe-1",
        .series = p->o.series,
    };

    *ret_state = r;
    r->p = p;
    if (!w[0] || !w[1] || !w[2] || !w[3])
        return kerr_set(err, -EINVAL, "expected KIND KEY REASON MESSAGE");
    if (probe_find_kind(w[0], &r->kind, err) < 0)
        return err->code;
    const char *slash = strchr(w[1], '/');
    CLEANUP(mem_free)
    char *ns = slash ? xstrndup(w[1], (size_t)(slash - w[1])) : xstrdup(p->config_ns);
    struct kube_req q = {
        .verb = KUBE_GET,
        .kind = r->kind,
        .ns = ns,
        .name = slash ? slash + 1 : w[1],
    };
    r->rec = recorder_new(p->kube, &o);
    r->call = kube_do(p->kube, &q, on_object, r);
    return 0;
}

static void end(void *state)
{
    struct reporter *r = state;
    if (!r)
        return;
    kube_cancel(r->call);
    timer_cancel(r->poll);
    recorder_free(r->rec);
    free(r);
}

const struct probe_verb probe_event = { "event", start, end };
