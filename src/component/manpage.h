/* manpage.h - manual pages in troff's man macros, from the tables that --help is made from. */
#ifndef KOORD_COMPONENT_MANPAGE_H
#define KOORD_COMPONENT_MANPAGE_H
#include "base/base.h"

struct flags;
struct strbuf;

enum man_section { MAN_COMMAND = 1, MAN_DAEMON = 8 };

/* The title and "NAME - brief". */
void man_head(const char *name, enum man_section section, const char *brief, struct strbuf *out);
/* Text that is nowhere a request; ends with a newline, whether text has one or not. */
void man_text(const char *text, struct strbuf *out);
/* Lines that stay as they are. */
void man_block(const char *text, struct strbuf *out);
/* All flags that the usage shows, with their sections as subheadings. */
void man_flags(const struct flags *f, struct strbuf *out);
/* The flags of one table, without a heading. */
void man_flags_plain(const struct flags *f, struct strbuf *out);
/* --help, --man and --version, which no table has. */
void man_common_flags(struct strbuf *out);
#endif
