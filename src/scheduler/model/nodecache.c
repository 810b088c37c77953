/* nodecache.c - nodes, pods on nodes, and assumed pods. The columns themselves: columns.c. */
#include "scheduler/model/nodecache.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/map.h"
#include "scheduler/model/compare.h"
#include "scheduler/model/labels.h"
#include "scheduler/model/nodecache_int.h"
#include "scheduler/model/nodekinds.h"
#include "scheduler/model/rowdata_int.h"

/* An object of a node changed, came or went; perhaps it went to another node. */
static void on_object(void *arg, struct kobj *before, struct kobj *now)
{
    struct nodecache *c = arg;
    const char *from = before ? nodekinds_node(before) : NULL;
    const char *to = now ? nodekinds_node(now) : NULL;

    if (before && now && compare_objects(before, now, true))
        return;
    const struct cnode *was = from ? map_getz(&c->nodes, from) : NULL;
    const struct cnode *is = to ? map_getz(&c->nodes, to) : NULL;
    if (was && was->obj)
        columns_touch(&c->cols, was->row);
    if (is && is->obj && is != was)
        columns_touch(&c->cols, is->row);
}

struct nodecache *nodecache_new(const struct objects *objects)
{
    struct nodecache *c = xnew0(struct nodecache);
    columns_init(&c->cols);
    c->cols.view.of = c;
    c->reading = xnew0(struct reading);
    c->reading->labels = labels_new();
    c->reading->cache = c;
    c->arena = arena_new();
    c->objects = objects;
    c->listener = (struct objects_listener){ .fn = on_object, .arg = c };
    if (objects)
        objects_listen(objects, &c->listener);
    return c;
}

static void node_free(struct cnode *n)
{
    free(n->pods);
    free(n->list.items);
    free(n->name);
    free(n);
}

void cpod_free(struct cpod *p)
{
    requests_fini(&p->requests);
    kobj_unref(p->pod);
    free(p);
}

struct nodecache *nodecache_free(struct nodecache *c)
{
    if (!c)
        return NULL;
    struct cpod *p;
    shares_fini(c);
    for (size_t it = 0; (p = uidmap_next(&c->pods, &it));)
        cpod_free(p);
    uidmap_fini(&c->pods);
    map_foreach(&c->nodes, e) {
        struct cnode *n = e->value;
        kobj_unref(n->obj);
        node_free(n);
    }
    map_fini(&c->nodes);
    overlay_fini(c);
    columns_fini(&c->cols);
    if (c->objects)
        objects_unlisten(c->objects, &c->listener);
    labels_free(c->reading->labels);
    vec_fini(&c->reading->annotations);
    free(c->reading);
    free(c->rows);
    arena_free(c->arena);
    free(c);
    return NULL;
}

const struct ks_nodes *nodecache_nodes(const struct nodecache *c)
{
    return &c->cols.view;
}

const char *nodecache_row_name(const struct nodecache *c, uint32_t row)
{
    assert(row < c->cols.view.n);
    return c->rows[row]->name;
}

uint32_t ks_row_of(const struct ks_nodes *n, const char *node)
{
    const struct cnode *cn = map_getz(&n->of->nodes, node);
    return cn && cn->obj ? cn->row : KS_NO_ROW;
}

const struct ks_label *ks_label(const struct ks_nodes *n, const char *key)
{
    return labels_get(n->of->reading->labels, n, key);
}

void ks_read_annotations(const struct ks_nodes *n, const char *const *keys)
{
    struct reading *r = n->of->reading;

    for (; keys && *keys; keys++) {
        size_t i = 0;
        while (i < r->annotations.n && !streq(r->annotations.items[i], *keys))
            i++;
        if (i == r->annotations.n)
            vec_push(&r->annotations, *keys);
    }
}

void ks_touch_row(const struct ks_nodes *n, const char *node)
{
    uint32_t row = ks_row_of(n, node);

    if (row != KS_NO_ROW)
        columns_touch_pods(&n->of->reading->cache->cols, row);
}

void nodecache_begin(struct nodecache *c)
{
    labels_begin(c->reading->labels);
}

uint64_t nodecache_serial(struct nodecache *c)
{
    return ++c->attempts;
}

/* ---- accounting ------------------------------------------------------------------------------ */

/* Sums of a row from its pods. The usual way is to add and subtract one pod; but next to pods with
 * absurd requests the sums are bounded, and what was cut cannot be subtracted. */
void nodecache_recount(struct nodecache *c, struct cnode *n)
{
    columns_clear_used(&c->cols, n->row);
    for (uint32_t i = 0; i < n->list.n; i++)
        columns_add(&c->cols, n->row, &n->pods[i]->requests, 1);
    overlay_use_again(c, n->row);
}

static void account(struct nodecache *c, struct cnode *n, const struct cpod *p, int sign)
{
    if (!n->obj)
        return;
    uint64_t since = c->cols.view.changes.generation;
    columns_set_pods(&c->cols, n->row, n->list);
    if (n->nhuge || p->huge)
        nodecache_recount(c, n);
    else
        columns_add(&c->cols, n->row, &p->requests, sign);
    rowsets_pod(c, n->row, pod_of(p->pod), sign > 0, since);
}

static struct cnode *node_get(struct nodecache *c, const char *name)
{
    struct cnode *n = map_getz(&c->nodes, name);
    if (n)
        return n;
    n = xnew0(struct cnode);
    n->name = xstrdup(name);
    map_putz(&c->nodes, n->name, n);
    return n;
}

static void node_drop_if_empty(struct nodecache *c, struct cnode *n)
{
    if (n->obj || n->list.n)
        return;
    map_removez(&c->nodes, n->name);
    node_free(n);
}

/* Those with affinity terms come first, so that who looks for them looks at no other. */
static void list_set(struct cnode *n, uint32_t at, struct cpod *p)
{
    n->pods[at] = p;
    n->list.items[at] = pod_of(p->pod);
    p->at = at;
}

/* One more; the last place. */
static uint32_t list_grow(struct cnode *n)
{
    if (n->list.n == n->cap) {
        n->cap = n->cap ? n->cap * 2 : 8;
        n->pods = xreallocarray(n->pods, n->cap, sizeof(struct cpod *));
        n->list.items = xreallocarray(n->list.items, n->cap, sizeof *n->list.items);
    }
    return n->list.n++;
}

static void list_add(struct cnode *n, struct cpod *p)
{
    uint32_t end = list_grow(n);

    if (p->affinity) {
        uint32_t first = n->list.naffinity++;
        if (first < end)
            list_set(n, end, n->pods[first]);
        end = first;
    }
    list_set(n, end, p);
}

static void list_remove(struct cnode *n, struct cpod *p)
{
    uint32_t hole = p->at;

    if (p->affinity) {
        uint32_t last = --n->list.naffinity;
        list_set(n, hole, n->pods[last]);
        hole = last;
    }
    uint32_t end = --n->list.n;
    if (hole < end)
        list_set(n, hole, n->pods[end]);
}

/* Undoes list_remove(): whoever took a place gives it back. Where others came or went meanwhile the
 * place may be another one, but those with terms stay first. */
static void list_insert(struct cnode *n, struct cpod *p, uint32_t at)
{
    uint32_t end = list_grow(n), first = n->list.naffinity;
    at = p->affinity ? MIN(at, first) : MIN(MAX(at, first), end);
    uint32_t hole = p->affinity ? n->list.naffinity++ : at;

    if (hole < end)
        list_set(n, end, n->pods[hole]);
    if (at < hole)
        list_set(n, hole, n->pods[at]);
    list_set(n, at, p);
}

void cnode_attach(struct nodecache *c, struct cpod *p, struct cnode *n)
{
    p->node = n;
    list_add(n, p);
    n->nhuge += p->huge;
    account(c, n, p, 1);
    shares_pod_moved(c, p, true);
}

void cnode_reattach(struct nodecache *c, struct cpod *p, uint32_t at)
{
    list_insert(p->node, p, at);
    p->node->nhuge += p->huge;
    account(c, p->node, p, 1);
    shares_pod_moved(c, p, true);
}

void cnode_detach(struct nodecache *c, struct cpod *p)
{
    struct cnode *n = p->node;

    list_remove(n, p);
    n->nhuge -= p->huge;
    account(c, n, p, -1);
    shares_pod_moved(c, p, false);
    node_drop_if_empty(c, n);
}

/* ---- pods ------------------------------------------------------------------------------------ */

struct cpod *cpod_new(struct nodecache *c, struct kobj *pod, const struct requests *requests)
{
    struct cpod *p = xnew0(struct cpod);
    const struct affinity *has = pod_of(pod)->spec->affinity;
    struct requests own;

    if (!requests) {
        arena_reset(c->arena);
        requests_accounted(pod_of(pod), c->arena, &own);
    }
    p->uid = pod->meta.uid;
    p->pod = kobj_ref(pod);
    p->requests = requests_copy(requests ? requests : &own);
    requests_resolve(&p->requests, &c->cols.view);
    p->huge = requests_are_huge(&p->requests);
    p->affinity = has && (has->pod || has->pod_anti);
    return p;
}

static struct cpod *pod_new(struct nodecache *c, struct kobj *pod, const char *node, bool assumed,
                            const struct requests *given)
{
    struct cpod *p = cpod_new(c, pod, given);
    p->assumed = assumed;
    uidmap_put(&c->pods, p);
    if (c->shares.n)
        shares_pod_new(c, p);
    c->assumed += assumed;
    cnode_attach(c, p, node_get(c, node));
    return p;
}

static void pod_drop(struct nodecache *c, struct cpod *p)
{
    uidmap_remove(&c->pods, p->uid);
    c->assumed -= p->assumed;
    if (!p->away)
        cnode_detach(c, p);
    else if (p->node->obj)
        columns_touch_pods(&c->cols, p->node->row);
    shares_pod_gone(p);
    overlay_forget(c, p);
    cpod_free(p);
}

void nodecache_put_pod(struct nodecache *c, struct kobj *pod)
{
    struct cpod *p = uidmap_get(&c->pods, pod->meta.uid);

    assert(!str_empty(pod_of(pod)->node_name) && overlay_mark(c) == 0);
    if (p)
        pod_drop(c, p); /* the sums may differ now, and so may the node of an assumed one */
    pod_new(c, pod, pod_of(pod)->node_name, false, NULL);
}

bool nodecache_remove_pod(struct nodecache *c, struct kuid uid)
{
    struct cpod *p = uidmap_get(&c->pods, uid);
    if (p)
        pod_drop(c, p);
    return p != NULL;
}

int nodecache_assume(struct nodecache *c, struct kobj *pod, const char *node,
                     const struct requests *requests, struct kerr *err)
{
    if (uidmap_get(&c->pods, pod->meta.uid)) {
        char uid[KUID_TEXT_MAX];
        kuid_format(pod->meta.uid, uid, sizeof uid);
        return kerr_set(err, -EEXIST, "pod %s(%s/%s) is in the cache, so can't be assumed", uid,
                        pod->meta.ns, pod->meta.name);
    }
    pod_new(c, pod, node, true, requests);
    return 0;
}

void nodecache_bound(struct nodecache *c, struct kuid uid, nsec_t confirm_by)
{
    struct cpod *p = uidmap_get(&c->pods, uid);
    if (p && p->assumed)
        p->confirm_by = confirm_by;
}

bool nodecache_forget(struct nodecache *c, struct kuid uid)
{
    struct cpod *p = uidmap_get(&c->pods, uid);
    if (!p || !p->assumed)
        return false;
    pod_drop(c, p);
    return true;
}

enum nodecache_state nodecache_find(const struct nodecache *c, struct kuid uid,
                                    const char **ret_node)
{
    const struct cpod *p = uidmap_get(&c->pods, uid);
    if (!p)
        return NODECACHE_ABSENT;
    if (ret_node)
        *ret_node = p->node->name;
    return p->assumed ? NODECACHE_ASSUMED : NODECACHE_ADDED;
}

struct kobj *nodecache_overdue(struct nodecache *c, nsec_t now, nsec_t again)
{
    struct cpod *p;
    for (size_t it = 0; c->assumed && (p = uidmap_next(&c->pods, &it));) {
        if (p->assumed && p->confirm_by && p->confirm_by <= now) {
            p->confirm_by = again;
            return p->pod;
        }
    }
    return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void row_new(struct nodecache *c, struct cnode *n)
{
    n->row = columns_push(&c->cols);
    if (n->row >= c->rows_cap) {
        c->rows_cap = c->rows_cap ? c->rows_cap * 2 : 64;
        c->rows = xreallocarray(c->rows, c->rows_cap, sizeof(struct cnode *));
    }
    c->rows[n->row] = n;
}

/* Resources nobody had before get columns; the pods that request some of them are found again. */
static void new_columns(struct nodecache *c, const struct node *node)
{
    uint32_t before = c->cols.view.nres;
    struct cpod *p;

    columns_learn(&c->cols, &node->status.allocatable);
    if (c->cols.view.nres == before)
        return;
    for (size_t it = 0; (p = uidmap_next(&c->pods, &it));)
        requests_resolve(&p->requests, &c->cols.view);
    for (uint32_t i = 0; i < c->cols.view.n; i++)
        nodecache_recount(c, c->rows[i]);
}

void nodecache_put_node(struct nodecache *c, struct kobj *node)
{
    struct cnode *n = node_get(c, node->meta.name);
    struct kobj *old = n->obj;

    assert(overlay_mark(c) == 0);
    n->obj = kobj_ref(node);
    if (old && compare_nodes(node_of(old), node_of(node), c->reading->annotations.items,
                             c->reading->annotations.n)) {
        columns_swap_node(&c->cols, n->row, node_of(node));
        kobj_unref(old);
        return;
    }
    new_columns(c, node_of(node));
    if (!old) {
        row_new(c, n);
        columns_set_pods(&c->cols, n->row, n->list);
        nodecache_recount(c, n);
    }
    columns_set_node(&c->cols, n->row, node_of(node));
    kobj_unref(old);
}

void nodecache_remove_node(struct nodecache *c, const char *name)
{
    struct cnode *n = map_getz(&c->nodes, name);

    assert(overlay_mark(c) == 0);
    if (!n || !n->obj)
        return;
    columns_remove(&c->cols, n->row);
    rowsets_remove(c, n->row, c->cols.view.n);
    if (n->row < c->cols.view.n) { /* the last row moved here */
        c->rows[n->row] = c->rows[c->cols.view.n];
        c->rows[n->row]->row = n->row;
    }
    n->obj = kobj_unref(n->obj);
    node_drop_if_empty(c, n);
}

/* ---- looking ----------------------------------------------------------------------------------
 */

struct nodecache_stats nodecache_stats(const struct nodecache *c)
{
    return (struct nodecache_stats){ c->cols.view.n, c->pods.n, c->assumed, c->cols.view.nres };
}

int nodecache_verify(const struct nodecache *c, struct kerr *err)
{
    size_t assumed = 0, listed = 0;
    struct cpod *p;

    if (overlay_mark(c))
        return kerr_set(err, -EBADMSG, "%u changes were not taken back", overlay_mark(c));
    for (size_t it = 0; (p = uidmap_next(&c->pods, &it));)
        assumed += p->assumed;
    if (assumed != c->assumed)
        return kerr_set(err, -EBADMSG, "%zu pods are assumed, counted %zu", assumed, c->assumed);
    map_foreach(&c->nodes, e) {
        const struct cnode *n = e->value;
        listed += n->list.n;
        for (uint32_t i = 0; i < n->list.n; i++)
            if (n->pods[i]->affinity != (i < n->list.naffinity))
                return kerr_set(err, -EBADMSG, "node %s: pods with terms are not the first",
                                n->name);
        if (n->obj && c->rows[n->row] != n)
            return kerr_set(err, -EBADMSG, "node %s does not own its row", n->name);
    }
    if (shares_verify(c, err) < 0)
        return err->code;
    if (listed != c->pods.n)
        return kerr_set(err, -EBADMSG, "%zu pods on nodes, %u known", listed, c->pods.n);
    for (uint32_t row = 0; row < c->cols.view.n; row++) {
        const struct cnode *cn = c->rows[row];
        uint32_t n = cn->list.n;
        struct requests *all = xnewn0(n + 1u, struct requests);
        for (uint32_t i = 0; i < n; i++)
            all[i] = cn->pods[i]->requests;
        int r = columns_check_used(&c->cols, row, all, n, err);
        free(all);
        if (r < 0)
            return kerr_wrap(err, "node %s", c->rows[row]->name);
    }
    return 0;
}
