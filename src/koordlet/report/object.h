/* object.h - pieces of the objects that are named like the node and go with it. */
#ifndef KOORD_KOORDLET_REPORT_OBJECT_H
#define KOORD_KOORDLET_REPORT_OBJECT_H
#include "api/koord/device.h"
#include "api/node.h"
#include "json/kj.h"

/* apiVersion and kind. */
void object_write_head(struct kjw *w, const struct kind *k);
/* name and ownerReferences, inside of metadata. */
void object_write_owner(struct kjw *w, const struct node *owner);
void object_write_pairs(struct kjw *w, const kstrmap *m);
void object_write_devices(struct kjw *w, const device_infolist *l); /* the member "devices" */
/* Is any of our pairs stored in another form, or not at all? As JSON values. */
bool pairs_differ(const kstrmap *own, const kstrmap *stored);
/* Those that differ, in an object that is open. */
void object_patch_pairs(struct kjw *w, const kstrmap *own, const kstrmap *stored);
/* The same as the member "annotations"; nothing when none differs. */
void object_patch_annotations(struct kjw *w, const kstrmap *own, const kstrmap *stored);
#endif
