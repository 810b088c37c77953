/* conversion_check.c - validation of spec.conversion. Fields are named as in the internal version
 * of kube-apiserver, where clientConfig and versions stand beside the strategy: people search for
 * its messages. */
#include <stdio.h>

#include "api/names.h"
#include "apiserver/crd/internal.h"
#include "base/b64.h"
#include "base/map.h"
#include "net/tls.h"
#include "net/url.h"

#define CONFIG   "spec.conversion.webhookClientConfig"
#define VERSIONS "spec.conversion.conversionReviewVersions"
#define FORM     "; desired format: https://host[/path]"

static void check_url(const char *text, struct field_errors *e)
{
    const char *colon = strstr(text, "://"), *host = colon ? colon + 3 : text;
    CLEANUP(mem_free) char *scheme = xstrndup(text, colon ? (size_t)(colon - text) : 0);
    size_t n = strcspn(host, "/?#");
    const char *user = memchr(host, '@', n), *query = strchr(text, '?'), *hash = strchr(text, '#');

    if (!streq(scheme, "https"))
        field_error_text(e, FIELD_INVALID, CONFIG ".url", scheme,
                         "'https' is the only allowed URL scheme" FORM);
    if (!colon || n == 0 || (user && user + 1 == host + n))
        field_error_text(e, FIELD_INVALID, CONFIG ".url", "", "host must be specified" FORM);
    if (user) {
        CLEANUP(mem_free) char *shown = xstrndup(host, (size_t)(user - host));
        field_error_text(e, FIELD_INVALID, CONFIG ".url", shown,
                         "user information is not permitted in the URL");
    }
    if (hash && hash[1])
        field_error_text(e, FIELD_INVALID, CONFIG ".url", hash + 1,
                         "fragments are not permitted in the URL");
    if (query && (!hash || query < hash)) {
        CLEANUP(mem_free) char *shown = xstrndup(query + 1, strcspn(query + 1, "#"));
        if (*shown)
            field_error_text(e, FIELD_INVALID, CONFIG ".url", shown,
                             "query parameters are not permitted in the URL");
    }
}

static void check_path(const char *path, struct field_errors *e)
{
    if (!*path || streq(path, "/"))
        return;
    if (streq(path, "//")) {
        field_error_text(e, FIELD_INVALID, CONFIG ".service.path", path,
                         "segment[0] may not be empty");
        return;
    }
    if (*path != '/')
        field_error_text(e, FIELD_INVALID, CONFIG ".service.path", path, "must start with a '/'");
    const char *at = path + 1, *end = path + strlen(path);
    if (end > at && end[-1] == '/')
        end--;
    for (size_t i = 0; at <= end; i++) {
        size_t n = strcspn(at, "/");
        n = MIN(n, (size_t)(end - at));
        const char *why = n ? name_check_dns_subdomain((struct str){ at, n }) : NULL;
        if (!n)
            field_error_text(e, FIELD_INVALID, CONFIG ".service.path", path,
                             "segment[%zu] may not be empty", i);
        else if (why)
            field_error_text(e, FIELD_INVALID, CONFIG ".service.path", path, "segment[%zu]: %s", i,
                             why);
        at += n + 1;
    }
}

/* kube-apiserver takes one for the other here: the name is missed where the namespace is. */
static void check_service(const struct kj_val *service, struct field_errors *e)
{
    int64_t port = kj_i64_or(kj_get(service, "port"), 0);
    char text[24];

    if (!*kj_str_or(kj_get(service, "namespace"), ""))
        field_error(e, FIELD_REQUIRED, CONFIG ".service.name", NULL, NULL);
    if (!*kj_str_or(kj_get(service, "name"), ""))
        field_error(e, FIELD_REQUIRED, CONFIG ".service.namespace", NULL, NULL);
    (void)snprintf(text, sizeof text, "%lld", (long long)port);
    if (port < 1 || port > UINT16_MAX)
        field_error(e, FIELD_INVALID, CONFIG ".service.port", text,
                    "port is not valid: must be between 1 and 65535, inclusive");
    check_path(kj_str_or(kj_get(service, "path"), ""), e);
}

static bool bundle_is_bad(const struct kj_val *bundle)
{
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT;
    const char *text = kj_str_or(bundle, "");
    struct tls_ctx *tls = NULL;

    if (b64_decode(text, strlen(text), &pem) < 0 || strspn(strbuf_str(&pem), " \t\r\n") == pem.len)
        return false; /* none; bytes that are no base64 are refused by the type */
    struct tls_client_opts o = { .ca_pem = { pem.data, pem.len } };
    if (tls_client_new(&o, &tls, NULL) < 0)
        return true;
    tls_unref(tls);
    return false;
}

static void bundle_error(const struct kj_val *bundle, struct field_errors *e)
{
    CLEANUP(strbuf_fini) struct strbuf shown = STRBUF_INIT;

    kj_write(bundle, 0, &shown);
    field_error(e, FIELD_INVALID, CONFIG ".caBundle", shown.data,
                "unable to load root certificates: unable to parse bytes as PEM block");
}

static void check_config(const struct kj_val *config, bool bundle, struct field_errors *e)
{
    const char *url = kj_str(kj_get(config, "url"));
    const struct kj_val *service = kj_get(config, "service");

    if (kj_type(config) != KJ_OBJ) {
        field_error(e, FIELD_REQUIRED, CONFIG, NULL, "required when strategy is set to Webhook");
        return;
    }
    if (!url == (kj_type(service) != KJ_OBJ))
        field_error(e, FIELD_REQUIRED, CONFIG, NULL, "exactly one of url or service is required");
    else if (url)
        check_url(url, e);
    else
        check_service(service, e);
    if (bundle && bundle_is_bad(kj_get(config, "caBundle")))
        bundle_error(kj_get(config, "caBundle"), e);
}

static void check_review_versions(const struct kj_val *list, struct field_errors *e)
{
    CLEANUP(strbuf_fini) struct strbuf shown = STRBUF_INIT;
    CLEANUP(map_fini) struct map seen = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *one;
    bool known = false;
    char path[80];

    if (kj_len(list) == 0) {
        field_error(e, FIELD_REQUIRED, VERSIONS, NULL, NULL);
        return;
    }
    for (size_t i = 0; kj_next(&it, NULL, &one); i++) {
        const char *v = kj_str_or(one, "");
        (void)snprintf(path, sizeof path, VERSIONS "[%zu]", i);
        if (map_putz(&seen, v, (void *)(uintptr_t)v)) {
            field_error_text(e, FIELD_INVALID, path, v, "duplicate version");
            continue;
        }
        definition_check_label(path, v, e);
        known |= streq(v, "v1") || streq(v, "v1beta1");
    }
    kj_write(list, 0, &shown);
    if (!known)
        field_error(e, FIELD_INVALID, VERSIONS, shown.data,
                    "must include at least one of v1, v1beta1");
}

/* A definition that is served has to keep a bundle that can be read, once it has one. */
static bool wants_good_bundle(const struct kj_val *old)
{
    return old && definition_is_established(old) &&
           !bundle_is_bad(kj_path(old, "spec.conversion.webhook.clientConfig.caBundle"));
}

void conversion_check(const struct kj_val *conversion, const struct kj_val *old,
                      struct field_errors *e)
{
    const char *strategy = kj_str_or(kj_get(conversion, "strategy"), "");
    const struct kj_val *webhook = kj_get(conversion, "webhook");

    if (!*strategy)
        field_error(e, FIELD_REQUIRED, "spec.conversion.strategy", NULL, NULL);
    else if (!streq(strategy, "Webhook") && !streq(strategy, "None"))
        field_error_text(e, FIELD_NOT_SUPPORTED, "spec.conversion.strategy", strategy,
                         "supported values: \"None\", \"Webhook\"");
    if (streq(strategy, "Webhook")) {
        check_config(kj_get(webhook, "clientConfig"), wants_good_bundle(old), e);
        check_review_versions(kj_get(webhook, "conversionReviewVersions"), e);
        return;
    }
    if (kj_type(kj_get(webhook, "clientConfig")) == KJ_OBJ)
        field_error(e, FIELD_FORBIDDEN, CONFIG, NULL,
                    "should not be set when strategy is not set to Webhook");
    if (kj_len(kj_get(webhook, "conversionReviewVersions")) > 0)
        field_error(e, FIELD_FORBIDDEN, VERSIONS, NULL,
                    "should not be set when strategy is not set to Webhook");
}
