/* intern.c - refcounted string table. */
#include "base/intern.h"

#include "base/map.h"

struct istr {
    struct intern *table;
    uint32_t refs, len;
    char text[];
};

struct intern {
    struct map strings; /* text -> struct istr */
    size_t text_bytes;
    bool dying;
};

static struct istr *istr_of(const char *s)
{
    return container_of(s, struct istr, text);
}

struct intern *intern_new(void)
{
    return xnew0(struct intern);
}

static void table_gone(struct intern *t)
{
    map_fini(&t->strings);
    free(t);
}

struct intern *intern_free(struct intern *t)
{
    if (!t)
        return NULL;
    t->dying = true;
    if (t->strings.n == 0)
        table_gone(t);
    return NULL;
}

const char *intern_get(struct intern *t, const char *s, size_t n)
{
    struct istr *is = map_get(&t->strings, s, n);
    if (is) {
        is->refs++;
        return is->text;
    }
    assert(n < UINT32_MAX);
    is = xmalloc(sizeof *is + n + 1);
    is->table = t;
    is->refs = 1;
    is->len = (uint32_t)n;
    if (n)
        memcpy(is->text, s, n);
    is->text[n] = '\0';
    t->text_bytes += sizeof *is + n + 1;
    map_put(&t->strings, is->text, n, is);
    return is->text;
}

const char *intern_find(const struct intern *t, const char *s, size_t n)
{
    struct istr *is = map_get(&t->strings, s, n);
    return is ? is->text : NULL;
}

const char *istr_ref(const char *s)
{
    istr_of(s)->refs++;
    return s;
}

const char *istr_unref(const char *s)
{
    if (!s)
        return NULL;
    struct istr *is = istr_of(s);
    assert(is->refs > 0);
    if (--is->refs > 0)
        return NULL;
    struct intern *t = is->table;
    map_remove(&t->strings, is->text, is->len);
    t->text_bytes -= sizeof *is + is->len + 1;
    free(is);
    if (t->dying && t->strings.n == 0)
        table_gone(t);
    return NULL;
}

size_t istr_len(const char *s)
{
    return istr_of(s)->len;
}

size_t intern_count(const struct intern *t)
{
    return t->strings.n;
}

size_t intern_bytes(const struct intern *t)
{
    size_t slots = t->strings.slots ? (size_t)t->strings.mask + 1 : 0;
    return sizeof *t + slots * sizeof(struct map_entry) + t->text_bytes;
}
