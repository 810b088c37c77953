/* map.c - open addressing with linear probing and backward-shift deletion. */
#include "base/map.h"

#include <sys/random.h>

static uint64_t key0, key1;
static bool key_set;

void hash_set_key(uint64_t k0, uint64_t k1)
{
    key0 = k0;
    key1 = k1;
    key_set = true;
}

/* Runs once before main, so that no thread ever sees the key change. */
__attribute__((constructor)) static void hash_init_key(void)
{
    uint64_t k[2];
    if (key_set)
        return;
    if (getrandom(k, sizeof k, GRND_NONBLOCK) != (ssize_t)sizeof k)
        /* Early boot without entropy: an address is poor, but no attacker is there yet. */
        k[0] = (uint64_t)(uintptr_t)&k, k[1] = (uint64_t)(uintptr_t)&hash_bytes;
    hash_set_key(k[0], k[1]);
}

static inline uint64_t rotl(uint64_t x, int b)
{
    return (x << b) | (x >> (64 - b));
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

uint64_t hash_bytes(const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t v[4] = { key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d,
                      key0 ^ 0x6c7967656e657261, key1 ^ 0x7465646279746573 };
    size_t left = n;

    for (; left >= 8; left -= 8, s += 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        v[3] ^= w;
        sip_round(v);
        v[0] ^= w;
    }
    uint64_t last = (uint64_t)n << 56;
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)s[i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_stable(const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 0x100000001b3;
    return h;
}

void map_fini(struct map *m)
{
    free(m->slots);
    *m = (struct map){ 0 };
}

static struct map_entry *find(const struct map *m, const char *key, size_t len, uint32_t hash)
{
    for (uint32_t i = hash & m->mask;; i = (i + 1) & m->mask) {
        struct map_entry *e = &m->slots[i];
        if (!e->value)
            return e;
        if (e->hash == hash && e->len == len && (len == 0 || memcmp(e->key, key, len) == 0))
            return e;
    }
}

static void resize(struct map *m, uint32_t slots)
{
    struct map old = *m;
    m->slots = xnewn0(slots, struct map_entry);
    m->mask = slots - 1;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++) {
        struct map_entry *e = &old.slots[i];
        if (e->value)
            *find(m, e->key, e->len, e->hash) = *e;
    }
    free(old.slots);
}

void map_reserve(struct map *m, size_t n)
{
    size_t slots = m->slots ? (size_t)m->mask + 1 : 8;
    assert(n < UINT32_MAX / 4);
    while (slots - slots / 8 < n)
        slots *= 2;
    if (!m->slots || slots > (size_t)m->mask + 1)
        resize(m, (uint32_t)slots);
}

void *map_get(const struct map *m, const char *key, size_t len)
{
    if (m->n == 0)
        return NULL;
    return find(m, key, len, (uint32_t)hash_bytes(key, len))->value;
}

void *map_put(struct map *m, const char *key, size_t len, void *value)
{
    assert(value && len <= UINT32_MAX);
    map_reserve(m, (size_t)m->n + 1);
    uint32_t hash = (uint32_t)hash_bytes(key, len);
    struct map_entry *e = find(m, key, len, hash);
    void *old = e->value;
    if (!old)
        m->n++;
    *e = (struct map_entry){ key, value, (uint32_t)len, hash };
    return old;
}

void *map_remove(struct map *m, const char *key, size_t len)
{
    if (m->n == 0)
        return NULL;
    struct map_entry *e = find(m, key, len, (uint32_t)hash_bytes(key, len));
    void *old = e->value;
    if (!old)
        return NULL;
    m->n--;
    /* Close the hole: shift back every follower that may stand closer to its home slot. */
    uint32_t hole = (uint32_t)(e - m->slots);
    for (uint32_t i = (hole + 1) & m->mask; m->slots[i].value; i = (i + 1) & m->mask) {
        uint32_t home = m->slots[i].hash & m->mask;
        if (((i - home) & m->mask) >= ((i - hole) & m->mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_entry){ 0 };
    return old;
}

struct map_entry *map_next(const struct map *m, size_t *it)
{
    while (m->slots && *it <= m->mask) {
        struct map_entry *e = &m->slots[(*it)++];
        if (e->value)
            return e;
    }
    return NULL;
}
