#!/bin/sh
# System libraries on Linux: which are missing, how to get them, getting them.
#
#   packaging/system.sh missing window|screenless|blas|all|compiler|desktop   print the missing packages, one a line (nothing: all is there)
#   packaging/system.sh command window|screenless|blas|all|compiler|desktop   print the command that installs what is missing
#   packaging/system.sh getting PACKAGES                              print the command that installs these
#   packaging/system.sh install [run|test]                            install what is missing, or print the command and go on
#
# `screenless` is what Qt needs without a screen (tests, screenshots); `window` is that and what it needs for X11. Wayland's own are
# installed with the rest, but without them the window goes through X11, so nothing waits for them.
# `compiler` is what the tests of the Metal kernels need besides, `desktop` what those of the whole app do, a screen that nobody sees and
# a keyboard for it: `all` is without them.
# A package is missing when its library is: names of packages change between releases, names of libraries do not.
set -eu

# library, Debian/Ubuntu package, what for; found with readelf on PySide6 6.11.3's Core, Gui, Widgets, Network, DBus, Svg and its
# offscreen, xcb and wayland plug-ins.
LIBRARIES="
libEGL.so.1             libegl1              screenless
libGL.so.1              libgl1               screenless
libglib-2.0.so.0        libglib2.0-0         screenless
libfontconfig.so.1      libfontconfig1       screenless
libX11.so.6             libx11-6             screenless
libxkbcommon.so.0       libxkbcommon0        screenless
libdbus-1.so.3          libdbus-1-3          screenless
libgssapi_krb5.so.2     libgssapi-krb5-2     screenless
libbrotlidec.so.1       libbrotli1           screenless
libX11-xcb.so.1         libx11-xcb1          window
libxcb-cursor.so.0      libxcb-cursor0       window
libxcb-icccm.so.4       libxcb-icccm4        window
libxcb-keysyms.so.1     libxcb-keysyms1      window
libxcb-randr.so.0       libxcb-randr0        window
libxcb-shape.so.0       libxcb-shape0        window
libxcb-shm.so.0         libxcb-shm0          window
libxcb-sync.so.1        libxcb-sync1         window
libxcb-xfixes.so.0      libxcb-xfixes0       window
libxcb-xkb.so.1         libxcb-xkb1          window
libxkbcommon-x11.so.0   libxkbcommon-x11-0   window
libwayland-cursor.so.0  libwayland-cursor0   wayland
libwayland-egl.so.1     libwayland-egl1      wayland
libopenblas.so.0        libopenblas0-pthread blas
"

missing() { # missing KIND
    [ "$(uname -s)" = Linux ] || return 0
    case "$(uname -m)" in x86_64) abi=x86-64 ;; aarch64) abi=AArch64 ;; *) abi= ;; esac
    loadable=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -e "$abi" || true)
    printf '%s\n' "$LIBRARIES" | while read -r library package use; do
        [ -n "$library" ] || continue
        case "$1:$use" in all:* | "$use:$use" | window:screenless) ;; *) continue ;; esac
        printf '%s\n' "$loadable" | grep -qF "$library " || echo "$package"
    done
    # Without any font, Qt draws boxes.
    case "$1" in all | window | screenless)
        [ -n "$(find /usr/share/fonts /usr/local/share/fonts -name '*.[ot]tf' -print 2>/dev/null | head -n 1)" ] ||
            echo fonts-dejavu-core
        ;;
    compiler)
        command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1 || echo g++
        ;;
    desktop)
        command -v Xvfb >/dev/null 2>&1 || echo xvfb
        command -v xdotool >/dev/null 2>&1 || echo xdotool
        ;;
    esac
}

command_for() { # command_for PACKAGES
    if command -v apt-get >/dev/null 2>&1; then
        echo "sudo apt-get update && sudo apt-get install -y --no-install-recommends $1"
    else
        echo "install what your system calls these Debian packages: $1"
    fi
}

install() { # install run|test
    packages=$({ missing all && if [ "$1" = test ]; then missing compiler; missing desktop; fi; } | tr '\n' ' ' | sed 's/ *$//')
    [ -n "$packages" ] || return 0
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root="sudo -n"; else as_root=no; fi
    fi
    if [ "$as_root" != no ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing system packages: $packages" >&2
        # shellcheck disable=SC2086 # the words are meant to split
        if $as_root apt-get update -qq >/dev/null &&
            $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null; then
            return 0
        fi
        echo "The system packages could not be installed (see above). Slipstream goes on without them." >&2
    else
        echo "Some system packages are missing, and installing them takes the administrator." >&2
    fi
    echo "To get them:" >&2
    echo "    $(command_for "$packages")" >&2
}

case "${1:-}" in
missing) missing "$2" ;;
command)
    packages=$(missing "$2" | tr '\n' ' ' | sed 's/ *$//')
    [ -z "$packages" ] || command_for "$packages"
    ;;
getting) command_for "$2" ;;
install) install "${2:-run}" ;;
*)
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
