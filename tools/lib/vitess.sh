# shellcheck shell=bash
# Where the pieces of a local Vitess come from, and how its processes are kept. Sourced by tools/local-vitess.
#
# Nothing of the host is changed beyond Debian packages (and, for root, the system user "vitess"): MySQL comes from
# Debian sid into a folder of its own, the Vitess programs are built from their Go module. Both land in the cache.
# shellcheck disable=SC2034 # some names are for the caller
set -euo pipefail

VITESS_VERSION=v0.24.4 # the Go module version of release 24.0.4
MIN_GO=1.21            # the first Go that fetches the newer one a module asks for
PROGRAMS=(vtctldclient vtctld vttablet vtgate mysqlctl)

CACHE=${LOCAL_VITESS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/vtddl}
DATA=$(realpath -m -- "${LOCAL_VITESS_DIR:-/var/tmp/vtddl-local}")
BIN_CACHE=$CACHE/bin/$VITESS_VERSION
MYSQL_CACHE=$CACHE/mysql/sid
# What runs is always a hard-linked copy of the caches inside the data folder: the cache may lie in a home that the
# user "vitess" cannot enter (root's is 0700), and a path below the data folder in its command line says whose a
# process is.
BIN=$DATA/rt/bin
MYSQL=$DATA/rt/mysql

umask 022
SUDO=()
AS_VITESS=()
if [ "$(id -u)" = 0 ]; then # the Vitess programs refuse to run as root
  AS_VITESS=(setpriv --reuid=vitess --regid=vitess --init-groups)
else
  SUDO=(sudo)
fi

say() { printf '%s\n' "$*"; }
die() {
  printf 'local-vitess: %s\n' "$*" >&2
  exit 1
}

# --- Debian packages -------------------------------------------------------------------------------------------------

as_root() {
  command -v "${SUDO[0]:-env}" >/dev/null || die "neither root nor sudo, but this needs it: $*"
  "${SUDO[@]}" "$@"
}

apt_install() { # argument of apt-get…
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends "$@" >&2 ||
    die "apt-get failed: $*"
}

install_packages() {
  local pair missing=()
  for pair in etcd:etcd-server mariadb:mariadb-client debootstrap:debootstrap setpriv:util-linux flock:util-linux; do
    PATH=$PATH:/usr/sbin command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "packages: installing ${missing[*]}"
  apt_install update
  apt_install install "${missing[@]}"
}

# The mirror of Debian itself that this host uses; empty where apt has no index yet.
debian_mirror() {
  # shellcheck disable=SC2016 # apt's own placeholders
  apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian //p' | head -n 1
}

# --- Go --------------------------------------------------------------------------------------------------------------

at_least() { # VERSION MINIMUM
  [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

find_go() { # prints the first go that is new enough
  local go version
  for go in go /usr/local/go/bin/go /usr/lib/go/bin/go /usr/lib/go-1.*/bin/go; do
    version=$(cd / && "$go" env GOVERSION 2>/dev/null) || continue
    if at_least "${version#go}" "$MIN_GO"; then
      command -v "$go"
      return 0
    fi
  done
  return 1
}

no_go() {
  printf 'local-vitess: no Go >= %s: %s\n' "$MIN_GO" "$1" >&2
  exit 3
}

# From the release itself where its Go is new enough, else from its backports. The host's own list of sources is not
# touched: the backports are named in a temporary copy of it.
install_go() {
  local version codename mirror list
  (apt_install update) || no_go "apt-get failed"
  version=$(apt-cache policy golang-go 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\?//p')
  if at_least "${version:-0}" "$MIN_GO"; then
    say "go: installing golang-go $version"
    (apt_install install golang-go) || no_go "apt-get failed"
    return 0
  fi
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  mirror=$(debian_mirror)
  [ -n "${mirror:+$codename}" ] || no_go "this host has no Debian source to install it from"
  say "go: installing golang-go from $codename-backports"
  list=$(mktemp --suffix=.list)
  cat /etc/apt/sources.list 2>/dev/null >"$list" || true
  echo "deb $mirror $codename-backports main" >>"$list"
  chmod 644 "$list"
  (apt_install -o "Dir::Etc::sourcelist=$list" update &&
    apt_install -o "Dir::Etc::sourcelist=$list" -t "$codename-backports" install golang-go) ||
    no_go "$codename-backports does not provide it"
  rm -f "$list"
}

# Sets GO. GOTOOLCHAIN=auto, for the module may ask for a newer Go than the host's; Debian's default is "local".
# No cgo: the host needs no C compiler for it.
ensure_go() {
  export GOTOOLCHAIN=auto GOFLAGS='-mod=mod -buildvcs=false' GOWORK=off CGO_ENABLED=0
  GO=$(find_go) && return 0
  install_go
  GO=$(find_go) || no_go "the installed one is too old"
}

# --- the caches: built under another name and renamed, so that what has its name is complete ---------------------------

lock_cache() { # one builder at a time; the lock ends with the script
  mkdir -p "$CACHE"
  exec 8>"$CACHE/lock"
  flock 8
}

build_programs() {
  [ -d "$BIN_CACHE" ] && return 0
  ensure_go
  local work source program
  rm -rf "$CACHE"/bin/tmp.* # what an interrupted build left
  mkdir -p "$CACHE/bin"
  work=$(mktemp -d "$CACHE/bin/tmp.XXXXXX")
  mkdir "$work/src" "$work/bin"
  cd "$work/src"
  say "vitess $VITESS_VERSION: downloading the module"
  source=$(module_dir "$VITESS_VERSION")
  # "go install …@version" is refused because of the module's exclude directive: build from a scratch module that
  # carries over its requirements, the exclusion and the checksums.
  sed 's/^module .*/module vtbuild/' "$source/go.mod" >go.mod
  cat "$source/go.sum" >go.sum
  "$GO" mod edit "-require=vitess.io/vitess@$VITESS_VERSION"
  say "vitess $VITESS_VERSION: building ${PROGRAMS[*]} (about 4 minutes on 2 cores)"
  for program in "${PROGRAMS[@]}"; do
    nice "$GO" build -o "$work/bin/$program" "vitess.io/vitess/go/cmd/$program" >"$work/log" 2>&1 ||
      { tail -n 20 "$work/log" >&2 && die "building $program failed"; }
  done
  mv -T "$work/bin" "$BIN_CACHE"
  cd / && rm -rf "$work"
}

module_dir() { # VERSION: the folder of that Vitess module, downloaded when absent
  local json
  json=$("$GO" mod download -json "vitess.io/vitess@$1") ||
    die "go mod download of Vitess $1 failed: $(sed -n 's/^\s*"Error": //p' <<<"$json")"
  sed -n 's/^\s*"Dir": "\(.*\)",\?$/\1/p' <<<"$json"
}

proto_dir() { # VERSION: prints the folder with the .proto files of that Vitess module
  local version=v${1#v} work
  [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "not a module version: $1 (Vitess 24.0.4 is v0.24.4)"
  if [ ! -d "$CACHE/proto/$version" ]; then
    ensure_go >&2
    mkdir -p "$CACHE/proto"
    work=$(mktemp -d "$CACHE/proto/tmp.XXXXXX")
    cd "$work"
    mkdir proto
    cp "$(module_dir "$version")"/proto/*.proto proto/
    chmod 755 proto && chmod 644 proto/*
    mv -T proto "$CACHE/proto/$version" 2>/dev/null || [ -d "$CACHE/proto/$version" ]
    cd / && rm -rf "$work"
  fi
  say "$CACHE/proto/$version"
}

# mysqld, mysql and mysqladmin of Debian sid with sid's libraries; nothing else of the bootstrapped system is kept.
build_mysql() {
  [ -d "$MYSQL_CACHE" ] && return 0
  local work root lib
  as_root rm -rf "$CACHE"/mysql/tmp.* # what an interrupted one left, partly root's
  mkdir -p "$CACHE/mysql"
  work=$(mktemp -d "$CACHE/mysql/tmp.XXXXXX")
  root=$work/root
  say "mysql: bootstrapping Debian sid into the cache (about a minute)"
  # shellcheck disable=SC2046 # no mirror: no argument, debootstrap's default
  PATH=$PATH:/usr/sbin as_root nice debootstrap --variant=minbase \
    --include=mysql-server-core,mysql-client-core sid "$root" $(debian_mirror) >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2 && die "debootstrap failed"; }
  mkdir -p "$work/mysql/bin" "$work/mysql/lib" "$work/mysql/share" "$work/mysql/libexec"
  lib=$(dirname "$(readlink -f "$root"/usr/lib/*/libc.so.6)")
  cp "$root/usr/sbin/mysqld" "$root/usr/bin/mysql" "$root/usr/bin/mysqladmin" "$work/mysql/libexec/"
  find "$lib" -maxdepth 1 -name '*.so*' -exec cp -d -t "$work/mysql/lib" {} +
  cp -rd "$root/usr/lib/mysql" "$work/mysql/lib/" # its plugins
  cp -r "$root/usr/share/mysql" "$work/mysql/share/"
  wrap_mysql "$work/mysql"
  "$work/mysql/bin/mysqld" --version >/dev/null || die "the MySQL of Debian sid does not start here"
  as_root rm -rf "$root"
  mv -T "$work/mysql" "$MYSQL_CACHE"
  rm -rf "$work"
}

# sid's libc is newer than the host's: each program is started through sid's own loader, found next to it.
wrap_mysql() { # FOLDER
  local program
  for program in mysqld mysql mysqladmin; do
    cat >"$1/bin/$program" <<-END
	#!/bin/sh
	M=\$(cd "\$(dirname "\$0")/.." && pwd)
	exec "\$M"/lib/ld-linux-*.so.* --library-path "\$M/lib" --argv0 $program "\$M/libexec/$program" "\$@"
	END
    chmod 755 "$1/bin/$program"
  done
}

install_all() {
  lock_cache
  install_packages
  build_programs
  build_mysql
  proto_dir "$VITESS_VERSION" >/dev/null
}

link_tree() { # FROM TO: hard links, or a copy where the two are on different file systems
  cp -al "$1" "$2" 2>/dev/null || { rm -rf "$2" && cp -a "$1" "$2"; }
}

# --- the cluster's own facts: written by up, read by everything else -------------------------------------------------

load_cluster() {
  [ -f "$DATA/cluster" ] || die "no local Vitess here; start one with: tools/local-vitess up"
  ALSO='' FLAGS='' # not in the file of an older one
  # shellcheck disable=SC1091
  . "$DATA/cluster" # KEYSPACE SHARDS REPLICAS ALSO FLAGS READY
}

tablets() { # UID:SHARD:SOCKET a line; 101, 102… are the first primaries, 201, 202… their replicas
  local shard i=0
  for shard in ${SHARDS//,/ }; do
    i=$((i + 1))
    echo "$((100 + i)):$shard:$(socket_of $((100 + i)))"
    [ "$REPLICAS" = 0 ] || echo "$((200 + i)):$shard:$(socket_of $((200 + i)))"
  done
}

also_tablets() { # those of the second keyspace: 301, 302…
  local shard i=300 ranges=${ALSO#*:}
  for shard in ${ranges//,/ }; do
    i=$((i + 1))
    echo "$i:$shard:$(socket_of $i)"
  done
}

all_tablets() { tablets && also_tablets; }
keyspace_of() { # UID
  if [ "${1:0:1}" = 3 ]; then echo "${ALSO%%:*}"; else echo "$KEYSPACE"; fi
}

tablet_dir() { printf '%s/vt/vt_%010d' "$DATA" "$1"; }
socket_of() { printf '%s/mysql.sock' "$(tablet_dir "$1")"; }
alias_of() { printf 'zone1-%010d' "$1"; }

# --- processes: NAME.sh starts one, NAME.pid says which it is, both in $DATA/run --------------------------------------

names() { # every process this cluster should have
  local file
  for file in "$DATA"/run/*.sh; do
    [ -e "$file" ] && basename "$file" .sh
  done
  return 0
}

pid_of() { # NAME: its process id; fails when it does not run. A recycled id of some other process does not count.
  local pid
  pid=$(cat "$DATA/run/$1.pid" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] || return 1
  tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$DATA/" || return 1
  echo "$pid"
}

state_of() { # NAME: alive, paused or stopped
  local pid
  if ! pid=$(pid_of "$1"); then
    echo stopped
  elif grep -q '^State:[[:space:]]*T' "/proc/$pid/status" 2>/dev/null; then
    echo paused
  else
    echo alive
  fi
}

# Runs a script as user vitess in a session of its own that holds nothing of ours: no terminal, no inherited file
# (255 is bash's own and closes itself), so that a caller of $(tools/local-vitess …) never waits for a daemon, and no
# variable of the caller's environment, which mysqlctl would print into its log.
detached() ( # fork|wait LOG SCRIPT
  exec </dev/null >>"$2" 2>&1
  for fd in /proc/"$BASHPID"/fd/*; do
    fd=${fd##*/}
    if [ "$fd" -gt 2 ] && [ "$fd" != 255 ]; then eval "exec $fd>&-"; fi
  done
  cd "$DATA"
  exec env -i PATH=/usr/bin:/bin setsid "--$1" "${AS_VITESS[@]}" bash "$3"
)

write_script() { # NAME COMMAND…
  local name=$1
  shift
  {
    echo "echo \$\$ >$(printf %q "$DATA/run/$name.pid")"
    echo ". $(printf %q "$DATA/env.sh")"
    echo "exec $(printf '%q ' "$@")"
  } >"$DATA/run/$name.sh"
}

launch() { # NAME PORT: start it with the flags it was written with; returns when it listens
  rm -f "$DATA/run/$1.pid"
  detached fork "$DATA/log/$1.log" "$DATA/run/$1.sh"
  await 10 "$1 to start" test -s "$DATA/run/$1.pid"
  await 30 "$1 to listen" ended_or_listening "$1" "$2"
  listening "$2" || die "$1 ended at once: $(tail -n 1 "$DATA/log/$1.log" | cut -c 1-400)"
}

await() { # SECONDS WHAT COMMAND…: until it succeeds
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || die "waited in vain for $what; logs are in $DATA/log"
    sleep 0.2
  done
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
gone() { ! pid_of "$1"; }
ended_or_listening() { listening "$2" || gone "$1"; }

# An interrupted up can leave a mysqld that has not written its pid file yet. What is ours is told by the program
# itself: it is in our data folder. Fails if there was one, which is then killed.
no_strays() {
  local proc program none=0
  for proc in /proc/[0-9]*; do
    IFS= read -r -d '' program 2>/dev/null <"$proc/cmdline" || continue
    if [[ $program == "$MYSQL"/* ]]; then
      kill -KILL "${proc#/proc/}" || true
      none=1
    fi
  done
  return "$none"
}

signal() { # NAME SIGNAL
  local pid
  pid=$(pid_of "$1") || die "$1 is not running"
  kill "-$2" "$pid"
}
