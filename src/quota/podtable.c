/* podtable.c - records of pods, in chunks, found by open addressing with linear probing. */
#include "quota/podtable.h"

static struct kobj *pod_keep(const struct pod *p)
{
    return kobj_ref((struct kobj *)(uintptr_t)&p->obj); /* counts are not part of an object */
}

static size_t record_size(uint32_t columns)
{
    return sizeof(struct podrec) + columns * sizeof(int64_t);
}

void podtable_fini(struct podtable *t)
{
    for (uint32_t i = 1; i <= t->used; i++)
        kobj_unref(podtable_at(t, i)->pod);
    for (uint32_t i = 0; i < t->nchunks; i++)
        free(t->chunks[i]);
    free(t->chunks);
    free(t->slots);
    *t = (struct podtable){ 0 };
}

static struct kuid uid_at(const struct podtable *t, uint32_t id)
{
    return podtable_at(t, id)->pod->meta.uid;
}

/* The slot of the UID, or the free one where it would go. */
static uint32_t slot_of(const struct podtable *t, struct kuid uid)
{
    uint32_t i = (uint32_t)kuid_hash(uid) & t->mask;

    while (t->slots[i] && !kuid_equal(uid_at(t, t->slots[i]), uid))
        i = (i + 1) & t->mask;
    return i;
}

uint32_t podtable_find(const struct podtable *t, struct kuid uid)
{
    return t->mask ? t->slots[slot_of(t, uid)] : 0;
}

static void slots_grow(struct podtable *t)
{
    uint32_t *old = t->slots, n = t->mask ? t->mask + 1 : 0;

    t->mask = n ? n * 2 - 1 : 63;
    t->slots = xnewn0((size_t)t->mask + 1, uint32_t);
    for (uint32_t i = 0; i < n; i++)
        if (old[i])
            t->slots[slot_of(t, uid_at(t, old[i]))] = old[i];
    free(old);
}

static uint32_t record_new(struct podtable *t)
{
    uint32_t id = t->free;

    if (id) {
        t->free = podtable_at(t, id)->next;
    } else {
        id = ++t->used; /* number 0 is nobody's */
        if (id / PODTABLE_CHUNK >= t->nchunks) {
            t->chunks = xreallocarray(t->chunks, t->nchunks + 1, sizeof *t->chunks);
            t->chunks[t->nchunks++] = xcalloc(PODTABLE_CHUNK, record_size(t->columns));
        }
    }
    memset(podtable_at(t, id), 0, record_size(t->columns));
    return id;
}

uint32_t podtable_add(struct podtable *t, const struct pod *p)
{
    if ((uint64_t)t->n * 4 >= (uint64_t)t->mask * 3)
        slots_grow(t);
    uint32_t at = slot_of(t, p->obj.meta.uid);
    assert(t->slots[at] == 0);
    uint32_t id = record_new(t);
    podtable_at(t, id)->pod = pod_keep(p);
    t->slots[at] = id;
    t->n++;
    return id;
}

/* Those behind the hole move up, unless that takes them before their home. */
static void slots_close(struct podtable *t, uint32_t hole)
{
    for (uint32_t i = (hole + 1) & t->mask; t->slots[i]; i = (i + 1) & t->mask) {
        uint32_t home = (uint32_t)kuid_hash(uid_at(t, t->slots[i])) & t->mask;
        if (((i - home) & t->mask) < ((i - hole) & t->mask))
            continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole] = 0;
}

void podtable_remove(struct podtable *t, uint32_t id)
{
    struct podrec *r = podtable_at(t, id);

    slots_close(t, slot_of(t, r->pod->meta.uid));
    r->pod = kobj_unref(r->pod);
    r->next = t->free;
    t->free = id;
    t->n--;
}

void podtable_swap(struct podtable *t, uint32_t id, const struct pod *p)
{
    struct podrec *r = podtable_at(t, id);
    struct kobj *old = r->pod;

    r->pod = pod_keep(p);
    kobj_unref(old);
}

void podtable_widen(struct podtable *t, uint32_t columns)
{
    size_t from = record_size(t->columns), to = record_size(columns);

    assert(columns >= t->columns);
    for (uint32_t i = 0; i < t->nchunks; i++) {
        char *wide = xcalloc(PODTABLE_CHUNK, to);
        for (size_t k = 0; k < PODTABLE_CHUNK; k++)
            memcpy(wide + k * to, t->chunks[i] + k * from, from);
        free(t->chunks[i]);
        t->chunks[i] = wide;
    }
    t->columns = columns;
}

size_t podtable_bytes(const struct podtable *t)
{
    return t->nchunks * PODTABLE_CHUNK * record_size(t->columns) +
           (t->mask ? (size_t)t->mask + 1 : 0) * sizeof *t->slots;
}
