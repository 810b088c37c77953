/* policy_run.c - which policies judge a request, and what comes of their verdicts. */
#include "apiserver/admission/admithook_int.h"
#include "apiserver/admission/policy_int.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/internal.h"
#include "apiserver/store/store.h"
#include "base/klog.h"

/* One request. */
struct judging {
    struct apiserver *s;
    const struct admission_req *r;
    const struct kj_val *obj;
    const char *name; /* the object's, as the request has it */
    struct kj_doc *ns;
    bool denied;
    const char *reason, *message; /* of the first denial, in the arena of the call */
};

/* ---- denials --------------------------------------------------------------------------------- */

static void deny(struct judging *x, const struct policy *p, const struct kj_val *binding,
                 const char *reason, const char *message)
{
    struct arena *a = x->r->call->arena;
    const char *with = binding ? arena_printf(a, " with binding '%s'",
                                              kj_str_or(kj_path(binding, "metadata.name"), ""))
                               : "";
    if (x->denied)
        return;
    x->denied = true;
    x->reason = arena_strdup(a, reason);
    x->message = arena_printf(a, "ValidatingAdmissionPolicy '%s'%s denied request: %s", p->name,
                              with, message);
}

/* Something about the policy or binding itself is wrong. */
static void misconfigured(struct judging *x, const struct policy *p, const struct kj_val *binding,
                          const char *why)
{
    struct arena *a = x->r->call->arena;

    if (!p->ignore_failure)
        deny(x, p, binding, "",
             arena_printf(a, "failed to configure %s: %s", binding ? "binding" : "policy", why));
}

static int code_of(const char *reason)
{
    return streq(reason, "Forbidden")               ? 403
           : streq(reason, "Unauthorized")          ? 401
           : streq(reason, "RequestEntityTooLarge") ? 413
                                                    : 422;
}

static void write_details(const struct judging *x, const char *name, struct strbuf *out)
{
    const struct resource *res = x->r->res;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "name", name);
    if (*res->group)
        kjw_str(&w, "group", res->group);
    kjw_str(&w, "kind", res->plural);
    kjw_arr(&w, "causes");
    kjw_obj(&w, NULL);
    kjw_str(&w, "message", x->message);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}

static int refuse(const struct judging *x)
{
    struct api_call *c = x->r->call;
    struct api_refusal *refusal = arena_new0(c->arena, struct api_refusal);
    CLEANUP(strbuf_fini) struct strbuf details = STRBUF_INIT;
    const struct resource *res = x->r->res;
    const char *name = *x->name ? x->name : kj_str_or(kj_path(x->obj, "metadata.generateName"), "");

    name = *name ? name : "Unknown";
    write_details(x, name, &details);
    refusal->reason = *x->reason ? x->reason : "Invalid";
    refusal->code = code_of(refusal->reason);
    refusal->message = arena_printf(c->arena, "%s%s%s \"%s\" is forbidden: %s", res->plural,
                                    *res->group ? "." : "", res->group, name, x->message);
    refusal->details = arena_strdup(c->arena, details.data);
    c->refusal = refusal;
    return -EPERM;
}

/* ---- who is meant ---------------------------------------------------------------------------- */

/* matchConstraints or matchResources. 1: as *ret_as. */
static int matches(const struct judging *x, const struct kj_val *spec,
                   const struct resource **ret_as, struct kerr *err)
{
    const struct kj_val *rules = kj_get(spec, "resourceRules");
    bool exact = streq(v_str(spec, "matchPolicy"), "Exact");

    *ret_as = x->r->res;
    if (kj_len(rules))
        *ret_as = rules_match(rules, exact, x->r, x->name);
    if (!*ret_as || rules_match(kj_get(spec, "excludeResourceRules"), exact, x->r, x->name))
        return 0;
    return selectors_match(x->s, spec, x->r, x->obj, err);
}

/* The namespace of the request's object; that of a Namespace is none. */
static int find_namespace(struct judging *x, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    bool is_namespace = !*x->r->res->group && streq(x->r->res->plural, "namespaces");
    struct store_key k = { "namespaces", "", x->r->ns };

    if (x->ns || is_namespace || !*x->r->ns)
        return 0;
    if (store_get_latest(x->s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, KJ_RAW_NUMBERS, &x->ns, NULL) < 0)
        return api_err(x->r->call, err, -ENOENT, KR_NOT_FOUND, "namespaces \"%s\" not found",
                       k.name);
    return 0;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void act(struct judging *x, const struct policy *p, const struct kj_val *binding,
                const struct policy_denial *d)
{
    const struct kj_val *actions = kj_path(binding, "spec.validationActions");
    const char *name = kj_str_or(kj_path(binding, "metadata.name"), "");

    for (size_t i = 0; i < kj_len(actions); i++) {
        const char *action = kj_str_or(kj_at(actions, i), "");
        if (streq(action, "Deny")) {
            deny(x, p, binding, d->reason, d->message);
        } else if (streq(action, "Warn")) {
            CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
            strbuf_appendf(&b,
                           "Validation failed for ValidatingAdmissionPolicy '%s' with binding "
                           "'%s': %s",
                           p->name, name, d->message);
            admission_warn(x->r, b.data);
        } else if (streq(action, "Audit")) {
            KLOG_I(0, "Validation failure", KV_S("policy", p->name), KV_S("binding", name),
                   KV_S("resource", x->r->res->plural), KV_S("namespace", x->r->ns),
                   KV_S("name", x->name), KV_S("message", d->message));
        }
    }
}

static void judge(struct judging *x, const struct policy *p, const struct kj_val *binding,
                  struct admitexpr_input *in, const struct kj_val *params)
{
    CLEANUP(policy_result_fini) struct policy_result result = { 0 };

    policy_eval(p, in, params, x->ns ? kj_root(x->ns) : NULL, &result);
    vec_foreach(&result.denials, i)
        act(x, p, binding, &result.denials.items[i]);
    vec_foreach(&result.notes, i) {
        const struct policy_note *n = &result.notes.items[i];
        if (n->error)
            deny(x, p, binding, "", n->error);
        else
            KLOG_I(0, "Audit annotation", KV_S("policy", p->name), KV_S("key", n->key.p),
                   KV_S("value", n->value), KV_S("resource", x->r->res->plural),
                   KV_S("namespace", x->r->ns), KV_S("name", x->name));
    }
}

static int judge_binding(struct judging *x, const struct policy *p, const struct kj_val *binding,
                         const struct resource *as, struct kerr *err)
{
    CLEANUP(policy_params_fini) struct policy_params params = { 0 };
    CLEANUP(admitexpr_input_fini) struct admitexpr_input in = { 0 };
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    const struct kj_val *spec = kj_path(binding, "spec.matchResources");
    const struct resource *any;
    struct kerr own = { 0 };

    int e = spec ? matches(x, spec, &any, &own) : 1;
    if (e == 0)
        return 0;
    if (e > 0)
        e = policy_params_get(x->s, p, binding, x->r, &params, &why);
    if (e < 0) {
        misconfigured(x, p, binding, why.len ? why.data : own.text);
        return 0;
    }
    if (find_namespace(x, err) < 0)
        return err->code;
    if (params.n)
        admitexpr_input_init(&in, x->r, as, x->obj);
    vec_foreach(&params, i)
        judge(x, p, binding, &in, params.items[i] ? kj_root(params.items[i]) : NULL);
    return 0;
}

static int judge_policy(struct judging *x, const struct policy *p, struct kerr *err)
{
    const struct kj_val *kind = kj_get(p->spec, "paramKind");
    const struct resource *as;
    struct kerr own = { 0 };
    int e = matches(x, kj_get(p->spec, "matchConstraints"), &as, &own);

    if (e < 0)
        misconfigured(x, p, NULL, own.text);
    if (e <= 0)
        return 0;
    if (kj_type(kind) == KJ_OBJ && !policy_param_resource(x->s, p)) {
        const char *version = v_str(kind, "apiVersion");
        misconfigured(x, p, NULL,
                      arena_printf(x->r->call->arena,
                                   "failed to find resource referenced by paramKind: '%s%s, "
                                   "Kind=%s'",
                                   strchr(version, '/') ? "" : "/", version, v_str(kind, "kind")));
        return 0;
    }
    for (size_t i = 0; i < p->bindings.n && e >= 0; i++)
        e = judge_binding(x, p, p->bindings.items[i], as, err);
    return e < 0 ? e : 0;
}

static int policies_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                             struct kerr *err)
{
    struct policies *all = self;
    CLEANUP(policy_set_unref) struct policy_set *set = policy_set_get(all);
    struct judging x = { .s = all->s, .r = r, .obj = obj, .name = admithook_name(r, obj) };
    int e = 0;

    if (!set->bindings.n || admithook_is_exempt(r->res) || is_review(r->res))
        return 0;
    for (size_t i = 0; i < set->list.n && e == 0; i++)
        if (set->list.items[i]->bindings.n)
            e = judge_policy(&x, set->list.items[i], err);
    kj_doc_free(x.ns);
    return e < 0 ? e : x.denied ? refuse(&x) : 0;
}

const struct admission_step policy_step = { "ValidatingAdmissionPolicy", NULL, policies_validate };
