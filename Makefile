# Installs from source: `make install`, or `make install PREFIX=$HOME/.local`.

PREFIX ?= /usr/local
DESTDIR ?=
BIN = $(DESTDIR)$(PREFIX)/bin
LIB = $(DESTDIR)$(PREFIX)/lib/furwock

.PHONY: all install uninstall

all:
	cargo build --release

install: all
	install -D -m 755 target/release/furwock $(BIN)/furwock
	install -D -m 644 target/release/libfurwock_preload.so $(LIB)/libfurwock_preload.so

uninstall:
	rm -f $(BIN)/furwock $(LIB)/libfurwock_preload.so
	-rmdir $(LIB)
