# Sourced by the commands beside it: finds Python, makes the environment, installs the lock file.
# Sets $root (the project) and $python (the environment's interpreter). POSIX sh.

say() { printf '%s\n' "$*" >&2; }
die() { say "brainstem: $*"; exit 1; }

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
venv=${BRAINSTEM_VENV:-$root/.venv}
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac
python=$venv/bin/python
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH

# The newest Python on the PATH that every locked package has a wheel for comes first.
find_python() {
    for candidate in python3.13 python3.12 python3.11 python3.14 python3 python; do
        found=$(command -v "$candidate" 2>/dev/null) || continue
        "$found" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        printf '%s\n' "$found"
        return 0
    done
    return 1
}

# Install Debian packages when root may; otherwise say in one line what to install.
need() {
    if command -v apt-get >/dev/null 2>&1; then
        if [ "$(id -u)" = 0 ]; then
            say "Installing $* with apt-get …"
            { apt-get install -y --no-install-recommends "$@" || { apt-get update && apt-get install -y --no-install-recommends "$@"; }; } >&2 &&
                return 0
            die "apt-get could not install: $*"
        fi
        die "Python 3.11 or newer with venv and pip is needed: sudo apt-get install $*"
    fi
    die "Python 3.11 or newer with venv and pip is needed; install it with your system's package manager"
}

make_environment() {
    base=$(find_python) || { need python3 python3-venv && base=$(find_python); } ||
        die "no Python 3.11 or newer is on the PATH, even after installing python3"
    # A Debian python3 without python3-venv has venv but no ensurepip.
    "$base" -c 'import ensurepip, venv' 2>/dev/null || {
        version=$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        need "python$version-venv"
        "$base" -c 'import ensurepip, venv' 2>/dev/null || die "$base still has no venv; try another Python 3.11+"
    }
    # only an environment, or nothing, may give way to the new one
    [ ! -e "$venv" ] || [ -f "$venv/pyvenv.cfg" ] || rmdir -- "$venv" 2>/dev/null ||
        die "$venv exists and is no Python environment: remove it, or set BRAINSTEM_VENV"
    say "Making an environment in $venv ($("$base" --version)) …"
    rm -rf -- "$venv"
    "$base" -m venv -- "$venv" || die "the environment could not be made in $venv"
}

# install_lock FILE: install the lock file unless this environment has it already. Starts at the
# same time take turns, so that none runs in a half-made environment.
install_lock() {
    lock=$root/deploy/$1
    wanted=$(cksum <"$lock")
    stamp=$venv/.brainstem-${1%.lock}
    installed "$stamp" "$wanted" && return 0
    mkdir -p -- "$(dirname -- "$venv")" || die "cannot write beside $venv"
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$venv.lock" || die "cannot write $venv.lock"
        flock 9
    fi
    if ! installed "$stamp" "$wanted"; then
        "$python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || make_environment
        say "Installing $(grep -c '^[a-z].*==' "$lock") locked packages (half a minute, longer without a cache) …"
        "$python" -m pip install -qq --disable-pip-version-check --require-hashes \
            --no-deps -r "$lock" >&2 || die "the locked packages could not be installed (see above)"
        printf '%s\n' "$wanted" >"$stamp"
    fi
    exec 9>&-
}

installed() {
    [ -x "$python" ] && [ -f "$1" ] && [ "$(cat "$1")" = "$2" ] && "$python" -c '' 2>/dev/null
}
