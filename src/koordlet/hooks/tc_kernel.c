/* tc_kernel.c - qdisc, classes and filters of a link, by rtnetlink. */
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "koordlet/hooks/tc.h"
#include "sys/file.h"

enum { HANDLE = 1 << 16, FILTER_PRIO = 10, DEFAULT_MINOR = TC_SYSTEM, LINK_ETHERNET = 1 };

struct tc {
    int fd;
    uint32_t seq;
    char link[IF_NAMESIZE];
    struct tc_want applied; /* what the link has from us */
    bool ready;             /* the qdisc is ours */
    bool looked;            /* for what another run left */
};

struct request {
    struct nlmsghdr n;
    struct tcmsg t;
    char attributes[1024];
};

struct tc *tc_new(void)
{
    struct tc *t = xnew0(struct tc);

    t->fd = -1;
    return t;
}

struct tc *tc_free(struct tc *t)
{
    if (!t)
        return NULL;
    fd_close(t->fd);
    tc_want_fini(&t->applied);
    free(t);
    return NULL;
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct rtattr *put(struct request *q, unsigned short type, const void *data, size_t n)
{
    struct rtattr *a = (struct rtattr *)(void *)((char *)q + NLMSG_ALIGN(q->n.nlmsg_len));

    assert(NLMSG_ALIGN(q->n.nlmsg_len) + RTA_LENGTH(n) <= sizeof *q);
    a->rta_type = type;
    a->rta_len = (unsigned short)RTA_LENGTH(n);
    if (n > 0)
        memcpy(RTA_DATA(a), data, n);
    q->n.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->n.nlmsg_len) + RTA_ALIGN(a->rta_len));
    return a;
}

static void nest_end(const struct request *q, struct rtattr *nest)
{
    nest->rta_len =
        (unsigned short)((const char *)q + NLMSG_ALIGN(q->n.nlmsg_len) - (const char *)nest);
}

static struct request begin(const struct tc *t, uint16_t type, uint16_t flags, uint32_t handle,
                            uint32_t parent, uint32_t info)
{
    return (struct request){
        .n = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
               .nlmsg_type = type,
               .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags) },
        .t = { .tcm_family = AF_UNSPEC,
               .tcm_ifindex = (int)if_nametoindex(t->link),
               .tcm_handle = handle,
               .tcm_parent = parent,
               .tcm_info = info },
    };
}

/* The kernel answers a request while it is sent: the answer is there when send() returns. */
static int talk(struct tc *t, struct request *q, const char *what, struct kerr *err)
{
    union {
        struct nlmsghdr n;
        char bytes[4096];
    } answer;

    q->n.nlmsg_seq = ++t->seq;
    if (RETRY_EINTR(send(t->fd, q, q->n.nlmsg_len, 0)) < 0)
        return kerr_set(err, -errno, "%s on %s: %s", what, t->link, strerror(errno));
    for (;;) {
        ssize_t n = RETRY_EINTR(recv(t->fd, &answer, sizeof answer, MSG_DONTWAIT));
        if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)))
            return kerr_set(err, -EIO, "%s on %s: no answer", what, t->link);
        if (answer.n.nlmsg_seq != t->seq || answer.n.nlmsg_type != NLMSG_ERROR)
            continue;
        int code = ((struct nlmsgerr *)NLMSG_DATA(&answer.n))->error;
        return code < 0 ? kerr_set(err, code, "%s on %s: %s", what, t->link, strerror(-code)) : 0;
    }
}

/* ---- what the link has ----------------------------------------------------------------------- */

static int qdisc_delete(struct tc *t, struct kerr *err)
{
    struct request q = begin(t, RTM_DELQDISC, 0, HANDLE, TC_H_ROOT, 0);

    t->ready = false;
    vec_clear(&t->applied.classes);
    vec_clear(&t->applied.filters);
    int code = talk(t, &q, "remove the htb qdisc", err);
    return code == -ENOENT || code == -EINVAL ? 0 : code;
}

/* The attribute of this type among those in n bytes; NULL: none. */
static const struct rtattr *attribute(const void *from, size_t n, unsigned short type)
{
    const char *at = from;

    while (n >= sizeof(struct rtattr)) {
        const struct rtattr *a = (const void *)at;
        if (a->rta_len < sizeof *a || a->rta_len > n)
            return NULL;
        if (a->rta_type == type)
            return a;
        size_t step = MIN((size_t)RTA_ALIGN(a->rta_len), n);
        at += step;
        n -= step;
    }
    return NULL;
}

/* A message about a qdisc: htb, packets of no class to 1:2. */
static bool is_ours(const struct nlmsghdr *h)
{
    const struct tcmsg *t = NLMSG_DATA(h);
    size_t n = h->nlmsg_len - NLMSG_LENGTH(sizeof *t);
    const struct rtattr *kind = attribute(TCA_RTA(t), n, TCA_KIND);
    const struct rtattr *options = attribute(TCA_RTA(t), n, TCA_OPTIONS);
    const struct rtattr *init =
        options ? attribute(RTA_DATA(options), RTA_PAYLOAD(options), TCA_HTB_INIT) : NULL;
    struct tc_htb_glob glob;

    if (!kind || RTA_PAYLOAD(kind) != 4 || memcmp(RTA_DATA(kind), "htb", 4) != 0 || !init ||
        RTA_PAYLOAD(init) < sizeof glob || t->tcm_parent != TC_H_ROOT)
        return false;
    memcpy(&glob, RTA_DATA(init), sizeof glob);
    return glob.defcls == DEFAULT_MINOR;
}

/* Whether the link has a qdisc as this agent, or upstream's, makes it. */
static bool qdisc_is_ours(struct tc *t)
{
    struct request q = begin(t, RTM_GETQDISC, NLM_F_ECHO, HANDLE, TC_H_ROOT, 0);
    union {
        struct nlmsghdr n;
        char bytes[8192];
    } answer;
    bool ours = false;

    q.n.nlmsg_seq = ++t->seq;
    if (RETRY_EINTR(send(t->fd, &q, q.n.nlmsg_len, 0)) < 0)
        return false;
    for (;;) {
        ssize_t n = RETRY_EINTR(recv(t->fd, &answer, sizeof answer, MSG_DONTWAIT));
        if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct tcmsg)) || !NLMSG_OK(&answer.n, n))
            return ours;
        if (answer.n.nlmsg_seq != t->seq)
            continue;
        if (answer.n.nlmsg_type == NLMSG_ERROR)
            return ours;
        ours |= answer.n.nlmsg_type == RTM_NEWQDISC && is_ours(&answer.n);
    }
}

static int qdisc_add(struct tc *t, struct kerr *err)
{
    const struct tc_htb_glob glob = { .version = 3, .rate2quantum = 10, .defcls = DEFAULT_MINOR };
    struct request q = begin(t, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, HANDLE, TC_H_ROOT, 0);

    put(&q, TCA_KIND, "htb", 4);
    struct rtattr *options = put(&q, TCA_OPTIONS, NULL, 0);
    put(&q, TCA_HTB_INIT, &glob, sizeof glob);
    nest_end(&q, options);
    return talk(t, &q, "add the htb qdisc", err);
}

static int class_put(struct tc *t, const struct tc_class *c, struct kerr *err)
{
    const uint32_t max = UINT32_MAX;
    const struct tc_htb_opt opt = {
        .rate = { .linklayer = LINK_ETHERNET, .rate = (uint32_t)MIN(c->rate, (uint64_t)max) },
        .ceil = { .linklayer = LINK_ETHERNET, .rate = (uint32_t)MIN(c->ceil, (uint64_t)max) },
        .buffer = c->buffer,
        .cbuffer = c->cbuffer,
        .prio = c->prio,
    };
    struct request q =
        begin(t, RTM_NEWTCLASS, NLM_F_CREATE, HANDLE | c->minor, HANDLE | c->parent, 0);

    put(&q, TCA_KIND, "htb", 4);
    struct rtattr *options = put(&q, TCA_OPTIONS, NULL, 0);
    if (c->rate > max)
        put(&q, TCA_HTB_RATE64, &c->rate, sizeof c->rate);
    if (c->ceil > max)
        put(&q, TCA_HTB_CEIL64, &c->ceil, sizeof c->ceil);
    put(&q, TCA_HTB_PARMS, &opt, sizeof opt);
    nest_end(&q, options);
    return talk(t, &q, "set an htb class", err);
}

static int class_delete(struct tc *t, uint16_t minor, struct kerr *err)
{
    struct request q = begin(t, RTM_DELTCLASS, 0, HANDLE | minor, 0, 0);
    int code = talk(t, &q, "remove an htb class", err);

    return code == -ENOENT ? 0 : code;
}

static int filter_add(struct tc *t, const struct tc_filter *f, struct kerr *err)
{
    const struct tc_u32_sel sel = { .flags = TC_U32_TERMINAL, .nkeys = 1 };
    const struct tc_u32_key source = { .mask = UINT32_MAX, .val = f->ip, .off = 12 };
    char match[sizeof sel + sizeof source]; /* the keys follow */
    const uint32_t class = HANDLE | f->minor;
    struct request q = begin(t, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, 0, HANDLE,
                             TC_H_MAKE((uint32_t)FILTER_PRIO << 16, htons(0x0800)));

    memcpy(match, &sel, sizeof sel);
    memcpy(match + sizeof sel, &source, sizeof source);
    put(&q, TCA_KIND, "u32", 4);
    struct rtattr *options = put(&q, TCA_OPTIONS, NULL, 0);
    put(&q, TCA_U32_CLASSID, &class, sizeof class);
    put(&q, TCA_U32_SEL, match, sizeof match);
    nest_end(&q, options);
    return talk(t, &q, "add a filter", err);
}

static int filters_delete(struct tc *t, struct kerr *err)
{
    struct request q = begin(t, RTM_DELTFILTER, 0, 0, HANDLE,
                             TC_H_MAKE((uint32_t)FILTER_PRIO << 16, htons(0x0800)));
    int code = talk(t, &q, "remove the filters", err);

    return code == -ENOENT || code == -EINVAL ? 0 : code;
}

/* Processes by net_cls.classid; a kernel without this classifier has the addresses only. */
static int cgroup_filter(struct tc *t, struct kerr *err)
{
    struct request q = begin(t, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, HANDLE + 1, HANDLE,
                             TC_H_MAKE((uint32_t)1 << 16, htons(0x0003)));

    put(&q, TCA_KIND, "cgroup", 7);
    nest_end(&q, put(&q, TCA_OPTIONS, NULL, 0));
    int code = talk(t, &q, "add the cgroup filter", err);
    return code == -ENOENT || code == -EOPNOTSUPP ? 0 : code;
}

/* ---- from what is to what shall be ----------------------------------------------------------- */

static const struct tc_class *class_find(const struct tc_want *w, uint16_t minor)
{
    vec_foreach(&w->classes, i)
        if (w->classes.items[i].minor == minor)
            return &w->classes.items[i];
    return NULL;
}

static int classes_apply(struct tc *t, const struct tc_want *w, struct kerr *err)
{
    vec_foreach(&w->classes, i) {
        const struct tc_class *c = &w->classes.items[i], *is = class_find(&t->applied, c->minor);
        if (is && memcmp(is, c, sizeof *c) == 0)
            continue;
        if (class_put(t, c, err) < 0)
            return err->code;
    }
    return 0;
}

static int filters_apply(struct tc *t, const struct tc_want *w, struct kerr *err)
{
    size_t n = w->filters.n;

    if (n == t->applied.filters.n && (n == 0 || memcmp(w->filters.items, t->applied.filters.items,
                                                       n * sizeof *w->filters.items) == 0))
        return 0;
    if (filters_delete(t, err) < 0)
        return err->code;
    vec_clear(&t->applied.filters);
    vec_foreach(&w->filters, i)
        if (filter_add(t, &w->filters.items[i], err) < 0)
            return err->code;
    return 0;
}

static int stale_delete(struct tc *t, const struct tc_want *w, struct kerr *err)
{
    vec_foreach(&t->applied.classes, i) {
        uint16_t minor = t->applied.classes.items[i].minor;
        if (!class_find(w, minor) && class_delete(t, minor, err) < 0)
            return err->code;
    }
    return 0;
}

static void remember(struct tc *t, const struct tc_want *w)
{
    vec_clear(&t->applied.classes);
    vec_clear(&t->applied.filters);
    vec_foreach(&w->classes, i)
        vec_push(&t->applied.classes, w->classes.items[i]);
    vec_foreach(&w->filters, i)
        vec_push(&t->applied.filters, w->filters.items[i]);
}

static int start(struct tc *t, const char *link, struct kerr *err)
{
    if (t->fd < 0)
        t->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (t->fd < 0)
        return kerr_set(err, -errno, "netlink socket: %s", strerror(errno));
    if (t->ready && !streq(t->link, link) && qdisc_delete(t, err) < 0)
        return err->code;
    snprintf(t->link, sizeof t->link, "%s", link);
    return 0;
}

int tc_apply(struct tc *t, const char *link, const struct tc_want *w, struct kerr *err)
{
    if (w->classes.n == 0 && !t->ready && t->looked)
        return 0;
    if (start(t, link, err) < 0)
        return err->code;
    t->looked = true;
    if (w->classes.n == 0)
        return t->ready || qdisc_is_ours(t) ? qdisc_delete(t, err) : 0;
    /* What another run left has classes that nobody knows: begin anew. */
    if (!t->ready && (qdisc_delete(t, err) < 0 || qdisc_add(t, err) < 0))
        return err->code;
    bool first = !t->ready;
    t->ready = true;
    if (classes_apply(t, w, err) < 0 || (first && cgroup_filter(t, err) < 0) ||
        filters_apply(t, w, err) < 0 || stale_delete(t, w, err) < 0) {
        t->ready = false; /* the next round begins anew */
        return err->code;
    }
    remember(t, w);
    return 0;
}
