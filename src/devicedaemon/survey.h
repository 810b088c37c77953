/* survey.h - one round: all vendors asked, and the list as JSON. Runs on a worker. */
#ifndef KOORD_DEVICEDAEMON_SURVEY_H
#define KOORD_DEVICEDAEMON_SURVEY_H
#include "devicedaemon/vendor.h"

enum { VENDORS = 4 };

/* The cards of a vendor that is present, in s. Returns how many of its devices the PCI bus has, 0
 * when it is absent and was not asked, or a negative errno. */
int survey_vendor(struct survey *s, uint32_t vendor, struct kerr *err);
const char *survey_vendor_name(uint32_t vendor);
/* Appends `[...]`, indented by two. lists: the cards of each vendor, in order. */
void survey_write(const struct cards *const lists[VENDORS], struct strbuf *out);
#endif
