/* reserve_wait.c - waiting until the Reservations of a run have their nodes. */
#include "api/koord/reservation_life.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "client/kube.h"
#include "ctl/reserve.h"
#include "loop/loop.h"
#include "json/kj.h"

#define LOOK_FIRST (200 * NSEC_PER_MSEC)
#define LOOK_MAX   (2 * NSEC_PER_SEC)

size_t reserve_count(const struct reserve *x, enum reserve_outcome outcome)
{
    size_t n = 0;

    vec_foreach(&x->all, i)
        n += x->all.items[i].outcome == outcome;
    return n;
}

/* ---- looking --------------------------------------------------------------------------------- */

static const char *message_of(const struct reservation *r, const char *type, struct arena *a)
{
    for (uint32_t i = 0; i < r->status.conditions.n; i++) {
        const struct timed_condition *c = &r->status.conditions.items[i];
        if (streq(c->type, type) && c->status == COND_FALSE)
            return arena_strdup(a, str_empty(c->message) ? c->reason : c->message);
    }
    return "";
}

static void note(struct reserve *x, struct reserved *one, const struct reservation *r)
{
    one->node = arena_strdup(x->arena, str_or(r->status.node_name, ""));
    if (r->status.phase == RESERVATION_FAILED) {
        one->outcome = RESERVE_FAILED;
        one->message = message_of(r, RESERVATION_CONDITION_READY, x->arena);
    } else if (*one->node) {
        one->outcome = RESERVE_PLACED;
        one->message = "";
    } else {
        one->outcome = RESERVE_WAITS;
        one->message = message_of(r, RESERVATION_CONDITION_SCHEDULED, x->arena);
    }
}

static void note_item(struct reserve *x, const struct kj_val *item, struct kj_scratch *scratch)
{
    const char *name = kj_str_or(kj_path(item, "metadata.name"), "");
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    struct kerr unread = { 0 };

    vec_foreach(&x->all, i) {
        struct reserved *one = &x->all.items[i];
        if (!streq(one->name, name))
            continue;
        if (kobj_decode(&kind_reservation, item, scratch, &o, &unread) == 0)
            note(x, one, reservation_of(o));
        return;
    }
}

static int look(struct reserve *x, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *selector = arena_printf(x->arena, "%s=%s", LABEL_RESERVED_TOGETHER, x->run);
    struct kube_req r = { .verb = KUBE_LIST,
                          .kind = &kind_reservation,
                          .label_selector = selector };
    const struct kj_val *item;
    struct str key;

    int code = ctl_call(x->c, &r, &body, err);
    if (code < 0 || (code = kj_parse(strbuf_str(&body), body.len, 0, &doc, err)) < 0)
        return code;
    vec_foreach(&x->all, i) { /* what the list does not have was deleted by somebody else */
        x->all.items[i].outcome = RESERVE_FAILED;
        x->all.items[i].message = "it was deleted";
    }
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &item);)
        note_item(x, item, kube_scratch(x->c->kube));
    return 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void on_time(struct loop *l, void *arg)
{
    struct reserve *x = arg;
    x->timer = NULL;
    loop_stop(l);
}

/* A signal ends it. */
static void pause_for(struct reserve *x, nsec_t d)
{
    if (x->interrupted)
        return;
    x->waiting = true;
    x->timer = loop_after(x->c->loop, d, on_time, x);
    loop_run(x->c->loop);
    x->timer = timer_cancel(x->timer);
    x->waiting = false;
}

/* Those that are waited for in vain: nobody has said why, so most likely nobody looks at them. */
static void tell_untried(struct reserve *x)
{
    const char *scheduler =
        kj_str_or(kj_path(reserve_template(x), "spec.schedulerName"), "default-scheduler");
    const char *why =
        arena_printf(x->arena, "nobody has tried them; does %s know Reservations?", scheduler);

    vec_foreach(&x->all, i)
        if (x->all.items[i].outcome == RESERVE_WAITS && !*x->all.items[i].message)
            x->all.items[i].message = why;
}

int reserve_wait(struct reserve *x, struct kerr *err)
{
    nsec_t began = loop_mono(x->c->loop), pause = LOOK_FIRST;

    for (;;) {
        int r = look(x, err);
        nsec_t left = began + x->o->timeout - loop_mono(x->c->loop);
        if (r < 0 || x->interrupted || reserve_count(x, RESERVE_FAILED) ||
            !reserve_count(x, RESERVE_WAITS) || left <= 0) {
            tell_untried(x);
            return r;
        }
        pause_for(x, MIN(pause, left));
        pause = MIN(pause * 3 / 2, LOOK_MAX);
    }
}
