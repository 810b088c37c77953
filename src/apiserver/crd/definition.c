/* definition.c - CustomResourceDefinition as a kind: defaults, status, validation.
 *
 * Fields that are the same in all versions are judged once and named as if they stood in the spec
 * itself (spec.validation, spec.subresources, spec.additionalPrinterColumns): kube-apiserver does,
 * and people search for its messages.
 */
#include <ctype.h>
#include <stdio.h>

#include "api/names.h"
#include "apiserver/crd/internal.h"
#include "apiserver/crd/jsonpath.h"
#include "apiserver/schema/tables.h"

/* ---- defaults, status ---------------------------------------------------------------------------
 */

static struct kj_mval *member(struct kj_mdoc *d, struct kj_mval *obj, const char *key)
{
    struct kj_mval *m = kj_mget(obj, key);
    if (kj_mtype(m) != KJ_OBJ) {
        m = kj_mobj(d);
        kj_mset(d, obj, key, m);
    }
    return m;
}

static void set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    enum { HTTPS = 443 };
    struct kj_mval *spec = member(d, obj, "spec"), *names = member(d, spec, "names");
    const char *kind = str_or(kj_mstr_get(kj_mget(names, "kind")), "");
    CLEANUP(mem_free) char *lower = xstrdup(kind), *list = xasprintf("%sList", kind);

    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    if (*kind && str_empty(kj_mstr_get(kj_mget(names, "singular"))))
        kj_mset(d, names, "singular", kj_mstr(d, lower));
    if (*kind && str_empty(kj_mstr_get(kj_mget(names, "listKind"))))
        kj_mset(d, names, "listKind", kj_mstr(d, list));
    if (!kj_mget(spec, "conversion"))
        kj_mset(d, member(d, spec, "conversion"), "strategy", kj_mstr(d, "None"));
    struct kj_mval *webhook = kj_mget(kj_mget(spec, "conversion"), "webhook");
    struct kj_mval *service = kj_mget(kj_mget(webhook, "clientConfig"), "service");
    if (kj_mtype(service) == KJ_OBJ && kj_mtype(kj_mget(service, "port")) <= KJ_NULL)
        kj_mset(d, service, "port", kj_mi64(d, HTTPS));
}

static bool is_true(const struct kj_mval *v)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = v ? kj_freeze(v) : NULL;
    return kj_bool(kj_root(doc), false);
}

/* The storage version is one that was stored from now on. */
static void add_stored_version(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *versions = kj_mget(kj_mget(obj, "spec"), "versions");
    struct kj_mval *status = member(d, obj, "status"), *stored = kj_mget(status, "storedVersions");

    if (kj_mtype(stored) != KJ_ARR) {
        stored = kj_marr(d);
        kj_mset(d, status, "storedVersions", stored);
    }
    for (size_t i = 0; i < kj_mlen(versions); i++) {
        struct kj_mval *v = kj_mat(versions, i);
        const char *name = str_or(kj_mstr_get(kj_mget(v, "name")), "");
        bool there = !is_true(kj_mget(v, "storage"));
        for (size_t k = 0; k < kj_mlen(stored) && !there; k++)
            there = streq(str_or(kj_mstr_get(kj_mat(stored, k)), ""), name);
        if (!there)
            kj_mpush(stored, kj_mstr(d, name));
    }
}

static void prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                    const struct kj_val *old, nsec_t now)
{
    static const char fresh[] = "{\"conditions\":null,\"acceptedNames\":{\"plural\":\"\","
                                "\"kind\":\"\"},\"storedVersions\":[]}";
    (void)old, (void)now;
    if (verb == RES_STATUS)
        return;
    if (verb == RES_CREATE) {
        CLEANUP(kj_doc_free) struct kj_doc *status = NULL;
        (void)kj_parse(fresh, sizeof fresh - 1, 0, &status, NULL);
        kj_mset(d, obj, "status", kj_mcopy(d, kj_root(status)));
    }
    add_stored_version(d, obj);
}

/* It waits until finalize.c has deleted its objects. */
static void terminate(struct kj_mdoc *d, struct kj_mval *obj, nsec_t now)
{
    static const struct definition_condition pending = {
        "Terminating", "True", "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    };
    struct kj_mval *meta = kj_mget(obj, "metadata"), *list = kj_mget(meta, "finalizers");
    bool there = false;

    if (kj_mtype(list) != KJ_ARR) {
        list = kj_marr(d);
        kj_mset(d, meta, "finalizers", list);
    }
    for (size_t i = 0; i < kj_mlen(list); i++)
        there |= streq(str_or(kj_mstr_get(kj_mat(list, i)), ""), CRD_FINALIZER);
    if (!there)
        kj_mpush(list, kj_mstr(d, CRD_FINALIZER));
    (void)member(d, obj, "status");
    definition_set_condition(d, obj, now, &pending);
}

/* ---- validation: names --------------------------------------------------------------------------
 */

#define LABEL_WORDS                                                                           \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with " \
    "an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "   \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

static bool is_label(const char *s, bool any_case)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool letter = islower(c) || (any_case && isupper(c));
        if (!(letter || (i > 0 && isdigit(c)) || (i > 0 && i + 1 < n && c == '-')))
            return false;
    }
    return n > 0 && n <= 63;
}

void definition_check_label(const char *path, const char *name, struct field_errors *e)
{
    if (!is_label(name, false))
        field_error_text(e, FIELD_INVALID, path, name, LABEL_WORDS);
}

static const char *text_at(const struct kj_val *obj, const char *key)
{
    return kj_str_or(kj_get(obj, key), "");
}

static void check_label(const char *path, const char *name, bool any_case, struct field_errors *e)
{
    if (!is_label(name, any_case))
        field_error_text(e, FIELD_INVALID, path, name, "%s" LABEL_WORDS,
                         any_case ? "may have mixed case, but should otherwise match: " : "");
}

static void check_name(const char *path, const char *name, bool any_case, struct field_errors *e)
{
    if (!*name)
        field_error(e, FIELD_REQUIRED, path, NULL, NULL);
    else
        check_label(path, name, any_case, e);
}

static void check_list(const struct kj_val *names, const char *key, struct field_errors *e)
{
    const struct kj_val *list = kj_get(names, key);
    char path[64];

    for (size_t i = 0; i < kj_len(list); i++) {
        (void)snprintf(path, sizeof path, "spec.names.%s[%zu]", key, i);
        check_name(path, kj_str_or(kj_at(list, i), ""), false, e);
    }
}

static void check_names(const struct kj_val *names, struct field_errors *e)
{
    const char *kind = text_at(names, "kind"), *list = text_at(names, "listKind");

    check_name("spec.names.plural", text_at(names, "plural"), false, e);
    check_name("spec.names.singular", text_at(names, "singular"), false, e);
    check_name("spec.names.kind", kind, true, e);
    check_name("spec.names.listKind", list, true, e);
    check_list(names, "shortNames", e);
    check_list(names, "categories", e);
    if (*kind && streq(kind, list))
        field_error_text(e, FIELD_INVALID, "spec.names.listKind", list,
                         "kind and listKind may not be the same");
}

static bool is_protected(const char *group)
{
    return streq(group, "k8s.io") || str_ends(group, ".k8s.io") || streq(group, "kubernetes.io") ||
           str_ends(group, ".kubernetes.io");
}

static void check_identity(const struct kj_val *obj, bool created, struct field_errors *e)
{
    const struct kj_val *spec = kj_get(obj, "spec"), *meta = kj_get(obj, "metadata");
    const char *group = text_at(spec, "group"), *name = text_at(meta, "name");
    const char *plural = text_at(kj_get(spec, "names"), "plural"), *why;
    CLEANUP(mem_free) char *want = xasprintf("%s.%s", plural, group);

    if (*name && !streq(name, want))
        field_error_text(e, FIELD_INVALID, "metadata.name", name,
                         "must be spec.names.plural+\".\"+spec.group");
    if (created && is_protected(group) &&
        !kj_get(kj_get(meta, "annotations"), "api-approved.kubernetes.io"))
        field_error(e, FIELD_REQUIRED, "metadata.annotations[api-approved.kubernetes.io]", NULL,
                    "protected groups must have approval annotation "
                    "\"api-approved.kubernetes.io\", see "
                    "https://github.com/kubernetes/enhancements/pull/1111");
    if (!*group)
        field_error(e, FIELD_REQUIRED, "spec.group", NULL, NULL);
    else if ((why = name_check_dns_subdomain(str_of(group))))
        field_error_text(e, FIELD_INVALID, "spec.group", group, "%s", why);
    else if (!strchr(group, '.'))
        field_error_text(e, FIELD_INVALID, "spec.group", group,
                         "should be a domain with at least one dot");
    const char *scope = text_at(spec, "scope");
    if (!*scope)
        field_error(e, FIELD_REQUIRED, "spec.scope", NULL, NULL);
    else if (!streq(scope, "Cluster") && !streq(scope, "Namespaced"))
        field_error_text(e, FIELD_NOT_SUPPORTED, "spec.scope", scope,
                         "supported values: \"Cluster\", \"Namespaced\"");
}

/* ---- validation: versions -----------------------------------------------------------------------
 */

/* The list of versions as it stands in kube-apiserver's message: its Go structs. */
static void versions_text(const struct kj_val *versions, struct strbuf *out)
{
    strbuf_appendc(out, '[');
    for (size_t i = 0; i < kj_len(versions); i++) {
        const struct kj_val *v = kj_at(versions, i);
        strbuf_append(out, i ? ",{\"Name\":" : "{\"Name\":");
        kj_append_string(out, text_at(v, "name"), strlen(text_at(v, "name")));
        strbuf_appendf(out,
                       ",\"Served\":%s,\"Storage\":%s,\"Deprecated\":false,"
                       "\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,"
                       "\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}",
                       kj_bool(kj_get(v, "served"), false) ? "true" : "false",
                       kj_bool(kj_get(v, "storage"), false) ? "true" : "false");
    }
    strbuf_appendc(out, ']');
}

static void check_version_list(const struct kj_val *versions, struct field_errors *e)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    size_t storage = 0;
    bool unique = true;
    char path[64];

    for (size_t i = 0; i < kj_len(versions); i++) {
        const struct kj_val *v = kj_at(versions, i);
        const char *name = text_at(v, "name");
        storage += kj_bool(kj_get(v, "storage"), false);
        for (size_t k = 0; k < i; k++)
            unique &= !streq(text_at(kj_at(versions, k), "name"), name);
        (void)snprintf(path, sizeof path, "spec.versions[%zu].name", i);
        check_label(path, name, false, e);
        if (kj_type(kj_path(v, "schema.openAPIV3Schema")) != KJ_OBJ) {
            (void)snprintf(path, sizeof path, "spec.versions[%zu].schema.openAPIV3Schema", i);
            field_error(e, FIELD_REQUIRED, path, NULL, NULL);
        }
    }
    const char *first = text_at(kj_at(versions, 0), "name");
    if (*first) /* kube-apiserver says it twice: the field of old had this name */
        check_name("spec.version", first, false, e);
    versions_text(versions, &text);
    if (!unique)
        field_error(e, FIELD_INVALID, "spec.versions", text.data,
                    "must contain unique version names");
    if (storage != 1)
        field_error(e, FIELD_INVALID, "spec.versions", text.data,
                    "must have exactly one version marked as storage version");
}

static void check_column(const struct kj_val *c, const char *where, struct field_errors *e)
{
    const char *type = text_at(c, "type"), *path = text_at(c, "jsonPath");
    CLEANUP(mem_free) char *at_name = xasprintf("%s.name", where);
    CLEANUP(mem_free) char *at_type = xasprintf("%s.type", where);
    CLEANUP(mem_free) char *at_path = xasprintf("%s.JSONPath", where);
    static const char *const types[] = { "boolean", "date", "integer", "number", "string" };
    bool known = false;

    if (!*text_at(c, "name"))
        field_error(e, FIELD_REQUIRED, at_name, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        known |= streq(types[i], type);
    if (!*type)
        field_error(e, FIELD_REQUIRED, at_type, NULL,
                    "must be one of boolean,date,integer,number,string");
    else if (!known)
        field_error_text(e, FIELD_INVALID, at_type, type,
                         "must be one of boolean,date,integer,number,string");
    if (!*path)
        field_error(e, FIELD_REQUIRED, at_path, NULL, NULL);
    else if (!jsonpath_is_valid(path))
        field_error_text(e, FIELD_INVALID, at_path, path,
                         "must be a simple json path starting with .");
}

static void check_replicas_path(const struct kj_val *scale, const char *where, const char *key,
                                const char *root, struct field_errors *e)
{
    const char *path = text_at(scale, key);
    CLEANUP(mem_free) char *at = xasprintf("%s.scale.%s", where, key);

    if (!*path)
        field_error(e, FIELD_REQUIRED, at, NULL, NULL);
    else if (!jsonpath_is_valid(path) || strpbrk(path, "[]"))
        field_error_text(e, FIELD_INVALID, at, path,
                         "should be a json path without array notation");
    else if (!str_starts(path, root) || path[strlen(root)] != '.')
        field_error_text(e, FIELD_INVALID, at, path, "should be a json path under %s", root);
}

/* One version, or what all have in common: where is "spec" or "spec.versions[1]". */
enum part { SCHEMA = 1, SUBRESOURCES = 2, COLUMNS = 4, SELECTABLE = 8 };

/* Does a stored version of the same name have the same schema? */
static bool is_stored(const struct kj_val *v, const struct kj_val *versions)
{
    for (size_t i = 0; i < kj_len(versions); i++) {
        const struct kj_val *old = kj_at(versions, i);
        if (streq(text_at(old, "name"), text_at(v, "name")))
            return kj_equal(kj_get(old, "schema"), kj_get(v, "schema"));
    }
    return false;
}

/* Does a stored version of the same name have as many selectable fields, the same ones? */
static bool is_stored_selection(const struct kj_val *v, const struct kj_val *versions)
{
    for (size_t i = 0; i < kj_len(versions); i++)
        if (streq(text_at(kj_at(versions, i), "name"), text_at(v, "name")))
            return kj_equal(kj_get(kj_at(versions, i), "selectableFields"),
                            kj_get(v, "selectableFields"));
    return false;
}

/* They are judged by a schema of the same place: kube-apiserver refuses fields that differ between
 * versions whose schemas do not, and the reverse. */
static void check_selectable(const struct kj_val *v, const struct kj_val *old, const char *where,
                             bool schema, bool hoisted, struct field_errors *e)
{
    const struct kj_val *list = kj_get(v, "selectableFields");
    CLEANUP(mem_free) char *at = xasprintf("%s.selectableFields", where);

    if (kj_len(list) > 0 && !schema)
        field_error_text(e, FIELD_INVALID, at, "",
                         hoisted ? "may only be set when validations.schema is included"
                                 : "may only be set when `version.schema.openAPIV3Schema` is not "
                                   "included");
    else
        selectable_check(list, kj_path(v, "schema.openAPIV3Schema"), at,
                         is_stored_selection(v, old), e);
}

static void check_version(const struct kj_val *v, const struct kj_val *old, const char *where,
                          unsigned parts, bool hoisted, struct field_errors *e)
{
    const struct kj_val *schema = kj_path(v, "schema.openAPIV3Schema");
    const struct kj_val *sub = kj_get(v, "subresources"), *scale = kj_get(sub, "scale");
    const struct kj_val *columns = kj_get(v, "additionalPrinterColumns");

    if ((parts & SCHEMA) && kj_type(schema) == KJ_OBJ) {
        CLEANUP(mem_free)
        char *at = xasprintf("%s.%s.openAPIV3Schema", where, hoisted ? "validation" : "schema");
        structural_validate(schema, at, is_stored(v, old), e);
    }
    if ((parts & SUBRESOURCES) && kj_type(scale) == KJ_OBJ) {
        CLEANUP(mem_free) char *at = xasprintf("%s.subresources", where);
        check_replicas_path(scale, at, "specReplicasPath", ".spec", e);
        check_replicas_path(scale, at, "statusReplicasPath", ".status", e);
    }
    for (size_t i = 0; (parts & COLUMNS) && i < kj_len(columns); i++) {
        CLEANUP(mem_free) char *at = xasprintf("%s.additionalPrinterColumns[%zu]", where, i);
        check_column(kj_at(columns, i), at, e);
    }
    if (parts & SELECTABLE)
        check_selectable(v, old, where, parts & SCHEMA, hoisted, e);
}

static void check_versions(const struct kj_val *versions, const struct kj_val *old,
                           struct field_errors *e)
{
    static const struct {
        const char *key;
        unsigned part;
    } parts[] = { { "schema", SCHEMA },
                  { "subresources", SUBRESOURCES },
                  { "additionalPrinterColumns", COLUMNS },
                  { "selectableFields", SELECTABLE } };
    const struct kj_val *first = kj_at(versions, 0);
    unsigned common = 0;

    check_version_list(versions, e);
    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        bool same = kj_len(versions) > 0;
        for (size_t i = 1; i < kj_len(versions) && same; i++)
            same = kj_equal(kj_get(first, parts[p].key), kj_get(kj_at(versions, i), parts[p].key));
        common |= same ? parts[p].part : 0;
    }
    for (size_t i = 0; i < kj_len(versions); i++) {
        CLEANUP(mem_free) char *at = xasprintf("spec.versions[%zu]", i);
        check_version(kj_at(versions, i), old, at, ~common, false, e);
    }
    check_version(first, old, "spec", common, true, e);
}

/* ---- validation: the rest -----------------------------------------------------------------------
 */

static void check_conversion(const struct kj_val *spec, const struct kj_val *old,
                             struct field_errors *e)
{
    conversion_check(kj_get(spec, "conversion"), old, e);
    if (kj_bool(kj_get(spec, "preserveUnknownFields"), false))
        field_error(e, FIELD_INVALID, "spec.preserveUnknownFields", "true",
                    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                    "spec.versions[*].schema instead");
}

static void check_stored(const struct kj_val *obj, struct field_errors *e)
{
    const struct kj_val *stored = kj_path(obj, "status.storedVersions");
    const struct kj_val *versions = kj_path(obj, "spec.versions");
    char path[64];

    if (kj_len(stored) == 0)
        field_error(e, FIELD_INVALID, "status.storedVersions", "null",
                    "must have at least one stored version");
    for (size_t i = 0; i < kj_len(stored); i++) {
        const char *name = kj_str_or(kj_at(stored, i), "");
        bool there = false;
        for (size_t k = 0; k < kj_len(versions) && !there; k++)
            there = streq(text_at(kj_at(versions, k), "name"), name);
        if (there)
            continue;
        (void)snprintf(path, sizeof path, "status.storedVersions[%zu]", i);
        field_error_text(
            e, FIELD_INVALID, path, name,
            "missing from spec.versions; %s was previously a storage version, and must "
            "remain in spec.versions until a storage migration ensures no data remains "
            "persisted in %s and removes %s from status.storedVersions",
            name, name, name);
    }
}

bool definition_is_established(const struct kj_val *obj)
{
    const struct kj_val *c =
        jsonpath_first(".status.conditions[?(@.type==\"Established\")].status", obj);
    return streq(kj_str_or(c, ""), "True");
}

bool definition_is_terminating(const struct kj_val *obj)
{
    const struct kj_val *c =
        jsonpath_first(".status.conditions[?(@.type==\"Terminating\")].status", obj);
    return streq(kj_str_or(c, ""), "True");
}

static void check_immutable(const struct kj_val *obj, const struct kj_val *old,
                            struct field_errors *e)
{
    static const struct {
        const char *path;
        bool always;
    } fields[] = { { "spec.scope", false },
                   { "spec.names.kind", false },
                   { "spec.group", true },
                   { "spec.names.plural", true } };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *now = kj_str_or(kj_path(obj, fields[i].path), "");
        if ((fields[i].always || definition_is_established(old)) &&
            !streq(now, kj_str_or(kj_path(old, fields[i].path), "")))
            field_error_text(e, FIELD_INVALID, fields[i].path, now, "field is immutable");
    }
}

static void validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                     struct field_errors *e)
{
    const struct kj_val *spec = kj_get(obj, "spec");

    /* What did not change was fine once; a name that changed is told once, as immutable. */
    bool changed = !old || !kj_equal(spec, kj_get(old, "spec"));
    if (verb != RES_STATUS && changed) {
        size_t before = field_errors_count(e);
        if (old)
            check_immutable(obj, old, e);
        if (field_errors_count(e) > before)
            return;
        check_identity(obj, !old, e);
        check_versions(kj_get(spec, "versions"), kj_path(old, "spec.versions"), e);
        check_names(kj_get(spec, "names"), e);
        check_conversion(spec, old, e);
    }
    check_stored(obj, e);
}

/* ---- the resource -------------------------------------------------------------------------------
 */

static const struct res_strategy strategy = {
    .set_defaults = set_defaults, .prepare = prepare, .terminate = terminate, .validate = validate
};

static void cell_name(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *name = kj_str_or(kj_path(obj, "metadata.name"), "");
    (void)now;
    kj_append_string(out, name, strlen(name));
}

static void cell_created(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *t = kj_str_or(kj_path(obj, "metadata.creationTimestamp"), "");
    (void)now;
    kj_append_string(out, t, strlen(t));
}

static const struct res_column columns[] = {
    { .name = "Name", .type = "string", .cell = cell_name },
    { .name = "Created At", .type = "date", .cell = cell_created },
};

static const struct resource resource = {
    .group = "apiextensions.k8s.io",
    .version = "v1",
    .kind = "CustomResourceDefinition",
    .list_kind = "CustomResourceDefinitionList",
    .plural = "customresourcedefinitions",
    .singular = "customresourcedefinition",
    .short_names = "crd,crds",
    .categories = "api-extensions",
    .has_status = true,
    .generation = true,
    .stored_as = "apiextensions.k8s.io/v1beta1",
    .subresources = "status",
    .store_res = "customresourcedefinitions.apiextensions.k8s.io",
    .type = &extensions_definition,
    .strategy = &strategy,
    .columns = columns,
    .ncolumns = ARRAY_LEN(columns),
};

const struct resource *crd_resource(void)
{
    return &resource;
}
