/*
 * furwock: futexes and locks in user space, for Linux.
 *
 * furwock_futex and furwock_waitv are the system calls: they return -1 and set errno. All other
 * functions that return an int return 0 or an error number, as pthread's do, and may change errno.
 *
 * A word is any object of 1, 2, 4 or 8 bytes, aligned to its size, that is accessed atomically:
 * _Atomic, std::atomic, or by the compiler's __atomic builtins. It needs no initialisation and no
 * clean-up. A thread that changes it wakes the waiters afterwards. Words are private: their waiters
 * are threads of one process, except those of furwock_shared_wait32 and furwock_shared_wait64.
 * furwock_futex and furwock_waitv return EFAULT for an address without memory; the other functions
 * that read a word crash.
 *
 * No function is a cancellation point, and none may be cancelled asynchronously. From a signal
 * handler that may have interrupted one of them, only furwock_futex, furwock_wake,
 * furwock_wake_bitset, furwock_mutex_trylock, furwock_semaphore_release and
 * furwock_semaphore_release_many may be called.
 *
 * It compiles as C99 and later and as C++11 and later, and needs no feature-test macro.
 *
 * Generated from the sources by capi/tests/header.rs. The manual pages say more: furwock(3).
 */

#ifndef FURWOCK_H
#define FURWOCK_H

#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Of this header; furwock_version() tells the library's. */
#define FURWOCK_VERSION_MAJOR 0
#define FURWOCK_VERSION_MINOR 3
#define FURWOCK_VERSION_PATCH 0
#define FURWOCK_VERSION_STRING "0.3.0"
/* 10203 for 1.2.3 */
#define FURWOCK_VERSION \
  (FURWOCK_VERSION_MAJOR * 10000 + FURWOCK_VERSION_MINOR * 100 + FURWOCK_VERSION_PATCH)

#ifndef FUTEX_32 /* before Linux 5.16 */
struct futex_waitv {
  uint64_t val;
  uint64_t uaddr;
  uint32_t flags;
  uint32_t __reserved;
};
#endif

#ifndef FUTEX2_PRIVATE /* before Linux 6.7 */
#define FUTEX2_SIZE_U8 0
#define FUTEX2_SIZE_U16 1
#define FUTEX2_SIZE_U32 2
#define FUTEX2_SIZE_U64 3
#define FUTEX2_PRIVATE FUTEX_PRIVATE_FLAG
#endif

#define FURWOCK_MUTEX_INIT { 0 }
#define FURWOCK_CONDVAR_INIT { 0 }
#define FURWOCK_RWLOCK_INIT { 0 }
#define FURWOCK_RWLOCK_RECURSIVE_INIT { UINT64_C(1) << 61 }
#define FURWOCK_RWLOCK_PREFER_READERS_INIT { UINT64_C(2) << 61 }
#define FURWOCK_RWLOCK_PREFER_WRITERS_INIT { UINT64_C(3) << 61 }
#define FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT { UINT64_C(4) << 61 }
#define FURWOCK_SEMAPHORE_INIT(permits) { (permits), 0 }
#define FURWOCK_BARRIER_INIT(count) { 0, (count), 0 }
#define FURWOCK_PI_MUTEX_INIT { 0, 1, 0 }
#define FURWOCK_PI_MUTEX_SHARED_INIT { 0, 0, 0 }
#define FURWOCK_PI_CONDVAR_INIT { { 0 } }
#define FURWOCK_ROBUST_MUTEX_INIT { { 0 } }
#define FURWOCK_ROBUST_RWLOCK_INIT { { 0 } }

#define FURWOCK_ALIGNED(bytes) __attribute__((aligned(bytes)))

/**
 * A flag of furwock_lock_options: doesn't take the lock ahead of a waiter that has been woken for
 * it. The caller still takes a free lock that no other thread is about to take.
 */
#define FURWOCK_NO_STEAL 1

/**
 * A flag of furwock_lock_options: sleeps without spinning first.
 */
#define FURWOCK_NO_SPIN 2

/**
 * A flag of furwock_lock_options: checks, while waiting, whether the thread that holds the lock
 * has ended without releasing it, and takes the lock over if so. The call then returns EOWNERDEAD
 * with the lock held: what it protects may be inconsistent.
 *
 * A waiter checks about every 20 ms. A new thread that got the dead one's kernel id is taken for
 * it as long as it lives; a dead reader can't be found, since the lock doesn't record readers'
 * ids.
 */
#define FURWOCK_OWNER_DEATH 4

/**
 * A policy of a furwock_rwlock, that of FURWOCK_RWLOCK_INIT: neither side starves. Readers wait
 * for waiting writers, and the longer a writer waits, the longer they do; when a writer leaves,
 * all waiting readers enter together, before the next writer.
 */
#define FURWOCK_RWLOCK_PHASE_FAIR 0

/**
 * A policy: FURWOCK_RWLOCK_PHASE_FAIR, except that no reader waits for waiting writers for more
 * than a few milliseconds, so that a thread may read what it, or a thread that it waits for, reads
 * already. POSIX requires this of a rwlock.
 */
#define FURWOCK_RWLOCK_RECURSIVE 1

/**
 * A policy: readers never wait for waiting writers. Writers starve if there are always readers
 * inside.
 */
#define FURWOCK_RWLOCK_PREFER_READERS 2

/**
 * A policy: readers wait as long as any writer waits. They starve if there are always writers.
 */
#define FURWOCK_RWLOCK_PREFER_WRITERS 3

/**
 * A policy: FURWOCK_RWLOCK_RECURSIVE, but when a writer leaves, the next writer goes first.
 */
#define FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE 4

/**
 * The most permits that a semaphore has.
 */
#define FURWOCK_SEMAPHORE_MOST 2147483647

/**
 * How many readers of a furwock_robust_rwlock may be inside at once.
 */
#define FURWOCK_ROBUST_READERS 64

/**
 * The way by which a lock was got.
 */
typedef enum furwock_lock_how {
  /**
   * It was free, and no thread waited for it.
   */
  FURWOCK_HOW_FAST,
  /**
   * It was free, though others waited for it or had just had it: the caller overtook them.
   */
  FURWOCK_HOW_STOLEN,
  /**
   * The caller spun until it was free; at a rwlock, or on the only processor, it may have
   * yielded.
   */
  FURWOCK_HOW_SPUN,
  /**
   * The caller slept, and took it once it ran again.
   */
  FURWOCK_HOW_SLEPT,
  /**
   * It was handed to the caller as it slept; a reader that slept and was let in gets this, too.
   */
  FURWOCK_HOW_HANDED_OVER,
} furwock_lock_how;

/**
 * Words that stay registered between waits, which makes each wait cheap: for repeated waits on the
 * same words. One thread at a time may use it.
 */
typedef struct furwock_registration furwock_registration;

/**
 * A descriptor in a word's queue.
 */
typedef struct furwock_waitfd furwock_waitfd;

/**
 * A point in time at which a wait gives up. Waits take it by pointer; NULL waits as long as it
 * takes.
 */
typedef struct furwock_deadline {
  /**
   * CLOCK_MONOTONIC, or CLOCK_REALTIME: then the deadline moves when the clock is set.
   */
  clockid_t clock;
  /**
   * The point in time, counted from the clock's zero. A negative time has passed.
   */
  struct timespec at;
} furwock_deadline;

/**
 * What a requeue did.
 */
typedef struct furwock_requeued {
  /**
   * Waiters woken.
   */
  size_t woken;
  /**
   * Waiters moved to the other word.
   */
  size_t moved;
} furwock_requeued;

/**
 * A word, and the value that it is expected to hold.
 */
typedef struct furwock_expected {
  /**
   * The word.
   */
  const volatile void *word;
  /**
   * Its size in bytes: 1, 2, 4 or 8.
   */
  size_t size;
  /**
   * The value.
   */
  uint64_t value;
} furwock_expected;

/**
 * A mutex of four bytes for throughput: a running thread may take it ahead of the queue, one
 * waiter spins, the others sleep, and none is overtaken for long. FURWOCK_MUTEX_INIT, or zero
 * bytes, make one that is free; it needs no clean-up.
 *
 * Not recursive, for threads of one process. Its memory may be freed as soon as it has been
 * unlocked for the last time, even while that unlock is still returning in another thread.
 */
typedef struct furwock_mutex {
  /**
   * furwock's own. 0 when free.
   */
  uint32_t word;
} furwock_mutex;

/**
 * How one call takes a lock. NULL, or zero bytes, means what the plain call does.
 */
typedef struct furwock_lock_options {
  /**
   * When to give up; NULL: never.
   */
  const struct furwock_deadline *until;
  /**
   * How long to wait, from the first sleep on, before asking for a hand-off: the lock then goes
   * to the first waiter in the queue. 0: the plain call's 5 ms. Where a mutex's holders sleep or
   * yield, a thread with 5 ms at most asks as soon as it was woken in vain, or once it was 16
   * times if the program keeps all its processors busy; with 5 ms not where eight wakes in a row
   * were in vain.
   */
  uint64_t hand_off_after_ns;
  /**
   * FURWOCK_NO_STEAL, FURWOCK_NO_SPIN, FURWOCK_OWNER_DEATH, or none.
   */
  unsigned int flags;
} furwock_lock_options;

/**
 * How one call got a lock. It costs nothing extra, and is stored only if the call got the lock.
 */
typedef struct furwock_lock_status {
  /**
   * The way.
   */
  enum furwock_lock_how how;
  /**
   * How often the caller slept while it waited.
   */
  uint32_t sleeps;
  /**
   * Its owner had ended without releasing it (FURWOCK_OWNER_DEATH).
   */
  bool owner_died;
} furwock_lock_status;

/**
 * An attempt to take a mutex that leaves the last step to the caller: the caller waits until the
 * mutex has been seen free, may check something once more, and then takes the mutex, waits again,
 * or leaves it.
 *
 * It lies in the caller's memory. The caller neither moves nor copies it between
 * furwock_mutex_attempt_begin and furwock_mutex_attempt_end, and uses it in one thread. Nothing is
 * allocated.
 */
typedef struct furwock_mutex_attempt {
  /**
   * furwock's own.
   */
  uint64_t own[16];
} furwock_mutex_attempt;

/**
 * A condition variable of four bytes, whose broadcast to several waiters moves them to the mutex
 * instead of waking them to block on it. FURWOCK_CONDVAR_INIT, or zero bytes, make one; it needs
 * no clean-up.
 *
 * All threads that wait at the same time should use the same mutex.
 */
typedef struct furwock_condvar {
  /**
   * furwock's own. 0 when no thread waits.
   */
  uint32_t word;
} furwock_condvar;

/**
 * A reader-writer lock of eight bytes: shared by readers, or held by one writer. Besides the
 * readers one upgradable reader may be inside, which can become the writer without releasing the
 * lock. The policy decides which of readers and writers go first. Readers of a lock that is mostly
 * read enter by a slot in their own thread's memory.
 *
 * FURWOCK_RWLOCK_INIT, or zero bytes, make one that is free and phase-fair;
 * FURWOCK_RWLOCK_RECURSIVE_INIT, FURWOCK_RWLOCK_PREFER_READERS_INIT,
 * FURWOCK_RWLOCK_PREFER_WRITERS_INIT and FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT the others.
 * It needs no clean-up once all readers and writers have left: see furwock_rwlock_destroy.
 *
 * For threads of one process; the thread that enters must be the one that leaves. It may not be
 * moved while it is in use. Its memory may be freed as soon as it has been unlocked for the last
 * time, even while that unlock is still returning in another thread.
 */
typedef struct furwock_rwlock {
  /**
   * furwock's own. A free lock's is not always 0.
   */
  uint64_t word;
} furwock_rwlock;

/**
 * A counting semaphore: any thread takes permits and gives them back.
 * FURWOCK_SEMAPHORE_INIT(permits) makes one, and zero bytes are one without permits; it needs no
 * clean-up.
 *
 * For threads of one process. Its memory may be freed as soon as no thread waits and none is going
 * to, even while a release is still returning in another thread.
 */
typedef struct furwock_semaphore {
  /**
   * furwock's own: the permits, and from bit 32 on the waiters.
   */
  uint64_t word;
  /**
   * Zero.
   */
  uint64_t reserved;
} furwock_semaphore;

/**
 * A barrier, at which a number of threads wait for each other, round after round.
 * FURWOCK_BARRIER_INIT(count) makes one; it needs no clean-up.
 *
 * For threads of one process. Its memory may be freed as soon as a round is complete and no other
 * has begun, even while the threads of that round are still returning.
 */
typedef struct furwock_barrier {
  /**
   * furwock's own: how many threads have arrived.
   */
  uint32_t word;
  /**
   * How many threads a round takes. It stays as it is.
   */
  uint32_t count;
  /**
   * Zero.
   */
  uint64_t reserved;
} furwock_barrier;

/**
 * A mutex whose owner runs at the priority of its most urgent waiter. FURWOCK_PI_MUTEX_INIT makes
 * one for the threads of this process, FURWOCK_PI_MUTEX_SHARED_INIT, or zero bytes, one for all
 * processes that map its memory; it needs no clean-up.
 *
 * Waiters sleep in the kernel, which hands the mutex to the one of the highest priority. Not
 * recursive, and not robust.
 */
typedef struct furwock_pi_mutex {
  /**
   * furwock's own. 0 when free.
   */
  uint32_t word;
  /**
   * furwock's own: 0 if several processes may use it.
   */
  uint32_t scope;
  /**
   * Zero.
   */
  uint64_t reserved;
} furwock_pi_mutex;

/**
 * A condition variable for furwock_pi_mutex: a signal moves waiters to the mutex, whose owner runs
 * at their priority from then on. FURWOCK_PI_CONDVAR_INIT, or zero bytes, make one; it needs no
 * clean-up.
 *
 * Threads that wait at the same time have to use the same mutex. Processes may share it with that
 * mutex if both lie in one mapping. Its memory may be freed once every wait has returned.
 */
typedef struct furwock_pi_condvar {
  /**
   * furwock's own.
   */
  uint64_t own[4];
} furwock_pi_condvar;

/**
 * A mutex for threads and processes that may die holding it. FURWOCK_ROBUST_MUTEX_INIT, or zero
 * bytes, make a free one; it needs no clean-up once no thread holds it.
 *
 * It may lie in memory that several processes of one PID namespace map. While a thread holds it,
 * its memory stays mapped and in place. Not recursive. A forked child holds nothing.
 */
typedef struct furwock_robust_mutex {
  /**
   * furwock's own.
   */
  uint64_t own[16];
} furwock_robust_mutex;

/**
 * A reader-writer lock for threads and processes that may die inside. FURWOCK_ROBUST_RWLOCK_INIT,
 * or zero bytes, make a free one; it needs no clean-up once no thread is inside.
 *
 * The lock forgets a reader that dies. After a writer's death the next thread, reader or writer,
 * gets the lock exclusively, by EOWNERDEAD. FURWOCK_ROBUST_READERS readers may be inside at once;
 * one more waits until one of them leaves.
 *
 * It is aligned to 64 bytes: each reader writes a cache line of its own. It may lie in memory that
 * several processes of one PID namespace map. While a thread is inside, its memory stays mapped
 * and in place. A forked child is not inside.
 */
typedef struct FURWOCK_ALIGNED(64) furwock_robust_rwlock {
  /**
   * furwock's own.
   */
  uint64_t own[528];
} furwock_robust_rwlock;

/**
 * CLOCK_REALTIME, by a name that needs no feature-test macro.
 */
#define FURWOCK_CLOCK_REALTIME 0

/**
 * CLOCK_MONOTONIC, by a name that needs no feature-test macro.
 */
#define FURWOCK_CLOCK_MONOTONIC 1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that the program runs with, as FURWOCK_VERSION has that of the header
 * which it was compiled with: 10000 times the first number, plus 100 times the second, plus the
 * third.
 */
unsigned int furwock_version(void);

/**
 * The same as a string, as FURWOCK_VERSION_STRING. It is the library's own, and stays.
 */
const char *furwock_version_string(void);

/**
 * futex(2), with its arguments, results and errno: `furwock_futex(...)` replaces
 * `syscall(SYS_futex, ...)`. Returns -1 and sets errno if it fails.
 *
 * Operations with FUTEX_PRIVATE_FLAG run on furwock's own wait queues, which they share with all
 * other calls of this header on the same words; they don't reach threads that wait by the system
 * call itself. Everything else is passed on to the kernel.
 *
 * The words need not exist: the result is EFAULT, as from the kernel. `timeout_or_val2` is a
 * number cast to a pointer where the operation takes one.
 */
long furwock_futex(uint32_t *uaddr,
                   int op,
                   uint32_t val,
                   const struct timespec *timeout_or_val2,
                   uint32_t *uaddr2,
                   uint32_t val3);

/**
 * futex_waitv(2): waits until woken at any of `count` words, and returns its index; or returns -1
 * and sets errno. `flags` has to be 0, `timeout` is a point in time on `clock` or NULL.
 *
 * If all words are private (FUTEX2_PRIVATE) there may be any number of them, of 8, 16, 32 and 64
 * bits (FUTEX2_SIZE_U8 to _U64), on any kernel. With a shared word among them the call goes to the
 * kernel, with its limits: 128 words, of 32 bits.
 */
long furwock_waitv(const struct futex_waitv *waiters,
                   unsigned int count,
                   unsigned int flags,
                   const struct timespec *timeout,
                   clockid_t clock);

/**
 * The deadline that many nanoseconds from now, on CLOCK_MONOTONIC.
 */
struct furwock_deadline furwock_after_ns(uint64_t nanoseconds);

/**
 * Waits until woken, if the 8-bit word holds `expected`.
 *
 * Returns 0 when woken (rarely a wake is spurious: look at the word again); EAGAIN if the word
 * holds another value; ETIMEDOUT; EINVAL for a word that is NULL or not aligned, or a malformed
 * deadline. Signals don't end the wait.
 */
int furwock_wait8(const volatile void *word,
                  uint8_t expected,
                  const struct furwock_deadline *until);

/**
 * furwock_wait8 for a word of 16 bits.
 */
int furwock_wait16(const volatile void *word,
                   uint16_t expected,
                   const struct furwock_deadline *until);

/**
 * furwock_wait8 for a word of 32 bits.
 */
int furwock_wait32(const volatile void *word,
                   uint32_t expected,
                   const struct furwock_deadline *until);

/**
 * furwock_wait8 for a word of 64 bits.
 */
int furwock_wait64(const volatile void *word,
                   uint64_t expected,
                   const struct furwock_deadline *until);

/**
 * furwock_wait8 for a pointer: `word` is the pointer's own address.
 */
int furwock_wait_pointer(const volatile void *word,
                         const volatile void *expected,
                         const struct furwock_deadline *until);

/**
 * furwock_wait8 for a word of `size` bytes (1, 2, 4 or 8) and for wakes that have a bit in common
 * with `bitset`. Wakes without a bitset match every waiter. Also returns EINVAL for any other
 * size, a value that doesn't fit in it, and a bitset of 0.
 */
int furwock_wait_bitset(const volatile void *word,
                        size_t size,
                        uint64_t expected,
                        uint32_t bitset,
                        const struct furwock_deadline *until);

/**
 * Wakes up to `count` waiters of `word`, which may have any width; those that have waited longest
 * come first. Returns how many it woke.
 *
 * Change the word first. This call doesn't read it, and the word need not exist any more. SIZE_MAX
 * wakes all.
 */
size_t furwock_wake(const volatile void *word, size_t count);

/**
 * furwock_wake for waiters whose bitset has a bit in common with `bitset`. Waiters without a
 * bitset have all bits.
 */
size_t furwock_wake_bitset(const volatile void *word, size_t count, uint32_t bitset);

/**
 * Wakes up to `wake` waiters of `from`, and moves up to `move` of the others to the end of the
 * queue of `to`. Stores how many in `*done`, unless that is NULL.
 *
 * A moved waiter keeps its deadline and waits until `to` is woken. Returns 0, or EINVAL for a word
 * that is NULL.
 */
int furwock_requeue(const volatile void *from,
                    const volatile void *to,
                    size_t wake,
                    size_t move,
                    struct furwock_requeued *done);

/**
 * furwock_requeue, provided that `from`, a word of `size` bytes (1, 2, 4 or 8), holds `expected`.
 *
 * The check and the requeue are one atomic step for other calls on `from`. Returns EAGAIN if it
 * holds another value: then no waiter was woken or moved. Also returns EINVAL for a word that is
 * not aligned, any other size, and a value that doesn't fit in it.
 */
int furwock_compare_requeue(const volatile void *from,
                            size_t size,
                            uint64_t expected,
                            const volatile void *to,
                            size_t wake,
                            size_t move,
                            struct furwock_requeued *done);

/**
 * Waits until woken at any of `count` words, if all of them hold their values. Any number of
 * words, of different widths. With no words at all, waits for the deadline.
 *
 * Returns 0 when woken (rarely, a wake is spurious) and EAGAIN if a word holds another value: in
 * both cases `*index`, unless that is NULL, says which. ETIMEDOUT; ENOMEM; EINVAL for a malformed
 * word or deadline, and for no words without a deadline.
 */
int furwock_wait_any(const struct furwock_expected *words,
                     size_t count,
                     const struct furwock_deadline *until,
                     size_t *index);

/**
 * Registers `count` words, with the values that they should hold in the first wait, and stores the
 * registration in `*registration`. Returns 0, EINVAL or ENOMEM, as furwock_wait_any.
 *
 * The words have to exist until furwock_registration_free. A wake that comes while no thread waits
 * in the registration skips it; a change of the word is not lost, since the next wait sees it.
 */
int furwock_register(const struct furwock_expected *words,
                     size_t count,
                     struct furwock_registration **registration);

/**
 * Sets the value that the word with this index should hold in later waits. Returns 0; EINVAL if
 * there is no such word, or the value doesn't fit in it.
 */
int furwock_registration_expect(struct furwock_registration *registration,
                                size_t index,
                                uint64_t value);

/**
 * furwock_wait_any on the registered words.
 */
int furwock_registration_wait(struct furwock_registration *registration,
                              const struct furwock_deadline *until,
                              size_t *index);

/**
 * Takes the words out of the queues and frees the registration. NULL does nothing.
 */
void furwock_registration_free(struct furwock_registration *registration);

/**
 * Queues a descriptor at `word`, of `size` bytes (1, 2, 4 or 8), if that holds `expected`, and
 * stores a handle to it in `*waitfd`. The descriptor polls as readable once woken. It stands in
 * the same queue as threads, and takes one wake.
 *
 * Returns 0; EAGAIN if the word holds another value; EINVAL as furwock_wait_bitset; EMFILE,
 * ENFILE, ENOMEM. The word has to exist until furwock_waitfd_close.
 */
int furwock_wait_fd(const volatile void *word,
                    size_t size,
                    uint64_t expected,
                    struct furwock_waitfd **waitfd);

/**
 * Returns the descriptor, for poll(2), epoll(7) and the like, or -1 for NULL. It belongs to the
 * handle: don't read or close it.
 */
int furwock_waitfd_fd(const struct furwock_waitfd *waitfd);

/**
 * Returns 0 if it was woken: the caller takes the wake, and sees what the waker wrote before it.
 * EAGAIN if it wasn't; EBADF for NULL. Call it whenever the descriptor has polled as readable.
 */
int furwock_waitfd_woken(struct furwock_waitfd *waitfd);

/**
 * Leaves the queue, closes the descriptor and frees the handle. A wake that furwock_waitfd_woken
 * never reported goes on to the next waiter. close(2) on the descriptor does none of that: the
 * waiter would stay queued, and use up a wake. NULL does nothing.
 */
void furwock_waitfd_close(struct furwock_waitfd *waitfd);

/**
 * Waits until woken by furwock_shared_wake, if the 32-bit word holds `expected`. The word may lie
 * in memory that several processes map, at different addresses too.
 *
 * Returns 0 when woken, also for no reason, as after a signal: look at the word again. EAGAIN if
 * the word holds another value; ETIMEDOUT; EINVAL for a word that is NULL or not aligned, or a
 * malformed deadline; or the kernel's error.
 */
int furwock_shared_wait32(const volatile void *word,
                          uint32_t expected,
                          const struct furwock_deadline *until);

/**
 * furwock_shared_wait32 for a word of 64 bits. Needs Linux 5.16: ENOTSUP before.
 *
 * Each change of the word has to be one store of all 64 bits.
 */
int furwock_shared_wait64(const volatile void *word,
                          uint64_t expected,
                          const struct furwock_deadline *until);

/**
 * Wakes up to `count` threads, of any process, that wait in furwock_shared_wait32 or
 * furwock_shared_wait64 for this word. Stores how many in `*woken`, unless that is NULL.
 *
 * Change the word first. SIZE_MAX wakes all. Returns 0, EINVAL for a word that is NULL or not
 * aligned, or the kernel's error.
 */
int furwock_shared_wake(const volatile void *word, size_t count, size_t *woken);

/**
 * Initialises a free mutex, as FURWOCK_MUTEX_INIT does, whatever the memory held before. Returns
 * 0, or EINVAL for a mutex that is NULL or not aligned.
 */
int furwock_mutex_init(struct furwock_mutex *mutex);

/**
 * Takes the lock, waiting as long as it takes. Returns 0, or EINVAL for a mutex that is NULL or
 * not aligned. A thread that locks a mutex it holds waits for ever.
 */
int furwock_mutex_lock(struct furwock_mutex *mutex);

/**
 * Takes the lock if that is possible without waiting. Returns 0, EBUSY or EINVAL.
 */
int furwock_mutex_trylock(struct furwock_mutex *mutex);

/**
 * Takes the lock, or gives up at the deadline. Returns 0, ETIMEDOUT, or EINVAL, also for a
 * malformed deadline. Takes a free lock even if the deadline has passed.
 */
int furwock_mutex_lock_until(struct furwock_mutex *mutex, const struct furwock_deadline *until);

/**
 * Takes the lock with `options` (NULL: as furwock_mutex_lock), and stores how in `*status`, unless
 * that is NULL. Costs no more than furwock_mutex_lock.
 *
 * Returns 0; ETIMEDOUT; EINVAL, also for an unknown flag; EOWNERDEAD: the caller holds the lock,
 * and its previous owner has ended without releasing it (FURWOCK_OWNER_DEATH).
 */
int furwock_mutex_lock_with(struct furwock_mutex *mutex,
                            const struct furwock_lock_options *options,
                            struct furwock_lock_status *status);

/**
 * Releases the lock, even one that another thread holds. Returns 0 or EINVAL.
 */
int furwock_mutex_unlock(struct furwock_mutex *mutex);

/**
 * furwock_mutex_unlock that returns how many waiters it woke, or handed the lock to. 0 for NULL.
 */
size_t furwock_mutex_unlock_counting(struct furwock_mutex *mutex);

/**
 * furwock_mutex_unlock that hands the lock to the waiter that has waited longest, if there is one,
 * instead of letting any thread take it.
 */
int furwock_mutex_unlock_fair(struct furwock_mutex *mutex);

/**
 * The kernel's id of the thread that holds it, 0 if it is free. The answer may be out of date at
 * once, unless it names the caller.
 */
pid_t furwock_mutex_owner(const struct furwock_mutex *mutex);

/**
 * Whether a thread holds it.
 */
bool furwock_mutex_is_locked(const struct furwock_mutex *mutex);

/**
 * Begins an attempt, with options or NULL. Doesn't wait, and doesn't take the mutex yet. Returns
 * 0, or EINVAL, also for malformed options: then there is nothing to end. The options need not
 * outlive the call.
 */
int furwock_mutex_attempt_begin(struct furwock_mutex_attempt *attempt,
                                struct furwock_mutex *mutex,
                                const struct furwock_lock_options *options);

/**
 * Waits until it is the caller's turn. Returns EAGAIN if the mutex was free a moment ago:
 * furwock_mutex_attempt_try_take takes it. A thread whose turn it is holds up the waiters behind
 * it until it takes the mutex, waits again, or ends the attempt.
 *
 * Returns 0 if the mutex was handed over and the caller holds it, and EOWNERDEAD if the caller
 * holds it as FURWOCK_OWNER_DEATH describes; both store how in `*status`, unless that is NULL.
 * Returns ETIMEDOUT after the deadline. After these three the attempt is over, and only
 * furwock_mutex_attempt_end may be called. Returns EINVAL for an attempt that is over, or hasn't
 * begun.
 */
int furwock_mutex_attempt_wait(struct furwock_mutex_attempt *attempt,
                               struct furwock_lock_status *status);

/**
 * Takes the mutex if it is free, and stores how in `*status`, unless that is NULL. Returns 0 if
 * the caller holds it now: the attempt is over. EBUSY: another thread was faster; wait again.
 * EINVAL as furwock_mutex_attempt_wait.
 */
int furwock_mutex_attempt_try_take(struct furwock_mutex_attempt *attempt,
                                   struct furwock_lock_status *status);

/**
 * Ends an attempt, whatever its result. If it didn't get the mutex, the waiters behind it go on;
 * if it did, the caller keeps the mutex, until it calls furwock_mutex_unlock. Returns 0, or EINVAL
 * for an attempt that hasn't begun, or has ended.
 */
int furwock_mutex_attempt_end(struct furwock_mutex_attempt *attempt);

/**
 * Initialises a condition variable without waiters, as FURWOCK_CONDVAR_INIT does, whatever the
 * memory held before. Returns 0, or EINVAL for one that is NULL or not aligned.
 */
int furwock_condvar_init(struct furwock_condvar *condvar);

/**
 * Releases the mutex, waits for a signal, and locks the mutex again. As with every condition
 * variable, a wakeup may be spurious: check the condition again.
 *
 * Returns 0; EPERM if no thread holds the mutex; EINVAL for an object that is NULL or not aligned.
 */
int furwock_condvar_wait(struct furwock_condvar *condvar, struct furwock_mutex *mutex);

/**
 * furwock_condvar_wait with a deadline. Returns ETIMEDOUT, with the mutex locked again, if the
 * deadline passed before a signal chose the caller.
 */
int furwock_condvar_wait_until(struct furwock_condvar *condvar,
                               struct furwock_mutex *mutex,
                               const struct furwock_deadline *until);

/**
 * Wakes one waiter, the one that has waited longest, if there is one. Returns 0 or EINVAL.
 *
 * The caller holds the mutex, or has held it since it changed the condition.
 */
int furwock_condvar_signal(struct furwock_condvar *condvar);

/**
 * furwock_condvar_signal for all waiters.
 */
int furwock_condvar_broadcast(struct furwock_condvar *condvar);

/**
 * Initialises a free lock with a policy: FURWOCK_RWLOCK_PHASE_FAIR, FURWOCK_RWLOCK_RECURSIVE,
 * FURWOCK_RWLOCK_PREFER_READERS, FURWOCK_RWLOCK_PREFER_WRITERS or
 * FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE. Returns 0, or EINVAL for any other policy, or a lock
 * that is NULL or not aligned.
 */
int furwock_rwlock_init(struct furwock_rwlock *lock, int policy);

/**
 * Forgets readers that entered and never left, for example because their threads ended inside.
 * Returns 0 or EINVAL.
 *
 * Their threads' memory may still hold the lock's address, and writers of a lock that is made
 * there later would wait for them. If all readers have left, there is nothing to forget, and this
 * need not be called. The lock may not be used any more, except by furwock_rwlock_init.
 */
int furwock_rwlock_destroy(struct furwock_rwlock *lock);

/**
 * The policy; -1 for NULL.
 */
int furwock_rwlock_policy(const struct furwock_rwlock *lock);

/**
 * Sets the policy, for calls that begin from now on; the lock may be in use. Returns 0 or EINVAL.
 */
int furwock_rwlock_set_policy(struct furwock_rwlock *lock, int policy);

/**
 * Enters as a reader, waiting as long as it takes. Returns 0, or EINVAL for a lock that is NULL or
 * not aligned.
 *
 * Under FURWOCK_RWLOCK_PHASE_FAIR and FURWOCK_RWLOCK_PREFER_WRITERS, a thread that reads already
 * may deadlock with itself if a writer waits: see furwock_rwlock_rdlock_recursive.
 */
int furwock_rwlock_rdlock(struct furwock_rwlock *lock);

/**
 * Enters as a reader unless it would have to wait. Returns 0, EBUSY or EINVAL. Where readers wait
 * for waiting writers, this may also give up because of them.
 */
int furwock_rwlock_tryrdlock(struct furwock_rwlock *lock);

/**
 * Enters as a reader, or gives up at the deadline. Returns 0, ETIMEDOUT, or EINVAL, also for a
 * malformed deadline. Enters a lock that is open even if the deadline has passed.
 */
int furwock_rwlock_rdlock_until(struct furwock_rwlock *lock, const struct furwock_deadline *until);

/**
 * Enters as a reader with `options` (NULL: as furwock_rwlock_rdlock), and stores how in `*status`,
 * unless that is NULL.
 *
 * Returns 0; ETIMEDOUT; EINVAL, also for an unknown flag; EOWNERDEAD: the caller is inside as a
 * reader, in place of a writer that has ended without leaving (FURWOCK_OWNER_DEATH). Other readers
 * don't get this error.
 */
int furwock_rwlock_rdlock_with(struct furwock_rwlock *lock,
                               const struct furwock_lock_options *options,
                               struct furwock_lock_status *status);

/**
 * Enters as a reader unless a writer is inside, ahead of all waiting writers: for threads that
 * read already, and mustn't wait for a writer that waits for them. Leave with
 * furwock_rwlock_rdunlock. Returns 0 or EINVAL.
 */
int furwock_rwlock_rdlock_recursive(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_rdlock_recursive that doesn't wait: EBUSY if a writer is inside.
 */
int furwock_rwlock_tryrdlock_recursive(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_rdlock_recursive with a deadline: ETIMEDOUT once it has passed.
 */
int furwock_rwlock_rdlock_recursive_until(struct furwock_rwlock *lock,
                                          const struct furwock_deadline *until);

/**
 * Leaves as a reader, which the calling thread must be: otherwise the lock is corrupted. Returns 0
 * or EINVAL.
 */
int furwock_rwlock_rdunlock(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_rdunlock that returns how many waiters it admitted or woke. 0 for NULL.
 */
size_t furwock_rwlock_rdunlock_counting(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_rdunlock after which no thread overtakes the waiters.
 */
int furwock_rwlock_rdunlock_fair(struct furwock_rwlock *lock);

/**
 * Enters as the writer, waiting as long as it takes. Returns 0 or EINVAL. A thread that is inside
 * already waits for ever.
 */
int furwock_rwlock_wrlock(struct furwock_rwlock *lock);

/**
 * Enters as the writer unless it would have to wait. Returns 0, EBUSY or EINVAL.
 */
int furwock_rwlock_trywrlock(struct furwock_rwlock *lock);

/**
 * Enters as the writer, or gives up at the deadline. Returns 0, ETIMEDOUT or EINVAL.
 */
int furwock_rwlock_wrlock_until(struct furwock_rwlock *lock, const struct furwock_deadline *until);

/**
 * Enters as the writer with `options` (NULL: as furwock_rwlock_wrlock), and stores how in
 * `*status`, unless that is NULL.
 *
 * Returns 0; ETIMEDOUT; EINVAL; EOWNERDEAD: the caller is the writer, in place of a writer or an
 * upgradable reader that has ended without leaving (FURWOCK_OWNER_DEATH).
 */
int furwock_rwlock_wrlock_with(struct furwock_rwlock *lock,
                               const struct furwock_lock_options *options,
                               struct furwock_lock_status *status);

/**
 * Leaves as the writer. Returns 0 or EINVAL. Does nothing if there is no writer; doesn't check
 * that the writer is the calling thread.
 */
int furwock_rwlock_wrunlock(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_wrunlock that returns how many waiters it admitted or woke. 0 for NULL.
 */
size_t furwock_rwlock_wrunlock_counting(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_wrunlock after which no thread overtakes the waiters.
 */
int furwock_rwlock_wrunlock_fair(struct furwock_rwlock *lock);

/**
 * Enters as the upgradable reader, waiting as long as it takes. It shares the lock with readers,
 * and excludes the writer and other upgradable readers. Returns 0 or EINVAL.
 */
int furwock_rwlock_uplock(struct furwock_rwlock *lock);

/**
 * Enters as the upgradable reader unless it would have to wait. Returns 0, EBUSY or EINVAL.
 */
int furwock_rwlock_tryuplock(struct furwock_rwlock *lock);

/**
 * Enters as the upgradable reader, or gives up at the deadline. Returns 0, ETIMEDOUT or EINVAL.
 */
int furwock_rwlock_uplock_until(struct furwock_rwlock *lock, const struct furwock_deadline *until);

/**
 * Leaves as the upgradable reader. Returns 0 or EINVAL. Does nothing if there is none.
 */
int furwock_rwlock_upunlock(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_upunlock that returns how many waiters it admitted or woke. 0 for NULL.
 */
size_t furwock_rwlock_upunlock_counting(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_upunlock after which no thread overtakes the waiters.
 */
int furwock_rwlock_upunlock_fair(struct furwock_rwlock *lock);

/**
 * Turns the caller from the upgradable reader into the writer, once all readers have left;
 * meanwhile no reader enters, and no other writer gets in between. Returns 0; EPERM if there is no
 * upgradable reader; EINVAL. A thread that is also inside as a reader waits for ever.
 */
int furwock_rwlock_upgrade(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_upgrade that doesn't wait: EBUSY if there are readers, and the caller remains the
 * upgradable reader.
 */
int furwock_rwlock_tryupgrade(struct furwock_rwlock *lock);

/**
 * furwock_rwlock_upgrade with a deadline: ETIMEDOUT once it has passed, and the caller remains the
 * upgradable reader.
 */
int furwock_rwlock_upgrade_until(struct furwock_rwlock *lock, const struct furwock_deadline *until);

/**
 * Turns the caller from the writer into a reader, without releasing the lock. Returns 0; EPERM if
 * there is no writer; EINVAL.
 */
int furwock_rwlock_downgrade(struct furwock_rwlock *lock);

/**
 * Turns the caller from the writer into the upgradable reader, without releasing the lock. Returns
 * 0; EPERM if there is no writer; EINVAL.
 */
int furwock_rwlock_downgrade_to_upgradable(struct furwock_rwlock *lock);

/**
 * Turns the caller from the upgradable reader into a reader, without releasing the lock. Returns
 * 0; EPERM if there is no upgradable reader; EINVAL.
 */
int furwock_rwlock_downgrade_upgradable(struct furwock_rwlock *lock);

/**
 * The kernel's id of the thread that is the writer or the upgradable reader, 0 if there is
 * neither. The answer may be out of date at once, unless it names the caller.
 */
pid_t furwock_rwlock_owner(const struct furwock_rwlock *lock);

/**
 * Whether there are readers or a writer inside.
 */
bool furwock_rwlock_is_locked(const struct furwock_rwlock *lock);

/**
 * Whether a writer is inside.
 */
bool furwock_rwlock_is_write_locked(const struct furwock_rwlock *lock);

/**
 * Initialises a semaphore with that many permits. Returns 0, or EINVAL for one that is NULL or not
 * aligned, and for more than FURWOCK_SEMAPHORE_MOST permits.
 */
int furwock_semaphore_init(struct furwock_semaphore *semaphore, uint32_t permits);

/**
 * Takes a permit, waiting as long as it takes. Returns 0, or EINVAL for a semaphore that is NULL
 * or not aligned. Signals don't end the wait.
 */
int furwock_semaphore_acquire(struct furwock_semaphore *semaphore);

/**
 * Takes a permit if there is one. Returns 0, EINVAL, or EAGAIN, as sem_trywait(3) has it.
 */
int furwock_semaphore_tryacquire(struct furwock_semaphore *semaphore);

/**
 * Takes a permit, or gives up at the deadline. Returns 0, ETIMEDOUT, or EINVAL, also for a
 * malformed deadline. Takes a permit that is there even if the deadline has passed.
 */
int furwock_semaphore_acquire_until(struct furwock_semaphore *semaphore,
                                    const struct furwock_deadline *until);

/**
 * Gives back a permit, or makes one, and wakes a waiter if there is one. Returns 0; EINVAL;
 * EOVERFLOW, with the semaphore unchanged, if it has FURWOCK_SEMAPHORE_MOST permits already. It
 * may be called from any signal handler.
 */
int furwock_semaphore_release(struct furwock_semaphore *semaphore);

/**
 * furwock_semaphore_release of that many permits, which wakes as many waiters.
 */
int furwock_semaphore_release_many(struct furwock_semaphore *semaphore, uint32_t permits);

/**
 * How many permits there are: 0 while threads wait, and for NULL. The answer may be out of date at
 * once.
 */
uint32_t furwock_semaphore_available(const struct furwock_semaphore *semaphore);

/**
 * Initialises a barrier for `count` threads. Returns 0, or EINVAL for a barrier that is NULL or
 * not aligned, and for a count of 0.
 */
int furwock_barrier_init(struct furwock_barrier *barrier, uint32_t count);

/**
 * Waits until as many threads have called this as a round takes. Stores in `*last`, unless that is
 * NULL, whether the caller was the last to arrive, which one thread of each round is.
 *
 * What the threads of a round did before is visible to all of them afterwards. Returns 0, or
 * EINVAL for a barrier that is NULL, not aligned, or for 0 threads.
 */
int furwock_barrier_wait(struct furwock_barrier *barrier, bool *last);

/**
 * Initialises a free mutex: for all processes that map its memory if `shared`, otherwise for the
 * threads of this process. Returns 0, or EINVAL for a mutex that is NULL or not aligned.
 */
int furwock_pi_mutex_init(struct furwock_pi_mutex *mutex, bool shared);

/**
 * Takes the lock, waiting as long as it takes. Returns 0; EOWNERDEAD, with the lock held, if its
 * owner ended without unlocking it while the caller waited: what it protects may be inconsistent.
 *
 * Without the lock: EDEADLK if the caller holds it, or its owner waits, through other such
 * mutexes, for the caller; ENOTRECOVERABLE if its owner has ended without unlocking it, or its
 * memory was written to; ENOMEM; ENOTSUP if the kernel has no such locks; EINVAL for a mutex that
 * is NULL or not aligned.
 */
int furwock_pi_mutex_lock(struct furwock_pi_mutex *mutex);

/**
 * Takes the lock if that is possible without waiting. Returns 0; EOWNERDEAD as
 * furwock_pi_mutex_lock; EBUSY; EINVAL.
 */
int furwock_pi_mutex_trylock(struct furwock_pi_mutex *mutex);

/**
 * furwock_pi_mutex_lock with a deadline: ETIMEDOUT once it has passed. Takes a free lock even
 * then. A deadline on CLOCK_MONOTONIC needs Linux 5.14: ENOTSUP before.
 */
int furwock_pi_mutex_lock_until(struct furwock_pi_mutex *mutex,
                                const struct furwock_deadline *until);

/**
 * Releases the lock; if threads wait, it is handed to the first. Returns 0; EPERM if the caller
 * doesn't hold it; EINVAL.
 */
int furwock_pi_mutex_unlock(struct furwock_pi_mutex *mutex);

/**
 * The kernel's id of the thread that holds it, 0 if it is free. The answer may be out of date at
 * once, unless it names the caller.
 */
pid_t furwock_pi_mutex_owner(const struct furwock_pi_mutex *mutex);

/**
 * Whether a thread holds it.
 */
bool furwock_pi_mutex_is_locked(const struct furwock_pi_mutex *mutex);

/**
 * Initialises a condition variable without waiters. Returns 0, or EINVAL for one that is NULL or
 * not aligned.
 */
int furwock_pi_condvar_init(struct furwock_pi_condvar *condvar);

/**
 * Releases the mutex, waits for a signal, and locks the mutex again. A wakeup may be spurious:
 * check the condition again.
 *
 * With the mutex held: 0; EOWNERDEAD, as furwock_pi_mutex_lock. With the mutex as it was: EPERM if
 * the caller doesn't hold it; EINVAL if other threads wait with another mutex, and for an object
 * that is NULL or not aligned. With the mutex released: ENOTRECOVERABLE; EDEADLK; ENOTSUP.
 */
int furwock_pi_condvar_wait(struct furwock_pi_condvar *condvar, struct furwock_pi_mutex *mutex);

/**
 * furwock_pi_condvar_wait with a deadline, on either clock. Returns ETIMEDOUT, with the mutex
 * locked again, if the deadline passed before a signal chose the caller.
 */
int furwock_pi_condvar_wait_until(struct furwock_pi_condvar *condvar,
                                  struct furwock_pi_mutex *mutex,
                                  const struct furwock_deadline *until);

/**
 * Wakes one waiter, that of the highest priority, if there is one. Returns 0; EINVAL; or an error
 * of furwock_pi_mutex_lock if the kernel can't move waiters to the mutex: then they wait on.
 *
 * The caller holds the mutex, or has held it since it changed the condition.
 */
int furwock_pi_condvar_signal(struct furwock_pi_condvar *condvar);

/**
 * furwock_pi_condvar_signal for all waiters.
 */
int furwock_pi_condvar_broadcast(struct furwock_pi_condvar *condvar);

/**
 * Initialises a free mutex. Returns 0, or EINVAL for one that is NULL or not aligned.
 */
int furwock_robust_mutex_init(struct furwock_robust_mutex *mutex);

/**
 * Takes the lock, waiting as long as it takes. Returns 0, or EOWNERDEAD, with the lock held, if
 * its holder died: the caller repairs what it protects, and calls furwock_robust_mutex_consistent
 * before it unlocks.
 *
 * Without the lock: ENOTRECOVERABLE if the mutex was unlocked without that call; ENOTSUP if the C
 * library has no robust list that furwock could share, as musl; EINVAL for a mutex that is NULL or
 * not aligned. A thread that locks a mutex it holds waits for ever.
 */
int furwock_robust_mutex_lock(struct furwock_robust_mutex *mutex);

/**
 * Takes the lock if that is possible without waiting: EBUSY if a thread holds it. Otherwise
 * returns what furwock_robust_mutex_lock does.
 */
int furwock_robust_mutex_trylock(struct furwock_robust_mutex *mutex);

/**
 * furwock_robust_mutex_lock with a deadline: ETIMEDOUT once it has passed. Takes a free lock even
 * then.
 */
int furwock_robust_mutex_lock_until(struct furwock_robust_mutex *mutex,
                                    const struct furwock_deadline *until);

/**
 * Releases the lock. If the caller got it by EOWNERDEAD and hasn't called
 * furwock_robust_mutex_consistent since, no thread ever gets it again. Returns 0; EPERM if the
 * caller doesn't hold it; EINVAL.
 */
int furwock_robust_mutex_unlock(struct furwock_robust_mutex *mutex);

/**
 * Says that what the mutex protects is in order again. Returns 0, or EINVAL if the caller doesn't
 * hold it by EOWNERDEAD.
 */
int furwock_robust_mutex_consistent(struct furwock_robust_mutex *mutex);

/**
 * The kernel's id of the thread that holds it, as that thread's process has it; 0 if none does.
 * The answer may be out of date at once, unless it names the caller.
 */
pid_t furwock_robust_mutex_owner(const struct furwock_robust_mutex *mutex);

/**
 * Whether a thread holds it.
 */
bool furwock_robust_mutex_is_locked(const struct furwock_robust_mutex *mutex);

/**
 * Whether the lock is lost: every call returns ENOTRECOVERABLE, until furwock_robust_mutex_init.
 */
bool furwock_robust_mutex_is_lost(const struct furwock_robust_mutex *mutex);

/**
 * Initialises a free lock. Returns 0, or EINVAL for one that is NULL or not aligned.
 */
int furwock_robust_rwlock_init(struct furwock_robust_rwlock *lock);

/**
 * Enters as a reader, waiting as long as it takes. Returns 0; or EOWNERDEAD if a writer died: then
 * the caller is the *writer*, repairs what the lock protects, calls
 * furwock_robust_rwlock_consistent, and leaves by furwock_robust_rwlock_wrunlock.
 *
 * Otherwise the caller isn't inside: ENOTRECOVERABLE if a writer left without having called
 * furwock_robust_rwlock_consistent after EOWNERDEAD; ENOTSUP, as furwock_robust_mutex_lock; EINVAL
 * for a lock that is NULL or not aligned. A thread may enter again unless a writer waits.
 */
int furwock_robust_rwlock_rdlock(struct furwock_robust_rwlock *lock);

/**
 * Enters as a reader unless it would have to wait: then EBUSY. Otherwise returns what
 * furwock_robust_rwlock_rdlock does.
 */
int furwock_robust_rwlock_tryrdlock(struct furwock_robust_rwlock *lock);

/**
 * furwock_robust_rwlock_rdlock with a deadline: ETIMEDOUT once it has passed.
 */
int furwock_robust_rwlock_rdlock_until(struct furwock_robust_rwlock *lock,
                                       const struct furwock_deadline *until);

/**
 * Leaves as a reader. Returns 0; EPERM if the caller isn't inside as a reader; EINVAL.
 */
int furwock_robust_rwlock_rdunlock(struct furwock_robust_rwlock *lock);

/**
 * Enters as the writer, waiting as long as it takes. Returns 0; EOWNERDEAD, inside as the writer,
 * if a writer died: the caller repairs what the lock protects, and calls
 * furwock_robust_rwlock_consistent before it leaves. Other errors are those of
 * furwock_robust_rwlock_rdlock.
 */
int furwock_robust_rwlock_wrlock(struct furwock_robust_rwlock *lock);

/**
 * Enters as the writer unless it would have to wait: then EBUSY. Otherwise returns what
 * furwock_robust_rwlock_wrlock does.
 */
int furwock_robust_rwlock_trywrlock(struct furwock_robust_rwlock *lock);

/**
 * furwock_robust_rwlock_wrlock with a deadline: ETIMEDOUT once it has passed.
 */
int furwock_robust_rwlock_wrlock_until(struct furwock_robust_rwlock *lock,
                                       const struct furwock_deadline *until);

/**
 * Leaves as the writer. After EOWNERDEAD and without furwock_robust_rwlock_consistent no thread
 * ever enters again. Returns 0; EPERM if the caller isn't the writer; EINVAL.
 */
int furwock_robust_rwlock_wrunlock(struct furwock_robust_rwlock *lock);

/**
 * Says that what the lock protects is in order again. Returns 0, or EINVAL if the caller isn't the
 * writer by EOWNERDEAD.
 */
int furwock_robust_rwlock_consistent(struct furwock_robust_rwlock *lock);

/**
 * The kernel's id of the thread that is the writer, or the next one in; 0 if there is none. The
 * answer may be out of date at once, unless it names the caller.
 */
pid_t furwock_robust_rwlock_owner(const struct furwock_robust_rwlock *lock);

/**
 * How many readers are inside, or on their way in or out. The answer may be out of date at once.
 */
size_t furwock_robust_rwlock_readers(const struct furwock_robust_rwlock *lock);

/**
 * Whether the lock is lost: every call returns ENOTRECOVERABLE, until furwock_robust_rwlock_init.
 */
bool furwock_robust_rwlock_is_lost(const struct furwock_robust_rwlock *lock);

/**
 * Names the mutex, for `furwock who`, furwock-locks in gdb, and other tools. The name is copied,
 * as far as it has room: 95 bytes. It costs the mutex nothing on its way to being locked.
 *
 * Another name replaces it; with NULL the mutex has none any more, which a mutex in memory that is
 * going to be freed needs. Returns 0; EINVAL for a mutex that is NULL or not aligned, or a name
 * that isn't UTF-8; ENOMEM if some 4,000 objects have names already.
 */
int furwock_mutex_name(const struct furwock_mutex *mutex, const char *name);

/**
 * furwock_mutex_name for a condition variable.
 */
int furwock_condvar_name(const struct furwock_condvar *condvar, const char *name);

/**
 * furwock_mutex_name for a reader-writer lock. furwock_rwlock_destroy takes the name away, too.
 */
int furwock_rwlock_name(const struct furwock_rwlock *lock, const char *name);

/**
 * furwock_mutex_name for a semaphore.
 */
int furwock_semaphore_name(const struct furwock_semaphore *semaphore, const char *name);

/**
 * furwock_mutex_name for a barrier.
 */
int furwock_barrier_name(const struct furwock_barrier *barrier, const char *name);

/**
 * furwock_mutex_name for a PI mutex.
 */
int furwock_pi_mutex_name(const struct furwock_pi_mutex *mutex, const char *name);

/**
 * furwock_mutex_name for a robust mutex. The name is this process's.
 */
int furwock_robust_mutex_name(const struct furwock_robust_mutex *mutex, const char *name);

/**
 * furwock_mutex_name for a robust reader-writer lock. The name is this process's.
 */
int furwock_robust_rwlock_name(const struct furwock_robust_rwlock *lock, const char *name);

/**
 * Does what the first wait of a process would do: maps the wait queues, and registers the calling
 * thread. Call it before a sandbox forbids the system calls that this needs.
 */
void furwock_prepare(void);

/**
 * Orders waiters by their threads' real-time priorities, and waiters of equal priority or without
 * one by arrival, as the kernel orders a futex's. A process that already has a real-time policy
 * when the wait queues are mapped needs no call; call this where threads get one later. From then
 * on each sleep costs one or two more system calls, sched_getscheduler(2) and sched_getparam(2),
 * which a sandbox has to allow.
 */
void furwock_mind_priorities(void);

/**
 * Makes no sched_yield(2) from here on, doesn't ask clock_gettime(2) for processor time, and wakes
 * threads one by one, for a program whose sandbox would kill it at one of these calls. Waiters of
 * rwlocks yield before they sleep, so that other threads of their processor run, as do those that
 * a condvar's signal woke while its sender held the mutex, and in programs that are bound to one
 * processor those of mutexes, condvars, semaphores, barriers and parkers, and threads that take a
 * mutex past waiters that were woken. Mutexes whose holders sleep or yield, and rwlocks, ask for
 * the time that the process or the caller has used, a hundred times a second at most; a thread
 * that spins for a lock for some microseconds asks for its holder's, whose clock has a negative
 * number. Two of several threads are woken by one FUTEX_WAKE_OP, which changes nothing. A program
 * whose sandbox refuses them with an error needs no call.
 */
void furwock_forgo_yields(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FURWOCK_H */
