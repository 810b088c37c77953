/* vec.h - growing arrays, typed by a macro: struct vec_of(struct pod *) pods = { 0 };
 *
 *     vec_push(&pods, pod);   vec_at(&pods, 0);   vec_foreach(&pods, i) { use(pods.items[i]); }
 */
#ifndef KOORD_BASE_VEC_H
#define KOORD_BASE_VEC_H
#include "base/base.h"

/* An anonymous body: write `struct vec_of(T) name;` or `struct pods vec_of(T);`. */
#define vec_of(type)   \
    {                  \
        type *items;   \
        size_t n, cap; \
    }

#define vec_reserve(v, more)                                                      \
    do {                                                                          \
        size_t need_ = (v)->n + (size_t)(more);                                   \
        if (need_ > (v)->cap) {                                                   \
            size_t cap_ = (v)->cap ? (v)->cap * 2 : 8;                            \
            (v)->cap = cap_ < need_ ? need_ : cap_;                               \
            (v)->items = xreallocarray((v)->items, (v)->cap, sizeof *(v)->items); \
        }                                                                         \
    } while (0)
#define vec_push(v, item)              \
    do {                               \
        vec_reserve((v), 1);           \
        (v)->items[(v)->n++] = (item); \
    } while (0)
#define vec_pop(v)   ((v)->items[--(v)->n])
#define vec_last(v)  ((v)->items[(v)->n - 1])
#define vec_clear(v) ((void)((v)->n = 0))
/* Keeps the order. */
#define vec_remove(v, i)                                                                          \
    do {                                                                                          \
        size_t at_ = (i);                                                                         \
        assert(at_ < (v)->n);                                                                     \
        memmove((v)->items + at_, (v)->items + at_ + 1, ((v)->n - at_ - 1) * sizeof *(v)->items); \
        (v)->n--;                                                                                 \
    } while (0)
#define vec_insert(v, i, item)                                                                \
    do {                                                                                      \
        size_t at_ = (i);                                                                     \
        assert(at_ <= (v)->n);                                                                \
        vec_reserve((v), 1);                                                                  \
        memmove((v)->items + at_ + 1, (v)->items + at_, ((v)->n - at_) * sizeof *(v)->items); \
        (v)->items[at_] = (item);                                                             \
        (v)->n++;                                                                             \
    } while (0)
/* Last item takes the hole. */
#define vec_swap_remove(v, i)                   \
    do {                                        \
        size_t at_ = (i);                       \
        assert(at_ < (v)->n);                   \
        (v)->items[at_] = (v)->items[--(v)->n]; \
    } while (0)
#define vec_fini(v)            \
    do {                       \
        free((v)->items);      \
        (v)->items = NULL;     \
        (v)->n = (v)->cap = 0; \
    } while (0)
#define vec_foreach(v, i) for (size_t i = 0; i < (v)->n; i++)

#endif
