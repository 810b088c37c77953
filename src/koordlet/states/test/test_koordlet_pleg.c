/* test_koordlet_pleg.c - pods and containers as their directories come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "base/vec.h"
#include "koordlet/states/pleg.h"
#include "loop/loop.h"
#include "sys/file.h"

/* What was told: "+pod X", "-pod X", "+ctr X/Y", "-ctr X/Y", each with a newline. */
static void pod_added(void *arg, const char *id)
{
    strbuf_appendf(arg, "+pod %s\n", id);
}
static void pod_deleted(void *arg, const char *id)
{
    strbuf_appendf(arg, "-pod %s\n", id);
}
static void container_added(void *arg, const char *pod, const char *id)
{
    strbuf_appendf(arg, "+ctr %s/%s\n", pod, id);
}
static void container_deleted(void *arg, const char *pod, const char *id)
{
    strbuf_appendf(arg, "-ctr %s/%s\n", pod, id);
}
static const struct pleg_handler all = { pod_added, pod_deleted, container_added,
                                         container_deleted };

/* ---- a tree in memory ------------------------------------------------------------------------ */

struct tree {
    struct paths vec_of(char *) dirs; /* the number of a watch is the index of its directory */
    struct plegcore *core;
    struct strbuf told;
    unsigned watches;
};

static size_t tree_find(const struct tree *t, const char *path)
{
    for (size_t i = t->dirs.n; i-- > 0;)
        if (t->dirs.items[i] && streq(t->dirs.items[i], path))
            return i;
    return SIZE_MAX;
}

static int tree_watch(void *arg, const char *path)
{
    struct tree *t = arg;
    size_t i = tree_find(t, path);

    if (i == SIZE_MAX)
        return -ENOENT;
    t->watches++;
    return (int)i;
}

static void tree_unwatch(void *arg, int wd)
{
    (void)arg, (void)wd;
}

static void tree_list(void *arg, const char *path, void (*fn)(void *to, const char *name), void *to)
{
    struct tree *t = arg;
    size_t n = strlen(path), skip = n ? n + 1 : 0;

    vec_foreach(&t->dirs, i) {
        const char *d = t->dirs.items[i];
        if (!d || !*d || strncmp(d, path, n) != 0 || (n && d[n] != '/') || strchr(d + skip, '/'))
            continue;
        fn(to, d + skip);
    }
}

static const struct pleg_ops tree_ops = { tree_watch, tree_unwatch, tree_list };

/* Makes a directory; the event follows unless quietly. */
static void tree_mkdir(struct tree *t, const char *path, bool quietly)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem_free) char *parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
    size_t at = tree_find(t, parent);

    vec_push(&t->dirs, xstrdup(path));
    if (!quietly)
        plegcore_event(t->core, (int)at, true, slash ? slash + 1 : path);
}

static void tree_rmdir(struct tree *t, const char *path, bool quietly)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem_free) char *parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
    size_t at = tree_find(t, parent), mine = tree_find(t, path);

    if (mine != SIZE_MAX) {
        free(t->dirs.items[mine]);
        t->dirs.items[mine] = NULL;
    }
    if (quietly)
        return;
    plegcore_event(t->core, (int)at, false, slash ? slash + 1 : path);
    plegcore_gone(t->core, (int)mine);
}

static void tree_init(struct tree *t, const struct pleg_handler *on)
{
    memset(t, 0, sizeof *t);
    vec_push(&t->dirs, xstrdup(""));
    t->core = plegcore_new(&tree_ops, t, on, &t->told);
}

static void tree_fini_p(struct tree *t)
{
    plegcore_free(t->core);
    vec_foreach(&t->dirs, i)
        free(t->dirs.items[i]);
    vec_fini(&t->dirs);
    strbuf_fini(&t->told);
}

static void assert_told(struct tree *t, const char *text)
{
    assert_string_equal(strbuf_str(&t->told), text);
    strbuf_reset(&t->told);
    strbuf_append(&t->told, "");
}

static void test_systemd_names(void **state)
{
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t, &all);
    tree_mkdir(&t, "kubepods.slice", true);
    tree_mkdir(&t, "kubepods.slice/kubepods-burstable.slice", true);
    assert_int_equal(plegcore_start(t.core), 0);
    tree_mkdir(&t, "kubepods.slice/kubepods-pod12345.slice", false);
    assert_told(&t, "+pod 12345\n");
    tree_mkdir(&t, "kubepods.slice/kubepods-pod12345.slice/cri-containerd-container1.scope", false);
    assert_told(&t, "+ctr 12345/container1\n");
    tree_rmdir(&t, "kubepods.slice/kubepods-pod12345.slice/cri-containerd-container1.scope", false);
    assert_told(&t, "-ctr 12345/container1\n");
    tree_rmdir(&t, "kubepods.slice/kubepods-pod12345.slice", false);
    assert_told(&t, "-pod 12345\n");
    tree_rmdir(&t, "kubepods.slice/12345", false);
    tree_mkdir(&t, "kubepods.slice/12345", false);
    tree_mkdir(&t, "system.slice", false);
    tree_mkdir(&t, "kubepods.slice/system.slice", false);
    assert_told(&t, "");
    tree_mkdir(&t, "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podA_b.slice",
               false);
    assert_told(&t, "+pod A_b\n");
    /* The class was not there at the start. */
    tree_mkdir(&t, "kubepods.slice/kubepods-besteffort.slice", false);
    tree_mkdir(&t, "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podz.slice",
               false);
    assert_told(&t, "+pod z\n");
}

static void test_cgroupfs_names(void **state)
{
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t, &all);
    assert_int_equal(plegcore_start(t.core), 0);
    tree_mkdir(&t, "kubepods", false); /* nothing of it was there at the start */
    tree_mkdir(&t, "kubepods/burstable", false);
    assert_told(&t, "");
    tree_mkdir(&t, "kubepods/pod12-34", false);
    tree_mkdir(&t, "kubepods/burstable/podab-cd", false);
    tree_mkdir(&t, "kubepods/burstable/other", false);
    assert_told(&t, "+pod 12-34\n+pod ab-cd\n");
    tree_mkdir(&t, "kubepods/burstable/podab-cd/0123abc", false);
    assert_told(&t, "+ctr ab-cd/0123abc\n");
    /* All goes at once: the class takes its pods along. */
    tree_rmdir(&t, "kubepods/burstable", false);
    assert_told(&t, "-pod ab-cd\n");
}

/* cgroupRoot: /kubelet, as in kind. */
static void test_pods_below_a_root_of_the_kubelet(void **state)
{
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t, &all);
    assert_int_equal(plegcore_start(t.core), 0);
    tree_mkdir(&t, "kubelet", false);
    tree_mkdir(&t, "kubelet/other", false);
    tree_mkdir(&t, "kubelet/kubepods", false);
    tree_mkdir(&t, "kubelet/kubepods/burstable", false);
    tree_mkdir(&t, "kubelet/kubepods/burstable/podab-cd", false);
    tree_mkdir(&t, "kubelet.slice", false);
    tree_mkdir(&t, "kubelet.slice/kubelet-kubepods.slice", false);
    tree_mkdir(&t, "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1_2.slice", false);
    assert_told(&t, "+pod ab-cd\n+pod 1_2\n");
}

static void test_pods_of_the_start_are_known_and_watched(void **state)
{
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t, &all);
    tree_mkdir(&t, "kubepods", true);
    tree_mkdir(&t, "kubepods/pod1", true);
    tree_mkdir(&t, "kubepods/pod1/old", true);
    plegcore_start(t.core);
    assert_told(&t, "");
    tree_mkdir(&t, "kubepods/pod1/new", false);
    tree_rmdir(&t, "kubepods/pod1/old", false);
    tree_rmdir(&t, "kubepods/pod1", false);
    assert_told(&t, "+ctr 1/new\n-ctr 1/old\n-pod 1\n");
}

static void test_what_came_before_the_watch_is_told_once(void **state)
{
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t, &all);
    tree_mkdir(&t, "kubepods", true);
    plegcore_start(t.core);
    tree_mkdir(&t, "kubepods/besteffort", true);
    tree_mkdir(&t, "kubepods/besteffort/podx", true);
    tree_mkdir(&t, "kubepods/besteffort/podx/c", true);
    plegcore_event(t.core, (int)tree_find(&t, "kubepods"), true, "besteffort");
    assert_told(&t, "+pod x\n+ctr x/c\n");
    plegcore_event(t.core, (int)tree_find(&t, "kubepods/besteffort"), true, "podx");
    plegcore_event(t.core, (int)tree_find(&t, "kubepods/besteffort/podx"), true, "c");
    assert_told(&t, "");
    /* Gone before its watch began: told as added and deleted. */
    plegcore_event(t.core, (int)tree_find(&t, "kubepods"), true, "podshort");
    plegcore_event(t.core, (int)tree_find(&t, "kubepods"), false, "podshort");
    assert_told(&t, "+pod short\n-pod short\n");
}

static void test_lost_events_are_made_up_for(void **state)
{
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t, &all);
    tree_mkdir(&t, "kubepods", true);
    tree_mkdir(&t, "kubepods/pod1", true);
    tree_mkdir(&t, "kubepods/pod2", true);
    plegcore_start(t.core);
    tree_rmdir(&t, "kubepods/pod1", true);
    tree_mkdir(&t, "kubepods/pod3", true);
    tree_rmdir(&t, "kubepods/pod2", true); /* and made anew: it needs a new watch */
    tree_mkdir(&t, "kubepods/pod2", true);
    plegcore_rescan(t.core);
    assert_told(&t, "+pod 3\n-pod 1\n");
    tree_mkdir(&t, "kubepods/pod2/c", false);
    assert_told(&t, "+ctr 2/c\n");
}

static void test_pods_are_not_watched_for_nothing(void **state)
{
    static const struct pleg_handler pods_only = { .pod_added = pod_added };
    CLEANUP(tree_fini) struct tree t;

    (void)state;
    tree_init(&t, &pods_only);
    tree_mkdir(&t, "kubepods", true);
    plegcore_start(t.core);
    for (int i = 0; i < 100; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "kubepods/pod%d", i);
        tree_mkdir(&t, path, false);
        tree_rmdir(&t, path, false);
    }
    assert_int_equal(t.watches, 2);
}

/* ---- real directories ------------------------------------------------------------------------ */

struct field {
    struct loop *loop;
    struct pleg *pleg;
    struct host host;
    struct strbuf told;
    const char *wanted;
    char root[64];
    bool late;
};

static void field_mkdir(struct field *f, const char *path)
{
    CLEANUP(mem_free) char *full = xasprintf("%s%s", f->host.roots.cgroup, path);
    struct kerr err = { 0 };
    assert_int_equal(dir_make(AT_FDCWD, full, 0755, &err), 0);
}

static void field_rmdir(struct field *f, const char *path)
{
    CLEANUP(mem_free) char *full = xasprintf("%s%s", f->host.roots.cgroup, path);
    assert_int_equal(rmdir(full), 0);
}

static void field_poll(struct loop *l, void *arg)
{
    struct field *f = arg;
    if (streq(strbuf_str(&f->told), f->wanted))
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC, field_poll, f);
}

static void field_too_late(struct loop *l, void *arg)
{
    ((struct field *)arg)->late = true;
    loop_stop(l);
}

/* How long this thread was ready to run and had no CPU. */
static nsec_t waited_for_cpu(void)
{
    unsigned long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");

    if (file) {
        if (fscanf(file, "%llu %llu", &ran, &waited) != 2)
            waited = 0;
        (void)fclose(file);
    }
    return (nsec_t)waited;
}

/* Runs until all of it was told, a minute at most; returns how long it took, without the time that
 * a loaded machine let us wait for a CPU. */
static nsec_t field_wait(struct field *f, const char *wanted)
{
    nsec_t began = loop_stopwatch(f->loop) - waited_for_cpu();
    struct timer *end = loop_after(f->loop, 60 * NSEC_PER_SEC, field_too_late, f);

    f->wanted = wanted;
    loop_after(f->loop, 0, field_poll, f);
    loop_run(f->loop);
    assert_string_equal(strbuf_str(&f->told), wanted);
    assert_false(f->late);
    timer_cancel(end);
    strbuf_reset(&f->told);
    return loop_stopwatch(f->loop) - waited_for_cpu() - began;
}

static void field_init(struct field *f, enum cgroup_version v)
{
    memset(f, 0, sizeof *f);
    (void)snprintf(f->root, sizeof f->root, "/tmp/koordlet-pleg-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    strcat(f->root, "/");
    f->host.roots.cgroup = f->root;
    f->host.version = v;
    f->loop = loop_new();
}

static int remove_all(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)type, (void)arg;
    CLEANUP(fd_close) int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return unlinkat(dirfd, name, 0) < 0 ? -errno : 0;
    (void)dir_each(fd, ".", remove_all, NULL, err);
    return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static void field_fini_p(struct field *f)
{
    struct kerr err = { 0 };
    pleg_free(f->pleg);
    loop_free(f->loop);
    strbuf_fini(&f->told);
    (void)dir_each(AT_FDCWD, f->root, remove_all, NULL, &err);
    (void)rmdir(f->root);
}

static void test_real_directories(void **state)
{
    static const struct {
        enum cgroup_version version;
        const char *top; /* below the root */
    } cases[] = { { CGROUP_V1, "cpu/" }, { CGROUP_V2, "" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(field_fini) struct field f;
        const char *top = cases[i].top;
        field_init(&f, cases[i].version);
        CLEANUP(mem_free) char *slice = xasprintf("%skubepods.slice", top);
        CLEANUP(mem_free) char *qos = xasprintf("%s/kubepods-burstable.slice", slice);
        CLEANUP(mem_free) char *pod = xasprintf("%s/kubepods-burstable-podA_b.slice", qos);
        CLEANUP(mem_free) char *ctr = xasprintf("%s/cri-containerd-c1.scope", pod);
        CLEANUP(mem_free) char *file = xasprintf("%s%s/kubepods-podfile.slice", f.root, slice);
        field_mkdir(&f, slice);
        f.pleg = pleg_new(f.loop, &f.host, &all, &f.told);
        assert_non_null(f.pleg);
        /* The class, the pod and the container in one go: whatever the watches miss is listed. */
        field_mkdir(&f, ctr);
        struct kerr err = { 0 };
        assert_int_equal(file_write_atomic(AT_FDCWD, file, "", 0, 0600, &err), 0);
        nsec_t took = field_wait(&f, "+pod A_b\n+ctr A_b/c1\n");
        assert_that(took, <, 100 * NSEC_PER_MSEC);
        field_rmdir(&f, ctr);
        field_rmdir(&f, pod);
        field_wait(&f, "-ctr A_b/c1\n-pod A_b\n");
        field_rmdir(&f, qos); /* and again */
        field_mkdir(&f, ctr);
        field_wait(&f, "+pod A_b\n+ctr A_b/c1\n");
    }
}

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static void test_without_a_hierarchy_there_is_no_pleg(void **state)
{
    CLEANUP(field_fini) struct field f;

    (void)state;
    field_init(&f, CGROUP_V1); /* no cpu/ */
    klog_set_sink(quiet, NULL);
    assert_null(pleg_new(f.loop, &f.host, &all, &f.told));
    klog_set_sink(NULL, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systemd_names),
        cmocka_unit_test(test_cgroupfs_names),
        cmocka_unit_test(test_pods_below_a_root_of_the_kubelet),
        cmocka_unit_test(test_pods_of_the_start_are_known_and_watched),
        cmocka_unit_test(test_what_came_before_the_watch_is_told_once),
        cmocka_unit_test(test_lost_events_are_made_up_for),
        cmocka_unit_test(test_pods_are_not_watched_for_nothing),
        cmocka_unit_test(test_real_directories),
        cmocka_unit_test(test_without_a_hierarchy_there_is_no_pleg),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
