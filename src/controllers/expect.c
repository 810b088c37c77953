/* expect.c - what was asked for and is not in the cache yet. */
#include "controllers/expect.h"

#include "base/map.h"
#include "loop/loop.h"

#define EXPECT_MAX \
    (300 * NSEC_PER_SEC) /* news can be lost for good: a pod made and gone between lists */

enum expect_what { EXPECT_CREATE, EXPECT_DELETE, EXPECT_DOUBT };
struct expected {
    struct expected *next;
    enum expect_what what;
    nsec_t since;
    char name[];
};
struct owner {
    struct expected *first;
    char key[];
};
struct expect {
    struct loop *loop;
    struct map owners;
};

struct expect *expect_new(struct loop *l)
{
    struct expect *e = xnew0(struct expect);
    e->loop = l;
    return e;
}

static void owner_free(struct owner *o)
{
    while (o->first) {
        struct expected *x = o->first;
        o->first = x->next;
        free(x);
    }
    free(o);
}

struct expect *expect_free(struct expect *e)
{
    if (!e)
        return NULL;
    expect_forget_all(e);
    free(e);
    return NULL;
}

void expect_forget_all(struct expect *e)
{
    map_foreach(&e->owners, it)
        owner_free(it->value);
    map_fini(&e->owners);
}

void expect_forget(struct expect *e, const char *key)
{
    struct owner *o = map_removez(&e->owners, key);
    if (o)
        owner_free(o);
}

static void add(struct expect *e, const char *key, const char *name, enum expect_what what)
{
    struct owner *o = map_getz(&e->owners, key);
    size_t n = strlen(key), m = strlen(name);
    if (!o) {
        o = xcalloc(1, sizeof *o + n + 1);
        memcpy(o->key, key, n + 1);
        map_put(&e->owners, o->key, n, o);
    }
    struct expected *x = xcalloc(1, sizeof *x + m + 1);
    x->what = what;
    x->since = loop_mono(e->loop);
    memcpy(x->name, name, m + 1);
    x->next = o->first;
    o->first = x;
}

static void drop(struct expect *e, const char *key, const char *name, bool deletion)
{
    struct owner *o = map_getz(&e->owners, key);
    if (!o)
        return;
    for (struct expected **p = &o->first; *p;) {
        struct expected *x = *p;
        if ((x->what == EXPECT_DELETE) == deletion && streq(x->name, name)) {
            *p = x->next;
            free(x);
        } else {
            p = &x->next;
        }
    }
    if (!o->first)
        expect_forget(e, key);
}

bool expect_settled(struct expect *e, const char *key)
{
    struct owner *o = map_getz(&e->owners, key);
    nsec_t now = loop_mono(e->loop);
    bool settled = true;

    for (struct expected **p = o ? &o->first : NULL; p && *p;) {
        struct expected *x = *p;
        if (now - x->since >= EXPECT_MAX) {
            *p = x->next;
            free(x);
            continue;
        }
        settled = settled && x->what == EXPECT_DOUBT;
        p = &x->next;
    }
    return settled;
}

void expect_create(struct expect *e, const char *key, const char *name)
{
    add(e, key, name, EXPECT_CREATE);
}

void expect_delete(struct expect *e, const char *key, const char *name)
{
    add(e, key, name, EXPECT_DELETE);
}

void expect_doubt(struct expect *e, const char *key, const char *name)
{
    struct owner *o = map_getz(&e->owners, key);
    for (struct expected *x = o ? o->first : NULL; x; x = x->next) {
        if (x->what == EXPECT_CREATE && streq(x->name, name)) {
            x->what = EXPECT_DOUBT;
            return;
        }
    }
    /* Not there any more: the cache has shown the pod before its lost answer was noticed. */
}

bool expect_take_doubt(struct expect *e, const char *key, const char *prefix, char *name,
                       size_t size)
{
    struct owner *o = map_getz(&e->owners, key);
    for (struct expected *x = o ? o->first : NULL; x; x = x->next) {
        if (x->what == EXPECT_DOUBT && str_starts(x->name, prefix) && strlen(x->name) < size) {
            memcpy(name, x->name, strlen(x->name) + 1);
            drop(e, key, name, false);
            return true;
        }
    }
    return false;
}

void expect_created(struct expect *e, const char *key, const char *name)
{
    drop(e, key, name, false);
}

void expect_deleted(struct expect *e, const char *key, const char *name)
{
    drop(e, key, name, true);
}
