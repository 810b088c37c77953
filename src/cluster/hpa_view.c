/* hpa_view.c - what the metrics of an autoscaler say of its pods. */
#include "api/protocol/keys.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/num.h"
#include "cluster/hpa.h"

#define TOLERANCE 0.1

/* ---- samples ------------------------------------------------------------------------------------- */

/* In thousandths; false: not told. */
static bool read_usage(const struct kj_val *container, const char *resource, int64_t *ret)
{
    const char *text = kj_str(kj_get(kj_get(container, "usage"), resource));
    struct qty q;

    if (!text || qty_parse(text, strlen(text), &q, NULL) < 0)
        return false;
    *ret = qty_milli(q);
    return true;
}

static bool read_value(const struct kj_val *metrics, const struct hpa_resource *r, int64_t *ret)
{
    const struct kj_val *list = kj_get(metrics, "containers"), *c;
    struct str key;
    int64_t sum = 0, one;

    for (struct kj_iter it = kj_iter(list); kj_next(&it, &key, &c);) {
        bool named = streq(kj_str_or(kj_get(c, "name"), ""), str_or(r->container, ""));
        if (!str_empty(r->container) && !named)
            continue;
        if (!read_usage(c, r->name, &one))
            return false;
        sum = i64_add_sat(sum, one);
        if (named) {
            *ret = one;
            return true;
        }
    }
    *ret = sum;
    return str_empty(r->container) && kj_len(list) > 0;
}

/* Of several with one name the first counts. */
static void map_items(const struct hpa_look *l, struct map *by_name)
{
    const struct kj_val *m;
    struct str key;

    for (struct kj_iter it = kj_iter(l->items); kj_next(&it, &key, &m);) {
        const char *name = kj_str_or(kj_path(m, "metadata.name"), "");
        if (!map_getz(by_name, name))
            map_putz(by_name, name, (void *)m);
    }
}

static void read_sample(const struct kj_val *m, const struct hpa_resource *r, struct hpa_sample *s)
{
    const char *at = kj_str_or(kj_get(m, "timestamp"), ""),
               *window = kj_str_or(kj_get(m, "window"), "");

    s->known = read_value(m, r, &s->value);
    (void)ktime_parse(at, strlen(at), &s->at, NULL);
    (void)kdur_parse(window, strlen(window), &s->window, NULL);
}

/* ---- requests ------------------------------------------------------------------------------------ */

static const char *add_request(const struct hpa_look *l, const struct hpa_resource *r,
                               const struct container *c, struct hpa_sample *s)
{
    if (!str_empty(r->container) && !streq(c->name, r->container))
        return NULL;
    if (!reslist_has(&c->resources.requests, r->name))
        return arena_printf(l->a, "missing request for %s in container %s of Pod %s", r->name,
                            c->name, s->pod->obj.meta.name);
    s->request = i64_add_sat(s->request, qty_milli(reslist_get(&c->resources.requests, r->name)));
    return NULL;
}

static const char *read_request(const struct hpa_look *l, const struct hpa_resource *r,
                                struct hpa_sample *s)
{
    const struct pod_spec *spec = s->pod->spec;
    const char *problem = NULL;
    bool found = str_empty(r->container);

    if (found && spec->resources && spec->resources->requests.n) {
        if (!reslist_has(&spec->resources->requests, r->name))
            return arena_printf(l->a, "missing pod-level request for %s in Pod %s", r->name,
                                s->pod->obj.meta.name);
        s->request = qty_milli(reslist_get(&spec->resources->requests, r->name));
        return NULL;
    }
    for (uint32_t i = 0; i < spec->containers.n && !problem; i++) {
        found = found || streq(spec->containers.items[i].name, r->container);
        problem = add_request(l, r, &spec->containers.items[i], s);
    }
    for (uint32_t i = 0; i < spec->init_containers.n && !problem; i++) {
        if (!container_is_sidecar(&spec->init_containers.items[i]))
            continue;
        found = found || streq(spec->init_containers.items[i].name, r->container);
        problem = add_request(l, r, &spec->init_containers.items[i], s);
    }
    if (!problem && !found)
        return arena_printf(l->a, "container %s not found in Pod %s", r->container,
                            s->pod->obj.meta.name);
    return problem;
}

/* ---- resources ------------------------------------------------------------------------------------- */

static double tolerance_of(const struct hpa_direction *d)
{
    return d && d->tolerance ? qty_f64(*d->tolerance) : TOLERANCE;
}

static struct hpa_goal goal_of(const struct hpa_look *l, const struct hpa_resource *r)
{
    const struct hpa_behavior *b = l->hpa->spec.behavior;

    return (struct hpa_goal){
        .is_utilization = !r->target.average_value,
        .is_cpu = streq(r->name, RES_CPU),
        .target = r->target.average_value ? qty_milli(*r->target.average_value)
                                          : r->target.average_utilization.v,
        .down = tolerance_of(b ? b->down : NULL),
        .up = tolerance_of(b ? b->up : NULL),
        .replicas = l->replicas,
        .now = loop_wall(l->c->loop),
    };
}

static const char *calculate(const struct hpa_look *l, const struct hpa_resource *r,
                             const struct hpa_goal *g, struct hpa_proposal *ret)
{
    CLEANUP(map_fini) struct map by_name = { 0 };
    hpa_samplevec samples = { 0 };
    const char *problem = NULL, *why;

    map_items(l, &by_name);
    vec_foreach(&l->pods, i) {
        struct hpa_sample s = { .pod = pod_of(l->pods.items[i]) };
        const struct kj_val *m = map_getz(&by_name, s.pod->obj.meta.name);
        if (m)
            read_sample(m, r, &s);
        if (g->is_utilization && !problem)
            problem = read_request(l, r, &s);
        vec_push(&samples, s);
    }
    why = hpa_calc(&samples, g, ret);
    vec_fini(&samples);
    /* Requests are looked at only where there is something to compare with them. */
    bool too_early = why && !str_starts(why, "no metrics returned matched");
    return too_early ? why : problem ? problem : why;
}

static const char *problem_of(const struct hpa_look *l, const struct hpa_resource *r,
                              const struct hpa_goal *g, struct hpa_proposal *ret)
{
    const char *kind = g->is_utilization ? "utilization" : "usage", *why;

    if (!r->target.average_value && !r->target.average_utilization.set)
        return "invalid resource metric source: neither an average utilization target nor an "
               "average value (usage) target was set";
    if (l->problem)
        return arena_printf(l->a, "failed to get %s %s: unable to get metrics for resource %s: %s",
                            r->name, kind, r->name, l->problem);
    why = calculate(l, r, g, ret);
    return why ? arena_printf(l->a, "failed to get %s %s: %s", r->name, kind, why) : NULL;
}

static const char *average_text(const struct hpa_look *l, const char *resource, int64_t milli)
{
    bool binary = streq(resource, RES_MEMORY);
    return qty_format(qty_from_milli(milli, binary ? QTY_BINARY_SI : QTY_DECIMAL_SI), l->a);
}

static struct hpa_opinion ask_resource(const struct hpa_look *l, const struct hpa_metric *m,
                                       const struct hpa_resource *r)
{
    bool of_container = r == m->container;
    struct hpa_goal g = goal_of(l, r);
    struct hpa_proposal p = { 0 };
    struct hpa_opinion o = { .cause = problem_of(l, r, &g, &p), .status = { .type = "" } };

    if (o.cause) {
        o.reason = of_container ? "FailedGetContainerResourceMetric" : "FailedGetResourceMetric";
        o.failure = of_container ? arena_printf(l->a, "failed to get %s container metric value: %s",
                                                r->container, o.cause)
                                 : arena_printf(l->a, "failed to get %s resource metric value: %s",
                                                r->name, o.cause);
        return o;
    }
    struct hpa_resource_status *s = arena_new0(l->a, struct hpa_resource_status);
    s->name = r->name;
    s->container = r->container;
    s->current.average_value = average_text(l, r->name, p.average);
    if (g.is_utilization)
        s->current.average_utilization = (struct opt_i32){ true, p.utilization };
    o.replicas = p.replicas;
    o.name = !g.is_utilization
                 ? arena_printf(l->a, "%s resource", r->name)
                 : arena_printf(l->a, "%s %sresource utilization (percentage of request)", r->name,
                                of_container ? "container " : "");
    o.status.type = m->type;
    o.status.resource = of_container ? NULL : s;
    o.status.container = of_container ? s : NULL;
    return o;
}

/* ---- what nobody serves ---------------------------------------------------------------------------- */

#define NO_CUSTOM                                          \
    "unable to fetch metrics from custom metrics API: no " \
    "custom metrics API (custom.metrics.k8s.io) registered"

static struct hpa_opinion ask_nobody(const struct hpa_look *l, const struct hpa_metric *m)
{
    const struct hpa_other *x = m->pods ? m->pods : m->object ? m->object : m->external;
    struct hpa_opinion o = { .status = { .type = "" } };
    const char *name = x ? str_or(x->metric.name, "") : "", *ns = l->hpa->obj.meta.ns;

    if (m->pods) {
        o.reason = "FailedGetPodsMetric";
        o.cause = arena_printf(l->a, "unable to get metric %s: %s", name, NO_CUSTOM);
        o.failure = arena_printf(l->a, "failed to get pods metric value: %s", o.cause);
    } else if (m->object) {
        o.reason = "FailedGetObjectMetric";
        o.cause = arena_printf(l->a, "unable to get metric %s: %s on %s %s/%s", name,
                               str_or(x->described.kind, ""), ns, str_or(x->described.name, ""),
                               NO_CUSTOM);
        o.failure = arena_printf(l->a, "failed to get object metric value: %s", o.cause);
    } else if (m->external) {
        o.reason = "FailedGetExternalMetric";
        o.cause = arena_printf(l->a,
                               "unable to get external metric %s/%s: unable to fetch metrics from "
                               "external metrics API: the server could not find the requested "
                               "resource (get %s.external.metrics.k8s.io)",
                               ns, name, name);
        o.failure = arena_printf(l->a, "failed to get %s external metric value: %s", name, o.cause);
    } else {
        o.reason = "InvalidMetricSourceType";
        o.cause = o.failure =
            arena_printf(l->a, "unknown metric source type \"%s\"", str_or(m->type, ""));
    }
    return o;
}

struct hpa_opinion hpa_ask(const struct hpa_look *l, const struct hpa_metric *m)
{
    if (m->resource)
        return ask_resource(l, m, m->resource);
    return m->container ? ask_resource(l, m, m->container) : ask_nobody(l, m);
}
