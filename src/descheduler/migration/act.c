/* act.c - what the steps of a job do: statuses, references, Reservations. */
#include "base/klog.h"
#include "base/strbuf.h"
#include "descheduler/framework/gates.h"
#include "descheduler/migration/migration_int.h"
#include "descheduler/migration/template.h"
#include "loop/loop.h"
#include "json/kj.h"

/* ---- the status ------------------------------------------------------------------------------ */

struct write {
    struct job_run *run;
    struct job_plan plan;
};

static bool on_written(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    const struct write *w = arg;
    const struct podmigrationjob *j = w->run->f.job;

    (void)b, (void)resp;
    if (err)
        return err->reason == KR_NOT_FOUND;
    for (unsigned i = 0; i < w->plan.nevents; i++)
        migration_event(w->run->m, j, &w->plan.events[i]);
    if (w->plan.to.phase != j->status.phase)
        KLOG_I(2, "PodMigrationJob changed", KV_S("job", j->obj.meta.name),
               KV_S("phase", migration_phase_names[w->plan.to.phase]),
               KV_S("reason", w->plan.to.reason), KV_S("message", w->plan.to.message));
    return true;
}

static void write_status(struct write *w)
{
    const struct podmigrationjob *j = w->run->f.job;

    batch_patch_change(w->run->b, &j->obj,
                       &(struct change){ .member = "status",
                                         .schema = &podmigrationjob_status_schema,
                                         .from = &j->status,
                                         .to = &w->plan.to,
                                         .same_version = true },
                       on_written, w);
}

static bool on_dropped(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    (void)b, (void)resp;
    if (err && err->reason != KR_NOT_FOUND)
        return false;
    write_status(arg);
    return true;
}

void act_drop_reservation(struct batch *b, const char *name, batch_fn fn, void *arg)
{
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_DELETE, .kind = &kind_reservation, .name = name },
               fn, arg);
}

const char *act_reservation_name(const struct podmigrationjob *j, struct arena *a)
{
    const struct object_ref *ref = job_reservation(j);

    if (ref)
        return ref->name;
    char *uid = arena_alloc(a, KUID_TEXT_MAX, 1);
    kuid_format(j->obj.meta.uid, uid, KUID_TEXT_MAX);
    return uid;
}

void act_write(struct job_run *r, const struct job_plan *p)
{
    struct write *w = arena_new0(batch_arena(r->b), struct write);

    *w = (struct write){ r, *p };
    if (p->again)
        batch_again(r->b, p->again);
    if (!p->writes)
        return;
    if (p->drop_reservation)
        act_drop_reservation(r->b, act_reservation_name(r->f.job, batch_arena(r->b)), on_dropped,
                             w);
    else
        write_status(w);
}

/* ---- answers --------------------------------------------------------------------------------- */

const struct kobj *act_decode(struct batch *b, const struct kind *k, const struct kube_resp *resp,
                              struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;

    if (kj_parse(resp->body, resp->n, 0, &doc, err) < 0 ||
        kobj_decode(k, kj_root(doc), kube_scratch(batch_env(b)->kube), &o, err) < 0)
        return NULL;
    batch_hold(b, o);
    kobj_unref(o); /* the batch has its own reference */
    return o;
}

/* ---- the Reservation ------------------------------------------------------------------------- */

/* Errors that time mends are told in a condition, and the step is tried again. */
static bool tell_failure(struct job_run *r, const struct kerr *err)
{
    struct arena *a = batch_arena(r->b);
    const char *text = arena_printf(a, "Failed to create Reservation caused by %s", err->text);
    struct job_plan p = { .to = r->f.job->status };

    if (err->reason == KR_INVALID || err->reason == KR_BAD_REQUEST || err->reason == KR_TOO_LARGE) {
        job_plan_failure(&r->f, a, MIGRATION_REASON_FAILED_CREATE, text, &p);
        p.drop_reservation = false;
        act_write(r, &p);
        return true;
    }
    const struct timed_condition c = { .type = MIGRATION_RESERVATION_CREATED,
                                       .status = COND_FALSE,
                                       .reason = MIGRATION_REASON_FAILED_CREATE,
                                       .message = text,
                                       .last_probe_time = r->f.now };
    job_plan_condition(&r->f, a, &c, &p);
    if (p.writes)
        p.events[p.nevents++] = (struct job_event){ true, MIGRATION_REASON_FAILED_CREATE, text };
    act_write(r, &p);
    return false; /* back-off */
}

static bool on_referred(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    struct job_run *r = arg;
    const char *name = act_reservation_name(r->f.job, batch_arena(b));

    (void)resp;
    if (err)
        return err->reason == KR_NOT_FOUND;
    const char *text = arena_printf(batch_arena(b), "Successfully create Reservation \"%s\"", name);
    migration_event(r->m, r->f.job,
                    &(struct job_event){ false, MIGRATION_RESERVATION_CREATED, text });
    return true;
}

static void refer_to(struct job_run *r, const struct kube_resp *resp)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    struct kerr err = { 0 };

    if (kj_parse(resp->body, resp->n, 0, &doc, &err) < 0) {
        batch_fail(r->b, &err);
        return;
    }
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata");
    kjw_obj(&w, NULL);
    kjw_obj(&w, "spec");
    kjw_obj(&w, "reservationOptions");
    kjw_obj(&w, "reservationRef");
    kjw_str(&w, "kind", kind_reservation.kind);
    kjw_str(&w, "apiVersion", kind_reservation.version); /* without the group, as upstream */
    kjw_str(&w, "name", kj_str_or(kj_get(meta, "name"), ""));
    kjw_str(&w, "uid", kj_str_or(kj_get(meta, "uid"), ""));
    for (int i = 0; i < 4; i++)
        kjw_end(&w);
    batch_patch(r->b, &r->f.job->obj, NULL, KUBE_PATCH_MERGE, &body, on_referred, r);
}

static bool on_existing(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    (void)b;
    if (!err)
        refer_to(arg, resp);
    return false;
}

struct reserve {
    struct job_run *run;
    const char *name;
};

static bool on_reserved(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    const struct reserve *v = arg;

    if (!err) {
        refer_to(v->run, resp);
        return true;
    }
    if (err->reason != KR_ALREADY_EXISTS)
        return tell_failure(v->run, err);
    /* Made before, by an attempt whose answer was lost or which was not remembered. */
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_reservation, .name = v->name },
               on_existing, v->run);
    return true;
}

static const char *name_in(const struct strbuf *body, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    return kj_parse(body->data, body->len, 0, &doc, NULL) < 0
               ? ""
               : arena_strdup(a, kj_str_or(kj_path(kj_root(doc), "metadata.name"), ""));
}

/* The pod as the server has it: the cache does not keep all of it. */
static bool on_pod(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    struct job_run *r = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kerr fault = { 0 };
    const struct template_opts o = {
        .now = r->f.now, .without_claims = kd_gate(r->m->env.gates, KD_GATE_DISABLE_PVC_RESERVATION)
    };

    if (err) /* gone: the next sync sees it too */
        return false;
    if (kj_parse(resp->body, resp->n, 0, &doc, &fault) < 0) {
        batch_fail(b, &fault);
        return true;
    }
    if (template_render(r->f.job, kj_root(doc), &o, &body, &fault) < 0) {
        fault.reason = KR_INVALID;
        tell_failure(r, &fault);
        return true;
    }
    struct reserve *v = arena_new0(batch_arena(b), struct reserve);
    *v = (struct reserve){ r, name_in(&body, batch_arena(b)) };
    batch_create(b, &kind_reservation, NULL, &body, on_reserved, v);
    return true;
}

static void reserve(struct job_run *r)
{
    const struct object_ref *ref = r->f.job->spec.pod_ref;

    batch_call(
        r->b,
        &(struct kube_req){ .verb = KUBE_GET, .kind = &kind_pod, .ns = ref->ns, .name = ref->name },
        on_pod, r);
}

/* ---- small patches --------------------------------------------------------------------------- */

static void set_pod_uid(struct job_run *r)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kuid_format(r->f.pod->obj.meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "spec");
    kjw_obj(&w, "podRef");
    kjw_str(&w, "uid", uid);
    for (int i = 0; i < 3; i++)
        kjw_end(&w);
    batch_patch(r->b, &r->f.job->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void set_order(struct job_run *r)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    const char *order =
        arena_printf(batch_arena(r->b), "%lld", (long long)(r->f.now / NSEC_PER_MSEC));

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_obj(&w, "labels");
    kjw_str(&w, LABEL_RESERVATION_ORDER, order);
    for (int i = 0; i < 3; i++)
        kjw_end(&w);
    batch_patch(r->b, &r->f.reservation->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

void act_on(struct job_run *r, enum job_do what)
{
    switch (what) {
    case JOB_NOTHING: break;
    case JOB_SET_POD_UID: set_pod_uid(r); break;
    case JOB_RESERVE: reserve(r); break;
    case JOB_ORDER: set_order(r); break;
    case JOB_EVICT: evict_pod(r); break;
    }
}
