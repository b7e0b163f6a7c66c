#pragma once
/*
 * banned: calls that cannot be used safely do not compile.
 *
 * error.h includes this file, so almost every source has it; one that does not need
 * error.h includes it itself. The system headers that declare these names come first:
 * their include guards then keep the macros away from the declarations.
 *
 * Instead: strbuf, snprintf, memcpy with a checked length, strtoll with its end pointer,
 * gmtime_r, clock_format.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(function) sorry_##function##_is_a_banned_function

#undef strcpy
#define strcpy(...) BANNED(strcpy)
#undef strcat
#define strcat(...) BANNED(strcat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef strtok
#define strtok(...) BANNED(strtok)
#undef gmtime
#define gmtime(...) BANNED(gmtime)
#undef localtime
#define localtime(...) BANNED(localtime)
#undef ctime
#define ctime(...) BANNED(ctime)
#undef ctime_r
#define ctime_r(...) BANNED(ctime_r)
#undef asctime
#define asctime(...) BANNED(asctime)
#undef asctime_r
#define asctime_r(...) BANNED(asctime_r)
#undef atoi
#define atoi(...) BANNED(atoi)
#undef atol
#define atol(...) BANNED(atol)
#undef atoll
#define atoll(...) BANNED(atoll)
