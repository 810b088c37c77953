/* explain.c - the webhooks' answer about one pod, taken apart. */
#include "manager/profile/explain.h"

#include "api/policy.h"
#include "api/selector/selector.h"
#include "loop/loop.h"
#include "manager/profile/apply.h"
#include "manager/profile/limitrange.h"
#include "manager/webhook/source.h"
#include "manager/webhook/tree.h"
#include "manager/webhook/webhook.h"

struct explain {
    const struct profile_explain_in *in;
    const char *ns;
    struct arena *a;
    struct kjw *w;
    kstrmap labels; /* of the pod before */
};

/* ---- why a selector does not match ----------------------------------------------------------- */

static const char *label_text(struct explain *x, const kstrmap *labels, const char *key)
{
    const char *value = kstrmap_get(labels, key);
    return value ? arena_printf(x->a, "it has %s=%s", key, value)
                 : arena_printf(x->a, "it has no label %s", key);
}

/* The first requirement that is not met. */
static const char *unmet(struct explain *x, const struct label_selector *s, const kstrmap *labels)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct labelsel *one;

    for (uint32_t i = 0; i < s->match_labels.n; i++) {
        const struct kstrpair *p = &s->match_labels.items[i];
        const char *value = kstrmap_get(labels, p->key);
        if (!value || !streq(value, p->value))
            return arena_printf(x->a, "wants %s=%s, %s", p->key, p->value,
                                label_text(x, labels, p->key));
    }
    for (uint32_t i = 0; i < s->match_expressions.n; i++) {
        struct label_selector alone = { .match_expressions = { &s->match_expressions.items[i],
                                                               1 } };
        if (labelsel_from(&alone, x->a, &one, NULL) < 0 || labelsel_matches(one, labels))
            continue;
        labelsel_format(one, &text);
        return arena_printf(x->a, "wants %s, %s", strbuf_str(&text),
                            label_text(x, labels, s->match_expressions.items[i].key));
    }
    return "";
}

/* NULL: it matches, and is applied. */
static const char *why_not(struct explain *x, const struct profile *p, enum profile_match m)
{
    const struct colocation_profile_spec *s = &p->obj->spec;

    switch (m) {
    case PROFILE_OTHER_NAMESPACE:
        return arena_printf(x->a, "namespaceSelector %s (namespace %s)",
                            unmet(x, s->namespace_selector, x->in->namespace_labels), x->ns);
    case PROFILE_OTHER_LABELS:
        return arena_printf(x->a, "selector %s (the pod)", unmet(x, s->selector, &x->labels));
    case PROFILE_UNREADABLE: return "a selector cannot be read";
    case PROFILE_MATCHES: break;
    }
    return p->percent <= 0 && !p->bad_percent ? "its probability is 0" : NULL;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static void write_changes(struct explain *x, const struct profile *p,
                          const struct profile_target *t)
{
    kjw_arr(x->w, "changes");
    for (const struct profile_change *c = t->first; c; c = c->next) {
        const struct profile_change *o = profile_change_overrides(t, c);
        if (c->by != p)
            continue;
        kjw_obj(x->w, NULL);
        kjw_str(x->w, "field", profile_change_field(c, x->a));
        if (c->from)
            kjw_str(x->w, "from", c->from);
        if (c->to)
            kjw_str(x->w, "to", c->to);
        if (o)
            kjw_str(x->w, "overrides", profile_name(o->by));
        kjw_end(x->w);
    }
    kjw_end(x->w);
}

static void write_profile(struct explain *x, const struct profile *p,
                          const struct profile_target *t)
{
    struct profile_subject s = { .labels = &x->labels,
                                 .namespace_labels = x->in->namespace_labels };
    enum profile_match m = profile_match(p, &s);
    const char *why = why_not(x, p, m);

    kjw_obj(x->w, NULL);
    kjw_str(x->w, "name", profile_name(p));
    kjw_bool(x->w, "matches", m == PROFILE_MATCHES);
    if (why)
        kjw_str(x->w, "why", why);
    if (p->problem)
        kjw_str(x->w, "problem", p->problem);
    kjw_i64(x->w, "percent", p->percent);
    kjw_bool(x->w, "skipsResources", p->skips_resources);
    if (m == PROFILE_MATCHES)
        write_changes(x, p, t);
    kjw_end(x->w);
}

/* Called by the webhook when it has applied what matches. */
static void on_applied(void *arg, const struct profile_target *t)
{
    struct explain *x = arg;

    kjw_arr(x->w, "profiles");
    for (size_t i = 0; i < profile_set_count(x->in->profiles); i++)
        write_profile(x, profile_set_at(x->in->profiles, i), t);
    kjw_end(x->w);
}

/* ---- the pod --------------------------------------------------------------------------------- */

/* What the API server does before it calls webhooks. */
static void prepare(struct explain *x, struct kj_mdoc *d, struct kj_mval *pod)
{
    struct kj_mval *spec = tree_object(d, pod, "spec");
    const char *class = kj_mstr_get(kj_mget(spec, "priorityClassName"));
    const struct priority_class_obj *c =
        str_empty(class) ? NULL : x->in->priority_class(x->in->self, class);

    if (c && !kj_mget(spec, "priority"))
        kj_mset(d, spec, "priority", kj_mi64(d, c->value));
    limitrange_apply(d, pod, x->in->limit_ranges, x->a);
    if (tree_strmap(kj_mget(kj_mget(pod, "metadata"), "labels"), x->a, &x->labels) < 0)
        x->labels = (kstrmap){ 0 };
}

static void write_answer(struct kjw *w, const char *key, const struct webhook_answer *a)
{
    kjw_obj(w, key);
    kjw_bool(w, "allowed", a->allowed);
    kjw_i64(w, "code", a->code);
    if (*a->message)
        kjw_str(w, "message", a->message);
    kjw_end(w);
}

static void write_tree(struct kjw *w, const char *key, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_write(v, 0, &text);
    kjw_raw(w, key, text.data, text.len);
}

static void write_warnings(struct kjw *w, const struct webhook_answer *const *answers, size_t n)
{
    kjw_arr(w, "warnings");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < answers[i]->nwarnings; k++)
            kjw_str(w, NULL, answers[i]->warnings[k]);
    kjw_end(w);
}

static void run(struct explain *x, struct webhooks *webhooks)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *before = NULL, *after = NULL;
    struct kj_mval *pod = kj_mcopy(d, x->in->pod);
    struct webhook_request r = { .op = WEBHOOK_CREATE, .resource = "pods", .ns = x->ns };
    struct webhook_answer mutation, validation = { .allowed = true, .code = 200, .message = "" };

    prepare(x, d, pod);
    before = kj_freeze(pod);
    kjw_str(x->w, "pod", str_or(kj_mstr_get(kj_mget(kj_mget(pod, "metadata"), "name")), ""));
    kjw_str(x->w, "namespace", x->ns);
    kjw_bool(x->w, "namespaceFound", x->in->namespace_labels != NULL);
    webhook_mutate(webhooks, WEBHOOK_MUTATE_POD, &r, d, pod, x->a, &mutation);
    after = kj_freeze(pod);
    if (mutation.allowed)
        webhook_validate(webhooks, WEBHOOK_VALIDATE_POD, &r, kj_root(after), x->a, &validation);
    write_answer(x->w, "mutation", &mutation);
    write_answer(x->w, "validation", &validation);
    write_warnings(x->w, (const struct webhook_answer *const[]){ &mutation, &validation }, 2);
    write_tree(x->w, "before", kj_root(before));
    write_tree(x->w, "after", kj_root(after));
}

/* ---- the source ------------------------------------------------------------------------------ */

static const struct profile_set *get_profiles(void *self)
{
    return ((struct explain *)self)->in->profiles;
}

static const kstrmap *get_namespace(void *self, const char *ns)
{
    const struct explain *x = self;
    return streq(ns, x->ns) ? x->in->namespace_labels : NULL;
}

static const struct priority_class_obj *get_class(void *self, const char *name)
{
    const struct explain *x = self;
    return x->in->priority_class(x->in->self, name);
}

void profile_explain(const struct profile_explain_in *in, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct kjw w = kjw_to(out);
    struct explain x = { .in = in, .a = a, .w = &w };
    struct webhook_source src = { .profiles = get_profiles,
                                  .namespace_labels = get_namespace,
                                  .priority_class = get_class,
                                  .self = &x };
    struct webhook_opts o = { .gates = webhook_gates_default(),
                              .pod_merge = in->pod_merge,
                              .always_drawn = true,
                              .applied = on_applied,
                              .applied_arg = &x };

    x.ns = kj_str_or(kj_path(in->pod, "metadata.namespace"), in->ns);
    CLEANUP(webhooks_free) struct webhooks *webhooks = webhooks_new(l, &src, &o);
    kjw_obj(&w, NULL);
    run(&x, webhooks);
    kjw_end(&w);
}
