/* test_koordlet_tc.c - network classes: what is decided, and what the kernel then has
 * (koordlet-qos 15.10). */
#include "koordlet/qos/test/qos_fixture.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "koordlet/hooks/tc.h"
#include "sys/file.h"

#define SLO                                                                                 \
    "{'systemStrategy':{'totalNetworkBandwidth':'800M'},'resourceQOSStrategy':{'policies':" \
    "{'netQOSPolicy':'tc'},'lsClass':{'networkQOS':{'enable':true,'egressRequest':50,"      \
    "'egressLimit':100}},'beClass':{'networkQOS':{'enable':true,'egressRequest':'80M',"     \
    "'egressLimit':'400M'}}}}"
#define POD(name, uid, qos, ip, annotations)                                        \
    "{'metadata':{'name':'" name "','namespace':'d','uid':'" uid "','labels':{"     \
    "'koordinator.sh/qosClass':'" qos "'},'annotations':{" annotations "}},'spec':" \
    "{'containers':[]},'status':{'phase':'Running','qosClass':'Burstable','podIP':'" ip "'}}"
#define LIMIT "'koordinator.sh/networkQOS':'{\\\"egressLimit\\\":\\\"8M\\\"}'"

static void test_bandwidths(void **state)
{
    const struct int_or_str percent = { NULL, 10 }, text = { "10M", 0 }, beyond = { NULL, 200 },
                            bad = { "much", 0 };

    (void)state;
    assert_int_equal(tc_bandwidth(&percent, 100000000), 10000000);
    assert_int_equal(tc_bandwidth(&text, 100000000), 10000000);
    assert_int_equal(tc_bandwidth(&beyond, 100000000), 0);
    assert_int_equal(tc_bandwidth(&bad, 100000000), 0);
    assert_int_equal(tc_bandwidth(NULL, 100000000), 0);
}

static void test_classes_and_filters(void **state)
{
    CLEANUP(podset_unref)
    struct podset *pods = pods_of(
        *state, "[" POD("a", "u1", "LS", "10.0.0.1", "") "," POD("b", "u2", "BE", "", "") "," POD(
                    "c", "u3", "LS", "10.0.0.3", LIMIT) "]");
    CLEANUP(tc_want_fini) struct tc_want w = { 0 };

    tc_plan(slo_of(*state, SLO), pods, 1000, &w);
    assert_int_equal(w.classes.n, 5);
    assert_int_equal(w.classes.items[0].rate, 100000000);
    assert_int_equal(w.classes.items[1].rate, 40000000); /* system: what is left */
    assert_int_equal(w.classes.items[1].ceil, 100000000);
    assert_int_equal(w.classes.items[2].rate, 50000000);
    assert_int_equal(w.classes.items[3].rate, 10000000);
    assert_int_equal(w.classes.items[3].ceil, 50000000);
    assert_int_equal(w.classes.items[3].buffer, 10000000 / 1000 + 1600);
    assert_int_equal(w.classes.items[3].prio, 3);
    /* The pod with a limit of its own; bits are bytes once, not twice. */
    assert_int_equal(w.classes.items[4].rate, 1000000);
    assert_int_equal(w.classes.items[4].ceil, 1000000);
    /* No address, no filter. */
    assert_int_equal(w.filters.n, 2);
    assert_int_equal(w.filters.items[0].minor, TC_LS);
    assert_int_equal(w.filters.items[1].minor, w.classes.items[4].minor);
    assert_int_equal(tc_classid(&w, pods->pods[0]), 65539);
    assert_int_equal(tc_classid(&w, pods->pods[1]), 65540);
    CLEANUP(tc_want_fini) struct tc_want off = { 0 };
    tc_plan(slo_of(*state, "{}"), pods, 1000, &off);
    assert_int_equal(off.classes.n, 0);
}

static void test_link_and_clock(void **state)
{
    static const char route[] = "Iface\tDestination\tGateway\tFlags\n"
                                "eth1\t0000FEA9\t00000000\t0001\n"
                                "eth0\t00000000\t0100A8C0\t0003\n";
    static const char psched[] = "000003e8 00000040 000f4240 3b9aca00\n";
    char link[16];

    (void)state;
    assert_true(tc_default_link((struct str){ route, sizeof route - 1 }, link, sizeof link));
    assert_string_equal(link, "eth0");
    assert_false(tc_default_link((struct str){ route, 30 }, link, sizeof link));
    assert_int_equal(tc_hz((struct str){ psched, sizeof psched - 1 }), 1000000000);
    assert_int_equal(tc_hz((struct str){ "?", 1 }), 0);
}

/* ---- in a network namespace ------------------------------------------------------------------ */

/* How many classes, or filters, the link lo has. -1: it could not be asked. */
static int count(int type, uint32_t parent)
{
    CLEANUP(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct {
        struct nlmsghdr n;
        struct tcmsg t;
    } q = { .n = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
                   .nlmsg_type = (uint16_t)type,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
            .t = { .tcm_ifindex = (int)if_nametoindex("lo"), .tcm_parent = parent } };
    static char buf[65536];
    int n = 0;

    if (send(fd, &q, q.n.nlmsg_len, 0) < 0)
        return -1;
    for (;;) {
        ssize_t got = recv(fd, buf, sizeof buf, 0);
        struct nlmsghdr *h = (struct nlmsghdr *)(void *)buf;
        for (; NLMSG_OK(h, got); h = NLMSG_NEXT(h, got)) {
            if (h->nlmsg_type == NLMSG_DONE)
                return n;
            if (h->nlmsg_type == NLMSG_ERROR)
                return -1;
            /* Headers of filter tables have no key. */
            const struct tcmsg *t = NLMSG_DATA(h);
            n += type == RTM_GETTCLASS || (t->tcm_handle & 0xfff) != 0;
        }
    }
}

/* Somebody else's htb qdisc 1: at the root, with a default of its own. -EEXIST: there is one. */
static int add_stranger(void)
{
    struct {
        struct nlmsghdr n;
        struct tcmsg t;
        struct rtattr kind;
        char name[4];
        struct rtattr options, init;
        struct tc_htb_glob glob;
    } q = { .n = { .nlmsg_len = sizeof q,
                   .nlmsg_type = RTM_NEWQDISC,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL },
            .t = { .tcm_ifindex = (int)if_nametoindex("lo"),
                   .tcm_handle = 1 << 16,
                   .tcm_parent = TC_H_ROOT },
            .kind = { RTA_LENGTH(4), TCA_KIND },
            .name = "htb",
            .options = { RTA_LENGTH(RTA_LENGTH(sizeof q.glob)), TCA_OPTIONS },
            .init = { RTA_LENGTH(sizeof q.glob), TCA_HTB_INIT },
            .glob = { .version = 3, .rate2quantum = 10, .defcls = 30 } };
    struct {
        struct nlmsghdr n;
        struct nlmsgerr e;
        char rest[1024];
    } answer;
    CLEANUP(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0 || send(fd, &q, sizeof q, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
        return -EIO;
    return answer.e.error;
}

/* In a child: 0 when everything was as it should be, else the number of the step. */
static int steps(struct object_fixture *b)
{
    CLEANUP(podset_unref)
    struct podset *pods = pods_of(b, "[" POD("a", "u1", "LS", "10.0.0.1",
                                             "") "," POD("c", "u3", "LS", "10.0.0.3", LIMIT) "]");
    CLEANUP(podset_unref)
    struct podset *fewer = pods_of(b, "[" POD("a", "u1", "LS", "10.0.0.1", "") "]");
    CLEANUP(tc_want_fini) struct tc_want w = { 0 }, less = { 0 }, none = { 0 };
    CLEANUP(tc_free) struct tc *t = tc_new();
    CLEANUP(tc_free) struct tc *next = tc_new();
    struct kerr err = { 0 };

    tc_plan(slo_of(b, SLO), pods, 1000000000, &w);
    tc_plan(slo_of(b, SLO), fewer, 1000000000, &less);
    if (tc_apply(t, "lo", &w, &err) < 0) {
        print_message("%s\n", err.text);
        return 1;
    }
    if (count(RTM_GETTCLASS, 0) != 5 || count(RTM_GETTFILTER, 1 << 16) != 2)
        return 2;
    if (tc_apply(t, "lo", &less, &err) < 0 || count(RTM_GETTCLASS, 0) != 4 ||
        count(RTM_GETTFILTER, 1 << 16) != 1)
        return 3;
    /* Another run finds what this one left, and leaves nothing of it. */
    if (tc_apply(t, "lo", &w, &err) < 0 || tc_apply(next, "lo", &less, &err) < 0 ||
        count(RTM_GETTCLASS, 0) != 4)
        return 4;
    if (tc_apply(next, "lo", &none, &err) < 0 || count(RTM_GETTCLASS, 0) != 0)
        return 5;
    /* One that finds the feature switched off takes away what was left, and nothing else. */
    CLEANUP(tc_free) struct tc *last = tc_new();
    CLEANUP(tc_free) struct tc *stranger = tc_new();
    if (tc_apply(next, "lo", &w, &err) < 0 || tc_apply(last, "lo", &none, &err) < 0 ||
        count(RTM_GETTCLASS, 0) != 0)
        return 7;
    if (add_stranger() < 0 || tc_apply(stranger, "lo", &none, &err) < 0 ||
        add_stranger() != -EEXIST)
        return 8;
    if (tc_apply(next, "nosuchlink", &w, &err) >= 0)
        return 6;
    return 0;
}

static void test_the_kernel_has_the_classes(void **state)
{
    int status = 0;
    pid_t child = geteuid() == 0 ? fork() : -1;

    if (child < 0)
        skip();
    if (child == 0)
        _exit(unshare(CLONE_NEWNET) < 0 ? 99 : steps(*state));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
        skip();
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_bandwidths),
        FIXTURE_TEST(test_classes_and_filters),
        FIXTURE_TEST(test_link_and_clock),
        FIXTURE_TEST(test_the_kernel_has_the_classes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
