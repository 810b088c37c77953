/* crash.c - the only signal handler of ours: async-signal-safe calls, then the signal again. */
#include "sys/crash.h"

#include <signal.h>
#include <unistd.h>
#include <unwind.h>

/* Where the program lies in memory; both names are the linker's. */
extern const char __executable_start[], etext[];

static const char *crash_program = "?"; /* a handler has no other way to get at it */

/* One line, built without malloc or stdio; what does not fit is cut. */
struct line {
    size_t n;
    char text[2048];
};

static void line_text(struct line *l, const char *s)
{
    while (*s && l->n < sizeof l->text - 1)
        l->text[l->n++] = *s++;
}

static void line_number(struct line *l, uintptr_t v, unsigned radix)
{
    char digits[32];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do
        digits[--at] = "0123456789abcdef"[v % radix];
    while ((v /= radix) > 0);
    line_text(l, digits + at);
}

static void line_address(struct line *l, uintptr_t a)
{
    const uintptr_t start = (uintptr_t)__executable_start;
    const bool inside = a >= start && a < (uintptr_t)etext;

    line_text(l, inside ? "+0x" : "0x");
    line_number(l, inside ? a - start : a, 16);
}

/* ---- backtraces ------------------------------------------------------------------------------ */

/* By the unwinder that is linked into the program: glibc's backtrace() loads libgcc_s.so at run
 * time, which a container image does not have. */
struct walk {
    uintptr_t frames[48];
    size_t n;
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *arg)
{
    struct walk *w = arg;
    const uintptr_t ip = _Unwind_GetIP(c);

    if (!ip || w->n == ARRAY_LEN(w->frames))
        return _URC_END_OF_STACK;
    w->frames[w->n++] = ip;
    return _URC_NO_REASON;
}

/* ---- the handler ----------------------------------------------------------------------------- */

static const char *signal_name(int signum)
{
    switch (signum) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGFPE: return "SIGFPE";
    case SIGSYS: return "SIGSYS";
    case SIGABRT: return "SIGABRT";
    default: return "a signal";
    }
}

static void on_crash(int signum, siginfo_t *info, void *context)
{
    struct walk w = { 0 };
    struct line l = { 0 };
    const int saved = errno;

    (void)context;
    line_text(&l, "fatal: ");
    line_text(&l, crash_program);
    line_text(&l, "[");
    line_number(&l, (uintptr_t)getpid(), 10);
    line_text(&l, "]: ");
    line_text(&l, signal_name(signum));
    if (info->si_code > 0 && signum != SIGABRT) { /* from the kernel: the address means something */
        line_text(&l, " at ");
        line_address(&l, (uintptr_t)info->si_addr);
    }
    line_text(&l, ", backtrace:");
    _Unwind_Backtrace(on_frame, &w);
    for (size_t i = 0; i < w.n; i++) {
        line_text(&l, " ");
        line_address(&l, w.frames[i]);
    }
    l.text[l.n++] = '\n';
    if (write(STDERR_FILENO, l.text, l.n) < 0) {
        /* Nobody is left to tell. */
    }
    errno = saved;
    /* SA_RESETHAND has put the default back; the signal is blocked until we return, and is then
     * delivered with the stack of the fault in the core. */
    raise(signum);
}

/* A handler that is there already stays: AddressSanitizer's reports on faults say more than ours.
 */
static void handle(int signum)
{
    struct sigaction sa = { .sa_sigaction = on_crash,
                            .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND };
    struct sigaction old;

    if (sigaction(signum, NULL, &old) == 0 &&
        (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN))
        sigaction(signum, &sa, NULL);
}

void crash_init(const char *program)
{
    static char stack[64 * 1024]; /* a stack overflow leaves no room on the stack itself */
    const stack_t alt = { .ss_sp = stack, .ss_size = sizeof stack };
    const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGABRT };
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    stack_t old;

    crash_program = program;
    if (sigaltstack(NULL, &old) == 0 && old.ss_flags & SS_DISABLE)
        sigaltstack(&alt, NULL);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        handle(signals[i]);
    sigaction(SIGPIPE, &ignore, NULL);
}
