/* hookport.h - the HTTPS port of the webhooks.
 *
 * Serves with the certificate of a directory, and follows it when the files are replaced: new
 * connections get the new one, none is dropped. Every few seconds it asks itself, trusting the CA
 * of the same directory, with a new handshake after each change: that is its readiness. Loop thread
 * only.
 */
#ifndef KOORD_MANAGER_REGISTRATION_HOOKPORT_H
#define KOORD_MANAGER_REGISTRATION_HOOKPORT_H
#include "net/httpd.h"

struct hookport;

struct hookport_opts {
    const char *dir;     /* see certset.h */
    const char *address; /* to listen on; NULL or "": all of them */
    uint16_t port;       /* 0: any */
    struct httpd_opts http;
    httpd_fn serve;
    void *arg;
};
/* Listens. Errors name the file or the address. */
int hookport_new(struct loop *l, const struct hookport_opts *o, struct hookport **ret,
                 struct kerr *err);
/* At once. NULL is fine; always returns NULL. */
struct hookport *hookport_free(struct hookport *p);
DEFINE_CLEANUP(hookport_free, struct hookport *)
/* Answers are the last of their connections from now on (httpd_leave()). */
void hookport_leave(struct hookport *p);
/* No new connections; requests under way finish within grace. done may be NULL. */
void hookport_stop(struct hookport *p, nsec_t grace, void (*done)(void *arg), void *arg);
/* 0: it answered itself when it asked last. A readiness check. */
int hookport_check(void *hookport, struct kerr *err);
#endif
