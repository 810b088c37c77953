/* plugin.c - small things that plugins call. */
#include "descheduler/framework/plugin.h"

#include <stdio.h>

const char *const kd_point_names[KD_POINTS] = {
    [KD_DESCHEDULE] = "deschedule",
    [KD_BALANCE] = "balance",
    [KD_EVICT] = "evict",
    [KD_FILTER] = "filter",
};

bool kd_no(struct kd_why *w, const char *fmt, ...)
{
    va_list ap;

    if (!w || *w->text)
        return false;
    va_start(ap, fmt);
    (void)vsnprintf(w->text, sizeof w->text, fmt, ap);
    va_end(ap);
    return false;
}
