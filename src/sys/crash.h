/* crash.h - what a program does about signals at its start: the one line before it dies.
 *
 * All signals that mean something to a program (SIGTERM, SIGHUP, ...) go through the loop.
 */
#ifndef KOORD_SYS_CRASH_H
#define KOORD_SYS_CRASH_H
#include "base/base.h"

/* Once in main, before threads. On SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS and SIGABRT one line
 * goes to stderr: program, process, signal, address and the backtrace; then the signal takes its
 * default course (core, exit status). Addresses inside the program read "+0x1234", as addr2line -e
 * wants them. A handler that is there already (a sanitizer's) stays. SIGPIPE is ignored from now
 * on. program is not copied. */
void crash_init(const char *program);

#endif
