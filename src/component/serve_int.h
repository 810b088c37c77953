/* serve_int.h - the endpoint's body, for its files. */
#ifndef KOORD_COMPONENT_SERVE_INT_H
#define KOORD_COMPONENT_SERVE_INT_H
#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "component/serve.h"

struct pemfiles;

struct serve_route {
    char *path;
    httpd_fn fn;
    void *arg;
};
struct serve_check {
    char *name;
    unsigned where;
    serve_check_fn fn;
    void *arg;
};
struct serve_setting {
    const struct serve_flag *flag;
    void *arg;
};

struct serve {
    struct loop *loop;
    char *program;
    struct metrics *metrics;
    struct metrics *slis; /* of health checks */
    bool allow_remote_changes;
    serve_guard_fn guard; /* NULL: TLS is as open as plain HTTP */
    void *guard_arg;
    struct httpd *httpd;
    struct vec_of(struct serve_route *) routes;
    struct vec_of(struct serve_check) checks;
    struct vec_of(struct serve_setting) settings;
    struct tls_ctx *tls_ctx;
    struct pemfiles *tls_files;
    bool ask_client;
};

void serve_health_init(struct serve *s);
void serve_debug_init(struct serve *s);
/* text/plain with nosniff, the body as it is. */
void serve_plain(struct httpd_req *r, int status, const char *type, const void *body, size_t n);
/* The part of the path behind a prefix that matched. */
const char *serve_rest(const char *path, const char *prefix);
#endif
