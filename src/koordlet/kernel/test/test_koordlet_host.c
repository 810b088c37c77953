/* test_koordlet_host.c - roots, cgroup version, driver, reading of kernel files
 * (koordlet-metrics 2.1, 2.4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/kernel/test/host_fixture.h"

/* ---- roots ----------------------------------------------------------------------------------- */

static void test_roots_by_mode(void **state)
{
    struct host_roots in_pod = host_roots_default(NULL);
    struct host_roots on_host = host_roots_default("hostMode");
    struct host_roots other = host_roots_default("dsMode");

    (void)state;
    assert_string_equal(in_pod.cgroup, "/host-cgroup/");
    assert_string_equal(in_pod.proc, "/proc/");
    assert_string_equal(in_pod.sys, "/host-sys/");
    assert_string_equal(in_pod.sys_fs, "/host-sys-fs/");
    assert_string_equal(in_pod.var_run, "/host-var-run/");
    assert_string_equal(in_pod.run, "/host-run/");
    assert_string_equal(in_pod.var_lib_kubelet, "/var/lib/kubelet/");
    assert_string_equal(on_host.cgroup, "/sys/fs/cgroup/");
    assert_string_equal(on_host.sys_fs, "/sys/fs/");
    assert_string_equal(on_host.run, "/run/");
    assert_string_equal(other.cgroup, in_pod.cgroup);
}

static void test_version_and_units(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    struct host *h = fixture_host(&f);
    assert_int_equal(h->version, CGROUP_V1);
    assert_int_equal(h->jiffy, NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
    assert_int_equal(h->page_size, sysconf(_SC_PAGESIZE));
    assert_true(str_ends(h->roots.cgroup, "/cgroup/"));
    fixture_cgroup(&f, CGROUP_V2);
    assert_int_equal(fixture_host(&f)->version, CGROUP_V2);
    fixture_fini(&f);
}

static void test_missing_roots(void **state)
{
    struct host_roots roots = host_roots_default("hostMode");
    struct kerr err = { 0 };
    struct host *h = NULL;

    (void)state;
    roots.cgroup = "/nowhere/cgroup";
    roots.sys = roots.sys_fs = "/nowhere/sys///";
    assert_int_equal(host_new(&roots, &h, &err), -ENOENT);
    assert_string_equal(err.text,
                        "open /nowhere/cgroup/ (--cgroup-root-dir): No such file or directory");
    roots.cgroup = "/tmp";
    assert_int_equal(host_new(&roots, &h, &err), 0); /* without /sys we measure all the same */
    assert_int_equal(h->sys_fd, -1);
    assert_string_equal(h->roots.sys, "/nowhere/sys/");
    host_free(h);
}

/* ---- driver ---------------------------------------------------------------------------------- */

static void test_driver_by_directory(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V1);
    struct host *h = fixture_host(&f);
    assert_int_equal(host_detect_driver(h, &err), -ENOENT);
    assert_false(h->driver_known);
    assert_contains(err.text, "neither kubepods.slice nor kubepods");
    fixture_dir(&f, "cgroup/kubepods.slice"); /* not where v1 has it */
    assert_int_equal(host_detect_driver(h, &err), -ENOENT);
    fixture_dir(&f, "cgroup/cpu/kubepods");
    assert_int_equal(host_detect_driver(h, &err), 0);
    assert_ptr_equal(h->driver, CGROUP_CGROUPFS);
    fixture_dir(&f, "cgroup/cpu/kubepods.slice");
    assert_int_equal(host_detect_driver(h, &err), 0);
    assert_ptr_equal(h->driver, CGROUP_SYSTEMD);
    assert_true(h->driver_known);
    fixture_cgroup(&f, CGROUP_V2);
    h = fixture_host(&f);
    assert_int_equal(host_detect_driver(h, &err), 0);
    assert_ptr_equal(h->driver, CGROUP_SYSTEMD);
    fixture_fini(&f);
    /* kind's */
    fixture_init(&f);
    fixture_cgroup(&f, CGROUP_V2);
    fixture_dir(&f, "cgroup/kubelet.slice/kubelet-kubepods.slice");
    h = fixture_host(&f);
    assert_int_equal(host_detect_driver(h, &err), 0);
    assert_string_equal(h->driver->root, "kubelet");
    assert_true(h->driver->systemd);
    assert_ptr_equal(host_layout(h, true, "/kubelet"), h->driver);
    assert_ptr_equal(host_layout(h, false, "/"), CGROUP_CGROUPFS);
    assert_ptr_equal(host_layout(h, false, "../.."), CGROUP_CGROUPFS);
    assert_ptr_equal(host_layout(h, true, "/./kubelet/"), h->driver);
    fixture_fini(&f);
}

static const char tcp6[] =
    "  sl  local_address                         remote_address                        st tx_queue "
    "rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 00000000000000000000000001000000:280A 00000000000000000000000000000000:0000 06 "
    "00000000:00000000 00:00000000 00000000     0        0 11 1 0000000000000000 100 0 0 10 0\n"
    "   1: 00000000000000000000000000000000:280A 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 4242 1 0000000000000000 100 0 0 10 0\n";
static const char tcp[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:280B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "77 1 0000000000000000 100 0 0 10 0\n";

/* A kubelet that was started like this; words are separated by blanks. */
static void kubelet(const struct fixture *f, const char *words)
{
    char path[128], text[256];
    size_t n = strlen(words);

    memcpy(text, words, n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = text[i] == ' ' ? '\0' : text[i];
    fixture_put(f, "", "proc/900/cmdline");
    snprintf(path, sizeof path, "%s/proc/900/cmdline", f->dir);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fwrite(text, 1, n + 1, out);
    fclose(out);
}

/* want: the root of all pods; NULL: refused. */
static void assert_kubelet(struct fixture *f, const char *words, const char *want)
{
    const struct cgroup_layout *d = NULL;
    struct kerr err = { 0 };

    kubelet(f, words);
    int r = host_driver_of_kubelet(f->host, 10250, &d, &err);
    if ((want == NULL) != (r < 0) || (want && !streq(cgroup_kubepods(d), want)))
        fail_msg("%s: %d %s %s", words, r, d ? cgroup_kubepods(d) : "", err.text);
}

static void test_driver_of_kubelet(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };
    const struct cgroup_layout *d;

    (void)state;
    fixture_init(&f);
    struct host *h = fixture_host(&f);
    assert_int_equal(host_driver_of_kubelet(h, 10250, &d, &err), -ENOENT);
    assert_contains(err.text, "nothing listens on port 10250");
    fixture_put(&f, tcp6, "proc/net/tcp6");
    fixture_put(&f, tcp, "proc/net/tcp");
    fixture_link(&f, "socket:[11]", "proc/800/fd/3"); /* not one that listens */
    fixture_put(&f, "other", "proc/800/cmdline");
    assert_int_equal(host_driver_of_kubelet(h, 10250, &d, &err), -ENOENT);
    assert_contains(err.text, "no process");
    fixture_link(&f, "socket:[4242]", "proc/900/fd/12");
    fixture_link(&f, "/var/lib/kubelet", "proc/900/cwd");

    assert_kubelet(&f, "kubelet --cgroup-driver=systemd --config=/none", "kubepods.slice");
    assert_kubelet(&f, "kubelet --cgroup-driver cgroupfs", "kubepods");
    assert_kubelet(&f, "kubelet --cgroup-driver=systemd --cgroup-driver=cgroupfs", "kubepods");
    assert_kubelet(&f, "kubelet --cgroup-driver=other", NULL);
    assert_kubelet(&f, "kubelet --cgroup-driver-not=systemd", "kubepods");
    assert_kubelet(&f, "kubelet", "kubepods");
    assert_kubelet(&f, "kubelet --config=/etc/k.yaml", NULL); /* no such file */

    fixture_put(&f, "kind: KubeletConfiguration\ncgroupDriver: systemd\n",
                "proc/900/root/etc/k.yaml");
    assert_kubelet(&f, "kubelet --config=/etc/k.yaml", "kubepods.slice");
    fixture_link(&f, "/etc/k.yaml", "proc/900/root/etc/link.yaml"); /* in the kubelet's root */
    assert_kubelet(&f, "kubelet --config /etc/link.yaml", "kubepods.slice");
    fixture_put(&f, "{\"cgroupDriver\":\"systemd\"}", "proc/900/root/var/lib/kubelet/c.json");
    assert_kubelet(&f, "kubelet --config=c.json", "kubepods.slice"); /* from where it runs */
    fixture_put(&f, "kind: KubeletConfiguration\n", "proc/900/root/etc/k.yaml");
    assert_kubelet(&f, "kubelet --config=/etc/k.yaml", "kubepods");
    fixture_put(&f, "cgroupRoot: /kubelet\ncgroupDriver: systemd\n", "proc/900/root/etc/k.yaml");
    assert_kubelet(&f, "kubelet --config=/etc/k.yaml", "kubelet.slice/kubelet-kubepods.slice");
    assert_kubelet(&f, "kubelet --config=/etc/k.yaml --cgroup-driver=cgroupfs", "kubelet/kubepods");
    assert_kubelet(&f, "kubelet --config=/etc/k.yaml --cgroup-root=/a/b-c",
                   "a.slice/a-b_c.slice/a-b_c-kubepods.slice");
    /* Asked for, so looked for; before those that everybody has. */
    fixture_dir(&f, "cgroup/cpu/kubepods");
    fixture_dir(&f, "cgroup/cpu/a.slice/a-b_c.slice/a-b_c-kubepods.slice");
    assert_int_equal(host_detect_driver(h, &err), 0);
    assert_string_equal(h->driver->root, "a/b-c");
    fixture_put(&f, "a: [\n", "proc/900/root/etc/k.yaml");
    assert_kubelet(&f, "kubelet --config=/etc/k.yaml", NULL);

    assert_int_equal(host_driver_of_kubelet(h, 10251, &d, &err), -ENOENT); /* tcp, no process */
    assert_contains(err.text, "no process");
    fixture_fini(&f);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void test_kernelfile_reads_again(void **state)
{
    struct fixture f;
    struct kerr err = { 0 };
    struct kernelfile p = KERNELFILE_INIT;
    struct str text;

    (void)state;
    fixture_init(&f);
    struct host *h = fixture_host(&f);
    assert_int_equal(kernelfile_open(&p, h->proc_fd, "stat", &err), -ENOENT);
    assert_string_equal(err.text, "open stat: No such file or directory");
    assert_int_equal(p.fd, -1);
    fixture_put(&f, "one", "proc/stat");
    assert_int_equal(kernelfile_open(&p, h->proc_fd, "stat", &err), 0);
    assert_int_equal(kernelfile_read(&p, h->buf, &text, &err), 0);
    assert_string_equal(text.p, "one");
    fixture_put(&f, "twenty", "proc/stat");
    assert_int_equal(kernelfile_read(&p, h->buf, &text, &err), 0);
    assert_string_equal(text.p, "twenty");
    fixture_put(&f, "", "proc/stat");
    assert_int_equal(kernelfile_read(&p, h->buf, &text, &err), 0);
    assert_int_equal(text.n, 0);
    assert_string_equal(text.p, "");
    kernelfile_close(&p);
    assert_int_equal(p.fd, -1);
    assert_int_equal(kernelfile_read(&p, h->buf, &text, &err), -EBADF);
    fixture_fini(&f);
}

/* Sizes around those of the buffer and of what one read gives. */
static void test_kernelfile_grows(void **state)
{
    static const size_t sizes[] = { 2047, 2048, 8191, 8192, 8193, 100000, KERNELFILE_MAX - 1 };
    char *content = xmalloc(KERNELFILE_MAX + 2);
    struct fixture f;
    struct kerr err = { 0 };
    struct str text;

    (void)state;
    fixture_init(&f);
    struct host *h = fixture_host(&f);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct kernelfile p = KERNELFILE_INIT;
        for (size_t k = 0; k < sizes[i]; k++)
            content[k] = (char)('a' + k % 23);
        content[sizes[i]] = '\0';
        fixture_put(&f, content, "proc/big");
        assert_int_equal(kernelfile_open(&p, h->proc_fd, "big", &err), 0);
        assert_int_equal(kernelfile_read(&p, h->buf, &text, &err), 0);
        assert_int_equal(text.n, sizes[i]);
        assert_string_equal(text.p, content);
        assert_int_equal(kernelfile_once(h->proc_fd, "big", h->buf, &text, &err), 0);
        assert_string_equal(text.p, content);
        kernelfile_close(&p);
    }
    const char *kept = h->buf->p;
    fixture_put(&f, "small", "proc/big");
    assert_int_equal(kernelfile_once(h->proc_fd, "big", h->buf, &text, &err), 0);
    assert_ptr_equal(h->buf->p, kept); /* the buffer stays */
    memset(content, 'x', KERNELFILE_MAX + 1);
    content[KERNELFILE_MAX + 1] = '\0';
    fixture_put(&f, content, "proc/big");
    assert_int_equal(kernelfile_once(h->proc_fd, "big", h->buf, &text, &err), -EFBIG);
    assert_string_equal(err.text, "big: read: more than 4194304 bytes");
    free(content);
    fixture_fini(&f);
}

/* A file of the kernel itself, whose size is not known beforehand. */
static void test_kernelfile_reads_procfs(void **state)
{
    struct host_roots roots = host_roots_default("hostMode");
    CLEANUP(host_free) struct host *h = NULL;
    struct kerr err = { 0 };
    struct kernelfile p = KERNELFILE_INIT;
    struct str text;

    (void)state;
    roots.cgroup = "/proc";
    assert_int_equal(host_new(&roots, &h, &err), 0);
    assert_int_equal(kernelfile_open(&p, h->proc_fd, "stat", &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kernelfile_read(&p, h->buf, &text, &err), 0);
        assert_starts(text.p, "cpu ");
        assert_contains(text.p, "\nsoftirq "); /* the last line */
        assert_int_equal(text.p[text.n - 1], '\n');
    }
    kernelfile_close(&p);
    assert_int_equal(kernelfile_once(h->proc_fd, ".", h->buf, &text, &err), -EISDIR);
}

/* A removed cgroup; skipped where this process may not make one. */
static void test_kernelfile_of_a_cgroup_that_is_gone(void **state)
{
    static const char *const places[] = { "/sys/fs/cgroup/cpu/koord-host-test",
                                          "/sys/fs/cgroup/koord-host-test" };
    struct kerr err = { 0 };
    struct kernelfile_buf buf = { 0 };
    struct kernelfile p = KERNELFILE_INIT;
    struct str text;
    char path[128];
    size_t i = 0;

    (void)state;
    while (i < ARRAY_LEN(places) && (mkdir(places[i], 0755) < 0 && errno != EEXIST))
        i++;
    if (i == ARRAY_LEN(places))
        skip();
    snprintf(path, sizeof path, "%s/cgroup.procs", places[i]);
    int r = kernelfile_open(&p, AT_FDCWD, path, &err);
    int before = r < 0 ? r : kernelfile_read(&p, &buf, &text, &err);
    rmdir(places[i]);
    assert_int_equal(before, 0);
    assert_int_equal(kernelfile_read(&p, &buf, &text, &err), -ENODEV);
    kernelfile_close(&p);
    free(buf.p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roots_by_mode),
        cmocka_unit_test(test_version_and_units),
        cmocka_unit_test(test_missing_roots),
        cmocka_unit_test(test_driver_by_directory),
        cmocka_unit_test(test_driver_of_kubelet),
        cmocka_unit_test(test_kernelfile_reads_again),
        cmocka_unit_test(test_kernelfile_grows),
        cmocka_unit_test(test_kernelfile_reads_procfs),
        cmocka_unit_test(test_kernelfile_of_a_cgroup_that_is_gone),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
