/* flags_int.h - what the parser of flags, its usage text and the manual page share. */
#ifndef KOORD_COMPONENT_FLAGS_INT_H
#define KOORD_COMPONENT_FLAGS_INT_H
#include "base/arena.h"
#include "base/vec.h"
#include "component/flags.h"

struct flag_entry {
    const struct flag *flag;
    void *target; /* the member in the options struct */
    const char *def;
    uint32_t group;
    bool given;
};

struct flags {
    struct arena *arena;
    struct vec_of(struct flag_entry) entries;
    struct vec_of(const char *) titles, args, warnings, later;
    int stopped_at;
};

/* Its value goes nowhere. */
static inline bool flag_is_dropped(const struct flag *f)
{
    return f->flags & (FLAG_IGNORED | FLAG_LATER);
}

static inline bool flag_is_shown(const struct flag *f)
{
    return !f->deprecated && !(f->flags & FLAG_HIDDEN) && !(f->flags & FLAG_IGNORED && !f->help);
}

/* The flags of a section that people are told of, by name. The caller frees the vector. */
struct shown_flags vec_of(const struct flag_entry *);
void flags_shown(const struct flags *f, size_t group, struct shown_flags *list);
/* The word in `back quotes` of the help, else what the type is called; empty for a switch. */
struct str flag_value_name(const struct flag *d);
/* The help without back quotes, and the default. */
void flag_text(const struct flag_entry *e, struct strbuf *out);
#endif
