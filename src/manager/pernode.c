/* pernode.c - objects that go with nodes. */
#include "manager/pernode.h"

#include "json/kj.h"

struct pernode {
    struct manager *m;
    const struct pernode_opts *o;
    struct controller *controller;
    struct outcomes reconciled;
};

/* ---- writes ---------------------------------------------------------------------------------- */

struct write {
    struct pernode *p;
    const char *failed; /* reason in the metric */
};

static bool on_written(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct write *w = arg;

    (void)b, (void)r;
    /* Gone, or made by somebody else meanwhile: the news of it brings the next sync. */
    if (!err || err->reason == KR_NOT_FOUND || err->reason == KR_ALREADY_EXISTS) {
        outcomes_ok(&w->p->reconciled);
        return true;
    }
    outcomes_failed(&w->p->reconciled, w->failed);
    return false;
}

static struct write *write_for(struct pernode *p, struct batch *b, const char *failed)
{
    struct write *w = arena_new0(batch_arena(b), struct write);
    *w = (struct write){ p, failed };
    return w;
}

static void create(struct pernode *p, struct batch *b, const char *name, const void *spec)
{
    const struct kind *k = informer_kind(p->o->objects);
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, text = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char version[128];

    kind_api_version(k, version, sizeof version);
    kj_encode(p->o->spec, spec, &text);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", version);
    kjw_str(&w, "kind", k->kind);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", name);
    kjw_end(&w);
    kjw_raw(&w, "spec", text.data, text.len);
    kjw_end(&w);
    batch_create(b, k, NULL, &body, on_written, write_for(p, b, p->o->create_failed));
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct pernode *p = self;
    const struct kobj *node = informer_get(p->m->nodes, key);

    if (p->o->ready && !p->o->ready(p->o->self))
        return;
    if (!node && obj)
        batch_delete(b, obj, &(struct delete_opts){ .grace = -1, .any_version = true }, on_written,
                     write_for(p, b, p->o->delete_failed));
    if (!node)
        return;
    const void *spec = p->o->render(p->o->self, node, obj, batch_arena(b));
    if (!obj)
        create(p, b, key, spec);
    else if (spec)
        batch_patch_change(
            b, obj,
            &(struct change){
                .member = "spec", .schema = p->o->spec, .from = p->o->spec_of(obj), .to = spec },
            on_written, write_for(p, b, p->o->update_failed));
}

/* ---- news ------------------------------------------------------------------------------------ */

static void on_news(void *arg, struct kobj *o)
{
    struct pernode *p = arg;
    controller_add_object(p->controller, o);
}

static void on_node_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old == o || !same_strmap(&old->meta.labels, &o->meta.labels) ||
        !same_strmap(&old->meta.annotations, &o->meta.annotations))
        on_news(arg, o);
}

static void on_object_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct pernode *p = arg;

    if (old == o || !kj_struct_equal(p->o->spec, p->o->spec_of(old), p->o->spec_of(o)))
        on_news(arg, o);
}

void pernode_on_config(struct pernode *p)
{
    manager_add_nodes(p->m, p->controller);
}

void pernode_add(struct pernode *p, const char *node)
{
    controller_add(p->controller, node);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct pernode *pernode_new(struct manager *m, const struct pernode_opts *o)
{
    static const struct informer_handler nodes = { .on_add = on_news,
                                                   .on_update = on_node_update,
                                                   .on_delete = on_news };
    static const struct informer_handler objects = { .on_add = on_news,
                                                     .on_update = on_object_update,
                                                     .on_delete = on_news };
    struct pernode *p = xnew0(struct pernode);

    p->m = m;
    p->o = o;
    outcomes_init(&p->reconciled, m->o.metrics, o->reconciled);
    p->controller = controller_new(m->controllers, &(struct controller_opts){
                                                       .name = o->name,
                                                       .of = o->objects,
                                                       .sync = sync,
                                                       .self = p,
                                                       .queue = { .concurrency = 8 },
                                                   });
    controller_watch(p->controller, m->nodes, &nodes, p);
    controller_watch(p->controller, o->objects, &objects, p);
    configwatch_before(m->watch, p->controller);
    return p;
}

struct pernode *pernode_free(struct pernode *p)
{
    if (!p)
        return NULL;
    controller_free(p->controller);
    free(p);
    return NULL;
}
