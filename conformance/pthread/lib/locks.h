/*
 * The functions by which a library uses objects of its program, however it
 * found them. Used by deepbind.c.
 */
#ifndef CONFORMANCE_LOCKS_H
#define CONFORMANCE_LOCKS_H

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#define LOCK_FUNCTIONS(function)					\
	function(pthread_mutex_lock, (pthread_mutex_t * a), (a))	\
	function(pthread_mutex_unlock, (pthread_mutex_t * a), (a))	\
	function(pthread_cond_wait,					\
		 (pthread_cond_t * a, pthread_mutex_t * b), (a, b))	\
	function(pthread_cond_signal, (pthread_cond_t * a), (a))	\
	function(pthread_cond_broadcast, (pthread_cond_t * a), (a))	\
	function(pthread_rwlock_rdlock, (pthread_rwlock_t * a), (a))	\
	function(pthread_rwlock_wrlock, (pthread_rwlock_t * a), (a))	\
	function(pthread_rwlock_unlock, (pthread_rwlock_t * a), (a))	\
	function(sem_wait, (sem_t * a), (a))				\
	function(sem_post, (sem_t * a), (a))				\
	function(pthread_barrier_wait, (pthread_barrier_t * a), (a))	\
	function(pthread_once, (pthread_once_t * a, void (*b)(void)),	\
		 (a, b))						\
	function(mtx_lock, (mtx_t * a), (a))				\
	function(mtx_unlock, (mtx_t * a), (a))				\
	function(cnd_wait, (cnd_t * a, mtx_t * b), (a, b))		\
	function(cnd_signal, (cnd_t * a), (a))

struct locks {
#define MEMBER(name, parameters, arguments) int (*name) parameters;
	LOCK_FUNCTIONS(MEMBER)
#undef MEMBER
	long (*syscall)(long number, ...);
};

#endif
