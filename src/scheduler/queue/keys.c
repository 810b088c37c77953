/* keys.c - pods that wait for a key of a plugin. */
#include "scheduler/queue/keys.h"

enum { ID_MAX = 128 };
struct waitkey {
    struct waiter *first;
    size_t len;
    char id[]; /* the number, then the plugin's name */
};

static size_t id_of(char id[ID_MAX], const char *plugin, uint64_t key)
{
    size_t n = strlen(plugin);

    assert(sizeof key + n <= ID_MAX);
    memcpy(id, &key, sizeof key);
    memcpy(id + sizeof key, plugin, n);
    return sizeof key + n;
}

void keys_fini(struct keys *k)
{
    assert(k->by_id.n == 0);
    map_fini(&k->by_id);
}

void keys_remember(struct keys *k, const char *plugin, uint64_t key, struct qpod *pod,
                   struct waiter **all)
{
    char id[ID_MAX];
    size_t len = id_of(id, plugin, key);
    struct waitkey *x = map_get(&k->by_id, id, len);

    if (!x) {
        x = xmalloc(sizeof *x + len);
        *x = (struct waitkey){ .len = len };
        memcpy(x->id, id, len);
        map_put(&k->by_id, x->id, len, x);
    }
    struct waiter *w = xnew0(struct waiter);
    *w = (struct waiter){ pod, x->first, &x->first, x, *all };
    if (w->next)
        w->next->link = &w->next;
    x->first = *all = w;
}

void keys_forget(struct keys *k, struct waiter **all)
{
    for (struct waiter *w; (w = *all);) {
        struct waitkey *x = w->key;
        *all = w->more;
        *w->link = w->next;
        if (w->next)
            w->next->link = w->link;
        free(w);
        if (x->first)
            continue;
        map_remove(&k->by_id, x->id, x->len);
        free(x);
    }
}

const struct waiter *keys_find(const struct keys *k, const char *plugin, uint64_t key)
{
    char id[ID_MAX];
    size_t len = id_of(id, plugin, key);
    const struct waitkey *x = map_get(&k->by_id, id, len);

    return x ? x->first : NULL;
}
