/* sync.c - one Reservation is brought to the status it should have (sched-reservation 12).
 *
 * A status is written only on the version that it was decided for: scheduling writes it too, and
 * whoever comes second decides again.
 */
#include "api/node.h"
#include "base/arena.h"
#include "base/klog.h"
#include "client/events.h"
#include "loop/loop.h"
#include "scheduler/plugins/reservation/controller/control_int.h"
#include "scheduler/plugins/reservation/controller/status.h"

/* The cache does not have the node, and the server does: it is younger than our watch of nodes. */
#define ASK_AGAIN (5 * NSEC_PER_SEC)

/* ---- writing --------------------------------------------------------------------------------- */

struct news { /* an event that follows a write */
    struct resv_control *c;
    const struct reservation *r;
    struct resv_plan plan;
};

static bool on_written(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    const struct news *n = arg;

    (void)b, (void)resp;
    if (err)
        return err->reason == KR_NOT_FOUND; /* as good */
    if (!n->plan.reason)
        return true;
    KLOG_I(2, "Reservation changed", KV_S("reservation", n->r->obj.meta.name),
           KV_S("reason", n->plan.reason), KV_S("why", n->plan.text));
    if (n->c->events)
        recorder_event_on(n->c->events, &n->r->obj, n->plan.warning, n->plan.reason, "Reserving",
                          "%s", n->plan.text);
    return true;
}

static void carry_out(struct resv_control *c, struct batch *b, const struct reservation *r,
                      const struct resv_plan *plan)
{
    struct news *n = arena_new0(batch_arena(b), struct news);

    *n = (struct news){ c, r, *plan };
    if (plan->again > 0)
        batch_again(b, plan->again);
    if (plan->writes)
        batch_patch_change(b, &r->obj,
                           &(struct change){ .member = "status",
                                             .schema = &reservation_status_schema,
                                             .from = &r->status,
                                             .to = &plan->to,
                                             .same_version = true },
                           on_written, n);
}

/* ---- its node -------------------------------------------------------------------------------- */

struct missing {
    struct resv_control *c;
    const struct reservation *r;
    resv_gone_fn fn;
};

static bool on_node(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    const struct missing *m = arg;

    (void)resp;
    if (!err)
        batch_again(b, ASK_AGAIN);
    else if (err->reason == KR_NOT_FOUND)
        m->fn(m->c, b, m->r);
    return !err || err->reason == KR_NOT_FOUND;
}

void resv_ask_for_node(struct resv_control *c, struct batch *b, const struct reservation *r,
                       resv_gone_fn fn)
{
    struct missing *m = arena_new0(batch_arena(b), struct missing);
    struct kube_req q = { .verb = KUBE_GET, .kind = &kind_node, .name = r->status.node_name };

    *m = (struct missing){ c, r, fn };
    batch_call(b, &q, on_node, m);
}

static void node_is_gone(struct resv_control *c, struct batch *b, const struct reservation *r)
{
    struct resv_plan plan;

    resv_plan_status(r, &(struct resv_facts){ .node = RESV_NODE_GONE, .now = loop_wall(c->loop) },
                     batch_arena(b), &plan);
    carry_out(c, b, r, &plan);
}

/* ---- sync ------------------------------------------------------------------------------------ */

static void sync_living(struct resv_control *c, struct batch *b, const struct reservation *r)
{
    char uid[KUID_TEXT_MAX];
    struct resv_plan plan;
    kobjvec pods = { 0 };

    kuid_format(r->obj.meta.uid, uid, sizeof uid);
    objects_by(c->pods, index_pod_reservation, uid, &pods);
    struct resv_facts f = { .pods = pods.items, .npods = pods.n, .now = loop_wall(c->loop) };
    if (reservation_has_node(r) && !informer_get(c->nodes, r->status.node_name))
        f.node = RESV_NODE_NOT_KNOWN;
    resv_plan_status(r, &f, batch_arena(b), &plan);
    carry_out(c, b, r, &plan);
    if (plan.asks_for_node)
        resv_ask_for_node(c, b, r, node_is_gone);
    vec_fini(&pods);
}

void resv_sync(void *self, struct batch *b, const char *key, struct kobj *o)
{
    struct resv_control *c = self;

    (void)key;
    if (!o || o->meta.deleted)
        return;
    if (!reservation_has_ended(reservation_of(o)))
        sync_living(c, b, reservation_of(o));
}
