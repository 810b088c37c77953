/* collection.c - DELETE of a collection: a call of its own for each object that matches. */
#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"

struct collection {
    struct api_call *c; /* NULL: the client went away; the deletions go on */
    struct selection *sel;
    struct strbuf items;
    struct vec_of(char *) names; /* ns, name, ns, name ... */
    size_t waiting;
    struct strbuf failure; /* the Status of the first one that is not "not found", and its code */
    int code;
    uint64_t rev;
    int error; /* of a conversion; -EINPROGRESS: one is missing */
    struct kerr why;
};

static void collection_free(struct collection *x)
{
    vec_foreach(&x->names, i)
        free(x->names.items[i]);
    vec_fini(&x->names);
    strbuf_fini(&x->items);
    strbuf_fini(&x->failure);
    free(x);
}

static void on_gone(void *arg)
{
    ((struct collection *)arg)->c = NULL;
}

static void finish(struct collection *x)
{
    struct api_call *c = x->c;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (c && x->code) {
        c->format = API_AS_OBJECT;
        api_reply(c, x->code, x->failure.data, x->failure.len);
    } else if (c) {
        strbuf_appendf(&out,
                       "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":"
                       "\"%llu\"},\"items\":[",
                       c->res->list_kind, resource_api_version(c->res, c->arena),
                       (unsigned long long)x->rev);
        strbuf_appendn(&out, strbuf_str(&x->items), x->items.len);
        strbuf_append(&out, "]}");
        api_reply(c, 200, out.data, out.len);
    }
    collection_free(x);
}

static void on_item_done(void *arg, struct api_call *item, int status, const char *json, size_t n)
{
    struct collection *x = arg;

    (void)item;
    if (status >= 400 && status != 404 && x->code == 0) {
        x->code = status;
        strbuf_appendn(&x->failure, json, n);
    }
    if (--x->waiting == 0)
        finish(x);
}

static const struct api_sink item_sink = { .reply = on_item_done };

static bool on_item(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct collection *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    (void)rev;
    int e = convert_stored(x->c, x->c->res, &doc, &n, &x->why);
    if (e < 0) {
        x->error = e;
        return e == -EINPROGRESS;
    }
    if (!selection_match(x->sel, k, doc, n, &parsed))
        return true;
    if (x->items.len)
        strbuf_appendc(&x->items, ',');
    object_show(x->c->res, doc, n, true, &x->items);
    vec_push(&x->names, xstrdup(k->ns));
    vec_push(&x->names, xstrdup(k->name));
    return true;
}

static void delete_item(struct collection *x, const struct api_call *model, const char *ns,
                        const char *name)
{
    struct api_call *c = api_call_new(model->s, &item_sink, x);
    c->method = "DELETE";
    c->verb = API_DELETE;
    c->of_collection = true;
    c->target = "";
    c->res = resource_ref(model->res);
    c->ns = arena_strdup(c->arena, ns);
    c->name = arena_strdup(c->arena, name);
    c->user = user_copy(model->user, c->arena);
    c->grace = model->grace;
    c->propagation = model->propagation ? arena_strdup(c->arena, model->propagation) : NULL;
    c->dry_run = model->dry_run;
    api_delete_object(c, c->res, c->ns, c->name, NULL, NULL);
}

void verb_delete_collection(struct api_call *c)
{
    struct collection *x = xnew0(struct collection);
    const char *ns = c->res->namespaced ? c->ns : NULL;
    struct kerr err = { 0 };

    x->c = c;
    if (!delete_options(c)) {
        collection_free(x);
        return;
    }
    warn_of_orphans(c);
    x->rev = store_revision(c->s->store);
    if (selection_new(c, &x->sel, &err) < 0 ||
        store_list(c->s->store, c->res->store_res, ns, 0, NULL, on_item, x, &err) < 0) {
        collection_free(x);
        api_fail(c, &err);
        return;
    }
    if (x->error) {
        int e = x->error;
        err = x->why;
        collection_free(x);
        if (e == -EINPROGRESS)
            e = convert_wait_object(c, c->res, "", &err);
        if (e != -EINPROGRESS)
            api_fail(c, &err);
        return;
    }
    c->on_gone = on_gone;
    c->gone_arg = x;
    call_waits(c);
    x->waiting = 1; /* until all are on their way: some are answered at once */
    for (size_t i = 0; i < x->names.n; i += 2) {
        x->waiting++;
        delete_item(x, c, x->names.items[i], x->names.items[i + 1]);
    }
    if (--x->waiting == 0)
        finish(x);
}
