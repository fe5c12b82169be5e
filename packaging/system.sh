#!/bin/sh
# Find and install missing system packages on Linux.
#
#   packaging/system.sh missing KIND          print the missing packages, one per line
#   packaging/system.sh command KIND          print the command that installs the missing packages
#   packaging/system.sh getting PACKAGES      print the command that installs these packages
#   packaging/system.sh install [run|test]    install what is missing, or print the command and continue
#
# KIND is one of:
#   screenless  libraries that Qt needs without a screen (tests, screenshots)
#   window      screenless, and the libraries for X11
#   blas        OpenBLAS
#   all         all libraries, including those for Wayland, without which the window uses X11
#   compiler    a compiler for the tests of the Metal kernels
#   desktop     a virtual screen and keyboard for the tests of the whole app
#
# A package counts as missing if its library is: package names change between releases, library names don't.
set -eu

# Library, Debian/Ubuntu package, use. Found with readelf on PySide6 6.11.3's Core, Gui, Widgets, Network, DBus, Svg and its offscreen,
# xcb and wayland plug-ins.
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
    compiler) # tests/metal_emulator/compiler.py says why clang before 16 won't do
        clang=$(clang++ -dumpversion 2>/dev/null | cut -d. -f1)
        command -v g++ >/dev/null 2>&1 || [ "${clang:-0}" -ge 16 ] || echo g++
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
        echo "install your system's equivalents of these Debian packages: $1"
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
        # shellcheck disable=SC2086 # word splitting is intended
        if $as_root apt-get update -qq >/dev/null &&
            $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null; then
            return 0
        fi
        echo "The system packages could not be installed (see above). Continuing without them." >&2
    else
        echo "Some system packages are missing, and installing them requires an administrator." >&2
    fi
    echo "To install them:" >&2
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
    sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
