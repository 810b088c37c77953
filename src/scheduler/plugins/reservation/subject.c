/* subject.c - a Reservation as what is bound: its status says where it is, or why it waits
 * (sched-reservation 6, 8.3).
 *
 * One write places it. It names the state that was seen, so that a Reservation which another
 * scheduler has placed, or which has ended, is not placed again.
 */
#include "api/pod.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/plugins/reservation/plugin.h"
#include "json/kj.h"

static const struct kobj *object_of(void *self, const struct pod *p)
{
    const struct resv_plugin *x = self;
    const struct resv *r = reservations_find(x->cache, p->obj.meta.uid);

    return r && !r->is_pod ? r->view.object : NULL;
}

int resv_allocatable(const struct resv *r, struct arena *a, reslist *ret, struct kerr *err)
{
    struct reservation_resize resize;
    int code = reservation_resize_read(&r->view.object->meta.annotations, a, &resize, err);

    if (code < 0)
        return kerr_wrap(err, "metadata.annotations[" ANNO_RESERVATION_RESIZE "]");
    *ret = *r->reserved;
    for (uint32_t i = 0; code > 0 && i < resize.resources.n; i++)
        *ret =
            reslist_with(ret, resize.resources.items[i].name, resize.resources.items[i].value, a);
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void begin(struct kube_req *r, struct kjw *w, const struct kobj *o, const char *version)
{
    char uid[KUID_TEXT_MAX];

    r->verb = KUBE_PATCH;
    r->patch = KUBE_PATCH_MERGE;
    r->subresource = "status";
    kuid_format(o->meta.uid, uid, sizeof uid);
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    kjw_str(w, "uid", uid);
    if (version)
        kjw_str(w, "resourceVersion", version);
    kjw_end(w);
    kjw_obj(w, "status");
}

static void write_condition(struct kjw *w, const struct timed_condition *c)
{
    kjw_obj(w, NULL);
    kjw_str(w, "type", c->type);
    kjw_str(w, "status", cond_status_names[c->status]);
    if (!str_empty(c->reason))
        kjw_str(w, "reason", c->reason);
    if (!str_empty(c->message))
        kjw_str(w, "message", c->message);
    if (c->last_probe_time)
        kjw_time(w, "lastProbeTime", c->last_probe_time);
    if (c->last_transition_time)
        kjw_time(w, "lastTransitionTime", c->last_transition_time);
    kjw_end(w);
}

static void bind_status(void *self, const struct ks_bind *b, struct kube_req *req, struct kjw *w)
{
    const struct resv_plugin *x = self;
    const struct resv *r = reservations_find(x->cache, b->pod->meta.uid);
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct kobj *o = r->view.object;
    nsec_t now = loop_wall(x->env.loop);
    reslist allocatable = *r->reserved;

    (void)resv_allocatable(r, a, &allocatable, NULL); /* reserve() has refused a bad one */
    reslist_encode(&allocatable, &text);
    begin(req, w, o, b->version ? b->version : o->meta.resource_version);
    kjw_str(w, "phase", reservation_phase_names[RESERVATION_AVAILABLE]);
    kjw_str(w, "nodeName", b->node);
    kjw_raw(w, "allocatable", text.data, text.len);
    kjw_arr(w, "conditions");
    write_condition(w, &(struct timed_condition){ .type = RESERVATION_CONDITION_SCHEDULED,
                                                  .status = COND_TRUE,
                                                  .reason = RESERVATION_REASON_SCHEDULED,
                                                  .last_probe_time = now,
                                                  .last_transition_time = now });
    write_condition(w, &(struct timed_condition){ .type = RESERVATION_CONDITION_READY,
                                                  .status = COND_TRUE,
                                                  .reason = RESERVATION_REASON_AVAILABLE,
                                                  .last_probe_time = now,
                                                  .last_transition_time = now });
    kjw_end(w);
    kjw_end(w);
    kjw_end(w);
}

/* A list in a merge patch is whole: the other conditions stay as they are. */
static void write_waiting(struct kjw *w, const struct reservation *o, const struct ks_waiting *why)
{
    bool found = false;

    kjw_arr(w, "conditions");
    for (uint32_t i = 0; i < o->status.conditions.n; i++) {
        struct timed_condition c = o->status.conditions.items[i];
        if (streq(c.type, RESERVATION_CONDITION_SCHEDULED)) {
            found = true;
            c.last_probe_time = why->now;
            if (c.status != COND_TRUE) {
                c.reason = why->reason;
                c.message = why->message;
            }
        }
        write_condition(w, &c);
    }
    if (!found)
        write_condition(w, &(struct timed_condition){ .type = RESERVATION_CONDITION_SCHEDULED,
                                                      .status = COND_FALSE,
                                                      .reason = why->reason,
                                                      .message = why->message,
                                                      .last_probe_time = why->now,
                                                      .last_transition_time = why->now });
    kjw_end(w);
}

static void waits(void *self, const struct pod *p, const struct ks_waiting *why,
                  struct kube_req *req, struct kjw *w)
{
    const struct kobj *o = object_of(self, p);

    begin(req, w, o, NULL);
    if (why->reason)
        write_waiting(w, reservation_of(o),
                      &(struct ks_waiting){ .reason = RESERVATION_REASON_UNSCHEDULABLE,
                                            .message = why->message,
                                            .now = why->now });
    kjw_end(w);
    kjw_end(w);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *node_in_status(const struct kj_val *o)
{
    return kj_str_or(kj_path(o, "status.nodeName"), "");
}

static bool may_be_bound(const struct kj_val *o)
{
    const char *phase = kj_str_or(kj_path(o, "status.phase"), "");

    return !streq(phase, reservation_phase_names[RESERVATION_SUCCEEDED]) &&
           !streq(phase, reservation_phase_names[RESERVATION_FAILED]) &&
           !kj_path(o, "metadata.deletionTimestamp");
}

const struct ks_subject resv_subject = {
    .object = object_of,
    .bind = bind_status,
    .waits = waits,
    .node = node_in_status,
    .may_be_bound = may_be_bound,
};
