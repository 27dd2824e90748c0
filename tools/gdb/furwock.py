"""furwock-locks: which threads wait for furwock's locks, and which threads hold those.

    (gdb) source /usr/local/share/furwock/furwock.py
    (gdb) furwock-locks
    (gdb) furwock-locks -a          also semaphores, condvars, barriers and words

Works on a live process and on a core dump, of a program under `furwock run` and of one that was
built with the crate or the C library. It reads memory only. The engine says where its records are
in `furwock_inspect` (furwock/src/inspect/layout.rs).
"""

import re
import struct

import gdb

MAGIC = b"furwock-inspect\0"
VERSION = 1

FIELDS = (
    "newest_chunk chunk_used chunk_older chunk_threads thread_size parker key token tid rows"
    " rows_used row_size row_slots row_owner names names_places names_objects names_entries"
    " name_size name_text name_text_size name_waits"
).split()
# The address of the layout itself stands before them.
FIRST_FIELD = 16 + 4 + 4 + 8

NOWHERE = (1 << 64) - 1
MANY = NOWHERE - 1
ADDRESS = (1 << 60) - 1
WORD, MUTEX, RWLOCK, CONDVAR, SEMAPHORE, BARRIER, SLOT = range(7)
KINDS = {
    WORD: "word",
    MUTEX: "mutex",
    RWLOCK: "rwlock",
    CONDVAR: "condvar",
    SEMAPHORE: "semaphore",
    BARRIER: "barrier",
    SLOT: "rwlock",
}

# The bits of a lock's word.
OWNER = (1 << 22) - 1
WRITER = 1 << 22
UPGRADING = 1 << 25
BIASED = 1 << 28
REVOKED = 1 << 29
READERS_AT = 42
READERS = 0x7FFFF

# More than any process has.
MOST = 1 << 16


def memory(address, size):
    """Bytes of the process; None where there are none."""
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except (gdb.MemoryError, gdb.error, OverflowError):
        return None


def number(address, size=8):
    found = memory(address, size)
    return None if found is None else int.from_bytes(found, "little")


class Engine:
    """One engine: the preload's, or one that a program or library was built with."""

    def __init__(self, at, fields):
        self.at = at
        for name in FIELDS:
            setattr(self, name, fields.get(name, 0))

    @classmethod
    def read(cls, at):
        head = memory(at, FIRST_FIELD)
        if head is None or head[:16] != MAGIC:
            return None
        version, size, this = struct.unpack("<IIQ", head[16:])
        if this != at:
            return None
        if version != VERSION:
            print(f"The engine at {at:#x} has a layout of version {version}, not {VERSION}.")
            return None
        count = min((size - FIRST_FIELD) // 8, len(FIELDS))
        body = memory(at + FIRST_FIELD, count * 8)
        if body is None:
            return None
        return cls(at, dict(zip(FIELDS, struct.unpack(f"<{count}Q", body))))

    def records(self):
        """The records of threads: each has thread, class, object, token."""
        chunk = number(self.newest_chunk)
        for _ in range(MOST):
            if not chunk:
                return
            used = min(number(chunk + self.chunk_used) or 0, MOST)
            everything = memory(chunk + self.chunk_threads, used * self.thread_size) or b""
            for at in range(0, len(everything), self.thread_size):
                record = everything[at : at + self.thread_size]
                key, token = (
                    struct.unpack_from("<Q", record, offset)[0]
                    for offset in (self.key, self.token)
                )
                thread = struct.unpack_from("<I", record, self.tid)[0]
                if key not in (NOWHERE, MANY) and thread:
                    yield thread, key >> 60, key & ADDRESS, token
            chunk = number(chunk + self.chunk_older)

    def slots(self):
        """The slots in use: row's thread, the slot's address, the rwlock's."""
        for row in range(min(number(self.rows_used) or 0, MOST)):
            at = self.rows + row * self.row_size
            thread = number(at + self.row_owner, 4)
            for slot in range(min(self.row_slots, 64)):
                lock = (number(at + slot * 8) or 0) & ~7
                if lock:
                    yield thread, at + slot * 8, lock

    def given_names(self):
        """The names that the program gave, by address."""
        table = number(self.names) if self.names else None
        if not table:
            return {}
        places = min(self.names_places, MOST)
        objects = memory(table + self.names_objects, places * 8) or b""
        found = {}
        for place, (address,) in enumerate(struct.iter_unpack("<Q", objects)):
            if address:
                entry = table + self.names_entries + place * self.name_size
                text = memory(entry + self.name_text, self.name_text_size) or b""
                found[address] = text.split(b"\0")[0].decode("utf-8", "replace")
        return found


def find_engines():
    """By name, and by the magic in the data of files without symbols."""
    found = {}

    def look(at):
        engine = Engine.read(at)
        if engine:
            found[at] = engine

    for objfile in gdb.objfiles():
        for lookup in ("lookup_global_symbol", "lookup_static_symbol"):
            symbol = getattr(objfile, lookup)("furwock_inspect")
            if symbol is not None:
                look(int(symbol.value().address))
    try:
        look(int(gdb.parse_and_eval("(long)&furwock_inspect")))
    except gdb.error:
        pass
    # Each file of the process has at most one. Where the debugger knows the sections, the search
    # is short.
    try:
        command = "maintenance info sections -all-objects .data.rel.ro"
        sections = gdb.execute(command, to_string=True)
    except gdb.error:
        sections = ""
    for line in sections.splitlines():
        ends = re.search(r"0x([0-9a-f]+)->0x([0-9a-f]+) .*\.data\.rel\.ro", line)
        start, end = (int(end, 16) for end in ends.groups()) if ends else (0, 0)
        if 0 < end - start < 1 << 26:
            data = memory(start, end - start) or b""
            at = data.find(MAGIC)
            while at >= 0:
                look(start + at)
                at = data.find(MAGIC, at + 1)
    return list(found.values())


def threads():
    """gdb's threads by the kernel's ids."""
    found = gdb.selected_inferior().threads()
    return {thread.ptid[1] or thread.ptid[0]: thread for thread in found}


class Table:
    """What all engines of the process say."""

    def __init__(self):
        self.engines = find_engines()
        self.threads = threads()
        self.names = {}
        self.slots = []
        for engine in self.engines:
            self.names.update(engine.given_names())
            self.slots.extend(engine.slots())
        self.waits = [wait for engine in self.engines for wait in engine.records()]
        self.waits.sort(key=lambda wait: self.order(wait[0]))

    def order(self, tid):
        thread = self.threads.get(tid)
        return (0, thread.num) if thread else (1, tid)

    def thread(self, tid):
        thread = self.threads.get(tid)
        if thread is None:
            return f"LWP {tid} (ended)"
        name = f' "{thread.name}"' if thread.name else ""
        return f"{thread.num} (LWP {tid}){name}"

    def place(self, address):
        if address in self.names:
            return f"{self.names[address]} {address:#x}"
        symbol = gdb.execute(f"info symbol {address:#x}", to_string=True)
        if symbol.startswith("No symbol"):
            return f"{address:#x}"
        return f"{address:#x} <{symbol.split(' in section')[0].replace(' + ', '+')}>"

    def holders(self, kind, address):
        """The threads that hold it, and how many readers besides."""
        if kind == MUTEX:
            word = number(address, 4) or 0
            return [word & OWNER] if word & OWNER else [], 0
        if kind == SLOT:
            return [thread for thread, slot, _ in self.slots if slot == address], 0
        if kind != RWLOCK:
            return [], 0
        word = number(address) or 0
        owner = word & OWNER
        if owner and word & WRITER and not word & UPGRADING and not word & REVOKED:
            return [owner], 0
        held = [owner] if owner else []
        if word & (BIASED | REVOKED):
            held += [thread for thread, _, lock in self.slots if lock == address]
        return held, word >> READERS_AT & READERS

    def rows(self, also_unowned):
        for tid, kind, address, token in self.waits:
            if kind not in (MUTEX, RWLOCK, SLOT) and not also_unowned:
                continue
            held, readers = self.holders(kind, address)
            by = [self.thread(holder) for holder in dict.fromkeys(held)]
            if readers:
                by.append(f"{readers} reader{'s' * (readers > 1)}, not named")
            if kind == CONDVAR and token:
                by.append(f"(with mutex {self.place(token)})")
            lock = address
            if kind == SLOT:
                lock = next((lock for _, slot, lock in self.slots if slot == address), address)
            yield self.thread(tid), KINDS.get(kind, "?"), self.place(lock), ", ".join(by) or "-"


class FurwockLocks(gdb.Command):
    """Show which threads wait for furwock's locks, and which threads hold those.

    furwock-locks [-a]

    Each line is a thread that waits: what for, where that is, and the thread that holds it.
    With -a also waits for what no thread holds: condvars, semaphores, barriers, words."""

    def __init__(self):
        super().__init__("furwock-locks", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        options = gdb.string_to_argv(argument)
        if any(option != "-a" for option in options):
            raise gdb.GdbError("usage: furwock-locks [-a]")
        table = Table()
        if not table.engines:
            print("No furwock in this process: nothing exports furwock_inspect.")
            return
        rows = list(table.rows("-a" in options))
        if not rows:
            others = len(table.waits)
            print(
                "No thread waits for a lock of furwock's."
                + (f" {others} wait for something else: furwock-locks -a." if others else "")
            )
            return
        head = ("waiting thread", "for", "at", "held by")
        widths = [max(len(row[column]) for row in [head, *rows]) for column in range(3)]
        for row in [head, *rows]:
            cells = [cell.ljust(width) for cell, width in zip(row, widths)]
            print("  ".join([*cells, row[3]]).rstrip())


FurwockLocks()
