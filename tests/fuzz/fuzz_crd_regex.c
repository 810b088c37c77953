/* fuzz_crd_regex.c - patterns of schemas. The first line is the pattern, the rest a text.
 *
 * A refusal says why; what the check accepts compiles; a pattern in a group, and twice as an
 * alternative, finds what it finds alone; a text with every sign quoted finds itself and no longer
 * text.
 */
#include "apiserver/crd/regex.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool accepted(const char *pattern)
{
    struct kerr err = { 0 };

    if (regex_check(pattern, &err) == 0)
        return true;
    assert(err.code < 0 && err.text[0] != '\0');
    return false;
}

static bool finds(const char *pattern, const char *s, size_t n)
{
    CLEANUP(regex_free) struct regex *r = NULL;
    int e = regex_new(pattern, &r, NULL);

    assert(e == 0 && regex_is(r, pattern));
    (void)e;
    bool found = regex_match(r, s, n);
    assert(regex_match(r, s, n) == found);
    return found;
}

static void check_wrapped(const char *pattern, const char *text, size_t n)
{
    static const char *const around[][3] = { { "(?:", ")", "" }, { "", "|", "again" } };
    bool found = finds(pattern, text, n);

    /* Flags reach to the end of the group, and \Q to the end of the text. */
    if (strstr(pattern, "(?") || strstr(pattern, "\\Q"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(around); i++) {
        CLEANUP(strbuf_fini) struct strbuf w = STRBUF_INIT;
        strbuf_appendf(&w, "%s%s%s%s", around[i][0], pattern, around[i][1],
                       *around[i][2] ? pattern : "");
        if (accepted(w.data)) /* it may be too large now */
            assert(finds(w.data, text, n) == found);
    }
}

static void check_quoted(const char *text, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf p = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf longer = STRBUF_INIT;

    if (n == 0 || n > 500 || memchr(text, '\0', n))
        return;
    strbuf_append(&p, "\\A");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&p, "%s%c", strchr("\\.+*?()|[]{}^$", text[i]) ? "\\" : "", text[i]);
    strbuf_append(&p, "\\z");
    strbuf_appendn(&longer, text, n);
    strbuf_appendc(&longer, 'x');
    if (!accepted(p.data)) /* no UTF-8 */
        return;
    assert(finds(p.data, text, n));
    assert(!finds(p.data, longer.data, longer.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;

    if (!line || memchr(text, '\0', (size_t)(line - text)))
        return 0;
    CLEANUP(mem_free) char *pattern = xstrndup(text, (size_t)(line - text));
    size_t n = size - (size_t)(line + 1 - text);
    CLEANUP(mem_free) char *subject = xstrndup(line + 1, n); /* strings of documents end with NUL */
    if (accepted(pattern))
        check_wrapped(pattern, subject, n);
    check_quoted(subject, n);
    return 0;
}
