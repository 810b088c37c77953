/* vendor.c - asking a vendor's tool, reading what it prints, and where a card sits. */
#include "devicedaemon/vendor.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "sys/file.h"

enum { WORDS_MAX = 8, PCI_ADDRESS_MAX = 32 };

/* ---- asking ---------------------------------------------------------------------------------- */

int survey_ask(struct survey *s, const struct vendor *v, const char *const *words, struct str *ret,
               struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const char *argv[WORDS_MAX + 2] = { v->tool };

    for (uint32_t n = 0; words[n]; n++) {
        assert(n < WORDS_MAX);
        argv[n + 1] = words[n];
    }
    int e = s->tool(s->tool_arg, argv, &out, err);
    ret->p = arena_strndup(s->a, strbuf_str(&out), out.len);
    ret->n = out.len;
    return e;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool text_line(struct str *text, struct str *ret)
{
    if (text->n == 0)
        return false;
    const char *end = memchr(text->p, '\n', text->n);
    size_t n = end ? (size_t)(end - text->p) : text->n, skip = end ? n + 1 : n;
    *ret = (struct str){ text->p, n };
    text->p += skip;
    text->n -= skip;
    return true;
}

bool str_has(struct str s, const char *word)
{
    return memmem(s.p, s.n, word, strlen(word)) != NULL;
}

struct str text_line_with(struct str text, const char *word)
{
    for (struct str line; text_line(&text, &line);)
        if (str_has(line, word))
            return line;
    return (struct str){ "", 0 };
}

static struct str next_field(struct str *line)
{
    size_t from = 0;

    while (from < line->n && isspace((unsigned char)line->p[from]))
        from++;
    size_t to = from;
    while (to < line->n && !isspace((unsigned char)line->p[to]))
        to++;
    struct str field = { line->p + from, to - from };
    line->p += to;
    line->n -= to;
    return field;
}

struct str line_field(struct str line, int i)
{
    struct str rest = line, field;
    int n = 0;

    while ((field = next_field(&rest)).n > 0)
        if (++n == i)
            return field;
    /* i is negative, or there are fewer. */
    return i < 0 && -i <= n ? line_field(line, n + 1 + i) : (struct str){ "", 0 };
}

int64_t field_number(struct str field, int64_t otherwise)
{
    int64_t v;
    return i64_parse(field.p, field.n, &v) < 0 ? otherwise : v;
}

int text_sum(struct str text, const char *one, const char *other, int64_t *ret)
{
    int64_t sum = 0;
    uint32_t lines = 0;

    for (struct str line; text_line(&text, &line);) {
        if (!str_has(line, one) && !(other && str_has(line, other)))
            continue;
        int64_t v = field_number(line_field(line, -1), -1);
        if (v < 0 || __builtin_add_overflow(sum, v, &sum))
            return -EINVAL;
        lines++;
    }
    if (lines == 0)
        return -EINVAL;
    *ret = sum;
    return 0;
}

/* ---- cards ----------------------------------------------------------------------------------- */

struct card *survey_card(struct survey *s, const char *vendor)
{
    if (s->cards.n >= CARDS_MAX)
        return NULL;
    vec_push(&s->cards, ((struct card){ .vendor = vendor,
                                        .model = "",
                                        .uuid = "",
                                        .minor = "",
                                        .node = "",
                                        .pcie = "",
                                        .bus = "",
                                        .healthy = true }));
    return &s->cards.items[s->cards.n - 1];
}

void card_resource(struct card *c, const char *name, const char *amount)
{
    assert(c->n_resources < CARD_RESOURCES_MAX);
    c->resources[c->n_resources++] = (struct card_resource){ name, amount };
}

/* "pci0000:3a" in "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"; empty when it is not
 * there. */
static struct str root_complex(struct str path)
{
    enum { LEN = sizeof "pci0000:3a" - 1 };

    for (size_t i = 0; i + LEN <= path.n; i++) {
        const char *p = path.p + i;
        bool fits = memcmp(p, "pci", 3) == 0 && p[7] == ':';
        for (int k = 3; k < 7 && fits; k++)
            fits = isdigit((unsigned char)p[k]);
        for (int k = 8; k < LEN && fits; k++)
            fits = isxdigit((unsigned char)p[k]) && !isupper((unsigned char)p[k]);
        if (fits)
            return (struct str){ p, LEN };
    }
    return (struct str){ "", 0 };
}

void card_place(const struct survey *s, struct card *c, struct str bus)
{
    CLEANUP(strbuf_fini) struct strbuf node = STRBUF_INIT;
    char address[PCI_ADDRESS_MAX], path[sizeof PCI_DEVICES + PCI_ADDRESS_MAX + 16], link[PATH_MAX];

    if (bus.n == 0 || bus.n >= sizeof address || memchr(bus.p, '/', bus.n))
        return;
    for (size_t i = 0; i < bus.n; i++)
        address[i] = (char)tolower((unsigned char)bus.p[i]);
    address[bus.n] = '\0';
    c->bus = arena_strndup(s->a, address, bus.n);
    snprintf(path, sizeof path, PCI_DEVICES "/%s", address);
    ssize_t n = readlinkat(s->root_fd, path, link, sizeof link);
    if (n > 0) {
        struct str pcie = root_complex((struct str){ link, (size_t)n });
        c->pcie = arena_strndup(s->a, pcie.p, pcie.n);
    }
    snprintf(path, sizeof path, PCI_DEVICES "/%s/numa_node", address);
    if (file_read_all(s->root_fd, path, 64, &node, NULL) < 0)
        return;
    struct str first = line_field((struct str){ strbuf_str(&node), node.len }, 1);
    int64_t id = field_number(first, -1);
    c->node = arena_printf(s->a, "%" PRId64, MAX(id, (int64_t)0)); /* -1: a machine with one node */
}

void survey_leave_out(struct survey *s, const struct vendor *v, const char *what,
                      const struct kerr *err)
{
    vec_push(&s->left_out, ((struct left_out){ v->name, what, *err }));
}
