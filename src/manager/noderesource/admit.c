/* admit.c - amplification of a node's allocatable (manager 8.2).
 *
 * The kubelet reports what the machine has, and everybody else sees more. What the kubelet said is
 * kept in an annotation: a status that leaves allocatable as it is stored was not sent by a kubelet
 * that looked again, and is amplified from the annotation.
 */
#include "manager/noderesource/admit.h"

#include "api/protocol/node.h"
#include "manager/noderesource/amount.h"

static const char *const amplified[] = { RES_CPU, RES_MEMORY };

static bool same_resource(const reslist *x, const reslist *y, const char *name)
{
    const struct qty *a = reslist_find(x, name), *b = reslist_find(y, name);
    return a && b ? qty_cmp(*a, *b) == 0 : a == b;
}

static bool same_allocatable(const struct node *x, const struct node *y)
{
    for (size_t i = 0; i < ARRAY_LEN(amplified); i++)
        if (!same_resource(&x->status.allocatable, &y->status.allocatable, amplified[i]))
            return false;
    return true;
}

/* What the node itself has: of the annotation, or of this status when the annotation is missing or
 * no longer true. */
static int raw_of(const struct node *node, const struct node *old, struct arena *a, reslist *ret,
                  struct node_admission *out, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct reslist_value stored;
    reslist raw = { 0 };

    if (!str_empty(kstrmap_get(&node->obj.meta.annotations, ANNO_RAW_ALLOCATABLE)) && old &&
        same_allocatable(node, old)) {
        if (raw_allocatable_read(&node->obj.meta.annotations, a, &stored, err) < 0)
            return kerr_wrap(err, "annotation %s", ANNO_RAW_ALLOCATABLE);
        *ret = stored.v;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(amplified); i++) {
        const struct qty *q = reslist_find(&node->status.allocatable, amplified[i]);
        if (q)
            raw = reslist_with(&raw, amplified[i], *q, a);
    }
    if (raw.n > 0) {
        reslist_encode(&raw, &text);
        out->raw_allocatable = arena_strndup(a, text.data, text.len);
    }
    *ret = raw;
    return 0;
}

int node_status_admit(const struct node *node, const struct node *old, struct arena *a,
                      struct node_admission *ret, struct kerr *err)
{
    struct node_admission out = { 0 };
    struct amplification_ratios ratios;
    reslist raw;

    if (str_empty(kstrmap_get(&node->obj.meta.annotations, ANNO_AMPLIFICATION_RATIO))) {
        out.remove_raw_allocatable =
            kstrmap_get(&node->obj.meta.annotations, ANNO_RAW_ALLOCATABLE) != NULL;
        *ret = out;
        return 0;
    }
    if (node->status.allocatable.n == 0) {
        *ret = out;
        return 0;
    }
    int r = raw_of(node, old, a, &raw, &out, err);
    if (r < 0)
        return r;
    if (amplification_ratios_read(&node->obj.meta.annotations, a, &ratios, err) < 0)
        return kerr_wrap(err, "annotation %s", ANNO_AMPLIFICATION_RATIO);
    for (size_t i = 0; i < ARRAY_LEN(amplified); i++) {
        double ratio = amplification_of(&ratios, amplified[i]);
        const struct qty *q = reslist_find(&raw, amplified[i]);
        if (q && ratio > 1)
            out.allocatable =
                reslist_with(&out.allocatable, amplified[i], qty_scale_milli(*q, ratio), a);
    }
    *ret = out;
    return 0;
}
