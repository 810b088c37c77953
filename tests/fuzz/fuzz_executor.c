/* fuzz_executor.c - whatever kernel files say, the executor writes its plan and can show it.
 *
 * The first byte chooses the version of cgroups; the rest is the text of every file.
 */
#include "base/klog.h"
#include "koordlet/executor/executor.h"
#include "koordlet/hooks/tc.h"
#include "koordlet/kernel/host.h"
#include "loop/loop.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct kernel {
    const char *text;
    size_t n;
    unsigned writes;
};

static int read_file(void *arg, enum executor_root r, const char *path, struct strbuf *out)
{
    const struct kernel *k = arg;

    (void)r, (void)path;
    strbuf_appendn(out, k->text, k->n);
    return 0;
}

static int write_file(void *arg, enum executor_root r, const char *path, const char *text, size_t n,
                      bool append)
{
    (void)r, (void)path, (void)text, (void)append;
    assert(n > 0);
    ((struct kernel *)arg)->writes++;
    return 0;
}

static int write_begin(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path;
    return 0;
}

static int write_end(void *arg, int opened, const char *text, size_t n)
{
    (void)opened;
    return write_file(arg, EXECUTOR_CGROUP, "", text, n, false);
}

static bool exists(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path;
    return true;
}

static int no_dir(void *arg, enum executor_root r, const char *path)
{
    (void)arg, (void)r, (void)path;
    return 0;
}

static void list(void *arg, enum executor_root r, const char *path,
                 void (*fn)(void *to, const char *name), void *to)
{
    (void)arg, (void)r, (void)path;
    fn(to, "stranger");
}

static const struct executor_ops ops = { .read = read_file,
                                         .write = write_file,
                                         .write_begin = write_begin,
                                         .write_end = write_end,
                                         .exists = exists,
                                         .make_dir = no_dir,
                                         .remove_dir = no_dir,
                                         .list = list };

static void fill(struct plan *p)
{
    const struct plan_at pod = { "kubepods/pod", NULL, NULL }, group = { "BE", NULL, NULL };
    const struct plan_at features = { "kernel/debug/sched_features", NULL, NULL };

    for (int f = 0; f < PLAN_BLKIO_READ_IOPS; f++)
        if (f != PLAN_CPUSET_CPUS)
            plan_number(p, pod, (enum plan_file)f, 1);
    plan_text(p, pod, PLAN_CPUSET_CPUS, "0-1");
    plan_item(p, pod, PLAN_BLKIO_READ_IOPS, "8:0", "8:0 100");
    plan_item(p, group, PLAN_RESCTRL_SCHEMATA, "L3", "L3:0=f;1=f;\n");
    plan_item(p, group, PLAN_RESCTRL_SCHEMATA, "MB", "MB:0=10;1=20;\n");
    plan_number(p, features, PLAN_SCHED_FEATURE, 1)->item = "FEATURE";
    plan_number(p, (struct plan_at){ "sys/vm/x", NULL, NULL }, PLAN_PROC_FILE, 7);
}

static void check_links(const struct kernel *k)
{
    char link[16];

    if (tc_default_link((struct str){ k->text, k->n }, link, sizeof link))
        assert(*link && strlen(link) < sizeof link && !strpbrk(link, " \t\r\n"));
    (void)tc_hz((struct str){ k->text, k->n });
}

static void no_line(void *arg, const char *line, size_t n)
{
    (void)arg, (void)line, (void)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    klog_set_sink(no_line, NULL);
    if (size == 0 || size > 4096)
        return 0;
    struct kernel k = { (const char *)data + 1, size - 1, 0 };
    struct host h = { .version = data[0] % 2 ? CGROUP_V2 : CGROUP_V1,
                      .driver = CGROUP_CGROUPFS,
                      .page_size = 4096 };
    struct loop *l = loop_new_virtual(0, 1);
    struct executor *e =
        executor_new(&(struct executor_env){ .loop = l, .host = &h, .ops = &ops, .ops_arg = &k });
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    struct plan *p = executor_plan(e, PLAN_SYSTEM_CONFIG, NULL);
    fill(p);
    executor_submit(e, p);
    executor_apply(e);
    executor_json(e, &json);
    executor_table(e, &text);
    assert(kj_parse(strbuf_str(&json), json.len, 0, &doc, &err) == 0);
    assert(text.len > 0);
    check_links(&k);
    executor_submit(e, executor_plan(e, PLAN_SYSTEM_CONFIG, NULL)); /* and all put back */
    executor_apply(e);
    executor_free(e);
    loop_advance(l, NSEC_PER_SEC); /* what workers had taken ends */
    loop_free(l);
    return 0;
}
