/* predict_fixture.h - a prediction server on a virtual loop, with samples and pods of the test's
 * choice. One file of a program includes it. */
#ifndef KOORD_KOORDLET_PREDICT_TEST_PREDICT_FIXTURE_H
#define KOORD_KOORDLET_PREDICT_TEST_PREDICT_FIXTURE_H
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "koordlet/metriccache/store.h"
#include "koordlet/predict/server.h"
#include "koordlet/states/snapshot.h"
#include "loop/loop.h"
#include "sys/file.h"

#define START  (INT64_C(1700000000) * NSEC_PER_SEC)
#define MINUTE (60 * NSEC_PER_SEC)

/* ---- fixture --------------------------------------------------------------------------------- */

struct fixture {
    char dir[64];
    struct predict_options o;
    struct loop *l;
    struct metrics *m;
    struct metriccache *mc;
    struct series *node_cpu, *node_memory, *pod_cpu[2], *pod_memory[2];
    struct predict_server *s;
    struct npod pods[2];
    struct npod *list[2];
    struct podset set;
    struct snapshots *snapshots;
    struct snapshot known; /* which pods there are */
    bool node_measured;
    int pods_measured; /* the first so many */
};

static void set_pods(struct fixture *b, uint32_t n)
{
    static const char *const uids[] = { "uid-a", "uid-b" };

    for (uint32_t i = 0; i < 2; i++) {
        b->pods[i] = (struct npod){ .refs = 1, .priority = PRIO_PROD };
        strcpy(b->pods[i].uid, uids[i]);
        b->list[i] = &b->pods[i];
    }
    b->set = (struct podset){ .refs = 1, .n = n, .pods = b->list };
    b->known.pods = &b->set;
}

UNUSED static void keep_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static void start_server(struct fixture *b)
{
    b->s = predict_server_new(&(struct predict_env){ b->l, b->mc, b->snapshots, b->m, &b->o });
    predict_server_start(b->s);
}

static void fixture_init(struct fixture *b)
{
    *b = (struct fixture){ .l = loop_new_virtual(START, 3),
                           .m = metrics_new(),
                           .node_measured = true,
                           .pods_measured = 2 };
    b->known = (struct snapshot){ .refs = 1 };
    b->snapshots = snapshots_new(b->l);
    snapshots_publish(b->snapshots, snapshot_ref(&b->known));
    strcpy(b->dir, "/tmp/koordlet-models-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    klog_set_level(-1);
    b->o = (struct predict_options){
        .checkpoint_dir = b->dir,
        .cold_start = 1440 * MINUTE,
        .memory_half_life = 1440 * MINUTE,
        .cpu_half_life = 720 * MINUTE,
        .training = MINUTE,
        .expiration = 30 * MINUTE,
        .checkpoint = 10 * MINUTE,
        .margin_percent = 10,
        .checkpoint_max_per_step = 12,
    };
    b->mc = metriccache_new();
    for (int k = 0; k < M_KINDS; k++)
        metriccache_retain(b->mc, (enum metric_kind)k, NSEC_PER_SEC, 5 * MINUTE);
    b->node_cpu = metriccache_open(b->mc, M_NODE_CPU, NULL);
    b->node_memory = metriccache_open(b->mc, M_NODE_MEMORY, NULL);
    set_pods(b, 2);
    for (int i = 0; i < 2; i++) {
        const char *const labels[] = { b->pods[i].uid };
        b->pod_cpu[i] = metriccache_open(b->mc, M_POD_CPU, labels);
        b->pod_memory[i] = metriccache_open(b->mc, M_POD_MEMORY, labels);
    }
    start_server(b);
}

static void count_stop(void *arg)
{
    ++*(int *)arg;
}

static void stop_server(struct fixture *b)
{
    int stopped = 0;

    predict_server_stop(b->s, count_stop, &stopped);
    loop_advance(b->l, NSEC_PER_SEC);
    assert_int_equal(stopped, 1);
    b->s = predict_server_free(b->s);
}

static int remove_entry(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    (void)type, (void)arg, (void)err;
    unlinkat(dirfd, name, 0);
    return 0;
}

static void fixture_fini(struct fixture *b)
{
    struct kerr err;

    if (b->s)
        stop_server(b);
    series_close(b->node_cpu);
    series_close(b->node_memory);
    for (int i = 0; i < 2; i++) {
        series_close(b->pod_cpu[i]);
        series_close(b->pod_memory[i]);
    }
    metriccache_free(b->mc);
    chmod(b->dir, 0755);
    dir_each(AT_FDCWD, b->dir, remove_entry, NULL, &err);
    rmdir(b->dir);
    metrics_free(b->m);
    snapshots_free(b->snapshots);
    loop_free(b->l);
}

/* One sample a second. */
static void run_seconds(struct fixture *b, int n)
{
    struct kerr err;

    for (int i = 0; i < n; i++) {
        int64_t ms = loop_wall(b->l) / NSEC_PER_MSEC;
        if (b->node_measured) {
            series_append(b->node_cpu, ms, 4, &err);
            series_append(b->node_memory, ms, 8e9, &err);
        }
        for (int k = 0; k < b->pods_measured; k++) {
            series_append(b->pod_cpu[k], ms, 1, &err);
            series_append(b->pod_memory[k], ms, 128 << 20, &err);
        }
        loop_advance(b->l, NSEC_PER_SEC);
    }
}

static void run_minutes(struct fixture *b, int n)
{
    run_seconds(b, 60 * n);
}

static void run_minute(struct fixture *b)
{
    run_minutes(b, 1);
}

UNUSED static size_t count_files(const struct fixture *b)
{
    DIR *d = opendir(b->dir);
    size_t n = 0;

    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

UNUSED static bool has_file(const struct fixture *b, const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    return access(path, F_OK) == 0;
}

UNUSED static void put_file(const struct fixture *b, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}
#endif
