/* memory.c - the backend without a disk: documents by revision in a sorted row. */
#include "apiserver/store/internal.h"

struct slot {
    uint64_t rev;
    struct doc *doc; /* NULL: dropped */
};
struct memory {
    struct backend be;
    struct vec_of(struct slot) slots; /* revisions only grow: appending keeps the order */
    size_t holes;
};

static struct slot *slot_find(struct memory *m, uint64_t rev)
{
    size_t lo = 0, hi = m->slots.n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->slots.items[mid].rev < rev)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct slot *sl = lo < m->slots.n ? &m->slots.items[lo] : NULL;
    return sl && sl->rev == rev && sl->doc ? sl : NULL;
}

static void squeeze(struct memory *m)
{
    size_t n = 0;

    vec_foreach(&m->slots, i)
        if (m->slots.items[i].doc)
            m->slots.items[n++] = m->slots.items[i];
    m->slots.n = n;
    m->holes = 0;
}

static void memory_commit(struct backend *be, struct batch *b)
{
    struct memory *m = container_of(be, struct memory, be);

    if (b->inject) {
        kerr_api(&b->err, -b->inject, KR_INTERNAL, "commit %zu writes to memory: %s", b->writes.n,
                 strerror(b->inject));
        return;
    }
    for (struct write *w = b->writes.first; w; w = w->next) {
        struct slot sl = { w->rev, doc_ref(w->doc) };
        vec_push(&m->slots, sl);
    }
    vec_foreach(&b->drops, i) {
        struct slot *sl = slot_find(m, b->drops.items[i]);
        if (!sl)
            continue;
        sl->doc = doc_unref(sl->doc);
        m->holes++;
    }
    if (m->holes > 1024 && m->holes > m->slots.n / 2)
        squeeze(m);
}

static struct doc *memory_fetch(struct backend *be, uint64_t rev, struct kerr *err)
{
    struct slot *sl = slot_find(container_of(be, struct memory, be), rev);

    if (sl)
        return doc_ref(sl->doc);
    kerr_api(err, -EIO, KR_INTERNAL, "document of revision %llu is missing",
             (unsigned long long)rev);
    return NULL;
}

static struct backend *memory_free(struct backend *be)
{
    struct memory *m = container_of(be, struct memory, be);

    vec_foreach(&m->slots, i)
        doc_unref(m->slots.items[i].doc);
    vec_fini(&m->slots);
    free(m);
    return NULL;
}

struct backend *memory_new(void)
{
    static const struct backend_ops ops = {
        .commit = memory_commit,
        .fetch = memory_fetch,
        .free = memory_free,
    };
    struct memory *m = xnew0(struct memory);

    m->be.ops = &ops;
    return &m->be;
}
