/* binding.c - who may bind pods (manager 7.7). */
#include "manager/webhook/webhook_int.h"

enum decision {
    ALLOWED_USERNAME,
    EXCLUDED_NS,
    OUT_OF_SCOPE,
    BYPASS_LABEL,
    BYPASS_ANNOTATION,
    DRY_RUN,
    DENIED,
    UNDECIDED /* not counted */
};
const char *const binding_decisions[] = {
    [ALLOWED_USERNAME] = "allowed_username",
    [EXCLUDED_NS] = "excluded_ns",
    [OUT_OF_SCOPE] = "out_of_scope",
    [BYPASS_LABEL] = "bypass_label",
    [BYPASS_ANNOTATION] = "bypass_annotation",
    [DRY_RUN] = "dry_run",
    [DENIED] = "denied",
    [UNDECIDED] = NULL,
};

static bool contains_any(const char *text, const struct word_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (strstr(text, l->items[i]))
            return true;
    return false;
}

static bool has_key(const kstrmap *m, const struct word_list *keys)
{
    for (size_t i = 0; i < keys->n; i++)
        if (kstrmap_get(m, keys->items[i]))
            return true;
    return false;
}

static enum decision decide(const struct webhook_call *c)
{
    const struct webhooks *w = c->w;
    const struct webhook_source *s = w->src;
    const struct objmeta *pod;

    if (contains_any(c->r->user, &w->binding_users))
        return ALLOWED_USERNAME;
    if (word_list_has(&w->binding_excluded, c->r->ns))
        return EXCLUDED_NS;
    if (!word_list_has(&w->binding_namespaces, "*")) {
        if (w->binding_namespaces.n == 0)
            return UNDECIDED;
        if (!word_list_has(&w->binding_namespaces, c->r->ns))
            return OUT_OF_SCOPE;
    }
    if (!s->pod || !(pod = s->pod(s->self, c->r->ns, c->r->name)))
        return UNDECIDED;
    if (has_key(&pod->labels, &w->bypass_labels))
        return BYPASS_LABEL;
    if (has_key(&pod->annotations, &w->bypass_annotations))
        return BYPASS_ANNOTATION;
    return w->binding_dry_run ? DRY_RUN : DENIED;
}

static int check_user(struct webhook_call *c)
{
    enum decision d;

    if (!webhook_gate_on(c->w, GATE_BINDING_ADMISSION) || c->w->binding_users.n == 0)
        return 0;
    d = decide(c);
    webhook_observe_binding(c->w->observer, (int)d);
    return d == DENIED ? webhook_deny(c, "binding denied: username is not in the allowed list") : 0;
}

const struct webhook_step binding_validate_steps[] = { { "BindingAdmission", check_user },
                                                       { NULL, NULL } };
