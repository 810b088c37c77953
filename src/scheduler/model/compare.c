/* compare.c - does a new state of an object say anything new? */
#include "scheduler/model/compare.h"

#include "api/node.h"
#include "api/toleration.h"

/* Names of images are interned: equal ones have one address. */
static bool compare_images(const struct node *a, const struct node *b)
{
    if (a->status.images.n != b->status.images.n)
        return false;
    for (uint32_t i = 0; i < a->status.images.n; i++) {
        const struct node_image *x = &a->status.images.items[i], *y = &b->status.images.items[i];
        if (x->size_bytes != y->size_bytes || x->names.n != y->names.n)
            return false;
        for (uint32_t k = 0; k < x->names.n; k++)
            if (x->names.items[k] != y->names.items[k] &&
                !streq(x->names.items[k], y->names.items[k]))
                return false;
    }
    return true;
}

static bool same_annotation(const struct node *a, const struct node *b, const char *key)
{
    const char *x = kstrmap_get(&a->obj.meta.annotations, key);
    const char *y = kstrmap_get(&b->obj.meta.annotations, key);

    return x == y || (x && y && streq(x, y));
}

bool compare_nodes(const struct node *a, const struct node *b, const char *const *annotations,
                   size_t n)
{
    if (a->spec.unschedulable != b->spec.unschedulable ||
        !kstrmap_equal(&a->obj.meta.labels, &b->obj.meta.labels) ||
        !taints_equal(&a->spec.taints, &b->spec.taints) ||
        !reslist_equal(&a->status.allocatable, &b->status.allocatable) || !compare_images(a, b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!same_annotation(a, b, annotations[i]))
            return false;
    return true;
}

static bool same_meta(const struct objmeta *a, const struct objmeta *b)
{
    bool same = kuid_equal(a->uid, b->uid) && a->deleted == b->deleted &&
                a->owners.n == b->owners.n && kstrmap_equal(&a->labels, &b->labels) &&
                kstrmap_equal(&a->annotations, &b->annotations);

    for (uint32_t i = 0; same && i < a->owners.n; i++)
        same = kj_struct_equal(&owner_ref_schema, &a->owners.items[i], &b->owners.items[i]);
    return same;
}

bool compare_objects(const struct kobj *a, const struct kobj *b, bool status)
{
    const struct kschema *s = a->kind->schema;

    if (a == b)
        return true;
    if (!same_meta(&a->meta, &b->meta))
        return false;
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        const struct kschema one = { .name = s->name, .size = s->size, .nfields = 1, .fields = f };
        if (streq(f->json, "metadata") || (!status && streq(f->json, "status")))
            continue;
        if (!kj_struct_equal(&one, a, b))
            return false;
    }
    return true;
}
