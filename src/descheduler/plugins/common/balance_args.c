/* balance_args.c - tables, checks and small steps of Koordinator's smaller Balance plugins. */
#include "descheduler/plugins/common/balance_args.h"

#include "base/klog.h"
#include "component/config.h"

const struct kmeta balance_args_true = { .def = "true" };

int balance_args_check(struct balance_args *x, struct arena *a, struct kerr *err)
{
    int r = args_namespaces_check(x->namespaces, "evictableNamespaces", err);

    if (r == 0)
        r = args_selector_compile(x->node_selector, "nodeSelector", a, &x->nodes, err);
    return r == 0 ? args_pod_selectors_compile(&x->pods, "podSelectors", a, err) : r;
}

uint32_t *balance_nodes(const struct balance_args *x, const struct kd_round *r, uint32_t *ret_n)
{
    uint32_t *nodes = arena_newn0(r->arena, r->nnodes, uint32_t), n = 0;

    for (uint32_t i = 0; i < r->nnodes; i++)
        if (args_selector_match(x->nodes,
                                &kd_view_node(r->view, r->nodes[i])->node->obj.meta.labels))
            nodes[n++] = r->nodes[i];
    *ret_n = n;
    return nodes;
}

bool balance_wants(const struct balance_args *x, const struct pod *p)
{
    return args_namespaces_match(x->namespaces, p->obj.meta.ns) &&
           args_pod_selectors_match(&x->pods, p);
}

bool balance_evict(const struct balance_args *x, struct kd_round *r, const struct pod *p,
                   const char *reason)
{
    if (!x->dry_run)
        return kd_evict(r, p, &(struct kd_eviction){ .reason = reason });
    KLOG_I(2, "Would evict pod", KV_S("namespace", p->obj.meta.ns), KV_S("pod", p->obj.meta.name),
           KV_S("node", p->node_name), KV_S("reason", reason));
    return true;
}

void balance_default_resources(kstrlist *l, struct arena *a)
{
    if (l->n)
        return;
    l->items = arena_newn0(a, 2, const char *);
    l->items[0] = "cpu";
    l->items[1] = "memory";
    l->n = 2;
}

int balance_check_resources(const kstrlist *l, struct kerr *err)
{
    int r = config_at_most(l->n, CONFIG_ITEMS_MAX, "resources", err);

    for (uint32_t i = 0; i < l->n && r == 0; i++) {
        if (!*l->items[i])
            r = kerr_api(err, -EINVAL, KR_INVALID, "resources[%u]: Required value", i);
        for (uint32_t j = 0; j < i && r == 0; j++)
            if (streq(l->items[i], l->items[j]))
                r = kerr_api(err, -EINVAL, KR_INVALID, "resources[%u]: Duplicate value: \"%.64s\"",
                             i, l->items[i]);
    }
    return r;
}

int64_t balance_request(const struct kd_view *v, const struct pod *p, uint32_t resource)
{
    struct kd_amounts a = kd_view_requests(v, p);

    for (uint32_t i = 0; i < a.n; i++)
        if (a.items[i].resource == resource)
            return a.items[i].milli;
    return 0;
}
