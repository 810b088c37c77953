/* serve.h - the HTTP endpoint of every component: health, metrics, version, debug, and its own.
 *
 * Paths as Kubernetes' components have them:
 *   /healthz /livez /readyz   all checks; ?verbose lists them, ?exclude=NAME leaves one out
 *   /healthz/NAME             one check, with the reason when it fails
 *   /metrics                  Prometheus text
 *   /metrics/slis             the same: what became of health checks
 *   /version                  JSON
 *   /debug/flags/NAME         PUT changes a setting at run time ("v": the log level); GET shows it
 * Requests that change something are taken from this machine only, unless told otherwise. One
 * server may listen on several addresses, plain and TLS. Loop thread only.
 */
#ifndef KOORD_COMPONENT_SERVE_H
#define KOORD_COMPONENT_SERVE_H
#include "net/httpd.h"

struct loop;
struct metrics;
struct serve;
struct strbuf;

struct serve_opts {
    const char *program;       /* "koord-scheduler" */
    struct metrics *metrics;   /* for /metrics; NULL: none; must outlive the server */
    bool allow_remote_changes; /* take state-changing requests from other machines too */
    struct httpd_opts http;
};
struct serve *serve_new(struct loop *l, const struct serve_opts *o);
struct serve *serve_free(struct serve *s); /* at once; NULL is fine; always returns NULL */
DEFINE_CLEANUP(serve_free, struct serve *)

/* "host:port", ":port", "[v6]:port" or "unix:/path". The error says what to do about a port that is
 * taken or not allowed. ret_port may be NULL. */
int serve_listen(struct serve *s, const char *addr, uint16_t *ret_port, struct kerr *err);
/* With TLS. The files are watched: a renewed certificate is used for new connections, a broken one
 * is reported and the old stays. client_ca may be NULL. All TLS listeners of a server share them.
 */
struct serve_tls {
    const char *cert_file, *key_file, *client_ca_file;
    struct str cert_pem, key_pem; /* instead of the files, when cert_file is NULL */
    bool ask_client; /* ask for a certificate and take any: the guard judges it; no client_ca */
};
int serve_listen_tls(struct serve *s, const char *addr, const struct serve_tls *tls,
                     uint16_t *ret_port, struct kerr *err);
/* Requests over TLS go through this first: it answers them itself, or calls admit, at once or
 * later. Before the first listener; see delegate.h. */
typedef void (*serve_guard_fn)(void *arg, struct httpd_req *r, httpd_fn admit, void *admit_arg);
void serve_set_guard(struct serve *s, serve_guard_fn fn, void *arg);
/* One connected stream, for tests. */
void serve_stream(struct serve *s, struct stream *st, const char *peer);

/* ---- health ---------------------------------------------------------------------------------- */

enum { SERVE_HEALTHZ = 1 << 0, SERVE_LIVEZ = 1 << 1, SERVE_READYZ = 1 << 2 };
/* 0: well; else a negative code and the reason. Quick: it runs for every probe. */
typedef int (*serve_check_fn)(void *arg, struct kerr *err);
/* On these endpoints, in the order of the calls; "ping" is there from the start. */
void serve_add_check(struct serve *s, unsigned where, const char *name, serve_check_fn fn,
                     void *arg);

/* ---- settings at run time -------------------------------------------------------------------- */

struct serve_flag { /* /debug/flags/<name> */
    const char *name;
    const char *what; /* "klog.logging.verbosity": in "successfully set <what> to <value>" */
    int (*set)(void *arg, const char *value, struct kerr *err);
    void (*get)(void *arg, struct strbuf *out); /* NULL: GET is not supported (406) */
};
void serve_add_flag(struct serve *s, const struct serve_flag *f, void *arg); /* f must live on */

/* ---- further paths --------------------------------------------------------------------------- */

/* A path that ends with "/" stands for all below it; the longest match wins. Names are copied. */
void serve_handle(struct serve *s, const char *path, httpd_fn fn, void *arg);
/* The path of a request without its query, unescaped, in the arena; NULL when it is malformed. */
struct arena;
const char *serve_path(const struct httpd_req *r, struct arena *a);
/* False, and the request is answered (405 with Allow), when the method is none of these; methods
 * like "GET, HEAD". */
bool serve_allow(struct httpd_req *r, const char *methods);
/* False, and answered with 403, when the request may not change anything: see the top. */
bool serve_may_change(struct serve *s, struct httpd_req *r);
/* A line of plain text, as Go's http.Error sends it (nosniff, trailing newline). */
void serve_text(struct httpd_req *r, int status, const char *fmt, ...) PRINTF(3, 4);

/* Prometheus' text as an answer. */
void serve_metrics(struct httpd_req *r, const char *text, size_t n);
/* The JSON of /version. */
void serve_version_json(struct strbuf *out);
#endif
