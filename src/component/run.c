/* run.c - the life of a program. */
#include "component/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "component/client_metrics.h"
#include "component/manpage.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "sys/crash.h"
#include "sys/file.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

void version_text(const char *program, struct strbuf *out)
{
    strbuf_appendf(out, "%s v%s\n", program, KOORD_VERSION);
}

/* The kubelet makes this file and shows what is in it as the container's last state. Outside of a
 * pod there is none. */
static void write_last_words(const char *program, const char *what, const char *why)
{
    const char *path = getenv("KOORD_TERMINATION_LOG");
    CLEANUP(fd_close)
    int fd = open(path ? path : "/dev/termination-log", O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0)
        (void)dprintf(fd, "%s: %s%s%s\n", program, what, *why ? ": " : "", why);
}

void run_last_words(const struct run *r, const char *what, const struct kerr *err)
{
    write_last_words(r->program ? r->program->name : "koord", what, err ? err->text : "");
}

/* "program: message" (and where help is, for usage errors) as one line on stderr; returns the exit
 * code. */
static int run_complain(const char *program, int exit_code, const char *message)
{
    write_last_words(program, message, "");
    if (exit_code == EXIT_USAGE)
        fprintf(stderr, "%s: %s; see %s --help\n", program, message, program);
    else
        fprintf(stderr, "%s: %s\n", program, message);
    return exit_code;
}

void run_exit(struct run *r, int code)
{
    if (r->exit_code == 0)
        r->exit_code = code;
    loop_stop(r->loop);
}

/* As a signal would. */
static void run_stop(struct run *r)
{
    if (r->stopping)
        return;
    r->stopping = true;
    if (r->program->stop)
        r->program->stop(r);
    else
        run_exit(r, 0);
}

static void on_signal(struct loop *l, int signum, void *arg)
{
    struct run *r = arg;

    (void)l;
    if (r->stopping) {
        KLOG_W("Second signal, exiting now", KV_S("signal", strsignal(signum)));
        _exit(EXIT_FAILED);
    }
    KLOG_I(0, "Stopping", KV_S("signal", strsignal(signum)));
    run_stop(r);
}

static int hook_signals(struct run *r, struct kerr *err)
{
    int e = loop_on_signal(r->loop, SIGTERM, on_signal, r, err);
    return e < 0 ? e : loop_on_signal(r->loop, SIGINT, on_signal, r, err);
}

static void print_usage(const struct run *r)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    flags_usage(r->flags, &out);
    printf("%s\nUsage:\n  %s [flags]\n\n%s", r->program->about, r->program->name, strbuf_str(&out));
}

/* The parts that people write by hand (files, signals, examples) follow in packaging/man. */
static void print_man(const struct run *r)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct program *p = r->program;

    man_head(p->name, MAN_DAEMON, str_or(p->brief, p->name), &out);
    strbuf_append(&out, ".SH SYNOPSIS\n.B ");
    man_text(p->name, &out);
    strbuf_append(&out, "\n[flags]\n.SH DESCRIPTION\n");
    man_text(p->about, &out);
    strbuf_append(&out, ".SH OPTIONS\n");
    man_flags(r->flags, &out);
    man_common_flags(&out);
    strbuf_append(&out, ".SH EXIT STATUS\n"
                        "0 after an orderly stop, 1 on failure, 2 on wrong usage.\n");
    fputs(strbuf_str(&out), stdout);
}

/* -1: go on; else the exit code. */
static int take_flags(struct run *r, int argc, char *const *argv)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct program *p = r->program;
    struct kerr err = { 0 };

    log_options_add(r->flags, &r->log);
    if (p->add_flags)
        p->add_flags(r->flags, r->options);
    int e = flags_parse(r->flags, argc - 1, argv + 1, 0, &err);
    if (e == FLAGS_HELP) {
        print_usage(r);
        return 0;
    }
    if (e == FLAGS_MAN) {
        print_man(r);
        return 0;
    }
    if (e == FLAGS_VERSION) {
        version_text(p->name, &out);
        fputs(strbuf_str(&out), stdout);
        return 0;
    }
    if (e == FLAGS_OK && flags_nargs(r->flags) > 0)
        e = kerr_set(&err, -EINVAL, "unknown argument '%.80s'", flags_arg(r->flags, 0));
    if (e == FLAGS_OK && p->check)
        e = p->check(r, &err);
    return e < 0 ? run_complain(p->name, EXIT_USAGE, err.text) : -1;
}

static void run_loop(struct run *r)
{
    struct kerr err = { 0 };
    const char *warning;

    klog_set_clock(loop_wall_hook, r->loop);
    log_options_apply(&r->log);
    for (size_t i = 0; (warning = flags_warning(r->flags, i)); i++)
        KLOG_W("Command line", KV_S("warning", warning));
    for (size_t i = 0; (warning = flags_later(r->flags, i)); i++)
        KLOG_W("Flag is accepted and has no effect yet", KV_S("flag", warning));
    KLOG_I(0, "Starting", KV_S("program", r->program->name), KV_S("version", "v" KOORD_VERSION));
    int e = hook_signals(r, &err);
    if (e == 0)
        e = r->program->start(r, &err);
    if (e < 0)
        r->exit_code = run_complain(r->program->name, EXIT_FAILED, err.text);
    else
        loop_run(r->loop);
    /* From here on the process may have a thread that logs and outlives the loop: the last words of
     * process_end_within(). */
    klog_set_clock(NULL, NULL);
    if (r->program->fini)
        r->program->fini(r);
    KLOG_I(0, "Ended", KV_I("code", r->exit_code));
}

int run_main(const struct program *p, void *options, int argc, char *const *argv)
{
    struct run r = { .program = p, .options = options, .env = client_env_read() };

    crash_init(p->name);
    r.flags = flags_new();
    int code = take_flags(&r, argc, argv);
    if (code < 0) {
        r.loop = loop_new();
        r.strings = intern_new();
        r.metrics = metrics_new();
        metrics_add_process(r.metrics, NULL);
        r.client_metrics = client_metrics_new(r.metrics);
        run_loop(&r);
        client_metrics_free(r.client_metrics);
        metrics_free(r.metrics);
        loop_free(r.loop);
        intern_free(r.strings);
        code = r.exit_code;
    }
    flags_free(r.flags);
    return code;
}
