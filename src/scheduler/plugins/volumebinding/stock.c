/* stock.c - volumes that no claim has: which would do for a claim on a node?
 *
 * Kept up to date with every volume that comes, changes or goes, and with those that pods on their
 * way will have; so an attempt costs what it looks at, however many volumes there are. Volumes that
 * differ in size, place and labels only are a group. In it they stand in order of size: by the
 * value of the label that says where they are, which for local volumes is the node, or all together
 * when no such value leads to them.
 */
#include "scheduler/plugins/volumebinding/stock.h"

#include "api/node.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "scheduler/model/labels.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/volumebinding/internal.h"

struct item { /* what decides is at hand: thousands are looked at in an attempt */
    int64_t value;
    struct qty size;
    const struct pv *volume;
    const struct nodesel *terms; /* to be asked too; NULL: where it stands says all */
};
struct items vec_of(struct item);
struct place {
    struct items items;
    char value[];
};
struct axis { /* a label */
    char *key;
    struct map places;
    const struct ks_label *label; /* for one attempt */
    struct place **by_id;         /* [id of the value], NULL: none; as of */
    uint64_t serial;
    uint32_t n, cap;
    bool stale; /* there is a place that by_id does not know */
};
struct volgroup {
    struct kobj *like; /* one of them */
    struct vec_of(struct axis) axes;
    struct items wide;
    size_t n; /* volumes */
};
struct known { /* a volume of the object cache */
    struct kobj *obj;
    struct volgroup *group; /* NULL: it is not free */
    struct item item;
    struct arena *arena; /* of item.terms; NULL: none */
    struct prebound *prebound;
};
struct prebound { /* to a claim */
    struct vec_of(struct known *) volumes;
    char key[];
};
struct volstock {
    const struct holds *holds;
    struct objects_listener listener;
    struct map volumes;  /* name -> struct known */
    struct map prebound; /* "namespace/name" of the claim -> struct prebound */
    struct vec_of(struct volgroup *) groups;
};

/* ---- what volumes are ------------------------------------------------------------------------ */

static bool same_mode(const char *a, const char *b)
{
    return streq(str_empty(a) ? "Filesystem" : a, str_empty(b) ? "Filesystem" : b);
}

static bool has_access(const struct pv *v, const kstrlist *modes)
{
    for (uint32_t i = 0; i < modes->n; i++)
        if (!access_has(&v->spec.access_modes, modes->items[i]))
            return false;
    return true;
}

static bool is_kind(const struct pv *v, const char *class, const char *mode, const char *attributes)
{
    return streq(pv_class(v), class) && same_mode(v->spec.volume_mode, mode) &&
           streq(str_or(v->spec.volume_attributes_class_name, ""), str_or(attributes, ""));
}

static bool suits(const struct pv *v, const struct pvc *c)
{
    return is_kind(v, pvc_class(c), c->spec.volume_mode, c->spec.volume_attributes_class_name);
}

static bool same_kind(const struct pv *a, const struct pv *b)
{
    return is_kind(a, pv_class(b), b->spec.volume_mode, b->spec.volume_attributes_class_name) &&
           has_access(a, &b->spec.access_modes) && has_access(b, &a->spec.access_modes);
}

static struct qty capacity_of(const struct pv *v)
{
    return reslist_get(&v->spec.capacity, "storage");
}

static bool is_free(const struct volstock *s, const struct pv *v)
{
    return !v->spec.claim_ref && !v->obj.meta.deleted && v->phase && streq(v->phase, "Available") &&
           !holds_volume(s->holds, v);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_size(const struct item *a, int64_t value, struct qty size)
{
    if (a->value != value)
        return a->value < value ? -1 : 1;
    return memcmp(&a->size, &size, sizeof size) ? qty_cmp(a->size, size) : 0;
}

static int compare(const struct item *a, const struct item *b)
{
    int order = compare_size(a, b->value, b->size);
    return order ? order : strcmp(a->volume->obj.meta.name, b->volume->obj.meta.name);
}

static size_t position(const struct items *l, const struct item *x)
{
    size_t lo = 0, hi = l->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(&l->items[mid], x) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void axis_fini(struct axis *x)
{
    map_foreach(&x->places, e) {
        struct place *p = e->value;
        vec_fini(&p->items);
        free(p);
    }
    map_fini(&x->places);
    free(x->by_id);
    free(x->key);
}

static void group_free(struct volgroup *g)
{
    vec_foreach(&g->axes, i)
        axis_fini(&g->axes.items[i]);
    vec_fini(&g->axes);
    vec_fini(&g->wide);
    kobj_unref(g->like);
    free(g);
}

static struct volgroup *group_get(struct volstock *s, struct kobj *volume)
{
    vec_foreach(&s->groups, i)
        if (same_kind(pv_of(s->groups.items[i]->like), pv_of(volume)))
            return s->groups.items[i];
    struct volgroup *g = xnew0(struct volgroup);
    g->like = kobj_ref(volume);
    vec_push(&s->groups, g);
    return g;
}

static struct axis *axis_get(struct volgroup *g, const char *key)
{
    vec_foreach(&g->axes, i)
        if (streq(g->axes.items[i].key, key))
            return &g->axes.items[i];
    vec_push(&g->axes, ((struct axis){ .key = xstrdup(key), .stale = true }));
    return &vec_last(&g->axes);
}

static struct place *place_get(struct axis *x, const char *value)
{
    struct place *p = map_getz(&x->places, value);
    size_t len = strlen(value);

    if (p)
        return p;
    p = xcalloc(1, sizeof *p + len + 1);
    memcpy(p->value, value, len + 1);
    map_put(&x->places, p->value, len, p);
    x->stale = true;
    return p;
}

/* The label that leads to the volume: the first of a term that is a list of "is one of these". */
static const struct selreq *way_to(const struct pv *v)
{
    const struct node_selector *s = v->spec.node_affinity;
    const selreqlist *l = s && s->terms.n == 1 ? &s->terms.items[0].match_expressions : NULL;

    if (!l || l->n == 0 || s->terms.items[0].match_fields.n > 0 || l->items[0].op != SELOP_IN)
        return NULL;
    return &l->items[0];
}

static bool is_repeated(const struct selreq *r, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (streq(r->values.items[k], r->values.items[i]))
            return true;
    return false;
}

static void put_in(struct volstock *s, struct known *k)
{
    const struct pv *v = pv_of(k->obj);
    const struct selreq *way = way_to(v);
    struct volgroup *g = k->group = group_get(s, k->obj);

    if (v->spec.node_affinity &&
        !(way && v->spec.node_affinity->terms.items[0].match_expressions.n == 1)) {
        k->arena = arena_new();
        k->item.terms = nodesel_from(v->spec.node_affinity, k->arena);
    }
    g->n++;
    if (!way)
        vec_insert(&g->wide, position(&g->wide, &k->item), k->item);
    for (uint32_t i = 0; way && i < way->values.n; i++) {
        if (is_repeated(way, i))
            continue;
        struct items *l = &place_get(axis_get(g, way->key), way->values.items[i])->items;
        vec_insert(l, position(l, &k->item), k->item);
    }
}

static void take_out(struct known *k)
{
    const struct selreq *way = way_to(pv_of(k->obj));
    struct volgroup *g = take(k->group);

    g->n--;
    if (!way)
        vec_remove(&g->wide, position(&g->wide, &k->item));
    for (uint32_t i = 0; way && i < way->values.n; i++) {
        if (is_repeated(way, i))
            continue;
        struct items *l = &place_get(axis_get(g, way->key), way->values.items[i])->items;
        vec_remove(l, position(l, &k->item));
    }
    k->arena = arena_free(k->arena);
    k->item.terms = NULL;
}

static void review(struct volstock *s, struct known *k)
{
    bool is = is_free(s, pv_of(k->obj));

    if (is && !k->group)
        put_in(s, k);
    else if (!is && k->group)
        take_out(k);
}

/* ---- prebound -------------------------------------------------------------------------------- */

static char *prebound_key(const char *ns, const char *name)
{
    return xasprintf("%s/%s", str_or(ns, ""), str_or(name, ""));
}

static void prebound_add(struct volstock *s, struct known *k)
{
    const struct object_ref *r = pv_of(k->obj)->spec.claim_ref;

    if (!r)
        return;
    CLEANUP(mem_free) char *key = prebound_key(r->ns, r->name);
    struct prebound *p = map_getz(&s->prebound, key);
    if (!p) {
        p = xcalloc(1, sizeof *p + strlen(key) + 1);
        memcpy(p->key, key, strlen(key) + 1);
        map_putz(&s->prebound, p->key, p);
    }
    vec_push(&p->volumes, k);
    k->prebound = p;
}

static void prebound_remove(struct volstock *s, struct known *k)
{
    struct prebound *p = take(k->prebound);
    size_t i = 0;

    if (!p)
        return;
    while (p->volumes.items[i] != k)
        i++;
    vec_swap_remove(&p->volumes, i);
    if (p->volumes.n)
        return;
    map_removez(&s->prebound, p->key);
    vec_fini(&p->volumes);
    free(p);
}

/* ---- news ------------------------------------------------------------------------------------ */

static void known_free(struct volstock *s, struct known *k)
{
    if (k->group)
        take_out(k);
    prebound_remove(s, k);
    kobj_unref(k->obj);
    free(k);
}

static void learn(struct volstock *s, struct kobj *o)
{
    struct known *k = xnew0(struct known);
    struct qty size = capacity_of(pv_of(o));

    k->obj = kobj_ref(o);
    k->item = (struct item){ qty_value(size), size, pv_of(o), NULL };
    map_putz(&s->volumes, o->meta.name, k);
    prebound_add(s, k);
    review(s, k);
}

static void on_news(void *arg, struct kobj *before, struct kobj *now)
{
    struct volstock *s = arg;
    struct known *k = before ? map_getz(&s->volumes, before->meta.name) : NULL;

    if (k) {
        map_removez(&s->volumes, before->meta.name);
        known_free(s, k);
    }
    if (now)
        learn(s, now);
}

void volstock_review(struct volstock *s, const struct kobj *volume)
{
    struct known *k = map_getz(&s->volumes, volume->meta.name);
    if (k)
        review(s, k);
}

struct volstock *volstock_new(const struct holds *h)
{
    struct volstock *s = xnew0(struct volstock);
    struct kobj *o;

    s->holds = h;
    s->listener = (struct objects_listener){ .kind = &kind_pv, .fn = on_news, .arg = s };
    if (!h->objects)
        return s;
    for (size_t it = 0; (o = objects_next(h->objects, &kind_pv, &it));)
        learn(s, o);
    objects_listen(h->objects, &s->listener);
    return s;
}

struct volstock *volstock_free(struct volstock *s)
{
    if (!s)
        return NULL;
    if (s->holds->objects)
        objects_unlisten(s->holds->objects, &s->listener);
    map_foreach(&s->volumes, e)
        known_free(s, e->value);
    map_fini(&s->volumes);
    map_fini(&s->prebound);
    vec_foreach(&s->groups, i)
        group_free(s->groups.items[i]);
    vec_fini(&s->groups);
    free(s);
    return NULL;
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool could_have(const struct pv *v, const struct pvc *c)
{
    return !v->obj.meta.deleted && suits(v, c) &&
           qty_cmp(capacity_of(v), reslist_get(&c->spec.requests, "storage")) >= 0;
}

/* A pod on its way will bind it to this very claim. */
static const struct pv *assumed_for(const struct volstock *s, const struct pvc *c)
{
    const struct hold *h;

    for (size_t it = 0; (h = uidmap_next(&s->holds->volumes, &it));) {
        if (!kuid_equal(h->claim->meta.uid, c->obj.meta.uid))
            continue;
        const struct known *k = map_getz(&s->volumes, h->obj->meta.name);
        if (k && kuid_equal(k->obj->meta.uid, h->uid) && could_have(pv_of(k->obj), c))
            return pv_of(k->obj);
    }
    return NULL;
}

const struct pv *volstock_prebound(const struct volstock *s, const struct pvc *c)
{
    CLEANUP(mem_free) char *key = prebound_key(c->obj.meta.ns, c->obj.meta.name);
    const struct prebound *p = map_getz(&s->prebound, key);
    const struct pv *held = assumed_for(s, c);
    const struct known *best = NULL;

    for (size_t i = 0; !held && p && i < p->volumes.n; i++) {
        const struct known *k = p->volumes.items[i];
        const struct pv *v = pv_of(k->obj);
        if (!holds_volume(s->holds, v) && pv_is_bound_to(v, c) && could_have(v, c) &&
            (!best || compare(&k->item, &best->item) < 0))
            best = k;
    }
    return held ? held : best ? pv_of(best->obj) : NULL;
}

/* Places that nobody stands in any more go. */
static void drop_empty(struct axis *x)
{
    struct map all = x->places;

    x->places = (struct map){ 0 };
    map_foreach(&all, e) {
        struct place *p = e->value;
        if (p->items.n) {
            map_putz(&x->places, p->value, p);
        } else {
            vec_fini(&p->items);
            free(p);
        }
    }
    map_fini(&all);
}

/* Values of the label lead to their places: those that are new since the last time, or all. */
static void axis_refresh(struct axis *x, const struct ks_nodes *nodes)
{
    const struct ks_label *l = x->label = ks_label(nodes, x->key);

    if (x->stale || x->serial != l->serial) {
        drop_empty(x);
        x->n = 0;
    }
    if (l->n > x->cap) {
        x->cap = l->n;
        x->by_id = xreallocarray(x->by_id, x->cap, sizeof *x->by_id);
    }
    for (; x->n < l->n; x->n++)
        x->by_id[x->n] = x->n ? map_getz(&x->places, l->value[x->n]) : NULL;
    x->serial = l->serial;
    x->stale = false;
}

static const struct place *place_at(const struct axis *x, uint32_t row)
{
    return x->by_id[x->label->id[row]];
}

struct volchoice volstock_for(struct volstock *s, const struct pvc *c, const struct labelsel *sel,
                              const struct ks_nodes *nodes, struct arena *a)
{
    struct qty want = reslist_get(&c->spec.requests, "storage");
    struct volchoice r = { .want = want, .value = qty_value(want), .selector = sel };

    for (size_t i = s->groups.n; i-- > 0;)
        if (s->groups.items[i]->n == 0) {
            group_free(s->groups.items[i]);
            vec_swap_remove(&s->groups, i);
        }
    r.groups = arena_newn0(a, s->groups.n, struct volgroup *);
    vec_foreach(&s->groups, i) {
        struct volgroup *g = s->groups.items[i];
        if (!suits(pv_of(g->like), c) || !has_access(pv_of(g->like), &c->spec.access_modes))
            continue;
        r.groups[r.n++] = g;
        vec_foreach(&g->axes, k)
            axis_refresh(&g->axes.items[k], nodes);
    }
    return r;
}

static bool is_one_of(const struct pv *v, const struct pv *const *taken, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (taken[i] == v)
            return true;
    return false;
}

static size_t first_big_enough(const struct items *l, const struct volchoice *c)
{
    size_t lo = 0, hi = l->n;

    if (hi == 0 || compare_size(&l->items[0], c->value, c->want) >= 0)
        return 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_size(&l->items[mid], c->value, c->want) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The first that will do, unless the best so far goes before it. */
static const struct item *better(const struct items *l, const struct volchoice *c,
                                 const struct node *node, const struct pv *const *taken, uint32_t n,
                                 const struct item *best)
{
    for (size_t i = first_big_enough(l, c); i < l->n; i++) {
        const struct item *x = &l->items[i];
        if (best && compare(best, x) < 0)
            return best;
        if ((!x->terms || nodesel_match(x->terms, &node->obj.meta.labels, "") == 1) &&
            (!c->selector || labelsel_matches(c->selector, &x->volume->obj.meta.labels)) &&
            !is_one_of(x->volume, taken, n))
            return x;
    }
    return best;
}

bool volchoice_any(const struct volchoice *c, const struct ks_nodes *nodes, uint32_t row)
{
    const struct volgroup *g = c->n == 1 ? c->groups[0] : NULL;

    if (g && g->axes.n == 1 && g->wide.n == 0) { /* local volumes of one class */
        const struct place *p = place_at(&g->axes.items[0], row);
        if (!p || p->items.n == 0 || compare_size(&vec_last(&p->items), c->value, c->want) < 0)
            return false;
        if (!vec_last(&p->items).terms && !c->selector)
            return true;
    }
    return volchoice_first(c, nodes, row, NULL, 0);
}

const struct pv *volchoice_first(const struct volchoice *c, const struct ks_nodes *nodes,
                                 uint32_t row, const struct pv *const *taken, uint32_t n)
{
    const struct item *best = NULL;

    for (uint32_t i = 0; i < c->n; i++) {
        const struct volgroup *g = c->groups[i];
        vec_foreach(&g->axes, k) {
            const struct place *p = place_at(&g->axes.items[k], row);
            if (p)
                best = better(&p->items, c, nodes->node[row], taken, n, best);
        }
        best = better(&g->wide, c, nodes->node[row], taken, n, best);
    }
    return best ? best->volume : NULL;
}
