/* create.c - a pod that is to be evicted gets a PodMigrationJob (descheduler 4.5). */
#include <stdio.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "client/kube.h"
#include "descheduler/migration/migration_int.h"
#include "loop/loop.h"
#include "json/kj.h"

/* Its answer may be lost, and then the job may be there or not: the cache tells, or this time. */
#define DOUBT (60 * NSEC_PER_SEC)

struct creation {
    struct migration *m;
    struct creation *next;
    struct kube_call *call; /* NULL: answered */
    struct timer *doubt;
    struct kobj *pod;
    char *plugin, *reason;
    char name[37];
    struct object_ref ref;
    struct kstrpair made_by;
    struct podmigrationjob job; /* as much of it as the tally reads */
};

static void creation_free(struct creation *c)
{
    kube_cancel(c->call);
    timer_cancel(c->doubt);
    kobj_unref(c->pod);
    free(c->plugin);
    free(c->reason);
    free(c);
}

static void creation_remove(struct creation *c)
{
    for (struct creation **p = &c->m->creations; *p; p = &(*p)->next) {
        if (*p == c) {
            *p = c->next;
            break;
        }
    }
    migration_changed(c->m);
    creation_free(c);
}

void creations_drop(struct migration *m)
{
    while (m->creations) {
        struct creation *c = m->creations;
        m->creations = c->next;
        creation_free(c);
    }
}

void creations_count(const struct migration *m, struct jobtally *t)
{
    for (const struct creation *c = m->creations; c; c = c->next)
        jobtally_add(t, &c->job, pod_of(c->pod), false);
}

void creations_shown(struct migration *m, const struct kobj *job)
{
    for (struct creation *c = m->creations; c; c = c->next) {
        if (streq(c->name, job->meta.name) && !c->call) {
            creation_remove(c);
            return;
        }
    }
}

/* ---- who leaves ------------------------------------------------------------------------------ */

static void index_leaving(const struct kobj *o, index_emit_fn emit, void *to)
{
    const struct object_ref *ref = podmigrationjob_of(o)->spec.pod_ref;
    char key[KOBJ_KEY_MAX];

    if (!ref)
        return;
    (void)snprintf(key, sizeof key, "%s/%s", str_or(ref->ns, ""), str_or(ref->name, ""));
    emit(to, key);
}

void leaving_init(struct migration *m)
{
    m->by_pod = informer_add_index(m->jobs, index_leaving);
}

/* Paused jobs may never be approved. */
bool migration_leaving(void *self, const char *ns, const char *name, nsec_t since)
{
    const struct migration *m = self;
    char key[KOBJ_KEY_MAX];
    size_t n = 0;

    (void)snprintf(key, sizeof key, "%s/%s", ns, name);
    struct kobj *const *jobs = informer_by_index(m->jobs, m->by_pod, key, &n);
    for (size_t i = 0; i < n; i++) {
        const struct podmigrationjob *j = podmigrationjob_of(jobs[i]);
        if (job_is_over(j) ? migration_evicted_at(m, j) >= since : !j->spec.paused)
            return true;
    }
    for (const struct creation *c = m->creations; c; c = c->next)
        if (streq(c->ref.ns, ns) && streq(c->ref.name, name) && !c->job.spec.paused)
            return true;
    return false;
}

/* ---- the call -------------------------------------------------------------------------------- */

static void on_doubt(struct loop *l, void *arg)
{
    struct creation *c = arg;

    (void)l;
    c->doubt = NULL;
    creation_remove(c);
}

static void tell(const struct creation *c, const struct kerr *err)
{
    const struct pod *p = pod_of(c->pod);
    char key[KOBJ_KEY_MAX];

    kobj_key(c->pod, key, sizeof key);
    kd_count(&c->m->env, err ? "error" : "success", c->plugin, p);
    if (err) {
        KLOG_E(err, "Failed to create a PodMigrationJob", KV_S("pod", key));
        return;
    }
    KLOG_I(2, "Created a PodMigrationJob", KV_S("pod", key), KV_S("job", c->name),
           KV_S("plugin", c->plugin), KV_S("reason", c->reason));
    if (c->m->env.events)
        recorder_event_on(c->m->env.events, c->pod, false, "Descheduled", "Migrating",
                          "Pod evicted from node \"%s\" by the reason \"%s\"",
                          str_or(p->node_name, ""), c->reason);
}

static void on_created(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct creation *c = arg;

    (void)r;
    c->call = NULL;
    tell(c, err);
    /* Until the cache shows it the pod must not get a second one. */
    if ((err && err_is_refusal(err)) || informer_get(c->m->jobs, c->name))
        creation_remove(c);
    else
        c->doubt = loop_after(c->m->env.loop, DOUBT, on_doubt, c);
}

static void make_name(struct loop *l, char name[37])
{
    uint64_t a = loop_rand(l), b = loop_rand(l);

    (void)snprintf(name, 37, "%08x-%04x-4%03x-%x%03x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), 8 + (unsigned)(b >> 62 & 3),
                   (unsigned)(b >> 48 & 0xfff), (unsigned long long)(b & 0xffffffffffff));
}

static void write_annotations(struct kjw *w, const struct creation *c)
{
    kjw_obj(w, "annotations");
    kjw_str(w, ANNO_EVICT_REASON, c->reason);
    kjw_str(w, ANNO_EVICT_TRIGGER, c->plugin);
    kjw_str(w, ANNO_JOB_CREATED_BY, c->m->identity);
    if (c->m->args->approval == APPROVAL_MANUAL)
        kjw_time(w, ANNO_JOB_PAUSED_SINCE, loop_wall(c->m->env.loop));
    kjw_end(w);
}

static void write_job(const struct creation *c, const struct delete_options *o, struct strbuf *out)
{
    const struct migration_args *a = c->m->args;
    struct podmigrationjob_spec spec = { .pod_ref = (struct object_ref *)&c->ref,
                                         .mode = a->default_job_mode,
                                         .ttl_ns = a->default_job_ttl,
                                         .delete_options = (struct delete_options *)(uintptr_t)o,
                                         .paused = a->approval == APPROVAL_MANUAL };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw w = kjw_to(out);

    kj_encode(&podmigrationjob_spec_schema, &spec, &text);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "scheduling.koordinator.sh/v1alpha1");
    kjw_str(&w, "kind", kind_podmigrationjob.kind);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", c->name);
    write_annotations(&w, c);
    kjw_end(&w);
    kjw_raw(&w, "spec", text.data, text.len);
    kjw_end(&w);
}

static struct creation *creation_new(struct migration *m, const struct pod *p,
                                     const struct kd_eviction *e)
{
    struct creation *c = xnew0(struct creation);

    c->m = m;
    c->pod = kobj_ref((struct kobj *)(uintptr_t)&p->obj);
    c->plugin = xstrdup(str_or(e->plugin, ""));
    c->reason = xstrdup(str_or(e->reason, ""));
    make_name(m->env.loop, c->name);
    c->ref = (struct object_ref){ .api_version = "",
                                  .kind = "",
                                  .ns = p->obj.meta.ns,
                                  .name = p->obj.meta.name,
                                  .resource_version = "",
                                  .field_path = "",
                                  .uid = p->obj.meta.uid };
    c->job.obj.meta.name = c->name;
    c->job.spec.pod_ref = &c->ref;
    c->job.spec.paused = m->args->approval == APPROVAL_MANUAL;
    c->made_by = (struct kstrpair){ ANNO_JOB_CREATED_BY, m->identity };
    c->job.obj.meta.annotations.items = &c->made_by;
    c->job.obj.meta.annotations.n = 1;
    c->next = m->creations;
    m->creations = c;
    return c;
}

bool migration_evict(void *self, const struct kd_view *v, const struct pod *p,
                     const struct kd_eviction *e, struct kd_why *why)
{
    struct migration *m = self;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const char *limit = "";

    (void)v;
    if (m->args->dry_run)
        return true;
    const struct checks c = migration_checks(m);
    if (!check_filter(&c, p, &body))
        return kd_no(why, "%s", strbuf_str(&body));
    if (evictrate_wait(m->rate, m->args, p, true, loop_mono(m->env.loop), &limit) > 0)
        return kd_no(why, "pods of its %s were evicted a short while ago (objectLimiters)", limit);
    struct kd_placement at;
    /* Where the scheduler cannot tell yet, the job asks again before it evicts. */
    if (streq(m->args->default_job_mode, MIGRATION_MODE_EVICT_DIRECTLY) &&
        !evict_has_place(m, p, &at) && *at.why)
        return kd_no(why, "no other node: %s", at.why);
    strbuf_reset(&body);
    struct creation *made = creation_new(m, p, e);
    write_job(made, e->delete_options ? e->delete_options : m->args->default_delete_options, &body);
    migration_changed(m);
    made->call = kube_do(m->env.kube,
                         &(struct kube_req){ .verb = KUBE_CREATE,
                                             .kind = &kind_podmigrationjob,
                                             .body = body.data,
                                             .body_len = body.len },
                         on_created, made);
    return true;
}
