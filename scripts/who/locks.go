// Threads in C, by the first argument: "planted" has two mutexes in different orders, "moving"
// unlocks on one thread what it locked on another, "busy" has Go's own locks only.
package main

/*
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;

static void both(int at)
{
	pthread_mutex_lock(at ? &first : &second);
	usleep(200000);
	pthread_mutex_lock(at ? &second : &first);
}

static void take(void) { pthread_mutex_lock(&first); }
static void give(void) { pthread_mutex_unlock(&first); }
*/
import "C"

import (
	"os"
	"sync"
	"time"
)

func moving() {
	for {
		C.take()
		time.Sleep(50 * time.Millisecond)
		C.give()
		time.Sleep(time.Millisecond)
	}
}

func main() {
	switch os.Args[1] {
	case "planted":
		go C.both(0)
		go C.both(1)
	case "moving":
		for at := 0; at < 16; at++ {
			go moving()
		}
	case "busy":
		var mutex sync.Mutex
		numbers := make(chan int)
		for at := 0; at < 8; at++ {
			go func() {
				for {
					mutex.Lock()
					mutex.Unlock()
					numbers <- 1
				}
			}()
			go func() {
				for {
					<-numbers
				}
			}()
		}
	}
	select {}
}
