/* manpage.c - manual pages, in the macros of man(7). */
#include "component/manpage.h"

#include <ctype.h>

#include "base/strbuf.h"
#include "component/flags_int.h"

static void put_char(char c, struct strbuf *out)
{
    if (c == '\\')
        strbuf_append(out, "\\e");
    else if (c == '-')
        strbuf_append(out, "\\-");
    else
        strbuf_appendc(out, c);
}

/* Without a newline at the end that text does not have. */
static void put_text(const char *text, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++) {
        bool begins = out->len == 0 || out->data[out->len - 1] == '\n';
        if (begins && (text[i] == '.' || text[i] == '\''))
            strbuf_append(out, "\\&");
        put_char(text[i], out);
    }
}

void man_text(const char *text, struct strbuf *out)
{
    put_text(text, strlen(text), out);
    if (out->data[out->len - 1] != '\n')
        strbuf_appendc(out, '\n');
}

void man_block(const char *text, struct strbuf *out)
{
    strbuf_append(out, ".nf\n");
    man_text(text, out);
    strbuf_append(out, ".fi\n");
}

void man_head(const char *name, enum man_section section, const char *brief, struct strbuf *out)
{
    strbuf_append(out, ".TH ");
    for (const char *p = name; *p; p++)
        put_char((char)toupper((unsigned char)*p), out);
    strbuf_appendf(out, " %d \"\" \"koord " KOORD_VERSION "\" \"koord\"\n.SH NAME\n", section);
    put_text(name, strlen(name), out);
    strbuf_append(out, " \\- ");
    man_text(brief, out);
}

/* "-n, --namespace string": the names bold, the value in italics. */
static void put_names(const struct flag *d, struct strbuf *out)
{
    struct str value = flag_value_name(d);

    if (d->letter)
        strbuf_appendf(out, "\\fB\\-%c\\fR, ", d->letter);
    strbuf_append(out, "\\fB\\-\\-");
    put_text(d->name, strlen(d->name), out);
    strbuf_append(out, "\\fR");
    if (value.n) {
        strbuf_append(out, " \\fI");
        put_text(value.p, value.n, out);
        strbuf_append(out, "\\fR");
    }
    strbuf_appendc(out, '\n');
}

static void put_flag(const struct flag_entry *e, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    strbuf_append(out, ".TP\n");
    put_names(e->flag, out);
    flag_text(e, &text);
    man_text(strbuf_str(&text), out);
    if (!e->flag->lines)
        return;
    strbuf_reset(&text);
    e->flag->lines(e->target, &text);
    man_block(strbuf_str(&text), out);
}

static void put_group(const struct flags *f, size_t group, bool headed, struct strbuf *out)
{
    struct shown_flags list = { 0 };

    flags_shown(f, group, &list);
    if (headed && list.n > 0) {
        strbuf_append(out, ".SS ");
        man_text(f->titles.items[group], out);
    }
    vec_foreach(&list, i)
        put_flag(list.items[i], out);
    vec_fini(&list);
}

void man_flags(const struct flags *f, struct strbuf *out)
{
    vec_foreach(&f->titles, group)
        put_group(f, group, true, out);
}

void man_flags_plain(const struct flags *f, struct strbuf *out)
{
    vec_foreach(&f->titles, group)
        put_group(f, group, false, out);
}

void man_common_flags(struct strbuf *out)
{
    strbuf_append(out,
                  ".SS Help\n"
                  ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint a summary of the flags, and exit\n"
                  ".TP\n\\fB\\-\\-man\\fR\nprint this page, and exit\n"
                  ".TP\n\\fB\\-\\-version\\fR\nprint the version, and exit\n");
}
