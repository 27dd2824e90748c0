# Installs from source: `make install`, or `make install PREFIX=$HOME/.local`.
#
# Installs the command with its preload, manual pages and completions, and the C library with its
# headers, manual pages, and what pkg-config and CMake find it by. Packages say where by LIBDIR and
# ZSHDIR, and install what they have built by `make install-only BUILT=FOLDER` (scripts/deb.sh).

PREFIX ?= /usr/local
DESTDIR ?=
BIN = $(DESTDIR)$(PREFIX)/bin
# Of the C library. The preload is in lib/furwock, where the command looks for it.
LIBDIR ?= $(PREFIX)/lib
LIB = $(DESTDIR)$(LIBDIR)
PRELOADS = $(DESTDIR)$(PREFIX)/lib/furwock
INCLUDE = $(DESTDIR)$(PREFIX)/include
SHARE = $(DESTDIR)$(PREFIX)/share/furwock
MAN = $(DESTDIR)$(PREFIX)/share/man/man3
MAN1 = $(DESTDIR)$(PREFIX)/share/man/man1
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
BASH = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH = $(DESTDIR)$(ZSHDIR)
FISH = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
# Where gdb looks for what belongs to a library, by the library's path.
GDB = $(DESTDIR)$(PREFIX)/share/gdb/auto-load$(PREFIX)/lib/furwock

# `STRIP=:` keeps what debuggers read of the command itself.
STRIP ?= strip
BUILT = $(or $(CARGO_TARGET_DIR),target)/release
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
PAGES = $(notdir $(wildcard docs/man/*.3))
# The part of the version that has to match when a program is run.
SONAME = libfurwock.so.0
# What the static library needs, as the pkg-config file has it.
LIBRARIES = $(shell sed -n 's/^Libs.private: //p' capi/furwock.pc.in)
# CMake's files, and the way from there to the headers: as many steps up as there are down.
CMAKE = $(LIB)/cmake/furwock
UP = $(shell echo '$(LIBDIR:$(PREFIX)/%=%)/cmake/furwock' | sed 's|[^/][^/]*|..|g')
CMAKE_TO_INCLUDE = $(if $(filter $(PREFIX)/%,$(LIBDIR)),$(UP),$(PREFIX))/include

sp = $(subst ,, )

.PHONY: all pages install install-only uninstall deb

all:
	cargo build --release
	sh scripts/c-libraries.sh $(BUILT) $(BUILT)/c

# What the command says about itself: manual pages, completions.
pages:
	rm -rf $(BUILT)/pages
	$(BUILT)/furwock pages $(BUILT)/pages

install: all
	$(MAKE) --no-print-directory install-only

install-only: pages
	install -D -m 755 $(BUILT)/furwock $(BIN)/furwock
	install -d $(PRELOADS) $(LIB)
	install -m 644 $(BUILT)/libfurwock_preload.so $(PRELOADS)/libfurwock_preload.so
	install -m 644 $(BUILT)/libfurwock_preload_recording.so \
		$(PRELOADS)/libfurwock_preload_recording.so
	install -m 644 $(BUILT)/c/libfurwock.so.0 $(LIB)/libfurwock.so.$(VERSION)
	ln -sf libfurwock.so.$(VERSION) $(LIB)/$(SONAME)
	ln -sf $(SONAME) $(LIB)/libfurwock.so
	install -m 644 $(BUILT)/c/libfurwock.a $(LIB)/libfurwock.a
	$(STRIP) $(BIN)/furwock
	# Their functions' names stay: a debugger, perf and `furwock who` show them.
	$(STRIP) --strip-debug $(PRELOADS)/libfurwock_preload.so \
		$(PRELOADS)/libfurwock_preload_recording.so
	$(STRIP) --strip-unneeded $(LIB)/libfurwock.so.$(VERSION)
	$(STRIP) --strip-debug --enable-deterministic-archives $(LIB)/libfurwock.a
	install -D -m 644 include/furwock.h $(INCLUDE)/furwock.h
	install -D -m 644 include/furwock.hpp $(INCLUDE)/furwock.hpp
	install -D -m 644 tools/gdb/furwock.py $(SHARE)/furwock.py
	install -d $(GDB)
	for library in libfurwock_preload libfurwock_preload_recording; do \
		echo "gdb.execute('source $(PREFIX)/share/furwock/furwock.py')" \
			>$(GDB)/$$library.so-gdb.py; \
		chmod 644 $(GDB)/$$library.so-gdb.py; \
	done
	install -d $(LIB)/pkgconfig $(MAN) $(MAN1)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
		-e 's|@VERSION@|$(VERSION)|' capi/furwock.pc.in >$(LIB)/pkgconfig/furwock.pc
	install -d $(CMAKE)
	for file in furwock-config.cmake furwock-config-version.cmake; do \
		sed -e 's|@INCLUDEDIR@|$(CMAKE_TO_INCLUDE)|' -e 's|@SONAME@|$(SONAME)|' \
			-e 's|@VERSION@|$(VERSION)|' \
			-e 's|@LIBRARIES@|$(subst $(sp),;,$(LIBRARIES))|' \
			capi/cmake/$$file.in >$(CMAKE)/$$file; \
	done
	install -m 644 $(addprefix docs/man/,$(PAGES)) $(MAN)
	sh scripts/man-aliases.sh | while read -r name page; do \
		echo ".so man3/$$page.3" >$(MAN)/$$name.3; chmod 644 $(MAN)/$$name.3; \
	done
	install -m 644 $(BUILT)/pages/man1/*.1 $(MAN1)
	install -D -m 644 $(BUILT)/pages/furwock.bash $(BASH)/furwock
	install -D -m 644 $(BUILT)/pages/_furwock $(ZSH)/_furwock
	install -D -m 644 $(BUILT)/pages/furwock.fish $(FISH)/furwock.fish

deb:
	sh scripts/deb.sh

uninstall:
	rm -f $(BIN)/furwock $(PRELOADS)/libfurwock_preload.so
	rm -f $(PRELOADS)/libfurwock_preload_recording.so
	rm -f $(LIB)/libfurwock.so.$(VERSION) $(LIB)/$(SONAME) $(LIB)/libfurwock.so
	rm -f $(LIB)/libfurwock.a $(LIB)/pkgconfig/furwock.pc $(INCLUDE)/furwock.h
	rm -f $(INCLUDE)/furwock.hpp $(CMAKE)/furwock-config.cmake
	rm -f $(CMAKE)/furwock-config-version.cmake
	rm -f $(addprefix $(MAN)/,$(PAGES))
	sh scripts/man-aliases.sh | while read -r name page; do rm -f $(MAN)/$$name.3; done
	rm -f $(MAN1)/furwock.1 $(MAN1)/furwock-*.1
	rm -f $(BASH)/furwock $(ZSH)/_furwock $(FISH)/furwock.fish
	rm -f $(SHARE)/furwock.py
	rm -f $(GDB)/libfurwock_preload.so-gdb.py $(GDB)/libfurwock_preload_recording.so-gdb.py
	-rmdir $(PRELOADS) $(SHARE) $(GDB) $(CMAKE)
