/* kobj.c - metadata tables, and the life of an object. */
#include "api/kobj.h"

#include "api/meta_fields.h"
#include "api/share.h"

/* ---- metadata -------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct owner_ref, member, json, type, __VA_ARGS__)
static const struct kfield owner_ref_fields[] = {
    F(api_version, "apiVersion", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(kind, "kind", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(name, "name", KF_STR, .flags = KF_REQUIRED | KF_INTERN),
    F(uid, "uid", KF_UID, .flags = KF_REQUIRED),
    F(controller, "controller", KF_BOOL, .flags = KF_OMITEMPTY),
    F(block_owner_deletion, "blockOwnerDeletion", KF_BOOL, .flags = KF_OMITEMPTY),
};
#undef F
const struct kschema owner_ref_schema =
    KSCHEMA("OwnerReference", struct owner_ref, owner_ref_fields);

/* Annotations that are bulky, often different on every object, and read by none of us. */
static const char *const dropped_annotations[] = {
    "kubectl.kubernetes.io/last-applied-configuration",
    "cni.projectcalico.org/containerID",
    "cni.projectcalico.org/podIP",
    "cni.projectcalico.org/podIPs",
    "k8s.v1.cni.cncf.io/network-status",
    "k8s.v1.cni.cncf.io/networks-status",
    "kubernetes.io/config.seen",
    NULL,
};
const struct kmeta annotations_meta = { .drop_keys = dropped_annotations };

static const struct kfield objmeta_fields[] = { OBJMETA_OWN_FIELDS,
                                                OBJMETA_SHARED_FIELDS(struct objmeta) };
const struct kschema objmeta_schema = KSCHEMA("ObjectMeta", struct objmeta, objmeta_fields);
static const struct kfield kobj_fields[] = {
    KF(struct kobj, meta, "metadata", KF_OBJ, .flags = KF_REQUIRED, .sub = &objmeta_schema),
};
const struct kschema kobj_schema = KSCHEMA("Object", struct kobj, kobj_fields);

const char *kstrmap_get(const kstrmap *m, const char *key)
{
    size_t lo = 0, hi = m->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(m->items[mid].key, key);
        if (c == 0)
            return m->items[mid].value;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* Equal objects mostly share their labels, or at least the interned texts. */
bool kstrmap_equal(const kstrmap *a, const kstrmap *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; a->items != b->items && i < a->n; i++) {
        const struct kstrpair *x = &a->items[i], *y = &b->items[i];
        if ((x->key != y->key && !streq(x->key, y->key)) ||
            (x->value != y->value && !streq(x->value, y->value)))
            return false;
    }
    return true;
}

size_t kobj_key(const struct kobj *o, char *buf, size_t size)
{
    struct str parts[3] = { str_of(o->meta.ns), STR("/"), str_of(o->meta.name) };
    size_t len = 0;
    for (size_t i = parts[0].n ? 0 : 2; i < 3; i++) {
        size_t room = size > len + 1 ? size - len - 1 : 0, n = MIN(parts[i].n, room);
        if (n)
            memcpy(buf + len, parts[i].p, n);
        len += n;
    }
    if (size)
        buf[len] = '\0';
    return len;
}

const struct owner_ref *kobj_controller(const struct kobj *o)
{
    for (uint32_t i = 0; i < o->meta.owners.n; i++)
        if (o->meta.owners.items[i].controller)
            return &o->meta.owners.items[i];
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The parts that other objects may have too. On failure those decoded so far are released. */
static int decode_shared(const struct kindsplit *split, const struct kj_val *in,
                         struct kj_scratch *scratch, struct share *ret[KINDSPLIT_PARTS],
                         struct kerr *err)
{
    for (size_t i = 0; i < KINDSPLIT_PARTS; i++) {
        int r = share_decode(&split->part[i], in, scratch, &ret[i], err);
        if (r < 0) {
            while (i-- > 0)
                share_unref(ret[i]);
            return r;
        }
    }
    return 0;
}

int kobj_decode(const struct kind *k, const struct kj_val *in, struct kj_scratch *scratch,
                struct kobj **ret, struct kerr *err)
{
    const struct kindsplit *split = kindsplit_of(k);
    const struct kschema *schema = split ? split->own : k->schema;
    struct share *shared[KINDSPLIT_PARTS];
    void *block;
    size_t size;

    int r = kj_decode_block(schema, in, scratch, &block, &size, err);
    if (r < 0)
        return kerr_wrap(err, "%s", k->kind);
    struct kobj *o = block;
    if (split) {
        r = decode_shared(split, in, scratch, shared, err);
        if (r < 0) {
            kj_block_free(schema, block);
            return kerr_wrap(err, "%s", k->kind);
        }
        split->attach(o, shared);
    }
    o->kind = k;
    o->refs = 1;
    o->size = (uint32_t)size;
    *ret = o;
    return 0;
}

struct kobj *kobj_unref(struct kobj *o)
{
    if (!o)
        return NULL;
    assert(o->refs > 0);
    if (--o->refs > 0)
        return NULL;
    const struct kindsplit *split = kindsplit_of(o->kind);
    struct share *shared[KINDSPLIT_PARTS] = { NULL };
    if (split)
        split->detach(o, shared);
    kj_block_free(split ? split->own : o->kind->schema, o);
    for (size_t i = 0; i < KINDSPLIT_PARTS; i++)
        share_unref(shared[i]);
    return NULL;
}
