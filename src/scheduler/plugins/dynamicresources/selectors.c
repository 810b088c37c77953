/* selectors.c - what selectors and constraints say of devices, kept until the pool changes. */
#include "base/strbuf.h"
#include "cel/device.h"
#include "scheduler/plugins/dynamicresources/pools.h"
#include "sys/tzone.h"

struct attribute {
    uint32_t number;
    uint64_t serial, used;
    char name[];
};
struct selections {
    uint64_t clock, serial;
    struct map by_key;                     /* struct selection */
    struct selection *all[SELECTIONS_MAX]; /* by number */
    struct map by_name;                    /* struct attribute */
    struct attribute *attributes[SELECTIONS_MAX];
    struct arena *scratch;
};

/* ---- selections ------------------------------------------------------------------------------ */

static void selection_free(struct selection *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        cel_expr_free(s->selectors[i].expr);
        free(s->selectors[i].broken);
    }
    free(s->selectors);
    free(s->class_name);
    free(s);
}

static const char *text_of(const struct device_selector *s)
{
    return s->cel ? s->cel->expression : "";
}

static void add_texts(struct strbuf *key, const device_selectorlist *l)
{
    strbuf_appendf(key, "%u:", l->n);
    for (uint32_t i = 0; i < l->n; i++)
        strbuf_appendf(key, "%zu:%s", strlen(text_of(&l->items[i])), text_of(&l->items[i]));
}

/* Expressions were checked when they were stored: what was known then is known, whatever the gates
 * are. */
static void compile(struct selection *s, const device_selectorlist *l, bool of_class)
{
    static const struct cel_device_env env = { .consumable = true, .zone = tzone_offset_of };

    for (uint32_t i = 0; i < l->n; i++) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        struct selector *to = &s->selectors[s->n++];
        const char *text = text_of(&l->items[i]);
        *to = (struct selector){ .of_class = of_class, .index = i };
        if (cel_device_compile(&env, text, strlen(text), &to->expr, &why) == CEL_OK)
            continue;
        to->expr = cel_expr_free(to->expr);
        to->broken = xstrdup(strbuf_str(&why));
    }
}

/* A number that is free, or whose user was asked for longest ago. */
#define FREE_NUMBER(list, ret)                                             \
    do {                                                                   \
        *(ret) = 0;                                                        \
        for (uint32_t i_ = 0; i_ < SELECTIONS_MAX && (list)[*(ret)]; i_++) \
            if (!(list)[i_] || (list)[i_]->used < (list)[*(ret)]->used)    \
                *(ret) = i_;                                               \
    } while (0)

static struct selection *selection_new(struct selections *all, const struct device_class *class,
                                       const device_selectorlist *selectors,
                                       const struct strbuf *key)
{
    struct selection *s = xcalloc(1, sizeof *s + key->len + 1);
    uint32_t number;

    FREE_NUMBER(all->all, &number);
    if (all->all[number]) {
        map_removez(&all->by_key, all->all[number]->key);
        selection_free(all->all[number]);
    }
    all->all[number] = s;
    s->number = number;
    s->serial = ++all->serial;
    s->class_name = xstrdup(class->obj.meta.name);
    memcpy(s->key, strbuf_str(key), key->len + 1);
    s->selectors = xnewn0(class->spec.selectors.n + selectors->n + 1, struct selector);
    compile(s, &class->spec.selectors, true);
    compile(s, selectors, false);
    map_putz(&all->by_key, s->key, s);
    return s;
}

const struct selection *selection_of(struct selections *all, const struct device_class *class,
                                     const device_selectorlist *selectors)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "%s/", class->obj.meta.name);
    add_texts(&key, &class->spec.selectors);
    add_texts(&key, selectors);
    struct selection *s = map_getz(&all->by_key, strbuf_str(&key));
    if (!s)
        s = selection_new(all, class, selectors, &key);
    s->used = ++all->clock;
    return s;
}

/* ---- devices by selection -------------------------------------------------------------------- */

static struct cel_device_attr attr_of(const struct device_attribute_entry *e)
{
    const struct device_attribute *v = &e->value;
    struct cel_device_attr a = { .name = str_of(e->name) };

    if (v->int_value.set) {
        a.kind = CEL_ATTR_INT;
        a.i = v->int_value.v;
    } else if (v->bool_value.set) {
        a.kind = CEL_ATTR_BOOL;
        a.b = v->bool_value.v;
    } else if (v->version_value) {
        a.kind = CEL_ATTR_VERSION;
        a.s = str_of(v->version_value);
    } else {
        a.kind = CEL_ATTR_STRING;
        a.s = str_of(str_or(v->string_value, ""));
    }
    return a;
}

static struct cel_val value_of(const struct pool *p, const struct slice_device *d, struct arena *a)
{
    struct cel_device_attr *attrs = arena_newn0(a, d->attributes.n, struct cel_device_attr);
    struct cel_device_capacity *capacity =
        arena_newn0(a, d->capacity.n, struct cel_device_capacity);
    struct cel_device *device = arena_new0(a, struct cel_device);

    for (uint32_t i = 0; i < d->attributes.n; i++)
        attrs[i] = attr_of(&d->attributes.items[i]);
    for (uint32_t i = 0; i < d->capacity.n; i++)
        capacity[i] = (struct cel_device_capacity){ str_of(d->capacity.items[i].name),
                                                    d->capacity.items[i].value.value };
    *device = (struct cel_device){
        .driver = str_of(p->driver),
        .attrs = attrs,
        .capacity = capacity,
        .n_attrs = d->attributes.n,
        .n_capacity = d->capacity.n,
        .allow_multiple = p->in->gates.consumable && d->allow_multiple_allocations.set &&
                          d->allow_multiple_allocations.v,
    };
    return cel_device_value(a, device);
}

static const char *failure_text(const struct selection *s, const struct selector *at,
                                const char *step, const char *why, struct arena *a)
{
    if (at->of_class)
        return arena_printf(a, "class %s: selector #%u: CEL %s error: %s", s->class_name, at->index,
                            step, why);
    return arena_printf(a, "selector #%u: CEL %s error: %s", at->index, step, why);
}

enum answer { ACCEPTS_NOT, ACCEPTS, FAILS, HAS_NO_TIME };

/* FAILS: with a text in the scratch. */
static enum answer evaluate(const struct selection *s, const struct pool *p,
                            const struct slice_device *d, const struct cel_interrupt *stop,
                            struct arena *scratch, const char **ret_failure)
{
    struct cel_val device = s->n ? value_of(p, d, scratch) : (struct cel_val){ 0 };

    for (uint32_t i = 0; i < s->n; i++) {
        const struct selector *at = &s->selectors[i];
        struct cel_val v;
        uint64_t cost;
        if (at->broken) {
            *ret_failure = failure_text(s, at, "compile", at->broken, scratch);
            return FAILS;
        }
        enum cel_failure f =
            cel_device_match(at->expr, device, CEL_LIMIT_CALL, stop, scratch, &v, &cost);
        if (f == CEL_STOPPED)
            return HAS_NO_TIME;
        if (f != CEL_OK) {
            const char *why = arena_strndup(scratch, v.s, v.n);
            *ret_failure = failure_text(s, at, "runtime", why, scratch);
            return FAILS;
        }
        if (!v.b)
            return ACCEPTS_NOT;
    }
    return ACCEPTS;
}

static void match_free(struct match *m)
{
    for (uint32_t i = 0; m && i < m->nfailures; i++)
        free(m->failures[i]);
    if (m)
        free(m->failures);
    free(m);
}

/* The one that was begun, or a new one. */
static struct match *match_begin(struct pool *p, const struct selection *s)
{
    while (p->matches.n <= s->number)
        vec_push(&p->matches, NULL);
    struct match *m = p->matches.items[s->number];
    if (m && m->of == s->serial)
        return m;
    match_free(m);
    m = xcalloc(1, sizeof *m + 2 * p->nwords * sizeof(uint64_t));
    p->matches.items[s->number] = m;
    m->of = s->serial;
    m->accepted = (uint64_t *)(m + 1);
    m->failed = m->accepted + p->nwords;
    return m;
}

static void match_note(struct match *m, const struct pool *p, enum answer r, const char *failure)
{
    uint32_t i = m->nlooked++;
    uint64_t bit = UINT64_C(1) << (i % 64);

    m->accepted[i / 64] |= r == ACCEPTS ? bit : 0;
    if (r != FAILS)
        return;
    m->failed[i / 64] |= bit;
    if (!m->failures) {
        m->failures = xnewn0(p->ndevices, char *);
        m->nfailures = p->ndevices;
    }
    m->failures[i] = xstrdup(failure);
}

const struct match *match_make(struct pool *p, const struct selection *s,
                               const struct patience *patience)
{
    struct arena *scratch = p->in->selections->scratch;
    struct match *m = match_begin(p, s);
    struct cel_interrupt stop = { 0 };

    if (patience)
        stop = (struct cel_interrupt){ patience->is_over, patience->arg };
    while (m->nlooked < p->ndevices) {
        const char *failure = NULL;
        if (s->n && patience_is_over(patience))
            return NULL;
        arena_reset(scratch);
        enum answer r =
            evaluate(s, p, p->devices[m->nlooked].d, patience ? &stop : NULL, scratch, &failure);
        if (r == HAS_NO_TIME)
            return NULL;
        match_note(m, p, r, failure);
    }
    m->serial = s->serial;
    return m;
}

/* ---- attributes ------------------------------------------------------------------------------ */

bool attr_value_equal(struct attr_value a, struct attr_value b)
{
    if (a.type != b.type)
        return false;
    return a.type < ATTR_STRING ? a.i == b.i : a.s == b.s || streq(a.s, b.s);
}

static struct attr_value value_in(const struct device_attribute *v)
{
    if (v->int_value.set)
        return (struct attr_value){ ATTR_INT, { .i = v->int_value.v } };
    if (v->bool_value.set)
        return (struct attr_value){ ATTR_BOOL, { .i = v->bool_value.v } };
    if (v->string_value)
        return (struct attr_value){ ATTR_STRING, { .s = v->string_value } };
    if (v->version_value)
        return (struct attr_value){ ATTR_VERSION, { .s = v->version_value } };
    return (struct attr_value){ ATTR_ABSENT, { .i = 0 } };
}

static const struct device_attribute *find(const struct slice_device *d, const char *name)
{
    for (uint32_t i = 0; i < d->attributes.n; i++)
        if (streq(d->attributes.items[i].name, name))
            return &d->attributes.items[i].value;
    return NULL;
}

/* By its full name, or without the domain where that is the driver's. */
static struct attr_value look_up(const struct pool *p, const struct slice_device *d,
                                 const char *name)
{
    const struct device_attribute *v = find(d, name);
    size_t n = strlen(p->driver);

    if (!v && strncmp(name, p->driver, n) == 0 && name[n] == '/')
        v = find(d, name + n + 1);
    return v ? value_in(v) : (struct attr_value){ ATTR_ABSENT, { .i = 0 } };
}

const struct attr_column *attr_column_make(struct pool *p, uint32_t number, uint64_t serial,
                                           const char *name)
{
    while (p->columns.n <= number)
        vec_push(&p->columns, NULL);
    free(p->columns.items[number]);
    struct attr_column *c = xcalloc(1, sizeof *c + p->ndevices * sizeof *c->values);
    p->columns.items[number] = c;
    c->serial = serial;
    for (uint32_t i = 0; i < p->ndevices; i++)
        c->values[i] = look_up(p, p->devices[i].d, name);
    return c;
}

uint32_t attribute_number(struct selections *all, const char *name, uint64_t *ret_serial)
{
    struct attribute *at = map_getz(&all->by_name, name);
    uint32_t number;

    if (!at) {
        FREE_NUMBER(all->attributes, &number);
        if (all->attributes[number]) {
            map_removez(&all->by_name, all->attributes[number]->name);
            free(all->attributes[number]);
        }
        at = xcalloc(1, sizeof *at + strlen(name) + 1);
        memcpy(at->name, name, strlen(name) + 1);
        at->number = number;
        at->serial = ++all->serial;
        all->attributes[number] = at;
        map_putz(&all->by_name, at->name, at);
    }
    at->used = ++all->clock;
    *ret_serial = at->serial;
    return at->number;
}

/* ---- life ------------------------------------------------------------------------------------ */

void pool_drop_derived(struct pool *p)
{
    vec_foreach(&p->matches, i)
        match_free(p->matches.items[i]);
    vec_foreach(&p->columns, i)
        free(p->columns.items[i]);
    vec_clear(&p->matches);
    vec_clear(&p->columns);
}

struct selections *selections_new(void)
{
    struct selections *s = xnew0(struct selections);

    s->scratch = arena_new();
    return s;
}

struct selections *selections_free(struct selections *s)
{
    if (!s)
        return NULL;
    for (uint32_t i = 0; i < SELECTIONS_MAX; i++) {
        if (s->all[i])
            selection_free(s->all[i]);
        free(s->attributes[i]);
    }
    map_fini(&s->by_key);
    map_fini(&s->by_name);
    arena_free(s->scratch);
    free(s);
    return NULL;
}
