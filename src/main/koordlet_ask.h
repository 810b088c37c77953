/* koordlet_ask.h - one question to the agent that runs on this machine, for --plan and --check. */
#ifndef KOORD_MAIN_KOORDLET_ASK_H
#define KOORD_MAIN_KOORDLET_ASK_H
#include "base/base.h"

struct loop;

/* Exactly once. err NULL: the body of the answer, NUL-terminated and good during the call. */
typedef void (*koordlet_answer_fn)(void *arg, const char *body, size_t n, const struct kerr *err);
/* Asks the agent at addr (":9316": of this machine). -EINVAL: addr has no port, and nothing is
 * asked. */
int koordlet_ask(struct loop *l, const char *addr, const char *path, nsec_t timeout,
                 koordlet_answer_fn fn, void *arg, struct kerr *err);
#endif
