/* cycle.c - one attempt: filter all nodes, score the candidates, take one (scheduler-core 5). */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "loop/loop.h"
#include "scheduler/internal.h"

static void describe(const struct scheduler *s, struct kobj *obj, struct ks_pod *ret)
{
    struct podreq req;

    podreq_placed(pod_of(obj), s->arena, &req);
    for (uint32_t i = 0; i < req.nmore; i++)
        req.more[i].column = nodecache_column(s->cache, req.more[i].name);
    *ret = (struct ks_pod){
        .pod = pod_of(obj),
        .score_mcpu = req.mcpu_nz,
        .score_memory = req.memory_nz,
        .more = req.more,
        .nmore = req.nmore,
    };
    memcpy(ret->request, req.fixed, sizeof ret->request);
}

/* The row of the best node, or -1 when `message` says why there is none. */
static int64_t choose(struct scheduler *s, struct kobj *obj, uint64_t *ret_rejectors,
                      struct strbuf *message)
{
    struct ks_cycle c = {
        .nodes = nodecache_nodes(s->cache),
        .arena = s->arena,
        .now = loop_mono(s->loop),
    };
    struct ks_pod pod;
    struct verdicts v;

    *ret_rejectors = 0;
    if (c.nodes->n == 0) { /* no plugin to wait for: it just backs off */
        strbuf_append(message, "no nodes available to schedule pods");
        return -1;
    }
    describe(s, obj, &pod);
    profile_filter(s->profile, &c, &pod, &v);
    if (v.feasible == 0) {
        *ret_rejectors = v.rejectors;
        profile_explain(s->profile, &c, &pod, &v, message);
        return -1;
    }
    int64_t *total = v.feasible == 1 ? arena_newn0(s->arena, v.n, int64_t)
                                     : profile_score(s->profile, &c, &pod, &v);
    return profile_pick(&v, total, s->loop);
}

/* Reserved for and bound to the node from here on, in our mind. */
static void place(struct scheduler *s, struct kobj *pod, const char *node)
{
    struct ks_texts why = { .arena = s->arena };
    struct kerr err = { 0 };

    if (nodecache_assume(s->cache, pod, node, &err) < 0) {
        report_failure(s, pod, &(struct failure){ .error = true, .message = err.text });
        return;
    }
    int slot = profile_reserve(s->profile, pod_of(pod), node, &why);
    if (slot >= 0) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        nodecache_forget(s->cache, pod->meta.uid);
        strbuf_append(&text, "0/1 nodes are available: ");
        for (uint32_t i = 0; i < why.n; i++)
            strbuf_appendf(&text, "%s1 %s", i ? ", " : "", why.items[i]);
        strbuf_append(&text, ".");
        report_failure(
            s, pod,
            &(struct failure){ .rejectors = UINT64_C(1) << slot, .message = strbuf_str(&text) });
        return;
    }
    binding_start(s, pod, node);
}

void cycle_run(struct scheduler *s, struct kobj *pod)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;
    uint64_t rejectors;
    int name = scheduler_name_of(s, pod_of(pod));

    arena_reset(s->arena);
    if (nodecache_find(s->cache, pod->meta.uid, NULL) != NODECACHE_ABSENT || name < 0) {
        podqueue_remove(s->queue, pod->meta.uid); /* it has a node already, or is not ours */
        return;
    }
    if (pod->meta.deleted) {
        recorder_event_on(s->recorders[name], pod, true, "FailedScheduling", "Scheduling",
                          "skip schedule deleting pod: %s/%s", pod->meta.ns, pod->meta.name);
        podqueue_remove(s->queue, pod->meta.uid);
        return;
    }
    s->attempts++;
    int64_t row = choose(s, pod, &rejectors, &message);
    if (row < 0) {
        report_failure(
            s, pod, &(struct failure){ .rejectors = rejectors, .message = strbuf_str(&message) });
        return;
    }
    const char *node = nodecache_row_name(s->cache, (uint32_t)row);
    KLOG_I(4, "Chose node", KV_S("pod", LOG_KEY(pod)), KV_S("node", node));
    place(s, pod, node);
}
