/* core.c - small kinds of core/v1: config maps, secrets, accounts, quotas, templates. */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/b64.h"
#include "base/vec.h"

enum { DATA_MAX = 1 << 20 }; /* bytes in all values of a ConfigMap or Secret */

/* ---- config maps and secrets ----------------------------------------------------------------- */

static void check_keys(struct check *c, const char *field, const struct kj_val *data,
                       const struct kj_val *other, const char *other_name)
{
    struct kj_iter it = kj_iter(data);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *k = arena_strndup(c->a, key.p, key.n);
        check_config_key(c, at(c, "%s[%s]", field, k), k);
        if (other && kj_getn(other, key.p, key.n))
            err_invalid(c, at(c, "%s[%s]", field, k), k,
                        at(c, "duplicate of key present in %s", other_name));
    }
}

static size_t data_size(const struct kj_val *data, bool base64)
{
    struct kj_iter it = kj_iter(data);
    const struct kj_val *v;
    struct str key;
    size_t n = 0;

    while (kj_next(&it, &key, &v))
        n += base64 ? kj_len(v) / 4 * 3 : kj_len(v);
    return n;
}

static void check_frozen(struct check *c, const struct kj_val *obj, const struct kj_val *old,
                         const char *const *fields)
{
    static const char why[] = "field is immutable when `immutable` is set";

    if (!kj_bool(kj_get(old, "immutable"), false))
        return;
    if (!kj_bool(kj_get(obj, "immutable"), false))
        err_forbidden(c, "immutable", why);
    for (; *fields; fields++) {
        const struct kj_val *a = kj_get(obj, *fields), *b = kj_get(old, *fields);
        if ((kj_len(a) || kj_len(b)) && !(a && b && kj_equal(a, b)))
            err_forbidden(c, *fields, why);
    }
}

static void configmap_validate(enum res_verb verb, const struct kj_val *obj,
                               const struct kj_val *old, struct field_errors *errors)
{
    static const char *const frozen[] = { "data", "binaryData", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *data = kj_get(obj, "data"), *binary = kj_get(obj, "binaryData");

    check_keys(&c, "data", data, binary, "binaryData");
    check_keys(&c, "binaryData", binary, NULL, NULL);
    if (data_size(data, false) + data_size(binary, true) > DATA_MAX)
        field_error(errors, FIELD_TOO_LONG, "[]", NULL, "may not be more than %d bytes", DATA_MAX);
    if (verb == RES_UPDATE)
        check_frozen(&c, obj, old, frozen);
}
const struct res_strategy configmap_strategy = { .validate = configmap_validate };

/* stringData is for writing only: it ends up in data. */
static void secret_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *texts = kj_mget(obj, "stringData"), *v;
    struct kj_miter it = kj_miter(texts);
    struct str key;

    while (kj_mnext(&it, &key, &v)) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        b64_encode(str_or(kj_mstr_get(v), ""), kj_mlen(v), &b);
        kj_msetn(d, m_obj(d, obj, "data"), key.p, key.n, kj_mstrn(d, strbuf_str(&b), b.len));
    }
    if (texts)
        kj_mdel(obj, "stringData", strlen("stringData"));
}

static void require_key(struct check *c, const struct kj_val *data, const char *key)
{
    if (!v_has(data, key))
        err_required(c, at(c, "data[%s]", key), "");
}

static void check_config_json(struct check *c, const struct kj_val *data, const char *key)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    require_key(c, data, key);
    const char *s = v_str(data, key);
    if (v_has(data, key) &&
        (b64_decode(s, strlen(s), &b) < 0 || kj_parse(strbuf_str(&b), b.len, 0, &doc, &err) < 0))
        err_invalid(c, at(c, "data[%s]", key), "<secret contents redacted>",
                    err.text[0] ? err.text : "unexpected end of JSON input");
}

static void check_secret_type(struct check *c, const struct kj_val *obj)
{
    const char *type = v_str(obj, "type");
    const struct kj_val *data = kj_get(obj, "data");
    static const char account[] = "kubernetes.io/service-account.name";

    if (streq(type, "kubernetes.io/dockerconfigjson")) {
        check_config_json(c, data, ".dockerconfigjson");
    } else if (streq(type, "kubernetes.io/dockercfg")) {
        check_config_json(c, data, ".dockercfg");
    } else if (streq(type, "kubernetes.io/tls")) {
        require_key(c, data, "tls.crt");
        require_key(c, data, "tls.key");
    } else if (streq(type, "kubernetes.io/ssh-auth")) {
        require_key(c, data, "ssh-privatekey");
    } else if (streq(type, "kubernetes.io/basic-auth") && !v_has(data, "username") &&
               !v_has(data, "password")) {
        require_key(c, data, "username");
        require_key(c, data, "password");
    } else if (streq(type, "kubernetes.io/service-account-token") &&
               !*v_str(kj_path(obj, "metadata.annotations"), account)) {
        err_required(c, at(c, "metadata.annotations[%s]", account), "");
    }
}

static void secret_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                            struct field_errors *errors)
{
    static const char *const frozen[] = { "data", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);

    if (verb == RES_UPDATE && !streq(v_str(obj, "type"), v_str(old, "type")))
        err_invalid(&c, "type", v_str(obj, "type"), "field is immutable");
    if (verb == RES_UPDATE)
        check_frozen(&c, obj, old, frozen);
    if (field_errors_count(errors))
        return;
    check_keys(&c, "data", kj_get(obj, "data"), NULL, NULL);
    if (data_size(kj_get(obj, "data"), true) > DATA_MAX)
        field_error(errors, FIELD_TOO_LONG, "data", NULL, "may not be more than %d bytes",
                    DATA_MAX);
    check_secret_type(&c, obj);
}

static const char *secret_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    return streq(path, "type") ? v_text(obj, path, a) : NULL;
}
const struct res_strategy secret_strategy = { .set_defaults = secret_set_defaults,
                                              .validate = secret_validate,
                                              .field = secret_field };

static void cell_config_count(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    strbuf_append_i64(out,
                      (int64_t)(kj_len(kj_get(obj, "data")) + kj_len(kj_get(obj, "binaryData"))));
}
TEXT_CELL(cell_secret_type, "type", "")

static const struct res_column configmap_columns_list[] = {
    NAME_COLUMN,
    { .name = "Data", .type = "string", .cell = cell_config_count },
    AGE_COLUMN,
};
COLUMNS(configmap_columns);
static const struct res_column secret_columns_list[] = {
    NAME_COLUMN,
    { .name = "Type", .type = "string", .cell = cell_secret_type },
    { .name = "Data", .type = "string", .cell = cell_config_count },
    AGE_COLUMN,
};
COLUMNS(secret_columns);

/* ---- quotas, limits, templates --------------------------------------------------------------- */

/* A container's limits fill each other in: max -> default -> defaultRequest, min last. */
static void fill(struct kj_mdoc *d, struct kj_mval *item, const char *to, const char *from)
{
    struct kj_miter it = kj_miter(kj_mget(item, from));
    struct kj_mval *v;
    struct str key;

    while (kj_mnext(&it, &key, &v)) {
        struct kj_mval *target = m_obj(d, item, to);
        if (!kj_mgetn(target, key.p, key.n))
            kj_msetn(d, target, key.p, key.n, kj_mclone(d, v));
    }
}

static void limitrange_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_miter it = kj_miter(m_path(obj, "spec.limits"));
    struct kj_mval *item;

    while (kj_mnext(&it, NULL, &item)) {
        if (!streq(m_str(item, "type"), "Container"))
            continue;
        fill(d, item, "default", "max");
        fill(d, item, "defaultRequest", "default");
        fill(d, item, "defaultRequest", "min");
    }
}
static void limitrange_validate(enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    (void)verb, (void)old;
    check_limit_range(&c, kj_path(obj, "spec.limits"));
}
const struct res_strategy limitrange_strategy = { .set_defaults = limitrange_set_defaults,
                                                  .validate = limitrange_validate };

PREPARE_STATUS(quota_prepare, "", "ResourceQuota")
static void quota_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                           struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    (void)old;
    if (verb != RES_STATUS)
        check_quota(&c, kj_get(obj, "spec"));
}

/* Requests above limits, which no pod can use up. */
static void quota_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                       const struct kj_val *old)
{
    static const char *const names[] = { "cpu", "memory", "storage", "ephemeral-storage" };
    enum { BARE = 2 /* the first of them: what a pod requests, without a word before it */ };
    const struct kj_val *hard = kj_path(obj, "spec.hard");
    struct qty request, limit;

    (void)old;
    for (size_t i = 0; verb == RES_CREATE && i < ARRAY_LEN(names); i++) {
        const char *r = arena_printf(call->arena, "requests.%s", names[i]),
                   *l = arena_printf(call->arena, "limits.%s", names[i]);
        if (i < BARE && !v_has(hard, r))
            r = names[i];
        if (v_qty(hard, r, &request) && v_qty(hard, l, &limit) && qty_cmp(request, limit) > 0)
            api_warn(call, "ResourceQuota %s (%s) should be less than %s (%s)", r, v_str(hard, r),
                     l, v_str(hard, l));
    }
}
const struct res_strategy quota_strategy = { .prepare = quota_prepare,
                                             .validate = quota_validate,
                                             .warn = quota_warn };

static void quota_cell(const struct kj_val *obj, bool limits, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_path(obj, "status.hard"));
    const struct kj_val *used = kj_path(obj, "status.used"), *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        bool is_limit = key.n > 7 && memcmp(key.p, "limits.", 7) == 0;
        if (is_limit == limits)
            strbuf_appendf(&b, "%s%.*s: %s/%s", b.len ? ", " : "", (int)key.n, key.p,
                           kj_str_or(kj_getn(used, key.p, key.n), "0"), kj_str_or(v, "0"));
    }
    cell_text(out, strbuf_str(&b));
}

static void cell_quota_request(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    quota_cell(obj, false, out);
}

static void cell_quota_limit(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    quota_cell(obj, true, out);
}
static const struct res_column quota_columns_list[] = {
    NAME_COLUMN,
    { .name = "Request", .type = "string", .cell = cell_quota_request },
    { .name = "Limit", .type = "string", .cell = cell_quota_limit },
    AGE_COLUMN,
};
COLUMNS(quota_columns);

static void podtemplate_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    podspec_default(d, m_path(obj, "template.spec"));
}

static void podtemplate_validate(enum res_verb verb, const struct kj_val *obj,
                                 const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    (void)verb, (void)old;
    check_template(&c, "template", kj_get(obj, "template"), NULL);
}

static void podtemplate_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                             const struct kj_val *old)
{
    (void)verb;
    if (spec_changed(obj, old))
        warn_of_pod(call, "template.", kj_get(obj, "template"));
}
const struct res_strategy podtemplate_strategy = { .set_defaults = podtemplate_set_defaults,
                                                   .validate = podtemplate_validate,
                                                   .warn = podtemplate_warn };

static void cell_pt_containers(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_containers(kj_path(obj, "template.spec"), out);
}

static void cell_pt_images(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_images(kj_path(obj, "template.spec"), out);
}

LABELS_CELL(cell_pt_labels, "template.metadata.labels")
static const struct res_column podtemplate_columns_list[] = {
    NAME_COLUMN,
    { .name = "Containers", .type = "string", .cell = cell_pt_containers },
    { .name = "Images", .type = "string", .cell = cell_pt_images },
    { .name = "Pod Labels", .type = "string", .cell = cell_pt_labels },
};
COLUMNS(podtemplate_columns);

static const struct res_column age_columns_list[] = { NAME_COLUMN, AGE_COLUMN };
COLUMNS(age_columns);
