/* meta.c - the rules of metadata: names, labels, annotations, owners, finalizers. */
#include <ctype.h>
#include <stdio.h>

#include "api/names.h"
#include "apiserver/registry/internal.h"
#include "base/map.h"
#include "base/num.h"

enum { ANNOTATIONS_MAX = 256 << 10, NAME_RANDOM = 5, GENERATED_BASE_MAX = 58 };

void uid_new(struct loop *l, char out[37])
{
    uint64_t a = loop_rand(l), b = loop_rand(l);
    a = (a & ~UINT64_C(0xf000)) | 0x4000;                          /* version 4 */
    b = (b & ~(UINT64_C(3) << 62)) | UINT64_C(0x8000000000000000); /* variant 10 */
    (void)snprintf(out, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xffff, (unsigned)(b >> 48),
                   (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}

void meta_generate_name(struct loop *l, const char *base, struct strbuf *out)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* no words, nothing alike */
    size_t n = strlen(base);
    strbuf_appendn(out, base, MIN(n, (size_t)GENERATED_BASE_MAX));
    for (int i = 0; i < NAME_RANDOM; i++)
        strbuf_appendc(out, letters[loop_rand_below(l, sizeof letters - 1)]);
}

static bool is_one_of(const struct resource *r, const char *const *list)
{
    for (; *list; list++) {
        const char *dot = strchr(*list, '.');
        size_t n = dot ? (size_t)(dot - *list) : strlen(*list);
        if (strlen(r->plural) == n && memcmp(*list, r->plural, n) == 0 &&
            streq(r->group, dot ? dot + 1 : ""))
            return true;
    }
    return false;
}

/* Where a PUT without resourceVersion is refused. */
bool allows_unconditional(const struct resource *r)
{
    static const char *const refuse[] = {
        "leases.coordination.k8s.io",
        "poddisruptionbudgets.policy",
        "customresourcedefinitions.apiextensions.k8s.io",
        "csinodes.storage.k8s.io",
        "csidrivers.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        NULL
    };
    return !r->crd && !is_one_of(r, refuse);
}

/* Where a PUT of what is not there makes it. */
bool allows_create_on_update(const struct resource *r)
{
    static const char *const list[] = { "leases.coordination.k8s.io", "events",
                                        "events.events.k8s.io", "endpoints", NULL };
    return is_one_of(r, list) || streq(r->group, "rbac.authorization.k8s.io");
}

/* Where DELETE answers with the object instead of a Status. */
bool returns_deleted(const struct resource *r)
{
    static const char *const list[] = { "pods",
                                        "services",
                                        "serviceaccounts",
                                        "persistentvolumes",
                                        "persistentvolumeclaims",
                                        "podtemplates",
                                        "resourcequotas",
                                        NULL };
    /* Of storage.k8s.io all but one. */
    bool whole = streq(r->group, "resource.k8s.io") ||
                 (streq(r->group, "storage.k8s.io") && !streq(r->plural, "csistoragecapacities"));

    return whole || is_one_of(r, list);
}

const char *path_segment_problem(struct str s)
{
    if (str_eqz(s, "."))
        return "may not be '.'";
    if (str_eqz(s, ".."))
        return "may not be '..'";
    if (memchr(s.p, '/', s.n))
        return "may not contain '/'";
    if (memchr(s.p, '%', s.n))
        return "may not contain '%'";
    return NULL;
}

static const char *check_name(const struct resource *r, struct str name)
{
    static const char *const labels[] = { "namespaces", "statefulsets.apps", NULL };
    if (streq(r->group, "rbac.authorization.k8s.io"))
        return path_segment_problem(name);
    if (is_one_of(r, labels))
        return name_check_dns_label(name);
    return name_check_dns_subdomain(name);
}

/* A name may hold a NUL, which ends no JSON string. */
static struct str text_of(const struct kj_val *v)
{
    return (struct str){ kj_str_or(v, ""), kj_str(v) ? kj_len(v) : 0 };
}

static void check_names(const struct resource *r, const struct kj_val *meta,
                        struct field_errors *errors)
{
    struct str name = text_of(kj_get(meta, "name"));
    const char *gen = kj_str_or(kj_get(meta, "generateName"), "");
    const char *why;

    if (*gen) {
        struct str s = str_of(gen);
        while (s.n > 1 && s.p[s.n - 1] == '-')
            s.n--;
        why = check_name(r, s);
        if (why)
            field_error_text(errors, FIELD_INVALID, "metadata.generateName", gen, "%s", why);
    }
    if (!name.n)
        field_error(errors, FIELD_REQUIRED, "metadata.name", NULL,
                    "name or generateName is required");
    else if ((why = check_name(r, name))) {
        CLEANUP(strbuf_fini) struct strbuf quoted = STRBUF_INIT;
        strbuf_append_quoted(&quoted, name.p, name.n);
        field_error(errors, FIELD_INVALID, "metadata.name", quoted.data, "%s", why);
    }
}

void meta_check_labels(const struct kj_val *meta, struct field_errors *errors)
{
    struct kj_iter it = kj_iter(kj_get(meta, "labels"));
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *why = name_check_label_key(key);
        CLEANUP(mem_free) char *k = xstrndup(key.p, key.n);
        if (why)
            field_error_text(errors, FIELD_INVALID, "metadata.labels", k, "%s", why);
        why = name_check_label_value(text_of(v));
        if (why)
            field_error_text(errors, FIELD_INVALID, "metadata.labels", kj_str_or(v, ""), "%s", why);
    }
}

void meta_check_annotations(const struct kj_val *meta, struct field_errors *errors)
{
    struct kj_iter it = kj_iter(kj_get(meta, "annotations"));
    const struct kj_val *v;
    struct str key;
    size_t total = 0;

    while (kj_next(&it, &key, &v)) {
        CLEANUP(mem_free) char *k = xstrndup(key.p, key.n);
        total += key.n + kj_len(v);
        for (char *p = k; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        const char *why = name_check_label_key((struct str){ k, key.n });
        if (why)
            field_error_text(errors, FIELD_INVALID, "metadata.annotations", k, "%s", why);
    }
    if (total > ANNOTATIONS_MAX)
        field_error(errors, FIELD_TOO_LONG, "metadata.annotations", NULL,
                    "may not be more than %d bytes", ANNOTATIONS_MAX);
}

static void check_owner(const struct kj_val *o, struct field_errors *errors)
{
    static const char *const fields[] = { "kind", "name", "uid" };
    const char *version = kj_str_or(kj_get(o, "apiVersion"), "");
    const char *slash = strchr(version, '/');

    /* All without the index, as kube-apiserver says it. */
    if (!*(slash ? slash + 1 : version))
        field_error_text(errors, FIELD_INVALID, "metadata.ownerReferences.apiVersion", version,
                         "version must not be empty");
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        char path[64];
        if (*kj_str_or(kj_get(o, fields[f]), ""))
            continue;
        (void)snprintf(path, sizeof path, "metadata.ownerReferences.%s", fields[f]);
        field_error_text(errors, FIELD_INVALID, path, "", "must not be empty");
    }
    if (streq(version, "v1") && streq(kj_str_or(kj_get(o, "kind"), ""), "Event"))
        field_error_text(errors, FIELD_INVALID, "metadata.ownerReferences",
                         kj_str_or(kj_get(o, "name"), ""),
                         "/v1, Kind=Event is disallowed from being an owner");
}

static void check_owners(const struct kj_val *meta, struct field_errors *errors)
{
    const struct kj_val *list = kj_get(meta, "ownerReferences");
    const char *controller = NULL;

    for (size_t i = 0; i < kj_len(list) && kj_type(list) == KJ_ARR; i++) {
        const struct kj_val *o = kj_at(list, i);
        check_owner(o, errors);
        if (!kj_bool(kj_get(o, "controller"), false))
            continue;
        const char *name = kj_str_or(kj_get(o, "name"), "");
        if (controller)
            field_error_text(
                errors, FIELD_INVALID, "metadata.ownerReferences", name,
                "Only one reference can have Controller set to true. Found \"true\" in "
                "references for %s and %s",
                controller, name);
        controller = name;
    }
}

/* ---- owners that are named twice -------------------------------------------------------------- */

void meta_dedup_owners(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj,
                       bool after_admission)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    CLEANUP(strbuf_fini) struct strbuf uids = STRBUF_INIT;
    struct kj_mval *meta = kj_mget(obj, "metadata"), *list = kj_mget(meta, "ownerReferences");
    struct kj_miter it = kj_miter(list);
    struct kj_mval *owner, *kept;

    if (kj_mtype(list) != KJ_ARR || kj_mlen(list) < 2)
        return;
    kept = kj_marr(d);
    while (kj_mnext(&it, NULL, &owner)) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        kj_mwrite(owner, KJ_SORTED, &text);
        if (!map_get(&seen, text.data, text.len)) {
            (void)map_put(&seen, arena_strndup(c->arena, text.data, text.len), text.len, owner);
            kj_mpush(kept, kj_mclone(d, owner));
        } else {
            strbuf_appendf(&uids, "%s%s", uids.len ? ", " : "",
                           str_or(kj_mstr_get(kj_mget(owner, "uid")), ""));
        }
    }
    if (uids.len)
        kj_mset(d, meta, "ownerReferences", kept);
    if (uids.len)
        api_warn(c,
                 ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner "
                 "references in 1.20+, and may reject such requests as early as 1.24; please fix "
                 "your requests; duplicate UID(s) observed: %s",
                 after_admission ? " after mutating admission happens" : "", uids.data);
}

/* ---- finalizers ------------------------------------------------------------------------------ */

static bool list_has(const struct kj_val *list, const char *word)
{
    for (size_t i = 0; kj_type(list) == KJ_ARR && i < kj_len(list); i++)
        if (streq(kj_str_or(kj_at(list, i), ""), word))
            return true;
    return false;
}

static void check_finalizers(const struct kj_val *meta, const struct kj_val *old_meta,
                             struct field_errors *errors)
{
    const struct kj_val *list = kj_get(meta, "finalizers");
    CLEANUP(strbuf_fini) struct strbuf added = STRBUF_INIT;

    for (size_t i = 0; kj_type(list) == KJ_ARR && i < kj_len(list); i++) {
        const char *f = kj_str_or(kj_at(list, i), "");
        const char *why = name_check_label_key(str_of(f));
        if (why) /* without the index, as upstream */
            field_error_text(errors, FIELD_INVALID, "metadata.finalizers", f, "%s", why);
        if (!strchr(f, '/') && !streq(f, "foregroundDeletion") && !streq(f, "orphan") &&
            !streq(f, "kubernetes")) {
            char path[64];
            (void)snprintf(path, sizeof path, "metadata.finalizers[%zu]", i);
            field_error_text(errors, FIELD_INVALID, path, f,
                             "name is neither a standard finalizer name nor is it fully qualified");
        }
        if (!list_has(kj_get(old_meta, "finalizers"), f))
            strbuf_appendf(&added, "%s\"%s\"", added.len ? ", " : "", f);
    }
    if (list_has(list, "orphan") && list_has(list, "foregroundDeletion"))
        field_error_text(errors, FIELD_INVALID, "metadata.finalizers", "orphan",
                         "finalizers orphan and foregroundDeletion cannot be both set");
    if (added.len && kj_str(kj_get(old_meta, "deletionTimestamp")))
        field_error(errors, FIELD_FORBIDDEN, "metadata.finalizers", NULL,
                    "no new finalizers can be added if the object is being deleted, found new "
                    "finalizers []string{%s}",
                    added.data);
}

void meta_validate(const struct resource *r, const struct kj_val *obj, const struct kj_val *old,
                   struct field_errors *errors)
{
    const struct kj_val *meta = kj_get(obj, "metadata");
    int64_t generation = kj_i64_or(kj_get(meta, "generation"), 0);
    char text[24];

    if (!old)
        check_names(r, meta, errors);
    if (generation < 0) {
        (void)snprintf(text, sizeof text, "%lld", (long long)generation);
        field_error(errors, FIELD_INVALID, "metadata.generation", text,
                    "must be greater than or equal to 0");
    }
    meta_check_labels(meta, errors);
    meta_check_annotations(meta, errors);
    check_owners(meta, errors);
    check_finalizers(meta, old ? kj_get(old, "metadata") : NULL, errors);
}

int parse_rev(const char *text, uint64_t *ret_rev)
{
    *ret_rev = 0;
    return str_empty(text) ? 0 : u64_parse(text, strlen(text), ret_rev);
}

int parse_rev_param(const char *text, uint64_t *ret_rev, struct kerr *err)
{
    char q[80];

    if (parse_rev(text, ret_rev) == 0)
        return 0;
    text_quote(q, sizeof q, text, strlen(text));
    return kerr_set(err, -EINVAL,
                    "resourceVersion: Invalid value: %s: strconv.ParseUint: parsing %s: invalid "
                    "syntax",
                    q, q);
}
