#pragma once
/*
 * mysqld_proxy: stands between a store and its server, and cuts the connection at the n-th thing that the
 * store says: before the server hears it, or after the server did it and before the store hears so.
 *
 * It is a process of its own that ends with the tests. What is said goes to and fro, one packet at a time;
 * TLS is not understood, and not needed here.
 */
#include <stdbool.h>

struct mysqld_proxy;

struct mysqld_proxy *mysqld_proxy_start(unsigned server_port);
struct mysqld_proxy *mysqld_proxy_free(struct mysqld_proxy *proxy);
unsigned mysqld_proxy_port(const struct mysqld_proxy *proxy);

/** mysqld_proxy_cut() - at the @nth packet from now on; 0: never. Counts anew */
void mysqld_proxy_cut(struct mysqld_proxy *proxy, int nth, bool after);
/** mysqld_proxy_was_cut() - whether it has come to that */
bool mysqld_proxy_was_cut(const struct mysqld_proxy *proxy);
