/* profile.c - sums over nodes, and the quota that is made of them (manager 11). */
#include "manager/quota/profile.h"

#include <math.h>

#include "api/protocol/quota.h"
#include "api/selector/selector.h"
#include "base/map.h"
#include "json/kj.h"

const char *quota_profile_tree(const struct objmeta *profile, struct arena *a)
{
    const char *given = quota_tree_id(&profile->labels);

    if (*given)
        return given;
    const char *key = arena_printf(a, "%s/%s", profile->ns, profile->name);
    return arena_printf(a, "%llu", (unsigned long long)hash_stable(key, strlen(key)));
}

/* ---- sums ------------------------------------------------------------------------------------ */

static bool is_schedulable(const struct node *n)
{
    return !n->spec.unschedulable && condition_is_true(&n->status.conditions, "Ready");
}

bool quota_profile_node_differs(const struct node *a, const struct node *b)
{
    return is_schedulable(a) != is_schedulable(b) ||
           !kstrmap_equal(&a->obj.meta.labels, &b->obj.meta.labels) ||
           !reslist_equal(&a->status.allocatable, &b->status.allocatable);
}

/* In place: the sum is ours, and there may be thousands of nodes. */
static void sum_up(reslist *sum, const reslist *l, struct arena *a)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct qty *have = (struct qty *)(uintptr_t)reslist_find(sum, l->items[i].name);
        if (have)
            *have = qty_add(*have, l->items[i].value);
        else
            *sum = reslist_with(sum, l->items[i].name, l->items[i].value, a);
    }
}

/* Rounded towards zero, in the unit that quotas count in. */
static reslist scaled(const reslist *l, double ratio, struct arena *a)
{
    reslist out = { .items = arena_newn0(a, l->n, struct resqty), .n = l->n };

    for (uint32_t i = 0; i < l->n; i++) {
        const char *name = l->items[i].name;
        double part = trunc((double)resource_count(name, l->items[i].value) * ratio);
        int64_t count = part >= 0x1p63 ? INT64_MAX : (int64_t)part;
        out.items[i] = (struct resqty){ name, resource_from_count(name, count) };
    }
    return out;
}

static void plan_spec(const struct elasticquotaprofile *p, struct arena *a, struct quota_plan *plan)
{
    kstrlist keys = quota_profile_keys(&p->obj.meta.annotations, a);

    for (uint32_t i = 0; i < keys.n; i++) {
        const char *name = keys.items[i];
        plan->min = reslist_with(&plan->min, name, reslist_get(&plan->total, name), a);
        plan->max =
            reslist_with(&plan->max, name, qty_from_i64(QUOTA_PROFILE_MAX, QTY_DECIMAL_SI), a);
    }
}

static void put_label(kstrmap *m, const char *key, const char *value)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (streq(m->items[i].key, key)) {
            m->items[i].value = value;
            return;
        }
    m->items[m->n++] = (struct kstrpair){ key, value };
}

static void plan_labels(const struct elasticquotaprofile *p, struct arena *a,
                        struct quota_plan *plan)
{
    const kstrmap *given = &p->spec.quota_labels;

    plan->labels.items = arena_newn0(a, given->n + 3, struct kstrpair);
    put_label(&plan->labels, LABEL_QUOTA_PROFILE, p->obj.meta.name);
    for (uint32_t i = 0; i < given->n; i++)
        put_label(&plan->labels, given->items[i].key, given->items[i].value);
    put_label(&plan->labels, LABEL_QUOTA_TREE_ID, plan->tree);
    put_label(&plan->labels, LABEL_QUOTA_IS_ROOT, "true");
}

int quota_profile_plan(const struct elasticquotaprofile *p, const struct node *const *nodes,
                       size_t n, struct arena *a, struct quota_plan *ret, struct kerr *err)
{
    struct quota_plan plan = { .tree = quota_profile_tree(&p->obj.meta, a) };
    struct labelsel *selector;

    if (labelsel_from(p->spec.node_selector, a, &selector, err) < 0)
        return kerr_wrap(err, "spec.nodeSelector");
    for (size_t i = 0; i < n; i++) {
        if (!labelsel_matches(selector, &nodes[i]->obj.meta.labels))
            continue;
        const reslist *l = &nodes[i]->status.allocatable;
        sum_up(&plan.total, l, a);
        if (!is_schedulable(nodes[i]))
            sum_up(&plan.unschedulable, l, a);
    }
    if (!str_empty(p->spec.resource_ratio)) {
        double ratio = quota_profile_ratio(p->spec.resource_ratio);
        plan.total = scaled(&plan.total, ratio, a);
        plan.unschedulable = scaled(&plan.unschedulable, ratio, a);
    }
    plan_spec(p, a, &plan);
    plan_labels(p, a, &plan);
    *ret = plan;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A member of metadata or spec is begun when the first thing in it is written. */
struct section {
    struct kjw *w;
    const char *name;
    bool begun;
};

static struct kjw *section_begin(struct section *s)
{
    if (!s->begun)
        kjw_obj(s->w, s->name);
    s->begun = true;
    return s->w;
}

static bool section_end(struct section *s)
{
    if (s->begun)
        kjw_end(s->w);
    return s->begun;
}

static void write_labels(const kstrmap *want, const kstrmap *have, struct section *s)
{
    for (uint32_t i = 0; i < want->n; i++) {
        const char *is = have ? kstrmap_get(have, want->items[i].key) : NULL;
        if (!is || !streq(is, want->items[i].value))
            kjw_str(section_begin(s), want->items[i].key, want->items[i].value);
    }
}

static void write_annotation(const char *key, const reslist *want, const kstrmap *have,
                             struct section *s)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *is = have ? kstrmap_get(have, key) : NULL;
    reslist list = { 0 };
    struct kerr unread = { 0 };

    if (!str_empty(is) && reslist_decode_text(is, a, &list, &unread) == 0 &&
        reslist_equal(&list, want))
        return;
    reslist_encode(want, &text);
    kjw_str(section_begin(s), key, strbuf_str(&text));
}

/* Names that are too much are set to null: it is a merge patch. */
static void write_list(const char *key, const reslist *want, const reslist *have, struct section *s)
{
    if (have && reslist_equal(want, have))
        return;
    kjw_obj(section_begin(s), key);
    for (uint32_t i = 0; i < want->n; i++) {
        char text[QTY_TEXT_MAX];
        qty_print(want->items[i].value, text);
        kjw_str(s->w, want->items[i].name, text);
    }
    for (uint32_t i = 0; have && i < have->n; i++)
        if (!reslist_has(want, have->items[i].name))
            kjw_null(s->w, have->items[i].name);
    kjw_end(s->w);
}

bool quota_plan_write(const struct quota_plan *plan, const struct elasticquotaprofile *p,
                      const struct elasticquota *have, struct strbuf *body)
{
    const kstrmap *labels = have ? &have->obj.meta.labels : NULL;
    const kstrmap *annotations = have ? &have->obj.meta.annotations : NULL;
    struct kjw w = kjw_to(body);
    struct section meta = { &w, "metadata", false };

    kjw_obj(&w, NULL);
    if (!have) {
        kjw_str(&w, "apiVersion", "scheduling.sigs.k8s.io/v1alpha1");
        kjw_str(&w, "kind", "ElasticQuota");
    }
    section_begin(&meta);
    if (!have) {
        kjw_str(&w, "name", p->spec.quota_name);
        kjw_str(&w, "namespace", p->obj.meta.ns);
    }
    struct section l = { &w, "labels", false }, t = { &w, "annotations", false };
    write_labels(&plan->labels, labels, &l);
    bool differs = section_end(&l);
    write_annotation(ANNO_QUOTA_TOTAL_RESOURCE, &plan->total, annotations, &t);
    write_annotation(ANNO_QUOTA_UNSCHEDULABLE_RESOURCE, &plan->unschedulable, annotations, &t);
    differs |= section_end(&t);
    section_end(&meta);
    struct section spec = { &w, "spec", false };
    write_list("min", &plan->min, have ? &have->spec.min : NULL, &spec);
    write_list("max", &plan->max, have ? &have->spec.max : NULL, &spec);
    differs |= section_end(&spec);
    kjw_end(&w);
    return differs || !have;
}
