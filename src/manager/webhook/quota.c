/* quota.c - the webhooks of ElasticQuotas (sched-quota 19). */
#include "api/protocol/quota.h"
#include "loop/loop.h"
#include "manager/quota/selfcheck.h"
#include "manager/quota/topology.h"
#include "manager/webhook/webhook_int.h"

/* An accepted request counts so long without the informer's word. */
#define ACCEPTED (10 * NSEC_PER_SEC)

static struct quota_topology *topology_of(struct webhook_call *c)
{
    const struct webhook_source *s = c->w->src;
    struct quota_topology *t = s->quotas ? s->quotas(s->self) : NULL;

    if (t)
        topology_expire(t, loop_mono(c->w->loop));
    return t;
}

/* ---- defaults -------------------------------------------------------------------------------- */

static int fill_tree(struct webhook_call *c, const struct quota_topology *t)
{
    const char *parent = tree_meta_get(c->obj, "labels", LABEL_QUOTA_PARENT);
    const char *tree = tree_meta_get(c->obj, "labels", LABEL_QUOTA_TREE_ID);

    if (!str_empty(tree) || streq(parent, QUOTA_ROOT_NAME))
        return 0;
    const struct elasticquota *p = topology_find(t, parent);
    if (!p)
        return webhook_refuse(c, 400, "fill quota %s failed, parent not exist", c->r->name);
    tree = quota_tree_id(&p->obj.meta.labels);
    if (*tree && tree_meta_set(c->d, c->obj, "labels", LABEL_QUOTA_TREE_ID, tree))
        c->answer->changed = true;
    return 0;
}

/* Keys of max, no others; what is missing has the weight of its max. */
static int fill_weight(struct webhook_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *given = tree_meta_get(c->obj, "annotations", ANNO_QUOTA_SHARED_WEIGHT);
    reslist max = { 0 }, weight = { 0 }, out = { 0 };
    struct kerr err = { 0 };

    const struct kj_mval *given_max = kj_mget(kj_mget(c->obj, "spec"), "max");
    if (tree_reslist(given_max, c->a, &max, &err) < 0)
        return webhook_refuse(c, 400, "spec.max: %s", err.text);
    if (!str_empty(given) && reslist_decode_text(given, c->a, &weight, &err) < 0)
        return webhook_refuse(c, 400, "fillDefaultQuotaInfo unmarshal sharedWeight failed:%s",
                              err.text);
    for (uint32_t i = 0; i < max.n; i++) {
        const struct qty *w = reslist_find(&weight, max.items[i].name);
        out = reslist_with(&out, max.items[i].name, w ? *w : max.items[i].value, c->a);
    }
    if (given_max)
        reslist_encode(&out, &text);
    else
        strbuf_appendf(&text, "null"); /* as Go writes a list that is not there */
    if (tree_meta_set(c->d, c->obj, "annotations", ANNO_QUOTA_SHARED_WEIGHT, strbuf_str(&text)))
        c->answer->changed = true;
    if (str_empty(given))
        webhook_observe_weight(c->w->observer, c->r->name, &out);
    return 0;
}

static int fill(struct webhook_call *c)
{
    const struct quota_topology *t = topology_of(c);

    if (!t || streq(c->r->name, QUOTA_ROOT_NAME))
        return 0;
    if (str_empty(tree_meta_get(c->obj, "labels", LABEL_QUOTA_PARENT)) &&
        tree_meta_set(c->d, c->obj, "labels", LABEL_QUOTA_PARENT, QUOTA_ROOT_NAME))
        c->answer->changed = true;
    int r = fill_tree(c, t);
    return r ? r : fill_weight(c);
}

const struct webhook_step quota_mutate_steps[] = {
    { "ElasticQuota", fill },
    { NULL, NULL },
};

/* ---- checks ---------------------------------------------------------------------------------- */

static int decode(struct webhook_call *c, const struct kj_val *v, struct elasticquota *ret)
{
    struct kerr err = { 0 };

    *ret = (struct elasticquota){ 0 };
    if (kj_decode(&elasticquota_schema, v, 0, c->a, ret, &err) < 0)
        return webhook_refuse(c, 400, "quota cannot be decoded: %s", err.text);
    return 0;
}

static int check(struct webhook_call *c)
{
    struct quota_topology *t = topology_of(c);
    nsec_t until = loop_mono(c->w->loop) + ACCEPTED;
    struct elasticquota q, old;
    const char *why = NULL;

    if (!t)
        return 0;
    if (c->r->op == WEBHOOK_DELETE) {
        why = topology_delete(t, c->r->name, c->a);
        if (!why)
            webhook_observe_quota_gone(c->w->observer, c->r->name);
    } else if (decode(c, c->val, &q) < 0 ||
               (c->r->op == WEBHOOK_UPDATE && decode(c, c->r->old, &old) < 0)) {
        return -1;
    } else if (c->r->op == WEBHOOK_UPDATE) {
        why = topology_update(t, &old, &q, until, c->a);
    } else {
        why = topology_create(t, &q, until, c->a);
    }
    return why ? webhook_refuse(c, 400, "%s", why) : 0;
}

const struct webhook_step quota_validate_steps[] = {
    { "ElasticQuota", check },
    { NULL, NULL },
};
