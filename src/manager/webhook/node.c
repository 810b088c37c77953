/* node.c - webhooks of nodes: the status is amplified, labels may not match two entries of the
 * configuration (manager 8.2, 8.3). */
#include "api/node.h"
#include "api/protocol/keys.h"
#include "manager/noderesource/admit.h"
#include "manager/webhook/webhook_int.h"

static int decode_node(struct webhook_call *c, const struct kj_val *v, struct node **ret)
{
    struct node *n = arena_new0(c->a, struct node);
    struct kerr err = { 0 };

    if (kj_decode(&node_schema, v, 0, c->a, n, &err) < 0)
        return webhook_refuse(c, 400, "node cannot be decoded: %s", err.text);
    *ret = n;
    return 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

static void apply(struct webhook_call *c, const struct node_admission *m)
{
    char text[QTY_TEXT_MAX];

    if (m->remove_raw_allocatable) {
        struct kj_mval *annotations = kj_mget(kj_mget(c->obj, "metadata"), "annotations");
        c->answer->changed |=
            kj_mdel(annotations, ANNO_RAW_ALLOCATABLE, strlen(ANNO_RAW_ALLOCATABLE));
    }
    if (m->raw_allocatable)
        c->answer->changed |=
            tree_meta_set(c->d, c->obj, "annotations", ANNO_RAW_ALLOCATABLE, m->raw_allocatable);
    for (uint32_t i = 0; i < m->allocatable.n; i++) {
        struct kj_mval *status = tree_object(c->d, c->obj, "status");
        qty_print(m->allocatable.items[i].value, text);
        c->answer->changed |= tree_set_str(c->d, tree_object(c->d, status, "allocatable"),
                                           m->allocatable.items[i].name, text);
    }
}

static int amplify_status(struct webhook_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *now = NULL;
    struct node *node = NULL, *old = NULL;
    struct node_admission m;
    struct kerr err = { 0 };

    if (c->r->op != WEBHOOK_UPDATE)
        return 0;
    now = kj_freeze(c->obj);
    if (decode_node(c, kj_root(now), &node) < 0 ||
        (c->r->old && decode_node(c, c->r->old, &old) < 0))
        return -1;
    if (node_status_admit(node, old, c->a, &m, &err) < 0)
        return webhook_refuse(c, 500, "%s", err.text);
    apply(c, &m);
    return 0;
}

const struct webhook_step node_status_steps[] = { { "ResourceAmplification", amplify_status },
                                                  { NULL, NULL } };

/* ---- labels ---------------------------------------------------------------------------------- */

static int check_labels(struct webhook_call *c)
{
    const struct webhook_source *s = c->w->src;
    const kstrmap *config = s->slo_config ? s->slo_config(s->self) : NULL;
    kstrmap labels = tree_strmap_of(kj_path(c->val, "metadata.labels"), c->a);
    kstrmap old = tree_strmap_of(kj_path(c->r->old, "metadata.labels"), c->a);
    struct slo_node node = { kj_str_or(kj_path(c->val, "metadata.name"), c->r->name), &labels };

    /* Upstream looks at new nodes too, and lets them all pass. */
    if (c->r->op != WEBHOOK_UPDATE || !config || kstrmap_equal(&labels, &old))
        return 0;
    const char *bad = sloconfig_validate_node(config, &node, c->a);
    return bad ? webhook_refuse(c, 400, "%s", bad) : 0;
}

const struct webhook_step node_validate_steps[] = { { "NodeSLOConfig", check_labels },
                                                    { NULL, NULL } };
