# Debian packages, installed only where they are missing. Sourced by the tools; needs root or sudo.
# shellcheck shell=bash

BUILD_PACKAGES="build-essential bc meson ninja-build pkg-config libgrpc-dev libprotobuf-c-dev protobuf-c-compiler
	protobuf-compiler libsqlite3-dev default-libmysqlclient-dev libjansson-dev libinih-dev libssl-dev
	libmicrohttpd-dev"
TEST_PACKAGES="libcmocka-dev python3 python3-pytest python3-pytest-xdist python3-protobuf python3-selenium python3-prometheus-client
	chromium chromium-driver mariadb-server-core mariadb-client-core clang clang-tidy cppcheck gcovr
	libclang-rt-14-dev pyflakes3 shellcheck openssl strace valgrind git spin"

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# install_packages PACKAGE...
install_packages() {
	local package missing=()

	for package in "$@"; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
			missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	echo "installing ${missing[*]}"
	local log
	log=$(mktemp)
	if ! { as_root apt-get update -qq &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
		>"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

# build_tree FOLDER [MESON OPTION...]: configure once, then build what changed
build_tree() {
	local folder=$1

	shift
	[ -f "$folder/build.ninja" ] || meson setup "$folder" "$@" >"$folder.log" 2>&1 || {
		cat "$folder.log"
		return 1
	}
	rm -f "$folder.log"
	ninja -C "$folder" --quiet
}
