/* version.h - what this build is. */
#ifndef KOORD_COMPONENT_VERSION_H
#define KOORD_COMPONENT_VERSION_H

#if defined(__clang__)
#define KOORD_COMPILER "clang " __clang_version__
#else
#define KOORD_COMPILER "gcc " __VERSION__
#endif
#if defined(__x86_64__)
#define KOORD_PLATFORM "linux/amd64"
#elif defined(__aarch64__)
#define KOORD_PLATFORM "linux/arm64"
#else
#error "koord is for x86-64 and arm64"
#endif

#endif
