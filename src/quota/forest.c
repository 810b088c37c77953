/* forest.c - quotas come, change and go (sched-quota 3, 8, 12). */
#include "api/protocol/protocol.h"
#include "api/protocol/quota.h"
#include "base/klog.h"
#include "quota/forest_int.h"

/* ---- nodes of the tree ----------------------------------------------------------------------- */

static uint32_t take_id(struct quota_forest *f, struct quota *q)
{
    if (f->free_ids.n) {
        uint32_t id = vec_pop(&f->free_ids);
        f->by_id.items[id] = q;
        return id;
    }
    vec_push(&f->by_id, q);
    return (uint32_t)f->by_id.n - 1;
}

static struct quota *quota_new(struct quota_forest *f, const char *name, struct quota_tree *t,
                               enum quota_sort sort)
{
    struct quota *q = xnew0(struct quota);

    q->name = xstrdup(name);
    q->ns = xstrdup("");
    q->parent_name = xstrdup("");
    q->tree = t;
    q->sort = (uint8_t)sort;
    q->lends = true;
    q->v = xnewn0((size_t)f->width * QUOTA_FIELDS + 1, int64_t);
    q->id = take_id(f, q);
    q->dirty = UINT64_MAX;
    if (t)
        t->nquotas++;
    return q;
}

static void quota_free(struct quota_forest *f, struct quota *q)
{
    f->by_id.items[q->id] = NULL;
    vec_push(&f->free_ids, q->id);
    for (uint32_t i = 0; i < q->namespaces.n; i++)
        free((char *)(uintptr_t)q->namespaces.items[i]);
    free(q->namespaces.items);
    totals_fini(&q->total);
    free(q->children);
    free(q->name);
    free(q->ns);
    free(q->parent_name);
    free(q->v);
    free(q);
}

static void text_set(char **at, const char *text)
{
    if (streq(*at, text))
        return;
    free(*at);
    *at = xstrdup(text);
}

/* Where a child stands among the others, or would. */
static uint32_t child_place(const struct quota *p, const char *name)
{
    uint32_t lo = 0, hi = p->nchildren;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (strcmp(p->children[mid]->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void tree_count_keys(struct quota_tree *t, uint64_t keys, int by)
{
    uint64_t before = t->keys;

    columns_foreach(c, keys) {
        t->refs[c] += (uint32_t)by;
        t->keys = t->refs[c] ? t->keys | UINT64_C(1) << c : t->keys & ~(UINT64_C(1) << c);
    }
    if (t->keys != before)
        t->root->dirty = UINT64_MAX;
}

static void quota_attach(struct quota_forest *f, struct quota *q, struct quota *parent)
{
    q->parent = parent;
    if (q->sort == QUOTA_PLAIN) {
        uint32_t at = child_place(parent, q->name);
        if (parent->nchildren == parent->children_cap) {
            parent->children_cap = parent->children_cap ? parent->children_cap * 2 : 4;
            parent->children =
                xreallocarray(parent->children, parent->children_cap, sizeof *parent->children);
        }
        memmove(parent->children + at + 1, parent->children + at,
                (parent->nchildren - at) * sizeof *parent->children);
        parent->children[at] = q;
        parent->nchildren++;
        tree_count_keys(q->tree, q->max_keys, 1);
    }
    q->dirty = UINT64_MAX;
    sums_join(f, q, 1);
}

static void quota_detach(struct quota_forest *f, struct quota *q)
{
    struct quota *parent = q->parent;

    if (q->sort == QUOTA_PLAIN) {
        uint32_t at = child_place(parent, q->name);
        memmove(parent->children + at, parent->children + at + 1,
                (parent->nchildren - at - 1) * sizeof *parent->children);
        parent->nchildren--;
        tree_count_keys(q->tree, q->max_keys, -1);
    }
    sums_join(f, q, -1);
    q->parent = NULL;
    q->runtime_keys = 0; /* nobody shares with it */
    for (uint32_t c = 0; c < f->columns.n; c++) {
        int64_t *v = quota_cell(q, c);
        v[QUOTA_RUNTIME] = 0;
        v[QUOTA_SCALED_MIN] = v[QUOTA_MIN];
    }
    q->dirty = UINT64_MAX;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static struct quota_tree *tree_find(const struct quota_forest *f, const char *id)
{
    vec_foreach(&f->trees, i)
        if (streq(f->trees.items[i]->id, id))
            return f->trees.items[i];
    return NULL;
}

static struct quota_tree *tree_new(struct quota_forest *f, const char *id)
{
    struct quota_tree *t = xnew0(struct quota_tree);

    t->id = xstrdup(id);
    t->root = quota_new(f, QUOTA_ROOT_NAME, t, QUOTA_ROOT);
    t->root->is_parent = true;
    t->root->lends = false;
    t->total_dirty = true;
    vec_push(&f->trees, t);
    return t;
}

static void tree_drop_if_empty(struct quota_forest *f, struct quota_tree *t)
{
    if (t == f->tree || t->nquotas > 1)
        return;
    vec_foreach(&f->trees, i) {
        if (f->trees.items[i] == t) {
            vec_remove(&f->trees, i);
            break;
        }
    }
    quota_free(f, t->root);
    free(t->id);
    free(t);
}

/* ---- life ------------------------------------------------------------------------------------ */

static struct quota *special_new(struct quota_forest *f, const char *name)
{
    struct quota *q = quota_new(f, name, f->tree, QUOTA_SPECIAL);

    text_set(&q->parent_name, QUOTA_ROOT_NAME);
    quota_attach(f, q, f->tree->root);
    map_putz(&f->by_name, q->name, q);
    return q;
}

struct quota_forest *forest_new(const struct quota_options *o)
{
    struct quota_forest *f = xnew0(struct quota_forest);

    f->options = *o;
    f->arena = arena_new();
    vec_push(&f->by_id, NULL); /* number 0 is nobody's */
    f->tree = tree_new(f, "");
    map_putz(&f->by_name, f->tree->root->name, f->tree->root);
    f->outside = quota_new(f, "", NULL, QUOTA_OUTSIDE);
    f->system = special_new(f, QUOTA_SYSTEM_NAME);
    f->def = special_new(f, QUOTA_DEFAULT_NAME);
    return f;
}

struct quota_forest *forest_free(struct quota_forest *f)
{
    for (size_t i = 1; i < f->by_id.n; i++)
        if (f->by_id.items[i])
            quota_free(f, f->by_id.items[i]);
    vec_foreach(&f->trees, i) {
        free(f->trees.items[i]->id);
        free(f->trees.items[i]);
    }
    mapping_fini(f);
    map_fini(&f->by_name);
    vec_fini(&f->by_id);
    vec_fini(&f->free_ids);
    vec_fini(&f->trees);
    vec_fini(&f->heads);
    vec_fini(&f->members);
    vec_fini(&f->path);
    totals_fini(&f->nodes);
    podtable_fini(&f->pods);
    share_scratch_fini(&f->scratch);
    quota_columns_fini(&f->columns);
    arena_free(f->arena);
    free(f);
    return NULL;
}

void forest_scale_mins(struct quota_forest *f, bool on)
{
    if (f->options.scale_min == on)
        return;
    f->options.scale_min = on;
    for (size_t i = 1; i < f->by_id.n; i++)
        if (f->by_id.items[i])
            f->by_id.items[i]->dirty = UINT64_MAX;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Room for the columns there are now. */
static void forest_widen(struct quota_forest *f)
{
    uint32_t old = f->width;

    if (f->columns.n == old)
        return;
    f->width = f->columns.n;
    vec_foreach(&f->by_id, i) {
        struct quota *q = f->by_id.items[i];
        if (!q)
            continue;
        q->v = xreallocarray(q->v, (size_t)f->width * QUOTA_FIELDS + 1, sizeof *q->v);
        memset(q->v + (size_t)old * QUOTA_FIELDS, 0,
               (f->width - old) * QUOTA_FIELDS * sizeof *q->v);
    }
    mapping_widen(f);
    totals_mark(f);
}

/* How many of these have no column yet; names that stand in several lists count each time. */
static uint32_t new_columns(const struct quota_forest *f, const reslist *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->n; i++)
        n += quota_columns_find(&f->columns, l->items[i].name) < 0;
    return n;
}

/* All of a quota's, or none: one that is refused takes no columns away from others. */
static int add_columns(struct quota_forest *f, const reslist *const *lists, struct kerr *err)
{
    uint32_t n = 0;

    for (const reslist *const *l = lists; *l; l++)
        n += new_columns(f, *l);
    if (f->columns.n + n > QUOTA_COLUMNS_MAX)
        return kerr_set(err, -EINVAL, "quotas name more than %d resources in all",
                        QUOTA_COLUMNS_MAX);
    for (const reslist *const *l = lists; *l; l++)
        for (uint32_t i = 0; i < (*l)->n; i++)
            (void)quota_columns_add(&f->columns, (*l)->items[i].name);
    forest_widen(f);
    return 0;
}

/* ---- what an object says --------------------------------------------------------------------- */

struct quota_state {
    const char *name, *ns, *parent, *tree;
    reslist max, min, weight, total;
    kstrlist namespaces;
    bool is_parent, lends, head, ignores_default;
};

static int check_amounts(const char *what, const reslist *l, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (qty_sign(l->items[i].value) < 0)
            return kerr_set(err, -EINVAL, "%s of %.64s is negative", what, l->items[i].name);
    return 0;
}

static int state_read(const struct quota_forest *f, const struct elasticquota *q, struct arena *a,
                      struct quota_state *s, struct kerr *err)
{
    const struct objmeta *m = &q->obj.meta;
    struct reslist_value total = { 0 };

    *s = (struct quota_state){
        .name = m->name,
        .ns = str_or(m->ns, ""),
        .parent = quota_parent(m),
        .tree = f->options.trees ? quota_tree_id(&m->labels) : "",
        .is_parent = quota_is_parent(&m->labels),
        .lends = !f->options.guarantee && quota_allows_lent(&m->labels),
        .namespaces = quota_namespace_list(&m->annotations, a),
        .ignores_default = quota_ignores_default_tree(&m->labels),
    };
    reslist_rename_old(&q->spec.max, a, &s->max);
    reslist_rename_old(&q->spec.min, a, &s->min);
    s->weight = quota_weight(&m->annotations, &s->max, a);
    s->head = *s->tree && quota_is_tree_root(&m->labels) &&
              quota_total_resource_read(&m->annotations, a, &total, NULL) == 1;
    s->total = total.v;
    if (check_amounts("max", &s->max, err) < 0 || check_amounts("min", &s->min, err) < 0 ||
        check_amounts("shared-weight", &s->weight, err) < 0 ||
        check_amounts("total-resource", &s->total, err) < 0)
        return err->code;
    return 0;
}

static uint64_t set_amounts(const struct quota_forest *f, struct quota *q, enum quota_field field,
                            const reslist *l)
{
    uint64_t keys = 0;

    for (uint32_t c = 0; c < f->columns.n; c++)
        quota_cell(q, c)[field] = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        int c = quota_columns_find(&f->columns, l->items[i].name);
        if (c < 0)
            continue;
        quota_cell(q, (uint64_t)c)[field] =
            column_amount(l->items[i].name, l->items[i].value, QUOTA_AMOUNT_MAX);
        keys |= UINT64_C(1) << c;
    }
    return keys;
}

static void set_head(struct quota_forest *f, struct quota *q, const struct quota_state *s)
{
    totals_fini(&q->total);
    totals_add(&q->total, &s->total, 1);
    if (q->head != s->head) {
        if (s->head) {
            vec_push(&f->heads, q);
        } else {
            vec_foreach(&f->heads, i) {
                if (f->heads.items[i] == q) {
                    vec_swap_remove(&f->heads, i);
                    break;
                }
            }
        }
        q->head = s->head;
    }
    q->ignores_default = s->ignores_default;
    totals_mark(f);
}

/* A quota without a parent takes over what its object says. */
static void quota_apply(struct quota_forest *f, struct quota *q, const struct quota_state *s)
{
    q->max_keys = set_amounts(f, q, QUOTA_MAX, &s->max);
    q->min_keys = set_amounts(f, q, QUOTA_MIN, &s->min);
    q->weight_keys = set_amounts(f, q, QUOTA_WEIGHT, &s->weight);
    set_amounts(f, q, QUOTA_SCALED_MIN, &s->min);
    q->is_parent = s->is_parent;
    q->lends = s->lends;
    if (q->sort == QUOTA_PLAIN && (q->head || s->head))
        set_head(f, q, s);
    q->dirty = UINT64_MAX;
    sums_restart(f, q);
}

/* ---- where it stands ------------------------------------------------------------------------- */

static bool is_below(const struct quota *q, const struct quota *top)
{
    for (; q; q = q->parent)
        if (q == top)
            return true;
    return false;
}

/* The parent that the object names. q may be NULL: a new one. */
static int find_parent(const struct quota_forest *f, const struct quota_state *s,
                       const struct quota_tree *t, const struct quota *q, struct quota **ret,
                       struct kerr *err)
{
    struct quota *p;

    *ret = NULL;
    if (streq(s->parent, QUOTA_ROOT_NAME)) {
        *ret = t->root;
        return 0;
    }
    if (streq(s->parent, s->name))
        return kerr_set(err, -EINVAL, "quota %.100s is its own parent", s->name);
    p = map_getz(&f->by_name, s->parent);
    if (!p || p->sort != QUOTA_PLAIN)
        return kerr_set(err, -ENOENT, "parent quota %.100s does not exist", s->parent);
    if (p->tree != t)
        return kerr_set(err, -EINVAL, "parent quota %.100s is in another tree", s->parent);
    if (q && is_below(p, q))
        return kerr_set(err, -EINVAL, "parent quota %.100s is below quota %.100s itself", s->parent,
                        s->name);
    *ret = p;
    return 0;
}

/* Those that waited for this one. */
static void adopt(struct quota_forest *f, struct quota *parent)
{
    for (size_t i = 1; f->waiting && i < f->by_id.n; i++) {
        struct quota *q = f->by_id.items[i];
        if (!q || q->sort != QUOTA_PLAIN || q->parent || q->tree != parent->tree ||
            !streq(q->parent_name, parent->name) || is_below(parent, q))
            continue;
        f->waiting--;
        quota_attach(f, q, parent);
    }
}

static int put_special(struct quota_forest *f, struct quota *q, const struct quota_state *s)
{
    text_set(&q->ns, s->ns);
    if (q->sort == QUOTA_ROOT)
        return 0; /* what it has is computed */
    struct quota *parent = q->parent;
    quota_detach(f, q);
    quota_apply(f, q, s);
    q->lends = true;
    quota_attach(f, q, parent);
    q->tree->total_dirty = true;
    return 0;
}

static struct quota *put_new(struct quota_forest *f, const struct quota_state *s,
                             struct quota_tree *t, struct quota *parent)
{
    struct quota *q = quota_new(f, s->name, t, QUOTA_PLAIN);

    text_set(&q->ns, s->ns);
    text_set(&q->parent_name, s->parent);
    map_putz(&f->by_name, q->name, q);
    quota_apply(f, q, s);
    if (parent)
        quota_attach(f, q, parent);
    else
        f->waiting++;
    mapping_mark(f, q);
    mapping_claim(f, q, s->namespaces);
    return q;
}

static void put_known(struct quota_forest *f, struct quota *q, const struct quota_state *s,
                      struct quota *parent)
{
    if (q->parent)
        quota_detach(f, q);
    else
        f->waiting--;
    if (!streq(q->ns, s->ns)) {
        text_set(&q->ns, s->ns);
        mapping_mark(f, q);
    }
    text_set(&q->parent_name, s->parent);
    quota_apply(f, q, s);
    if (parent)
        quota_attach(f, q, parent);
    else
        f->waiting++;
    mapping_claim(f, q, s->namespaces);
}

int forest_put(struct quota_forest *f, const struct elasticquota *object, struct kerr *err)
{
    struct quota *q = map_getz(&f->by_name, object->obj.meta.name), *parent = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct quota_state s;

    const reslist *const named[] = { &s.max, &s.min, &s.weight, NULL };
    if (state_read(f, object, a, &s, err) < 0 || add_columns(f, named, err) < 0)
        return err->code;
    if (q && q->sort != QUOTA_PLAIN)
        return put_special(f, q, &s);
    if (q && !streq(q->tree->id, s.tree))
        return kerr_set(err, -EINVAL, "tree id changed from \"%.64s\" to \"%.64s\"", q->tree->id,
                        s.tree);
    struct quota_tree *t = tree_find(f, s.tree);
    if (!t)
        t = tree_new(f, s.tree);
    int r = find_parent(f, &s, t, q, &parent, err);
    if (!q)
        q = put_new(f, &s, t, parent);
    else if (parent || !q->parent)
        put_known(f, q, &s, parent);
    adopt(f, q);
    return r;
}

void forest_set_special(struct quota_forest *f, const char *name, const reslist *max)
{
    struct quota *q = map_getz(&f->by_name, name);
    struct quota_state s = { .name = name, .ns = "", .max = *max, .weight = *max };
    const reslist *const named[] = { max, NULL };
    struct kerr err;

    assert(q && q->sort == QUOTA_SPECIAL);
    if (add_columns(f, named, &err) < 0) {
        KLOG_W("Max of a built-in quota cannot be used", KV_S("quota", name),
               KV_S("why", err.text));
        return;
    }
    put_special(f, q, &s);
}

static void orphan_children(struct quota_forest *f, struct quota *q)
{
    while (q->nchildren) {
        quota_detach(f, q->children[q->nchildren - 1]);
        f->waiting++;
    }
}

void forest_remove(struct quota_forest *f, const char *name)
{
    struct quota *q = map_getz(&f->by_name, name);

    if (!q || q->sort != QUOTA_PLAIN)
        return;
    mapping_mark(f, q);
    orphan_children(f, q);
    map_removez(&f->by_name, name);
    mapping_claim(f, q, (kstrlist){ 0 });
    mapping_evacuate(f, q);
    if (q->parent)
        quota_detach(f, q);
    else
        f->waiting--;
    if (q->head)
        set_head(f, q, &(struct quota_state){ 0 });
    struct quota_tree *t = q->tree;
    t->nquotas--;
    quota_free(f, q);
    tree_drop_if_empty(f, t);
}

void forest_add_total(struct quota_forest *f, const reslist *allocatable, int sign)
{
    totals_add(&f->nodes, allocatable, sign);
    f->tree->total_dirty = true;
}
