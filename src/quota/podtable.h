/* podtable.h - what is known of each pod: where it is charged, and with what.
 *
 * Records have numbers (0: none) and stand in chunks, so that 100,000 of them cost 70 bytes each.
 * They are found by UID, and linked in one list per quota. Loop thread.
 */
#ifndef KOORD_QUOTA_PODTABLE_H
#define KOORD_QUOTA_PODTABLE_H
#include "api/pod.h"

struct podrec {
    struct kobj *pod; /* a reference; NULL: a free record */
    uint64_t keys;    /* columns that it requests */
    uint32_t quota;   /* number of the quota */
    uint32_t next, prev;
    bool assigned;    /* it has a node, or is about to get one: it counts as used */
    bool preemptible; /* as its label says */
    uint8_t unused[2];
    int64_t amount[]; /* of every column */
};

struct podtable { /* all zero is an empty table without columns */
    char **chunks;
    uint32_t nchunks;
    uint32_t columns;
    uint32_t used;   /* records that were ever given out */
    uint32_t free;   /* list of free ones, by `next` */
    uint32_t n;      /* pods */
    uint32_t *slots; /* by UID: numbers */
    uint32_t mask;   /* slots - 1; 0: none */
};
void podtable_fini(struct podtable *t);
enum { PODTABLE_CHUNK = 1024 };
static inline struct podrec *podtable_at(const struct podtable *t, uint32_t id)
{
    size_t size = sizeof(struct podrec) + t->columns * sizeof(int64_t);

    return (struct podrec *)(void *)(t->chunks[id / PODTABLE_CHUNK] + id % PODTABLE_CHUNK * size);
}
uint32_t podtable_find(const struct podtable *t, struct kuid uid); /* 0: absent */
/* A new record, all zero but for the pod; its UID must be absent. */
uint32_t podtable_add(struct podtable *t, const struct pod *p);
void podtable_remove(struct podtable *t, uint32_t id);
/* The object of a known pod has a new state. */
void podtable_swap(struct podtable *t, uint32_t id, const struct pod *p);
/* More columns: amounts keep their numbers, new ones are 0. */
void podtable_widen(struct podtable *t, uint32_t columns);
size_t podtable_bytes(const struct podtable *t);
#endif
