/* test_koordlet_podresources.c - the pod-resources proxy: the list it changes, and both its ends
 * over real sockets before a stand-in kubelet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/test/asserts.h"
#include "base/wire.h"
#include "component/metrics.h"
#include "koordlet/kernel/test/host_fixture.h"
#include "koordlet/report/test/report_fixture.h"
#include "koordlet/states/podresources.h"
#include "loop/loop.h"
#include "net/grpc.h"

#define SERVICE "/v1.PodResourcesLister/"
#define ANNOTATED(name, text)                                                          \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'" name "','annotations':{" \
    "'scheduling.koordinator.sh/device-allocated':'" text "'}},'spec':{}}"
/* As a test writes it: double quotes inside the annotation. */
#define GPU "{\\'gpu\\':[{\\'minor\\':0,\\'id\\':\\'0\\'}]}"
#define BOTH                                                                    \
    "{\\'gpu\\':[{\\'id\\':\\'0\\'}],\\'rdma\\':[{\\'id\\':\\'0000:01:00.0\\'," \
    "\\'extension\\':{\\'vfs\\':[{\\'minor\\':-1,\\'busID\\':\\'0000:01:00.2\\'}]}}]}"

/* ---- messages -------------------------------------------------------------------------------- */

static struct str text_of(const struct strbuf *b)
{
    return (struct str){ strbuf_str(b), b->len };
}

static void put_devices(struct strbuf *out, const char *resource, const char *id)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    wire_put_bytes(&b, 1, str_of(resource));
    wire_put_bytes(&b, 2, str_of(id));
    wire_put_bytes(&b, 3, STR("\x0a\x02\x08\x01")); /* NUMA node 1 */
    wire_put_bytes(out, 2, text_of(&b));
}

/* A container with devices, CPUs 2 and 3 and a field that is not invented yet. */
static void put_container(struct strbuf *pod, const char *name, const char *const *devices)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    wire_put_bytes(&b, 1, str_of(name));
    for (; devices && *devices; devices++)
        put_devices(&b, *devices, "plugin-0");
    wire_put_bytes(&b, 3, STR("\2\3"));
    wire_put_varint(&b, 99, 7);
    wire_put_bytes(pod, 3, text_of(&b));
}

static void put_pod(struct strbuf *list, const char *ns, const char *name, int containers,
                    const char *const *devices)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    wire_put_bytes(&b, 1, str_of(name));
    wire_put_bytes(&b, 2, str_of(ns));
    for (int i = 0; i < containers; i++)
        put_container(&b, i ? "side" : "main", i ? NULL : devices);
    wire_put_varint(&b, 77, 1);
    wire_put_bytes(list, 1, text_of(&b));
}

/* "ns/name main(nvidia.com/gpu=0,1 +3 +99) side(+3 +99) +77": devices, and numbers of the rest. */
static void print_container(struct str m, struct strbuf *out)
{
    struct wire_field f, d;
    const char *gap = "(";

    while (wire_next(&m, &f) > 0) {
        if (f.num == 1) {
            strbuf_appendn(out, f.bytes.p, f.bytes.n);
            continue;
        }
        strbuf_append(out, gap);
        gap = " ";
        if (f.num != 2) {
            strbuf_appendf(out, "+%u", f.num);
            continue;
        }
        const char *between = "=";
        for (struct str rest = f.bytes; wire_next(&rest, &d) > 0;) {
            if (d.num == 2) {
                strbuf_append(out, between);
                between = ",";
            }
            if (d.num < 3)
                strbuf_appendn(out, d.bytes.p, d.bytes.n);
            else
                strbuf_append(out, "!");
        }
    }
    strbuf_append(out, ")");
}

static void print_list(struct str m, struct strbuf *out)
{
    struct wire_field f, p;

    while (wire_next(&m, &f) > 0) {
        CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT;

        for (struct str rest = f.bytes; wire_next(&rest, &p) > 0;) {
            if (p.num == 1) {
                strbuf_appendn(&name, p.bytes.p, p.bytes.n);
            } else if (p.num == 2) {
                strbuf_appendf(out, "%.*s/%s", (int)p.bytes.n, p.bytes.p, strbuf_str(&name));
            } else if (p.num == 3) {
                strbuf_append(out, " ");
                print_container(p.bytes, out);
            } else {
                strbuf_appendf(out, " +%u", p.num);
            }
        }
        strbuf_append(out, "\n");
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

static int edit(struct str list, const char *pods, struct strbuf *printed, struct kerr *bad)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err;
    void *b;

    fixture_setup(&b);
    struct podset *set = pods_of(b, pods);
    int r = podresources_edit(list, set, &out, bad, &err);
    if (r == 0)
        print_list(text_of(&out), printed);
    else
        assert_int_equal(out.len, 0);
    podset_unref(set);
    fixture_teardown(&b);
    return r;
}

static void expect(const char *pods, const char *const *devices, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT, printed = STRBUF_INIT;
    struct kerr bad;

    put_pod(&list, "ns", "other", 1, devices);
    put_pod(&list, "ns", "p", 2, devices);
    assert_int_equal(edit(text_of(&list), pods, &printed, &bad), 0);
    assert_int_equal(bad.code, 0);
    assert_string_equal(strbuf_str(&printed), want);
}

static void test_devices_are_added_to_the_first_container(void **state)
{
    static const char *const plugin[] = { "vendor.com/x", "a.com/y", "nvidia.com/gpu", NULL };

    (void)state;
    expect("[" ANNOTATED("p", BOTH) "]", NULL,
           "ns/other main(+3 +99) +77\n"
           "ns/p main(+3 +99 koordinator.sh/rdma=0000:01:00.2 nvidia.com/gpu=0) side(+3 +99) "
           "+77\n");
    /* What the kubelet gave is there still, sorted with ours and before ours of the same name. */
    expect("[" ANNOTATED("p", GPU) "]", plugin,
           "ns/other main(vendor.com/x=plugin-0! a.com/y=plugin-0! nvidia.com/gpu=plugin-0! +3 "
           "+99) +77\n"
           "ns/p main(+3 +99 a.com/y=plugin-0! nvidia.com/gpu=plugin-0! nvidia.com/gpu=0 "
           "vendor.com/x=plugin-0!) side(+3 +99) +77\n");
}

static void test_ids(void **state)
{
    (void)state;
    expect("[" ANNOTATED("p", "{\\'gpu\\':[{\\'id\\':\\'a\\'},{\\'id\\':\\'b\\'}],"
                              "\\'fpga\\':[{\\'id\\':\\'f\\'}]}") "]",
           NULL,
           "ns/other main(+3 +99) +77\n"
           "ns/p main(+3 +99 =f nvidia.com/gpu=a,b) side(+3 +99) +77\n");
    /* An extension without functions: the card itself was not given. */
    expect("[" ANNOTATED("p", "{\\'rdma\\':[{\\'id\\':\\'a\\',\\'extension\\':{}}]}") "]", NULL,
           "ns/other main(+3 +99) +77\n"
           "ns/p main(+3 +99 koordinator.sh/rdma) side(+3 +99) +77\n");
}

static void test_lists_that_stay(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT, printed = STRBUF_INIT;
    struct kerr bad;

    (void)state;
    put_pod(&list, "ns", "p", 1, NULL);
    assert_int_equal(edit(text_of(&list), "[]", &printed, &bad), 1);
    assert_int_equal(edit(text_of(&list),
                          "[{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{}}]",
                          &printed, &bad),
                     1);
    /* Over: the devices are somebody else's. */
    assert_int_equal(edit(text_of(&list),
                          "[{'metadata':{'name':'p','namespace':'ns','uid':'u','annotations':{"
                          "'scheduling.koordinator.sh/device-allocated':'" GPU "'}},"
                          "'spec':{},'status':{'phase':'Failed'}}]",
                          &printed, &bad),
                     1);
    /* Of another namespace, and without a container: changed in nothing. */
    strbuf_reset(&list);
    put_pod(&list, "other", "p", 1, NULL);
    put_pod(&list, "ns", "p", 0, NULL);
    assert_int_equal(edit(text_of(&list), "[" ANNOTATED("p", GPU) "]", &printed, &bad), 0);
    assert_string_equal(strbuf_str(&printed), "other/p main(+3 +99) +77\nns/p +77\n");
}

static void test_a_bad_annotation_spoils_its_own_pod_only(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT, printed = STRBUF_INIT;
    struct kerr bad;

    (void)state;
    put_pod(&list, "ns", "p", 1, NULL);
    put_pod(&list, "ns", "q", 1, NULL);
    assert_int_equal(edit(text_of(&list),
                          "[" ANNOTATED("p", "{\\'gpu\\':7}") "," ANNOTATED("q", GPU) "]", &printed,
                          &bad),
                     0);
    assert_string_equal(strbuf_str(&printed),
                        "ns/p main(+3 +99) +77\nns/q main(+3 +99 nvidia.com/gpu=0) +77\n");
    assert_that(bad.code, <, 0);
    assert_starts(bad.text, "pod ns/p: ");
}

static void test_what_is_no_list(void **state)
{
    static const struct str pods[] = {
        STR("\x08"),                                        /* the pod */
        STR("\x0a\x01p\x12\x02ns\x1a\x01\x0a"),             /* its container */
        STR("\x0a\x01p\x12\x02ns\x1a\x04\x12\x02\x0a\x05"), /* devices of it */
    };
    CLEANUP(strbuf_fini) struct strbuf printed = STRBUF_INIT;
    struct kerr bad;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

        put_pod(&list, "ns", "p", 1, NULL);
        wire_put_bytes(&list, 1, pods[i]);
        assert_int_equal(edit(text_of(&list), "[" ANNOTATED("p", GPU) "]", &printed, &bad),
                         -EBADMSG);
    }
    assert_int_equal(edit(STR("\x0a"), "[" ANNOTATED("p", GPU) "]", &printed, &bad), -EBADMSG);
}

/* ---- both ends ------------------------------------------------------------------------------- */

struct proxy_fixture {
    void *base;
    struct fixture f;
    struct snapshots *snapshots;
    struct loop *l;
    struct metrics *metrics;
    struct podresources *proxy;
    struct grpc_server *kubelet;
    struct http *client;
    char dir[96], socket[128], backend[160];
    unsigned asked;
    char method[64];
};

static void kubelet_serve(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    struct proxy_fixture *t = arg;
    CLEANUP(strbuf_fini) struct strbuf list = STRBUF_INIT;

    t->asked++;
    snprintf(t->method, sizeof t->method, "%s", method);
    if (streq(method, SERVICE "List")) {
        put_pod(&list, "ns", "p", 1, NULL);
        grpc_send(r, text_of(&list));
    } else if (streq(method, SERVICE "Get")) {
        grpc_fail(r, GRPC_NOT_FOUND, "pod not found");
        return;
    } else {
        grpc_send(r, message); /* a method that nobody knows */
    }
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

static void kubelet_start(struct proxy_fixture *t)
{
    struct kerr err;
    char addr[sizeof t->backend + 8];

    fixture_dir(&t->f, "kubelet/pod-resources");
    snprintf(addr, sizeof addr, "unix:%s", t->backend);
    t->kubelet = grpc_server_new(t->l, NULL, kubelet_serve, t);
    if (httpd_listen(grpc_server_httpd(t->kubelet), addr, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void proxy_fixture_open(struct proxy_fixture *t)
{
    *t = (struct proxy_fixture){ 0 };
    fixture_setup(&t->base);
    fixture_init(&t->f);
    t->l = loop_new();
    t->metrics = metrics_new();
    t->snapshots = snapshots_new(t->l);
    snprintf(t->dir, sizeof t->dir, "%s/deep/er", t->f.dir);
    snprintf(t->socket, sizeof t->socket, "%s/kubelet.sock", t->dir);
    snprintf(t->backend, sizeof t->backend, "%s/kubelet/pod-resources/kubelet.sock", t->f.dir);
    t->proxy = podresources_new(&(struct podresources_env){ .loop = t->l,
                                                            .snapshots = t->snapshots,
                                                            .host = fixture_host(&t->f),
                                                            .dir = t->dir,
                                                            .internal = t->metrics });
    t->client = grpc_client_new(t->l, t->socket, NULL, NULL);
    snapshots_set_pods(t->snapshots, pods_of(t->base, "[" ANNOTATED("p", GPU) "]"));
}

static void proxy_fixture_close(struct proxy_fixture *t)
{
    http_free(t->client);
    podresources_free(t->proxy);
    grpc_server_free(t->kubelet);
    snapshots_free(t->snapshots);
    metrics_free(t->metrics);
    loop_free(t->l);
    fixture_fini(&t->f);
    fixture_teardown(&t->base);
}

struct answer {
    struct loop *l;
    struct strbuf message, text;
    enum grpc_code code;
};

static void on_message(void *arg, struct str m)
{
    strbuf_appendn(&((struct answer *)arg)->message, m.p, m.n);
}

static void on_end(void *arg, const struct grpc_status *st)
{
    struct answer *a = arg;

    a->code = st->code;
    if (st->text.n > 0)
        strbuf_appendn(&a->text, st->text.p, st->text.n);
    loop_stop(a->l);
}

static struct answer ask(struct proxy_fixture *t, const char *method, struct str message)
{
    static const struct grpc_call_events events = { on_message, on_end };
    struct answer a = { .l = t->l };

    grpc_call_send(t->client,
                   &(struct grpc_call_opts){
                       .method = method, .message = message, .timeout = 60 * NSEC_PER_SEC },
                   &events, &a);
    loop_run(t->l);
    return a;
}

static void answer_fini(struct answer *a)
{
    strbuf_fini(&a->message);
    strbuf_fini(&a->text);
}

static void expect_answer(struct proxy_fixture *t, const char *method, enum grpc_code code,
                          const char *text)
{
    struct answer a = ask(t, method, STR("\x0a\x01x"));

    assert_string_equal(grpc_code_name(a.code), grpc_code_name(code));
    assert_string_equal(strbuf_str(&a.text), text);
    answer_fini(&a);
}

static void test_list_goes_to_the_kubelet_and_comes_back_with_devices(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf printed = STRBUF_INIT;
    struct proxy_fixture t;
    struct stat st;

    (void)state;
    proxy_fixture_open(&t);
    assert_null(podresources_missing(t.proxy));
    kubelet_start(&t);
    podresources_start(t.proxy);
    assert_null(podresources_missing(t.proxy));
    assert_int_equal(stat(t.socket, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    struct answer a = ask(&t, SERVICE "List", STR(""));
    assert_int_equal(a.code, GRPC_OK);
    print_list(text_of(&a.message), &printed);
    assert_string_equal(strbuf_str(&printed), "ns/p main(+3 +99 nvidia.com/gpu=0) +77\n");
    answer_fini(&a);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    metrics_write(&t.metrics, 1, &text);
    assert_contains(strbuf_str(&text),
                    "koordlet_pod_resources_proxy_requests_total{code=\"OK\",method=\"List\"} 1\n");
    proxy_fixture_close(&t);
}

static void test_the_rest_of_the_service_is_passed_on(void **state)
{
    struct proxy_fixture t;

    (void)state;
    proxy_fixture_open(&t);
    kubelet_start(&t);
    podresources_start(t.proxy);
    expect_answer(&t, SERVICE "Get", GRPC_NOT_FOUND, "pod not found");
    struct answer a = ask(&t, SERVICE "YetToCome", STR("\x0a\x01x"));
    assert_int_equal(a.code, GRPC_OK);
    assert_true(str_eqz(text_of(&a.message), "\x0a\x01x"));
    assert_string_equal(t.method, SERVICE "YetToCome");
    answer_fini(&a);
    assert_int_equal(t.asked, 2);
    expect_answer(&t, "/v1alpha1.PodResourcesLister/List", GRPC_UNIMPLEMENTED,
                  "only v1.PodResourcesLister is served");
    assert_int_equal(t.asked, 2);
    proxy_fixture_close(&t);
}

static void test_a_kubelet_that_comes_later(void **state)
{
    struct proxy_fixture t;

    (void)state;
    proxy_fixture_open(&t);
    podresources_start(t.proxy);
    assert_contains(podresources_missing(t.proxy), "No such file or directory");
    struct answer a = ask(&t, SERVICE "List", STR(""));
    assert_int_equal(a.code, GRPC_UNAVAILABLE);
    answer_fini(&a);
    kubelet_start(&t);
    expect_answer(&t, SERVICE "List", GRPC_OK, "");
    /* And one that starts anew, with a socket of its own. */
    t.kubelet = grpc_server_free(t.kubelet);
    kubelet_start(&t);
    expect_answer(&t, SERVICE "List", GRPC_OK, "");
    podresources_start(t.proxy); /* looks again at once */
    assert_null(podresources_missing(t.proxy));
    proxy_fixture_close(&t);
}

static void test_no_list_before_the_pods_are_known(void **state)
{
    struct proxy_fixture t;

    (void)state;
    proxy_fixture_open(&t);
    kubelet_start(&t);
    podresources_start(t.proxy);
    snapshots_set_pods(t.snapshots, NULL);
    expect_answer(&t, SERVICE "List", GRPC_UNAVAILABLE, "no pods from the kubelet yet");
    expect_answer(&t, SERVICE "GetAllocatableResources", GRPC_OK, "");
    proxy_fixture_close(&t);
}

static void test_a_directory_that_cannot_be_made(void **state)
{
    struct proxy_fixture t;

    (void)state;
    proxy_fixture_open(&t);
    kubelet_start(&t);
    fixture_put(&t.f, "", "deep");
    podresources_start(t.proxy);
    assert_contains(podresources_missing(t.proxy), "the pod-resources proxy does not serve");
    proxy_fixture_close(&t);
}

static void leave_dead_socket(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_that(strlen(path), <, sizeof a.sun_path);
    memcpy(a.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
}

static void test_the_socket_of_a_dead_one_is_replaced(void **state)
{
    struct proxy_fixture t;

    (void)state;
    proxy_fixture_open(&t);
    kubelet_start(&t);
    fixture_dir(&t.f, "deep/er");
    leave_dead_socket(t.socket);
    podresources_start(t.proxy);
    assert_null(podresources_missing(t.proxy));
    expect_answer(&t, SERVICE "List", GRPC_OK, "");
    proxy_fixture_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_are_added_to_the_first_container),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_lists_that_stay),
        cmocka_unit_test(test_a_bad_annotation_spoils_its_own_pod_only),
        cmocka_unit_test(test_what_is_no_list),
        cmocka_unit_test(test_list_goes_to_the_kubelet_and_comes_back_with_devices),
        cmocka_unit_test(test_the_rest_of_the_service_is_passed_on),
        cmocka_unit_test(test_a_kubelet_that_comes_later),
        cmocka_unit_test(test_no_list_before_the_pods_are_known),
        cmocka_unit_test(test_a_directory_that_cannot_be_made),
        cmocka_unit_test(test_the_socket_of_a_dead_one_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
