/* memkube.c - the least API server. */
#include "memkube.h"

#include <stdio.h>

#include "api/kobj.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "json/kj.h"

struct list { /* of one kind, as the text of its items */
    char *plural;
    struct strbuf items;
};
struct call {
    struct kube_call head;
    struct call *next;
    bool cancelled;
    kube_done_fn fn;
    void *arg;
    struct list *list;  /* the answer; NULL: "{}" */
    char pod[128];      /* of a binding */
    struct strbuf text; /* the answer to a patch; empty: "{}" */
    const char *plural; /* of a patch, when somebody wants to know */
    char *name, *body;
    size_t n;
};
struct watch {
    struct kube_call head;
    struct watch *next;
    const struct kube_watch_handler *on;
    void *arg;
    char *plural;
};
struct memkube {
    struct kube head;
    struct map lists;
    struct call *first, **last;
    struct watch *watches;
    struct timer *timer;
    void (*on_bind)(void *arg, const char *pod);
    void *bind_arg;
    memkube_patch_fn on_patch;
    void *patch_arg;
    memkube_answer_fn on_answer;
    void *answer_arg;
    struct memkube_stats stats;
};

static struct memkube *of(struct kube *k)
{
    return container_of(k, struct memkube, head);
}

static void tell_patch(struct memkube *m, const struct call *c)
{
    struct kj_doc *doc = NULL;

    if (kj_parse(c->body, c->n, 0, &doc, NULL) < 0)
        abort();
    m->on_patch(m->patch_arg, c->plural, c->name, kj_root(doc));
    kj_doc_free(doc);
}

static void answer(struct memkube *m, struct call *c)
{
    struct strbuf body = STRBUF_INIT;
    struct kube_resp r = { .status = 200 };

    if (c->text.len) {
        body = c->text;
        c->text = (struct strbuf)STRBUF_INIT;
    } else {
        strbuf_append(&body, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
        if (c->list)
            strbuf_append(&body, strbuf_str(&c->list->items));
        strbuf_append(&body, "]}");
    }
    r.body = body.data;
    r.n = body.len;
    if (*c->pod && m->on_bind)
        m->on_bind(m->bind_arg, c->pod);
    c->fn(c->arg, &r, NULL);
    strbuf_fini(&body);
    if (c->plural)
        tell_patch(m, c);
}

static void call_free(struct call *c)
{
    strbuf_fini(&c->text);
    free(c->name);
    free(c->body);
    free(c);
}

static void on_turn(struct loop *l, void *arg)
{
    struct memkube *m = arg;
    struct call *c = m->first;

    (void)l;
    m->timer = NULL;
    m->first = NULL;
    m->last = &m->first;
    for (struct call *next; c; c = next) {
        next = c->next;
        if (!c->cancelled)
            answer(m, c);
        call_free(c);
    }
}

static struct kube_call *mem_call(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                  void *arg)
{
    struct memkube *m = of(k);
    struct call *c = xnew0(struct call);

    *c = (struct call){ .head = { k }, .fn = fn, .arg = arg };
    if (r->verb == KUBE_LIST) {
        c->list = map_getz(&m->lists, r->kind->plural);
    } else if (r->subresource && streq(r->subresource, "binding")) {
        m->stats.bindings++;
        (void)snprintf(c->pod, sizeof c->pod, "%s/%s", r->ns, r->name);
    } else if (r->verb == KUBE_PATCH) {
        m->stats.patches++;
        if (m->on_answer && !m->on_answer(m->answer_arg, r, &c->text))
            strbuf_reset(&c->text);
        if (m->on_patch) {
            c->plural = r->kind->plural;
            c->name = xstrdup(r->name);
            c->body = xmemdup(r->body, r->body_len);
            c->n = r->body_len;
        }
    } else if (r->verb == KUBE_DELETE) {
        m->stats.deletes++;
    } else {
        m->stats.other++;
    }
    *m->last = c;
    m->last = &c->next;
    if (!m->timer)
        m->timer = loop_after(k->loop, 0, on_turn, m);
    return &c->head;
}

static struct kube_call *mem_watch(struct kube *k, const struct kube_req *r,
                                   const struct kube_watch_handler *on, void *arg)
{
    struct memkube *m = of(k);
    struct watch *w = xnew0(struct watch);

    *w = (struct watch){ .head = { k }, .next = m->watches, .on = on, .arg = arg };
    w->plural = xstrdup(r->kind->plural);
    m->watches = w;
    return &w->head;
}

static void mem_cancel(struct kube_call *head)
{
    struct memkube *m = of(head->kube);

    for (struct watch **at = &m->watches; *at; at = &(*at)->next) {
        struct watch *w = *at;
        if (&w->head != head)
            continue;
        *at = w->next;
        free(w->plural);
        free(w);
        return;
    }
    container_of(head, struct call, head)->cancelled = true;
}

static void memkube_free(struct kube *k)
{
    struct memkube *m = of(k);

    timer_cancel(m->timer);
    while (m->first) {
        struct call *c = m->first;
        m->first = c->next;
        call_free(c);
    }
    while (m->watches)
        mem_cancel(&m->watches->head);
    map_foreach(&m->lists, e) {
        struct list *l = e->value;
        strbuf_fini(&l->items);
        free(l->plural);
        free(l);
    }
    map_fini(&m->lists);
    free(m);
}

struct kube *memkube_new(struct loop *l, struct intern *strings)
{
    static const struct kube_ops ops = { mem_call, mem_watch, mem_cancel, memkube_free };
    struct memkube *m = xnew0(struct memkube);

    m->head = (struct kube){ &ops, l, strings };
    m->last = &m->first;
    return &m->head;
}

void memkube_add(struct kube *k, const char *plural, const char *json)
{
    struct memkube *m = of(k);
    struct list *l = map_getz(&m->lists, plural);

    if (!l) {
        l = xnew0(struct list);
        l->plural = xstrdup(plural);
        map_putz(&m->lists, l->plural, l);
    } else {
        strbuf_append(&l->items, ",");
    }
    strbuf_append(&l->items, json);
}

void memkube_push_read(struct kube *k, const char *plural, enum kube_event_type type,
                       const struct kj_val *root)
{
    for (struct watch *w = of(k)->watches; w; w = w->next)
        if (streq(w->plural, plural))
            w->on->on_event(w->arg, type, root);
}

void memkube_push(struct kube *k, const char *plural, enum kube_event_type type, const char *json)
{
    struct kj_doc *doc = NULL;

    if (kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        abort();
    memkube_push_read(k, plural, type, kj_root(doc));
    kj_doc_free(doc);
}

void memkube_on_bind(struct kube *k, void (*fn)(void *arg, const char *pod), void *arg)
{
    of(k)->on_bind = fn;
    of(k)->bind_arg = arg;
}

void memkube_on_patch(struct kube *k, memkube_patch_fn fn, void *arg)
{
    of(k)->on_patch = fn;
    of(k)->patch_arg = arg;
}

void memkube_on_answer(struct kube *k, memkube_answer_fn fn, void *arg)
{
    of(k)->on_answer = fn;
    of(k)->answer_arg = arg;
}

struct memkube_stats memkube_stats(const struct kube *k)
{
    return container_of(k, const struct memkube, head)->stats;
}
