/* test_koordlet_naming.c - names of cgroups, a pod's sandbox, best effort's CPUs
 * (koordlet-metrics 2.4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/koord/nodeslo.h"
#include "koordlet/kernel/scan.h"
#include "koordlet/kernel/test/host_fixture.h"

/* ---- names ----------------------------------------------------------------------------------- */

static void test_pod_directories(void **state)
{
    static const struct {
        const struct cgroup_layout *d;
        enum kube_qos q;
        const char *uid, *want;
    } cases[] = {
        { CGROUP_SYSTEMD, KUBE_QOS_BEST_EFFORT, "uid1",
          "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid1.slice" },
        { CGROUP_SYSTEMD, KUBE_QOS_BURSTABLE, "a-b-c",
          "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b_c.slice" },
        { CGROUP_SYSTEMD, KUBE_QOS_GUARANTEED, "a-b", "kubepods.slice/kubepods-poda_b.slice" },
        { CGROUP_CGROUPFS, KUBE_QOS_GUARANTEED, "uid1", "kubepods/poduid1" },
        { CGROUP_CGROUPFS, KUBE_QOS_BURSTABLE, "a-b", "kubepods/burstable/poda-b" },
        { CGROUP_CGROUPFS, KUBE_QOS_BEST_EFFORT, "a-b", "kubepods/besteffort/poda-b" },
        /* cgroupRoot: /kubelet, as kind sets it */
        { &cgroup_layouts[2], KUBE_QOS_BEST_EFFORT, "a-b",
          "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
          "kubelet-kubepods-besteffort-poda_b.slice" },
        { &cgroup_layouts[2], KUBE_QOS_GUARANTEED, "u",
          "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podu.slice" },
        { &cgroup_layouts[3], KUBE_QOS_BURSTABLE, "a-b", "kubelet/kubepods/burstable/poda-b" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        struct str id;
        cgroup_pod_dir(cases[i].d, cases[i].q, cases[i].uid, &b);
        assert_string_equal(strbuf_str(&b), cases[i].want);
        assert_int_equal(cgroup_qos_of_path(strbuf_str(&b)), cases[i].q);
        /* and back; systemd's names keep the underscores */
        assert_int_equal(cgroup_pod_id(cases[i].d, strrchr(strbuf_str(&b), '/') + 1, &id, NULL), 0);
        assert_int_equal(id.n, strlen(cases[i].uid));
    }
    assert_string_equal(cgroup_qos_dir(CGROUP_SYSTEMD, KUBE_QOS_GUARANTEED), "kubepods.slice");
    assert_string_equal(cgroup_qos_dir(CGROUP_CGROUPFS, KUBE_QOS_BEST_EFFORT),
                        "kubepods/besteffort");
    /* Those that are known are what would be made. */
    for (size_t i = 0; i < CGROUP_LAYOUTS; i++) {
        const struct cgroup_layout *l = &cgroup_layouts[i];
        CLEANUP(cgroup_layout_free)
        struct cgroup_layout *made = cgroup_layout_new(l->systemd, l->root);
        for (int q = 0; q < 4; q++) {
            assert_string_equal(made->dirs[q], l->dirs[q]);
            assert_string_equal(made->names[q], l->names[q]);
        }
    }
}

static void assert_container(const struct cgroup_layout *d, const char *id, const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };
    int r = cgroup_container_name(d, id, &b, &err);
    assert_int_equal(r, want ? 0 : -EINVAL);
    assert_string_equal(strbuf_str(&b), want ? want : "");
}

static void test_container_directories(void **state)
{
    struct kerr err = { 0 };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    assert_container(CGROUP_SYSTEMD, "docker://abc", "docker-abc.scope");
    assert_container(CGROUP_SYSTEMD, "containerd://abc", "cri-containerd-abc.scope");
    assert_container(CGROUP_SYSTEMD, "pouch://abc", "pouch-abc.scope");
    assert_container(CGROUP_SYSTEMD, "cri-o://abc", "crio-abc.scope");
    assert_container(CGROUP_CGROUPFS, "containerd://abc", "abc");
    assert_container(CGROUP_CGROUPFS, "cri-o://abc", "abc");
    assert_container(CGROUP_SYSTEMD, "containerd://", NULL);
    assert_container(CGROUP_CGROUPFS, "containerd://../../x", NULL); /* stays in the pod's */
    assert_container(CGROUP_CGROUPFS, "containerd://x/../../y", NULL);
    assert_int_equal(cgroup_container_name(CGROUP_SYSTEMD, "crio://x", &b, &err), -EINVAL);
    assert_string_equal(err.text, "unknown container protocol crio://x");
    assert_int_equal(cgroup_container_name(CGROUP_CGROUPFS, "abc", &b, &err), -EINVAL);
    assert_string_equal(err.text, "parse container id abc failed");
}

static void assert_back(int (*fn)(const struct cgroup_layout *, const char *, struct str *,
                                  struct kerr *),
                        const struct cgroup_layout *d, const char *name, const char *want)
{
    struct kerr err = { 0 };
    struct str id = { 0 };
    int r = fn(d, name, &id, &err);
    if (r != (want ? 0 : -EINVAL) || (want && !str_eqz(id, want)))
        fail_msg("%s: %d '%.*s'", name, r, (int)id.n, id.p);
}

static void test_back_from_names(void **state)
{
    struct kerr err = { 0 };
    struct str id;

    (void)state;
    assert_back(cgroup_pod_id, CGROUP_SYSTEMD, "kubepods-besteffort-pod12345.slice", "12345");
    assert_back(cgroup_pod_id, CGROUP_SYSTEMD, "kubepods-burstable-poda_b.slice", "a_b");
    assert_back(cgroup_pod_id, CGROUP_SYSTEMD, "kubepods-pod1.slice", "1");
    assert_back(cgroup_pod_id, CGROUP_SYSTEMD, "kubepods-pod.slice", NULL);
    assert_back(cgroup_pod_id, CGROUP_SYSTEMD, "kubepods-besteffort.slice", NULL);
    assert_back(cgroup_pod_id, CGROUP_SYSTEMD, "pod1", NULL);
    assert_back(cgroup_pod_id, CGROUP_CGROUPFS, "poda-b", "a-b");
    assert_back(cgroup_pod_id, CGROUP_CGROUPFS, "burstable", NULL);
    assert_int_equal(cgroup_pod_id(CGROUP_SYSTEMD, "init.scope", &id, &err), -EINVAL);
    assert_string_equal(err.text, "fail to parse pod id: init.scope");

    assert_back(cgroup_container_id, CGROUP_SYSTEMD, "docker-1.scope", "1");
    assert_back(cgroup_container_id, CGROUP_SYSTEMD, "cri-containerd-1.scope", "1");
    assert_back(cgroup_container_id, CGROUP_SYSTEMD, "crio-1.scope", "1");
    assert_back(cgroup_container_id, CGROUP_SYSTEMD, "crio-1", "1");
    assert_back(cgroup_container_id, CGROUP_SYSTEMD, "pouch-1.scope", "1");
    assert_back(cgroup_container_id, CGROUP_SYSTEMD, "docker-1", NULL);
    assert_back(cgroup_container_id, CGROUP_SYSTEMD, "1.scope", NULL);
    assert_back(cgroup_container_id, CGROUP_CGROUPFS, "docker-12345.scope", "docker-12345.scope");
    assert_int_equal(cgroup_qos_of_path("kubepods/burstable/besteffort"), KUBE_QOS_BEST_EFFORT);
    assert_int_equal(cgroup_qos_of_path("kubepods/podx"), KUBE_QOS_GUARANTEED);
}

static void assert_app(const struct cgroup_layout *d, const struct host_application *app,
                       const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    cgroup_host_app_dir(d, app, &b);
    assert_string_equal(strbuf_str(&b), want);
}

static void test_host_applications(void **state)
{
    struct cgroup_path path = { "KubepodsBesteffort", "/parent/", "app/x/" };
    struct cgroup_path root = { "CgroupRoot", "", "/app" };
    struct cgroup_path pods = { "Kubepods", NULL, "app" };

    (void)state;
    assert_app(CGROUP_SYSTEMD, NULL, "");
    assert_app(CGROUP_SYSTEMD, &(struct host_application){ .name = "n", .qos = "LS" },
               "host-latency-sensitive/n");
    assert_app(CGROUP_SYSTEMD, &(struct host_application){ .name = "n", .qos = "LSE" },
               "host-latency-sensitive/n");
    assert_app(CGROUP_SYSTEMD, &(struct host_application){ .name = "n", .qos = "BE" },
               "host-best-effort/n");
    assert_app(CGROUP_SYSTEMD, &(struct host_application){ .name = "n", .qos = "SYSTEM" }, "n");
    assert_app(CGROUP_SYSTEMD, &(struct host_application){ .name = "n" }, "n");
    assert_app(CGROUP_SYSTEMD, &(struct host_application){ .name = "n", .cgroup_path = &path },
               "kubepods.slice/kubepods-besteffort.slice/parent/app/x");
    assert_app(CGROUP_CGROUPFS, &(struct host_application){ .name = "n", .cgroup_path = &path },
               "kubepods/besteffort/parent/app/x");
    assert_app(CGROUP_CGROUPFS, &(struct host_application){ .name = "n", .cgroup_path = &root },
               "app");
    assert_app(CGROUP_CGROUPFS, &(struct host_application){ .name = "n", .cgroup_path = &pods },
               "kubepods/app");
}

/* ---- sandbox --------------------------------------------------------------------------------- */

static void assert_sandbox(struct host *h, const char *dir, const char *const *ids, size_t n,
                           const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };
    int r = cgroup_sandbox_id(h, dir, ids, n, &b, &err);
    if (r != (want ? 0 : -EAGAIN) || !streq(strbuf_str(&b), want ? want : ""))
        fail_msg("%d %s %s", r, strbuf_str(&b), err.text);
}

static void test_sandbox(void **state)
{
    static const char *const ids[] = { "containerd://init", "containerd://app" };
    static const char dir[] = "kubepods.slice/kubepods-podx.slice";
    struct fixture f;
    struct kerr err = { 0 };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V1);
    struct host *h = fixture_host(&f);
    assert_sandbox(h, dir, NULL, 0, ""); /* nothing is even looked for */
    assert_int_equal(cgroup_sandbox_id(h, dir, ids, 2, &b, &err), -ENOENT);
    fixture_dir(&f, "cgroup/cpuset/%s/cri-containerd-init.scope", dir);
    fixture_dir(&f, "cgroup/cpuset/%s/cri-containerd-app.scope", dir);
    fixture_put(&f, "", "cgroup/cpuset/%s/cri-containerd-file.scope", dir);
    assert_sandbox(h, dir, ids, 2, NULL);
    fixture_dir(&f, "cgroup/cpuset/%s/cri-containerd-pause.scope", dir);
    assert_sandbox(h, dir, ids, 2, "containerd://pause");
    assert_sandbox(h, dir, ids, 1, NULL); /* the other is not known yet */
    fixture_dir(&f, "cgroup/cpuset/%s/cri-containerd-more.scope", dir);
    assert_int_equal(cgroup_sandbox_id(h, dir, ids, 2, &b, &err), -EAGAIN);
    assert_string_equal(err.text,
                        "candidates of sandbox id is 2, some container is not ready, detail "
                        "[cri-containerd-more.scope cri-containerd-pause.scope]");
    fixture_fini(&f);
}

static void test_sandbox_of_other_layouts(void **state)
{
    static const char *const crio[] = { "cri-o://app" };
    static const char *const docker[] = { "docker://app" };
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V2);
    struct host *h = fixture_host(&f);
    fixture_dir(&f, "cgroup/kubepods.slice/p/crio-app.scope");
    fixture_dir(&f, "cgroup/kubepods.slice/p/crio-conmon-app.scope");
    fixture_dir(&f, "cgroup/kubepods.slice/p/crio-pause");
    assert_sandbox(h, "kubepods.slice/p", crio, 1, "cri-o://pause");
    h->driver = CGROUP_CGROUPFS;
    fixture_dir(&f, "cgroup/kubepods/podx/app");
    fixture_dir(&f, "cgroup/kubepods/podx/pause");
    assert_sandbox(h, "kubepods/podx", docker, 1, "docker://pause");
    fixture_fini(&f);
}

/* ---- best effort ----------------------------------------------------------------------------- */

static void assert_be(struct be_cpus *b, const char *want)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };
    struct cpuset got;
    if (be_cpus_read(b, &got, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(cpuset_format(&got, a), want);
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void best_effort(enum cgroup_version v, const struct cgroup_layout *d)
{
    const char *dir = cgroup_qos_dir(d, KUBE_QOS_BEST_EFFORT);
    const char *file = v == CGROUP_V1 ? "cpuset.cpus" : "cpuset.cpus.effective";
    struct fixture f;
    struct kerr err = { 0 };
    struct cpuset got;
    char base[200], sub[260];

    fixture_init(&f);
    fixture_cgroup(&f, v);
    struct host *h = fixture_host(&f);
    h->driver = d;
    size_t before = open_descriptors();
    struct be_cpus *b = be_cpus_new(h);
    snprintf(base, sizeof base, "cgroup/%s%s", v == CGROUP_V1 ? "cpuset/" : "", dir);
    assert_int_equal(be_cpus_read(b, &got, &err), -ENOENT);

    fixture_put(&f, "0-63\n", "%s/%s", base, file);
    assert_be(b, "0-63");
    fixture_put(&f, "0-1\n", "%s/pod1/%s", base, file); /* one level: does not count */
    fixture_put(&f, "0-63\n", "%s/pod1/app/%s", base, file);
    fixture_put(&f, "0\n", "%s/pod1/app/deeper/%s", base, file); /* three: nor does it */
    be_cpus_changed(b);
    assert_be(b, "0-63");
    fixture_put(&f, "0-1\n", "%s/pod1/pause/%s", base, file);
    assert_be(b, "0-63"); /* nobody told, and the class has as many pods as before */
    be_cpus_changed(b);
    assert_be(b, "0-1");
    fixture_put(&f, "\n", "%s/pod1/new/%s", base, file); /* not set up yet */
    fixture_put(&f, "\n", "%s/pod1/zz/%s", base, file);
    fixture_put(&f, "garbage\n", "%s/pod1/odd/%s", base, file);
    be_cpus_changed(b);
    assert_be(b, "0-1");
    fixture_put(&f, "5\n", "%s/pod2/app/%s", base, file); /* another directory of the class */
    assert_be(b, "5");
    fixture_put(&f, "0-7\n", "%s/pod2/app/%s", base, file);
    assert_be(b, "5"); /* the class is as it was: the others are read at every tenth read */
    for (int i = 0; i < 9; i++)
        assert_int_equal(be_cpus_read(b, &got, &err), 0);
    assert_be(b, "0-1");
    fixture_put(&f, "3\n", "%s/pod2/app/%s", base, file);
    fixture_put(&f, "0-62\n", "%s/%s", base, file); /* who narrows best effort begins here */
    assert_be(b, "3");
    fixture_put(&f, "0-63\n", "%s/%s", base, file);

    snprintf(sub, sizeof sub, "%s/pod2", base);
    fixture_remove(&f, sub);
    snprintf(sub, sizeof sub, "%s/pod1", base);
    fixture_remove(&f, sub);
    assert_be(b, "0-63");
    be_cpus_free(b);
    assert_int_equal(open_descriptors(), before);
    fixture_fini(&f);
}

static void test_best_effort_cpus(void **state)
{
    (void)state;
    best_effort(CGROUP_V1, CGROUP_SYSTEMD);
    best_effort(CGROUP_V1, CGROUP_CGROUPFS);
    best_effort(CGROUP_V2, CGROUP_SYSTEMD);
    best_effort(CGROUP_V2, CGROUP_CGROUPFS);
}

/* What nobody told is found after a while. */
static void test_best_effort_is_listed_now_and_then(void **state)
{
    struct fixture f;
    int reads = 0;

    (void)state;
    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V2);
    CLEANUP(be_cpus_free) struct be_cpus *b = be_cpus_new(fixture_host(&f));
    fixture_put(&f, "0-3", "cgroup/kubepods.slice/kubepods-besteffort.slice/cpuset.cpus.effective");
    fixture_dir(&f, "cgroup/kubepods.slice/kubepods-besteffort.slice/p");
    assert_be(b, "0-3");
    fixture_put(&f, "2",
                "cgroup/kubepods.slice/kubepods-besteffort.slice/p/c/cpuset.cpus.effective");
    for (struct cpuset got; reads < 100; reads++) {
        assert_int_equal(be_cpus_read(b, &got, NULL), 0);
        if (cpuset_count(&got) == 1)
            break;
    }
    assert_in_range(reads, 30, 60);
    b = be_cpus_free(b);
    fixture_fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_directories),
        cmocka_unit_test(test_container_directories),
        cmocka_unit_test(test_back_from_names),
        cmocka_unit_test(test_host_applications),
        cmocka_unit_test(test_sandbox),
        cmocka_unit_test(test_sandbox_of_other_layouts),
        cmocka_unit_test(test_best_effort_cpus),
        cmocka_unit_test(test_best_effort_is_listed_now_and_then),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
