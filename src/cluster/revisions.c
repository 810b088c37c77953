/* revisions.c - ControllerRevisions: found by their content, made, renewed, forgotten. */
#include "cluster/revisions.h"

#include <stdio.h>

#include "controllers/claim.h"

enum { NAME_MAX_REVISION = 223 }; /* as long as upstream lets the set's name be */

/* ---- templates ----------------------------------------------------------------------------- */

/* What counts of a template. */
static struct kj_mval *plain(struct kj_mdoc *d, const struct kj_val *template)
{
    struct kj_mval *copy = kj_mcopy(d, template), *meta = kj_mget(copy, "metadata");

    kj_mdel(copy, "$patch", strlen("$patch"));
    if (meta)
        kj_mdel(meta, "creationTimestamp", strlen("creationTimestamp"));
    return copy;
}

const char *revision_template(const struct revision *r, struct arena *a)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!r->data_json || kj_parse(r->data_json, strlen(r->data_json), 0, &doc, NULL) < 0)
        return NULL;
    const struct kj_val *template = kj_path(kj_root(doc), "spec.template");
    if (kj_type(template) != KJ_OBJ)
        return NULL;
    kj_mwrite(plain(d, template), 0, &text);
    return arena_strndup(a, text.data, text.len);
}

static bool has_template(const struct revision *r, const struct kj_mval *template)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!r->data_json || kj_parse(r->data_json, strlen(r->data_json), 0, &doc, NULL) < 0)
        return false;
    const struct kj_val *mine = kj_path(kj_root(doc), "spec.template");
    return kj_type(mine) == KJ_OBJ && kj_mequal(plain(d, mine), template);
}

/* ---- writes -------------------------------------------------------------------------------- */

/* The first name that no other revision of the namespace has: usually that of the template. */
static const char *choose_name(struct revset *s, struct batch *b, const struct revowner *o,
                               const struct kj_mval *template, char hash[HASH_NAME_MAX])
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct arena *a = batch_arena(b);

    kj_mwrite(template, KJ_SORTED, &text);
    size_t base = text.len;
    for (;;) {
        text.len = base;
        if (s->collisions.set)
            strbuf_append_i64(&text, s->collisions.v);
        hash_name(text.data, text.len, hash);
        const char *name =
            arena_printf(a, "%.*s-%s", (int)NAME_MAX_REVISION, o->obj->meta.name, hash);
        if (!informer_get(o->revisions, arena_printf(a, "%s/%s", o->obj->meta.ns, name)))
            return name;
        s->collisions = (struct opt_i32){ true, s->collisions.v + 1 };
    }
}

static struct kj_mval *annotations(struct kj_mdoc *d, const struct kobj *o)
{
    struct kj_mval *out = kj_mobj(d);

    for (uint32_t i = 0; i < o->meta.annotations.n; i++)
        kj_mset(d, out, o->meta.annotations.items[i].key,
                kj_mstr(d, o->meta.annotations.items[i].value));
    return out;
}

static struct kj_mval *labels(struct kj_mdoc *d, const struct kj_mval *template, const char *key,
                              const char *hash)
{
    struct kj_mval *meta = kj_mget(template, "metadata");
    struct kj_mval *have = meta ? kj_mget(meta, "labels") : NULL;
    struct kj_mval *out = have ? kj_mclone(d, have) : kj_mobj(d);

    kj_mset(d, out, key, kj_mstr(d, hash));
    return out;
}

static void create(struct revset *s, struct batch *b, const struct revowner *o, struct kj_mdoc *d,
                   struct kj_mval *template, int64_t number)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kj_mval *obj = kj_mobj(d), *meta = kj_mobj(d), *spec = kj_mobj(d), *data = kj_mobj(d);
    char hash[HASH_NAME_MAX];
    const char *name = choose_name(s, b, o, template, hash);

    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mset(d, meta, "labels", labels(d, template, o->hash_label, hash));
    kj_mset(d, meta, "annotations", annotations(d, o->obj));
    kj_mset(d, meta, "ownerReferences", owner_value(d, o->obj));
    kj_mset(d, template, "$patch", kj_mstr(d, "replace"));
    kj_mset(d, spec, "template", template);
    kj_mset(d, data, "spec", spec);
    kj_mset(d, obj, "apiVersion", kj_mstr(d, "apps/v1"));
    kj_mset(d, obj, "kind", kj_mstr(d, "ControllerRevision"));
    kj_mset(d, obj, "metadata", meta);
    kj_mset(d, obj, "data", data);
    kj_mset(d, obj, "revision", kj_mi64(d, number));
    kj_mwrite(obj, KJ_SORTED, &body); /* as Go writes maps: programs compare the bytes of data */
    batch_create(b, &doc_revision, o->obj->meta.ns, &body, NULL, NULL);
}

/* A template that was used before is today's again: kubectl rollout undo. */
static void renew(struct batch *b, const struct revision *r, int64_t number)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    meta_write_version(&w, &r->obj);
    kjw_i64(&w, "revision", number);
    kjw_end(&w);
    batch_patch(b, &r->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* ---- the set ------------------------------------------------------------------------------- */

static int by_age(const void *x, const void *y)
{
    const struct revision *a = revision_of(*(struct kobj *const *)x);
    const struct revision *b = revision_of(*(struct kobj *const *)y);

    if (a->revision != b->revision)
        return a->revision < b->revision ? -1 : 1;
    if (a->obj.meta.created != b->obj.meta.created)
        return a->obj.meta.created < b->obj.meta.created ? -1 : 1;
    return strcmp(a->obj.meta.name, b->obj.meta.name);
}

static void find_update(struct revset *s, struct batch *b, const struct revowner *o)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int64_t newest = s->all.n ? revision_of(vec_last(&s->all))->revision : 0;
    const struct revision *same = NULL;

    if (!o->template_json ||
        kj_parse(o->template_json, strlen(o->template_json), 0, &doc, NULL) < 0)
        return;
    struct kj_mval *template = plain(d, kj_root(doc));
    for (size_t i = s->all.n; i > 0 && !same; i--)
        if (has_template(revision_of(s->all.items[i - 1]), template))
            same = revision_of(s->all.items[i - 1]);
    if (!same)
        create(s, b, o, d, template, newest + 1);
    else if (same->revision < newest)
        renew(b, same, newest + 1);
    else
        s->update = same;
}

void revset_init(struct revset *s, struct batch *b, const struct revowner *o)
{
    struct labelsel *selector;
    struct kerr err = { 0 };

    *s = (struct revset){ .collisions = o->collisions };
    if (labelsel_from(o->selector, batch_arena(b), &selector, &err) < 0)
        return;
    bool settled = claim_children(
        b, &(struct claim){ .owner = o->obj, .selector = selector, .children = o->revisions },
        &s->all);
    if (s->all.n)
        qsort(s->all.items, s->all.n, sizeof *s->all.items, by_age);
    if (settled && o->obj->meta.deleted == 0)
        find_update(s, b, o);
}

void revset_fini(struct revset *s)
{
    vec_fini(&s->all);
}

const struct revision *revset_find(const struct revset *s, const char *name)
{
    vec_foreach(&s->all, i)
        if (streq(s->all.items[i]->meta.name, name))
            return revision_of(s->all.items[i]);
    return NULL;
}

void revset_trim(const struct revset *s, struct batch *b, int64_t limit, rev_live_fn is_live,
                 const void *arg)
{
    kobjvec old = { 0 };

    vec_foreach(&s->all, i)
        if (!is_live(arg, revision_of(s->all.items[i])) && !s->all.items[i]->meta.deleted)
            vec_push(&old, s->all.items[i]);
    for (size_t i = 0; (int64_t)(old.n - i) > limit; i++)
        batch_delete(b, old.items[i], &(struct delete_opts){ .grace = -1 }, NULL, NULL);
    vec_fini(&old);
}
