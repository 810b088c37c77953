/* csr.c - CertificateSigningRequest: what is asked for is checked, approval and the certificate
 * have paths of their own. Nothing here signs. */
#include "api/names.h"
#include "apiserver/kinds/internal.h"
#include "base/b64.h"
#include "base/ktime.h"
#include "net/certreq.h"

/* Conditions that only one path may set. */
static const char *const approval_types[] = { "Approved", "Denied" };

/* ---- fields of the server -------------------------------------------------------------------- */

static size_t count_type(const struct kj_val *conditions, const char *type)
{
    struct kj_iter it = kj_iter(conditions);
    const struct kj_val *v;
    size_t n = 0;

    while (kj_next(&it, NULL, &v))
        n += streq(v_str(v, "type"), type);
    return n;
}

/* A status keeps what approval said, as it said it; what was added or removed is refused later. */
static void keep_conditions(struct kj_mdoc *d, struct kj_mval *list, const struct kj_val *old,
                            const char *type)
{
    CLEANUP(kj_doc_free) struct kj_doc *now = list ? kj_freeze(list) : NULL;
    size_t j = 0;

    if (count_type(kj_root(now), type) != count_type(old, type))
        return;
    for (size_t i = 0; i < kj_mlen(list); i++) {
        if (!streq(m_str(kj_mat(list, i), "type"), type))
            continue;
        while (!streq(v_str(kj_at(old, j), "type"), type))
            j++;
        kj_mreplace_at(list, i, kj_mcopy(d, kj_at(old, j++)));
    }
}

/* Since when a condition of this type has this status. */
static const char *since(const struct kj_val *old, const struct kj_mval *condition, const char *now)
{
    struct kj_iter it = kj_iter(old);
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "type"), m_str(condition, "type")) &&
            streq(v_str(v, "status"), m_str(condition, "status")) &&
            *v_str(v, "lastTransitionTime"))
            return v_str(v, "lastTransitionTime");
    return now;
}

static void set_times(struct kj_mdoc *d, struct kj_mval *list, const struct kj_val *old, nsec_t now)
{
    struct kj_miter it = kj_miter(list);
    struct kj_mval *v;
    char when[KTIME_TEXT_MAX];

    ktime_format(now, when);
    while (kj_mnext(&it, NULL, &v)) {
        if (!*m_str(v, "lastUpdateTime"))
            kj_mset(d, v, "lastUpdateTime", kj_mstr(d, when));
        if (!*m_str(v, "lastTransitionTime"))
            kj_mset(d, v, "lastTransitionTime", kj_mstr(d, since(old, v, when)));
    }
}

/* The spec never changes; approval and status have paths of their own. */
static void csr_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                        const struct kj_val *old, nsec_t now)
{
    const struct kj_val *had = kj_path(old, "status.conditions");
    struct kj_mval *list = m_path(obj, "status.conditions");

    if (verb == RES_CREATE || verb == RES_UPDATE)
        prepare_status(verb, d, obj, old, "certificates.k8s.io", "CertificateSigningRequest");
    if (verb != RES_CREATE)
        m_keep_old(d, obj, old, "spec");
    if (verb == RES_STATUS)
        for (size_t i = 0; i < ARRAY_LEN(approval_types); i++)
            keep_conditions(d, list, had, approval_types[i]);
    if (verb == RES_STATUS || verb == RES_APPROVAL)
        set_times(d, list, had, now);
    if (verb == RES_APPROVAL) {
        list = list ? kj_mclone(d, list) : NULL;
        m_keep_old(d, obj, old, "status");
        if (list)
            kj_mset(d, m_obj(d, obj, "status"), "conditions", list);
        else
            kj_mdel(m_obj(d, obj, "status"), "conditions", strlen("conditions"));
    }
}

/* ---- the request ----------------------------------------------------------------------------- */

static void check_request(struct check *c, const struct kj_val *request)
{
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT;
    struct kerr err = { 0 };

    (void)b64_decode(kj_str_or(request, ""), strlen(kj_str_or(request, "")), &pem);
    if (certreq_check(strbuf_str(&pem), pem.len, &err) < 0)
        field_error(c->errors, FIELD_INVALID, "spec.request",
                    kj_str(request) ? as_json(c, request) : "null", "%s", err.text);
}

static void check_usages(struct check *c, const struct kj_val *list)
{
    static const char *const usages[] = { "any",
                                          "cert sign",
                                          "client auth",
                                          "code signing",
                                          "content commitment",
                                          "crl sign",
                                          "data encipherment",
                                          "decipher only",
                                          "digital signature",
                                          "email protection",
                                          "encipher only",
                                          "ipsec end system",
                                          "ipsec tunnel",
                                          "ipsec user",
                                          "key agreement",
                                          "key encipherment",
                                          "microsoft sgc",
                                          "netscape sgc",
                                          "ocsp signing",
                                          "s/mime",
                                          "server auth",
                                          "signing",
                                          "timestamping",
                                          NULL };
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    if (kj_len(list) == 0)
        err_required(c, "spec.usages", "");
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        check_enum(c, at(c, "spec.usages[%zu]", i), kj_str_or(v, ""), usages, false);
    it = kj_iter(list);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (!names_add(&seen, kj_str_or(v, "")))
            err_duplicate(c, at(c, "spec.usages[%zu]", i), kj_str_or(v, ""));
}

/* Labels between dots, each judged by fn; told is the first that is wrong. */
static size_t check_labels_of(struct check *c, const char *text, const char *(*fn)(struct str))
{
    size_t n = 0;
    bool told = false;

    for (const char *p = text; p; n++) {
        const char *dot = strchr(p, '.');
        struct str label = { p, dot ? (size_t)(dot - p) : strlen(p) };
        const char *why = told ? NULL : fn(label);
        if (why)
            err_invalid(c, "spec.signerName", text,
                        arena_printf(c->a, "validating label %s: %s",
                                     quoted(c, arena_strndup(c->a, label.p, label.n)), why));
        told = told || why;
        p = dot ? dot + 1 : NULL;
    }
    return n;
}

static void check_signer(struct check *c, const char *name)
{
    enum { DOMAIN_MAX = 253, NAME_MAX_BYTES = 253 + 253 + 63 + 1 + 1 };
    const char *slash = strchr(name, '/');

    if (streq(name, "kubernetes.io/legacy-unknown")) {
        err_invalid(c, "spec.signerName", name,
                    "the legacy signerName is not allowed via this API version");
        return;
    }
    if (!*name) {
        err_required(c, "spec.signerName", "");
        return;
    }
    if (!slash || strchr(slash + 1, '/')) {
        err_invalid(c, "spec.signerName", name,
                    "must be a fully qualified domain and path of the form "
                    "'example.com/signer-name'");
        return;
    }
    const char *domain = arena_strndup(c->a, name, (size_t)(slash - name));
    if (strlen(domain) > DOMAIN_MAX)
        field_error(c->errors, FIELD_TOO_LONG, "spec.signerName", NULL,
                    "may not be more than %d bytes", DOMAIN_MAX);
    if (check_labels_of(c, domain, name_check_dns_label) < 2)
        err_invalid(c, "spec.signerName", domain,
                    "should be a domain with at least two segments separated by dots");
    (void)check_labels_of(c, slash + 1, name_check_dns_subdomain);
    if (strlen(name) > NAME_MAX_BYTES)
        field_error(c->errors, FIELD_TOO_LONG, "spec.signerName", NULL,
                    "may not be more than %d bytes", NAME_MAX_BYTES);
}

/* ---- approval and certificate ---------------------------------------------------------------- */

static bool has_both(const struct kj_val *conditions)
{
    return count_type(conditions, "Approved") && count_type(conditions, "Denied");
}

static void check_condition(struct check *c, const char *p, const struct kj_val *v)
{
    static const char *const only_true[] = { "True", NULL };
    static const char *const all[] = { "False", "True", "Unknown", NULL };
    const char *type = v_str(v, "type"), *status = v_str(v, "status");
    bool verdict = streq(type, "Approved") || streq(type, "Denied") || streq(type, "Failed");

    if (!*type)
        err_required(c, at(c, "%s.type", p), "");
    if (!*status)
        err_required(c, at(c, "%s.status", p), "");
    else
        check_enum(c, at(c, "%s.status", p), status, verdict ? only_true : all, false);
}

static void check_conditions(struct check *c, const struct kj_val *list, const struct kj_val *old)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    bool approved = false, denied = false;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "status.conditions[%zu]", i), *type = v_str(v, "type");
        check_condition(c, p, v);
        approved = approved || streq(type, "Approved");
        denied = denied || streq(type, "Denied");
        if (approved && denied && !has_both(old) &&
            (streq(type, "Approved") || streq(type, "Denied")))
            err_invalid(c, "status.conditions", type,
                        "Approved and Denied conditions are mutually exclusive");
        if (!names_add(&seen, type))
            err_duplicate(c, at(c, "%s.type", p), type);
    }
}

/* All of a type, in a row. */
static bool same_of_type(const struct kj_val *list, const struct kj_val *old, const char *type)
{
    size_t i = 0, j = 0;

    for (;; i++, j++) {
        while (i < kj_len(list) && !streq(v_str(kj_at(list, i), "type"), type))
            i++;
        while (j < kj_len(old) && !streq(v_str(kj_at(old, j), "type"), type))
            j++;
        if (i >= kj_len(list) || j >= kj_len(old))
            return true; /* as many of each: that was asked before */
        if (!kj_equal(kj_at(list, i), kj_at(old, j)))
            return false;
    }
}

static void check_verdicts(struct check *c, enum res_verb verb, const struct kj_val *list,
                           const struct kj_val *old)
{
    static const char *const types[] = { "Approved", "Denied", "Failed" };

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (count_type(list, types[i]) < count_type(old, types[i]))
            err_forbidden(c, "status.conditions",
                          at(c, "updates may not remove a condition of type \"%s\"", types[i]));
    for (size_t i = 0; verb != RES_APPROVAL && i < ARRAY_LEN(approval_types); i++) {
        size_t has = count_type(list, approval_types[i]), had = count_type(old, approval_types[i]);
        if (has > had)
            err_forbidden(
                c, "status.conditions",
                at(c, "updates may not add a condition of type \"%s\"", approval_types[i]));
        else if (has == had && !same_of_type(list, old, approval_types[i]))
            err_forbidden(
                c, "status.conditions",
                at(c, "updates may not modify a condition of type \"%s\"", approval_types[i]));
    }
}

static void check_certificate(struct check *c, enum res_verb verb, const char *text,
                              const char *old)
{
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT;
    struct kerr err = { 0 };

    if (streq(text, old))
        return;
    (void)b64_decode(text, strlen(text), &pem);
    if (pem.len && certreq_check_issued(pem.data, pem.len, &err) < 0)
        err_invalid(c, "status.certificate", "<certificate data>", err.text);
    if (verb != RES_STATUS)
        err_forbidden(c, "status.certificate", "updates may not set certificate content");
    else if (*old)
        err_forbidden(c, "status.certificate",
                      "updates may not modify existing certificate content");
}

static void csr_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                         struct field_errors *errors)
{
    enum { EXPIRATION_MIN_S = 600 };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *had = kj_path(old, "status.conditions");
    int64_t seconds;

    if (verb == RES_CREATE) {
        check_request(&c, kj_get(spec, "request"));
        check_usages(&c, kj_get(spec, "usages"));
        check_signer(&c, v_str(spec, "signerName"));
        if (kj_i64(kj_get(spec, "expirationSeconds"), &seconds) == 0 && seconds < EXPIRATION_MIN_S)
            err_invalid_i64(&c, "spec.expirationSeconds", seconds,
                            "may not specify a duration less than 600 seconds (10 minutes)");
        return;
    }
    check_conditions(&c, kj_path(obj, "status.conditions"), had);
    check_verdicts(&c, verb, kj_path(obj, "status.conditions"), had);
    check_certificate(&c, verb, kj_str_or(kj_path(obj, "status.certificate"), ""),
                      kj_str_or(kj_path(old, "status.certificate"), ""));
}

static const char *csr_field(const struct kj_val *obj, const char *path, struct arena *a)
{
    return streq(path, "spec.signerName") ? v_text(obj, path, a) : NULL;
}

const struct res_strategy csr_strategy = { .prepare = csr_prepare,
                                           .validate = csr_validate,
                                           .field = csr_field };

/* ---- columns --------------------------------------------------------------------------------- */

TEXT_CELL(cell_signer, "spec.signerName", "")
TEXT_CELL(cell_requestor, "spec.username", "")

static void cell_requested(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *s = kj_path(obj, "spec.expirationSeconds");

    (void)now;
    if (kj_type(s) == KJ_NUM)
        duration_text(kj_i64_or(s, 0) * NSEC_PER_SEC, &b);
    cell_text(out, b.len ? b.data : "<none>");
}

static void cell_condition(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_path(obj, "status.conditions"));
    bool approved = false, denied = false, failed = false;
    const struct kj_val *v;

    (void)now;
    while (kj_next(&it, NULL, &v)) {
        approved |= streq(v_str(v, "type"), "Approved");
        denied |= streq(v_str(v, "type"), "Denied");
        failed |= streq(v_str(v, "type"), "Failed");
    }
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    strbuf_append(&b, denied ? "Denied" : approved ? "Approved" : "Pending");
    if (failed)
        strbuf_append(&b, ",Failed");
    if (*kj_str_or(kj_path(obj, "status.certificate"), ""))
        strbuf_append(&b, ",Issued");
    cell_text(out, b.data);
}
static const struct res_column csr_columns_list[] = {
    NAME_COLUMN,
    AGE_COLUMN,
    { .name = "SignerName", .type = "string", .cell = cell_signer },
    { .name = "Requestor", .type = "string", .cell = cell_requestor },
    { .name = "RequestedDuration", .type = "string", .cell = cell_requested },
    { .name = "Condition", .type = "string", .cell = cell_condition },
};
COLUMNS(csr_columns);
