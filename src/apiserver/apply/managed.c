/* managed.c - owners of fields through updates and applies. */
#include "apiserver/apply/managed.h"
#include "base/strbuf.h"

/* ---- the list -----------------------------------------------------------------------------------
 */

static const char *text_of(struct arena *a, const struct kj_val *entry, const char *key)
{
    return arena_strdup(a, kj_str_or(kj_get(entry, key), ""));
}

static int read_entry(struct managed *m, const struct kj_val *entry, size_t at, bool ours,
                      struct kerr *err)
{
    const char *operation = kj_str_or(kj_get(entry, "operation"), "");
    struct manager who = { .name = text_of(m->arena, entry, "manager"),
                           .api_version = text_of(m->arena, entry, "apiVersion"),
                           .subresource = text_of(m->arena, entry, "subresource"),
                           .time = text_of(m->arena, entry, "time"),
                           .applied = streq(operation, "Apply") };

    if (!who.applied && !streq(operation, "Update"))
        return kerr_set(err, -EINVAL, "operation must be `Apply` or `Update`");
    if (!*who.api_version)
        return kerr_set(err, -EINVAL, "apiVersion must not be empty");
    const char *slash = strchr(who.api_version, '/');
    m->broken = m->broken || (slash && strchr(slash + 1, '/'));
    const char *type = kj_str_or(kj_get(entry, "fieldsType"), "");
    if (!*type)
        return kerr_set(err, -EINVAL, "missing fieldsType in managed fields entry %zu", at);
    if (!streq(type, "FieldsV1"))
        return kerr_set(err, -EINVAL, "invalid fieldsType \"%.40s\" in managed fields entry %zu",
                        type, at);
    const struct kj_val *fields = kj_get(entry, "fieldsV1");
    int e = fields ? fields_read(m->arena, fields, ours, &who.fields, err) : 0;
    if (e == 0)
        vec_push(&m->list, who);
    return e;
}

static int by_identity(const void *x, const void *y)
{
    const struct manager *a = *(struct manager *const *)x, *b = *(struct manager *const *)y;
    int d = a->applied - b->applied;

    d = d ? d : strcmp(a->name, b->name);
    d = d ? d : strcmp(a->subresource, b->subresource);
    return d || a->applied ? d : strcmp(a->api_version, b->api_version);
}

static int by_identity_and_place(const void *x, const void *y)
{
    const struct manager *a = *(struct manager *const *)x, *b = *(struct manager *const *)y;
    int d = by_identity(x, y);

    return d ? d : (a > b) - (a < b);
}

/* Of several entries of one manager the last counts. */
static void drop_replaced(struct managed *m)
{
    struct manager **sorted = arena_newn0(m->arena, m->list.n + 1, struct manager *);
    size_t n = 0;

    vec_foreach(&m->list, i)
        sorted[i] = &m->list.items[i];
    qsort(sorted, m->list.n, sizeof *sorted, by_identity_and_place);
    for (size_t i = 0; i + 1 < m->list.n; i++)
        if (by_identity(&sorted[i], &sorted[i + 1]) == 0)
            sorted[i]->name = NULL;
    vec_foreach(&m->list, i)
        if (m->list.items[i].name)
            m->list.items[n++] = m->list.items[i];
    m->list.n = n;
}

int managed_read(struct managed *ret, struct arena *a, const struct kj_val *list, bool ours,
                 struct kerr *err)
{
    int e = 0;

    *ret = (struct managed){ .arena = a };
    for (size_t i = 0; e == 0 && kj_type(list) == KJ_ARR && i < kj_len(list); i++)
        e = read_entry(ret, kj_at(list, i), i, ours, err);
    if (e < 0)
        vec_clear(&ret->list);
    if (ret->list.n > 1)
        drop_replaced(ret);
    return e;
}

void managed_fini(struct managed *m)
{
    vec_fini(&m->list);
}

static int in_order(const void *x, const void *y)
{
    const struct manager *a = x, *b = y;
    int d = b->applied - a->applied;

    d = d ? d : strcmp(a->time, b->time);
    d = d ? d : strcmp(a->name, b->name);
    d = d ? d : strcmp(a->api_version, b->api_version);
    return d ? d : strcmp(a->subresource, b->subresource);
}

static struct kj_mval *write_entry(const struct manager *who, struct kj_mdoc *d)
{
    struct kj_mval *out = kj_mobj(d);

    if (*who->name)
        kj_mset(d, out, "manager", kj_mstr(d, who->name));
    kj_mset(d, out, "operation", kj_mstr(d, who->applied ? "Apply" : "Update"));
    if (*who->api_version)
        kj_mset(d, out, "apiVersion", kj_mstr(d, who->api_version));
    if (*who->time)
        kj_mset(d, out, "time", kj_mstr(d, who->time));
    kj_mset(d, out, "fieldsType", kj_mstr(d, "FieldsV1"));
    kj_mset(d, out, "fieldsV1", fields_value(who->fields, d));
    if (*who->subresource)
        kj_mset(d, out, "subresource", kj_mstr(d, who->subresource));
    return out;
}

static void drop_empty(struct managed *m)
{
    size_t n = 0;

    vec_foreach(&m->list, i)
        if (!fields_empty(m->list.items[i].fields))
            m->list.items[n++] = m->list.items[i];
    m->list.n = n;
}

struct kj_mval *managed_write(struct managed *m, struct kj_mdoc *d)
{
    drop_empty(m);
    if (m->list.n == 0)
        return NULL;
    qsort(m->list.items, m->list.n, sizeof *m->list.items, in_order);
    struct kj_mval *out = kj_marr(d);
    vec_foreach(&m->list, i)
        kj_mpush(out, write_entry(&m->list.items[i], d));
    return out;
}

/* One that applies has one entry, whichever version it used last. */
static struct manager *find(struct managed *m, const struct managed_op *op, bool applied)
{
    vec_foreach(&m->list, i) {
        struct manager *who = &m->list.items[i];
        if (who->applied == applied && streq(who->name, op->manager) &&
            streq(who->subresource, op->subresource) &&
            (applied || streq(who->api_version, op->api_version)))
            return who;
    }
    return NULL;
}

/* ---- what nobody owns ---------------------------------------------------------------------------
 */

/* Type, name and what only the server writes. */
static const struct fields *the_servers(struct arena *a)
{
    static const char *const top[] = { "f:apiVersion", "f:kind", "f:metadata" };
    static const char *const meta[] = { "f:name",       "f:namespace",     "f:creationTimestamp",
                                        "f:selfLink",   "f:uid",           "f:clusterName",
                                        "f:generation", "f:managedFields", "f:resourceVersion" };
    struct field_at metadata = { .element = str_of("f:metadata") };
    struct fields *s = fields_new(a);

    for (size_t i = 0; i < ARRAY_LEN(top); i++)
        fields_insert(a, s, &(struct field_at){ .element = str_of(top[i]) });
    for (size_t i = 0; i < ARRAY_LEN(meta); i++)
        fields_insert(a, s, &(struct field_at){ .up = &metadata, .element = str_of(meta[i]) });
    return s;
}

/* ---- updates ------------------------------------------------------------------------------------
 */

static const struct fields *changed(struct arena *a, const struct typed_diff *diff)
{
    return fields_union(a, diff->modified, diff->added);
}

/* Who owned what was changed or removed does not any more. */
static void others_lose(struct managed *m, const struct typed_diff *diff, const struct manager *me)
{
    const struct fields *lost = fields_union(m->arena, changed(m->arena, diff), diff->removed);

    vec_foreach(&m->list, i) {
        struct manager *who = &m->list.items[i];
        if (who != me)
            who->fields = fields_minus(m->arena, who->fields, lost);
    }
}

static int by_age(const void *x, const void *y)
{
    const struct manager *a = *(struct manager *const *)x, *b = *(struct manager *const *)y;
    int d = strcmp(a->time, b->time);

    d = d ? d : strcmp(a->name, b->name);
    return d ? d : strcmp(a->api_version, b->api_version);
}

/* Too many who update: the oldest of each version become one. */
static void put_old_together(struct managed *m)
{
    static const char *const ancient = "ancient-changes";
    struct vec_of(struct manager *) old = { 0 };

    drop_empty(m);
    vec_foreach(&m->list, i)
        if (!m->list.items[i].applied)
            vec_push(&old, &m->list.items[i]);
    size_t many = old.n;
    if (old.n)
        qsort(old.items, old.n, sizeof *old.items, by_age);
    for (size_t i = 0; i < old.n && many > MANAGERS_MAX; i++) {
        struct manager *who = old.items[i], *first = NULL;
        for (size_t j = 0; j < i && !first; j++)
            if (streq(old.items[j]->api_version, who->api_version) &&
                !fields_empty(old.items[j]->fields))
                first = old.items[j];
        if (!first)
            continue;
        first->name = ancient;
        first->subresource = "";
        first->time = who->time;
        first->fields = fields_union(m->arena, who->fields, first->fields);
        who->fields = NULL;
        many--;
    }
    vec_fini(&old);
    drop_empty(m);
}

void managed_update(struct managed *m, const struct managed_op *op, const struct kj_val *before,
                    const struct kj_val *after)
{
    struct arena *a = m->arena;
    struct typed_diff diff = typed_compare(a, op->shape, before, after);
    const struct fields *mine = fields_without(a, changed(a, &diff), op->ignored);

    others_lose(m, &diff, NULL);
    mine = fields_minus(a, mine, the_servers(a));
    drop_empty(m);
    if (fields_empty(mine))
        return;
    struct manager *me = find(m, op, false);
    if (!me) {
        vec_push(&m->list, ((struct manager){ .name = op->manager,
                                              .api_version = op->api_version,
                                              .subresource = op->subresource }));
        me = &vec_last(&m->list);
    }
    me->fields = fields_union(a, me->fields, mine);
    me->time = op->now;
    put_old_together(m);
}

/* ---- applies ------------------------------------------------------------------------------------
 */

static const struct fields *fields_now(struct arena *a, const struct shape *s,
                                       const struct kj_val *v)
{
    return typed_with_parents(a, s, typed_fields(a, s, v));
}

static struct kj_doc *without(const struct shape *s, const struct kj_val *v,
                              const struct fields *gone)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    return kj_freeze(typed_remove(d, s, v, gone));
}

/* What the manager named last time and does not name any more goes, unless somebody else owns it;
 * and nothing goes with it that the manager did not own. */
static struct kj_doc *prune(struct managed *m, const struct shape *s, const struct kj_val *merged,
                            const struct fields *last)
{
    CLEANUP(kj_doc_free) struct kj_doc *bare = NULL, *owned = NULL;
    struct arena *a = m->arena;
    const struct fields *all = NULL, *had = fields_now(a, s, merged);

    last = typed_with_parents(a, s, last);
    vec_foreach(&m->list, i)
        all = fields_union(a, all, m->list.items[i].fields);
    all = typed_with_parents(a, s, all);
    bare = without(s, merged, last);
    const struct fields *stay = fields_union(a, fields_now(a, s, kj_root(bare)), all);
    owned = without(s, merged, fields_minus(a, had, stay));
    const struct fields *gone = fields_minus(a, had, fields_now(a, s, kj_root(owned)));
    return without(s, merged, fields_both(a, gone, last));
}

struct telling {
    struct managed_conflicts *to;
    struct arena *a;
    const char *manager;
};

static void tell(void *arg, const char *path)
{
    struct telling *t = arg;
    struct managed_conflict c = { t->manager, arena_strdup(t->a, path) };

    vec_push(t->to, c);
}

static const char *describe(struct arena *a, const struct manager *who)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    strbuf_append_quoted(&text, who->name, strlen(who->name));
    if (*who->subresource) {
        strbuf_append(&text, " with subresource ");
        strbuf_append_quoted(&text, who->subresource, strlen(who->subresource));
    }
    if (!who->applied)
        strbuf_appendf(&text, " using %s", who->api_version);
    return arena_strdup(a, strbuf_str(&text));
}

static int find_conflicts(struct managed *m, const struct managed_op *op,
                          const struct typed_diff *diff, const struct manager *me,
                          struct managed_conflicts *ret)
{
    const struct fields *touched = changed(m->arena, diff);

    vec_foreach(&m->list, i) {
        const struct manager *who = &m->list.items[i];
        if (who == me)
            continue;
        const struct fields *theirs = fields_both(m->arena, who->fields, touched);
        theirs = fields_minus(m->arena, theirs, op->allowed);
        if (!fields_empty(theirs))
            fields_each(theirs, tell, &(struct telling){ ret, m->arena, describe(m->arena, who) });
    }
    return ret->n ? -EBUSY : 0;
}

/* The entry of this applier, made anew; *ret_last what it owned before. */
static size_t begin_apply(struct managed *m, const struct managed_op *op,
                          const struct kj_val *document, const struct fields **ret_last)
{
    struct arena *a = m->arena;
    struct manager *me = find(m, op, true);

    if (!me) {
        vec_push(&m->list, ((struct manager){ .name = op->manager,
                                              .subresource = op->subresource,
                                              .time = "",
                                              .applied = true }));
        me = &vec_last(&m->list);
    }
    *ret_last = fields_without(a, me->fields, op->ignored);
    me->api_version = op->api_version;
    me->fields = fields_without(a, typed_fields(a, op->shape, document), op->ignored);
    return (size_t)(me - m->list.items);
}

int managed_apply(struct managed *m, const struct managed_op *op, const struct kj_val *live,
                  const struct kj_val *document, struct kj_mdoc *d, struct kj_mval **ret,
                  struct managed_conflicts *conflicts, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *merged = NULL;
    const struct fields *last;
    int e = typed_check(op->shape, document, err);

    if (e < 0)
        return e;
    struct kj_mval *tree = typed_merge(d, op->shape, live, document);
    merged = kj_view(tree);
    size_t at = begin_apply(m, op, document, &last);
    struct manager *me = &m->list.items[at];
    /* Nothing that it named is left out: nothing goes. The usual case, and pruning is the larger
     * part of an apply. */
    if (!fields_empty(fields_minus(m->arena, last, me->fields))) {
        struct kj_doc *pruned = prune(m, op->shape, kj_root(merged), last);
        kj_doc_free(merged);
        merged = pruned;
        tree = NULL;
    }
    struct typed_diff diff = typed_compare(m->arena, op->shape, live, kj_root(merged));
    e = op->force ? 0 : find_conflicts(m, op, &diff, me, conflicts);
    if (e < 0)
        return kerr_set(err, e, "conflicts");
    others_lose(m, &diff, me);
    me->fields = fields_minus(m->arena, me->fields, the_servers(m->arena));
    bool same = kj_equal(live, kj_root(merged));
    if (!same)
        me->time = op->now;
    *ret = same ? NULL : tree ? tree : kj_mcopy(d, kj_root(merged));
    drop_empty(m);
    return 0;
}
