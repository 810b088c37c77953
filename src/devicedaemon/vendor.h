/* vendor.h - what the parts of the vendors share: asking a tool, reading what it prints, cards.
 *
 * Everything here runs on a worker; strings live in the arena of the survey.
 */
#ifndef KOORD_DEVICEDAEMON_VENDOR_H
#define KOORD_DEVICEDAEMON_VENDOR_H
#include <inttypes.h>

#include "base/arena.h"
#include "base/vec.h"
#include "devicedaemon/devicedaemon.h"

enum { CARDS_MAX = 1024, CARD_RESOURCES_MAX = 4 };
#define PCI_DEVICES "sys/bus/pci/devices" /* below the host's root */

struct card_resource {
    const char *name, *amount;
};
struct card {
    const char *vendor, *model, *uuid, *minor;
    struct card_resource resources[CARD_RESOURCES_MAX];
    uint32_t n_resources;
    const char *node, *pcie, *bus;      /* "": not known */
    const char *err_code, *err_message; /* NULL: none */
    bool healthy;
};
struct cards vec_of(struct card);

struct left_out { /* what the list lacks, and why; for the log */
    const char *vendor, *what;
    struct kerr err;
};
struct survey {
    struct arena *a;
    int root_fd; /* the host's root */
    tool_fn tool;
    void *tool_arg;
    struct cards cards;
    struct vec_of(struct left_out) left_out;
};

struct vendor {
    const char *name, *tool;
    uint16_t pci_vendor;
    bool (*counts)(uint16_t product); /* NULL: every device of the vendor */
    /* Appends the cards. One that cannot be asked is left out, and that is noted. */
    int (*look)(struct survey *s, const struct vendor *v, struct kerr *err);
};
extern const struct vendor vendor_huawei, vendor_cambricon, vendor_kunlun, vendor_metax;

/* ---- asking ---------------------------------------------------------------------------------- */

/* What the tool prints with these words (at most 8, NULL behind the last), in the arena. *ret is
 * set on failure too: some tools say what is wrong there. */
int survey_ask(struct survey *s, const struct vendor *v, const char *const *words, struct str *ret,
               struct kerr *err);
#define ASK(s, v, ret, err, ...) \
    survey_ask(s, v, (const char *const[]){ __VA_ARGS__, NULL }, ret, err)

/* ---- reading --------------------------------------------------------------------------------- */

/* The next line, without its end; false behind the last. */
bool text_line(struct str *text, struct str *ret);
/* The first line that contains the word; empty when there is none. */
struct str text_line_with(struct str text, const char *word);
bool str_has(struct str s, const char *word);
/* The i-th word of a line, counted from 1; from the end when i is negative. Empty: there is none.
 */
struct str line_field(struct str line, int i);
/* A decimal number that is the whole text; otherwise when it is none. */
int64_t field_number(struct str field, int64_t otherwise);
/* The sum of the last words of all lines with the first or the second (may be NULL) word in them.
 * -EINVAL: there is no such line, or no number in one of them. */
int text_sum(struct str text, const char *one, const char *other, int64_t *ret);

/* ---- cards ----------------------------------------------------------------------------------- */

/* An empty card with the vendor's name, healthy. NULL: there are too many. */
struct card *survey_card(struct survey *s, const char *vendor);
void card_resource(struct card *c, const char *name, const char *amount);
/* Its place by the bus address: NUMA node and root complex as sysfs tells them. */
void card_place(const struct survey *s, struct card *c, struct str bus);
/* Notes why something is not in the list; what lives as long as the survey. */
void survey_leave_out(struct survey *s, const struct vendor *v, const char *what,
                      const struct kerr *err);
#endif
