/* share.c - equal blocks are kept once. Structs are compared along their tables, so it does not
 * matter how they lie in memory.
 */
#include "api/share.h"

#include "base/map.h"
#include "json/memo.h"

struct slot;
struct share {
    uint64_t hash; /* the map's key: 8 bytes */
    const struct kschema *schema;
    void *data; /* one block of the schema */
    uint32_t refs, size;
    struct slot *slot; /* where it is remembered; NULL: nowhere */
    bool listed;       /* false: another block with this hash was there first */
};

/* Blocks that came up again, with their recordings. A slot holds no reference. A block of some
 * workload is in one of the WAYS slots of its row; there can be several (pods that wait, pods that
 * run). */
struct slot {
    struct share *share; /* NULL: free */
    uint64_t key;
    struct strbuf rec;
};
enum { ROWS = 64, WAYS = 4 };
struct memo {
    struct slot slots[ROWS][WAYS];
    unsigned turn; /* which slot of a full row goes next */
};

static _Thread_local struct {
    struct map listed; /* hash -> struct share */
    struct memo *memo; /* NULL until one is needed */
    size_t count, bytes;
} all;

/* ---- hash of a struct ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static uint64_t hash_text(uint64_t h, const char *s)
{
    return s ? mix(h, hash_stable(s, strlen(s))) : mix(h, 1);
}

static uint64_t hash_object(const struct kschema *s, const char *in, uint64_t h);

static const void *load_ptr(const char *slot)
{
    const void *p;
    memcpy(&p, slot, sizeof p);
    return p;
}

static uint64_t hash_string(const struct kfield *f, const char *slot, uint64_t h)
{
    const char *s = load_ptr(slot);
    /* Interned strings are equal exactly when their pointers are. */
    return f->flags & KF_INTERN ? mix(h, (uintptr_t)s) : hash_text(h, s);
}

static uint64_t hash_sub(const struct kfield *f, const char *slot, uint64_t h)
{
    if (f->flags & KF_PTR) {
        slot = load_ptr(slot);
        if (!slot)
            return mix(h, 2);
    }
    return hash_object(f->sub, slot, mix(h, 3));
}

/* Types that are not here hash to nothing: equality decides in the end. */
static uint64_t hash_value(const struct kfield *f, unsigned type, const char *slot, uint64_t h)
{
    switch (type) {
    case KF_STR:
    case KF_OPT_STR: return hash_string(f, slot, h);
    case KF_RAW: return hash_text(h, load_ptr(slot));
    case KF_ENUM: return mix(h, *(const uint8_t *)slot);
    case KF_BOOL: return mix(h, *(const bool *)slot);
    case KF_I32: return mix(h, (uint64_t) * (const int32_t *)slot);
    case KF_OPT_I32: return mix(h, (uint64_t)((const struct opt_i32 *)slot)->v);
    case KF_I64:
    case KF_TIME: return mix(h, (uint64_t) * (const int64_t *)slot);
    case KF_QTY: return mix(h, (uint64_t)qty_milli(*(const struct qty *)slot));
    case KF_UID: return mix(h, kuid_hash(*(const struct kuid *)slot));
    case KF_OBJ: return hash_sub(f, slot, h);
    default: return h;
    }
}

static uint64_t hash_list(const struct kfield *f, const struct klist *l, uint64_t h)
{
    h = mix(h, l->n);
    for (uint32_t i = 0; i < l->n; i++) {
        const char *item = (const char *)l->items + (size_t)i * f->elem_size;
        if (f->type == KF_MAP) { /* struct { const char *key; T value; } */
            h = hash_text(h, load_ptr(item));
            item += sizeof(const char *);
        }
        h = hash_value(f, f->elem, item, h);
    }
    return h;
}

static uint64_t hash_object(const struct kschema *s, const char *in, uint64_t h)
{
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];
        const char *slot = in + f->off;
        if (f->type == KF_LIST || f->type == KF_MAP)
            h = hash_list(f, (const struct klist *)slot, h);
        else
            h = hash_value(f, f->type, slot, h);
    }
    return h;
}

/* ---- recognising ----------------------------------------------------------------------------- */

static void forget(struct share *s)
{
    if (!s->slot)
        return;
    all.bytes -= s->slot->rec.cap;
    strbuf_fini(&s->slot->rec);
    s->slot->share = NULL;
    s->slot = NULL;
}

/* 0 when the document gives no hint. */
static uint64_t memo_key(const struct sharepart *part, const struct kj_val *in)
{
    struct str hint = part->hint ? part->hint(in) : (struct str){ NULL, 0 };
    return hint.n ? mix((uintptr_t)part, hash_stable(hint.p, hint.n)) | 1 : 0;
}

static struct slot *memo_row(uint64_t key)
{
    if (!all.memo)
        all.memo = xnew0(struct memo);
    return all.memo->slots[(key >> 32) % ROWS];
}

static struct share *recognise(uint64_t key, const struct kj_val *in)
{
    struct slot *row = memo_row(key);
    for (int i = 0; i < WAYS; i++)
        if (row[i].share && row[i].key == key && kj_memo_matches(&row[i].rec, in))
            return row[i].share;
    return NULL;
}

/* Only blocks that come up again: most that are alone stay alone. */
static void remember(uint64_t key, struct share *s, const struct sharepart *part,
                     const struct kj_val *in)
{
    struct slot *row = memo_row(key), *at = NULL;
    for (int i = 0; i < WAYS && !at; i++)
        if (!row[i].share)
            at = &row[i];
    if (!at)
        at = &row[all.memo->turn++ % WAYS];
    if (at->share)
        forget(at->share);
    forget(s);
    if (!kj_memo_record(part->schema, part->drops, in, &at->rec))
        return;
    at->share = s;
    at->key = key;
    s->slot = at;
    all.bytes += at->rec.cap;
}

/* ---- the table ------------------------------------------------------------------------------- */

static struct share *find(const struct kschema *schema, uint64_t hash, const void *data,
                          bool *ret_taken)
{
    struct share *s = map_get(&all.listed, (const char *)&hash, sizeof hash);
    *ret_taken = s != NULL;
    return s && s->schema == schema && kj_struct_equal(schema, s->data, data) ? s : NULL;
}

static struct share *add(const struct kschema *schema, uint64_t hash, void *data, size_t size,
                         bool taken)
{
    struct share *s = xnew(struct share);
    *s = (struct share){ .hash = hash,
                         .schema = schema,
                         .data = data,
                         .refs = 1,
                         .size = (uint32_t)size,
                         .listed = !taken };
    if (s->listed)
        map_put(&all.listed, (const char *)&s->hash, sizeof s->hash, s);
    all.count++;
    all.bytes += sizeof *s + size;
    return s;
}

int share_decode(const struct sharepart *part, const struct kj_val *in, struct kj_scratch *scratch,
                 struct share **ret, struct kerr *err)
{
    uint64_t key = memo_key(part, in);
    struct share *s = key ? recognise(key, in) : NULL;
    void *data;
    size_t size;
    bool taken;

    if (s) {
        s->refs++;
        *ret = s;
        return 0;
    }
    int r = kj_decode_block(part->schema, in, scratch, &data, &size, err);
    if (r < 0)
        return r;
    if (part->tidy)
        part->tidy(data);
    uint64_t hash = hash_object(part->schema, data, (uintptr_t)part->schema);
    s = find(part->schema, hash, data, &taken);
    if (s) {
        kj_block_free(part->schema, data);
        s->refs++;
        if (key)
            remember(key, s, part, in);
    } else {
        s = add(part->schema, hash, data, size, taken);
    }
    *ret = s;
    return 0;
}

const void *share_data(const struct share *s)
{
    return s->data;
}

struct share *share_unref(struct share *s)
{
    if (!s)
        return NULL;
    assert(s->refs > 0);
    if (--s->refs > 0)
        return NULL;
    forget(s);
    if (s->listed)
        map_remove(&all.listed, (const char *)&s->hash, sizeof s->hash);
    all.count--;
    all.bytes -= sizeof *s + s->size;
    kj_block_free(s->schema, s->data);
    free(s);
    if (all.count == 0) {
        map_fini(&all.listed);
        all.memo = mem_free(all.memo);
    }
    return NULL;
}

size_t share_count(void)
{
    return all.count;
}

size_t share_bytes(void)
{
    size_t map_slots = all.listed.slots ? (size_t)all.listed.mask + 1 : 0;
    return all.bytes + map_slots * sizeof(struct map_entry) + (all.memo ? sizeof *all.memo : 0);
}
