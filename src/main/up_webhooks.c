/* up_webhooks.c - the manager's webhooks as a step of the embedded API server's admission, without
 * HTTP: the same functions, the same words. */
#include "apiserver/admission/admission.h"
#include "apiserver/registry/resource.h"
#include "main/up.h"
#include "manager/webhook/webhook.h"

/* The namespaces that the shipped webhook configurations leave out. */
static bool is_exempt(const struct admission_req *r)
{
    return streq(r->ns, "kube-system") || streq(r->ns, "koordinator-system");
}

static void request_of(const struct admission_req *r, struct webhook_request *ret)
{
    *ret = (struct webhook_request){ .op = webhook_op_parse(r->operation),
                                     .group = r->res->group,
                                     .resource = r->res->plural,
                                     .subresource = r->subresource,
                                     .ns = r->ns,
                                     .name = r->name,
                                     .user = r->user,
                                     .old = r->old,
                                     .dry_run = r->dry_run };
}

static bool concerns(const struct webhooks *w, enum webhook_id id, const struct admission_req *r,
                     const struct webhook_request *q)
{
    return webhook_concerns(w, id, q) && !(streq(r->res->plural, "pods") && is_exempt(r));
}

/* 0: allowed. */
static int answered(const struct admission_req *r, enum webhook_id id,
                    const struct webhook_answer *a)
{
    for (size_t i = 0; i < a->nwarnings; i++)
        admission_warn(r, a->warnings[i]);
    return a->allowed ? 0
                      : admission_refuse(r, webhook_infos[id].name, a->code, a->reason, a->message);
}

static int mutate(void *self, const struct admission_req *r, struct kj_mdoc *d, struct kj_mval *obj,
                  struct kerr *err)
{
    struct webhook_request q;
    bool changed = false;

    (void)err;
    request_of(r, &q);
    for (enum webhook_id id = 0; id < WEBHOOK_COUNT; id++) {
        struct webhook_answer a = { 0 };
        if (!webhook_infos[id].mutating || !concerns(self, id, r, &q))
            continue;
        CLEANUP(arena_free) struct arena *arena = arena_new();
        webhook_mutate(self, id, &q, d, obj, arena, &a);
        int e = answered(r, id, &a);
        if (e < 0)
            return e;
        changed |= a.changed;
    }
    return changed;
}

/* ---- a quota has to be charged first --------------------------------------------------------- */

struct charge_wait {
    struct admission_later *later;
    enum webhook_id id;
};

static void on_charged(void *arg, int code, const char *why)
{
    struct charge_wait x = *(struct charge_wait *)arg;
    struct admission_refusal refusal = {
        .webhook = webhook_infos[x.id].name, .code = code, .reason = "", .message = why
    };

    free(arg);
    admission_answer(x.later, code ? &refusal : NULL);
}

static int charge(struct webhooks *w, const struct admission_req *r, enum webhook_id id,
                  const struct quota_charge *c)
{
    struct charge_wait *x = xnew0(struct charge_wait);

    *x = (struct charge_wait){ admission_later(r), id };
    (void)webhook_charge(w, c, on_charged, x);
    return -EINPROGRESS;
}

static int validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                    struct kerr *err)
{
    struct webhook_request q;

    (void)err;
    request_of(r, &q);
    for (enum webhook_id id = 0; id < WEBHOOK_COUNT; id++) {
        struct webhook_answer a = { 0 };
        if (webhook_infos[id].mutating || !concerns(self, id, r, &q))
            continue;
        CLEANUP(arena_free) struct arena *arena = arena_new();
        webhook_validate(self, id, &q, obj, arena, &a);
        int e = answered(r, id, &a);
        if (e == 0 && a.charge)
            e = charge(self, r, id, a.charge);
        if (e < 0)
            return e;
    }
    return 0;
}

void up_add_webhooks(struct apiserver *s, struct webhooks *w)
{
    static const struct admission_step step = { "koord-manager", mutate, validate };
    apiserver_add_admission(s, &step, w);
}
