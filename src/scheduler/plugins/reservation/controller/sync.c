/* sync.c - one Reservation is brought to the status it should have (sched-reservation 12).
 *
 * A status is written only on the version that it was decided for: scheduling writes it too, and
 * whoever comes second decides again.
 */
#include "api/node.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "client/events.h"
#include "loop/loop.h"
#include "scheduler/plugins/reservation/controller/control_int.h"
#include "scheduler/plugins/reservation/controller/status.h"

/* The cache does not have the node, and the server does: it is younger than our watch of nodes. */
#define ASK_AGAIN (5 * NSEC_PER_SEC)

struct news { /* an event that follows a write */
    struct resv_control *c;
    const struct reservation *r;
    bool warning;
    const char *reason, *text;
};

static void announce(const struct news *n)
{
    if (n->c->events)
        recorder_event_on(n->c->events, &n->r->obj, n->warning, n->reason, "Reserving", "%s",
                          n->text);
}

static bool on_written(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    (void)b, (void)resp;
    if (err)
        return err->reason == KR_NOT_FOUND; /* as good */
    if (arg)
        announce(arg);
    return true;
}

/* news: may be NULL. */
static void write_status(struct batch *b, const struct reservation *r,
                         const struct reservation_status *to, struct news *news)
{
    batch_patch_change(b, &r->obj,
                       &(struct change){ .member = "status",
                                         .schema = &reservation_status_schema,
                                         .from = &r->status,
                                         .to = to,
                                         .same_version = true },
                       on_written, news);
}

static struct news *news_new(struct resv_control *c, struct batch *b, const struct reservation *r,
                             struct news what)
{
    struct news *n = arena_new0(batch_arena(b), struct news);

    *n = what;
    n->c = c;
    n->r = r;
    return n;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void expire(struct resv_control *c, struct batch *b, const struct reservation *r,
                   bool warning, const char *why)
{
    struct reservation_status to;

    resv_status_expire(r, why, loop_wall(c->loop), batch_arena(b), &to);
    KLOG_I(2, "Reservation has expired", KV_S("reservation", r->obj.meta.name), KV_S("why", why));
    write_status(b, r, &to,
                 news_new(c, b, r,
                          (struct news){ .warning = warning,
                                         .reason = RESERVATION_REASON_EXPIRED,
                                         .text = why }));
}

/* An end before its beginning is most likely a mistake, and says so. */
static void expire_by_time(struct resv_control *c, struct batch *b, const struct reservation *r,
                           const struct reservation_end *end)
{
    bool never_was = end->when <= r->obj.meta.created;
    char when[KTIME_TEXT_MAX], ttl[KTIME_TEXT_MAX];
    const char *why;

    ktime_format(end->when, when);
    kdur_format(r->spec.ttl_ns.v, ttl);
    if (!streq(end->field, "spec.ttl"))
        why = arena_printf(batch_arena(b), "%s: %s %s", end->field, when,
                           never_was ? "was before its creation" : "has passed");
    else if (never_was)
        why = arena_printf(batch_arena(b), "%s: %s is below 0", end->field, ttl);
    else
        why =
            arena_printf(batch_arena(b), "%s: %s have passed since its creation", end->field, ttl);
    expire(c, b, r, never_was, why);
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
    expire(
        c, b, r, true,
        arena_printf(batch_arena(b), "status.nodeName: node \"%s\" is gone", r->status.node_name));
}

/* ---- faults and owners ----------------------------------------------------------------------- */

/* The first of what is wrong, or NULL. One without a node may wait for its owners to be mended. */
static const char *fault_of(struct batch *b, const struct reservation *r)
{
    struct kerr err = { 0 };
    int code = reservation_has_node(r) ? reservation_check_use(r, batch_arena(b), &err)
                                       : reservation_check(r, batch_arena(b), &err);
    return code < 0 ? arena_strdup(batch_arena(b), err.text) : NULL;
}

static bool write_fault(struct resv_control *c, struct batch *b, const struct reservation *r)
{
    const char *fault = fault_of(b, r);
    struct reservation_status to;

    if (!resv_status_fault(r, fault, loop_wall(c->loop), batch_arena(b), &to))
        return false;
    struct news what = { .warning = true, .reason = "FailedScheduling", .text = fault };
    if (reservation_has_node(r))
        what.reason = RESERVATION_REASON_INVALID;
    write_status(b, r, &to, fault ? news_new(c, b, r, what) : NULL);
    return true;
}

static void write_owners(struct resv_control *c, struct batch *b, const struct reservation *r)
{
    char uid[KUID_TEXT_MAX];
    struct reservation_status to;
    kobjvec pods = { 0 };

    kuid_format(r->obj.meta.uid, uid, sizeof uid);
    objects_by(c->pods, index_pod_reservation, uid, &pods);
    if (resv_status_use(r, pods.items, pods.n, loop_wall(c->loop), batch_arena(b), &to))
        write_status(b, r, &to, NULL);
    vec_fini(&pods);
}

/* ---- sync ------------------------------------------------------------------------------------ */

static void sync_living(struct resv_control *c, struct batch *b, const struct reservation *r)
{
    nsec_t now = loop_wall(c->loop);
    struct reservation_end end;
    bool ends = reservation_end(r, &end);

    if (ends && end.when <= now) {
        expire_by_time(c, b, r, &end);
        return;
    }
    if (ends)
        batch_again(b, end.when - now);
    if (reservation_has_node(r) && !informer_get(c->nodes, r->status.node_name))
        resv_ask_for_node(c, b, r, node_is_gone);
    else if (!write_fault(c, b, r) && reservation_has_node(r))
        write_owners(c, b, r);
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
