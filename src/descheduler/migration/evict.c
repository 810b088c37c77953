/* evict.c - the pod of a job goes: by Eviction, by Delete, or by asking (descheduler 4.10).
 *
 * Only the pod with the job's UID, and only while its new place is open: the server is asked about
 * the Reservation once more, since a cache may show one that is gone.
 */
#include "api/koord/reservation_life.h"
#include "base/klog.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "descheduler/migration/migration_int.h"
#include "loop/loop.h"
#include "json/kj.h"

/* A budget that refuses is asked again after so long, unless the server says when. */
#define REFUSED_AGAIN (5 * NSEC_PER_SEC)
/* So is the scheduler, about a pod that it could place nowhere. */
#define NO_PLACE_AGAIN (10 * NSEC_PER_SEC)
/* Orders of Reservations are milliseconds since 1970; so much less is in front of all others. */
#define FRONT_MS INT64_C(1000000000000)

static struct delete_options options_of(const struct job_run *r, struct arena *a)
{
    const struct delete_options *given = r->f.job->spec.delete_options;
    struct delete_options o = { .api_version = "", .kind = "" };
    char *uid = arena_alloc(a, KUID_TEXT_MAX, 1);

    if (!given)
        given = r->m->args->default_delete_options;
    if (given)
        o = *given;
    struct delete_preconditions *only = arena_new0(a, struct delete_preconditions);
    if (o.preconditions)
        *only = *o.preconditions;
    kuid_format(r->f.job->spec.pod_ref->uid, uid, KUID_TEXT_MAX);
    only->uid = uid;
    o.preconditions = only;
    return o;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void tell_refusal(struct job_run *r, const struct kerr *err)
{
    struct arena *a = batch_arena(r->b);
    struct job_plan p = { .to = r->f.job->status };
    const char *text =
        arena_printf(a, "Failed evict Pod \"%s/%s\" caused by %s", r->f.job->spec.pod_ref->ns,
                     r->f.job->spec.pod_ref->name, err->text);
    const struct timed_condition c = { .type = MIGRATION_EVICTION,
                                       .status = COND_FALSE,
                                       .reason = MIGRATION_REASON_FAILED_EVICT,
                                       .message = text,
                                       .last_probe_time = r->f.now };

    job_plan_condition(&r->f, a, &c, &p);
    if (p.writes)
        p.events[p.nevents++] = (struct job_event){ true, MIGRATION_REASON_FAILED_EVICT, text };
    act_write(r, &p);
}

static bool on_evicted(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    struct job_run *r = arg;
    const struct object_ref *ref = r->f.job->spec.pod_ref;
    struct job_state *s = migration_find_state(r->m, r->f.job);

    /* An answer that is lost may have been an eviction. */
    if (!err || !err_is_refusal(err))
        evictrate_take_objects(r->m->rate, r->m->args, r->f.pod, loop_mono(r->m->env.loop));
    if (err && err->reason == KR_TOO_MANY_REQUESTS) {
        nsec_t wait = resp->retry_after > 0 ? resp->retry_after : REFUSED_AGAIN;
        if (s)
            s->refused_until = loop_mono(r->m->env.loop) + wait;
        tell_refusal(r, err);
        batch_again(b, wait);
        return true;
    }
    if (err && (err->reason == KR_NOT_FOUND || err->reason == KR_CONFLICT)) {
        batch_again(b, NSEC_PER_SEC); /* gone, or another one: the cache will tell */
        return true;
    }
    if (err) {
        tell_refusal(r, err);
        return false; /* back-off */
    }
    if (s)
        s->evicted_at = loop_mono(r->m->env.loop);
    const char *text = arena_printf(
        batch_arena(b), "Pod \"%s/%s\" evicted from node \"%s\" by the reason \"%s\"", ref->ns,
        ref->name, str_or(r->f.pod->node_name, ""), job_evict_reason(r->f.job));
    migration_event(r->m, r->f.job, &(struct job_event){ false, MIGRATION_REASON_EVICTING, text });
    KLOG_I(2, "Evicted pod", KV_S("job", r->f.job->obj.meta.name), KV_S("namespace", ref->ns),
           KV_S("pod", ref->name), KV_S("reason", job_evict_reason(r->f.job)));
    return true;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void send_eviction(struct job_run *r, const struct delete_options *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, options = STRBUF_INIT;
    const struct object_ref *ref = r->f.job->spec.pod_ref;
    struct kjw w = kjw_to(&body);

    kj_encode(&delete_options_schema, o, &options);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "policy/v1");
    kjw_str(&w, "kind", "Eviction");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", ref->name);
    kjw_str(&w, "namespace", ref->ns);
    kjw_end(&w);
    kjw_raw(&w, "deleteOptions", options.data, options.len);
    kjw_end(&w);
    batch_call(r->b,
               &(struct kube_req){ .verb = KUBE_CREATE,
                                   .kind = &kind_pod,
                                   .ns = ref->ns,
                                   .name = ref->name,
                                   .subresource = "eviction",
                                   .body = body.data,
                                   .body_len = body.len,
                                   .no_retry = true },
               on_evicted, r);
}

static void send_delete(struct job_run *r, struct delete_options *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const struct object_ref *ref = r->f.job->spec.pod_ref;

    o->api_version = "v1";
    o->kind = "DeleteOptions";
    kj_encode(&delete_options_schema, o, &body);
    batch_call(r->b,
               &(struct kube_req){ .verb = KUBE_DELETE,
                                   .kind = &kind_pod,
                                   .ns = ref->ns,
                                   .name = ref->name,
                                   .body = body.data,
                                   .body_len = body.len,
                                   .no_retry = true },
               on_evicted, r);
}

/* The value of the annotation, on the pod with the job's UID. */
static void send_soft(struct job_run *r, struct delete_options *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, value = STRBUF_INIT;
    const char *trigger = kstrmap_get(&r->f.job->obj.meta.annotations, ANNO_EVICT_TRIGGER);
    const struct soft_eviction soft = { .timestamp = r->f.now,
                                        .delete_options = o,
                                        .initiator = str_or(trigger, ""),
                                        .reason = job_evict_reason(r->f.job) };
    const struct object_ref *ref = r->f.job->spec.pod_ref;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    soft_eviction_encode(&soft, &value);
    kuid_format(ref->uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid); /* refused with a conflict when it is another pod's */
    kjw_obj(&w, "annotations");
    kjw_strn(&w, ANNO_SOFT_EVICTION, value.data, value.len);
    for (int i = 0; i < 3; i++)
        kjw_end(&w);
    batch_patch(r->b, &r->f.pod->obj, NULL, KUBE_PATCH_MERGE, &body, on_evicted, r);
}

static void send(struct job_run *r)
{
    const struct migration_args *args = r->m->args;
    struct delete_options o = options_of(r, batch_arena(r->b));
    nsec_t now = loop_mono(r->m->env.loop);
    nsec_t wait = evictrate_wait(r->m->rate, args, r->f.pod, false, now, NULL);

    if (wait > 0) {
        batch_again(r->b, wait);
        return;
    }
    evictrate_take_rate(r->m->rate, args, now);
    switch (evict_policy(&r->f.pod->obj.meta.labels, &r->f.job->obj.meta.labels,
                         (enum evict_policy)args->policy)) {
    case EVICT_POLICY_DELETE: send_delete(r, &o); break;
    case EVICT_POLICY_SOFT: send_soft(r, &o); break;
    case EVICT_POLICY_NONE:
    case EVICT_POLICY_EVICTION: send_eviction(r, &o); break;
    }
}

/* ---- without a Reservation ------------------------------------------------------------------- */

bool evict_has_place(const struct migration *m, const struct pod *p, struct kd_placement *ret)
{
    const struct kd_placer *placer = m->env.placer;

    *ret = (struct kd_placement){ 0 };
    if (!placer)
        return true;
    if (placer->place(placer->arg, p, ret) < 0) {
        ret->why[0] = '\0';
        return false;
    }
    return ret->node && !streq(ret->node, str_or(p->node_name, ""));
}

/* Nobody is evicted whom the scheduler could place nowhere else. */
static void send_directly(struct job_run *r)
{
    struct arena *a = batch_arena(r->b);
    struct job_state *s = migration_find_state(r->m, r->f.job);
    struct job_plan p = { .to = r->f.job->status };
    struct kd_placement at;

    if (evict_has_place(r->m, r->f.pod, &at)) {
        send(r);
        return;
    }
    if (!*at.why) {
        batch_again(r->b, NSEC_PER_SEC);
        return;
    }
    const struct timed_condition c = { .type = MIGRATION_EVICTION,
                                       .status = COND_FALSE,
                                       .reason = MIGRATION_REASON_UNSCHEDULABLE,
                                       .message = arena_printf(a, "no other node: %s", at.why),
                                       .last_probe_time = r->f.now };
    if (s)
        s->refused_until = loop_mono(r->m->env.loop) + NO_PLACE_AGAIN;
    batch_again(r->b, NO_PLACE_AGAIN);
    job_plan_condition(&r->f, a, &c, &p);
    act_write(r, &p);
}

/* ---- the place ------------------------------------------------------------------------------- */

static bool on_reservation(struct batch *b, struct kube_resp *resp, const struct kerr *err,
                           void *arg)
{
    struct job_run *r = arg;
    struct kerr unread = { 0 };

    if (err) {
        batch_again(b, NSEC_PER_SEC);
        return err->reason == KR_NOT_FOUND; /* the cache will say so too */
    }
    const struct kobj *o = act_decode(b, &kind_reservation, resp, &unread);
    if (!o) {
        batch_fail(b, &unread);
        return true;
    }
    const struct reservation *now = reservation_of(o);
    if (!reservation_is_available(now) || o->meta.deleted ||
        streq(now->status.node_name, str_or(r->f.pod->node_name, "")))
        batch_again(b, NSEC_PER_SEC);
    else
        send(r);
    return true;
}

/* Pods of one workload may have Reservations of several jobs to choose from, and take the one with
 * the smallest order. Those whose pods go come before those whose pods are still there: or a job
 * would lose its place before its turn, and another's would stay empty. */
static void move_to_front(struct job_run *r)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const char *order =
        arena_printf(batch_arena(r->b), "%lld", (long long)(r->f.now / NSEC_PER_MSEC - FRONT_MS));
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_obj(&w, "labels");
    kjw_str(&w, LABEL_RESERVATION_ORDER, order);
    for (int i = 0; i < 3; i++)
        kjw_end(&w);
    batch_patch(r->b, &r->f.reservation->obj, NULL, KUBE_PATCH_MERGE, &body, on_reservation, r);
}

static bool is_in_front(const struct job_run *r)
{
    const char *text = kstrmap_get(&r->f.reservation->obj.meta.labels, LABEL_RESERVATION_ORDER);
    int64_t order = 0;

    return text && i64_parse(text, strlen(text), &order) == 0 &&
           order < r->f.now / NSEC_PER_MSEC - FRONT_MS / 2;
}

void evict_pod(struct job_run *r)
{
    if (job_evicts_directly(r->f.job, r->m->args)) {
        send_directly(r);
        return;
    }
    /* Only one that goes at once is put in front: not a crowd that waits for its turn. */
    nsec_t wait =
        evictrate_wait(r->m->rate, r->m->args, r->f.pod, false, loop_mono(r->m->env.loop), NULL);
    if (wait > 0) {
        batch_again(r->b, wait);
        return;
    }
    if (!is_in_front(r)) {
        move_to_front(r);
        return;
    }
    batch_call(r->b,
               &(struct kube_req){ .verb = KUBE_GET,
                                   .kind = &kind_reservation,
                                   .name = job_reservation(r->f.job)->name },
               on_reservation, r);
}
