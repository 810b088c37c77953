/* annotations.c - what the annotations of a node say about thresholds and capacity, read once for
 * each text (sched-loadaware 3.2, 5).
 *
 * Node objects change with every status that a kubelet writes, annotations hardly ever. A text that
 * cannot be read is ignored, as Koordinator does, and logged when it is first seen.
 */
#include "api/node.h"
#include "api/protocol/loadaware.h"
#include "api/protocol/node.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/num.h"
#include "scheduler/plugins/loadawarescheduling/loads.h"

struct load_own {
    char *thresholds_text, *raw_text; /* that were read; NULL: absent */
    struct load_thresholds thresholds;
    bool amplified; /* raw counts, where it is not -1 */
    int64_t raw[LOADS_RESOURCES_MAX];
};

void load_own_free(struct load_own *own)
{
    if (!own)
        return;
    free(own->thresholds_text);
    free(own->raw_text);
    free(own);
}

static void complain(const struct node *n, const char *key, const struct kerr *err)
{
    KLOG_W("Ignoring an annotation that cannot be read", KV_S("node", n->obj.meta.name),
           KV_S("annotation", key), KV_S("err", err->text));
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* A group that says something replaces all of the other. */
static bool replace(const struct loads *l, const named_i64list *from, int64_t *out)
{
    int64_t v[LOADS_RESOURCES_MAX] = { 0 };

    for (uint32_t r = 0; r < l->n; r++) {
        const int64_t *own = named_i64_find(from, l->names[r]);
        v[r] = own ? *own : 0;
    }
    if (load_vector_is_empty(l, v))
        return false;
    memcpy(out, v, l->n * sizeof *v);
    return true;
}

static void read_thresholds(const struct loads *l, const struct node *n,
                            struct load_thresholds *out)
{
    struct usage_thresholds own;
    struct kerr err = { 0 };

    *out = l->thresholds;
    int r = usage_thresholds_read(&n->obj.meta.annotations, l->scratch, &own, &err);
    if (r < 0)
        complain(n, ANNO_USAGE_THRESHOLDS, &err);
    if (r != 1)
        return;
    replace(l, &own.usage, out->usage);
    replace(l, &own.prod_usage, out->prod);
    if (own.aggregated && own.aggregated->type != AGGREGATION_NONE &&
        replace(l, &own.aggregated->usage_thresholds, out->aggregated)) {
        out->type = aggregation_type_names[own.aggregated->type];
        out->duration = own.aggregated->duration_ns;
    }
}

/* ---- capacity -------------------------------------------------------------------------------- */

static void read_raw(const struct loads *l, const struct node *n, struct load_own *own)
{
    struct reslist_value raw = { 0 };
    struct kerr err = { 0 };

    int r = raw_allocatable_read(&n->obj.meta.annotations, l->scratch, &raw, &err);
    if (r < 0)
        complain(n, ANNO_RAW_ALLOCATABLE, &err);
    own->amplified = r == 1;
    for (uint32_t i = 0; own->amplified && i < l->n; i++) {
        const struct qty *q = reslist_find(&raw.v, l->names[i]);
        int64_t v = q ? MAX(resource_count(l->names[i], *q), 0) : -1;
        own->raw[i] = MIN(v, LOADS_AMOUNT_MAX);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

/* true: it is another one than was read. */
static bool keep_text(char **kept, const char *text)
{
    if (text ? *kept && streq(*kept, text) : !*kept)
        return false;
    free(*kept);
    *kept = text ? xstrdup(text) : NULL;
    return true;
}

/* NULL: the node says nothing of its own. */
static struct load_own *own_of(const struct loads *l, struct load_node *n, const struct node *node)
{
    const kstrmap *annotations = &node->obj.meta.annotations;
    const char *thresholds = kstrmap_get(annotations, ANNO_USAGE_THRESHOLDS);
    const char *raw = kstrmap_get(annotations, ANNO_RAW_ALLOCATABLE);

    if (!thresholds && !raw) {
        load_own_free(take(n->own));
        return NULL;
    }
    arena_reset(l->scratch);
    if (!n->own) {
        n->own = xnew0(struct load_own);
        n->own->thresholds = l->thresholds;
    }
    if (keep_text(&n->own->thresholds_text, thresholds))
        read_thresholds(l, node, &n->own->thresholds);
    if (keep_text(&n->own->raw_text, raw))
        read_raw(l, node, n->own);
    return n->own;
}

const struct load_thresholds *load_thresholds_of(const struct loads *l, struct load_node *n,
                                                 const struct node *node)
{
    const struct load_own *own = own_of(l, n, node);

    return own ? &own->thresholds : &l->thresholds;
}

void load_capacity_of(const struct loads *l, struct load_node *n, const struct node *node,
                      int64_t *out)
{
    const struct load_own *own = own_of(l, n, node);

    load_vector_of(l, &node->status.allocatable, out);
    for (uint32_t r = 0; own && own->amplified && r < l->n; r++)
        if (own->raw[r] >= 0)
            out[r] = own->raw[r];
}
