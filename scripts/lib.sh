# shellcheck shell=bash
# What the scripts share. Source it first:
#   . "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
#
# It moves to the root of the source tree, and promises that whatever a script started through `defer` ends with it,
# however the script ends.

set -euo pipefail

scratch=  # make_scratch sets it
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

# Bazel wants a home folder; some CI systems set none.
HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
export HOME
# A person's PGHOST, PGSERVICE, ... must not reach into throwaway servers.
for name in "${!PG@}"; do unset "$name"; done
unset name

note() { printf '%s\n' "$*" >&2; }
die() { note "${0##*/}: $*"; exit 1; }

# ---- the end: commands that run when the script does, last in, first out --------------------------------------------

deferred=()
defer() { deferred=("$(printf '%q ' "$@")" "${deferred[@]}"); }

run_deferred() {
  local status=$? command
  trap - EXIT
  trap '' INT TERM HUP  # tidying up is not interrupted
  set +e
  for command in "${deferred[@]}"; do eval "$command"; done
  exit "$status"
}
trap run_deferred EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a command so that a signal to this script is answered at once, not when the command is through: bash runs no trap
# while it waits for a foreground child. If the script ends first, the command is told to.
child=
run_child() {
  local status=0
  "$@" &
  child=$!
  wait "$child" || status=$?
  child=
  return "$status"
}
end_child() {
  [[ -n "$child" ]] || return 0
  kill -TERM "$child" 2>/dev/null && wait "$child"
  child=
}

# ---- Bazel -----------------------------------------------------------------------------------------------------------

# The Bazel server is ours to end: no script leaves one behind.
shutdown_bazel() {
  end_child
  bazel shutdown >/dev/null 2>&1
}

# ---- throwaway PostgreSQL servers --------------------------------------------------------------------------------------

# PostgreSQL refuses to run as root, so as root its programs run as the user postgres.
as_postgres() {
  if ((EUID == 0)); then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

# Where scripts/setup keeps servers of other versions, each in postgresql-MAJOR.MINOR: for all users, and where a user may
# not write there, for that one alone (but not for root: the user postgres cannot enter its home). Tests look there too:
# tests/support/pg_server.cc.
SHARED_SERVERS=/var/cache/sublite
# shellcheck disable=SC2034  # scripts/setup uses it
OWN_SERVERS="$(getent passwd "$(id -u)" | cut -d: -f6)/.cache/sublite"
# shellcheck disable=SC2034
((EUID != 0)) || OWN_SERVERS=$SHARED_SERVERS

# The folder of the server's programs: $SUBLITE_PGBIN or the newest that Debian installed.
find_pgbin() {
  local newest
  newest="$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t/ -k5n | tail -1)"
  newest="${SUBLITE_PGBIN:-$newest}"
  [[ -x "$newest/initdb" ]] || die "no PostgreSQL server programs found (tried $newest); run scripts/setup"
  printf '%s\n' "$newest"
}

# A new folder that the user postgres may enter, removed when the script ends. Sets `scratch`.
make_scratch() {
  scratch="$(mktemp -d /tmp/sublite-XXXXXX)"
  defer rm -rf "$scratch"
  chmod 755 "$scratch"
}

# start_server DIR [SETTING...]: a cluster in DIR that listens on the socket DIR/.s.PGSQL.5432 only, ended and removed
# with the script. DIR must be short: a socket's path has 107 characters.
start_server() {
  local dir=$1 setting
  shift
  local bin
  bin="$(find_pgbin)"
  mkdir -p "$dir"
  ((EUID != 0)) || chown postgres: "$dir"
  as_postgres "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$dir.initdb.log" 2>&1 ||
    die "initdb failed: $(tail -3 "$dir.initdb.log")"
  {
    echo "listen_addresses = ''"
    echo "unix_socket_directories = '$dir'"
    echo "wal_level = logical"
    echo "max_wal_senders = 20"
    echo "max_replication_slots = 20"
    echo "max_prepared_transactions = 50"
    for setting in "$@"; do echo "$setting"; done
  } | as_postgres tee -a "$dir/data/postgresql.conf" >/dev/null
  defer stop_server "$dir"
  as_postgres "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 start >/dev/null ||
    die "the server did not start: $(as_postgres tail -3 "$dir/log")"
}

stop_server() {
  local bin
  bin="$(find_pgbin)"
  as_postgres "$bin/pg_ctl" -D "$1/data" -m immediate -w -t 30 stop >/dev/null 2>&1 || true
}

# on SOCKET_DIR DATABASE SQL: runs SQL there, prints rows unadorned.
on() {
  psql -X -q -A -t -v ON_ERROR_STOP=1 -h "$1" -U postgres -d "$2" -c "$3"
}

# ---- sublite ---------------------------------------------------------------------------------------------------------

sublite_pid=

# start_sublite PROGRAM CONFIG LOG: in the background, ended with the script.
start_sublite() {
  "$1" run --config="$2" >>"$3" 2>&1 &
  sublite_pid=$!
  defer stop_sublite
}

# SIGTERM, and its exit code; SIGKILL if it does not listen within 10 s.
stop_sublite() {
  [[ -n "$sublite_pid" ]] || return 0
  local status=0 pid=$sublite_pid tries
  sublite_pid=
  kill -TERM "$pid" 2>/dev/null || true
  for ((tries = 0; tries < 200; ++tries)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" || status=$?
  return "$status"
}

# until_is LIMIT_S EXPECTED COMMAND...: runs it until it prints EXPECTED; what it printed last is in `answer`.
answer=
until_is() {
  local deadline=$((SECONDS + $1)) expected=$2
  shift 2
  while true; do
    answer="$("$@" 2>&1)" || true
    [[ "$answer" != "$expected" ]] || return 0
    ((SECONDS < deadline)) || return 1
    [[ -z "$sublite_pid" ]] || kill -0 "$sublite_pid" 2>/dev/null || return 1
    sleep 0.05
  done
}
