/* fuzz_session.c - headers of a request to the dashboard: nobody gets in without the secrets. */
#include "base/strbuf.h"
#include "dash/session.h"

#define PORT 4711
#define NAME "koord-dash-4711="

/* The next line of the input. */
static struct str line(const char **at, const char *end)
{
    const char *start = *at, *stop = memchr(start, '\n', (size_t)(end - start));

    *at = stop ? stop + 1 : end;
    return (struct str){ start, (size_t)((stop ? stop : end) - start) };
}

static bool has(struct str text, const char *needle)
{
    return text.p && memmem(text.p, text.n, needle, strlen(needle));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const hosts[] = { "127.0.0.1:4711", "localhost:4711", "[::1]:4711" };
    CLEANUP(strbuf_fini) struct strbuf good = STRBUF_INIT;
    CLEANUP(mem_free) char *copy = xmemdup(size ? (const void *)data : "", size ? size : 1);
    const char *at = copy, *end = copy + size;
    struct session s = { .port = PORT };

    memset(s.key, 'a', SESSION_SECRET);
    memset(s.cookie, 'b', SESSION_SECRET);
    strbuf_appendf(&good, NAME "%s", s.cookie);
    struct str host = line(&at, end), origin = line(&at, end), cookies = line(&at, end);
    CLEANUP(mem_free) char *key = xstrndup(at, (size_t)(end - at));

    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        known = known || str_eqz(host, hosts[i]);
    assert(session_host_ok(&s, host) == known);
    if (session_origin_ok(&s, origin))
        assert(has(origin, "http://") && has(origin, ":4711"));
    bool let_in = session_cookie_ok(&s, cookies);
    if (let_in)
        assert(has(cookies, strbuf_str(&good)));
    bool first = session_redeem(&s, key, cookies);
    assert(first == streq(key, s.key));
    assert(session_redeem(&s, key, cookies) == (first && let_in));
    return 0;
}
