/* configwatch.c - the ConfigMap slo-controller-config, live (manager 2.3).
 *
 * A ConfigMap that is deleted keeps its effect for a minute, since it is usually put there again (a
 * release is installed anew); then the defaults count, as they would after a restart. Upstream
 * keeps the old configuration until a restart.
 */
#include "api/core.h"
#include "base/klog.h"
#include "client/events.h"
#include "loop/loop.h"
#include "manager/manager_int.h"

#define DELETED_GRACE (60 * NSEC_PER_SEC)

struct configwatch {
    struct manager *m;
    struct informer *inf;
    struct subscription *news;
    struct timer *gone;
    struct kobj *last; /* the ConfigMap that counts; NULL: none */
    struct kerr bad[SLO_KEYS];
    bool ready;
};

/* ---- telling --------------------------------------------------------------------------------- */

static void tell_problem(struct configwatch *w, enum slo_key key)
{
    const struct slo_key_info *k = &slo_keys[key];
    const struct kerr *err = &w->bad[key];

    if (err->code == 0)
        return;
    KLOG_E(err, "Invalid key in the ConfigMap, keeping its last valid value",
           KV_S("configmap", w->m->config_name), KV_S("key", k->key));
    if (w->m->leading && w->last)
        recorder_event_on(w->m->events, w->last, true, k->event, NULL,
                          "failed to unmarshal %s, err: %s", k->subject, err->text);
}

static void tell_entries(const struct configwatch *w, enum slo_key key)
{
    const struct slo_section *s = sloconfig_get(w->m->config, key);

    for (uint32_t i = 0; i < s->nodes.n; i++)
        if (s->nodes.items[i].problem)
            KLOG_W("Invalid node entry in the ConfigMap", KV_S("key", slo_keys[key].key),
                   KV_I("entry", i), KV_S("name", s->nodes.items[i].name),
                   KV_S("why", s->nodes.items[i].problem));
}

static void tell_change(const struct configwatch *w, unsigned changed)
{
    CLEANUP(strbuf_fini) struct strbuf keys = STRBUF_INIT;

    for (enum slo_key k = 0; k < SLO_KEYS; k++)
        if (changed >> k & 1)
            strbuf_appendf(&keys, "%s%s", keys.len ? "," : "", slo_keys[k].key);
    KLOG_I(0, "Configuration changed", KV_S("configmap", w->m->config_name),
           KV_S("keys", strbuf_str(&keys)));
}

static void tell_controllers(struct configwatch *w, unsigned changed)
{
    if (w->m->nodemetric)
        nodemetric_on_config(w->m->nodemetric, changed);
    if (w->m->nodeslo)
        nodeslo_on_config(w->m->nodeslo, changed);
    if (w->m->noderesource)
        noderesource_on_config(w->m->noderesource, changed);
}

/* ---- taking over ----------------------------------------------------------------------------- */

static void sync(struct configwatch *w, const kstrmap *data)
{
    struct slo_sync s;

    sloconfig_sync(w->m->config, data, &s);
    for (enum slo_key k = 0; k < SLO_KEYS; k++) {
        w->bad[k] = s.bad[k];
        tell_problem(w, k);
        if (s.changed >> k & 1)
            tell_entries(w, k);
    }
    w->ready = true;
    if (s.changed) {
        tell_change(w, s.changed);
        tell_controllers(w, s.changed);
    }
}

static void take_over(struct configwatch *w, struct kobj *o)
{
    struct configmap *c = container_of(o, struct configmap, obj);

    w->gone = timer_cancel(w->gone);
    kobj_unref(w->last);
    w->last = kobj_ref(o);
    sync(w, &c->data);
}

/* A server that does not know the field selector sends more than was asked for. */
static bool is_ours(const struct configwatch *w, const struct kobj *o)
{
    return streq(o->meta.name, w->m->config_name);
}

static void on_add(void *arg, struct kobj *o)
{
    if (is_ours(arg, o))
        take_over(arg, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    const struct configmap *a = container_of(old, struct configmap, obj);
    const struct configmap *b = container_of(o, struct configmap, obj);

    if (is_ours(arg, o) && !same_strmap(&a->data, &b->data))
        take_over(arg, o);
}

static void on_gone(struct loop *l, void *arg)
{
    struct configwatch *w = arg;

    (void)l;
    w->gone = NULL;
    w->last = kobj_unref(w->last);
    KLOG_W("ConfigMap is gone, using the defaults", KV_S("configmap", w->m->config_name));
    sync(w, NULL);
}

static void on_delete(void *arg, struct kobj *o)
{
    struct configwatch *w = arg;

    if (!is_ours(w, o))
        return;
    KLOG_W("ConfigMap was deleted, using the defaults unless it is created again",
           KV_S("configmap", w->m->config_name), KV_D("in", DELETED_GRACE));
    w->gone = timer_cancel(w->gone);
    w->gone = loop_after(w->m->loop, DELETED_GRACE, on_gone, w);
}

/* There was never one: that is for certain now. */
static void on_synced(void *arg)
{
    struct configwatch *w = arg;

    if (!w->ready)
        sync(w, NULL);
}

static const struct informer_handler handler = { on_add, on_update, on_delete, on_synced };

/* ---- life ------------------------------------------------------------------------------------ */

struct configwatch *configwatch_new(struct manager *m)
{
    struct configwatch *w = xnew0(struct configwatch);
    CLEANUP(mem_free) char *selector = xasprintf("metadata.name=%s", m->config_name);

    w->m = m;
    w->inf = caches_get_some(m->caches, &(struct informer_opts){ .kind = &kind_configmap,
                                                                 .ns = m->config_ns,
                                                                 .field_selector = selector });
    w->news = informer_add_handler(w->inf, &handler, w);
    return w;
}

struct configwatch *configwatch_free(struct configwatch *w)
{
    if (!w)
        return NULL;
    w->news = informer_remove_handler(w->news);
    timer_cancel(w->gone);
    kobj_unref(w->last);
    free(w);
    return NULL;
}

void configwatch_lead(struct configwatch *w)
{
    for (enum slo_key k = 0; k < SLO_KEYS; k++)
        tell_problem(w, k);
}

void configwatch_before(struct configwatch *w, struct controller *c)
{
    controller_read(c, w->inf);
}

const kstrmap *configwatch_data(const struct configwatch *w)
{
    return w->last ? &container_of(w->last, struct configmap, obj)->data : NULL;
}

bool configwatch_ready(const struct configwatch *w)
{
    return w->ready;
}
