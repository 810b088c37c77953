/* spawn.c - start other programs, and run them with limits. */
#include "sys/spawn.h"

#include "sys/file.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- starting -------------------------------------------------------------------------------- */

/* Both ends above the standard descriptors: this process may run with those closed, and the child's
 * dup2 onto 0, 1, 2 must not hit an end that is still needed. */
static int pipe_above(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        if (ends[i] > 2)
            continue;
        int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, 3), e = errno;
        fd_close(ends[i]);
        ends[i] = moved;
        if (moved < 0) {
            fd_close(ends[1 - i]);
            return -e;
        }
    }
    return 0;
}

struct pipes {
    int ours[3], theirs[3];
};

static void pipes_fini_p(struct pipes *p)
{
    for (int i = 0; i < 3; i++) {
        fd_close(p->ours[i]);
        fd_close(p->theirs[i]);
    }
}

/* The pipes, and what the child does with its descriptors 0, 1 and 2. */
static int descriptors_plan(const enum spawn_fd how[3], struct pipes *p,
                            posix_spawn_file_actions_t *fa)
{
    for (int i = 0; i < 3; i++) {
        int ends[2], r;
        if (how[i] == SPAWN_INHERIT)
            continue;
        if (how[i] == SPAWN_NULL) {
            r = posix_spawn_file_actions_addopen(fa, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
            if (r)
                return -r;
            continue;
        }
        r = pipe_above(ends);
        if (r < 0)
            return r;
        p->theirs[i] = i ? ends[1] : ends[0];
        p->ours[i] = i ? ends[0] : ends[1];
        if (fcntl(p->ours[i], F_SETFL, O_NONBLOCK | (i ? O_RDONLY : O_WRONLY)) < 0)
            return -errno;
        r = posix_spawn_file_actions_adddup2(fa, p->theirs[i], i);
        if (r)
            return -r;
    }
    return -posix_spawn_file_actions_addclosefrom_np(fa, 3);
}

/* An ignored SIGPIPE and a blocked SIGTERM would be inherited; the child starts like from a shell.
 */
static int signals_plan(posix_spawnattr_t *at, bool same_group)
{
    sigset_t all, none;
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;

    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(at, &all);
    posix_spawnattr_setsigmask(at, &none);
    if (!same_group) {
        posix_spawnattr_setpgroup(at, 0);
        flags |= POSIX_SPAWN_SETPGROUP;
    }
    return -posix_spawnattr_setflags(at, flags);
}

int spawn_start(const struct spawn_opts *opts, struct spawned *ret, struct kerr *err)
{
    const enum spawn_fd how[3] = { opts->in, opts->out, opts->err };
    CLEANUP(pipes_fini) struct pipes p = { { -1, -1, -1 }, { -1, -1, -1 } };
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    pid_t pid = -1;

    assert(opts->argv && opts->argv[0]);
    /* posix_spawn takes char *const[] but does not write there. */
    char *const *argv = (char *const *)opts->argv;
    char *const *envp = opts->envp ? (char *const *)opts->envp : environ;
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&at);
    int r = descriptors_plan(how, &p, &fa);
    if (r == 0)
        r = signals_plan(&at, opts->same_group);
    if (r == 0 && opts->cwd)
        r = -posix_spawn_file_actions_addchdir_np(&fa, opts->cwd);
    if (r == 0)
        r = -posix_spawnp(&pid, argv[0], &fa, &at, argv, envp);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    if (r < 0)
        return kerr_set(err, r, "start %s: %s", argv[0], strerror(-r));

    *ret = (struct spawned){
        .pid = pid,
        /* Not racy: the child's number stays taken until we reap it. */
        .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
        .in = fd_take(&p.ours[0]),
        .out = fd_take(&p.ours[1]),
        .err = fd_take(&p.ours[2]),
        .group = !opts->same_group,
    };
    return 0;
}

/* ---- ending ---------------------------------------------------------------------------------- */

void spawn_kill(const struct spawned *s, int signum)
{
    if (s->pid > 0)
        kill(s->group ? -s->pid : s->pid, signum);
}

int spawn_reap(struct spawned *s, bool block, struct spawn_exit *ret, struct kerr *err)
{
    int status;

    assert(s->pid > 0);
    pid_t got = RETRY_EINTR(waitpid(s->pid, &status, block ? 0 : WNOHANG));
    if (got < 0)
        return kerr_set(err, -errno, "wait for process %d: %s", (int)s->pid, strerror(errno));
    if (got == 0)
        return 0;
    s->pid = -1;
    *ret = WIFSIGNALED(status) ? (struct spawn_exit){ true, WTERMSIG(status) }
                               : (struct spawn_exit){ false, WEXITSTATUS(status) };
    return 1;
}

void spawned_fini(struct spawned *s)
{
    struct spawn_exit ignored;

    if (s->pid > 0) {
        spawn_kill(s, SIGKILL);
        (void)spawn_reap(s, true, &ignored, NULL);
    }
    s->pidfd = fd_close(s->pidfd);
    s->in = fd_close(s->in);
    s->out = fd_close(s->out);
    s->err = fd_close(s->err);
}

/* ---- running with limits --------------------------------------------------------------------- */

struct run {
    struct spawned child;
    int timer; /* a timerfd: no clock needs to be read, and poll() waits for it like for the rest */
    struct str input;
    struct strbuf *out, *err;
    size_t out_left, err_left;
};

static void run_fini_p(struct run *r)
{
    spawned_fini(&r->child);
    fd_close(r->timer);
}

static void feed(struct run *r)
{
    ssize_t n = r->input.n ? RETRY_EINTR(write(r->child.in, r->input.p, r->input.n)) : 0;

    if (n < 0 && errno == EAGAIN)
        return;
    if (n > 0) {
        r->input.p += n;
        r->input.n -= (size_t)n;
    }
    /* All written, or the child does not want it (EPIPE). */
    if (n < 0 || r->input.n == 0)
        r->child.in = fd_close(r->child.in);
}

/* Appends at most *left bytes, drops the rest. Returns how many came, which may be more. */
static size_t drain(int *fd, struct strbuf *to, size_t *left)
{
    char chunk[4096];
    ssize_t n = RETRY_EINTR(read(*fd, chunk, sizeof chunk));

    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n <= 0) {
        *fd = fd_close(*fd);
        return 0;
    }
    size_t keep = MIN((size_t)n, *left);
    strbuf_appendn(to, chunk, keep);
    *left -= keep;
    return (size_t)n;
}

static int timer_start(nsec_t limit)
{
    struct itimerspec its = { .it_value = { limit / NSEC_PER_SEC, limit % NSEC_PER_SEC } };
    CLEANUP(fd_close) int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

    if (fd < 0 || timerfd_settime(fd, 0, &its, NULL) < 0)
        return -errno;
    return fd_take(&fd);
}

/* Until the child has ended and both its outputs are read to the end. A grandchild that keeps a
 * pipe open is waited for too, as a shell would: its output belongs to the program. */
static int run_loop(struct run *r, const struct spawn_limits *limits, struct spawn_exit *ret,
                    struct kerr *err)
{
    struct spawned *c = &r->child;

    while (c->pid > 0 || c->out >= 0 || c->err >= 0) {
        struct pollfd p[] = {
            { c->in, POLLOUT, 0 },   { c->out, POLLIN, 0 },
            { c->err, POLLIN, 0 },   { c->pid > 0 ? c->pidfd : -1, POLLIN, 0 },
            { r->timer, POLLIN, 0 },
        };
        /* Without a pidfd the end of the child is looked for now and then. */
        if (poll(p, ARRAY_LEN(p), c->pidfd < 0 && c->pid > 0 ? 10 : -1) < 0 && errno != EINTR)
            return kerr_set(err, -errno, "poll: %s", strerror(errno));
        if (p[4].revents)
            return kerr_set(err, -ETIMEDOUT, "still running after %lld ms",
                            (long long)(limits->time_limit / NSEC_PER_MSEC));
        if (p[0].revents)
            feed(r);
        const size_t left = r->out_left;
        if (p[1].revents && drain(&c->out, r->out, &r->out_left) > left)
            return kerr_set(err, -EFBIG, "more than %zu bytes of output", limits->out_max);
        if (p[2].revents)
            drain(&c->err, r->err, &r->err_left);
        if (c->pid > 0 && (c->pidfd < 0 || p[3].revents)) {
            int e = spawn_reap(c, false, ret, err);
            if (e < 0)
                return e;
        }
    }
    return 0;
}

int spawn_run(const struct spawn_opts *opts, const struct spawn_limits *limits, struct str input,
              struct strbuf *ret_out, struct strbuf *ret_err, struct spawn_exit *ret,
              struct kerr *err)
{
    CLEANUP(run_fini)
    struct run r = {
        .child = SPAWNED_INIT,
        .timer = -1,
        .input = input,
        .out = ret_out,
        .err = ret_err,
        .out_left = limits->out_max,
        .err_left = limits->err_max,
    };

    assert((opts->out != SPAWN_PIPE || ret_out) && (opts->err != SPAWN_PIPE || ret_err));
    if (limits->time_limit > 0) {
        r.timer = timer_start(limits->time_limit);
        if (r.timer < 0)
            return kerr_set(err, r.timer, "make a timer: %s", strerror(-r.timer));
    }
    int e = spawn_start(opts, &r.child, err);
    if (e < 0)
        return e;
    if (input.n == 0)
        r.child.in = fd_close(r.child.in);
    e = run_loop(&r, limits, ret, err);
    if (e < 0 && err)
        kerr_wrap(err, "run %s", opts->argv[0]);
    return e;
}
