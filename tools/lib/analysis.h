#pragma once
/*
 * analysis: what a program that reads one file at a time cannot know. tools/lint forces this in front of each file;
 * nothing is built with it.
 */
#include "vtddl/error.h"

/* They always give -1, so that what follows `if (... < 0)` is not walked with what a failure left unset. */
#define error_set(...) __extension__({ (error_set)(__VA_ARGS__); -1; })
#define error_set_detail(...) __extension__({ (error_set_detail)(__VA_ARGS__); -1; })
#define error_prefix(...) __extension__({ (error_prefix)(__VA_ARGS__); -1; })
