/* common.c - what Kubernetes' plugins share. */
#include "descheduler/plugins/kube/common.h"

#include "api/protocol/migration.h"
#include "api/qos.h"

int kube_common_check(struct kube_common *c, struct arena *a, struct kerr *err)
{
    int r = args_namespaces_check(c->namespaces, "namespaces", err);

    return r == 0 ? args_selector_compile(c->label_selector, "labelSelector", a, &c->labels, err)
                  : r;
}

bool kube_common_wants(const struct kube_common *c, const struct pod *p)
{
    return args_namespaces_match(c->namespaces, p->obj.meta.ns) &&
           args_selector_match(c->labels, &p->obj.meta.labels);
}

void kube_list(struct kd_round *r, uint32_t node, const struct kube_listing *how, podvec *out)
{
    struct kd_pods pods = how->all ? kd_view_pods(r->view, node) : kd_view_active(r->view, node);

    for (uint32_t i = 0; i < pods.n; i++) {
        const struct pod *p = pods.items[i];
        if ((!how->common || kube_common_wants(how->common, p)) &&
            (!how->filter || kd_filter(r, p)))
            vec_push(out, p);
    }
}

/* ---- order ------------------------------------------------------------------------------------ */

static int cmp(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int64_t priority_rank(const struct pod *p)
{
    return p->spec->priority.set ? p->spec->priority.v : INT64_MIN;
}

static int qos_rank(const struct pod *p)
{
    switch (pod_compute_qos(p->spec)) {
    case KUBE_QOS_BEST_EFFORT: return 0;
    case KUBE_QOS_BURSTABLE: return 1;
    default: return 2;
    }
}

static bool would_rather_stay(const struct pod *p)
{
    return kstrmap_get(&p->obj.meta.annotations, ANNO_PREFER_NO_EVICTION) != NULL;
}

static int by_priority(const void *a, const void *b)
{
    const struct pod *x = *(const struct pod *const *)a, *y = *(const struct pod *const *)b;
    int r = cmp(priority_rank(x), priority_rank(y));

    if (r == 0)
        r = cmp(qos_rank(x), qos_rank(y));
    if (r == 0)
        r = cmp(would_rather_stay(x), would_rather_stay(y));
    if (r == 0)
        r = strcmp(x->obj.meta.ns, y->obj.meta.ns);
    return r ? r : strcmp(x->obj.meta.name, y->obj.meta.name);
}

void kube_sort(podvec *pods)
{
    if (pods->n)
        qsort(pods->items, pods->n, sizeof *pods->items, by_priority);
}

/* ---- instances -------------------------------------------------------------------------------- */

int kube_create(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err)
{
    struct kube_self *s = xnew0(struct kube_self);

    (void)env;
    (void)err;
    s->args = args;
    *ret_self = s;
    return 0;
}

void kube_destroy(void *self)
{
    free(self);
}

void kube_update(void *self, const void *args)
{
    ((struct kube_self *)self)->args = args;
}

/* ---- containers ------------------------------------------------------------------------------- */

bool kube_has_reason(const containerstatuslist *l, const kstrlist *reasons)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct container_state *s = &l->items[i].state;
        if ((s->waiting && args_has(reasons, s->waiting->reason)) ||
            (s->terminated && args_has(reasons, s->terminated->reason)))
            return true;
    }
    return false;
}

bool kube_has_exit_code(const containerstatuslist *l, const kube_codes *codes)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct container_terminated *t = l->items[i].state.terminated;
        for (uint32_t j = 0; t && j < codes->n; j++)
            if (codes->items[j] == t->exit_code)
                return true;
    }
    return false;
}
