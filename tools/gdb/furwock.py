"""furwock-locks: which threads wait for furwock's locks, and which threads hold those. And in
backtraces each wait in one of furwock's calls is one frame, with what it waits for.

    (gdb) source /usr/local/share/furwock/furwock.py
    (gdb) furwock-locks
    (gdb) furwock-locks -a          also semaphores, condvars, barriers and words
    (gdb) bt
    (gdb) bt -no-filters            with furwock's own frames

Works on a live process and on a core dump, of a program under `furwock run` and of one that was
built with the crate or the C library. It reads memory only. The engine says where its records are
in `furwock_inspect` (furwock/src/inspect/layout.rs).
"""

import os
import re
import struct

import gdb
from gdb.FrameDecorator import FrameDecorator

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
        """The names that the program gave, and where they are, by the object's address."""
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
                name = text.split(b"\0")[0].decode("utf-8", "replace")
                found[address] = name, entry + self.name_text
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
            return f"{self.names[address][0]} {address:#x}"
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
            lock = self.lock_at_slot(address) if kind == SLOT else address
            yield self.thread(tid), KINDS.get(kind, "?"), self.place(lock), ", ".join(by) or "-"


    def lock_at_slot(self, slot_at):
        """The rwlock that a reader's slot names; the slot itself if it names none any more."""
        return next((lock for _, slot, lock in self.slots if slot == slot_at), slot_at)


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


class Waits:
    """What each thread waits for, read once for all backtraces of a stop."""

    def __init__(self):
        self.of = None
        self.table = None
        for event in ("cont", "exited", "new_objfile", "memory_changed", "stop"):
            getattr(gdb.events, event).connect(lambda _: self.forget())

    def forget(self):
        self.table = None

    def arguments(self, thread):
        """Names, types and addresses of the objects that it waits with; None if it has queued
        itself for nothing."""
        inferior = gdb.selected_inferior()
        if self.table is None or self.of != (inferior.num, inferior.pid):
            self.of, self.table = (inferior.num, inferior.pid), Table()
        tid = thread.ptid[1] or thread.ptid[0]
        for waiting, kind, address, token in self.table.waits:
            if waiting == tid:
                return self.described(kind, address, token)
        return None

    def described(self, kind, address, token):
        if kind == SLOT:
            address = self.table.lock_at_slot(address)
        name, type_name = ARGUMENTS.get(kind, ("word", "unsigned int"))
        found = [(name, type_name, address)]
        if kind == CONDVAR and token:
            found.append(("mutex", "pthread_mutex_t", token))
        if address in self.table.names:
            found.append(("name", "char", self.table.names[address][1]))
        return found


ARGUMENTS = {
    MUTEX: ("mutex", "pthread_mutex_t"),
    RWLOCK: ("rwlock", "pthread_rwlock_t"),
    SLOT: ("rwlock", "pthread_rwlock_t"),
    CONDVAR: ("cond", "pthread_cond_t"),
    SEMAPHORE: ("sem", "sem_t"),
    BARRIER: ("barrier", "pthread_barrier_t"),
}


def is_furwocks(frame):
    """Whether a frame is furwock's: of its libraries, or of a program that has the crate."""
    library = gdb.current_progspace().solib_name(frame.pc()) or ""
    name = frame.name() or ""
    return os.path.basename(library).startswith("libfurwock") or bool(
        re.match(r"<?furwock(_preload|_capi)?::|furwock_", name)
    )


def is_asleep(frame):
    """Whether it is the engine's sleep: of what isn't recorded, at a barrier for example."""
    return "furwock::sys::signals::open_for" in (frame.name() or "")


class Call(FrameDecorator):
    """The function that the program called, in place of the frames of a wait in it."""

    def __init__(self, outermost, arguments):
        super().__init__(outermost)
        self.outermost = outermost
        self.arguments = arguments

    def function(self):
        name = self.outermost.inferior_frame().name() or "??"
        name = re.sub(r"::h[0-9a-f]{16}$", "", name)
        if name.startswith("furwock_preload::"):
            name = name.split("::")[-1]
        return re.sub(r"_slow$", "", name)

    def frame_args(self):
        return [Argument(*argument) for argument in self.arguments]

    def frame_locals(self):
        return None


class Argument:
    def __init__(self, name, type_name, address):
        self.name = name
        self.type_name = type_name
        self.address = address

    def symbol(self):
        return self.name

    def value(self):
        try:
            pointed_to = gdb.lookup_type(self.type_name)
        except gdb.error:
            pointed_to = gdb.lookup_type("void")
        return gdb.Value(self.address).cast(pointed_to.pointer())


class Backtraces:
    """Shows the innermost frames of a thread that waits in furwock as one."""

    def __init__(self):
        self.name = "furwock"
        self.priority = 100
        self.enabled = True
        self.waits = Waits()
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        inner = []
        frames = iter(frames)
        for frame in frames:
            if is_furwocks(frame.inferior_frame()):
                inner.append(frame)
                continue
            yield from self.folded(inner)
            yield frame
            yield from frames
            return
        yield from inner

    def folded(self, inner):
        if not inner:
            return []
        arguments = self.waits.arguments(gdb.selected_thread())
        if arguments is None and not is_asleep(inner[0].inferior_frame()):
            return inner
        return [Call(inner[-1], arguments or [])]


FurwockLocks()
Backtraces()
