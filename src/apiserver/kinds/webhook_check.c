/* webhook_check.c - configurations of admission webhooks: names, rules, whom to call. */
#include "api/names.h"
#include "apiserver/admission/admitexpr.h"
#include "apiserver/kinds/internal.h"
#include "base/map.h"

/* ---- addresses ------------------------------------------------------------------------------- */

#define URL_FORM "; desired format: https://host[/path]"

struct url { /* parts of a text in an arena; NULL: absent */
    const char *scheme, *user, *host, *query, *fragment;
};

static bool is_hex(char ch)
{
    return ch && strchr("0123456789abcdefABCDEF", ch);
}

/* Why a part cannot be unescaped; NULL: it can. */
static const char *escape_problem(struct check *c, const char *s)
{
    for (; *s; s++)
        if (*s == '%' && !(is_hex(s[1]) && is_hex(s[2])))
            return arena_printf(c->a, "invalid URL escape %s",
                                quoted(c, arena_strndup(c->a, s, strnlen(s, 3))));
    return NULL;
}

static const char *port_problem(struct check *c, const char *colon)
{
    if (!colon || colon[1 + strspn(colon + 1, "0123456789")] == '\0')
        return NULL;
    return arena_printf(c->a, "invalid port %s after host", quoted(c, colon));
}

static const char *host_problem(struct check *c, const char *host)
{
    static const char bad[] = " \"#%/<>?@\\^`{|}";
    const char *close = strrchr(host, ']');

    if (*host == '[') {
        if (!close)
            return "missing ']' in host";
        return close[1] && close[1] != ':'
                   ? arena_printf(c->a, "invalid port %s after host", quoted(c, close + 1))
                   : port_problem(c, close[1] ? close + 1 : NULL);
    }
    const char *why = port_problem(c, strrchr(host, ':'));
    why = why ? why : escape_problem(c, host);
    const char *odd = strpbrk(host, bad);
    if (!why && odd && *odd != '%')
        why = at(c, "invalid character %s in host name", quoted(c, arena_strndup(c->a, odd, 1)));
    return why;
}

/* "user:word@host:port"; why not, or NULL. */
static const char *split_authority(struct check *c, char *s, struct url *u)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-._:~!$&'()*+,;=%@";
    char *last = strrchr(s, '@');

    u->host = last ? last + 1 : s;
    const char *why = host_problem(c, u->host);
    if (!last)
        return why;
    *last = '\0';
    u->user = s;
    if (!why && s[strspn(s, good)])
        why = "net/url: invalid userinfo";
    return why ? why : escape_problem(c, s);
}

static char *cut(char *s, char at_char)
{
    char *found = strchr(s, at_char);
    if (!found)
        return NULL;
    *found = '\0';
    return found + 1;
}

/* The scheme in front of a colon; *ret_rest: what follows. false: there is a colon and none. */
static bool split_scheme(char *s, struct url *u, char **ret_rest)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                      more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    size_t n = strchr(letters, *s) && *s ? strspn(s, more) : 0;

    *ret_rest = s;
    if (s[n] != ':')
        return true;
    if (n == 0)
        return false;
    s[n] = '\0';
    for (char *p = s; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    u->scheme = s;
    *ret_rest = s + n + 1;
    return true;
}

/* As Go's url.Parse has it: why not, or NULL. */
static const char *url_split(struct check *c, const char *text, struct url *u)
{
    char *s = arena_strdup(c->a, text), *path = NULL;
    const char *why = NULL;

    *u = (struct url){ .scheme = "", .host = "" };
    for (const char *p = s; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return "net/url: invalid control character in URL";
    u->fragment = cut(s, '#');
    if (!split_scheme(s, u, &s))
        return "missing protocol scheme";
    u->query = cut(s, '?');
    if (*s != '/') {
        if (*u->scheme)
            return NULL; /* opaque: mailto:x */
        size_t n = strcspn(s, "/");
        return memchr(s, ':', n) ? "first path segment in URL cannot contain colon"
                                 : escape_problem(c, s);
    }
    if (str_starts(s, "//") && (*u->scheme || !str_starts(s, "///"))) {
        s += 2;
        path = cut(s, '/');
        why = split_authority(c, s, u);
    }
    why = why ? why : escape_problem(c, path ? path : "");
    return why || !u->fragment ? why : escape_problem(c, u->fragment);
}

static void check_url(struct check *c, const char *path, const char *url)
{
    struct url u;
    const char *why = url_split(c, url, &u);

    if (why) {
        err_required(c, path,
                     arena_printf(c->a, "url must be a valid URL: parse %s: %s" URL_FORM,
                                  quoted(c, url), why));
        return;
    }
    if (!streq(u.scheme, "https"))
        err_invalid(c, path, u.scheme, "'https' is the only allowed URL scheme" URL_FORM);
    if (!*u.host)
        err_invalid(c, path, u.host, "host must be specified" URL_FORM);
    if (u.user)
        err_invalid(c, path, u.user, "user information is not permitted in the URL");
    if (u.fragment && *u.fragment)
        err_invalid(c, path, u.fragment, "fragments are not permitted in the URL");
    if (u.query && *u.query)
        err_invalid(c, path, u.query, "query parameters are not permitted in the URL");
}

static void check_url_path(struct check *c, const char *p, const char *path)
{
    char *rest, *step;

    if (!*path || streq(path, "/"))
        return;
    if (streq(path, "//")) {
        err_invalid(c, p, path, "segment[0] may not be empty");
        return;
    }
    if (*path != '/')
        err_invalid(c, p, path, "must start with a '/'");
    rest = arena_strdup(c->a, path + 1);
    if (*rest && rest[strlen(rest) - 1] == '/')
        rest[strlen(rest) - 1] = '\0';
    for (size_t i = 0; (step = rest); i++) {
        rest = cut(step, '/');
        const char *why = *step ? name_check_dns_subdomain(str_of(step)) : NULL;
        if (!*step)
            err_invalid(c, p, path, at(c, "segment[%zu] may not be empty", i));
        else if (why)
            err_invalid(c, p, path, arena_printf(c->a, "segment[%zu]: %s", i, why));
    }
}

static void check_called_service(struct check *c, const char *path, const struct kj_val *service)
{
    int64_t port = kj_i64_or(kj_get(service, "port"), 0);

    /* Each is told under the name of the other, as upstream does. */
    if (!*v_str(service, "namespace"))
        err_required(c, at(c, "%s.name", path), "");
    if (!*v_str(service, "name"))
        err_required(c, at(c, "%s.namespace", path), "");
    if (port < 1 || port > 65535)
        err_invalid_i64(c, at(c, "%s.port", path), port,
                        "port is not valid: must be between 1 and 65535, inclusive");
    if (v_has(service, "path"))
        check_url_path(c, at(c, "%s.path", path), v_str(service, "path"));
}

static void check_client_config(struct check *c, const char *path, const struct kj_val *config)
{
    bool url = v_has(config, "url"), service = v_has(config, "service");

    if (url == service)
        err_required(c, path, "exactly one of url or service is required");
    else if (url)
        check_url(c, at(c, "%s.url", path), v_str(config, "url"));
    else
        check_called_service(c, at(c, "%s.service", path), kj_get(config, "service"));
}

/* ---- one webhook ----------------------------------------------------------------------------- */

/* What a configuration that was stored before may keep. */
struct leniency {
    bool conditions, side_effects, versions, names;
};

static void check_hook_name(struct check *c, const char *path, const char *name)
{
    const char *why = name_check_dns_subdomain(str_of(name));
    size_t dots = 0;

    for (const char *p = name; *p; p++)
        dots += *p == '.';
    if (!*name)
        err_required(c, path, "");
    else if (why)
        err_invalid(c, path, name, why);
    else if (dots < 2)
        err_invalid(c, path, name,
                    "should be a domain with at least three segments separated by dots");
}

static bool is_known_version(const char *v)
{
    return streq(v, "v1") || streq(v, "v1beta1");
}

static void check_versions(struct check *c, const char *path, const struct kj_val *list,
                           bool lenient)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    bool known = false;

    if (kj_len(list) == 0) {
        err_required(c, path, "must specify one of v1, v1beta1");
        return;
    }
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *s = kj_str_or(v, ""), *why = dns1035_problem(s);
        known = known || is_known_version(s);
        if (!names_add(&seen, s))
            err_invalid(c, at(c, "%s[%zu]", path, i), s, "duplicate version");
        else if (why)
            err_invalid(c, at(c, "%s[%zu]", path, i), s, why);
    }
    if (!known && !lenient)
        field_error(c->errors, FIELD_INVALID, path, as_json(c, list),
                    "must include at least one of v1, v1beta1");
}

static void check_side_effects(struct check *c, const char *path, const struct kj_val *w,
                               bool lenient)
{
    static const char *const none[] = { "None", "NoneOnDryRun", NULL };
    static const char *const all[] = { "None", "NoneOnDryRun", "Some", "Unknown", NULL };

    if (v_has(w, "sideEffects"))
        check_enum(c, path, v_str(w, "sideEffects"), lenient ? all : none, false);
    else
        err_required(c, path,
                     lenient ? "must specify one of None, NoneOnDryRun, Some, Unknown"
                             : "must specify one of None, NoneOnDryRun");
}

static void check_policies(struct check *c, const char *p, const struct kj_val *w)
{
    static const char *const failure[] = { "Fail", "Ignore", NULL };
    static const char *const match[] = { "Equivalent", "Exact", NULL };
    static const char *const again[] = { "IfNeeded", "Never", NULL };
    static const struct {
        const char *key;
        const char *const *values;
    } policies[] = { { "failurePolicy", failure },
                     { "matchPolicy", match },
                     { "reinvocationPolicy", again } };

    for (size_t i = 0; i < ARRAY_LEN(policies); i++)
        if (v_has(w, policies[i].key))
            check_enum(c, at(c, "%s.%s", p, policies[i].key), v_str(w, policies[i].key),
                       policies[i].values, false);
}

static void check_webhook(struct check *c, const char *p, const struct kj_val *w,
                          const struct leniency *old)
{
    const struct kj_val *rules = kj_get(w, "rules");
    int64_t timeout;

    check_hook_name(c, at(c, "%s.name", p), v_str(w, "name"));
    for (size_t i = 0; i < kj_len(rules); i++)
        check_admission_rule(c, at(c, "%s.rules[%zu]", p, i), kj_at(rules, i));
    check_policies(c, p, w);
    check_side_effects(c, at(c, "%s.sideEffects", p), w, old->side_effects);
    if (kj_i64(kj_get(w, "timeoutSeconds"), &timeout) == 0 && (timeout < 1 || timeout > 30))
        err_invalid_i64(c, at(c, "%s.timeoutSeconds", p), timeout,
                        "the timeout value must be between 1 and 30 seconds");
    check_label_selector(c, at(c, "%s.namespaceSelector", p), kj_get(w, "namespaceSelector"));
    check_label_selector(c, at(c, "%s.objectSelector", p), kj_get(w, "objectSelector"));
    check_client_config(c, at(c, "%s.clientConfig", p), kj_get(w, "clientConfig"));
    if (!old->conditions)
        conditions_check(kj_get(w, "matchConditions"), false, at(c, "%s.matchConditions", p),
                         c->errors);
    check_versions(c, at(c, "%s.admissionReviewVersions", p), kj_get(w, "admissionReviewVersions"),
                   old->versions);
}

/* ---- a configuration ------------------------------------------------------------------------- */

/* Conditions that stay as they were are not looked at again. */
static bool same_conditions(const struct kj_val *list, const struct kj_val *old)
{
    if (kj_len(list) != kj_len(old))
        return false;
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *x = kj_get(kj_at(list, i), "matchConditions"),
                            *y = kj_get(kj_at(old, i), "matchConditions");
        if (kj_len(x) != kj_len(y) || (kj_len(x) && !kj_equal(x, y)))
            return false;
    }
    return true;
}

static bool knows_no_version(const struct kj_val *w)
{
    struct kj_iter it = kj_iter(kj_get(w, "admissionReviewVersions"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (is_known_version(kj_str_or(v, "")))
            return false;
    return kj_len(kj_get(w, "admissionReviewVersions")) > 0;
}

static struct leniency leniency_of(const struct kj_val *list, const struct kj_val *old)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    struct leniency l = { .conditions = same_conditions(list, old) };
    struct kj_iter it = kj_iter(old);
    const struct kj_val *w;

    while (kj_next(&it, NULL, &w)) {
        const char *effects = v_str(w, "sideEffects");
        l.side_effects =
            l.side_effects || !(streq(effects, "None") || streq(effects, "NoneOnDryRun"));
        l.versions = l.versions || knows_no_version(w);
        l.names = !names_add(&seen, v_str(w, "name")) || l.names;
    }
    return l;
}

static void webhooks_validate(enum res_verb verb, const struct kj_val *obj,
                              const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    CLEANUP(map_fini) struct map seen = { 0 };
    const struct kj_val *list = kj_get(obj, "webhooks"), *w;
    struct kj_iter it = kj_iter(list);
    struct leniency l = { 0 };

    if (verb != RES_CREATE)
        l = leniency_of(list, kj_get(old, "webhooks"));
    for (size_t i = 0; kj_next(&it, NULL, &w); i++) {
        const char *p = at(&c, "webhooks[%zu]", i), *name = v_str(w, "name");
        check_webhook(&c, p, w, &l);
        if (*name && !names_add(&seen, name) && !l.names)
            err_duplicate(&c, at(&c, "%s.name", p), name);
    }
}
const struct res_strategy webhooks_strategy = { .validate = webhooks_validate };
