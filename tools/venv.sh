#!/bin/sh
# Sets up .venv, once: finds a Python that will do and hands over to tools/venv.py.
# PYTHON=/path/to/python3.12 names one. Shell, because an old Python cannot run the rest.

cd "${0%/*}/.." || exit 1

# Ready already: the usual case, and a quick one.
if .venv/bin/python -I tools/venv.py --ready 2>/dev/null; then
    exit 0
fi

# Prints "3.11.7 good", or why not: "old", "new" (no wheels yet), "bare" (no venv).
probe='
import sys
state = "old" if sys.version_info < (3, 11) else "new" if sys.version_info >= (3, 15) else "good"
if state == "good":
    try:
        import ensurepip, venv
    except ImportError:
        state = "bare"
print("%d.%d.%d %s" % (tuple(sys.version_info[:3]) + (state,)))
'

if [ -n "$PYTHON" ]; then
    set -- "$PYTHON"
else
    set -- python3 python3.13 python3.12 python3.11 python3.14 python
fi
seen=
bare=
for name in "$@"; do
    # .venv's own Python cannot make it anew.
    case $(command -v "$name") in
        .venv/* | ./.venv/* | "$PWD"/.venv/*) continue ;;
    esac
    # A name may be on PATH and still not run (a version manager's shim): then it is passed by.
    answer=$("$name" -I -c "$probe" 2>/dev/null) || answer=$("$name" -c "$probe" 2>/dev/null) || continue
    version=${answer% *}
    case ${answer#* } in
        good) exec "$name" -I tools/venv.py ;;
        bare) bare=${bare:-"$name $version"} ;;
    esac
    seen="$seen${seen:+, }$name is Python $version"
done

if [ -n "$bare" ]; then
    version=${bare#* }
    echo "Set-up stopped: ${bare% *} is Python $version, which is new enough, but its venv and" \
        "ensurepip modules are missing. On Debian and Ubuntu they are a package of their own:" \
        "sudo apt install python${version%.*}-venv. Then run the same command again." >&2
elif [ -n "$PYTHON" ]; then
    echo "Set-up stopped: it needs Python 3.11 to 3.14, but ${seen:-$PYTHON does not run}." \
        "Name one that fits, or leave PYTHON out and set-up looks for one itself." >&2
else
    echo "Set-up stopped: it needs Python 3.11 to 3.14, but" \
        "${seen:-no Python is on PATH at all}. Install one beside it (Debian, Ubuntu: sudo apt" \
        "install python3 python3-venv, or python3.12 python3.12-venv where python3 is older) and" \
        "run the same command again. To name one that is not on PATH: make venv" \
        "PYTHON=/path/to/python3.12" >&2
fi
exit 1
