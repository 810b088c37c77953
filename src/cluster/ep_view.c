/* ep_view.c - which addresses stand behind a Service. */
#include <stdio.h>

#include "cluster/ep.h"

/* ---- groups -------------------------------------------------------------------------------- */

void epgroups_fini(epgroupvec *g)
{
    vec_foreach(g, i)
        vec_fini(&g->items[i].addrs);
    vec_fini(g);
}

/* The group with these ports; made when it is missing. */
static struct ep_group *group_of(epgroupvec *g, const char *ports_json)
{
    struct ep_group fresh = { .ports_json = ports_json };

    vec_foreach(g, i)
        if (streq(g->items[i].ports_json, ports_json))
            return &g->items[i];
    vec_push(g, fresh);
    return &vec_last(g);
}

/* ---- pods of a Service --------------------------------------------------------------------- */

/* 0: this pod does not have the port. */
static int32_t find_port(const struct svc_port *want, const struct backend *p)
{
    if (!want->target.s)
        return want->target.i;
    for (uint32_t i = 0; i < p->spec.containers.n; i++) {
        const struct backend_container *c = &p->spec.containers.items[i];
        for (uint32_t k = 0; k < c->ports.n; k++)
            if (streq(c->ports.items[k].name, want->target.s) &&
                streq(*c->ports.items[k].protocol ? c->ports.items[k].protocol : "TCP",
                      want->protocol))
                return c->ports.items[k].port;
    }
    return 0;
}

static const char *write_ports(const struct svc *s, const struct backend *p, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kjw w = kjw_to(&out);

    kjw_arr(&w, NULL);
    for (uint32_t i = 0; i < s->spec.ports.n; i++) {
        const struct svc_port *port = &s->spec.ports.items[i];
        int32_t number = find_port(port, p);
        if (number == 0)
            continue;
        kjw_obj(&w, NULL);
        kjw_str(&w, "name", port->name);
        kjw_str(&w, "protocol", port->protocol);
        kjw_i64(&w, "port", number);
        if (port->app_protocol)
            kjw_str(&w, "appProtocol", port->app_protocol);
        kjw_end(&w);
    }
    kjw_end(&w);
    return arena_strndup(a, out.data, out.len);
}

static const char *write_target(const struct kobj *o, const char *uid, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kjw w = kjw_to(&out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "Pod");
    kjw_str(&w, "namespace", o->meta.ns);
    kjw_str(&w, "name", o->meta.name);
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    return arena_strndup(a, out.data, out.len);
}

static bool is_behind(const struct backend *p)
{
    return *p->status.pod_ip && !streq(p->status.phase, "Succeeded") &&
           !streq(p->status.phase, "Failed");
}

static struct ep_addr addr_of(const struct svc *s, const struct backend *p, struct informer *nodes,
                              struct arena *a)
{
    struct ep_addr x = { .ip = p->status.pod_ip, .node = p->spec.node_name };
    const struct kobj *node = *x.node ? informer_get(nodes, x.node) : NULL;
    char uid[KUID_TEXT_MAX];

    kuid_format(p->obj.meta.uid, uid, sizeof uid);
    x.zone = node ? str_or(kstrmap_get(&node->meta.labels, "topology.kubernetes.io/zone"), "") : "";
    x.hostname = streq(p->spec.subdomain, s->obj.meta.name) ? p->spec.hostname : "";
    x.target_json = write_target(&p->obj, uid, a);
    x.id = arena_strdup(a, uid);
    x.serving = condition_is_true(&p->status.conditions, "Ready");
    x.terminating = p->obj.meta.deleted != 0;
    x.ready = s->spec.publish_not_ready || (x.serving && !x.terminating);
    return x;
}

void ep_view_service(const struct svc *s, const kobjvec *pods, struct informer *nodes,
                     epgroupvec *out, struct arena *a)
{
    struct labelsel *selector = labelsel_from_map(&s->spec.selector, a);

    vec_foreach(pods, i) {
        const struct backend *p = backend_of(pods->items[i]);
        if (!is_behind(p) || !labelsel_matches(selector, &p->obj.meta.labels))
            continue;
        struct ep_group *g = group_of(out, write_ports(s, p, a));
        vec_push(&g->addrs, addr_of(s, p, nodes, a));
    }
}

/* ---- Endpoints ----------------------------------------------------------------------------- */

static void add_addresses(struct ep_group *g, const struct kj_val *list, bool ready,
                          struct arena *a)
{
    struct str key;
    const struct kj_val *v;

    for (struct kj_iter it = kj_iter(list); kj_next(&it, &key, &v);) {
        CLEANUP(strbuf_fini) struct strbuf target = STRBUF_INIT;
        struct ep_addr x = { .ready = ready, .zone = "", .plain = true };
        x.ip = arena_strdup(a, kj_str_or(kj_get(v, "ip"), ""));
        /* Slices of IPv6 addresses would be slices of their own. */
        if (strchr(x.ip, ':') || g->addrs.n >= EP_SUBSET_MAX)
            continue;
        x.hostname = arena_strdup(a, kj_str_or(kj_get(v, "hostname"), ""));
        x.node = arena_strdup(a, kj_str_or(kj_get(v, "nodeName"), ""));
        if (kj_get(v, "targetRef")) {
            kj_write(kj_get(v, "targetRef"), 0, &target);
            x.target_json = arena_strndup(a, target.data, target.len);
        }
        x.id = x.ip;
        vec_push(&g->addrs, x);
    }
}

void ep_view_endpoints(const struct endpoints_doc *e, epgroupvec *out, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct str key;
    const struct kj_val *v;

    if (!e->subsets_json || kj_parse(e->subsets_json, strlen(e->subsets_json), 0, &doc, NULL) < 0)
        return;
    for (struct kj_iter it = kj_iter(kj_root(doc)); kj_next(&it, &key, &v);) {
        CLEANUP(strbuf_fini) struct strbuf ports = STRBUF_INIT;
        if (kj_get(v, "ports"))
            kj_write(kj_get(v, "ports"), 0, &ports);
        else
            strbuf_append(&ports, "[]");
        struct ep_group *g = group_of(out, arena_strndup(a, ports.data, ports.len));
        add_addresses(g, kj_get(v, "addresses"), true, a);
        add_addresses(g, kj_get(v, "notReadyAddresses"), false, a);
    }
}

/* One on its way out is in slices only, unless publishNotReadyAddresses makes it a ready one. */
static bool is_listed(const struct ep_addr *x)
{
    return x->ready || !x->terminating;
}

static size_t write_addresses(struct kjw *w, const char *name, const struct ep_group *g, bool ready,
                              size_t room)
{
    size_t n = 0;

    vec_foreach(&g->addrs, i) {
        const struct ep_addr *x = &g->addrs.items[i];
        if (!is_listed(x) || x->ready != ready || n >= room)
            continue;
        if (n++ == 0)
            kjw_arr(w, name);
        kjw_obj(w, NULL);
        kjw_str(w, "ip", x->ip);
        if (*x->hostname)
            kjw_str(w, "hostname", x->hostname);
        if (*x->node)
            kjw_str(w, "nodeName", x->node);
        if (x->target_json)
            kjw_raw(w, "targetRef", x->target_json, strlen(x->target_json));
        kjw_end(w);
    }
    if (n)
        kjw_end(w);
    return n;
}

static size_t listed(const struct ep_group *g)
{
    size_t n = 0;
    vec_foreach(&g->addrs, i)
        n += is_listed(&g->addrs.items[i]);
    return n;
}

void ep_write_subsets(const epgroupvec *groups, bool ports_needed, struct strbuf *out, bool *over)
{
    struct kjw w = kjw_to(out);
    size_t room = EP_SUBSET_MAX, all = 0;

    kjw_arr(&w, NULL);
    vec_foreach(groups, i) {
        const struct ep_group *g = &groups->items[i];
        bool no_ports = streq(g->ports_json, "[]");
        if (listed(g) == 0 || room == 0 || (no_ports && ports_needed))
            continue;
        all += listed(g);
        kjw_obj(&w, NULL);
        room -= write_addresses(&w, "addresses", g, true, room);
        room -= write_addresses(&w, "notReadyAddresses", g, false, room);
        if (!no_ports)
            kjw_raw(&w, "ports", g->ports_json, strlen(g->ports_json));
        kjw_end(&w);
    }
    kjw_end(&w);
    *over = all > EP_SUBSET_MAX;
}
