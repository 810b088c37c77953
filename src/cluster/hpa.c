/* hpa.c - HorizontalPodAutoscalers: each is looked at every 15 s.
 *
 * A look reads the target's scale, then the metrics of its pods (metrics.k8s.io), decides, writes
 * the scale and last the status. What was recommended and done before is remembered in memory:
 * after a restart the number of replicas cannot fall for five minutes, as upstream.
 */
#include "cluster/hpa.h"

#include "client/discovery.h"

#define LOOK_EVERY (15 * NSEC_PER_SEC)
#define LOOK_SOON  NSEC_PER_SEC

struct hpactl {
    struct cluster *c;
    struct controller *controller;
    struct informer *hpas, *pods;
    struct map memory; /* by key: struct hpa_memory */
};
struct turn { /* one look; in the arena */
    struct hpactl *h;
    const struct hpa *hpa; /* held by the batch */
    struct hpa_memory *memory;
    struct hpa_status status;
    const struct kind *kind; /* of the target */
    const char *selector;
    int32_t current, desired;
    const char *reason; /* for the new size */
    bool rescaled;
};

static const struct kind kind_podmetrics = { .group = "metrics.k8s.io",
                                             .version = "v1beta1",
                                             .kind = "PodMetrics",
                                             .plural = "pods",
                                             .namespaced = true,
                                             .schema = &kobj_schema };

/* ---- telling ------------------------------------------------------------------------------------- */

static void set(struct batch *b, struct turn *t, const char *type, bool yes, const char *reason,
                const char *message)
{
    struct timed_condition c = {
        .type = type, .status = yes ? COND_TRUE : COND_FALSE, .reason = reason, .message = message
    };
    conditions_set(&t->status.conditions, &c, loop_wall(t->h->c->loop), batch_arena(b));
}

static void warn(const struct turn *t, const char *reason, const char *text)
{
    recorder_event_on(t->h->c->events, &t->hpa->obj, true, reason, NULL, "%s", text);
}

static void write_status(struct batch *b, struct turn *t)
{
    if (t->rescaled)
        t->status.last_scale_time = loop_wall(t->h->c->loop) / NSEC_PER_SEC * NSEC_PER_SEC;
    batch_patch_change(b, &t->hpa->obj,
                       &(struct change){ .member = "status",
                                         .schema = &hpa_status_schema,
                                         .from = &t->hpa->status,
                                         .to = &t->status },
                       NULL, NULL);
}

/* ---- scaling ------------------------------------------------------------------------------------- */

static struct hpa_limits limits_of(const struct turn *t)
{
    const struct hpa_spec *s = &t->hpa->spec;

    return (struct hpa_limits){ .current = t->current,
                                .desired = t->desired,
                                .min = s->min_replicas.set ? s->min_replicas.v : 1,
                                .max = s->max_replicas,
                                .behavior = s->behavior,
                                .now = loop_mono(t->h->c->loop) };
}

static bool on_scaled(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct turn *t = arg;
    struct arena *a = batch_arena(b);
    struct hpa_limits l = limits_of(t);

    (void)r;
    if (err) {
        recorder_event_on(t->h->c->events, &t->hpa->obj, true, "FailedRescale", NULL,
                          "New size: %d; reason: %s; error: %s", t->desired, t->reason, err->text);
        set(b, t, "AbleToScale", false, "FailedUpdateScale",
            arena_printf(a, "the HPA controller was unable to update the target scale: %s",
                         err->text));
        t->status.current_replicas = t->current;
        write_status(b, t);
        return true;
    }
    set(b, t, "AbleToScale", true, "SucceededRescale",
        arena_printf(a, "the HPA controller was able to update the target scale to %d",
                     t->desired));
    recorder_event_on(t->h->c->events, &t->hpa->obj, false, "SuccessfulRescale", NULL,
                      "New size: %d; reason: %s", t->desired, t->reason);
    if (t->memory)
        hpa_remember_change(t->memory, &l, t->desired);
    t->rescaled = true;
    t->status.current_replicas = t->current;
    t->status.desired_replicas = t->desired;
    write_status(b, t);
    return true;
}

static void settle(struct batch *b, struct turn *t)
{
    const char *body;

    if (t->desired == t->current) {
        t->status.current_replicas = t->status.desired_replicas = t->current;
        write_status(b, t);
        return;
    }
    body = arena_printf(batch_arena(b), "{\"spec\":{\"replicas\":%d}}", t->desired);
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_PATCH,
                                   .kind = t->kind,
                                   .ns = t->hpa->obj.meta.ns,
                                   .name = t->hpa->spec.target.name,
                                   .subresource = "scale",
                                   .patch = KUBE_PATCH_MERGE,
                                   .body = body,
                                   .body_len = strlen(body) },
               on_scaled, t);
}

/* ---- deciding ------------------------------------------------------------------------------------ */

static const struct hpa_metric *metrics_of(const struct hpa *hpa, uint32_t *n)
{
    static const struct hpa_resource cpu = {
        .name = "cpu", .target = { .type = "Utilization", .average_utilization = { true, 80 } }
    };
    static const struct hpa_metric usual = { .type = "Resource",
                                             .resource = (struct hpa_resource *)(uintptr_t)&cpu };

    *n = hpa->spec.metrics.n ? hpa->spec.metrics.n : 1;
    return hpa->spec.metrics.n ? hpa->spec.metrics.items : &usual;
}

/* false: they do not say enough; conditions and events tell why. */
static bool consult(struct batch *b, struct turn *t, const struct hpa_look *l)
{
    uint32_t n, bad = 0;
    const struct hpa_metric *metrics = metrics_of(t->hpa, &n);
    struct hpa_metric_status *statuses = arena_newn0(l->a, n, struct hpa_metric_status);
    struct hpa_opinion worst = { 0 };
    const char *name = "";

    t->desired = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hpa_opinion o = hpa_ask(l, &metrics[i]);
        statuses[i] = o.status;
        if (o.cause) {
            warn(t, o.reason, o.cause);
            worst = bad++ ? worst : o;
        } else if (t->desired == 0 || o.replicas > t->desired) {
            t->desired = o.replicas;
            name = o.name;
        }
    }
    t->status.current_metrics = (hpa_metric_statuslist){ .items = statuses, .n = n };
    if (bad == n || (bad && t->desired < t->current)) {
        set(b, t, "ScalingActive", false, worst.reason,
            arena_printf(l->a, "the HPA was unable to compute the replica count: %s", worst.cause));
        warn(t, "FailedComputeMetricsReplicas",
             arena_printf(l->a, "invalid metrics (%u invalid out of %u), first error is: %s", bad,
                          n, worst.failure));
        return false;
    }
    set(b, t, "ScalingActive", true, "ValidMetricFound",
        arena_printf(l->a, "the HPA was able to successfully calculate a replica count from %s",
                     name));
    t->reason = t->desired > t->current ? arena_printf(l->a, "%s above target", name)
                                        : "All metrics below target";
    return true;
}

static void decide(struct batch *b, struct turn *t, const struct hpa_look *l)
{
    if (!consult(b, t, l)) {
        t->status.current_replicas = t->current;
        write_status(b, t);
        return;
    }
    struct hpa_limits limits = limits_of(t);
    struct hpa_verdict v = hpa_judge(t->memory, &limits);
    set(b, t, "AbleToScale", true, v.stable_reason, v.stable_message);
    set(b, t, "ScalingLimited", v.is_limited, v.limited_reason, v.limited_message);
    t->desired = v.replicas;
    settle(b, t);
}

/* ---- metrics ------------------------------------------------------------------------------------- */

static void select_pods(struct hpactl *h, const char *ns, const struct labelsel *sel, kobjvec *out)
{
    kobjvec all = { 0 };

    objects_by(h->pods, index_ns, ns, &all);
    vec_foreach(&all, i)
        if (labelsel_matches(sel, &all.items[i]->meta.labels))
            vec_push(out, all.items[i]);
    vec_fini(&all);
}

static bool on_metrics(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct turn *t = arg;
    struct arena *a = batch_arena(b);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct hpa_look l = { .hpa = t->hpa, .c = t->h->c, .replicas = t->current, .a = a };
    struct labelsel *sel;
    struct kerr bad = { 0 };

    if (!err && kj_parse(r->body, r->n, 0, &doc, &bad) < 0)
        err = &bad;
    if (err)
        l.problem =
            arena_printf(a, "unable to fetch metrics from resource metrics API: %s", err->text);
    else if (kj_len(l.items = kj_get(kj_root(doc), "items")) == 0)
        l.problem = "no metrics returned from resource metrics API";
    if (!t->memory || labelsel_parse(t->selector, strlen(t->selector), a, &sel, &bad) < 0)
        return true; /* gone meanwhile */
    select_pods(t->h, t->hpa->obj.meta.ns, sel, &l.pods);
    decide(b, t, &l);
    vec_fini(&l.pods);
    return true;
}

/* Who else scales one of these pods: "[{web default} {api default}]"; NULL: nobody. */
static const char *rivals(struct batch *b, const struct turn *t, const struct labelsel *sel)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct arena *a = batch_arena(b);
    kobjvec pods = { 0 }, hpas = { 0 };
    size_t n = 0;

    select_pods(t->h, t->hpa->obj.meta.ns, sel, &pods);
    objects_by(t->h->hpas, index_ns, t->hpa->obj.meta.ns, &hpas);
    vec_foreach(&hpas, i) {
        const struct objmeta *meta = &hpas.items[i]->meta;
        const struct hpa_memory *m =
            map_getz(&t->h->memory, arena_printf(a, "%s/%s", meta->ns, meta->name));
        struct labelsel *other;
        bool shares = false;
        if (!m || !m->selector || labelsel_parse(m->selector, strlen(m->selector), a, &other, NULL))
            continue;
        vec_foreach(&pods, k)
            shares = shares || labelsel_matches(other, &pods.items[k]->meta.labels);
        if (shares)
            strbuf_appendf(&text, "%s{%s %s}", n++ ? " " : "", meta->name, meta->ns);
    }
    vec_fini(&pods);
    vec_fini(&hpas);
    return n > 1 ? arena_printf(a, "[%s]", text.data) : NULL;
}

/* NULL: its pods can be told. */
static const char *check_selector(struct batch *b, struct turn *t, const char **ret_reason)
{
    struct arena *a = batch_arena(b);
    struct labelsel *sel;
    struct kerr err = { 0 };

    *ret_reason = "InvalidSelector";
    if (str_empty(t->selector)) {
        warn(t, "SelectorRequired", "selector is required");
        return "the HPA target's scale is missing a selector";
    }
    const char *text = NULL;
    if (labelsel_parse(t->selector, strlen(t->selector), a, &sel, &err) < 0) {
        text = arena_printf(a,
                            "couldn't convert selector into a corresponding internal selector "
                            "object: %s",
                            err.text);
    } else {
        free(t->memory->selector);
        t->memory->selector = xstrdup(t->selector);
        const char *others = rivals(b, t, sel);
        if (others) {
            *ret_reason = "AmbiguousSelector";
            text = arena_printf(a, "pods by selector %s are controlled by multiple HPAs: %s",
                                t->selector, others);
        }
    }
    if (text)
        warn(t, *ret_reason, text);
    return text;
}

static void ask_metrics(struct batch *b, struct turn *t)
{
    const char *reason, *problem = check_selector(b, t, &reason);

    if (problem) {
        set(b, t, "ScalingActive", false, reason, problem);
        t->status.current_replicas = t->current;
        write_status(b, t);
        return;
    }
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_LIST,
                                   .kind = &kind_podmetrics,
                                   .ns = t->hpa->obj.meta.ns,
                                   .label_selector = t->selector },
               on_metrics, t);
}

/* ---- the target ---------------------------------------------------------------------------------- */

static void fail_scale(struct batch *b, struct turn *t, const char *text)
{
    warn(t, "FailedGetScale", text);
    set(b, t, "AbleToScale", false, "FailedGetScale",
        arena_printf(batch_arena(b),
                     "the HPA controller was unable to get the target's current scale: %s", text));
    write_status(b, t);
}

static void begin(struct batch *b, struct turn *t)
{
    struct hpa_limits l = limits_of(t);

    set(b, t, "AbleToScale", true, "SucceededGetScale",
        "the HPA controller was able to get the target's current scale");
    hpa_remember_first(t->memory, t->current, l.now);
    t->desired = t->current;
    if (t->current == 0 && l.min != 0) {
        set(b, t, "ScalingActive", false, "ScalingDisabled",
            "scaling is disabled since the replica count of the target is zero");
        t->status.current_metrics = (hpa_metric_statuslist){ 0 };
        settle(b, t);
    } else if (t->current > l.max) {
        t->reason = "Current number of replicas above Spec.MaxReplicas";
        t->desired = l.max;
        settle(b, t);
    } else if (t->current < l.min) {
        t->reason = "Current number of replicas below Spec.MinReplicas";
        t->desired = l.min;
        settle(b, t);
    } else {
        ask_metrics(b, t);
    }
}

static bool on_scale(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct turn *t = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr bad = { 0 };

    if (!err && kj_parse(r->body, r->n, 0, &doc, &bad) < 0)
        err = &bad;
    if (err) {
        fail_scale(b, t, err->text);
        return true;
    }
    t->current = (int32_t)kj_i64_or(kj_path(kj_root(doc), "spec.replicas"), 0);
    t->selector =
        arena_strdup(batch_arena(b), kj_str_or(kj_path(kj_root(doc), "status.selector"), ""));
    t->memory = map_getz(&t->h->memory, batch_key(b));
    if (t->memory) /* the autoscaler is still there */
        begin(b, t);
    return true;
}

static void read_scale(struct batch *b, struct turn *t)
{
    const struct hpa_object_ref *ref = &t->hpa->spec.target;
    const char *version = str_empty(ref->api_version) ? "v1" : ref->api_version;
    const struct discovery *d = t->h->c->discovery;
    const struct served_kind *k = discovery_find(d, version, ref->kind);
    const char *slash = strchr(version, '/');

    if ((!k || !k->served) && !discovery_complete(d)) {
        batch_again(b, LOOK_SOON);
        return;
    }
    if (!k || !k->served) {
        fail_scale(b, t,
                   arena_printf(batch_arena(b), "no matches for kind \"%s\" in group \"%.*s\"",
                                ref->kind, slash ? (int)(slash - version) : 0, version));
        return;
    }
    t->kind = &k->kind;
    batch_call(b,
               &(struct kube_req){ .verb = KUBE_GET,
                                   .kind = t->kind,
                                   .ns = t->hpa->obj.meta.ns,
                                   .name = ref->name,
                                   .subresource = "scale" },
               on_scale, t);
}

/* ---- life ------------------------------------------------------------------------------------------ */

static void forget(struct hpactl *h, const char *key)
{
    struct hpa_memory *m = map_removez(&h->memory, key);

    if (m)
        hpa_memory_fini(m);
    free(m);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct hpactl *h = arg;

    if (!o) {
        forget(h, key);
        return;
    }
    batch_again(b, LOOK_EVERY);
    if (!map_getz(&h->memory, key)) {
        struct hpa_memory *m = xnew0(struct hpa_memory);
        m->key = xstrdup(key);
        map_putz(&h->memory, m->key, m);
    }
    struct turn *t = arena_new0(batch_arena(b), struct turn);
    *t = (struct turn){ .h = h, .hpa = hpa_of(o), .status = hpa_of(o)->status };
    read_scale(b, t);
}

static void on_hpa(void *arg, struct kobj *o)
{
    controller_add_object(((struct hpactl *)arg)->controller, o);
}

/* Our own status is no news: the next look has its time. */
static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (!kj_struct_equal(&hpa_spec_schema, &hpa_of(old)->spec, &hpa_of(o)->spec))
        on_hpa(arg, o);
}

struct hpactl *hpactl_new(struct cluster *c)
{
    static const struct informer_handler handler = { .on_add = on_hpa,
                                                     .on_update = on_update,
                                                     .on_delete = on_hpa };
    struct hpactl *h = xnew0(struct hpactl);

    h->c = c;
    h->hpas = caches_get(c->caches, &doc_hpa);
    h->pods = caches_get(c->caches, &kind_pod);
    h->controller = controller_new(
        c->controllers, &(struct controller_opts){ .name = "horizontalpodautoscaler",
                                                   .of = h->hpas,
                                                   .sync = sync,
                                                   .self = h,
                                                   .queue = { .concurrency = 5,
                                                              .backoff_initial = NSEC_PER_SEC,
                                                              .backoff_max = LOOK_EVERY } });
    controller_watch(h->controller, h->hpas, &handler, h);
    controller_read(h->controller, h->pods);
    return h;
}

struct hpactl *hpactl_free(struct hpactl *h)
{
    if (!h)
        return NULL;
    controller_free(h->controller);
    map_foreach(&h->memory, e) {
        hpa_memory_fini(e->value);
        free(e->value);
    }
    map_fini(&h->memory);
    free(h);
    return NULL;
}
