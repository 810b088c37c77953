/* webhook.c - requests go through the steps of a webhook, one after the other. */
#include "api/protocol/keys.h"
#include "loop/loop.h"
#include "manager/webhook/webhook_int.h"

static const struct webhook_step *const webhook_steps[WEBHOOK_COUNT] = {
    [WEBHOOK_MUTATE_POD] = pod_mutate_steps,
    [WEBHOOK_MUTATE_RESERVATION] = reservation_mutate_steps,
    [WEBHOOK_MUTATE_NODE_STATUS] = node_status_steps,
    [WEBHOOK_VALIDATE_POD] = pod_validate_steps,
    [WEBHOOK_VALIDATE_BINDING] = binding_validate_steps,
    [WEBHOOK_VALIDATE_NODE] = node_validate_steps,
    [WEBHOOK_VALIDATE_CONFIGMAP] = configmap_validate_steps,
    [WEBHOOK_MUTATE_QUOTA] = quota_mutate_steps,
    [WEBHOOK_VALIDATE_QUOTA] = quota_validate_steps,
};

/* ---- answers --------------------------------------------------------------------------------- */

PRINTF(2, 0) static const char *vprintf_to(struct arena *a, const char *fmt, va_list ap)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    strbuf_vappendf(&text, fmt, ap);
    return arena_strndup(a, strbuf_str(&text), text.len);
}

int webhook_refuse(struct webhook_call *c, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    c->answer->message = vprintf_to(c->a, fmt, ap);
    va_end(ap);
    c->answer->allowed = false;
    c->answer->code = code;
    return -1;
}

int webhook_deny(struct webhook_call *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    c->answer->message = vprintf_to(c->a, fmt, ap);
    va_end(ap);
    c->answer->allowed = false;
    c->answer->code = 403;
    c->answer->reason = "Forbidden";
    return -1;
}

void webhook_warn(struct webhook_call *c, const char *fmt, ...)
{
    va_list ap;

    if (c->answer->nwarnings == WEBHOOK_WARNINGS_MAX)
        return;
    va_start(ap, fmt);
    c->answer->warnings[c->answer->nwarnings++] = vprintf_to(c->a, fmt, ap);
    va_end(ap);
}

/* ---- running --------------------------------------------------------------------------------- */

bool webhook_active(const struct webhooks *w, enum webhook_id id)
{
    return webhook_steps[id] && webhook_gate_on(w, webhook_infos[id].gate);
}

bool webhook_concerns(const struct webhooks *w, enum webhook_id id, const struct webhook_request *r)
{
    const struct webhook_info *i = &webhook_infos[id];

    return webhook_active(w, id) && i->operations & r->op &&
           streq(str_or(r->resource, ""), i->resource) && streq(str_or(r->group, ""), i->group) &&
           streq(str_or(r->subresource, ""), i->subresource);
}

static void run_steps(struct webhook_call *c, enum webhook_id id)
{
    const struct webhook_step *s = webhook_steps[id];
    nsec_t at = loop_stopwatch(c->w->loop);

    for (size_t i = 0; s[i].name; i++) {
        int r = s[i].run(c);
        nsec_t now = loop_stopwatch(c->w->loop);
        webhook_observe(c->w->observer, id, i, s[i].name, c->r->op, r == 0, now - at);
        if (r < 0 && c->answer->code >= 500)
            webhook_observe_error(c->w->observer, id, s[i].name);
        if (r < 0)
            return;
        at = now;
    }
}

static void run(struct webhook_call *c, enum webhook_id id, const struct webhook_request *given)
{
    struct webhook_request r = *given;

    *c->answer =
        (struct webhook_answer){ .allowed = true, .code = 200, .reason = "", .message = "" };
    r.group = str_or(r.group, "");
    r.resource = str_or(r.resource, "");
    r.subresource = str_or(r.subresource, "");
    r.ns = str_or(r.ns, "");
    r.name = str_or(r.name, "");
    r.user = str_or(r.user, "");
    c->r = &r;
    if (!webhook_concerns(c->w, id, &r))
        return;
    if (webhook_infos[id].mutating ? kj_mtype(c->obj) != KJ_OBJ
                                   : kj_type(c->val) != KJ_OBJ && r.op != WEBHOOK_DELETE)
        webhook_refuse(c, 400, "the request has no object");
    else
        run_steps(c, id);
}

void webhook_mutate(struct webhooks *w, enum webhook_id id, const struct webhook_request *r,
                    struct kj_mdoc *d, struct kj_mval *obj, struct arena *a,
                    struct webhook_answer *ret)
{
    struct webhook_call c = { .w = w, .a = a, .answer = ret, .d = d, .obj = obj };

    run(&c, id, r);
}

void webhook_validate(struct webhooks *w, enum webhook_id id, const struct webhook_request *r,
                      const struct kj_val *obj, struct arena *a, struct webhook_answer *ret)
{
    struct webhook_call c = { .w = w, .a = a, .answer = ret, .val = obj };

    run(&c, id, r);
}

struct charging *webhook_charge(struct webhooks *w, const struct quota_charge *c, charged_fn fn,
                                void *arg)
{
    return w->src->charge(w->src->self, c, fn, arg);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void word_list_parse(const char *text, struct arena *a, struct word_list *ret)
{
    ret->n = 0;
    for (const char *p = str_or(text, ""); ret->n < WEBHOOK_LIST_MAX; p++) {
        size_t n = strcspn(p, ","), from = 0, to = n;

        while (from < to && (p[from] == ' ' || p[from] == '\t'))
            from++;
        while (to > from && (p[to - 1] == ' ' || p[to - 1] == '\t'))
            to--;
        if (to > from)
            ret->items[ret->n++] = arena_strndup(a, p + from, to - from);
        p += n;
        if (!*p)
            break;
    }
}

bool word_list_has(const struct word_list *l, const char *word)
{
    for (size_t i = 0; i < l->n; i++)
        if (streq(l->items[i], word))
            return true;
    return false;
}

/* A Reservation has a pod at spec.template. */
static void set_merge(struct webhooks *w, const struct kmerge *pod)
{
    if (!pod)
        return;
    w->pod_merge = pod;
    w->reservation[0][0] = (struct kmerge){ .field = "spec", .sub = w->reservation[1] };
    w->reservation[1][0] = (struct kmerge){ .field = "template", .sub = pod };
    w->reservation_merge = w->reservation[0];
}

static void set_binding(struct webhooks *w, const struct webhook_opts *o)
{
    w->binding_dry_run = o->binding_dry_run;
    word_list_parse(o->binding_users, w->texts, &w->binding_users);
    word_list_parse(o->binding_namespaces, w->texts, &w->binding_namespaces);
    word_list_parse(str_or(o->binding_excluded, "kube-system"), w->texts, &w->binding_excluded);
    word_list_parse(str_or(o->binding_bypass_labels, LABEL_BINDING_BYPASS), w->texts,
                    &w->bypass_labels);
    word_list_parse(o->binding_bypass_annotations, w->texts, &w->bypass_annotations);
}

struct webhooks *webhooks_new(struct loop *l, const struct webhook_source *src,
                              const struct webhook_opts *o)
{
    struct webhooks *w = xnew0(struct webhooks);

    w->loop = l;
    w->src = src;
    w->texts = arena_new();
    w->gates = o->gates;
    w->config_ns = arena_strdup(w->texts, str_or(o->config_ns, SLO_CONFIG_NAMESPACE));
    w->config_name = arena_strdup(w->texts, str_or(o->config_name, SLO_CONFIG_NAME));
    w->names_required = o->names_required;
    set_merge(w, o->pod_merge);
    set_binding(w, o);
    w->always_drawn = o->always_drawn;
    w->applied = o->applied;
    w->applied_arg = o->applied_arg;
    w->observer = webhook_observer_new(o->metrics);
    w->scratch = arena_new();
    for (int i = 0; i < WEBHOOK_COUNT; i++)
        w->routes[i] = (struct webhook_route){ w, (enum webhook_id)i };
    return w;
}

struct webhooks *webhooks_free(struct webhooks *w)
{
    if (!w)
        return NULL;
    webhook_observer_free(w->observer);
    arena_free(w->scratch);
    arena_free(w->texts);
    free(w);
    return NULL;
}
