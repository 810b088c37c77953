/* bootstrap_kubernetes.c - what programs beside the server look for: the Service default/kubernetes
 * with its Endpoints and EndpointSlice, and since when legacy tokens are tracked.
 *
 * What stands behind the Service is where we listen now: it is put right at every start.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "apiserver/registry/internal.h"
#include "apiserver/server_int.h"
#include "base/klog.h"
#include "base/ktime.h"

/* The first address of the range that Services get theirs from. */
#define SERVICE                                                                                  \
    "{\"metadata\":{\"labels\":{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}},"      \
    "\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"10.96.0.1\",\"sessionAffinity\":\"None\"," \
    "\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":443,\"targetPort\":%u}]}}"
#define ENDPOINTS                                                                                \
    "{\"metadata\":{\"labels\":{\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}},"         \
    "\"subsets\":[{\"addresses\":[{\"ip\":\"%s\"}],\"ports\":[{\"name\":\"https\",\"protocol\":" \
    "\"TCP\",\"port\":%u}]}]}"
#define SLICE                                                                          \
    "{\"metadata\":{\"labels\":{\"kubernetes.io/service-name\":\"kubernetes\"}},"      \
    "\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"%s\"],\"conditions\":{" \
    "\"ready\":true}}],\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":%u}]}"

/* The IPv4 address of "10.0.0.7:6443"; that of this machine for anything else. */
static void host_of(const char *addr, char *out, size_t size)
{
    const char *colon = strrchr(addr, ':');
    struct in_addr ip;

    (void)snprintf(out, size, "%.*s", colon ? (int)(colon - addr) : 0, addr);
    if (inet_pton(AF_INET, out, &ip) != 1 || ip.s_addr == INADDR_ANY)
        (void)snprintf(out, size, "127.0.0.1");
}

/* Members of an object that is there already. */
static int mend(struct apiserver *s, const struct first_object *f, const char *const *members,
                struct kerr *err)
{
    const struct resource *r = res_table_find(s->resources, f->group, "v1", f->plural);
    CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT, doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *have = NULL, *want = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct store_key k = { r->store_res, f->ns, f->name };
    uint64_t rev;
    bool same = true;

    int e = store_get_latest(s->store, &k, &there, &rev, err);
    if (e < 0 || (e = kj_parse(there.data, there.len, 0, &have, err)) < 0 ||
        (e = kj_parse(f->body, strlen(f->body), 0, &want, err)) < 0)
        return e;
    struct kj_mval *obj = kj_mcopy(d, kj_root(have));
    for (; *members; members++) {
        const struct kj_val *v = kj_get(kj_root(want), *members);
        same = same && kj_equal(v, kj_get(kj_root(have), *members));
        kj_mset(d, obj, *members, kj_mcopy(d, v));
    }
    if (same)
        return 0;
    object_write(r, obj, store_next_revision(s->store), &doc);
    return store_put(s->store, &k, rev, doc.data, doc.len, NULL, NULL, err);
}

static int put(struct apiserver *s, const struct first_object *f, const char *const *members,
               struct kerr *err)
{
    int made = bootstrap_put(s, f, err);

    if (made == 0)
        made = mend(s, f, members, err);
    return made < 0 ? kerr_wrap(err, "write %s default/kubernetes", f->plural) : 0;
}

/* kube-controller-manager, which removes legacy tokens that nobody has used since, reads the day.
 */
static int put_token_tracking(struct apiserver *s, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char now[KTIME_TEXT_MAX];

    ktime_format(loop_wall(s->loop), now);
    strbuf_appendf(&body, "{\"data\":{\"since\":\"%.10s\"}}", now); /* 2026-11-17T... */
    return bootstrap_put(
        s,
        &(struct first_object){ "", "configmaps", "kube-system",
                                "kube-apiserver-legacy-service-account-token-tracking", body.data },
        err);
}

int bootstrap_kubernetes(struct apiserver *s, const char *addr, uint16_t port, struct kerr *err)
{
    static const char *const none[] = { NULL }, *const subsets[] = { "subsets", NULL },
                             *const endpoints[] = { "endpoints", "ports", NULL };
    CLEANUP(strbuf_fini) struct strbuf service = STRBUF_INIT, ep = STRBUF_INIT, sl = STRBUF_INIT;
    char host[64];

    if (str_starts(addr, "unix:"))
        return 0;
    host_of(addr, host, sizeof host);
    strbuf_appendf(&service, SERVICE, port);
    strbuf_appendf(&ep, ENDPOINTS, host, port);
    strbuf_appendf(&sl, SLICE, host, port);
    /* Somebody may have its address: the API must be there, or nobody could mend that. */
    if (put(s, &(struct first_object){ "", "services", "default", "kubernetes", service.data },
            none, err) < 0)
        KLOG_E(err, "Failed to make the Service of this server");
    if (put(s, &(struct first_object){ "", "endpoints", "default", "kubernetes", ep.data }, subsets,
            err) < 0 ||
        put(s,
            &(struct first_object){ "discovery.k8s.io", "endpointslices", "default", "kubernetes",
                                    sl.data },
            endpoints, err) < 0 ||
        put_token_tracking(s, err) < 0)
        return err->code;
    return 0;
}
