/* certset.h - the certificates of the webhooks: a CA, a server certificate, their keys (manager
 * 10).
 *
 * One Secret holds them for all replicas; each replica has them in a directory too, without the
 * key of the CA. PEM texts; an empty one is missing. Pure but for the directory.
 */
#ifndef KOORD_MANAGER_REGISTRATION_CERTSET_H
#define KOORD_MANAGER_REGISTRATION_CERTSET_H
#include "base/base.h"
#include "base/strbuf.h"

struct kjw;
struct secret;

enum certset_part { CERTSET_CA_KEY, CERTSET_CA, CERTSET_KEY, CERTSET_CERT, CERTSET_PARTS };
struct certset {
    struct strbuf part[CERTSET_PARTS];
};
void certset_fini(struct certset *s); /* empty and usable again */
static inline UNUSED void certset_fini_p(struct certset *s)
{
    certset_fini(s);
}
void certset_copy(struct certset *to, const struct certset *from);    /* to is overwritten */
bool certset_equal(const struct certset *a, const struct certset *b); /* but for the CA's key */
struct str certset_get(const struct certset *s, enum certset_part part);

/* Can they be used for this host now, and for six more months? The error says why not. */
int certset_check(const struct certset *s, const char *host, nsec_t now, struct kerr *err);
/* New ones, by the CA of old when that is good for another year. Slow: for a worker. */
int certset_make(const struct certset *old, const char *host, nsec_t now, struct certset *ret,
                 struct kerr *err);

/* ---- the Secret ------------------------------------------------------------------------------ */

/* Of what the Secret holds; what is missing or no base64 is empty. */
void certset_of_secret(const struct secret *s, struct certset *ret);
/* The member "data". */
void certset_write_data(const struct certset *s, struct kjw *w);

/* ---- the directory --------------------------------------------------------------------------- */

#define CERTSET_CA_FILE   "ca-cert.pem"
#define CERTSET_CERT_FILE "tls.crt"
#define CERTSET_KEY_FILE  "tls.key"

/* Replaces the files all at once: they are links through ..data into a directory that is swapped.
 * Mode 0600; the CA's key is not among them. Older ones are removed. */
int certdir_write(const char *dir, const struct certset *s, nsec_t now, struct kerr *err);
/* What is there: empty parts where there is no file. */
void certdir_read(const char *dir, struct certset *ret);
#endif
