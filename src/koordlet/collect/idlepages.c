/* idlepages.c - the table of idle pages: 31 lines, of which rows 14 to 30 are "name v0 v1 ...". */
#include "koordlet/collect/idlepages.h"

#include "base/num.h"
#include "koordlet/kernel/text.h"

enum { LINES = 31, FIRST_ROW = 14, COLD_FROM = 5 };

/* File pages, inactive: clean and dirty, evictable or not. */
static bool is_cold_row(struct str name)
{
    return str_eqz(name, "cfei") || str_eqz(name, "dfei") || str_eqz(name, "cfui") ||
           str_eqz(name, "dfui");
}

static int row_add(struct str row, uint64_t *sum, struct kerr *err)
{
    struct str word;
    uint64_t bytes;

    for (int i = 0; text_word(&row, &word); i++) {
        if (u64_parse(word.p, word.n, &bytes) < 0)
            return kerr_set(err, -EINVAL, "memory.idle_page_stats: a column is not a number");
        if (i >= COLD_FROM && __builtin_add_overflow(*sum, bytes, sum))
            return kerr_set(err, -EINVAL, "memory.idle_page_stats: the sum is too large");
    }
    return 0;
}

int idle_pages_cold(const char *s, size_t n, uint64_t *ret, struct kerr *err)
{
    struct str rest = { s, n }, line, name;
    uint64_t sum = 0;
    int lines = 0;

    for (; text_line(&rest, &line); lines++) {
        if (lines < FIRST_ROW || !text_word(&line, &name) || !is_cold_row(name))
            continue;
        int r = row_add(line, &sum, err);
        if (r < 0)
            return r;
    }
    if (lines != LINES)
        return kerr_set(err, -EINVAL, "memory.idle_page_stats: %d lines instead of %d", lines,
                        LINES);
    *ret = sum;
    return 0;
}
