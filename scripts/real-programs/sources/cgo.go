// Goroutines that call into C, where threads meet at pthread's locks, and that meet each other at
// Go's.
package main

/*
#cgo LDFLAGS: -pthread
#include <pthread.h>

#define ROOM 16

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static long items[ROOM], table[64];
static unsigned put_so_far, taken_so_far;

static void put(long item)
{
	pthread_mutex_lock(&mutex);
	while (put_so_far - taken_so_far == ROOM)
		pthread_cond_wait(&not_full, &mutex);
	items[put_so_far++ % ROOM] = item;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&mutex);
}

static long take(void)
{
	long item;

	pthread_mutex_lock(&mutex);
	while (put_so_far == taken_so_far)
		pthread_cond_wait(&not_empty, &mutex);
	item = items[taken_so_far++ % ROOM];
	pthread_cond_signal(&not_full);
	pthread_mutex_unlock(&mutex);
	return item;
}

static void add(long at)
{
	pthread_rwlock_wrlock(&table_lock);
	table[at % 64]++;
	pthread_rwlock_unlock(&table_lock);
}

static long look(long at)
{
	long value;

	pthread_rwlock_rdlock(&table_lock);
	value = table[at % 64];
	pthread_rwlock_unlock(&table_lock);
	return value;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

const pairs = 8

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	sums := make(chan int64, pairs)
	for i := 0; i < pairs; i++ {
		all.Add(2)
		go func() {
			defer all.Done()
			for at := 0; at < rounds; at++ {
				C.put(C.long(at))
			}
		}()
		go func() {
			defer all.Done()
			sum := int64(0)
			for at := 0; at < rounds; at++ {
				item := C.take()
				sum += int64(item)
				if at%16 == 0 {
					C.add(item)
				} else if C.look(item) < 0 {
					panic("less than nothing")
				}
			}
			sums <- sum
		}()
	}
	all.Wait()
	total, entries := int64(0), int64(0)
	for i := 0; i < pairs; i++ {
		total += <-sums
	}
	for i := 0; i < 64; i++ {
		entries += int64(C.look(C.long(i)))
	}
	fmt.Println(total, entries)
}
