/* list_text.c - the encoded items of a list, shared by those who are still taking it. */
#include "apiserver/registry/list_text.h"

struct list_text *list_text_find(struct list_texts *all, const char *key, uint64_t rev)
{
    for (struct list_text *t = all->first; t; t = t->next)
        if (t->rev == rev && t->key && streq(t->key, key))
            return list_text_ref(t);
    return NULL;
}

struct list_text *list_text_new(struct list_texts *all, const char *key, uint64_t rev,
                                struct strbuf *items, int64_t n)
{
    struct list_text *t = xnew0(struct list_text);

    t->all = all;
    t->refs = 1;
    t->key = key ? xstrdup(key) : NULL;
    t->rev = rev;
    t->items = *items;
    t->n = n;
    *items = (struct strbuf)STRBUF_INIT;
    t->next = all->first;
    if (t->next)
        t->next->prev = t;
    all->first = t;
    all->bytes += t->items.cap;
    return t;
}

struct list_text *list_text_ref(struct list_text *t)
{
    t->refs++;
    return t;
}

struct list_text *list_text_unref(struct list_text *t)
{
    if (!t || --t->refs > 0)
        return NULL;
    if (t->prev)
        t->prev->next = t->next;
    else
        t->all->first = t->next;
    if (t->next)
        t->next->prev = t->prev;
    t->all->bytes -= t->items.cap;
    strbuf_fini(&t->items);
    free(t->key);
    free(t);
    return NULL;
}
