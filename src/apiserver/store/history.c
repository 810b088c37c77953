/* history.c - events since the compaction in revision order, and the documents of the newest.
 *
 * An event is 24 bytes and names its entry, so filtering by resource and namespace touches no
 * document. Documents of the newest events are here too, up to a byte cap; an older one is asked
 * from the backend by its revision.
 */
#include "apiserver/store/internal.h"

struct doc *doc_new(const char *p, size_t n)
{
    struct doc *d = xmalloc(sizeof *d + n + 1);

    d->refs = 1;
    d->n = (uint32_t)n;
    if (n)
        memcpy(d->data, p, n);
    d->data[n] = '\0';
    return d;
}

struct doc *doc_ref(struct doc *d)
{
    d->refs++;
    return d;
}

struct doc *doc_unref(struct doc *d)
{
    if (d && --d->refs == 0)
        free(d);
    return NULL;
}

void hist_init(struct history *h, size_t max_bytes)
{
    *h = (struct history){ .max_bytes = max_bytes };
}

static size_t docs_bytes(const struct hist_docs *d)
{
    return d->doc->n + sizeof *d->doc + (d->old ? d->old->n + sizeof *d->old : 0);
}

static void docs_pop(struct history *h)
{
    struct hist_docs *d = &h->docs[h->dhead];

    h->bytes -= docs_bytes(d);
    doc_unref(d->doc);
    doc_unref(d->old);
    h->dhead = (h->dhead + 1) & (h->dcap - 1);
    h->ndocs--;
}

void hist_fini(struct history *h)
{
    while (h->ndocs)
        docs_pop(h);
    free(h->events);
    free(h->docs);
    *h = (struct history){ 0 };
}

/* Another size for a ring; the items come to its start. */
static void *ring_resize(void *items, size_t size, size_t head, size_t n, size_t cap, size_t want)
{
    char *fresh = xreallocarray(NULL, want, size);
    const size_t first = MIN(n, cap - head);

    if (n) {
        memcpy(fresh, (char *)items + head * size, first * size);
        memcpy(fresh + first * size, items, (n - first) * size);
    }
    free(items);
    return fresh;
}

static void docs_push(struct history *h, struct doc *doc)
{
    if (h->ndocs == h->dcap) {
        const size_t want = h->dcap ? h->dcap * 2 : 64;
        h->docs = ring_resize(h->docs, sizeof *h->docs, h->dhead, h->ndocs, h->dcap, want);
        h->dcap = want;
        h->dhead = 0;
    }
    struct hist_docs *d = &h->docs[(h->dhead + h->ndocs++) & (h->dcap - 1)];
    *d = (struct hist_docs){ .doc = doc_ref(doc) };
    h->bytes += docs_bytes(d);
    while (h->ndocs && h->bytes > h->max_bytes)
        docs_pop(h);
}

void hist_push(struct history *h, struct hist_event ev, struct doc *doc)
{
    assert(h->n == 0 || ev.rev > hist_at(h, h->n - 1)->rev);
    if (h->n == h->cap) {
        const size_t want = h->cap ? h->cap * 2 : 256;
        h->events = ring_resize(h->events, sizeof *h->events, h->head, h->n, h->cap, want);
        h->cap = want;
        h->head = 0;
    }
    h->events[(h->head + h->n++) & (h->cap - 1)] = ev;
    if (doc)
        docs_push(h, doc);
    else
        assert(h->ndocs == 0);
}

void hist_pop(struct history *h)
{
    assert(h->n);
    if (h->ndocs == h->n)
        docs_pop(h);
    h->head = (h->head + 1) & (h->cap - 1);
    h->n--;
    if (h->cap > 1024 && h->n < h->cap / 8) {
        h->events = ring_resize(h->events, sizeof *h->events, h->head, h->n, h->cap, h->cap / 4);
        h->cap /= 4;
        h->head = 0;
    }
}

struct hist_event *hist_at(const struct history *h, size_t i)
{
    return &h->events[(h->head + i) & (h->cap - 1)];
}

struct hist_docs *hist_docs_at(const struct history *h, size_t i)
{
    const size_t absent = h->n - h->ndocs;
    return i < absent ? NULL : &h->docs[(h->dhead + i - absent) & (h->dcap - 1)];
}

size_t hist_after(const struct history *h, uint64_t rev)
{
    size_t lo = 0, hi = h->n;

    if (h->n == 0 || rev < hist_at(h, 0)->rev)
        return 0;
    if (rev >= hist_at(h, h->n - 1)->rev)
        return h->n;
    /* Revisions are dense but for failed batches: the guess is nearly always right. */
    const uint64_t guess = rev - hist_at(h, 0)->rev;
    if (guess < h->n && hist_at(h, guess)->rev == rev)
        return guess + 1;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (hist_at(h, mid)->rev > rev)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

size_t hist_find(const struct history *h, uint64_t rev)
{
    const size_t i = hist_after(h, rev);
    return i > 0 && hist_at(h, i - 1)->rev == rev ? i - 1 : SIZE_MAX;
}

void hist_set_old(struct history *h, size_t i, struct doc *old)
{
    struct hist_docs *d = hist_docs_at(h, i);

    h->bytes -= docs_bytes(d);
    d->old = doc_ref(old);
    h->bytes += docs_bytes(d);
    while (h->ndocs && h->bytes > h->max_bytes)
        docs_pop(h);
}

uint64_t hist_version_at(const struct history *h, const struct entry *e, uint64_t at)
{
    uint64_t rev = e->rev;
    bool live = e->live;

    assert(at >= h->floor);
    while (rev > at) {
        const size_t i = hist_find(h, rev);
        assert(i != SIZE_MAX); /* younger than the floor: history has it */
        const struct hist_event *ev = hist_at(h, i);
        live =
            ev->type != STORE_ADDED; /* what stood before an addition is a deletion, or nothing */
        rev = ev->prev;
    }
    return live ? rev : 0;
}
