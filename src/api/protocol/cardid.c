/* cardid.c - what identifies a card: a UUID or a PCI address. */
#include "api/protocol/cardid.h"

#include <ctype.h>
#include <stdio.h>

const char *const card_id_attributes[] = { "uuid", "pciBusID", "pcieBusID", NULL };

/* Hexadecimal digits, at least one and at most so many; the end is behind them. NULL: none. */
static const char *read_hex(const char *at, unsigned digits, unsigned *ret)
{
    unsigned n = 0;

    for (*ret = 0; n < digits && isxdigit((unsigned char)*at); n++, at++) {
        int c = tolower((unsigned char)*at);
        *ret = *ret << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return n ? at : NULL;
}

/* [domain:]bus:device.function */
static bool read_address(const char *text, unsigned part[4])
{
    const char *at = read_hex(text, 8, &part[1]);

    part[0] = 0;
    if (!at || *at++ != ':' || !(at = read_hex(at, 2, &part[2])))
        return false;
    if (*at == ':') { /* what came first was the domain */
        part[0] = part[1];
        part[1] = part[2];
        if (!(at = read_hex(at + 1, 2, &part[2])))
            return false;
    }
    return *at == '.' && (at = read_hex(at + 1, 1, &part[3])) && *at == '\0' && part[1] < 256;
}

bool card_id_format(const char *text, char out[CARD_ID_MAX + 1])
{
    unsigned part[4];
    size_t n = text ? strlen(text) : 0;

    if (n == 0 || n > CARD_ID_MAX)
        return false;
    if (read_address(text, part)) {
        snprintf(out, CARD_ID_MAX + 1, "%04x:%02x:%02x.%x", part[0], part[1], part[2], part[3]);
        return true;
    }
    for (size_t i = 0; i <= n; i++)
        out[i] = (char)tolower((unsigned char)text[i]);
    return true;
}
