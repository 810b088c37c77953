/* pemfiles.h - certificates and keys in files that others renew: the reloader of every TLS client
 * and server.
 *
 * The files are read at once, and again whenever one of them was replaced or rewritten; who uses
 * them is handed all of them together. A version that cannot be used is reported in the log, and
 * the old one stays in use. Loop thread only.
 */
#ifndef KOORD_NET_PEMFILES_H
#define KOORD_NET_PEMFILES_H
#include "base/base.h"

struct loop;
struct pemfiles;

enum pem_file { PEM_CERT, PEM_KEY, PEM_CA, PEM_OTHER_CA, PEM_FILES };
struct pemfiles_opts {
    const char *files[PEM_FILES]; /* NULL or empty: there is none */
    const char *what;             /* "serving certificate": for messages */
    bool known; /* the caller has read them already: use() is called after changes only */
    /* Makes something of them; empty where there is no file. From pemfiles_new(), and after each
     * change; what it made before stays in use when it fails. */
    int (*use)(void *arg, const struct str pem[PEM_FILES], struct kerr *err);
    void *arg;
};
/* Errors name the file. Without any file use() is called once, and that is all. */
int pemfiles_new(struct loop *l, const struct pemfiles_opts *o, struct pemfiles **ret,
                 struct kerr *err);
/* Not from inside use(). NULL is fine; always returns NULL. */
struct pemfiles *pemfiles_free(struct pemfiles *p);
DEFINE_CLEANUP(pemfiles_free, struct pemfiles *)
#endif
