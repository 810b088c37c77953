/* hookservice.c - a clientConfig becomes an address. */
#include "apiserver/admission/hookservice.h"

#include "apiserver/server_int.h"
#include "apiserver/store/store.h"
#include "loop/loop.h"
#include "net/url.h"

static int from_url(const char *text, struct arena *a, struct hook_address *ret, struct kerr *err)
{
    struct url u;

    if (url_parse(text, a, &u, err) < 0)
        return kerr_wrap(err, "parse \"%.100s\"", text);
    if (!streq(u.scheme, "https"))
        return kerr_set(err, -EINVAL, "webhook URL must use the scheme https: \"%.100s\"", text);
    const char *authority = strstr(text, "://");
    authority = authority ? authority + 3 : text;
    *ret = (struct hook_address){ .host = u.host,
                                  .name = u.host,
                                  .port = u.port,
                                  .path = *u.path == '/' ? u.path : arena_printf(a, "/%s", u.path),
                                  .shown = arena_strndup(a, authority, strcspn(authority, "/?#")) };
    return 0;
}

/* ---- services -------------------------------------------------------------------------------- */

struct search {
    struct apiserver *s;
    struct arena *a;
    const char *service, *port_name;
    const char *host;
    uint16_t port;
    uint64_t seen; /* ready endpoints so far: each is the chosen one with the same chance */
};

static bool slice_port(const struct kj_val *slice, const char *name, uint16_t *ret)
{
    const struct kj_val *ports = kj_get(slice, "ports");

    for (size_t i = 0; i < kj_len(ports); i++) {
        const struct kj_val *p = kj_at(ports, i);
        int64_t n = kj_i64_or(kj_get(p, "port"), 0);
        if (streq(kj_str_or(kj_get(p, "name"), ""), name) && n > 0 && n <= UINT16_MAX) {
            *ret = (uint16_t)n;
            return true;
        }
    }
    return false;
}

static void consider(struct search *x, const char *host, uint16_t port)
{
    if (str_empty(host) || loop_rand_below(x->s->loop, ++x->seen) != 0)
        return;
    x->host = arena_strdup(x->a, host);
    x->port = port;
}

static bool on_slice(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct search *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    uint16_t port;

    (void)k, (void)rev;
    if (kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return true;
    const struct kj_val *slice = kj_root(parsed);
    const struct kj_val *labels = kj_path(slice, "metadata.labels");
    if (!streq(kj_str_or(kj_get(labels, "kubernetes.io/service-name"), ""), x->service) ||
        !slice_port(slice, x->port_name, &port))
        return true;
    const struct kj_val *list = kj_get(slice, "endpoints");
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *e = kj_at(list, i);
        if (kj_bool(kj_path(e, "conditions.ready"), true))
            consider(x, kj_str(kj_at(kj_get(e, "addresses"), 0)), port);
    }
    return true;
}

/* Endpoints that somebody wrote by hand, where nothing makes slices of them. */
static void search_endpoints(struct search *x, const char *ns)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct store_key k = { "endpoints", ns, x->service };
    uint16_t port;

    if (store_get(x->s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, 0, &parsed, NULL) < 0)
        return;
    const struct kj_val *subsets = kj_get(kj_root(parsed), "subsets");
    for (size_t i = 0; i < kj_len(subsets); i++) {
        const struct kj_val *addresses = kj_get(kj_at(subsets, i), "addresses");
        if (!slice_port(kj_at(subsets, i), x->port_name, &port))
            continue;
        for (size_t j = 0; j < kj_len(addresses); j++)
            consider(x, kj_str(kj_get(kj_at(addresses, j), "ip")), port);
    }
}

static const struct kj_val *service_port(const struct kj_val *service, int64_t port)
{
    const struct kj_val *ports = kj_path(service, "spec.ports");

    for (size_t i = 0; i < kj_len(ports); i++)
        if (kj_i64_or(kj_get(kj_at(ports, i), "port"), 0) == port)
            return kj_at(ports, i);
    return NULL;
}

static int from_service(struct apiserver *s, const struct kj_val *ref, struct arena *a,
                        struct hook_address *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    const char *ns = kj_str_or(kj_get(ref, "namespace"), "");
    const char *name = kj_str_or(kj_get(ref, "name"), "");
    const char *path = kj_str_or(kj_get(ref, "path"), "");
    int64_t port = kj_i64_or(kj_get(ref, "port"), 443);
    struct store_key k = { "services", ns, name };

    if (store_get(s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, 0, &parsed, NULL) < 0)
        return kerr_set(err, -ENOENT, "service \"%.80s\" not found", name);
    const struct kj_val *service = kj_root(parsed), *at = service_port(service, port);
    bool external = streq(kj_str_or(kj_path(service, "spec.type"), ""), "ExternalName");
    if (!at && !external)
        return kerr_set(err, -ENOENT, "no service port %lld found for service \"%.80s\"",
                        (long long)port, name);
    struct search x = {
        .s = s, .a = a, .service = name, .port_name = kj_str_or(kj_get(at, "name"), "")
    };
    if (external)
        consider(&x, kj_str(kj_path(service, "spec.externalName")), (uint16_t)port);
    else
        (void)store_list(s->store, "endpointslices.discovery.k8s.io", ns, 0, NULL, on_slice, &x,
                         NULL);
    if (!x.host)
        search_endpoints(&x, ns);
    if (!x.host)
        return kerr_set(err, -EHOSTUNREACH, "no endpoints available for service \"%.80s\"", name);
    *ret = (struct hook_address){
        .host = x.host,
        .port = x.port,
        .name = arena_printf(a, "%s.%s.svc", name, ns),
        .path = *path == '/' ? arena_strdup(a, path) : arena_printf(a, "/%s", path),
        .shown = arena_printf(a, "%s.%s.svc:%lld", name, ns, (long long)port)
    };
    return 0;
}

int hook_address(struct apiserver *s, const struct kj_val *config, struct arena *a,
                 struct hook_address *ret, struct kerr *err)
{
    const char *url = kj_str(kj_get(config, "url"));

    return url ? from_url(url, a, ret, err)
               : from_service(s, kj_get(config, "service"), a, ret, err);
}
