/* servicecidr.c - ServiceCIDRs: ready when they are there, gone when no address needs them.
 *
 * A range that is deleted stays, with its finalizer, while a Service has an address of it that no
 * other range covers.
 */
#include <arpa/inet.h>

#include "base/num.h"
#include "cluster/internal.h"

#define FINALIZER  "networking.k8s.io/service-cidr-finalizer"
#define MANAGED_BY "ipaddress.kubernetes.io/managed-by"
#define MANAGER    "ipallocator.k8s.io"
#define GRACE      (10 * NSEC_PER_SEC) /* until every server knows that it is to go */

struct cidrctl {
    struct cluster *c;
    struct controller *controller;
    struct informer *cidrs, *addresses;
};

static const struct kind kind_address_meta = { .group = "networking.k8s.io",
                                               .version = "v1",
                                               .kind = "IPAddress",
                                               .plural = "ipaddresses",
                                               .schema = &kobj_schema };

static const struct cidr *cidr_of(const struct kobj *o)
{
    return container_of(o, const struct cidr, obj);
}

/* ---- ranges and addresses ------------------------------------------------------------------- */

struct prefix {
    unsigned char ip[16];
    unsigned bytes, bits; /* bytes: 4 or 16; bits: how many of them are the network's */
};

static bool parse_ip(const char *text, struct prefix *ret)
{
    ret->bytes = strchr(text, ':') ? 16 : 4;
    ret->bits = 8 * ret->bytes;
    return inet_pton(ret->bytes == 16 ? AF_INET6 : AF_INET, text, ret->ip) == 1;
}

static bool parse_prefix(const char *text, struct arena *a, struct prefix *ret)
{
    const char *slash = strchr(text, '/');
    int64_t bits;

    if (!slash || !parse_ip(arena_strndup(a, text, (size_t)(slash - text)), ret) ||
        i64_parse(slash + 1, strlen(slash + 1), &bits) < 0 || bits < 0 ||
        bits > 8 * (int64_t)ret->bytes)
        return false;
    ret->bits = (unsigned)bits;
    return true;
}

static bool bit_at(const struct prefix *p, unsigned i)
{
    return p->ip[i / 8] >> (7 - i % 8) & 1;
}

static bool contains(const struct prefix *outer, const struct prefix *inner)
{
    if (outer->bytes != inner->bytes || outer->bits > inner->bits)
        return false;
    for (unsigned i = 0; i < outer->bits; i++)
        if (bit_at(outer, i) != bit_at(inner, i))
            return false;
    return true;
}

/* Neither the network's own address nor the broadcast is ever given to a Service. */
static bool may_give(const struct prefix *range, const struct prefix *ip)
{
    bool zeros = true, ones = true;

    for (unsigned i = range->bits; i < 8 * range->bytes; i++) {
        zeros = zeros && !bit_at(ip, i);
        ones = ones && bit_at(ip, i);
    }
    return contains(range, ip) && !zeros && !(ones && range->bytes == 4);
}

static bool any_covers(const struct cidr *c, const struct prefix *p, bool is_address,
                       struct arena *a)
{
    for (uint32_t i = 0; i < c->spec.cidrs.n; i++) {
        struct prefix range;
        if (parse_prefix(c->spec.cidrs.items[i], a, &range) &&
            (is_address ? may_give(&range, p) : contains(&range, p)))
            return true;
    }
    return false;
}

/* Another one that is to stay; two that are deleted do not count for each other. */
static bool other_covers(const struct cidrctl *k, const struct cidr *c, const struct prefix *p,
                         bool is_address, struct arena *a)
{
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(k->cidrs, &it)))
        if (o != &c->obj && !o->meta.deleted && any_covers(cidr_of(o), p, is_address, a))
            return true;
    return false;
}

static bool has_parents(const struct cidrctl *k, const struct cidr *c, struct arena *a)
{
    for (uint32_t i = 0; i < c->spec.cidrs.n; i++) {
        struct prefix p;
        if (parse_prefix(c->spec.cidrs.items[i], a, &p) && !other_covers(k, c, &p, false, a))
            return false;
    }
    return true;
}

static bool is_needed(const struct cidrctl *k, const struct cidr *c, struct arena *a)
{
    struct kobj *o;
    size_t it = 0;

    if (has_parents(k, c, a))
        return false;
    while ((o = informer_next(k->addresses, &it))) {
        const char *manager = kstrmap_get(&o->meta.labels, MANAGED_BY);
        struct prefix ip;
        if (manager && streq(manager, MANAGER) && parse_ip(o->meta.name, &ip) &&
            any_covers(c, &ip, true, a) && !other_covers(k, c, &ip, true, a))
            return true;
    }
    return false;
}

/* ---- one range ------------------------------------------------------------------------------ */

static void write_finalizer(struct batch *b, const struct kobj *o, bool with)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_arr(&w, with ? "finalizers" : "$deleteFromPrimitiveList/finalizers");
    kjw_str(&w, NULL, FINALIZER);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, o, NULL, KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
}

static void write_ready(struct cidrctl *k, struct batch *b, const struct cidr *c, uint8_t status)
{
    struct cidr_status now = c->status;
    const struct timed_condition ready = {
        .type = "Ready",
        .status = status,
        .reason = status == COND_TRUE ? "" : "Terminating",
        .message = status == COND_TRUE
                       ? "Kubernetes Service CIDR is ready"
                       : "There are still IPAddresses referencing the ServiceCIDR, please remove "
                         "them or create a new ServiceCIDR",
    };

    if (conditions_set(&now.conditions, &ready, loop_wall(k->c->loop), batch_arena(b)))
        batch_patch_change(b, &c->obj,
                           &(struct change){ .member = "status",
                                             .schema = &cidr_status_schema,
                                             .from = &c->status,
                                             .to = &now,
                                             .same_version = true },
                           NULL, NULL);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct cidrctl *k = arg;
    const struct cidr *c = o ? cidr_of(o) : NULL;

    (void)key;
    if (!c)
        return;
    if (!o->meta.deleted && !meta_has_finalizer(o, FINALIZER)) {
        write_finalizer(b, o, true); /* the news of it brings the next step */
    } else if (!o->meta.deleted) {
        if (!conditions_is_true(&c->status.conditions, "Ready"))
            write_ready(k, b, c, COND_TRUE);
    } else if (is_needed(k, c, batch_arena(b))) {
        write_ready(k, b, c, COND_FALSE);
    } else if (meta_has_finalizer(o, FINALIZER)) {
        nsec_t left = o->meta.deleted + GRACE - loop_wall(k->c->loop);
        if (left > 0)
            batch_again(b, left);
        else
            write_finalizer(b, o, false);
    }
}

/* ---- news ----------------------------------------------------------------------------------- */

/* An address or a range more or less: whoever waits to go looks again. */
static void on_other(void *arg, struct kobj *other)
{
    struct cidrctl *k = arg;
    struct kobj *o;
    size_t it = 0;

    (void)other;
    while ((o = informer_next(k->cidrs, &it)))
        if (o->meta.deleted)
            controller_add_object(k->controller, o);
}

static void on_cidr(void *arg, struct kobj *o)
{
    struct cidrctl *k = arg;
    controller_add_object(k->controller, o);
    on_other(k, o);
}

static void on_cidr_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_cidr(arg, o);
}

struct cidrctl *cidrctl_new(struct cluster *c)
{
    static const struct informer_handler cidrs = { .on_add = on_cidr,
                                                   .on_update = on_cidr_update,
                                                   .on_delete = on_other },
                                         addresses = { .on_add = on_other, .on_delete = on_other };
    struct cidrctl *k = xnew0(struct cidrctl);

    k->c = c;
    k->cidrs = caches_get(c->caches, &doc_cidr);
    k->addresses = caches_get(c->caches, &kind_address_meta);
    k->controller = controller_new(
        c->controllers, &(struct controller_opts){
                            .name = "servicecidr", .of = k->cidrs, .sync = sync, .self = k });
    controller_watch(k->controller, k->cidrs, &cidrs, k);
    controller_watch(k->controller, k->addresses, &addresses, k);
    return k;
}

struct cidrctl *cidrctl_free(struct cidrctl *k)
{
    if (!k)
        return NULL;
    controller_free(k->controller);
    free(k);
    return NULL;
}
