/* configmap.c - the webhook of the ConfigMap slo-controller-config (manager 8.4). */
#include "manager/webhook/webhook_int.h"

static int check(struct webhook_call *c)
{
    const struct webhook_source *s = c->w->src;
    kstrmap data, old;

    if (c->r->op == WEBHOOK_DELETE)
        return 0;
    struct slo_change change = {
        .ns = kj_str_or(kj_path(c->val, "metadata.namespace"), c->r->ns),
        .name = kj_str_or(kj_path(c->val, "metadata.name"), c->r->name),
        .data = &data,
        .old_data = c->r->op == WEBHOOK_UPDATE && c->r->old ? &old : NULL,
        .names_required = c->w->names_required,
        .node_at = s->node_at,
        .node_arg = s->self,
    };
    if (!streq(change.ns, c->w->config_ns) || !streq(change.name, c->w->config_name))
        return 0;
    data = tree_strmap_of(kj_get(c->val, "data"), c->a);
    old = tree_strmap_of(kj_get(c->r->old, "data"), c->a);
    const char *bad = sloconfig_validate(&change, c->a);
    return bad ? webhook_refuse(c, 400, "%s", bad) : 0;
}

const struct webhook_step configmap_validate_steps[] = { { "SLOControllerConfig", check },
                                                         { NULL, NULL } };
