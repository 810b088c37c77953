/* cardid.h - what identifies a card, wherever it is described: a UUID or a PCI address, of a
 * Device and of a ResourceSlice. Pure. */
#ifndef KOORD_API_PROTOCOL_CARDID_H
#define KOORD_API_PROTOCOL_CARDID_H
#include "base/base.h"

enum { CARD_ID_MAX = 128 };

/* "GPU-1b3c" and "gpu-1B3C" are one UUID, "0000:3B:00.0" and "3b:00.0" one address. False: what is
 * NULL, empty or longer than CARD_ID_MAX is no identity. */
bool card_id_format(const char *text, char out[CARD_ID_MAX + 1]);

/* The names of attributes of a device that identify it, whatever their domain; they end with NULL.
 * DynamicResourcesArgs may name others. */
extern const char *const card_id_attributes[];
#endif
