/* session.c - secrets, and the checks of a request. */
#include "dash/session.h"

#include <stdio.h>

#include "sys/secret.h"

int session_init(struct session *s, struct kerr *err)
{
    *s = (struct session){ 0 };
    int r = secret_make(s->key, SESSION_SECRET, err);
    return r < 0 ? r : secret_make(s->cookie, SESSION_SECRET, err);
}

bool session_host_ok(const struct session *s, struct str host)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    char text[32];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(text, sizeof text, "%s:%u", names[i], s->port);
        if (str_eqz(host, text))
            return true;
    }
    return false;
}

bool session_origin_ok(const struct session *s, struct str origin)
{
    const struct str scheme = STR("http://");

    if (!origin.p)
        return true;
    return origin.n > scheme.n && memcmp(origin.p, scheme.p, scheme.n) == 0 &&
           session_host_ok(s, (struct str){ origin.p + scheme.n, origin.n - scheme.n });
}

static size_t cookie_name(const struct session *s, char buf[32])
{
    return (size_t)snprintf(buf, 32, "koord-dash-%u=", s->port);
}

bool session_cookie_ok(const struct session *s, struct str cookies)
{
    const char *at = cookies.p, *end = at ? at + cookies.n : NULL;
    char name[32];
    size_t n = cookie_name(s, name);

    while (at < end) {
        const char *semicolon = memchr(at, ';', (size_t)(end - at));
        const char *stop = semicolon ? semicolon : end;
        while (at < stop && *at == ' ')
            at++;
        if ((size_t)(stop - at) > n && memcmp(at, name, n) == 0)
            return secret_equal(s->cookie, SESSION_SECRET,
                                (struct str){ at + n, (size_t)(stop - at) - n });
        at = stop + 1;
    }
    return false;
}

bool session_redeem(struct session *s, const char *key, struct str cookies)
{
    if (!secret_equal(s->key, SESSION_SECRET, str_of(key)))
        return false;
    if (s->key_used)
        return session_cookie_ok(s, cookies);
    s->key_used = true;
    return true;
}

void session_set_cookie(const struct session *s, char buf[SESSION_COOKIE_MAX])
{
    char name[32];

    (void)cookie_name(s, name);
    (void)snprintf(buf, SESSION_COOKIE_MAX, "%s%s; Path=/; HttpOnly; SameSite=Strict", name,
                   s->cookie);
}
