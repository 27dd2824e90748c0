/*
 * furwock: futexes, a mutex and a condition variable in user space, for Linux.
 *
 * furwock_futex and furwock_waitv are the system calls: they return -1 and set errno. All other
 * functions that return an int return 0 or an error number, as pthread's do, and may change errno.
 *
 * A word is any object of 1, 2, 4 or 8 bytes, aligned to its size, that is accessed atomically:
 * _Atomic, std::atomic, or by the compiler's __atomic builtins. It needs no initialisation and no
 * clean-up. Whoever changes it wakes those who wait for the change, afterwards. Words are private:
 * their waiters are threads of one process. furwock_futex and furwock_waitv answer EFAULT for a word
 * that isn't there; the other functions that read one crash.
 *
 * No function is a cancellation point, and none may be cancelled asynchronously. From a signal handler
 * that may have interrupted one of them, only furwock_futex, furwock_wake, furwock_wake_bitset and
 * furwock_mutex_trylock may be called.
 *
 * Generated from the sources by capi/tests/header.rs. The manual pages say more: furwock(3).
 */

#ifndef FURWOCK_H
#define FURWOCK_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

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

/**
 * Words that stay registered between waits, which makes each wait cheap: for who waits on the same
 * words again and again. One thread at a time may use it.
 */
typedef struct furwock_registration furwock_registration;

/**
 * A descriptor that stands in a word's queue.
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
   * The point in time, counted from the clock's zero. What lies before it has passed.
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
   * Waiters that wait on the other word from now on.
   */
  size_t moved;
} furwock_requeued;

/**
 * A word, and the value that it should hold while it is waited on.
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
 * A mutex of four bytes for throughput: a running thread may take it past the queue, one waiter
 * spins, the others sleep, and none is passed by for long. FURWOCK_MUTEX_INIT, or zero bytes, make
 * one that is free; it needs no clean-up.
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
 * A condition variable of four bytes whose waiters are moved to the mutex instead of being woken to
 * block on it. FURWOCK_CONDVAR_INIT, or zero bytes, make one; it needs no clean-up.
 *
 * All who wait at the same time should wait with the same mutex.
 */
typedef struct furwock_condvar {
  /**
   * furwock's own. 0 when nobody waits.
   */
  uint32_t word;
} furwock_condvar;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * futex(2), with its arguments, results and errno: `furwock_futex(...)` stands wherever
 * `syscall(SYS_futex, ...)` stood. Returns -1 and sets errno if it fails.
 *
 * Operations with FUTEX_PRIVATE_FLAG run on furwock's own wait queues, where they meet all other
 * calls of this header on the same words; they don't meet threads that wait by the system call
 * itself. Everything else is passed on to the kernel.
 *
 * The words need not exist: the answer is EFAULT, as the kernel's. `timeout_or_val2` is a number
 * where the operation takes one, cast to a pointer.
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
 * bits (FUTEX2_SIZE_U8 to _U64), on whatever kernel. With a shared word among them it is the
 * kernel's own call with its limits: 128 words, of 32 bits.
 */
long furwock_waitv(const struct futex_waitv *waiters,
                   unsigned int count,
                   unsigned int flags,
                   const struct timespec *timeout,
                   clockid_t clock);

/**
 * The deadline that lies so many nanoseconds ahead of now, on CLOCK_MONOTONIC.
 */
struct furwock_deadline furwock_after_ns(uint64_t nanoseconds);

/**
 * Waits until woken, if the 8-bit word holds `expected`.
 *
 * 0 when woken (rarely, for no reason: look at the word again); EAGAIN if the word holds another
 * value; ETIMEDOUT; EINVAL for a word that is NULL or not aligned, or a malformed deadline.
 * Signals don't end the wait.
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
 * with `bitset`. Wakes without a bitset wake everybody. EINVAL besides for another size, a value
 * that doesn't fit in it, and a bitset of 0.
 */
int furwock_wait_bitset(const volatile void *word,
                        size_t size,
                        uint64_t expected,
                        uint32_t bitset,
                        const struct furwock_deadline *until);

/**
 * Wakes up to `count` waiters of `word`, of whatever width, those first that have waited longest.
 * Returns how many it woke.
 *
 * Change the word first. It is not read here, and need not exist any more. SIZE_MAX wakes all.
 */
size_t furwock_wake(const volatile void *word, size_t count);

/**
 * furwock_wake for those who wait with a bitset that has a bit in common with `bitset`. Who waits
 * without one has all bits.
 */
size_t furwock_wake_bitset(const volatile void *word, size_t count, uint32_t bitset);

/**
 * Wakes up to `wake` threads that wait on `from`, and moves up to `move` of the others to the end
 * of those who wait on `to`. Stores how many in `*done`, unless that is NULL.
 *
 * Who was moved waits on, with the deadline it has, until `to` is woken. 0, or EINVAL for a word
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
 * The check and the requeue are one step for all who use `from`. EAGAIN if it holds another value:
 * then nobody was woken or moved. EINVAL besides for a word that is not aligned, another size, and
 * a value that doesn't fit in it.
 */
int furwock_compare_requeue(const volatile void *from,
                            size_t size,
                            uint64_t expected,
                            const volatile void *to,
                            size_t wake,
                            size_t move,
                            struct furwock_requeued *done);

/**
 * Waits until woken at any of `count` words, if all of them hold their values. Any number of words,
 * of different widths. With no words at all, waits for the deadline.
 *
 * 0 when woken (rarely, for no reason), EAGAIN if a word holds another value: in both cases `*index`, unless that is NULL,
 * tells which. ETIMEDOUT; ENOMEM; EINVAL for a malformed word or deadline, and for no words without
 * a deadline.
 */
int furwock_wait_any(const struct furwock_expected *words,
                     size_t count,
                     const struct furwock_deadline *until,
                     size_t *index);

/**
 * Registers `count` words, with the values that they should hold in the first wait, and stores the
 * registration in `*registration`. 0, EINVAL or ENOMEM, as furwock_wait_any.
 *
 * The words have to exist until furwock_registration_free. A wake that comes while nobody waits in
 * the registration passes it by; a change of the word does not, since the next wait sees it.
 */
int furwock_register(const struct furwock_expected *words,
                     size_t count,
                     struct furwock_registration **registration);

/**
 * Sets what the word with this index should hold in the waits to come. 0; EINVAL if there is no
 * such word, or the value doesn't fit in it.
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
 * stores a handle to it in `*waitfd`. The descriptor polls as readable once woken; it stands in one
 * queue with threads, in order of arrival, and is good for one wake.
 *
 * 0; EAGAIN if the word holds another value; EINVAL as furwock_wait_bitset; EMFILE, ENFILE, ENOMEM.
 * The word has to exist until furwock_waitfd_close.
 */
int furwock_wait_fd(const volatile void *word,
                    size_t size,
                    uint64_t expected,
                    struct furwock_waitfd **waitfd);

/**
 * The descriptor, for poll(2), epoll(7) and the like. The handle's: leave reading and closing to
 * it. -1 for NULL.
 */
int furwock_waitfd_fd(const struct furwock_waitfd *waitfd);

/**
 * 0 if it was woken: then the wake is the caller's, and what the waker wrote before it is visible.
 * EAGAIN if not; EBADF for NULL. Call it whenever the descriptor has polled as readable.
 */
int furwock_waitfd_woken(struct furwock_waitfd *waitfd);

/**
 * Leaves the queue, closes the descriptor and frees the handle. A wake that furwock_waitfd_woken
 * never reported goes on to the next waiter. close(2) on the descriptor does none of that: the
 * waiter would stay queued, and swallow a wake. NULL does nothing.
 */
void furwock_waitfd_close(struct furwock_waitfd *waitfd);

/**
 * Takes the lock, waiting as long as it takes. 0, or EINVAL for a mutex that is NULL or not
 * aligned. A thread that locks what it holds waits for ever.
 */
int furwock_mutex_lock(struct furwock_mutex *mutex);

/**
 * Takes the lock if that is possible without waiting. 0, EBUSY or EINVAL.
 */
int furwock_mutex_trylock(struct furwock_mutex *mutex);

/**
 * Takes the lock, or gives up at the deadline: 0, ETIMEDOUT, or EINVAL, also for a malformed
 * deadline. A free lock is taken whether or not the deadline has passed.
 */
int furwock_mutex_lock_until(struct furwock_mutex *mutex, const struct furwock_deadline *until);

/**
 * Releases the lock. 0 or EINVAL. Who unlocks what another thread holds releases it all the same.
 */
int furwock_mutex_unlock(struct furwock_mutex *mutex);

/**
 * The kernel's id of the thread that holds it, 0 if nobody does. Out of date at once, unless it is
 * the caller.
 */
pid_t furwock_mutex_owner(const struct furwock_mutex *mutex);

/**
 * Whether somebody holds it.
 */
bool furwock_mutex_is_locked(const struct furwock_mutex *mutex);

/**
 * Releases the mutex, waits for a signal, and locks the mutex again. As with every condition
 * variable the wait may end for no reason: look at the condition again.
 *
 * 0; EPERM if nobody holds the mutex; EINVAL for what is NULL or not aligned.
 */
int furwock_condvar_wait(struct furwock_condvar *condvar, struct furwock_mutex *mutex);

/**
 * furwock_condvar_wait that gives up at the deadline: ETIMEDOUT, with the mutex locked again. Only
 * if no signal had chosen the caller.
 */
int furwock_condvar_wait_until(struct furwock_condvar *condvar,
                               struct furwock_mutex *mutex,
                               const struct furwock_deadline *until);

/**
 * Lets one waiter go on, the one that has waited longest, if there is one. 0 or EINVAL.
 *
 * The caller holds the mutex, or has held it since it changed what the waiter waits for.
 */
int furwock_condvar_signal(struct furwock_condvar *condvar);

/**
 * furwock_condvar_signal for all waiters.
 */
int furwock_condvar_broadcast(struct furwock_condvar *condvar);

/**
 * Does what the first wait of a process would do: maps the wait queues, and registers the calling
 * thread. Worth calling before a sandbox forbids the system calls that this needs.
 */
void furwock_prepare(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FURWOCK_H */
