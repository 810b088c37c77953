/* run.h - what every main does: flags, log, signals, the loop, an orderly end.
 *
 *     int main(int argc, char **argv)
 *     {
 *         struct options o;
 *         return run_main(&program, &o, argc, argv);
 *     }
 *
 * Exit codes: 0 after an orderly stop, 1 for failures, 2 for usage errors. SIGTERM and SIGINT ask
 * the program to stop; a second one ends it at once. Nothing here is global but the log.
 */
#ifndef KOORD_COMPONENT_RUN_H
#define KOORD_COMPONENT_RUN_H
#include "base/base.h"
#include "component/options.h"

struct client_metrics;
struct flags;
struct intern;
struct loop;
struct metrics;

struct run { /* lives in run_main(); borrowed by the program */
    const struct program *program;
    void *options, *self; /* self: whatever start() wants to find again */
    struct loop *loop;
    struct flags *flags;
    struct intern *strings;                /* the process's string table */
    struct metrics *metrics;               /* with the process metrics in it */
    struct client_metrics *client_metrics; /* in that registry; for every client of the program */
    struct client_env env;
    struct log_options log;
    int exit_code;
    bool stopping;
};

struct program {
    const char *name;  /* "koord-scheduler" */
    const char *brief; /* "places pods": a few words for the manual page's first line */
    const char *about; /* what it is, for --help; ends with a newline */
    void (*add_flags)(struct flags *f, void *options);
    /* Options that contradict each other: a usage error, exit code 2. May be NULL. */
    int (*check)(struct run *r, struct kerr *err);
    /* Builds everything and returns; the loop runs afterwards. A failure ends the program with the
     * message and exit code 1. */
    int (*start)(struct run *r, struct kerr *err);
    /* Asked to stop, once: begin, and call run_exit() when done. NULL: it exits at once. */
    void (*stop)(struct run *r);
    /* After the loop has ended, also when start() failed half-way. May be NULL. */
    void (*fini)(struct run *r);
};

int run_main(const struct program *p, void *options, int argc, char *const *argv);
/* Ends the loop; the first code other than 0 counts. */
void run_exit(struct run *r, int code);
/* Why the program is about to end, for the status of its pod: one line in the container's
 * termination log, where there is one. err may be NULL. What stops a start is written there anyway.
 */
void run_last_words(const struct run *r, const char *what, const struct kerr *err);

/* "koordctl v0.1.0" */
void version_text(const char *program, struct strbuf *out);
#endif
