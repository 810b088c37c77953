/* spawn.h - start other programs: the only place that makes a process.
 *
 * The child gets exactly three descriptors, default signal handling and an empty signal mask;
 * everything from 3 up is closed, and nothing is allocated between the clone and the exec
 * (posix_spawn). No shell is involved.
 *
 * spawn_start() hands descriptors to a caller with a loop: watch .out, .err and .pidfd.
 * spawn_run() does all of it with limits and blocks: call it on a worker (loop_work).
 */
#ifndef KOORD_SYS_SPAWN_H
#define KOORD_SYS_SPAWN_H
#include "base/base.h"
#include "base/strbuf.h"

enum spawn_fd {
    SPAWN_NULL, /* /dev/null */
    SPAWN_PIPE,
    SPAWN_INHERIT /* the one of this process */
};

struct spawn_opts {
    const char *const *argv; /* ends with NULL; argv[0] without a slash is looked up in PATH */
    const char *const *envp; /* ends with NULL; NULL itself: this process's environment */
    const char *cwd;         /* NULL: stays where we are */
    enum spawn_fd in, out, err;
    bool same_group; /* stay in our process group (a person at a terminal); else it gets its own */
};

struct spawned {
    pid_t pid;
    int pidfd; /* readable once the child has ended; -1 on kernels before 5.3 */
    int in;    /* our ends of the pipes, non-blocking and close-on-exec; -1 without a pipe */
    int out, err;
    bool group;
};
#define SPAWNED_INIT                                           \
    {                                                          \
        .pid = -1, .pidfd = -1, .in = -1, .out = -1, .err = -1 \
    }

/* A program that cannot be executed is an error here (-ENOENT, -EACCES), not an exit status. */
int spawn_start(const struct spawn_opts *opts, struct spawned *ret, struct kerr *err);
/* The child and, unless same_group, whatever it started. Harmless once it was reaped. */
void spawn_kill(const struct spawned *s, int signum);

struct spawn_exit {
    bool signalled;
    int code; /* the exit status, or the signal number */
};
/* Returns 1 when the child has ended (and is gone: pid is -1 from now on), 0 while it runs. */
int spawn_reap(struct spawned *s, bool block, struct spawn_exit *ret, struct kerr *err);
/* Closes what is open; a child that still runs is killed and reaped. */
void spawned_fini(struct spawned *s);
static inline UNUSED void spawned_fini_p(struct spawned *s)
{
    spawned_fini(s);
}

struct spawn_limits {
    size_t out_max;    /* more on stdout: killed, -EFBIG */
    size_t err_max;    /* more on stderr is read and thrown away */
    nsec_t time_limit; /* killed then, -ETIMEDOUT; 0: none */
};
/* Runs to the end. opts->in is SPAWN_PIPE when there is input, opts->out SPAWN_PIPE to fill
 * ret_out and so on. The buffers are appended to, on failure too: stderr often says why. A child
 * that does not read its input is no error; SIGPIPE must be ignored (crash_init). */
int spawn_run(const struct spawn_opts *opts, const struct spawn_limits *limits, struct str input,
              struct strbuf *ret_out, struct strbuf *ret_err, struct spawn_exit *ret,
              struct kerr *err);

#endif
