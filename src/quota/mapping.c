/* mapping.c - which quota a pod belongs to, and what moves when that changes (sched-quota 2, 9). */
#include "api/podresources.h"
#include "api/protocol/quota.h"
#include "quota/forest_int.h"

/* ---- namespaces that quotas claim ------------------------------------------------------------ */

static void claim_add(struct quota_forest *f, const char *ns, struct quota *q)
{
    struct ns_entry *e = map_getz(&f->by_namespace, ns);

    if (!e) {
        size_t n = strlen(ns) + 1;
        e = xcalloc(1, sizeof *e + n);
        memcpy(e->name, ns, n);
        map_putz(&f->by_namespace, e->name, e);
    }
    vec_push(&e->quotas, q);
}

static void claim_drop(struct quota_forest *f, const char *ns, const struct quota *q)
{
    struct ns_entry *e = map_getz(&f->by_namespace, ns);

    vec_foreach(&e->quotas, i) {
        if (e->quotas.items[i] == q) {
            vec_swap_remove(&e->quotas, i);
            break;
        }
    }
    if (e->quotas.n)
        return;
    map_removez(&f->by_namespace, ns);
    vec_fini(&e->quotas);
    free(e);
}

/* Of several quotas that claim a namespace the first by name has it. */
static struct quota *claimant(const struct quota_forest *f, const char *ns)
{
    const struct ns_entry *e = map_getz(&f->by_namespace, ns);
    struct quota *first = NULL;

    for (size_t i = 0; e && i < e->quotas.n; i++)
        if (!first || strcmp(e->quotas.items[i]->name, first->name) < 0)
            first = e->quotas.items[i];
    return first;
}

static void mark(struct quota_forest *f, struct quota *q)
{
    if (q->npods == 0)
        return;
    q->remap = true;
    f->remap = true;
}

static void mark_claimants(struct quota_forest *f, const char *ns)
{
    const struct ns_entry *e = map_getz(&f->by_namespace, ns);

    for (size_t i = 0; e && i < e->quotas.n; i++)
        mark(f, e->quotas.items[i]);
}

void mapping_mark(struct quota_forest *f, struct quota *q)
{
    mark(f, q);
    mark(f, f->def);
    mark(f, f->outside);
    mark_claimants(f, q->name);
    for (uint32_t i = 0; i < q->namespaces.n; i++)
        mark_claimants(f, q->namespaces.items[i]);
}

static bool same_names(kstrlist a, kstrlist b)
{
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (!streq(a.items[i], b.items[i]))
            return false;
    return true;
}

void mapping_claim(struct quota_forest *f, struct quota *q, kstrlist namespaces)
{
    if (same_names(q->namespaces, namespaces))
        return;
    mapping_mark(f, q);
    for (uint32_t i = 0; i < q->namespaces.n; i++) {
        claim_drop(f, q->namespaces.items[i], q);
        free((char *)(uintptr_t)q->namespaces.items[i]);
    }
    free(q->namespaces.items);
    q->namespaces = (kstrlist){ .items = xcalloc(namespaces.n + 1, sizeof(char *)) };
    for (uint32_t i = 0; i < namespaces.n; i++) {
        q->namespaces.items[q->namespaces.n++] = xstrdup(namespaces.items[i]);
        claim_add(f, namespaces.items[i], q);
    }
    mapping_mark(f, q);
}

void mapping_fini(struct quota_forest *f)
{
    map_foreach(&f->by_namespace, e) {
        struct ns_entry *entry = e->value;
        vec_fini(&entry->quotas);
        free(entry);
    }
    map_fini(&f->by_namespace);
}

/* ---- pod to quota ---------------------------------------------------------------------------- */

static struct quota *resolve(const struct quota_forest *f, const struct pod *p)
{
    const char *label = pod_quota_name(&p->obj.meta.labels), *ns = str_or(p->obj.meta.ns, "");
    struct quota *q;

    if (*label) {
        q = map_getz(&f->by_name, label);
        if (q && q->sort != QUOTA_ROOT)
            return q;
        return f->options.no_default ? f->outside : f->def;
    }
    if (f->options.no_default)
        return f->outside;
    q = map_getz(&f->by_name, ns);
    if (q && q->sort == QUOTA_PLAIN && streq(q->ns, ns))
        return q;
    q = claimant(f, ns);
    return q ? q : f->def;
}

struct quota *forest_resolve(struct quota_forest *f, const struct pod *p)
{
    struct quota *q = resolve(f, p);

    return q == f->outside ? NULL : q;
}

/* ---- charging -------------------------------------------------------------------------------- */

reslist forest_request_list(const struct quota_forest *f, const struct pod *p, struct arena *a)
{
    struct podres_options o = { .exclude_overhead = f->options.ignore_overhead };

    return pod_requests(p, &o, a);
}

uint64_t forest_request(const struct quota_forest *f, const reslist *l, int64_t *amounts)
{
    uint64_t keys = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        int c = quota_columns_find(&f->columns, l->items[i].name);
        if (c < 0)
            continue;
        amounts[c] = column_amount(l->items[i].name, l->items[i].value, POD_AMOUNT_MAX);
        keys |= UINT64_C(1) << c;
    }
    return keys;
}

static void link_pod(struct quota_forest *f, struct quota *q, uint32_t id)
{
    struct podrec *r = podtable_at(&f->pods, id);

    r->quota = q->id;
    r->prev = 0;
    r->next = q->pods;
    if (q->pods)
        podtable_at(&f->pods, q->pods)->prev = id;
    q->pods = id;
    q->npods++;
}

static void unlink_pod(struct quota_forest *f, struct quota *q, uint32_t id)
{
    struct podrec *r = podtable_at(&f->pods, id);

    if (r->prev)
        podtable_at(&f->pods, r->prev)->next = r->next;
    else
        q->pods = r->next;
    if (r->next)
        podtable_at(&f->pods, r->next)->prev = r->prev;
    q->npods--;
}

static struct quota *quota_of(const struct quota_forest *f, const struct podrec *r)
{
    return f->by_id.items[r->quota];
}

static void charge(struct quota_forest *f, uint32_t id)
{
    struct podrec *r = podtable_at(&f->pods, id);
    struct quota *q = resolve(f, pod_of(r->pod));

    link_pod(f, q, id);
    sums_charge(f, q, r, 1);
}

static void release(struct quota_forest *f, uint32_t id)
{
    struct podrec *r = podtable_at(&f->pods, id);
    struct quota *q = quota_of(f, r);

    unlink_pod(f, q, id);
    sums_charge(f, q, r, -1);
}

static void measure(struct quota_forest *f, uint32_t id)
{
    struct podrec *r = podtable_at(&f->pods, id);
    const struct pod *p = pod_of(r->pod);

    memset(r->amount, 0, f->pods.columns * sizeof *r->amount);
    arena_reset(f->arena);
    reslist l = forest_request_list(f, p, f->arena);
    r->keys = forest_request(f, &l, r->amount);
    r->preemptible = pod_quota_preemptible(&p->obj.meta.labels);
}

/* Most news of a pod changes nothing here: then no level has to be shared out again. */
static bool is_same(struct quota_forest *f, const struct podrec *r, const struct pod *p,
                    bool assigned)
{
    const struct pod *old = pod_of(r->pod);

    return r->assigned == assigned && old->spec == p->spec &&
           kstrmap_equal(&old->obj.meta.labels, &p->obj.meta.labels) &&
           streq(old->obj.meta.ns, p->obj.meta.ns) && quota_of(f, r) == resolve(f, p);
}

void forest_put_pod(struct quota_forest *f, const struct pod *p, bool assigned)
{
    uint32_t id = podtable_find(&f->pods, p->obj.meta.uid);
    bool same = id && is_same(f, podtable_at(&f->pods, id), p, assigned);

    if (id) {
        if (!same)
            release(f, id);
        podtable_swap(&f->pods, id, p);
        if (same)
            return;
    } else {
        id = podtable_add(&f->pods, p);
    }
    measure(f, id);
    podtable_at(&f->pods, id)->assigned = assigned;
    charge(f, id);
}

void forest_remove_pod(struct quota_forest *f, struct kuid uid)
{
    uint32_t id = podtable_find(&f->pods, uid);

    if (!id)
        return;
    release(f, id);
    podtable_remove(&f->pods, id);
}

void forest_assign_pod(struct quota_forest *f, struct kuid uid, bool assigned)
{
    uint32_t id = podtable_find(&f->pods, uid);
    struct podrec *r = id ? podtable_at(&f->pods, id) : NULL;

    if (!r || r->assigned == assigned)
        return;
    r->assigned = assigned;
    sums_assign(f, quota_of(f, r), r, assigned ? 1 : -1);
}

/* ---- when quotas change ---------------------------------------------------------------------- */

static void quota_remap(struct quota_forest *f, struct quota *q)
{
    uint32_t next;

    q->remap = false;
    for (uint32_t id = q->pods; id; id = next) {
        struct podrec *r = podtable_at(&f->pods, id);
        next = r->next;
        if (resolve(f, pod_of(r->pod)) == q)
            continue;
        release(f, id);
        charge(f, id);
    }
}

void mapping_settle(struct quota_forest *f)
{
    if (!f->remap)
        return;
    f->remap = false;
    vec_foreach(&f->by_id, i)
        if (f->by_id.items[i] && f->by_id.items[i]->remap)
            quota_remap(f, f->by_id.items[i]);
}

void mapping_evacuate(struct quota_forest *f, struct quota *q)
{
    while (q->pods) {
        uint32_t id = q->pods;
        release(f, id);
        charge(f, id);
    }
}

void mapping_widen(struct quota_forest *f)
{
    podtable_widen(&f->pods, f->width);
    for (uint32_t id = 1; id <= f->pods.used; id++)
        if (podtable_at(&f->pods, id)->pod)
            measure(f, id);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct quota *forest_charged(struct quota_forest *f, struct kuid uid)
{
    uint32_t id = podtable_find(&f->pods, uid);

    mapping_settle(f);
    struct quota *q = id ? quota_of(f, podtable_at(&f->pods, id)) : NULL;
    return q == f->outside ? NULL : q;
}

static struct quota_pod view(const struct podrec *r)
{
    return (struct quota_pod){ .pod = pod_of(r->pod),
                               .assigned = r->assigned,
                               .preemptible = r->preemptible,
                               .keys = r->keys,
                               .amount = r->amount };
}

bool quota_next_pod(struct quota_forest *f, const struct quota *q, uint32_t *at,
                    struct quota_pod *ret)
{
    if (*at == 0)
        mapping_settle(f);
    *at = *at ? podtable_at(&f->pods, *at)->next : q->pods;
    if (*at == 0)
        return false;
    *ret = view(podtable_at(&f->pods, *at));
    return true;
}

bool forest_pod(struct quota_forest *f, struct kuid uid, struct quota_pod *ret)
{
    uint32_t id = podtable_find(&f->pods, uid);

    mapping_settle(f);
    if (id)
        *ret = view(podtable_at(&f->pods, id));
    return id != 0;
}
