/* percent.c - a number or a share. */
#include "controllers/percent.h"

#include "base/num.h"

int64_t int_or_percent(const struct int_or_str *v, int64_t n, bool up)
{
    int64_t percent;
    size_t len = v->s ? strlen(v->s) : 0;

    if (!v->s)
        return v->i;
    if (len < 2 || v->s[len - 1] != '%' || i64_parse(v->s, len - 1, &percent) < 0)
        return 0;
    percent = MIN(MAX(percent, (int64_t)0), (int64_t)1000000);
    return i64_add_sat(i64_mul_sat(n, percent), up ? 99 : 0) / 100;
}
