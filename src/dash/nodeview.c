/* nodeview.c - what is read of one node only while somebody looks at it. */
#include "api/event.h"
#include "api/koord/nodeslo.h"
#include "client/kube.h"
#include "dash/views.h"

struct nodeview {
    struct informer *slo, *events;
};

static struct informer *watch_some(struct kube *k, const struct kind *kind, const char *field,
                                   const char *value)
{
    CLEANUP(strbuf_fini) struct strbuf selector = STRBUF_INIT;

    strbuf_appendf(&selector, "%s=%s", field, value);
    struct informer *inf = informer_new(
        k, &(struct informer_opts){ .kind = kind, .field_selector = strbuf_str(&selector) });
    informer_start(inf);
    return inf;
}

struct nodeview *nodeview_new(struct dash *d, const char *node)
{
    struct nodeview *v = xnew0(struct nodeview);

    v->slo = watch_some(d->kube, &kind_nodeslo, "metadata.name", node);
    v->events = watch_some(d->kube, &kind_core_event, "involvedObject.name", node);
    return v;
}

struct nodeview *nodeview_free(struct nodeview *v)
{
    if (!v)
        return NULL;
    informer_free(v->slo);
    informer_free(v->events);
    free(v);
    return NULL;
}

const struct informer *nodeview_slo(const struct nodeview *v)
{
    return v->slo;
}

const struct informer *nodeview_events(const struct nodeview *v)
{
    return v->events;
}
