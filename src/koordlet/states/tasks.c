/* tasks.c - reading tasks and cgroup.threads. */
#include "koordlet/states/tasks.h"

#include <limits.h>

#include "base/num.h"
#include "koordlet/kernel/scan.h"
#include "koordlet/kernel/text.h"

static int parse_ids(struct str text, const char *path, struct task_ids *out, struct kerr *err)
{
    size_t before = out->n;
    struct str word;
    uint64_t id;

    while (text_word(&text, &word)) {
        if (u64_parse(word.p, word.n, &id) < 0 || id > INT_MAX) {
            out->n = before;
            return kerr_set(err, -EINVAL, "%s: not a list of threads", path);
        }
        vec_push(out, (pid_t)id);
    }
    return 0;
}

int npod_task_ids(const struct host *h, const struct npod *p, const char *container_id,
                  struct task_ids *out, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, dir = STRBUF_INIT;
    const struct cgroup_resource *tasks = cgroup_resource_find(h->version, "tasks", err);
    struct str text;

    strbuf_appendf(&dir, "%s/", p->cgroup_dir);
    int r = cgroup_container_name(h->driver, container_id, &dir, err);
    if (r < 0)
        return r;
    cgroup_resource_path(tasks, h->version, ".", strbuf_str(&dir), &path);
    r = kernelfile_once(h->cgroup_fd, strbuf_str(&path), h->buf, &text, err);
    return r < 0 ? r : parse_ids(text, strbuf_str(&path), out, err);
}

static void tell(const struct host *h, const struct npod *p, const char *id, struct task_ids *ids,
                 npod_tasks_fn fn, void *arg)
{
    struct kerr err;

    vec_clear(ids);
    if (npod_task_ids(h, p, id, ids, &err) == 0)
        fn(arg, id, ids);
}

void npod_tasks_each(const struct host *h, const struct npod *p, npod_tasks_fn fn, void *arg)
{
    uint32_t n = p->ncontainers + p->ninit_containers;
    CLEANUP(mem_free) const char **known = xnewn0(n + 1, const char *);
    CLEANUP(strbuf_fini) struct strbuf sandbox = STRBUF_INIT;
    struct task_ids ids = { 0 };
    struct kerr err;

    if (pod_is_terminal(npod_pod(p)))
        return;
    for (uint32_t i = 0; i < p->ncontainers; i++) {
        known[i] = p->containers[i].id;
        tell(h, p, known[i], &ids, fn, arg);
    }
    for (uint32_t i = 0; i < p->ninit_containers; i++) {
        known[p->ncontainers + i] = p->init_containers[i].id;
        tell(h, p, known[p->ncontainers + i], &ids, fn, arg);
    }
    if (cgroup_sandbox_id(h, p->cgroup_dir, known, n, &sandbox, &err) == 0 && sandbox.len > 0)
        tell(h, p, strbuf_str(&sandbox), &ids, fn, arg);
    vec_fini(&ids);
}
