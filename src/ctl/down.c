/* down.c - koordctl down and status: what koordctl up left a note of. */
#include <signal.h>
#include <stdio.h>

#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/up.h"
#include "json/kj.h"

struct dir_options {
    const char *data;
};
#define O(member) .off = offsetof(struct dir_options, member)
static const struct flag dir_flags[] = {
    { "data", FLAG_STR, O(data),
      .help = "`directory` of the state; without it ~/.local/share/koord" },
};
#undef O

static int find(struct ctl *c, const void *options, struct up_dir *dir, struct up_note *note,
                struct kerr *err)
{
    const struct dir_options *o = options;
    int r = up_dir_open(o->data, &c->env, false, dir, err);
    return r < 0 ? r : up_note_read(dir, note, err);
}

static int run_down(struct ctl *c, const void *options)
{
    CLEANUP(up_dir_fini) struct up_dir dir = { 0 };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct up_note note;
    struct kerr err = { 0 };

    if (flags_nargs(c->flags) > 0)
        return ctl_usage(c, "down takes no arguments");
    if (find(c, options, &dir, &note, &err) < 0)
        return ctl_fail(c, "%s", err.text);
    if (kill((pid_t)note.pid, SIGTERM) < 0)
        return ctl_fail(c, "process %lld: %s", (long long)note.pid, strerror(errno));
    struct up_note now;
    for (int i = 0; i < 300; i++) {
        if (up_note_read(&dir, &now, &err) < 0) {
            ctl_progress_end(c);
            strbuf_appendf(&out, "stopped %s\n", note.url);
            return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
        }
        ctl_progress(c, "waiting for process %lld to store everything and end",
                     (long long)note.pid);
        ctl_wait(c, 100 * NSEC_PER_MSEC);
    }
    ctl_progress_end(c);
    return ctl_fail(c, "process %lld did not stop within 30 s", (long long)note.pid);
}

const struct ctl_command ctl_command_down = {
    .name = "down",
    .help = "Stop what koordctl up started",
    .flags = dir_flags,
    .nflags = ARRAY_LEN(dir_flags),
    .options_size = sizeof(struct dir_options),
    .run = run_down,
};

static int count_of(struct ctl *c, const char *kind, int64_t *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kube_req r = { .verb = KUBE_LIST, .kind = kind_find(kind), .limit = 1 };

    if (ctl_call(c, &r, &body, err) < 0 || kj_parse(strbuf_str(&body), body.len, 0, &doc, err) < 0)
        return err->code;
    const struct kj_val *root = kj_root(doc);
    *ret = (int64_t)kj_len(kj_get(root, "items")) +
           kj_i64_or(kj_path(root, "metadata.remainingItemCount"), 0);
    return 0;
}

static int run_status(struct ctl *c, const void *options)
{
    static const char *const kinds[] = { "namespaces", "nodes", "pods", "deployments", "jobs" };
    CLEANUP(up_dir_fini) struct up_dir dir = { 0 };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct up_note note;
    struct kerr err = { 0 };

    if (flags_nargs(c->flags) > 0)
        return ctl_usage(c, "status takes no arguments");
    if (find(c, options, &dir, &note, &err) < 0)
        return ctl_fail(c, "%s", err.text);
    c->o.client.kubeconfig = note.kubeconfig;
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    strbuf_appendf(&out, "server      %s (process %lld)\nkubeconfig  %s\ndata        %s\n",
                   note.url, (long long)note.pid, note.kubeconfig, dir.path);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        int64_t n = 0;
        if (count_of(c, kinds[i], &n, &err) < 0)
            return ctl_complain(c, &err);
        strbuf_appendf(&out, "%-11s %lld\n", kinds[i], (long long)n);
    }
    return ctl_print(c, &out) ? CTL_OK : CTL_FAILED;
}

const struct ctl_command ctl_command_status = {
    .name = "status",
    .help = "Show what koordctl up runs",
    .flags = dir_flags,
    .nflags = ARRAY_LEN(dir_flags),
    .options_size = sizeof(struct dir_options),
    .run = run_status,
};
