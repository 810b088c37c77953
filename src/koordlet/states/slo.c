/* slo.c - the NodeSLO object: received as text, so that one bad part cannot hide the others. */
#include "base/klog.h"
#include "client/events.h"
#include "client/informer.h"
#include "client/kube.h"
#include "component/metrics.h"
#include "koordlet/states/states_int.h"
#include "json/kj.h"

/* The kind, with its spec as JSON text: types are judged part by part. */
struct nodeslo_text {
    struct kobj obj;
    const char *spec; /* NULL: none */
};
static const struct kfield nodeslo_text_fields[] = {
    F_METADATA(struct nodeslo_text),
    KF(struct nodeslo_text, spec, "spec", KF_RAW, .flags = KF_OMITEMPTY),
};
static const struct kschema nodeslo_text_schema =
    KSCHEMA("NodeSLO", struct nodeslo_text, nodeslo_text_fields);
static const struct kind kind_nodeslo_text = {
    .group = "slo.koordinator.sh",
    .version = "v1alpha1",
    .kind = "NodeSLO",
    .plural = "nodeslos",
    .has_status = true,
    .schema = &nodeslo_text_schema,
};

static const struct metric_desc refused_desc = {
    .name = "koordlet_nodeslo_refused_total",
    .help = "Parts of NodeSLO that were refused.",
    .type = METRIC_COUNTER,
    .labels = { "section" },
};

/* ---- refusals -------------------------------------------------------------------------------- */

/* Made when there is something to say, which should be never. */
static struct recorder *recorder_of(struct states *s)
{
    struct recorder_opts o = {
        .component = "koordlet",
        .instance = s->o.node_name,
        .host = s->o.node_name,
        .queue_max = 16,
        .in_flight = 1,
    };

    if (!s->recorder)
        s->recorder = recorder_new(s->env.kube, &o);
    return s->recorder;
}

static void tell_refused(struct states *s, const char *section, const struct kerr *why)
{
    /* As kubelets do: the name stands for the UID of a Node in its events. */
    struct event_about node = {
        .api_version = "v1", .kind = "Node", .name = s->o.node_name, .uid = s->o.node_name
    };

    KLOG_E(why, "Refused a part of NodeSLO; its last good value, or its default, stays",
           KV_S("section", section));
    if (s->slo_refused)
        counter_inc(metric_counter(s->slo_refused, METRIC_VALUES(section)));
    recorder_event(recorder_of(s), &node, true, "NodeSLOInvalid", "Configure",
                   "spec.%s of NodeSLO %s is refused: %s", section, s->o.node_name, why->text);
}

/* ---- the spec -------------------------------------------------------------------------------- */

static void take_spec(struct states *s, const char *text)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr why[NODESLO_SECTIONS], err = { 0 };
    struct nodeslo_spec merged;

    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0) { /* it was written by our own decoder */
        KLOG_E(&err, "Cannot read NodeSLO");
        return;
    }
    nodeslo_merge(kj_root(doc), states_now(s)->slo, a, &merged, why);
    for (size_t i = 0; i < NODESLO_SECTIONS; i++)
        if (why[i].code < 0)
            tell_refused(s, nodeslo_section_names[i], &why[i]);
    snapshots_set_nodeslo(s->env.snapshots, &merged, take(a));
}

static void on_add(void *arg, struct kobj *obj)
{
    const struct nodeslo_text *o = container_of(obj, const struct nodeslo_text, obj);
    struct states *s = arg;
    const char *text = str_or(o->spec, "{}");

    if (s->slo_text && streq(s->slo_text, text))
        return;
    free(s->slo_text);
    s->slo_text = xstrdup(text);
    take_spec(s, text);
}

static void on_update(void *arg, struct kobj *old, struct kobj *obj)
{
    (void)old;
    on_add(arg, obj);
}

/* A deletion is ignored: the last value stays. */
static const struct informer_handler handler = { .on_add = on_add, .on_update = on_update };

void slo_init(struct states *s)
{
    struct informer_opts o = { .kind = &kind_nodeslo_text,
                               .field_selector = s->selector,
                               .page = 2 };

    if (s->env.internal)
        s->slo_refused = metrics_add(s->env.internal, &refused_desc);
    s->slos = informer_new(s->env.kube, &o);
    informer_add_handler(s->slos, &handler, s);
}

void slo_fini(struct states *s)
{
    s->recorder = recorder_free(s->recorder);
    free(s->slo_text);
}
