/* resources.c - the run-time table of served resources. */
#include "apiserver/registry/resources.h"

#include "base/vec.h"

struct entry {
    struct resource r; /* first: a const struct resource * of the table is an entry */
    unsigned refs;
    bool gone;
    void (*release)(const struct resource *r);
};

struct res_table {
    struct vec_of(struct entry *) entries; /* some hundred at most: looked through in order */
    uint64_t generation;
};

struct res_table *res_table_new(void)
{
    return xnew0(struct res_table);
}

static struct entry *entry_of(const struct resource *r)
{
    return (struct entry *)(uintptr_t)r;
}

static void entry_drop(struct entry *e)
{
    e->gone = true;
    resource_unref(&e->r);
}

struct res_table *res_table_free(struct res_table *t)
{
    if (!t)
        return NULL;
    vec_foreach(&t->entries, i)
        entry_drop(t->entries.items[i]);
    vec_fini(&t->entries);
    free(t);
    return NULL;
}

static bool same(const struct resource *r, const char *group, const char *version,
                 const char *plural)
{
    return streq(r->plural, plural) && streq(r->group, group) && streq(r->version, version);
}

const struct resource *res_table_add(struct res_table *t, const struct resource *r,
                                     void (*release)(const struct resource *r))
{
    struct entry *e = xnew0(struct entry);
    *e = (struct entry){ .r = *r, .refs = 1, .release = release };
    t->generation++;
    vec_foreach(&t->entries, i) {
        struct entry *old = t->entries.items[i];
        if (same(&old->r, r->group, r->version, r->plural)) {
            t->entries.items[i] = e;
            entry_drop(old);
            return &e->r;
        }
    }
    vec_push(&t->entries, e);
    return &e->r;
}

bool res_table_remove(struct res_table *t, const char *group, const char *version,
                      const char *plural)
{
    vec_foreach(&t->entries, i) {
        struct entry *e = t->entries.items[i];
        if (same(&e->r, group, version, plural)) {
            vec_remove(&t->entries, i);
            t->generation++;
            entry_drop(e);
            return true;
        }
    }
    return false;
}

void res_table_set_terminating(struct res_table *t, const char *group, const char *version,
                               const char *plural, bool terminating)
{
    vec_foreach(&t->entries, i) {
        struct resource *r = &t->entries.items[i]->r;
        if (same(r, group, version, plural) && r->terminating != terminating) {
            r->terminating = terminating;
            t->generation++;
        }
    }
}

const struct resource *res_table_find(const struct res_table *t, const char *group,
                                      const char *version, const char *plural)
{
    vec_foreach(&t->entries, i)
        if (same(&t->entries.items[i]->r, group, version, plural))
            return &t->entries.items[i]->r;
    return NULL;
}

bool res_table_has_group(const struct res_table *t, const char *group, const char *version)
{
    vec_foreach(&t->entries, i) {
        const struct resource *r = &t->entries.items[i]->r;
        if (streq(r->group, group) && (!version || streq(r->version, version)))
            return true;
    }
    return false;
}

const struct resource *res_table_at(const struct res_table *t, size_t i)
{
    return i < t->entries.n ? &t->entries.items[i]->r : NULL;
}

uint64_t res_table_generation(const struct res_table *t)
{
    return t->generation;
}

const struct resource *resource_ref(const struct resource *r)
{
    entry_of(r)->refs++;
    return r;
}

const struct resource *resource_unref(const struct resource *r)
{
    if (!r)
        return NULL;
    struct entry *e = entry_of(r);
    assert(e->refs > 0);
    if (--e->refs == 0) {
        if (e->release)
            e->release(&e->r);
        free(e);
    }
    return NULL;
}

bool resource_is_gone(const struct resource *r)
{
    return entry_of(r)->gone;
}

const char *resource_group_resource(const struct resource *r, struct arena *a)
{
    return *r->group ? arena_printf(a, "%s.%s", r->plural, r->group) : r->plural;
}

const char *resource_api_version(const struct resource *r, struct arena *a)
{
    return *r->group ? arena_printf(a, "%s/%s", r->group, r->version) : r->version;
}

static bool has_word(const char *comma_separated, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = comma_separated; p && *p;) {
        size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, word, n) == 0)
            return true;
        p += len;
        p += *p == ',';
    }
    return false;
}

bool resource_has_verb(const struct resource *r, const char *verb)
{
    return !r->verbs || has_word(r->verbs, verb);
}

bool resource_has_sub(const struct resource *r, const char *sub)
{
    if (has_word(r->subresources, sub))
        return true;
    return r->has_status && streq(sub, "status");
}
