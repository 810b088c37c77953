/* dirs.c - the directories and files that somebody proposes for, or looked at. */
#include "koordlet/executor/executor_int.h"
#include "koordlet/kernel/convert.h"

/* ---- values ---------------------------------------------------------------------------------- */

void value_set(struct value *v, int64_t number, const char *text)
{
    /* The same text again needs no new memory. */
    if (!text || !v->text || !streq(v->text, text)) {
        char *copy = text ? xstrdup(text) : NULL;
        free(v->text);
        v->text = copy;
    }
    v->number = number;
    v->known = true;
}

void value_forget(struct value *v)
{
    free(v->text);
    *v = (struct value){ 0 };
}

int value_compare(unsigned file, int64_t a, int64_t b)
{
    if (file_rules[file].kind == VALUE_LIMIT) {
        a = a < 0 ? INT64_MAX : a;
        b = b < 0 ? INT64_MAX : b;
    }
    return (a > b) - (a < b);
}

static bool is_bytes(unsigned file)
{
    return (file >= PLAN_MEMORY_LIMIT && file <= PLAN_MEMORY_HIGH) ||
           file == PLAN_MEMORY_PAGECACHE_SIZE;
}

/* "L3:0=f;1=f;" in the words of the kernel is "    L3:0=00f;1=00f": each cache of want counts. */
static bool schemata_holds(const char *is, const char *want)
{
    int radix = *want == 'M' ? 10 : 16;
    const char *colon = strchr(want, ':');

    is = strchr(is, ':');
    if (!colon || !is)
        return false;
    for (const char *p = colon + 1; *p && *p != '\n';) {
        char *end;
        long id = strtol(p, &end, 10);
        if (*end != '=')
            return false;
        unsigned long long v = strtoull(end + 1, &end, radix);
        bool found = false;
        for (const char *q = is + 1; *q && !found;) {
            char *qe;
            long have = strtol(q, &qe, 10);
            if (*qe != '=')
                break;
            unsigned long long got = strtoull(qe + 1, &qe, radix);
            found = have == id && got == v;
            q = *qe == ';' ? qe + 1 : qe + strlen(qe);
        }
        if (!found)
            return false;
        p = *end == ';' ? end + 1 : end;
    }
    return true;
}

/* "8:0 0" means that the file has no line of this disk. */
static bool line_holds(unsigned file, const char *is, const char *want)
{
    if (file == PLAN_RESCTRL_SCHEMATA)
        return schemata_holds(is, want);
    const char *blank = strchr(want, ' ');
    if (!*is && blank && streq(blank, " 0"))
        return true;
    return streq(is, want);
}

bool value_equal(unsigned file, const struct value *a, const struct value *b)
{
    struct cpuset x, y;

    if (!a->known || !b->known)
        return false;
    switch (file_rules[file].kind) {
    case VALUE_CPUS:
        return streq(a->text, b->text) ||
               (cpus_parse(a->text, strlen(a->text), &x, NULL) == 0 &&
                cpus_parse(b->text, strlen(b->text), &y, NULL) == 0 && cpuset_equal(&x, &y));
    case VALUE_TEXT: return streq(a->text, b->text);
    case VALUE_LINE: return line_holds(file, a->text, b->text);
    default: break;
    }
    /* The kernel keeps whole pages. */
    if (is_bytes(file) && a->number >= 0 && b->number >= 0)
        return a->number / 4096 == b->number / 4096;
    return value_compare(file, a->number, b->number) == 0;
}

/* ---- directories ----------------------------------------------------------------------------- */

/* Relative, and nothing that leads elsewhere: names of pods and containers are in there. */
static bool path_is_usable(const char *path)
{
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p += n;
        if (*p == '/' && !*++p)
            return false;
    }
    return true;
}

static const char *dir_key(struct executor *e, enum executor_root r, const char *path, size_t n,
                           size_t *ret_n)
{
    strbuf_reset(&e->path);
    strbuf_appendc(&e->path, (char)('0' + (int)r));
    strbuf_appendn(&e->path, path, n);
    *ret_n = e->path.len;
    return strbuf_str(&e->path);
}

static struct target_dir *dir_find(struct executor *e, enum executor_root r, const char *path)
{
    size_t n;
    const char *key = dir_key(e, r, path, strlen(path), &n);
    return map_get(&e->dirs, key, n);
}

static struct target_dir *dir_get(struct executor *e, enum executor_root r, const char *path,
                                  size_t len)
{
    size_t n;
    const char *key = dir_key(e, r, path, len, &n);
    struct target_dir *d = map_get(&e->dirs, key, n);

    if (d)
        return d;
    d = xcalloc(1, sizeof *d + n + 1);
    memcpy(d->key, key, n);
    d->path = d->key + 1;
    d->root = r;
    map_put(&e->dirs, d->key, n, d);
    if (r == EXECUTOR_CGROUP && len > 0) {
        const char *slash = strrchr(d->path, '/');
        d->parent = dir_get(e, r, d->path, slash ? (size_t)(slash - d->path) : 0);
        d->depth = (uint16_t)(d->parent->depth + 1);
        d->next = d->parent->first_child;
        d->parent->first_child = d;
    }
    return d;
}

/* ---- targets --------------------------------------------------------------------------------- */

struct target *target_of(const struct target_dir *d, unsigned file, const char *item)
{
    for (struct target *t = d->targets; t; t = t->next)
        if (t->file == file && (item ? t->item && streq(t->item, item) : !t->item))
            return t;
    return NULL;
}

struct target *target_in(struct target_dir *d, unsigned file, const char *item)
{
    struct target *t = target_of(d, file, item);

    if (t)
        return t;
    t = xnew0(struct target);
    t->dir = d;
    t->file = (uint8_t)file;
    t->item = item ? xstrdup(item) : NULL;
    t->next = d->targets;
    d->targets = t;
    return t;
}

struct target *target_find(struct executor *e, unsigned file, const char *dir, const char *item)
{
    struct target_dir *d = dir_find(e, file_rules[file].root, dir);

    return d ? target_of(d, file, item) : NULL;
}

struct target *target_get(struct executor *e, unsigned file, const char *dir, const char *item)
{
    struct target_dir *d = dir_find(e, file_rules[file].root, dir);

    if (!d && !path_is_usable(dir))
        return NULL;
    if (!d)
        d = dir_get(e, file_rules[file].root, dir, strlen(dir));
    return target_in(d, file, item);
}

void target_list(struct executor *e, struct target *t)
{
    if (t->listed)
        return;
    t->listed = true;
    vec_push(&e->changed, t);
}

static void target_free(struct target *t)
{
    value_forget(&t->want);
    value_forget(&t->is);
    value_forget(&t->first);
    free(t->item);
    free(t);
}

static void dir_free(struct target_dir *d)
{
    while (d->targets) {
        struct target *t = d->targets;
        d->targets = t->next;
        target_free(t);
    }
    free(d);
}

static void sweep_targets(struct target_dir *d)
{
    for (struct target **at = &d->targets; *at;) {
        struct target *t = *at;
        if (t->proposals || t->owned || t->listed || t->busy || t->waiting || t->read) {
            t->read = false;
            at = &t->next;
            continue;
        }
        *at = t->next;
        target_free(t);
    }
}

static bool dir_is_idle(const struct target_dir *d)
{
    return !d->targets && !d->first_child && !d->busy;
}

static void dir_drop(struct executor *e, struct target_dir *d)
{
    map_remove(&e->dirs, d->key, strlen(d->key));
    if (d->parent)
        for (struct target_dir **at = &d->parent->first_child; *at; at = &(*at)->next)
            if (*at == d) {
                *at = d->next;
                break;
            }
    dir_free(d);
}

void targets_sweep(struct executor *e)
{
    struct vec_of(struct target_dir *) idle = { 0 };

    map_foreach(&e->dirs, en) {
        sweep_targets(en->value);
        if (dir_is_idle(en->value))
            vec_push(&idle, (struct target_dir *)en->value);
    }
    /* A parent whose last child goes is next. */
    while (idle.n > 0) {
        struct target_dir *d = vec_pop(&idle), *parent = d->parent;
        dir_drop(e, d);
        if (parent && dir_is_idle(parent))
            vec_push(&idle, parent);
    }
    vec_fini(&idle);
}

void targets_fini(struct executor *e)
{
    map_foreach(&e->dirs, en)
        dir_free(en->value);
    map_fini(&e->dirs);
}
