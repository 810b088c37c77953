/* secure.h - the secure port of a program: HTTPS, and only for those whom the API server vouches
 * for.
 *
 * The flags are those of Kubernetes' components. Without a certificate file a self-signed one is
 * made. Who is let in is decided by delegate.h.
 */
#ifndef KOORD_COMPONENT_SECURE_H
#define KOORD_COMPONENT_SECURE_H
#include "component/auth/delegate.h"

struct run;
struct serve;

struct secure_options {
    const char *bind_address, *cert_file, *key_file;
    int port; /* 0: none */
    struct delegate_options delegate;
};
/* port: the default, "10259". */
void secure_options_add(struct flags *f, struct secure_options *o, const char *port);
/* Options that contradict each other. */
int secure_options_check(const struct secure_options *o, struct kerr *err);

/* Listens, if there is a port. The options must live on. *ret is to be freed after the server; it
 * stays NULL without a port. A lookup that must succeed and fails ends the program. */
int secure_listen(struct run *r, struct serve *s, const struct secure_options *o,
                  struct delegate **ret, struct kerr *err);

/* "host:port", with brackets around an IPv6 address; the caller frees it. */
char *address_text(const char *host, int port);
#endif
