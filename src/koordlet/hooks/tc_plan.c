/* tc_plan.c - which htb classes and filters the node shall have. */
#include <arpa/inet.h>
#include <stdio.h>

#include "api/protocol/slo.h"
#include "api/qos.h"
#include "base/map.h"
#include "base/num.h"
#include "koordlet/hooks/tc.h"
#include "koordlet/kernel/text.h"

enum { BUFFER_BASE = 1600, BUFFER_MIN = 200, MAJOR = 1 };

void tc_want_fini(struct tc_want *w)
{
    vec_fini(&w->classes);
    vec_fini(&w->filters);
    vec_fini(&w->pods);
}

/* ---- NodeSLO --------------------------------------------------------------------------------- */

static const struct network_qos *network_of(const struct resource_qos *q)
{
    const struct network_qos *n = q ? q->network : NULL;

    return n && n->enable.set && n->enable.v ? n : NULL;
}

static int64_t total_of(const struct nodeslo_spec *slo)
{
    return slo->system ? qty_value(slo->system->total_network_bandwidth) : 0;
}

/* The policy is "tc" or unset, a class has network QoS, and the total is known. */
static bool tc_is_on(const struct nodeslo_spec *slo)
{
    const struct resource_qos_strategy *s = slo ? slo->resource_qos : NULL;

    if (!s || total_of(slo) <= 0)
        return false;
    const char *policy = s->policies && s->policies->net_policy ? s->policies->net_policy : "";
    return (!*policy || streq(policy, "tc")) && (network_of(s->ls) || network_of(s->be));
}

int64_t tc_bandwidth(const struct int_or_str *v, int64_t total)
{
    struct qty q;
    struct kerr err;

    if (!v)
        return 0;
    if (!v->s)
        return v->i >= 0 && v->i <= 100 ? i64_muldiv(total, v->i, 100) : 0;
    return qty_parse(v->s, strlen(v->s), &q, &err) < 0 ? 0 : MAX(qty_value(q), (int64_t)0);
}

/* ---- classes --------------------------------------------------------------------------------- */

static uint32_t buffer_of(uint64_t rate, uint32_t hz)
{
    return MAX((uint32_t)(rate / (hz ? hz : 1) + BUFFER_BASE), (uint32_t)BUFFER_MIN);
}

static void add_class(struct tc_want *w, uint16_t minor, uint32_t prio, int64_t rate_bits,
                      int64_t ceil_bits, uint32_t hz)
{
    struct tc_class c = { .minor = minor,
                          .parent = minor == TC_ROOT ? 0 : TC_ROOT,
                          .rate = (uint64_t)MAX(rate_bits, (int64_t)0) / 8,
                          .ceil = (uint64_t)MAX(ceil_bits, (int64_t)0) / 8,
                          .prio = prio };

    c.rate = c.rate ? c.rate : 1; /* the kernel wants some */
    c.ceil = c.ceil ? MAX(c.ceil, c.rate) : c.rate;
    c.buffer = buffer_of(c.rate, hz);
    c.cbuffer = buffer_of(c.ceil, hz);
    vec_push(&w->classes, c);
}

static void add_node(const struct nodeslo_spec *slo, uint32_t hz, struct tc_want *w)
{
    static const struct network_qos none;
    const struct network_qos *ls = network_of(slo->resource_qos->ls);
    const struct network_qos *be = network_of(slo->resource_qos->be);
    int64_t total = total_of(slo);

    ls = ls ? ls : &none;
    be = be ? be : &none;
    int64_t l1 = tc_bandwidth(ls->egress_request, total);
    int64_t l2 = tc_bandwidth(be->egress_request, total);
    add_class(w, TC_ROOT, 0, total, total, hz);
    add_class(w, TC_SYSTEM, 1, total - l1 - l2, total, hz);
    add_class(w, TC_LS, 2, l1, tc_bandwidth(ls->egress_limit, total), hz);
    add_class(w, TC_BE, 3, l2, tc_bandwidth(be->egress_limit, total), hz);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static uint16_t class_of_qos(const struct npod *p)
{
    switch (qos_raw(&p->obj->meta.labels)) {
    case QOS_SYSTEM: return TC_SYSTEM;
    case QOS_LSE:
    case QOS_LSR:
    case QOS_LS: return TC_LS;
    case QOS_BE: return TC_BE;
    default: return 0;
    }
}

/* Bits a second; 0: it asks for none, or not well. */
static int64_t egress_of(const struct npod *p, struct arena *a)
{
    struct pod_network_qos net;
    struct kerr err;

    if (pod_network_qos_read(&p->obj->meta.annotations, a, &net, &err) <= 0 || !net.egress_limit)
        return 0;
    return MAX(qty_value(*net.egress_limit), (int64_t)0);
}

static bool is_taken(const struct tc_want *w, uint16_t minor)
{
    vec_foreach(&w->classes, i)
        if (w->classes.items[i].minor == minor)
            return true;
    return false;
}

/* The same for a pod in each run, as far as others leave it free. */
static uint16_t minor_of(const struct tc_want *w, const struct npod *p)
{
    const unsigned span = 0xfff0 - TC_FIRST_POD;
    unsigned at = (unsigned)(hash_stable(p->uid, strlen(p->uid)) % span);

    while (is_taken(w, (uint16_t)(TC_FIRST_POD + at)))
        at = (at + 1) % span;
    return (uint16_t)(TC_FIRST_POD + at);
}

static void add_filters(struct tc_want *w, const struct npod *p, uint16_t minor)
{
    struct in_addr ip;

    for (uint32_t i = 0; i < p->nips; i++)
        if (inet_pton(AF_INET, p->ips[i], &ip) == 1)
            vec_push(&w->filters, ((struct tc_filter){ ip.s_addr, minor }));
}

void tc_plan(const struct nodeslo_spec *slo, const struct podset *pods, uint32_t hz,
             struct tc_want *ret)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (!tc_is_on(slo))
        return;
    add_node(slo, hz, ret);
    for (uint32_t i = 0; pods && i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        if (pod_is_terminal(npod_pod(p)))
            continue;
        int64_t egress = egress_of(p, a);
        uint16_t minor = class_of_qos(p);
        if (egress > 0) {
            minor = minor_of(ret, p);
            add_class(ret, minor, 2, egress, egress, hz);
            vec_push(&ret->pods, ((struct tc_pod){ p, minor }));
        }
        /* The addresses of a pod on the host's network are the node's. */
        if (minor && !npod_pod(p)->spec->host_network)
            add_filters(ret, p, minor);
    }
}

/* Packets of the host's network have the node's address: their class goes by the cgroup. */
uint32_t tc_classid(const struct tc_want *w, const struct npod *p)
{
    uint16_t minor = class_of_qos(p);

    vec_foreach(&w->pods, i)
        if (w->pods.items[i].pod == p && npod_pod(p)->spec->host_network)
            minor = w->pods.items[i].minor;
    return minor ? (uint32_t)MAJOR << 16 | minor : 0;
}

/* ---- the machine ----------------------------------------------------------------------------- */

bool tc_default_link(struct str route, char *name, size_t size)
{
    struct str line, link, destination, gateway;

    while (text_line(&route, &line)) {
        struct str rest = line;
        if (!text_word(&rest, &link) || !text_word(&rest, &destination) ||
            !text_word(&rest, &gateway))
            continue;
        if (destination.n != 8 || memcmp(destination.p, "00000000", 8) != 0 || link.n >= size ||
            memchr(link.p, 0, link.n))
            continue;
        memcpy(name, link.p, link.n);
        name[link.n] = '\0';
        return true;
    }
    return false;
}

/* "000003e8 00000040 000f4240 3b9aca00": the last is the resolution of timers. */
uint32_t tc_hz(struct str psched)
{
    unsigned fields[4];
    char text[64];

    snprintf(text, sizeof text, "%.*s", (int)MIN(psched.n, sizeof text - 1), psched.p);
    if (sscanf(text, "%x %x %x %x", &fields[0], &fields[1], &fields[2], &fields[3]) != 4)
        return 0;
    return fields[3];
}
