/* index.c - keys in order: per resource a row of chunks of sorted entries.
 *
 * A two-level array: a search is two binary searches, an insertion moves at most one chunk (1 KB),
 * and keys that arrive in order fill chunks to the brim. An object costs its entry (32 bytes and
 * the name) and a pointer.
 */
#include "apiserver/store/internal.h"

enum { CHUNK = 128 };
struct chunk {
    size_t n;
    struct entry *e[CHUNK];
};

void index_init(struct index *x)
{
    *x = (struct index){ .strings = intern_new() };
}

static void entry_free(struct entry *e)
{
    assert(!e->newest);
    istr_unref(e->ns);
    free(e);
}

void index_fini(struct index *x)
{
    map_foreach(&x->resources, slot) {
        struct resource *r = slot->value;
        for (size_t c = 0; c < r->n; c++) {
            for (size_t i = 0; i < r->chunks[c]->n; i++)
                entry_free(r->chunks[c]->e[i]);
            free(r->chunks[c]);
        }
        free(r->chunks);
        free(r->name);
        free(r);
    }
    map_fini(&x->resources);
    if (x->strings)
        x->strings = intern_free(x->strings);
}

struct resource *index_resource(const struct index *x, const char *res)
{
    return map_getz(&x->resources, res);
}

static int entry_cmp(const struct entry *e, const char *ns, const char *name)
{
    int c = e->ns == ns ? 0 : strcmp(e->ns, ns);
    return c ? c : strcmp(e->name, name);
}

struct index_pos index_seek(const struct resource *r, const char *ns, const char *name, bool past)
{
    const int want = past ? 1 : 0; /* the first entry with cmp >= want */
    size_t lo = 0, hi = r->n;

    while (lo < hi) { /* the first chunk that starts there or later */
        size_t mid = lo + (hi - lo) / 2;
        if (entry_cmp(r->chunks[mid]->e[0], ns, name) >= want)
            hi = mid;
        else
            lo = mid + 1;
    }
    if (lo == 0)
        return (struct index_pos){ 0, 0 };
    const size_t c = lo - 1; /* it may also be inside the chunk before */
    const struct chunk *ch = r->chunks[c];
    lo = 0;
    hi = ch->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (entry_cmp(ch->e[mid], ns, name) >= want)
            hi = mid;
        else
            lo = mid + 1;
    }
    return (struct index_pos){ c, lo };
}

/* A position may stand behind the last entry of its chunk: then the next chunk's first is meant. */
struct entry *index_at(const struct resource *r, struct index_pos p)
{
    if (p.c < r->n && p.i == r->chunks[p.c]->n)
        p = (struct index_pos){ p.c + 1, 0 };
    return p.c < r->n ? r->chunks[p.c]->e[p.i] : NULL;
}

struct index_pos index_next(const struct resource *r, struct index_pos p)
{
    if (p.i == r->chunks[p.c]->n)
        p = (struct index_pos){ p.c + 1, 0 };
    return ++p.i < r->chunks[p.c]->n ? p : (struct index_pos){ p.c + 1, 0 };
}

struct entry *index_find(const struct index *x, const struct store_key *k)
{
    const struct resource *r = index_resource(x, k->res);

    if (!r)
        return NULL;
    struct entry *e = index_at(r, index_seek(r, k->ns, k->name, false));
    return e && entry_cmp(e, k->ns, k->name) == 0 ? e : NULL;
}

struct resource *index_resource_add(struct index *x, const char *name)
{
    struct resource *r = index_resource(x, name);

    if (r)
        return r;
    r = xnew0(struct resource);
    r->name = xstrdup(name);
    map_putz(&x->resources, r->name, r);
    return r;
}

static struct chunk *chunk_insert(struct resource *r, size_t at)
{
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 4;
        r->chunks = xreallocarray(r->chunks, r->cap, sizeof *r->chunks);
    }
    memmove(r->chunks + at + 1, r->chunks + at, (r->n - at) * sizeof *r->chunks);
    r->n++;
    return r->chunks[at] = xnew0(struct chunk);
}

static void place(struct resource *r, struct index_pos p, struct entry *e)
{
    if (r->n == 0)
        chunk_insert(r, 0);
    struct chunk *ch = r->chunks[p.c];
    if (ch->n == CHUNK && p.i == CHUNK && p.c + 1 == r->n) {
        ch = chunk_insert(r, ++p.c); /* keys in order: leave the full chunk full */
        p.i = 0;
    } else if (ch->n == CHUNK) {
        struct chunk *right = chunk_insert(r, p.c + 1);
        right->n = CHUNK / 2;
        ch->n = CHUNK - right->n;
        memcpy(right->e, ch->e + ch->n, right->n * sizeof *ch->e);
        if (p.i > ch->n) {
            p.i -= ch->n;
            ch = right;
        }
    }
    memmove(ch->e + p.i + 1, ch->e + p.i, (ch->n - p.i) * sizeof *ch->e);
    ch->e[p.i] = e;
    ch->n++;
    r->gen++;
}

struct entry *index_add(struct index *x, const struct store_key *k)
{
    struct resource *r = index_resource_add(x, k->res);
    struct index_pos p = index_seek(r, k->ns, k->name, false);
    struct entry *e = index_at(r, p);

    if (e && entry_cmp(e, k->ns, k->name) == 0)
        return e;
    const size_t n = strlen(k->name) + 1;
    e = xcalloc(1, sizeof *e + n);
    memcpy(e->name, k->name, n);
    e->ns = intern_getz(x->strings, k->ns);
    e->res = r;
    place(r, p, e);
    return e;
}

void index_remove(struct index *x, struct entry *e)
{
    struct resource *r = e->res;
    struct index_pos p = index_seek(r, e->ns, e->name, false);

    (void)x;
    assert(index_at(r, p) == e);
    if (p.i == r->chunks[p.c]->n)
        p = (struct index_pos){ p.c + 1, 0 };
    struct chunk *ch = r->chunks[p.c];
    memmove(ch->e + p.i, ch->e + p.i + 1, (ch->n - p.i - 1) * sizeof *ch->e);
    if (--ch->n == 0) {
        free(ch);
        memmove(r->chunks + p.c, r->chunks + p.c + 1, (r->n - p.c - 1) * sizeof *r->chunks);
        r->n--;
    }
    r->gen++;
    entry_free(e);
}
