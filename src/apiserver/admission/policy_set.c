/* policy_set.c - policies and bindings, read from the store when they changed. */
#include "apiserver/admission/policy_int.h"
#include "apiserver/store/store.h"
#include "base/klog.h"

static const char *const kinds[] = {
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io"
};

static void exprs_free(struct policy_expr *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cel_expr_free(list[i].expr);
}

static void policy_free(struct policy *p)
{
    exprs_free(p->variables, p->n_variables);
    exprs_free(p->validations, p->n_validations);
    exprs_free(p->messages, p->n_validations);
    exprs_free(p->notes, p->n_notes);
    conditions_free(p->conditions);
    kj_doc_free(p->doc);
    arena_free(p->a);
    vec_fini(&p->bindings);
    free(p);
}

struct policy_set *policy_set_unref(struct policy_set *set)
{
    if (!set || --set->refs)
        return NULL;
    vec_foreach(&set->list, i)
        policy_free(set->list.items[i]);
    vec_fini(&set->list);
    vec_foreach(&set->bindings, i)
        kj_doc_free(set->bindings.items[i]);
    vec_fini(&set->bindings);
    free(set);
    return NULL;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static struct str text_of(const struct kj_val *v)
{
    return (struct str){ kj_str_or(v, ""), kj_str(v) ? kj_len(v) : 0 };
}

/* The expressions of a list; those that are empty stay without one. */
static struct policy_expr *compile_list(struct policy *p, const struct kj_val *list,
                                        const char *name, const char *key,
                                        const struct admitexpr_env *env,
                                        const struct cel_type *const *want,
                                        struct admitexpr_variables *variables)
{
    struct policy_expr *out = arena_newn0(p->a, kj_len(list) + 1, struct policy_expr);

    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        const struct kj_val *entry = kj_at(list, i);
        out[i].name = text_of(kj_get(entry, name));
        out[i].text = text_of(kj_get(entry, key));
        if (out[i].text.n && admitexpr_compile(env, out[i].text, want, &out[i].expr, &why) < 0)
            KLOG_W("A stored policy has an expression that does not compile",
                   KV_S("policy", p->name), KV_S("reason", strbuf_str(&why)));
        if (variables)
            admitexpr_variables_add(variables, out[i].name, out[i].expr);
    }
    return out;
}

static struct policy *policy_new(struct kj_doc *doc)
{
    struct policy *p = xnew0(struct policy);

    p->a = arena_new();
    struct admitexpr_variables *v = arena_new0(p->a, struct admitexpr_variables);
    p->doc = doc;
    p->name = kj_str_or(kj_path(kj_root(doc), "metadata.name"), "");
    p->spec = kj_get(kj_root(doc), "spec");
    p->ignore_failure = streq(kj_str_or(kj_get(p->spec, "failurePolicy"), ""), "Ignore");
    const struct kj_val *variables = kj_get(p->spec, "variables"),
                        *validations = kj_get(p->spec, "validations"),
                        *notes = kj_get(p->spec, "auditAnnotations");
    p->n_variables = kj_len(variables);
    p->n_validations = kj_len(validations);
    p->n_notes = kj_len(notes);
    bool params = kj_type(kj_get(p->spec, "paramKind")) == KJ_OBJ;
    admitexpr_variables_init(v, p->a, p->n_variables);
    struct admitexpr_env env = { .params = params, .authorizer = true, .variables = &v->type };
    p->conditions = conditions_new(kj_get(p->spec, "matchConditions"), params);
    p->variables = compile_list(p, variables, "name", "expression", &env, NULL, v);
    p->validations =
        compile_list(p, validations, "reason", "expression", &env, admitexpr_bool, NULL);
    p->notes = compile_list(p, notes, "key", "valueExpression", &env, admitexpr_note, NULL);
    env.authorizer = false;
    p->messages =
        compile_list(p, validations, "message", "messageExpression", &env, admitexpr_text, NULL);
    return p;
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct kj_doc *parse(const struct store_key *k, const char *text, size_t n)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(text, n, KJ_RAW_NUMBERS, &doc, &err) < 0)
        KLOG_E(&err, "Cannot read a stored policy or binding", KV_S("name", k->name));
    return doc;
}

static bool on_policy(void *arg, const struct store_key *k, uint64_t rev, const char *text,
                      size_t n)
{
    struct policy_set *set = arg;
    struct kj_doc *doc = parse(k, text, n);

    (void)rev;
    if (doc)
        vec_push(&set->list, policy_new(doc));
    return true;
}

static bool on_binding(void *arg, const struct store_key *k, uint64_t rev, const char *text,
                       size_t n)
{
    struct policy_set *set = arg;
    struct kj_doc *doc = parse(k, text, n);

    (void)rev;
    if (!doc)
        return true;
    vec_push(&set->bindings, doc);
    const char *name = kj_str_or(kj_path(kj_root(doc), "spec.policyName"), "");
    vec_foreach(&set->list, i)
        if (streq(set->list.items[i]->name, name))
            vec_push(&set->list.items[i]->bindings, kj_root(doc));
    return true;
}

static struct policy_set *read_all(struct policies *p)
{
    struct policy_set *set = xnew0(struct policy_set);

    set->refs = 1;
    (void)store_list(p->s->store, kinds[0], NULL, 0, NULL, on_policy, set, NULL);
    (void)store_list(p->s->store, kinds[1], NULL, 0, NULL, on_binding, set, NULL);
    return set;
}

/* ---- following ------------------------------------------------------------------------------- */

static bool on_event(void *arg, const struct store_event *e)
{
    struct policies *p = arg;

    (void)e;
    p->set = policy_set_unref(p->set);
    return true;
}

static bool on_policy_event(void *arg, const struct store_event *e)
{
    policy_status_update(((struct policies *)arg)->s, e);
    return on_event(arg, e);
}

static void policies_ended(void *arg, const struct kerr *err)
{
    struct policies *p = arg;

    (void)err;
    p->watches[0] = NULL;
    p->set = policy_set_unref(p->set);
}

static void bindings_ended(void *arg, const struct kerr *err)
{
    struct policies *p = arg;

    (void)err;
    p->watches[1] = NULL;
    p->set = policy_set_unref(p->set);
}

static void follow(struct policies *p)
{
    static const struct store_watch_handler handlers[] = {
        { on_policy_event, NULL, policies_ended }, { on_event, NULL, bindings_ended }
    };
    struct store *st = p->s->store;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (!p->watches[i])
            (void)store_watch(st, kinds[i], NULL, store_revision(st), &handlers[i], p,
                              &p->watches[i], NULL);
}

struct policy_set *policy_set_get(struct policies *p)
{
    if (!p->set || !p->watches[0] || !p->watches[1]) {
        p->set = policy_set_unref(p->set);
        follow(p);
        p->set = read_all(p);
    }
    p->set->refs++;
    return p->set;
}

/* ---- birth and end --------------------------------------------------------------------------- */

struct policies *policies_new(struct apiserver *s)
{
    struct policies *p = xnew0(struct policies);

    p->s = s;
    vec_push(&s->last_steps, ((struct admission_entry){ &policy_step, p }));
    follow(p);
    return p;
}

struct policies *policies_free(struct policies *p)
{
    if (!p)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        p->watches[i] = store_unwatch(p->watches[i]);
    policy_set_unref(p->set);
    free(p);
    return NULL;
}
