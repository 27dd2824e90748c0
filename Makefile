# Installs from source: `make install`, or `make install PREFIX=$HOME/.local`.
#
# Installs the command with its preload, and the C library with its header and manual pages.

PREFIX ?= /usr/local
DESTDIR ?=
BIN = $(DESTDIR)$(PREFIX)/bin
LIB = $(DESTDIR)$(PREFIX)/lib
INCLUDE = $(DESTDIR)$(PREFIX)/include
SHARE = $(DESTDIR)$(PREFIX)/share/furwock
MAN = $(DESTDIR)$(PREFIX)/share/man/man3
# Where gdb looks for what belongs to a library, by the library's path.
GDB = $(DESTDIR)$(PREFIX)/share/gdb/auto-load$(PREFIX)/lib/furwock

BUILT = $(or $(CARGO_TARGET_DIR),target)/release
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
PAGES = $(notdir $(wildcard docs/man/*.3))
# The part of the version that has to match when a program is run.
SONAME = libfurwock.so.0

.PHONY: all install uninstall

all:
	cargo build --release
	sh scripts/c-libraries.sh $(BUILT) $(BUILT)/c

install: all
	install -D -m 755 $(BUILT)/furwock $(BIN)/furwock
	install -D -m 644 $(BUILT)/libfurwock_preload.so $(LIB)/furwock/libfurwock_preload.so
	install -D -m 644 $(BUILT)/libfurwock_preload_recording.so \
		$(LIB)/furwock/libfurwock_preload_recording.so
	install -D -m 755 $(BUILT)/c/libfurwock.so.0 $(LIB)/libfurwock.so.$(VERSION)
	ln -sf libfurwock.so.$(VERSION) $(LIB)/$(SONAME)
	ln -sf $(SONAME) $(LIB)/libfurwock.so
	install -D -m 644 $(BUILT)/c/libfurwock.a $(LIB)/libfurwock.a
	install -D -m 644 include/furwock.h $(INCLUDE)/furwock.h
	install -D -m 644 tools/gdb/furwock.py $(SHARE)/furwock.py
	install -d $(GDB)
	for library in libfurwock_preload libfurwock_preload_recording; do \
		echo "gdb.execute('source $(PREFIX)/share/furwock/furwock.py')" \
			>$(GDB)/$$library.so-gdb.py; \
		chmod 644 $(GDB)/$$library.so-gdb.py; \
	done
	install -d $(LIB)/pkgconfig $(MAN)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' capi/furwock.pc.in \
		>$(LIB)/pkgconfig/furwock.pc
	install -m 644 $(addprefix docs/man/,$(PAGES)) $(MAN)
	sh scripts/man-aliases.sh | while read -r name page; do \
		echo ".so man3/$$page.3" >$(MAN)/$$name.3; chmod 644 $(MAN)/$$name.3; \
	done

uninstall:
	rm -f $(BIN)/furwock $(LIB)/furwock/libfurwock_preload.so
	rm -f $(LIB)/furwock/libfurwock_preload_recording.so
	rm -f $(LIB)/libfurwock.so.$(VERSION) $(LIB)/$(SONAME) $(LIB)/libfurwock.so
	rm -f $(LIB)/libfurwock.a $(LIB)/pkgconfig/furwock.pc $(INCLUDE)/furwock.h
	rm -f $(addprefix $(MAN)/,$(PAGES))
	sh scripts/man-aliases.sh | while read -r name page; do rm -f $(MAN)/$$name.3; done
	rm -f $(SHARE)/furwock.py
	rm -f $(GDB)/libfurwock_preload.so-gdb.py $(GDB)/libfurwock_preload_recording.so-gdb.py
	-rmdir $(LIB)/furwock $(SHARE) $(GDB)
