/* flags.h - command-line flags as Go programs take them (flag and pflag alike), by table.
 *
 *     struct options { int port; const char *config; bool dry_run; };
 *     #define O(member) .off = offsetof(struct options, member)
 *     static const struct flag table[] = {
 *         { "port", FLAG_INT, O(port), .def = "10251", .max = 65535, .help = "plain HTTP port" },
 *         { "config", FLAG_STR, O(config), .help = "configuration file" },
 *     };
 *
 * Taken: --name=value, --name value, -name=value, -name value, --flag and --flag=false for bools,
 * -n value, -nvalue and -abc for short names, "--" before arguments that look like flags, "_" for
 * "-". Given twice, the last wins; lists grow and maps merge. One parser may serve several tables,
 * each with its own options struct. What it stores lives as long as the parser.
 */
#ifndef KOORD_COMPONENT_FLAGS_H
#define KOORD_COMPONENT_FLAGS_H
#include "base/base.h"

struct strbuf;
struct flags;

struct flag_list {
    const char **items;
    size_t n;
};
struct flag_pair {
    const char *key, *value;
};
struct flag_map { /* sorted by key */
    struct flag_pair *items;
    size_t n;
};

enum flag_type {             /* how the value lies in the options struct */
                 FLAG_BOOL,  /* bool */
                 FLAG_INT,   /* int */
                 FLAG_I64,   /* int64_t */
                 FLAG_F64,   /* double */
                 FLAG_DUR,   /* nsec_t, from Go's "1m30s" */
                 FLAG_STR,   /* const char *, never NULL */
                 FLAG_LIST,  /* struct flag_list, from "a,b,c"; each mention adds, the first drops
                                the default */
                 FLAG_MAP,   /* struct flag_map, from "a=1,b=2" */
                 FLAG_CUSTOM /* anything that .set understands */
};
enum {
    FLAG_IGNORED = 1 << 0, /* checked and stored nowhere: known upstream, no use here; shown in the
                              usage when it has a help */
    FLAG_HIDDEN = 1 << 1,  /* not shown in the usage */
    FLAG_LATER = 1 << 2,   /* checked and stored nowhere, as the usage says: not served yet */
};

typedef int (*flag_set_fn)(void *target, const char *value, struct kerr *err);
/* Lines for the usage, each with its newline: what the value may name. */
typedef void (*flag_lines_fn)(const void *target, struct strbuf *out);
struct flag {
    const char *name;
    uint8_t type, flags;
    char letter; /* short name: 'n' for -n; 0: none */
    uint32_t off;
    int64_t min, max;           /* FLAG_INT and FLAG_I64, FLAG_DUR; both 0: no limits */
    const char *def;            /* as one would write it; NULL: zero, empty, false */
    const char *help;           /* a word in `back quotes` names the value */
    const char *deprecated;     /* accepted with this advice as a warning, and hidden */
    const char *const *choices; /* FLAG_STR: NULL-terminated; NULL: any text */
    flag_set_fn set;            /* FLAG_CUSTOM; called once for each mention */
    flag_lines_fn lines;        /* FLAG_CUSTOM: more lines below the help; may be NULL */
};

struct flags *flags_new(void);
struct flags *flags_free(struct flags *f); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(flags_free, struct flags *)

/* Sets the defaults in *options at once. A default that does not parse is our bug: it aborts, and
 * so does a name that is there already. title heads the section of the usage. */
void flags_add(struct flags *f, const char *title, const struct flag *table, size_t n,
               void *options);
/* Another default than the table's, for names that differ between programs. The text must outlive
 * the parser. */
void flags_default(struct flags *f, const char *name, const char *def);

enum flags_result {
    FLAGS_OK,
    FLAGS_HELP,    /* --help or -h */
    FLAGS_VERSION, /* --version */
    FLAGS_MAN      /* --man */
};
enum { FLAGS_STOP_AT_ARG = 1 << 0 }; /* the first argument that is no flag ends the parsing */
/* argv without the program's name. Returns an enum flags_result, or -EINVAL with a message that
 * names the flag, the value and, for an unknown flag, the nearest one there is. */
int flags_parse(struct flags *f, int argc, char *const *argv, unsigned mode, struct kerr *err);

/* What is not a flag, in order. */
size_t flags_nargs(const struct flags *f);
const char *flags_arg(const struct flags *f, size_t i); /* NULL behind the last */
/* With FLAGS_STOP_AT_ARG: how many elements of argv were flags; the first argument is there. */
int flags_stopped_at(const struct flags *f);
/* Was it on the command line? Flags that win over a file only when given ask this. */
bool flags_given(const struct flags *f, const char *name);
/* What the user should know (deprecated, without effect); NULL behind the last. */
const char *flags_warning(const struct flags *f, size_t i);
/* Names of FLAG_LATER flags that were given; NULL behind the last. */
const char *flags_later(const struct flags *f, size_t i);

/* All sections, flags sorted by name, with defaults. */
void flags_usage(const struct flags *f, struct strbuf *out);
/* One section only. */
void flags_usage_of(const struct flags *f, const char *title, struct strbuf *out);

/* ---- shared with others that read names from people ------------------------------------------ */

/* The candidate nearest to the word (edit distance), NULL when none is near enough to be meant. */
const char *word_nearest(const char *word, const char *const *candidates, size_t n);
/* Go's strconv.ParseBool: 1 t T TRUE true True, 0 f F FALSE false False. 0 or -EINVAL. */
int flag_bool_parse(const char *s, size_t n, bool *ret);
#endif
