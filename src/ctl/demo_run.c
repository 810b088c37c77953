/* demo_run.c - one run of koordctl demo: the system on a virtual clock, minute by minute. */
#include <stdio.h>

#include "api/core.h"
#include "api/pod.h"
#include "api/workload.h"
#include "base/intern.h"
#include "client/informer.h"
#include "client/kube.h"
#include "ctl/demo.h"
#include "loop/loop.h"
#include "json/kj.h"

/* Until the system is ready, of its own clock. */
#define READY_WITHIN (10 * DEMO_MINUTE)
#define BEAT_EVERY   (3600 * NSEC_PER_SEC)

/* ---- requests ---------------------------------------------------------------------------------- */

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct demo *d = arg;

    (void)r;
    if (err && !d->err.code)
        d->err = *err;
}

static void ask(struct demo *d, const struct kube_req *r)
{
    kube_do(d->kube, r, on_done, d);
}

static const struct kind *kind_of(const struct kj_val *root)
{
    const char *version = kj_str_or(kj_get(root, "apiVersion"), ""), *slash = strchr(version, '/');
    CLEANUP(mem_free) char *group = xstrndup(version, slash ? (size_t)(slash - version) : 0);

    return kind_find_gvk(group, slash ? slash + 1 : version, kj_str_or(kj_get(root, "kind"), ""));
}

void demo_create(struct demo *d, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse(json, strlen(json), 0, &doc, &d->err) < 0)
        return;
    const struct kind *k = kind_of(kj_root(doc));
    assert(k); /* the manifests are ours */
    ask(d, &(struct kube_req){ .verb = KUBE_CREATE,
                               .kind = k,
                               .ns = kj_str(kj_path(kj_root(doc), "metadata.namespace")),
                               .body = json,
                               .body_len = strlen(json) });
}

static void patch(struct demo *d, const struct kind *k, const char *ns, const char *name,
                  const char *json)
{
    ask(d, &(struct kube_req){ .verb = KUBE_PATCH,
                               .kind = k,
                               .ns = ns,
                               .name = name,
                               .patch = KUBE_PATCH_MERGE,
                               .body = json,
                               .body_len = strlen(json) });
}

void demo_scale(struct demo *d, const char *deployment, unsigned replicas)
{
    char body[64];

    (void)snprintf(body, sizeof body, "{\"spec\":{\"replicas\":%u}}", replicas);
    patch(d, &kind_deployment, "shop", deployment, body);
}

void demo_patch_config(struct demo *d, const char *json)
{
    patch(d, &kind_configmap, "koordinator-system", "slo-controller-config", json);
}

void demo_delete_job(struct demo *d, const char *name)
{
    static const char body[] = "{\"propagationPolicy\":\"Background\"}";

    ask(d, &(struct kube_req){ .verb = KUBE_DELETE,
                               .kind = &kind_job,
                               .ns = "batch",
                               .name = name,
                               .body = body,
                               .body_len = sizeof body - 1 });
}

/* ---- what is measured -------------------------------------------------------------------------- */

static void note_wait(struct demo *d, const struct kobj *o)
{
    d->longest_wait = MAX(d->longest_wait, loop_wall(d->loop) - o->meta.created);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct demo *d = arg;
    const struct pod *was = pod_of(old), *is = pod_of(o);

    if (str_empty(was->node_name) && !str_empty(is->node_name))
        note_wait(d, o);
    if (was->status.phase != POD_SUCCEEDED && is->status.phase == POD_SUCCEEDED) {
        const char *app = kstrmap_get(&o->meta.labels, "app");
        if (app)
            demo_load_succeeded(d, app);
    }
}

/* Those that never got a node have waited, too. */
static void note_waiting(struct demo *d)
{
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(d->pods, &it)))
        if (str_empty(pod_of(o)->node_name) && !o->meta.deleted)
            note_wait(d, o);
}

unsigned demo_waiting(const struct demo *d)
{
    return (unsigned)d->system->stats(d->self).pending;
}

/* ---- life -------------------------------------------------------------------------------------- */

static int start(struct demo *d)
{
    static const struct informer_handler on = { .on_update = on_update };
    const struct up_plan plan = { .loop = d->loop,
                                  .strings = d->strings,
                                  .controllers = true,
                                  .nodes = true,
                                  .scheduler = true,
                                  .manager = d->koord,
                                  .node_count = d->plan.nodes,
                                  .seed = d->plan.seed,
                                  .no_metrics = !d->koord,
                                  .beat_interval = BEAT_EVERY };

    if (d->system->start(&plan, &d->self, &d->err) < 0)
        return d->err.code;
    for (nsec_t t = 0; !d->system->ready(d->self); t += NSEC_PER_SEC) {
        if (t > READY_WITHIN)
            return kerr_set(&d->err, -ETIMEDOUT, "the system does not get ready");
        loop_advance(d->loop, NSEC_PER_SEC);
    }
    d->kube = d->system->kube(d->self);
    d->pods = informer_new(d->kube, &(struct informer_opts){ .kind = &kind_pod });
    informer_add_handler(d->pods, &on, d);
    informer_start(d->pods);
    return 0;
}

static void stop(struct demo *d)
{
    informer_free(d->pods);
    d->system->free(d->self);
    vec_fini(&d->jobs);
    intern_free(d->strings);
    loop_free(d->loop);
}

unsigned demo_at(const struct demo *d, unsigned hour_of_24)
{
    return d->plan.hours * 60 * hour_of_24 / 24;
}

static int live(struct demo *d)
{
    if (start(d) < 0)
        return d->err.code;
    demo_tell_begin(d);
    demo_load_begin(d);
    nsec_t began = loop_wall(d->loop);
    for (d->minute = 0; d->minute < d->plan.hours * 60 && !d->err.code; d->minute++) {
        demo_load_minute(d);
        loop_advance(d->loop, began + (d->minute + 1) * DEMO_MINUTE - loop_wall(d->loop));
        demo_tell_minute(d);
        if (d->c->out_broken)
            return kerr_set(&d->err, -EPIPE, "nobody reads");
    }
    return d->err.code;
}

int demo_run(struct ctl *c, const struct demo_plan *p, bool koord, struct demo_result *ret)
{
    struct demo d = { .c = c, .system = c->parts->up, .plan = *p, .koord = koord };

    d.loop = loop_new_virtual(DEMO_MIDNIGHT, p->seed);
    d.strings = intern_new();
    int r = live(&d);
    if (r == 0) {
        note_waiting(&d);
        struct up_stats s = d.system->stats(d.self);
        *ret = (struct demo_result){ s.use, s.evicted, d.longest_wait };
    }
    stop(&d);
    if (r < 0 && !c->out_broken)
        return ctl_fail(c, "demo: %s", ctl_cause(&d.err));
    return r < 0 ? CTL_FAILED : CTL_OK;
}
