/* access.c - one kernel file: its path, what it holds, a value written to it. */
#include <stdio.h>

#include "base/klog.h"
#include "base/num.h"
#include "component/metrics.h"
#include "koordlet/audit/audit.h"
#include "koordlet/executor/executor_int.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/kernel/text.h"
#include "loop/loop.h"

#define SUPPORT_EVERY   (60 * NSEC_PER_SEC)
#define MEMORY_NO_LIMIT (INT64_MAX - 65535) /* whole pages, of whatever size */

static unsigned resource_index(unsigned file)
{
    return file == FILE_CPUSET_EFFECTIVE ? PLAN_CGROUP_FILES : file;
}

static bool is_cgroup(unsigned file)
{
    return file < PLAN_CGROUP_FILES || file == FILE_CPUSET_EFFECTIVE;
}

/* ---- paths ----------------------------------------------------------------------------------- */

const char *target_path(struct executor *e, const struct target *t)
{
    const struct cgroup_resource *r =
        is_cgroup(t->file) ? e->resources[resource_index(t->file)] : NULL;

    strbuf_reset(&e->path);
    if (r) {
        cgroup_resource_path(r, e->env.host->version, "", t->dir->path, &e->path);
        return strbuf_str(&e->path);
    }
    if (is_cgroup(t->file)) { /* only the other version of cgroups has it */
        strbuf_appendf(&e->path, "%s/%s", t->dir->path, plan_file_type((enum plan_file)t->file));
        return strbuf_str(&e->path);
    }
    if (t->dir->root == EXECUTOR_RESCTRL)
        strbuf_append(&e->path, *t->dir->path ? "resctrl/" : "resctrl");
    strbuf_append(&e->path, t->dir->path);
    if (t->file == PLAN_RESCTRL_SCHEMATA)
        strbuf_append(&e->path, "/schemata");
    else if (t->file == PLAN_RESCTRL_TASKS)
        strbuf_append(&e->path, "/tasks");
    return strbuf_str(&e->path);
}

/* A file that the root of all pods lacks is asked for again every minute: the directory may not
 * have been there, or its controllers. */
bool file_supported(struct executor *e, unsigned file)
{
    const struct host *h = e->env.host;
    nsec_t now = loop_mono(e->env.loop);

    if (!is_cgroup(file))
        return true;
    unsigned i = resource_index(file);
    const struct cgroup_resource *r = e->resources[i];
    if (!r)
        return false;
    enum cgroup_support s = r->files[h->version].support;
    if (s == CGROUP_ALWAYS || e->support[i] > 0)
        return true;
    if (e->support[i] == 0 && now - e->support_asked[i] < SUPPORT_EVERY)
        return false;
    strbuf_reset(&e->path);
    cgroup_resource_path(r, h->version, "", s == CGROUP_IF_ROOT ? "" : cgroup_kubepods(h->driver),
                         &e->path);
    e->support_asked[i] = now;
    e->support[i] = e->env.ops->exists(e->env.ops_arg, EXECUTOR_CGROUP, strbuf_str(&e->path));
    return e->support[i] > 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int parse_number(const struct executor *e, const struct target *t, struct str s,
                        int64_t *ret)
{
    bool v2 = e->env.host->version == CGROUP_V2;

    s = text_trim(s);
    if (t->file == PLAN_CPU_QUOTA && v2)
        return cpu_max_quota(s.p, s.n, ret, NULL);
    bool max = s.n == 3 && memcmp(s.p, "max", 3) == 0;
    if (max)
        *ret = INT64_MAX;
    else if (i64_parse(s.p, s.n, ret) < 0)
        return -EIO;
    if (t->file == PLAN_MEMORY_LIMIT && *ret >= MEMORY_NO_LIMIT)
        *ret = -1;
    else if (t->file == PLAN_CPU_QUOTA && *ret < 0)
        *ret = -1;
    return 0;
}

/* The line of the item, "" when there is none. Of a blkio file it begins with the disk, of a
 * schemata with the name of the resource. */
static struct str line_of(const struct target *t, struct str text)
{
    size_t n = strlen(t->item);
    char after = t->file == PLAN_RESCTRL_SCHEMATA ? ':' : ' ';
    struct str line;

    while (text_line(&text, &line)) {
        line = text_trim(line);
        if (line.n > n && memcmp(line.p, t->item, n) == 0 && line.p[n] == after)
            return line;
    }
    return (struct str){ "", 0 };
}

/* -1: the file does not name the feature. */
static int64_t feature_of(const struct target *t, struct str text)
{
    struct str word;

    while (text_word(&text, &word)) {
        bool off = text_starts(word, "NO_");
        struct str name = off ? (struct str){ word.p + 3, word.n - 3 } : word;
        if (name.n == strlen(t->item) && memcmp(name.p, t->item, name.n) == 0)
            return !off;
    }
    return -1;
}

static int parse_file(struct executor *e, struct target *t, struct str text)
{
    int64_t number = 0;
    struct str s = text_trim(text);

    switch (file_rules[t->file].kind) {
    case VALUE_NUMBER:
    case VALUE_LIMIT:
        if (t->file == PLAN_SCHED_FEATURE)
            number = feature_of(t, text);
        else if (parse_number(e, t, text, &number) < 0)
            return -EIO;
        value_set(&t->is, number, NULL);
        return 0;
    case VALUE_LINE: s = line_of(t, text); break;
    default: break;
    }
    strbuf_reset(&e->content);
    strbuf_appendn(&e->content, s.p, s.n);
    value_set(&t->is, 0, strbuf_str(&e->content));
    return 0;
}

int target_read(struct executor *e, struct target *t)
{
    value_forget(&t->is);
    if (!file_supported(e, t->file))
        return -EOPNOTSUPP;
    const char *path = target_path(e, t);
    e->stats.reads++;
    t->checked = loop_mono(e->env.loop);
    if (file_rules[t->file].kind == VALUE_DIR) {
        value_set(&t->is, e->env.ops->exists(e->env.ops_arg, t->dir->root, path), NULL);
        return 0;
    }
    strbuf_reset(&e->text);
    int code = e->env.ops->read(e->env.ops_arg, t->dir->root, path, &e->text);
    if (code < 0)
        return code;
    code = parse_file(e, t, (struct str){ strbuf_str(&e->text), e->text.len });
    /* What only we know of can be put back only from what was there. */
    if (code == 0 && !t->first.known &&
        (t->dir->root == EXECUTOR_PROC || t->dir->root == EXECUTOR_SYS ||
         t->file == PLAN_CPU_SHARES))
        value_set(&t->first, t->is.number, t->is.text);
    return code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void number_text(const struct executor *e, const struct target *t, int64_t v,
                        struct strbuf *out)
{
    bool v2 = e->env.host->version == CGROUP_V2;

    if (t->file == PLAN_SCHED_FEATURE)
        strbuf_appendf(out, "%s%s\n", v ? "" : "NO_", t->item);
    else if (v2 && v < 0 && file_rules[t->file].kind == VALUE_LIMIT)
        strbuf_append(out, "max");
    else if (v == INT64_MAX && t->file == PLAN_MEMORY_HIGH)
        strbuf_append(out, v2 ? "max" : "9223372036854775807");
    else if (!v2 && t->file == PLAN_MEMORY_GIVE_BACK)
        strbuf_append(out, "0");
    else
        strbuf_append_i64(out, v);
}

int target_text(struct executor *e, struct target *t, const struct value *v, struct str *ret,
                struct kerr *err)
{
    struct strbuf *out = &e->content;

    strbuf_reset(out);
    if (v->text)
        strbuf_append(out, v->text);
    else
        number_text(e, t, v->number, out);
    *ret = (struct str){ strbuf_str(out), out->len };
    if (!is_cgroup(t->file))
        return 0;
    return cgroup_resource_check(e->resources[resource_index(t->file)], e->env.host->version,
                                 strbuf_str(out), err);
}

static int write_now(struct executor *e, struct target *t, const struct value *v, struct kerr *err)
{
    struct str text;

    if (target_text(e, t, v, &text, err) < 0)
        return err->code;
    const char *path = target_path(e, t);
    if (e->env.dry_run)
        return 0;
    const struct executor_ops *ops = e->env.ops;
    int code;
    if (file_rules[t->file].kind != VALUE_DIR)
        code = ops->write(e->env.ops_arg, t->dir->root, path, text.p, text.n, false);
    else if (v->number)
        code = ops->make_dir(e->env.ops_arg, t->dir->root, path);
    else
        code = ops->remove_dir(e->env.ops_arg, t->dir->root, path);
    return code < 0 ? kerr_set(err, code, "write '%.*s' to %s: %s", (int)MIN(text.n, (size_t)64),
                               text.p, path, strerror(-code))
                    : 0;
}

int target_write(struct executor *e, struct target *t, const struct value *v, struct kerr *err)
{
    nsec_t began = loop_stopwatch(e->env.loop);

    err->code = 0;
    int code = write_now(e, t, v, err);
    e->stats.writes++;
    target_told(e, t, v, loop_stopwatch(e->env.loop) - began, err);
    if (code < 0)
        return code;
    value_set(&t->is, v->number, v->text);
    t->checked = loop_mono(e->env.loop);
    return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static const double buckets[] = { 0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84 };
static const struct metric_desc duration_desc = {
    "koordlet_resource_update_duration_milliseconds",
    "Time that a write of a kernel file took, in milliseconds.",
    METRIC_HISTOGRAM,
    .labels = { "type", "status" },
    .buckets = buckets,
    .nbuckets = ARRAY_LEN(buckets),
};

static void audit_write(struct executor *e, const struct target *t, const struct value *v)
{
    struct writer by = target_writer(t);
    struct str text;
    struct kerr ignored;

    if (!e->env.audit)
        return;
    (void)target_text(e, (struct target *)t, v, &text, &ignored);
    audit_log(e->env.audit,
              &(struct audit_event){
                  .type = *by.pod         ? "pod"
                          : *t->dir->path ? "group"
                                          : "node",
                  .ns = *by.pod ? by.ns : NULL,
                  .name = *by.pod ? by.pod : t->dir->path,
                  .container = *by.container ? by.container : NULL,
                  .reason = by.reason,
                  .message = arena_printf(e->scratch, "%s%s %s of %s: %s",
                                          e->env.dry_run ? "would update " : "update ",
                                          plan_file_type((enum plan_file)t->file),
                                          t->item ? t->item : "", t->dir->path, text.p),
                  .verbosity = 3,
              });
    arena_reset(e->scratch);
}

void target_told(struct executor *e, struct target *t, const struct value *v, nsec_t took,
                 const struct kerr *err)
{
    const char *type = plan_file_type((enum plan_file)t->file);

    if (e->env.metrics && !e->duration)
        e->duration = metrics_add(e->env.metrics, &duration_desc);
    if (e->duration && !e->env.dry_run)
        histogram_observe(
            metric_histogram(e->duration,
                             METRIC_VALUES(type, err->code < 0 ? "failed" : "success")),
            (double)took / (double)NSEC_PER_MSEC);
    if (err->code < 0)
        return;
    KLOG_I(4, "Updated a kernel file", KV_S("file", target_path(e, t)), KV_I("value", v->number),
           KV_S("text", str_or(v->text, "")));
    audit_write(e, t, v);
}

/* ---- once ------------------------------------------------------------------------------------ */

/* A thread that ended in the meantime is no matter. */
static void write_tasks(struct executor *e, const struct proposal *p)
{
    char id[16];

    strbuf_reset(&e->path);
    strbuf_appendf(&e->path, "resctrl/%s%stasks", p->at.dir, *p->at.dir ? "/" : "");
    for (uint32_t i = 0; i < p->nids; i++) {
        int n = snprintf(id, sizeof id, "%d", (int)p->ids[i]);
        e->stats.writes++;
        if (!e->env.dry_run)
            e->env.ops->write(e->env.ops_arg, EXECUTOR_RESCTRL, strbuf_str(&e->path), id, (size_t)n,
                              true);
    }
}

void once_write(struct executor *e, const struct proposal *p)
{
    struct kerr err = { 0 };

    if (p->file == PLAN_RESCTRL_TASKS) {
        write_tasks(e, p);
        return;
    }
    struct target *t = target_get(e, p->file, p->at.dir, p->item);
    if (!t || !file_supported(e, t->file))
        return;
    bool owned = t->owned;
    const struct value v = { true, p->number, (char *)(uintptr_t)p->text };
    const struct writer by = proposal_writer(p);
    if (file_rules[t->file].may_block && !e->env.dry_run) {
        job_once(e, t, &v, &by);
        return;
    }
    t->once = &by;
    if (target_write(e, t, &v, &err) < 0 && err.code != -ENOENT && err.code != -ENODEV)
        target_refused(e, t, &err);
    t->once = NULL;
    t->owned = owned;
}
