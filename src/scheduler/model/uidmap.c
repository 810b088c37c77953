/* uidmap.c - open addressing with linear probing, at most three quarters full. */
#include "scheduler/model/uidmap.h"

static struct kuid key_of(const void *value)
{
    return *(const struct kuid *)value;
}

static uint32_t home_of(const struct uidmap *m, struct kuid uid)
{
    return (uint32_t)kuid_hash(uid) & m->mask;
}

void uidmap_fini(struct uidmap *m)
{
    free(m->slots);
    *m = (struct uidmap){ 0 };
}

/* The slot of the UID, or the free one where it would go. */
static uint32_t find(const struct uidmap *m, struct kuid uid)
{
    uint32_t i = home_of(m, uid);
    while (m->slots[i] && !kuid_equal(key_of(m->slots[i]), uid))
        i = (i + 1) & m->mask;
    return i;
}

void *uidmap_get(const struct uidmap *m, struct kuid uid)
{
    return m->slots ? m->slots[find(m, uid)] : NULL;
}

static void grow(struct uidmap *m)
{
    struct uidmap old = *m;
    m->mask = old.slots ? old.mask * 2 + 1 : 63;
    m->slots = xnewn0((size_t)m->mask + 1, void *);
    for (uint32_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i])
            m->slots[find(m, key_of(old.slots[i]))] = old.slots[i];
    free(old.slots);
}

void uidmap_put(struct uidmap *m, void *value)
{
    if (!m->slots || (uint64_t)m->n * 4 >= (uint64_t)m->mask * 3)
        grow(m);
    uint32_t at = find(m, key_of(value));
    assert(!m->slots[at]);
    m->slots[at] = value;
    m->n++;
}

void *uidmap_remove(struct uidmap *m, struct kuid uid)
{
    uint32_t hole = m->slots ? find(m, uid) : 0;
    void *gone = m->slots ? m->slots[hole] : NULL;

    if (!gone)
        return NULL;
    /* Those behind the hole move up, unless they would stand before their home. */
    for (uint32_t i = (hole + 1) & m->mask; m->slots[i]; i = (i + 1) & m->mask) {
        uint32_t home = home_of(m, key_of(m->slots[i]));
        if (((i - home) & m->mask) < ((i - hole) & m->mask))
            continue;
        m->slots[hole] = m->slots[i];
        hole = i;
    }
    m->slots[hole] = NULL;
    m->n--;
    return gone;
}

void *uidmap_next(const struct uidmap *m, size_t *it)
{
    while (m->slots && *it <= m->mask) {
        void *v = m->slots[(*it)++];
        if (v)
            return v;
    }
    return NULL;
}

struct kuid uidmap_own(struct kuid uid, char **ret_text)
{
    char text[KUID_TEXT_MAX];
    size_t n = kuid_format(uid, text, sizeof text);

    *ret_text = xstrdup(text);
    return kuid_parse(*ret_text, n);
}
