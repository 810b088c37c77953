/* status.c - conditions and accepted names of a definition. */
#include <stdio.h>

#include "apiserver/crd/serve.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "loop/loop.h"

/* ---- are the names free?
 * -------------------------------------------------------------------------
 */

static bool in_list(const char *comma_separated, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = comma_separated; p && *p;) {
        size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, name, n) == 0)
            return true;
        p += len;
        p += *p == ',';
    }
    return false;
}

/* Does another served resource of the group have this name (or kind)? */
static bool is_taken(const struct crds *c, const struct definition *def, const char *name,
                     bool is_kind)
{
    const struct res_table *t = apiserver_resources(c->s);
    const struct resource *r;

    for (size_t i = 0; *name && (r = res_table_at(t, i)); i++) {
        if (!streq(r->group, def->group) || streq(r->plural, def->plural))
            continue;
        if (is_kind ? streq(r->kind, name) || streq(r->list_kind, name)
                    : streq(r->plural, name) || streq(r->singular, name) ||
                          in_list(r->short_names, name))
            return true;
    }
    return false;
}

bool names_conflict(const struct crds *c, const struct definition *def, const char **ret_reason,
                    char message[160])
{
    const struct kj_val *names = kj_root(def->names), *shorts = kj_get(names, "shortNames");
    const struct {
        const char *name, *reason;
        bool is_kind;
    } all[] = {
        { kj_str_or(kj_get(names, "plural"), ""), "PluralConflict", false },
        { kj_str_or(kj_get(names, "singular"), ""), "SingularConflict", false },
        { kj_str_or(kj_get(names, "kind"), ""), "KindConflict", true },
        { kj_str_or(kj_get(names, "listKind"), ""), "ListKindConflict", true },
    };
    bool conflict = false;

    for (size_t i = 0; i < kj_len(shorts); i++) {
        const char *name = kj_str_or(kj_at(shorts, i), "");
        if (is_taken(c, def, name, false)) {
            conflict = true;
            *ret_reason = "ShortNamesConflict";
            (void)snprintf(message, 160, "\"%.120s\" is already in use", name);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(all); i++) /* the last one is told, as in kube-apiserver */
        if (is_taken(c, def, all[i].name, all[i].is_kind)) {
            conflict = true;
            *ret_reason = all[i].reason;
            (void)snprintf(message, 160, "\"%.120s\" is already in use", all[i].name);
        }
    return conflict;
}

/* ---- the status
 * ----------------------------------------------------------------------------------
 */

static const struct kj_val *find_condition(const struct kj_val *status, const char *type)
{
    const struct kj_val *list = kj_get(status, "conditions");
    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_get(kj_at(list, i), "type"), ""), type))
            return kj_at(list, i);
    return NULL;
}

void definition_set_condition(struct kj_mdoc *d, struct kj_mval *obj, nsec_t now,
                              const struct definition_condition *c)
{
    struct kj_mval *status = kj_mget(obj, "status"), *list = kj_mget(status, "conditions");
    struct kj_mval *found = NULL;
    char when[KTIME_TEXT_MAX];

    if (kj_mtype(list) != KJ_ARR) {
        list = kj_marr(d);
        kj_mset(d, status, "conditions", list);
    }
    for (size_t i = 0; i < kj_mlen(list) && !found; i++)
        if (streq(str_or(kj_mstr_get(kj_mget(kj_mat(list, i), "type")), ""), c->type))
            found = kj_mat(list, i);
    if (!found) {
        found = kj_mobj(d);
        kj_mset(d, found, "type", kj_mstr(d, c->type));
        kj_mpush(list, found);
    }
    if (!streq(str_or(kj_mstr_get(kj_mget(found, "status")), ""), c->status)) {
        ktime_format(now, when);
        kj_mset(d, found, "status", kj_mstr(d, c->status));
        kj_mset(d, found, "lastTransitionTime", kj_mstr(d, when));
    }
    kj_mset(d, found, "reason", kj_mstr(d, c->reason));
    kj_mset(d, found, "message", kj_mstr(d, c->message));
}

static struct kj_mval *condition(struct kj_mdoc *d, const struct kj_val *status, const char *now,
                                 const char *type, bool is_true, const char *reason,
                                 const char *message)
{
    const struct kj_val *old = find_condition(status, type);
    const char *value = is_true ? "True" : "False";
    bool same = streq(kj_str_or(kj_get(old, "status"), ""), value);
    struct kj_mval *c = kj_mobj(d);

    kj_mset(d, c, "type", kj_mstr(d, type));
    kj_mset(d, c, "status", kj_mstr(d, value));
    kj_mset(d, c, "lastTransitionTime",
            kj_mstr(d, same ? kj_str_or(kj_get(old, "lastTransitionTime"), now) : now));
    kj_mset(d, c, "reason", kj_mstr(d, reason));
    kj_mset(d, c, "message", kj_mstr(d, message));
    return c;
}

static struct kj_mval *accepted_names(struct crds *c, struct kj_mdoc *d,
                                      const struct definition *def)
{
    struct kj_mval *names;
    if (def->accepted)
        return kj_mcopy(d, kj_root(def->names));
    names = kj_mobj(d);
    kj_mset(d, names, "plural",
            kj_mstr(d, is_taken(c, def, def->plural, false) ? "" : def->plural));
    kj_mset(d, names, "kind", kj_mstr(d, ""));
    return names;
}

static struct kj_mval *new_status(struct crds *c, struct kj_mdoc *d, const struct definition *def,
                                  const struct kj_val *old)
{
    struct kj_mval *status = kj_mobj(d), *conditions = kj_marr(d);
    const char *reason = "NoConflicts";
    char now[KTIME_TEXT_MAX], message[160] = "no conflicts found";
    struct kj_iter it = kj_iter(kj_get(old, "conditions"));
    const struct kj_val *v;
    struct str key;

    ktime_format(loop_wall(apiserver_loop(c->s)), now);
    if (!def->accepted)
        (void)names_conflict(c, def, &reason, message);
    kj_mpush(conditions, condition(d, old, now, "NamesAccepted", def->accepted, reason, message));
    kj_mpush(conditions, condition(d, old, now, "Established", def->accepted,
                                   def->accepted ? "InitialNamesAccepted" : "NotAccepted",
                                   def->accepted ? "the initial names have been accepted"
                                                 : "not all names are accepted"));
    while (kj_next(&it, &key, &v)) { /* what others may have put there */
        const char *type = kj_str_or(kj_get(v, "type"), "");
        if (!streq(type, "NamesAccepted") && !streq(type, "Established"))
            kj_mpush(conditions, kj_mcopy(d, v));
    }
    kj_mset(d, status, "conditions", conditions);
    kj_mset(d, status, "acceptedNames", accepted_names(c, d, def));
    kj_mset(d, status, "storedVersions",
            kj_get(old, "storedVersions") ? kj_mcopy(d, kj_get(old, "storedVersions"))
                                          : kj_marr(d));
    return status;
}

static void on_stored(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)arg, (void)rev;
    if (err)
        KLOG_E(err, "Failed to store the status of a CustomResourceDefinition");
}

int definition_read(struct crds *c, const char *name, struct kj_doc **ret, uint64_t *ret_rev,
                    struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct store_key k = { crd_resource()->store_res, "", name };
    int e = store_get_latest(apiserver_store(c->s), &k, &text, ret_rev, err);

    return e < 0 ? e : kj_parse(text.data, text.len, KJ_RAW_NUMBERS, ret, err);
}

/* The text of obj with the resourceVersion that comes next. */
static void write_next(struct crds *c, struct kj_mdoc *d, struct kj_mval *obj, struct strbuf *out)
{
    char next[24];

    (void)snprintf(next, sizeof next, "%llu",
                   (unsigned long long)store_next_revision(apiserver_store(c->s)));
    kj_mset(d, kj_mget(obj, "metadata"), "resourceVersion", kj_mstr(d, next));
    kj_mwrite(obj, 0, out);
}

int definition_put(struct crds *c, const char *name, struct kj_mdoc *d, struct kj_mval *obj,
                   uint64_t from, store_done_fn fn, void *arg, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct store_key k = { crd_resource()->store_res, "", name };

    write_next(c, d, obj, &out);
    return store_put(apiserver_store(c->s), &k, from, out.data, out.len, fn, arg, err);
}

int definition_remove(struct crds *c, const char *name, struct kj_mdoc *d, struct kj_mval *obj,
                      uint64_t from, store_done_fn fn, void *arg, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct store_key k = { crd_resource()->store_res, "", name };

    write_next(c, d, obj, &out);
    return store_delete(apiserver_store(c->s), &k, from, out.data, out.len, fn, arg, err);
}

void status_update(struct crds *c, const struct definition *def)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *fresh = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kerr err = { 0 };
    uint64_t rev;

    if (definition_read(c, def->name, &doc, &rev, &err) < 0)
        return;
    const struct kj_val *old = kj_get(kj_root(doc), "status");
    struct kj_mval *status = new_status(c, d, def, old);
    fresh = kj_freeze(status);
    if (kj_equal(kj_root(fresh), old))
        return;
    struct kj_mval *obj = kj_mcopy(d, kj_root(doc));
    kj_mset(d, obj, "status", status);
    if (definition_put(c, def->name, d, obj, rev, on_stored, NULL, &err) < 0)
        KLOG_E(&err, "Failed to update the status of a CustomResourceDefinition",
               KV_S("name", def->name));
}
