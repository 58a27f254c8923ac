#!/bin/sh
# Install the Debian packages that a task needs, if they are missing. Without root nothing is
# installed; apt-get says so.
#
#   tools/system_packages.sh venv       to create virtual environments
#   tools/system_packages.sh servers    for the ready servers: Chromium, libraries of skia and Playwright
#   tools/system_packages.sh tests      for the deep tests
#   tools/system_packages.sh npm
#   tools/system_packages.sh bench      for the benchmarks; soak: wrk alone
#   tools/system_packages.sh proxies    nginx, haproxy and Redis, unpacked into .proxies: installing starts services
set -eu

# Each argument is a program, or PROGRAM:PACKAGE if the package has another name.
need_programs() {
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair##*:}"
  done
}

# Each argument is LIBRARY:PACKAGE.
need_libraries() {
  for pair in "$@"; do
    ldconfig -p | grep -q "${pair%%:*}" || missing="$missing ${pair##*:}"
  done
}

unpack_proxies() {
  mkdir -p .proxies
  command -v nginx >/dev/null && command -v haproxy >/dev/null && command -v redis-server >/dev/null && return
  echo "Unpacking nginx, haproxy and redis into .proxies ..."
  apt-get update -qq
  cd .proxies
  apt-get download -qq nginx haproxy liblua5.3-0 libopentracing1 libopentracing-c-wrapper0 libpcre2-8-0 \
    redis-server redis-tools liblzf1 liblua5.1-0 lua-cjson lua-bitop libjemalloc2 libhiredis0.14 libatomic1
  for each in *.deb; do dpkg -x "$each" .; done
}

missing=
case $1 in
  venv) missing=" python3-venv" ;;
  servers)
    need_programs chromium
    need_libraries libEGL.so.1:libegl1 libGL.so.1:libgl1 libatomic.so.1:libatomic1
    ;;
  tests) need_programs curl chromium-headless-shell ;;
  npm) need_programs npm ;;
  soak) need_programs wrk ;;
  bench) need_programs wrk taskset:util-linux npm ;;
  proxies) unpack_proxies ;;
  *) echo "There is no list of packages named $1" >&2 && exit 2 ;;
esac
if [ -n "$missing" ]; then
  echo "Installing$missing ..."
  apt-get update -qq
  # One word for each package.
  # shellcheck disable=SC2086
  apt-get install -q -y --no-install-recommends $missing
fi
