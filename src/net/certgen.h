/* certgen.h - a self-signed certificate for a server that nobody gave one: its own trust anchor. */
#ifndef KOORD_NET_CERTGEN_H
#define KOORD_NET_CERTGEN_H
#include "base/base.h"
#include "base/strbuf.h"

struct certgen_opts {
    const char *common_name;
    const char *const *hosts; /* names and IP addresses, NULL-terminated */
    nsec_t now;               /* wall time: valid from an hour before */
    unsigned days;
};
/* Appends PEM texts: the certificate (P-256) and its key. */
int certgen_self_signed(const struct certgen_opts *o, struct strbuf *cert_pem,
                        struct strbuf *key_pem, struct kerr *err);
/* When the first certificate of the text runs out, as wall time; 0 when it cannot be read. */
nsec_t certgen_expires(const char *cert_pem, size_t n);
#endif
