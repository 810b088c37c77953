/* controller_adapt.c - nodes in trouble: the cut of each, koordlet's evictions, and events. */
#include "api/event.h"
#include "client/events.h"
#include "loop/loop.h"
#include "manager/noderesource/controller_int.h"

/* An event that is older was told before we listened. */
#define EVICTION_AGE (120 * NSEC_PER_SEC)

struct nr_cut nr_state_cut(struct noderesource_controller *c, struct node_state *s,
                           const struct nodeslo *obj)
{
    struct kobj *cached = !obj && c->m->slos ? informer_get(c->m->slos, s->name) : NULL;

    if (!obj && cached)
        obj = nodeslo_of(cached);
    if (!s->cut_known && obj)
        s->adapt.cut = nr_cut_load(obj->spec.extensions);
    s->cut_known = true;
    return s->adapt.cut;
}

struct nr_cut noderesource_cut(struct noderesource_controller *c, const char *node,
                               const struct nodeslo *obj)
{
    return nr_state_cut(c, nr_state_of(c, node), obj);
}

/* Each loss is told, and the end of the recovery. */
static void tell(struct noderesource_controller *c, const struct nr_input *in, struct nr_cut was,
                 struct nr_cut is, const char *why)
{
    bool less = is.cpu > was.cpu || is.memory > was.memory;

    if (less)
        recorder_event_on(c->m->events, &in->node->obj, true, "ColocationReduced", NULL, "%s", why);
    else if (is.cpu == 0 && is.memory == 0)
        recorder_event_on(c->m->events, &in->node->obj, false, "ColocationRestored", NULL,
                          "reclaim thresholds are the configured ones again");
}

bool nr_state_adapt(struct noderesource_controller *c, struct node_state *s,
                    const struct nr_input *in, const struct nr_result *r)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    struct nr_cut was = s->adapt.cut;
    bool changed = false;

    /* A report that is there when we come to lead was answered by who led before, and when the
     * last change was we do not know. */
    if (!s->looked_at) {
        s->adapt.report = in->metric ? in->metric->status.update_time : 0;
        s->adapt.cpu_since = s->adapt.memory_since = in->now;
    }
    s->looked_at = true;
    if (r->disabled || !r->extension.adaptive.enable) {
        changed = was.cpu > 0 || was.memory > 0;
        s->adapt = (struct nr_adapt){ 0 };
        s->evictions = 0;
    } else if (nr_adapt_step(in, r->configured, &r->extension.adaptive, &s->evictions, &s->adapt,
                             &why)) {
        changed = true;
        tell(c, in, was, s->adapt.cut, strbuf_str(&why));
    }
    if (changed && c->m->nodeslo)
        nodeslo_add(c->m->nodeslo, s->name);
    return changed;
}

/* ---- koordlet's evictions -------------------------------------------------------------------- */

static void on_eviction(void *arg, struct kobj *o)
{
    struct noderesource_controller *c = arg;
    const struct event *e = container_of(o, const struct event, obj);
    nsec_t at = MAX(e->last_timestamp, e->event_time);

    if (str_empty(e->source.host) || !streq(e->reason, "evictPodSuccess") ||
        loop_wall(c->m->loop) - at > EVICTION_AGE || !informer_get(c->m->nodes, e->source.host))
        return;
    nr_state_of(c, e->source.host)->evictions++;
}

static void on_eviction_again(void *arg, struct kobj *old, struct kobj *o)
{
    if (old != o)
        on_eviction(arg, o);
}

static bool is_adaptive(const struct colocation_strategy *s, struct arena *a)
{
    struct koord_extension x;
    return koord_extension_read(s, a, &x, NULL) > 0 && x.adaptive.enable;
}

static bool any_adaptive(const struct slo_section *s)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    bool any = is_adaptive(s->merged, a);

    for (uint32_t i = 0; !any && i < s->nodes.n; i++)
        any = is_adaptive(s->nodes.items[i].merged, a);
    return any;
}

void nr_evictions_watch(struct noderesource_controller *c)
{
    static const struct informer_handler handler = { .on_add = on_eviction,
                                                     .on_update = on_eviction_again };

    if (c->evictions || !any_adaptive(sloconfig_get(c->m->config, SLO_COLOCATION)))
        return;
    struct informer *events = caches_get_some(
        c->m->caches, &(struct informer_opts){ .kind = &kind_core_event,
                                               .field_selector = "reason=evictPodSuccess" });
    c->evictions = informer_add_handler(events, &handler, c);
}

void nr_evictions_unwatch(struct noderesource_controller *c)
{
    c->evictions = informer_remove_handler(c->evictions);
}
