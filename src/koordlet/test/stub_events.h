/* stub_events.h - an API server that takes events and keeps their texts, for tests. */
#ifndef KOORD_KOORDLET_TEST_STUB_EVENTS_H
#define KOORD_KOORDLET_TEST_STUB_EVENTS_H
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"

struct stub_events {
    struct kube kube;
    unsigned calls;
    struct strbuf bodies; /* one after the other */
};
struct stub_event_call {
    struct kube_call head;
    kube_done_fn fn;
    void *arg;
    struct timer *timer;
};

static inline void stub_events_answer(struct loop *l, void *arg)
{
    struct stub_event_call c = *(struct stub_event_call *)arg;
    char body[] = "{}";
    struct kube_resp r = { .status = 201, .body = body, .n = 2 };

    (void)l;
    free(arg);
    c.fn(c.arg, &r, NULL);
}

static inline struct kube_call *stub_events_ask(struct kube *k, const struct kube_req *r,
                                                kube_done_fn fn, void *arg)
{
    struct stub_events *s = container_of(k, struct stub_events, kube);
    struct stub_event_call *c = xnew0(struct stub_event_call);

    s->calls++;
    strbuf_appendn(&s->bodies, r->body, r->body_len);
    *c = (struct stub_event_call){ .head = { k }, .fn = fn, .arg = arg };
    c->timer = loop_after(k->loop, 0, stub_events_answer, c);
    return &c->head;
}

static inline void stub_events_cancel(struct kube_call *call)
{
    struct stub_event_call *c = container_of(call, struct stub_event_call, head);

    timer_cancel(c->timer);
    free(c);
}

static const struct kube_ops stub_events_ops = { .call = stub_events_ask,
                                                 .cancel = stub_events_cancel };

static inline void stub_events_init(struct stub_events *s, struct loop *l)
{
    *s = (struct stub_events){ .kube = { .ops = &stub_events_ops, .loop = l } };
}

static inline void stub_events_fini(struct stub_events *s)
{
    strbuf_fini(&s->bodies);
}
#endif
