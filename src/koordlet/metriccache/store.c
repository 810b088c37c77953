/* store.c - series by kind and labels. */
#include "koordlet/metriccache/store.h"

#include "base/intern.h"

struct series {
    struct ring ring;
    struct family *family;
    struct series *next; /* in its bucket */
    uint32_t hash, holders;
    const char *labels[]; /* interned, as many as the kind has */
};

struct family { /* the series of one kind: a table of chains */
    struct metriccache *mc;
    struct series **buckets;
    uint32_t n, nbuckets; /* a power of two, or 0 */
    uint32_t nlabels;
    nsec_t interval, retention;
};

struct metriccache {
    struct family families[M_KINDS];
    struct intern *names;
    struct window window; /* of metriccache_ask() */
    uint64_t appended, refused;
};

enum { BLOCK_OVERHEAD = 16 }; /* of the allocator, for each block, with its rounding */

/* ---- life ------------------------------------------------------------------------------------ */

struct metriccache *metriccache_new(void)
{
    struct metriccache *mc = xnew0(struct metriccache);

    mc->names = intern_new();
    for (int k = 0; k < M_KINDS; k++) {
        struct family *f = &mc->families[k];
        const struct metric_kind_info *info = metric_kind_info((enum metric_kind)k);
        *f = (struct family){ .mc = mc, .interval = NSEC_PER_SEC, .retention = 60 * NSEC_PER_SEC };
        while (info->labels[f->nlabels])
            f->nlabels++;
    }
    return mc;
}

static struct series *series_free(struct series *s)
{
    for (uint32_t i = 0; i < s->family->nlabels; i++)
        istr_unref(s->labels[i]);
    ring_fini(&s->ring);
    free(s);
    return NULL;
}

struct metriccache *metriccache_free(struct metriccache *mc)
{
    if (!mc)
        return NULL;
    for (int k = 0; k < M_KINDS; k++) {
        struct family *f = &mc->families[k];
        for (uint32_t b = 0; b < f->nbuckets; b++)
            for (struct series *s = f->buckets[b], *next; s; s = next) {
                next = s->next;
                series_free(s);
            }
        free(f->buckets);
    }
    window_fini(&mc->window);
    intern_free(mc->names);
    free(mc);
    return NULL;
}

#define family_foreach(f, s)                        \
    for (uint32_t b_ = 0; b_ < (f)->nbuckets; b_++) \
        for (struct series *s = (f)->buckets[b_]; s; s = s->next)

void metriccache_retain(struct metriccache *mc, enum metric_kind k, nsec_t interval,
                        nsec_t retention)
{
    struct family *f = &mc->families[k];

    if (f->interval == interval && f->retention == retention)
        return;
    f->interval = interval;
    f->retention = retention;
    family_foreach(f, s)
        ring_resize(&s->ring, interval, retention);
}

/* ---- series ---------------------------------------------------------------------------------- */

/* Interned strings are equal when their pointers are. */
static uint32_t hash_labels(const char *const *labels, uint32_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15;

    for (uint32_t i = 0; i < n; i++)
        h = (h ^ (uint64_t)(uintptr_t)labels[i] >> 4) * 0xff51afd7ed558ccd;
    return (uint32_t)(h >> 32);
}

static struct series *find(const struct family *f, const char *const *labels, uint32_t hash)
{
    if (f->nbuckets == 0)
        return NULL;
    for (struct series *s = f->buckets[hash & (f->nbuckets - 1)]; s; s = s->next)
        if (s->hash == hash &&
            (f->nlabels == 0 || memcmp(s->labels, labels, f->nlabels * sizeof *labels) == 0))
            return s;
    return NULL;
}

static void grow(struct family *f)
{
    uint32_t n = f->nbuckets ? f->nbuckets * 2 : 1;
    struct series **buckets = xnewn0(n, struct series *);

    for (uint32_t b = 0; b < f->nbuckets; b++)
        for (struct series *s = f->buckets[b], *next; s; s = next) {
            next = s->next;
            s->next = buckets[s->hash & (n - 1)];
            buckets[s->hash & (n - 1)] = s;
        }
    free(f->buckets);
    f->buckets = buckets;
    f->nbuckets = n;
}

struct series *metriccache_open(struct metriccache *mc, enum metric_kind k,
                                const char *const *labels)
{
    struct family *f = &mc->families[k];
    const char *names[METRIC_LABELS] = { 0 };

    for (uint32_t i = 0; i < f->nlabels; i++)
        names[i] = intern_getz(mc->names, labels[i]);
    uint32_t hash = hash_labels(names, f->nlabels);
    struct series *s = find(f, names, hash);
    if (s) {
        for (uint32_t i = 0; i < f->nlabels; i++)
            istr_unref(names[i]);
        s->holders++;
        return s;
    }
    s = xcalloc(1, sizeof *s + f->nlabels * sizeof *names);
    memcpy(s->labels, names, f->nlabels * sizeof *names);
    s->family = f;
    s->hash = hash;
    s->holders = 1;
    ring_init(&s->ring, f->interval, f->retention);
    if (f->n >= f->nbuckets)
        grow(f);
    s->next = f->buckets[hash & (f->nbuckets - 1)];
    f->buckets[hash & (f->nbuckets - 1)] = s;
    f->n++;
    return s;
}

struct series *series_close(struct series *s)
{
    if (s) {
        assert(s->holders > 0);
        s->holders--;
    }
    return NULL;
}

int series_append(struct series *s, int64_t ms, double value, struct kerr *err)
{
    struct metriccache *mc = s->family->mc;
    int r = ring_append(&s->ring, ms, value, err);

    *(r < 0 ? &mc->refused : &mc->appended) += 1;
    return r;
}

bool series_last(const struct series *s, struct sample *ret)
{
    if (s->ring.n == 0)
        return false;
    *ret = ring_at(&s->ring, s->ring.n - 1);
    return true;
}

static bool is_over(const struct series *s, int64_t now_ms)
{
    const int64_t keep = MIN((int64_t)s->ring.retention_ms, (int64_t)SERIES_CLOSED_MS);
    struct sample last;
    return s->holders == 0 && (!series_last(s, &last) || last.ms < now_ms - keep);
}

void metriccache_sweep(struct metriccache *mc, int64_t now_ms)
{
    for (int k = 0; k < M_KINDS; k++) {
        struct family *f = &mc->families[k];
        for (uint32_t b = 0; b < f->nbuckets; b++)
            for (struct series **at = &f->buckets[b], *s; (s = *at);) {
                if (!is_over(s, now_ms)) {
                    at = &s->next;
                    continue;
                }
                *at = s->next;
                f->n--;
                series_free(s);
            }
    }
}

void metriccache_rewind(struct metriccache *mc, int64_t now_ms)
{
    for (int k = 0; k < M_KINDS; k++)
        family_foreach(&mc->families[k], s)
            ring_cut(&s->ring, now_ms);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* The interned forms of the labels; *ret_all: none is left open. false: a label that no series has,
 * or had lately. */
static bool resolve(const struct metriccache *mc, const struct family *f, const char *const *labels,
                    const char **ret, bool *ret_all)
{
    *ret_all = labels || f->nlabels == 0;
    for (uint32_t i = 0; i < f->nlabels; i++) {
        ret[i] = NULL;
        if (!labels || !labels[i]) {
            *ret_all = false;
            continue;
        }
        ret[i] = intern_find(mc->names, labels[i], strlen(labels[i]));
        if (!ret[i])
            return false;
    }
    return true;
}

static bool matches(const struct series *s, const char *const *names)
{
    for (uint32_t i = 0; i < s->family->nlabels; i++)
        if (names[i] && names[i] != s->labels[i])
            return false;
    return true;
}

size_t metriccache_query(const struct metriccache *mc, enum metric_kind k,
                         const char *const *labels, int64_t from, int64_t to, struct window *w)
{
    const struct family *f = &mc->families[k];
    const char *names[METRIC_LABELS] = { 0 };
    size_t n = 0;
    bool all;

    if (!resolve(mc, f, labels, names, &all))
        return 0;
    if (all) {
        const struct series *s = find(f, names, hash_labels(names, f->nlabels));
        return s ? window_add_ring(w, &s->ring, from, to) : 0;
    }
    family_foreach(f, s)
        if (matches(s, names))
            n += window_add_ring(w, &s->ring, from, to);
    return n;
}

int metriccache_ask(struct metriccache *mc, enum metric_kind k, const char *const *labels,
                    int64_t from, int64_t to, enum aggregate what, double *ret, struct kerr *err)
{
    window_reset(&mc->window);
    metriccache_query(mc, k, labels, from, to, &mc->window);
    return window_aggregate(&mc->window, what, ret, err);
}

void metriccache_each(const struct metriccache *mc, enum metric_kind k, series_fn fn, void *arg)
{
    family_foreach(&mc->families[k], s)
        fn(arg, s->labels, s);
}

/* ---- size ------------------------------------------------------------------------------------ */

static size_t one_series(const struct family *f, uint32_t cap)
{
    return sizeof(struct series) + f->nlabels * sizeof(char *) + sizeof(struct series *) +
           ring_bytes(cap) + (size_t)2 * BLOCK_OVERHEAD;
}

size_t metriccache_series_bytes(const struct metriccache *mc, enum metric_kind k)
{
    const struct family *f = &mc->families[k];
    return one_series(f, ring_capacity(f->interval, f->retention));
}

struct metriccache_stats metriccache_stats(const struct metriccache *mc)
{
    struct metriccache_stats st = { .appended = mc->appended, .refused = mc->refused };

    st.bytes = sizeof *mc + intern_bytes(mc->names);
    for (int k = 0; k < M_KINDS; k++) {
        const struct family *f = &mc->families[k];
        st.series += f->n;
        family_foreach(f, s)
            st.bytes += one_series(f, s->ring.cap);
    }
    return st;
}
