/* claim.c - resource.k8s.io: ResourceClaim, ResourceClaimTemplate and DeviceClass. */
#include "api/names.h"
#include "apiserver/kinds/device_check.h"

enum {
    REQUESTS_MAX = 32,
    SUBREQUESTS_MAX = 8,
    CONSTRAINTS_MAX = 32,
    CONFIG_MAX = 32,
};

/* ---- defaults -------------------------------------------------------------------------------- */

static void default_counts(struct kj_mdoc *d, struct kj_mval *request)
{
    if (streq(m_str(request, "allocationMode"), "ExactCount") && m_i64(request, "count", 0) == 0)
        kj_mset(d, request, "count", kj_mi64(d, 1));
}

static void claimspec_default(struct kj_mdoc *d, struct kj_mval *spec)
{
    struct kj_miter it = kj_miter(m_path(spec, "devices.requests")), subs;
    struct kj_mval *r, *sub;

    while (kj_mnext(&it, NULL, &r)) {
        if (m_has(r, "exactly"))
            default_counts(d, kj_mget(r, "exactly"));
        subs = kj_miter(kj_mget(r, "firstAvailable"));
        while (kj_mnext(&subs, NULL, &sub))
            default_counts(d, sub);
    }
}

static void claim_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    claimspec_default(d, kj_mget(obj, "spec"));
}

static void claim_template_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    claimspec_default(d, m_path(obj, "spec.spec"));
}

static void claim_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                          const struct kj_val *old, nsec_t now)
{
    (void)now;
    prepare_status(verb, d, obj, old, "resource.k8s.io", "ResourceClaim");
    if (verb == RES_STATUS)
        claim_drop_deallocated(d, obj, old);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void check_class_name(struct check *c, const char *path, const char *s)
{
    if (!*s)
        err_required(c, path, "");
    else
        check_dns_subdomain(c, path, s);
}

static void check_count(struct check *c, const char *path, const struct kj_val *request)
{
    static const char *const modes[] = { "All", "ExactCount", NULL };
    const char *mode = v_str(request, "allocationMode"), *p = at(c, "%s.count", path);
    int64_t count = kj_i64_or(kj_get(request, "count"), 0);

    if (streq(mode, "All")) {
        if (count != 0)
            err_invalid_i64(c, p, count, "must not be specified when allocationMode is 'All'");
    } else if (streq(mode, "ExactCount")) {
        if (count <= 0)
            err_invalid_i64(c, p, count, "must be greater than zero");
    } else {
        err_unsupported(c, at(c, "%s.allocationMode", path), mode, modes);
    }
}

/* What `exactly` and an entry of `firstAvailable` have in common. */
static void check_wanted(struct check *c, const char *path, const struct kj_val *wanted)
{
    check_class_name(c, at(c, "%s.deviceClassName", path), v_str(wanted, "deviceClassName"));
    check_selectors(c, at(c, "%s.selectors", path), kj_get(wanted, "selectors"));
    check_count(c, path, wanted);
    check_tolerations(c, at(c, "%s.tolerations", path), kj_get(wanted, "tolerations"));
}

static void check_alternatives(struct check *c, const char *path, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map names = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *sub;

    if (!check_at_most(c, path, list, SUBREQUESTS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &sub); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *name = v_str(sub, "name");
        check_dns_label(c, at(c, "%s.name", p), name);
        if (!names_add(&names, name))
            err_duplicate(c, p, name);
        check_wanted(c, p, sub);
    }
}

static void check_request(struct check *c, const char *path, const struct kj_val *r)
{
    const struct kj_val *first = kj_get(r, "firstAvailable");
    bool exactly = v_has(r, "exactly"), alternatives = kj_len(first) > 0;

    check_dns_label(c, at(c, "%s.name", path), v_str(r, "name"));
    if (!exactly && !alternatives)
        err_required(c, path, "exactly one of `exactly` or `firstAvailable` is required");
    else if (exactly && alternatives)
        field_error(c->errors, FIELD_INVALID, path, "null",
                    "exactly one of `exactly` or `firstAvailable` is required, but multiple fields "
                    "are set");
    else if (exactly)
        check_wanted(c, at(c, "%s.exactly", path), kj_get(r, "exactly"));
    else
        check_alternatives(c, at(c, "%s.firstAvailable", path), first);
}

/* ---- references to requests ------------------------------------------------------------------ */

/* Does the claim have this request ("r"), or this alternative of one ("r/s")? */
static bool has_request(const struct kj_val *devices, const char *name)
{
    size_t n = strcspn(name, "/");
    struct kj_iter it = kj_iter(kj_get(devices, "requests")), subs;
    const struct kj_val *r, *sub;

    while (kj_next(&it, NULL, &r)) {
        const char *own = v_str(r, "name");
        if (strlen(own) != n || memcmp(own, name, n) != 0)
            continue;
        if (!name[n])
            return true;
        subs = kj_iter(kj_get(r, "firstAvailable"));
        while (kj_next(&subs, NULL, &sub))
            if (streq(v_str(sub, "name"), name + n + 1))
                return true;
    }
    return false;
}

void check_request_ref(struct check *c, const char *path, const char *name,
                       const struct kj_val *devices)
{
    static const char why[] = "must be the name of a request in the claim or the name of a request "
                              "and a subrequest separated by '/'";
    const char *slash = strchr(name, '/');

    if (slash && strchr(slash + 1, '/')) {
        err_invalid(c, path, name, why);
        return;
    }
    check_dns_label(c, path, arena_strndup(c->a, name, strcspn(name, "/")));
    if (slash)
        check_dns_label(c, path, slash + 1);
    if (!has_request(devices, name))
        err_invalid(c, path, name, why);
}

/* `requests` of a constraint or a configuration: a set of references. */
static void check_request_refs(struct check *c, const char *path, const struct kj_val *owner,
                               const struct kj_val *devices)
{
    CLEANUP(map_fini) struct map names = { 0 };
    const struct kj_val *list = kj_get(owner, "requests"), *v;
    struct kj_iter it = kj_iter(list);
    const char *p = at(c, "%s.requests", path);

    if (!check_at_most(c, p, list, REQUESTS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *one = at(c, "%s[%zu]", p, i);
        check_request_ref(c, one, kj_str_or(v, ""), devices);
        if (!names_add(&names, kj_str_or(v, "")))
            err_duplicate(c, one, kj_str_or(v, ""));
    }
}

/* ---- specs ----------------------------------------------------------------------------------- */

static void check_constraints(struct check *c, const char *path, const struct kj_val *devices)
{
    const struct kj_val *list = kj_get(devices, "constraints"), *v;
    struct kj_iter it = kj_iter(list);

    if (!check_at_most(c, path, list, CONSTRAINTS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i);
        check_request_refs(c, p, v, devices);
        if (v_has(v, "matchAttribute"))
            check_full_name(c, at(c, "%s.matchAttribute", p), v_str(v, "matchAttribute"));
        else if (v_has(v, "distinctAttribute"))
            check_full_name(c, at(c, "%s.distinctAttribute", p), v_str(v, "distinctAttribute"));
        else
            err_required(c, at(c, "%s.matchAttribute", p), "");
    }
}

void check_device_configs(struct check *c, const char *path, const struct kj_val *list, size_t max,
                          const struct kj_val *devices, bool allocated)
{
    static const char *const sources[] = { "FromClaim", "FromClass", NULL };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    if (!check_at_most(c, path, list, max))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *source = v_str(v, "source");
        if (allocated && !*source)
            err_required(c, at(c, "%s.source", p), "");
        else if (allocated)
            check_enum(c, at(c, "%s.source", p), source, sources, false);
        check_request_refs(c, p, v, devices);
        check_opaque(c, p, v);
    }
}

static void check_claim_spec(struct check *c, const char *path, const struct kj_val *spec)
{
    CLEANUP(map_fini) struct map names = { 0 };
    const struct kj_val *devices = kj_get(spec, "devices"), *r,
                        *requests = kj_get(devices, "requests");
    struct kj_iter it = kj_iter(requests);
    const char *p = at(c, "%s.devices.requests", path);

    if (check_at_most(c, p, requests, REQUESTS_MAX))
        for (size_t i = 0; kj_next(&it, NULL, &r); i++) {
            const char *one = at(c, "%s[%zu]", p, i);
            check_request(c, one, r);
            if (!names_add(&names, v_str(r, "name")))
                err_duplicate(c, one, v_str(r, "name"));
        }
    check_constraints(c, at(c, "%s.devices.constraints", path), devices);
    check_device_configs(c, at(c, "%s.devices.config", path), kj_get(devices, "config"), CONFIG_MAX,
                         devices, false);
}

/* ---- strategies ------------------------------------------------------------------------------ */

static void claim_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                           struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    if (verb == RES_CREATE)
        check_claim_spec(&c, "spec", kj_get(obj, "spec"));
    else if (verb == RES_UPDATE)
        check_immutable(&c, "spec", kj_get(obj, "spec"), kj_get(old, "spec"));
    else
        check_claim_status(&c, obj, old);
}

static void claim_template_validate(enum res_verb verb, const struct kj_val *obj,
                                    const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    if (verb == RES_UPDATE) {
        check_immutable(&c, "spec", kj_get(obj, "spec"), kj_get(old, "spec"));
        return;
    }
    check_labels(&c, "spec.metadata.labels", kj_path(obj, "spec.metadata.labels"));
    check_claim_spec(&c, "spec.spec", kj_path(obj, "spec.spec"));
}

static void device_class_validate(enum res_verb verb, const struct kj_val *obj,
                                  const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *list = kj_get(spec, "config"), *v;
    struct kj_iter it = kj_iter(list);
    const char *extended = v_str(spec, "extendedResourceName");

    (void)verb, (void)old;
    check_selectors(&c, "spec.selectors", kj_get(spec, "selectors"));
    if (check_at_most(&c, "spec.config", list, CONFIG_MAX))
        for (size_t i = 0; kj_next(&it, NULL, &v); i++)
            check_opaque(&c, at(&c, "spec.config[%zu]", i), v);
    if (v_has(spec, "extendedResourceName") && !name_is_extended_resource(extended))
        err_invalid(&c, "spec.extendedResourceName", extended,
                    "must be a valid extended resource name");
}

const struct res_strategy claim_strategy = { .set_defaults = claim_set_defaults,
                                             .prepare = claim_prepare,
                                             .validate = claim_validate,
                                             .validate_in = claim_validate_in };
const struct res_strategy claim_template_strategy = { .set_defaults = claim_template_set_defaults,
                                                      .validate = claim_template_validate,
                                                      .validate_in = claim_template_validate_in };
const struct res_strategy deviceclass_strategy = { .validate = device_class_validate };

static void cell_claim_state(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    bool deleted = v_has(kj_get(obj, "metadata"), "deletionTimestamp");
    bool allocated = v_has(kj_get(obj, "status"), "allocation");
    bool reserved = kj_len(kj_path(obj, "status.reservedFor")) > 0;
    const char *rest = allocated ? reserved ? "allocated,reserved" : "allocated"
                       : deleted ? ""
                                 : "pending";

    (void)now;
    strbuf_appendf(out, "\"%s%s%s\"", deleted ? "deleted" : "", deleted && *rest ? "," : "", rest);
}
static const struct res_column claim_columns_list[] = {
    NAME_COLUMN,
    { .name = "State", .type = "string", .cell = cell_claim_state },
    AGE_COLUMN,
};
COLUMNS(claim_columns);
