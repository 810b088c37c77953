/* koord_device_daemon.c - the program koord-device-daemon: which accelerators a node has, in a file
 * that koordlet reads (sched-device 13).
 *
 * What is said on the command line counts before the environment, and that before the file. SIGHUP
 * reads the file again and begins anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/klog.h"
#include "component/run.h"
#include "devicedaemon/devicedaemon.h"
#include "loop/loop.h"
#include "sys/file.h"
#include "sys/spawn.h"
#include "json/kj.h"
#include "json/schema.h"

#define TOOL_TIME (10 * NSEC_PER_SEC)
/* In this way the program starts tools below the host's root: an image without a shell has no
 * chroot(1) either. */
#define IN_ROOT "--in-root"
enum { FILE_MAX = 1 << 20, TOOL_OUT_MAX = 1 << 20, ARGS_MAX = 16, TOOL_FAILED = 127 };

struct options {
    bool oneshot, no_timestamp;
    nsec_t interval;
    const char *output, *config, *host_root;
};

#define O(member) .off = offsetof(struct options, member)
static const struct flag table[] = {
    { "oneshot", FLAG_BOOL, O(oneshot),
      .help = "ask once, write the file, and end; the file stays [KDD_ONESHOT]" },
    { "sleep-interval", FLAG_DUR, O(interval), .def = "900s",
      .help = "time between two rounds [KDD_SLEEP_INTERVAL]" },
    { "prints-output-file", FLAG_STR, O(output),
      .def = "/var/run/koordlet/xpu-device-infos/ic-device",
      .help = "`file` for the list of devices; empty: none is written [KDD_PRINTS_OUTPUT_FILE, "
              "PRINTS_OUTPUT_FILE]" },
    { "config-file", FLAG_STR, O(config),
      .help = "`file` with settings, in YAML or JSON [KDD_CONFIG_FILE, CONFIG_FILE]" },
    { "host-root", FLAG_STR, O(host_root), .def = "/hostfs",
      .help = "`directory` where the host's file system is: its PCI bus is read and its tools run "
              "there" },
    { "no-timestamp", FLAG_BOOL, FLAG_IGNORED },
};
#undef O

static void add_flags(struct flags *f, void *options)
{
    flags_add(f, "Devices", table, ARRAY_LEN(table), options);
}

/* ---- settings -------------------------------------------------------------------------------- */

struct kdd {
    struct opt_bool oneshot;
    struct opt_i64 interval;
    const char *output; /* NULL: not said */
};
struct file_flags {
    struct kdd kdd;
};
struct file {
    const char *version;
    struct file_flags flags;
};
static const struct kfield kdd_fields[] = {
    KF(struct kdd, oneshot, "oneshot", KF_OPT_BOOL),
    KF(struct kdd, interval, "sleepInterval", KF_OPT_DUR),
    KF(struct kdd, output, "printsOutputFile", KF_OPT_STR),
};
static const struct kschema kdd_schema = KSCHEMA("kdd", struct kdd, kdd_fields);
static const struct kfield flags_fields[] = {
    KF(struct file_flags, kdd, "kdd", KF_OBJ, .sub = &kdd_schema),
};
static const struct kschema flags_schema = KSCHEMA("flags", struct file_flags, flags_fields);
static const struct kfield file_fields[] = {
    KF(struct file, version, "version", KF_STR),
    KF(struct file, flags, "flags", KF_OBJ, .sub = &flags_schema),
};
static const struct kschema file_schema = KSCHEMA("config", struct file, file_fields);

struct state {
    struct run *run;
    struct options o; /* after environment and file */
    char *output;     /* of the file; NULL: o.output is the command line's or the environment's */
    struct devicedaemon *daemon;
};

static int read_file(const char *path, struct arena *a, struct file *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    int e = file_read_all(AT_FDCWD, path, FILE_MAX, &text, err);
    if (e == 0)
        e = kj_parse_yaml(strbuf_str(&text), text.len, 0, &doc, err);
    if (e == 0)
        e = kj_decode(&file_schema, kj_root(doc), KJ_STRICT, a, ret, err);
    if (e == 0 && !streq(ret->version, "v1"))
        e = kerr_set(err, -EINVAL, "unknown version: %s", ret->version);
    return e < 0 ? kerr_wrap(err, "%s", path) : 0;
}

static const char *from_environment(const char *one, const char *other)
{
    const char *v = getenv(one);
    return v || !other ? v : getenv(other);
}

/* Through the flags' own readers, so that both take the same values. */
static int read_environment(struct state *p, struct kerr *err)
{
    static const struct {
        const char *flag, *one, *other;
    } names[] = {
        { "oneshot", "KDD_ONESHOT", NULL },
        { "sleep-interval", "KDD_SLEEP_INTERVAL", NULL },
        { "prints-output-file", "KDD_PRINTS_OUTPUT_FILE", "PRINTS_OUTPUT_FILE" },
        { "config-file", "KDD_CONFIG_FILE", "CONFIG_FILE" },
    };
    struct options *o = p->run->options;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *v = from_environment(names[i].one, names[i].other);
        if (!v || flags_given(p->run->flags, names[i].flag))
            continue;
        char word[4096];
        if ((size_t)snprintf(word, sizeof word, "--%s=%s", names[i].flag, v) >= sizeof word)
            return kerr_set(err, -EINVAL, "%s is too long", names[i].one);
        if (flags_parse(p->run->flags, 1, (char *const[]){ word }, 0, err) < 0)
            return kerr_wrap(err, "%s", names[i].one);
    }
    p->o = *o;
    return 0;
}

/* p->o anew: the file's values where neither command line nor environment say something. */
static int read_settings(struct state *p, struct kerr *err)
{
    const struct options *said = p->run->options;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct file file = { 0 };

    if (!str_empty(said->config) && read_file(said->config, a, &file, err) < 0)
        return err->code;
    const struct kdd *k = &file.flags.kdd;
    p->o = *said;
    free(take(p->output));
    if (k->oneshot.set && !flags_given(p->run->flags, "oneshot"))
        p->o.oneshot = k->oneshot.v;
    if (k->interval.set && !flags_given(p->run->flags, "sleep-interval"))
        p->o.interval = k->interval.v;
    if (k->output && !flags_given(p->run->flags, "prints-output-file"))
        p->o.output = p->output = xstrdup(k->output);
    if (p->o.interval <= 0 && !p->o.oneshot)
        return kerr_set(err, -EINVAL, "sleep-interval: must be more than 0");
    return 0;
}

/* ---- tools ----------------------------------------------------------------------------------- */

/* --in-root DIR TOOL ARG...: becomes the tool. Returns only when it cannot. */
static int become_tool(char *const *argv)
{
    if (chroot(argv[0]) < 0 || chdir("/") < 0) {
        fprintf(stderr, "chroot %s: %s\n", argv[0], strerror(errno));
        return TOOL_FAILED;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
    return TOOL_FAILED;
}

/* The first line that a tool wrote, for messages. */
static int first_line(const struct strbuf *b, size_t from)
{
    const char *text = strbuf_str(b) + from;
    return (int)MIN(strcspn(text, "\n"), (size_t)120);
}

static int run_tool(void *arg, const char *const *argv, struct strbuf *out, struct kerr *err)
{
    const struct state *p = arg;
    const struct spawn_limits limits = { TOOL_OUT_MAX, TOOL_OUT_MAX, TOOL_TIME };
    CLEANUP(strbuf_fini) struct strbuf said = STRBUF_INIT;
    const char *words[ARGS_MAX] = { "/proc/self/exe", IN_ROOT, p->o.host_root };
    struct spawn_exit ended = { 0 };
    size_t n = streq(p->o.host_root, "/") ? 0 : 3;

    for (size_t i = 0; argv[i]; i++) {
        assert(n < ARGS_MAX - 1);
        words[n++] = argv[i];
    }
    words[n] = NULL;
    const struct spawn_opts o = {
        .argv = words, .in = SPAWN_NULL, .out = SPAWN_PIPE, .err = SPAWN_PIPE
    };
    int e = spawn_run(&o, &limits, (struct str){ "", 0 }, out, &said, &ended, err);
    size_t from = out->len;
    strbuf_append(out, strbuf_str(&said));
    if (e < 0)
        return kerr_wrap(err, "%s", argv[0]);
    if (ended.signalled)
        return kerr_set(err, -EIO, "%s was ended by signal %d", argv[0], ended.code);
    if (ended.code != 0)
        return kerr_set(err, -EIO, "%s ended with status %d: %.*s", argv[0], ended.code,
                        first_line(out, said.len > 0 ? from : 0),
                        strbuf_str(out) + (said.len > 0 ? from : 0));
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_done(void *arg, uint32_t failed)
{
    run_exit(arg, failed > 0 ? 1 : 0);
}

static void begin(struct state *p)
{
    const struct devicedaemon_opts o = { .host_root = p->o.host_root,
                                         .output = p->o.output,
                                         .interval = p->o.oneshot ? 0 : p->o.interval,
                                         .tool = run_tool,
                                         .tool_arg = p,
                                         .done = on_done,
                                         .done_arg = p->run };
    p->daemon = devicedaemon_free(p->daemon);
    p->daemon = devicedaemon_new(p->run->loop, &o);
}

static void on_hangup(struct loop *l, int signum, void *arg)
{
    struct state *p = arg;
    struct kerr err = { 0 };

    (void)l, (void)signum;
    if (read_settings(p, &err) < 0) {
        KLOG_E(&err, "The settings stay as they were");
        return;
    }
    KLOG_I(0, "Settings were read again");
    begin(p);
}

static void on_quit(struct loop *l, int signum, void *arg)
{
    (void)l, (void)signum;
    run_exit(arg, 0);
}

static int start(struct run *r, struct kerr *err)
{
    struct state *p = r->self = xnew0(struct state);

    p->run = r;
    if (read_environment(p, err) < 0 || read_settings(p, err) < 0 ||
        loop_on_signal(r->loop, SIGHUP, on_hangup, p, err) < 0 ||
        loop_on_signal(r->loop, SIGQUIT, on_quit, r, err) < 0)
        return err->code;
    begin(p);
    return 0;
}

static void stop(struct run *r)
{
    const struct state *p = r->self;
    run_exit(r, p->daemon && devicedaemon_failed(p->daemon) > 0 ? 1 : 0);
}

static void fini(struct run *r)
{
    struct state *p = r->self;

    if (!p)
        return;
    devicedaemon_free(p->daemon);
    free(p->output);
    free(p);
}

int main(int argc, char **argv)
{
    static const struct program program = {
        .name = "koord-device-daemon",
        .brief = "reports the accelerators of a node",
        .about = "Asks the tools of accelerator vendors (npu-smi, cnmon, xpu_smi, mx-smi) for "
                 "their cards\n"
                 "and writes what they say to a file that koordlet reports as a Device.\n"
                 "SIGHUP reads the settings again.\n",
        .add_flags = add_flags,
        .start = start,
        .stop = stop,
        .fini = fini,
    };
    struct options o = { 0 };

    if (argc > 3 && streq(argv[1], IN_ROOT))
        return become_tool(argv + 2);
    return run_main(&program, &o, argc, argv);
}
