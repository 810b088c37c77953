/* listener.c - accepting TCP and unix connections.
 *
 * Sockets are made by hand and given to libuv afterwards: so a unix socket is born with mode 0600
 * (never open for a moment, and without touching the process's umask), abstract names work, and
 * options that Linux lets accepted sockets inherit are set once.
 */
#include "base/klog.h"
#include "loop/loop.h"
#include "net/stream.h"
#include "net/stream_uv.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

enum { LISTEN_BACKLOG = 1024, PEER_TEXT = INET6_ADDRSTRLEN + 16 };

union sock_addr {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

struct listener {
    struct loop *loop;
    accept_fn fn;
    void *arg;
    uint16_t port;
    char *path; /* of a unix socket in the file system: removed at the end if it is still ours */
    dev_t dev;
    ino_t ino;
    bool is_unix, closed;
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
};

static int fd_fail(int fd, struct kerr *err, const char *what)
{
    int code = -errno;

    close(fd);
    return kerr_set(err, code, "%s: %s", what, strerror(-code));
}

/* ---- addresses ------------------------------------------------------------------------------- */

static int parse_port(const char *s, uint16_t *ret)
{
    unsigned v = 0;

    if (!*s)
        return -EINVAL;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || (v = v * 10 + (unsigned)(*s - '0')) > UINT16_MAX)
            return -EINVAL;
    }
    *ret = (uint16_t)v;
    return 0;
}

static int parse_tcp(const char *addr, union sock_addr *ret, socklen_t *ret_len, struct kerr *err)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(addr, ':');
    size_t n = colon ? (size_t)(colon - addr) : 0;
    bool v6 = n >= 2 && addr[0] == '[' && addr[n - 1] == ']';
    uint16_t port;

    if (!colon || n >= sizeof host || parse_port(colon + 1, &port) < 0)
        return kerr_set(err, -EINVAL, "bad listen address '%s': want host:port", addr);
    memcpy(host, addr + v6, n - 2 * (size_t)v6);
    host[n - 2 * (size_t)v6] = '\0';
    *ret = (union sock_addr){ 0 };
    if (v6 || n == 0) { /* ":8080" listens on everything, IPv4 too */
        ret->in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
        *ret_len = sizeof ret->in6;
        if (n == 0 || inet_pton(AF_INET6, host, &ret->in6.sin6_addr) == 1)
            return 0;
    } else {
        ret->in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
        *ret_len = sizeof ret->in;
        if (inet_pton(AF_INET, streq(host, "localhost") ? "127.0.0.1" : host, &ret->in.sin_addr) ==
            1)
            return 0;
    }
    return kerr_set(err, -EINVAL, "bad listen address '%s': '%s' is no IP address", addr, host);
}

static int parse_unix(const char *path, union sock_addr *ret, socklen_t *ret_len, struct kerr *err)
{
    size_t n = strlen(path);

    *ret = (union sock_addr){ .un = { .sun_family = AF_UNIX } };
    if (n == 0 || n >= sizeof ret->un.sun_path)
        return kerr_set(err, -EINVAL, "bad unix socket path '%s': 1 to %zu bytes", path,
                        sizeof ret->un.sun_path - 1);
    memcpy(ret->un.sun_path, path, n);
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
    if (path[0] == '@') { /* abstract: the length ends the name, no NUL */
        ret->un.sun_path[0] = '\0';
        --*ret_len;
    }
    return 0;
}

static void peer_text(uv_stream_t *h, bool is_unix, char out[PEER_TEXT])
{
    union sock_addr a;
    int len = sizeof a;
    char ip[INET6_ADDRSTRLEN] = "";

    if (is_unix || uv_tcp_getpeername((const uv_tcp_t *)h, &a.sa, &len) < 0) {
        snprintf(out, PEER_TEXT, "%s", is_unix ? "unix" : "unknown");
    } else if (a.sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a.in.sin_addr, ip, sizeof ip);
        snprintf(out, PEER_TEXT, "%s:%u", ip, ntohs(a.in.sin_port));
    } else if (IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr)) {
        inet_ntop(AF_INET, &a.in6.sin6_addr.s6_addr[12], ip, sizeof ip);
        snprintf(out, PEER_TEXT, "%s:%u", ip, ntohs(a.in6.sin6_port));
    } else {
        inet_ntop(AF_INET6, &a.in6.sin6_addr, ip, sizeof ip);
        snprintf(out, PEER_TEXT, "[%s]:%u", ip, ntohs(a.in6.sin6_port));
    }
}

/* ---- sockets --------------------------------------------------------------------------------- */

static int tcp_bind(const union sock_addr *a, socklen_t len, bool dual, int *ret, struct kerr *err)
{
    static const int on = 1, off = 0, idle = 30, interval = 15, probes = 4;
    int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return kerr_set(err, -errno, "socket: %s", strerror(errno));
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        return fd_fail(fd, err, "SO_REUSEADDR");
    if (a->sa.sa_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, dual ? &off : &on, sizeof on) < 0)
        return fd_fail(fd, err, "IPV6_V6ONLY");
    /* Inherited by accepted sockets: a client whose machine died is noticed in a minute and a half,
     * also under a watch that has nothing to say. Without it we only notice later. */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    if (bind(fd, &a->sa, len) < 0)
        return fd_fail(fd, err, "bind");
    *ret = fd;
    return 0;
}

static int tcp_socket(const char *addr, int *ret, struct kerr *err)
{
    union sock_addr a;
    socklen_t len = 0;
    int r = parse_tcp(addr, &a, &len, err);

    if (r < 0)
        return r;
    r = tcp_bind(&a, len, addr[0] == ':', ret, err);
    if (r == -EAFNOSUPPORT && addr[0] == ':') { /* a kernel without IPv6 */
        a.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = a.in6.sin6_port };
        r = tcp_bind(&a, sizeof a.in, false, ret, err);
    }
    return r;
}

/* The file of a dead server is in the way of the next one. Only a refused connection proves that
 * nobody listens; anything else (a live server, a full backlog, no permission) leaves it alone. */
static bool remove_stale(const union sock_addr *a, socklen_t len)
{
    struct stat st;
    int fd;

    if (lstat(a->un.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool refused = connect(fd, &a->sa, len) < 0 && errno == ECONNREFUSED;
    close(fd);
    return refused && unlink(a->un.sun_path) == 0;
}

static int unix_socket(const char *path, int *ret, struct kerr *err)
{
    union sock_addr a;
    socklen_t len = 0;
    int r = parse_unix(path, &a, &len, err);

    if (r < 0)
        return r;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return kerr_set(err, -errno, "socket: %s", strerror(errno));
    if (path[0] != '@' && fchmod(fd, 0600) < 0) /* bind() gives this mode to the file */
        return fd_fail(fd, err, "fchmod");
    r = bind(fd, &a.sa, len) < 0 ? -errno : 0;
    if (r == -EADDRINUSE && path[0] != '@' && remove_stale(&a, len))
        r = bind(fd, &a.sa, len) < 0 ? -errno : 0;
    if (r < 0) {
        close(fd);
        return kerr_set(err, r, "bind: %s", strerror(-r));
    }
    *ret = fd;
    return 0;
}

static uint16_t bound_port(int fd)
{
    union sock_addr a;
    socklen_t len = sizeof a;

    if (getsockname(fd, &a.sa, &len) < 0)
        return 0;
    return ntohs(a.sa.sa_family == AF_INET6 ? a.in6.sin6_port : a.in.sin_port);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void on_connection(uv_stream_t *server, int status)
{
    struct listener *ls = server->data;
    char peer[PEER_TEXT];

    if (ls->closed)
        return;
    if (status < 0) { /* out of descriptors, mostly; libuv goes on listening */
        struct kerr err = { 0 };

        kerr_set(&err, status, "%s", uv_strerror(status));
        KLOG_E(&err, "Failed to accept a connection");
        return;
    }
    uv_stream_t *h = xmalloc(ls->is_unix ? sizeof(uv_pipe_t) : sizeof(uv_tcp_t));
    if (ls->is_unix)
        uv_pipe_init(loop_uv(ls->loop), (uv_pipe_t *)h, 0);
    else
        uv_tcp_init(loop_uv(ls->loop), (uv_tcp_t *)h);
    if (uv_accept(server, h) < 0) {
        stream_uv_discard(h);
        return;
    }
    peer_text(h, ls->is_unix, peer);
    ls->fn(ls->arg, stream_uv_wrap(ls->loop, h), peer);
}

static void on_closed(uv_handle_t *h)
{
    struct listener *ls = h->data;

    free(ls->path);
    free(ls);
}

int listener_open(struct loop *l, const char *addr, accept_fn fn, void *arg, struct listener **ret,
                  struct kerr *err)
{
    const char *path = str_starts(addr, "unix:") ? addr + strlen("unix:") : NULL;
    uv_loop_t *uv = loop_uv(l);
    struct stat st;
    int fd = -1, r;

    if (!uv)
        return kerr_set(err, -ENOTSUP, "listen on %s: the virtual loop has no sockets", addr);
    if (path && str_starts(path, "///")) /* unix:///run/x.sock */
        path += 2;
    r = path ? unix_socket(path, &fd, err) : tcp_socket(addr, &fd, err);
    if (r < 0)
        return kerr_wrap(err, "listen on %s", addr);

    struct listener *ls = xnew0(struct listener);
    *ls = (struct listener){ .loop = l, .fn = fn, .arg = arg, .is_unix = path != NULL };
    if (path) {
        if (path[0] != '@' && lstat(path, &st) == 0) {
            ls->path = xstrdup(path);
            ls->dev = st.st_dev;
            ls->ino = st.st_ino;
        }
        uv_pipe_init(uv, &ls->pipe, 0);
        r = uv_pipe_open(&ls->pipe, fd);
    } else {
        ls->port = bound_port(fd);
        uv_tcp_init(uv, &ls->tcp);
        r = uv_tcp_open(&ls->tcp, fd);
    }
    ls->stream.data = ls;
    if (r < 0)
        close(fd);
    else
        r = uv_listen(&ls->stream, LISTEN_BACKLOG, on_connection);
    if (r < 0) {
        listener_close(ls);
        return kerr_set(err, r, "listen on %s: %s", addr, uv_strerror(r));
    }
    *ret = ls;
    return 0;
}

int listener_adopt(struct loop *l, int fd, accept_fn fn, void *arg, struct listener **ret,
                   struct kerr *err)
{
    struct listener *ls = xnew0(struct listener);
    union sock_addr a;
    socklen_t len = sizeof a;

    *ls = (struct listener){ .loop = l, .fn = fn, .arg = arg, .is_unix = true };
    int r = getsockname(fd, &a.sa, &len) < 0 ? -errno : a.sa.sa_family == AF_UNIX ? 0 : -ENOTSOCK;
    if (r < 0) {
        free(ls);
        return kerr_set(err, r, "descriptor %d is no unix socket", fd);
    }
    uv_pipe_init(loop_uv(l), &ls->pipe, 0);
    ls->stream.data = ls;
    r = uv_pipe_open(&ls->pipe, fd);
    if (r == 0)
        r = uv_listen(&ls->stream, LISTEN_BACKLOG, on_connection);
    if (r < 0) {
        listener_close(ls);
        return kerr_set(err, r, "listen on descriptor %d: %s", fd, uv_strerror(r));
    }
    *ret = ls;
    return 0;
}

uint16_t listener_port(const struct listener *ls)
{
    return ls->port;
}

struct listener *listener_close(struct listener *ls)
{
    struct stat st;

    if (!ls)
        return NULL;
    ls->closed = true;
    /* A successor may have bound the same path already: remove only the file we made. */
    if (ls->path && lstat(ls->path, &st) == 0 && st.st_dev == ls->dev && st.st_ino == ls->ino)
        (void)unlink(ls->path);
    uv_close((uv_handle_t *)&ls->stream, on_closed);
    return NULL;
}
