/* What an rwlock keeps whole, of this process or of several. */
#ifndef CONFORMANCE_LEDGER_H
#define CONFORMANCE_LEDGER_H

#include "crowd.h"
#include "../pthread/harness.h"
#include "../pthread/rwlock.h"

struct ledger {
	pthread_rwlock_t lock;
	long written, words[16];
};

/* By every call that waits, in any order. */
THREAD(read_and_write, struct ledger *ledger)
{
	uint32_t state = 4711 + gettid();
	enum rw_call call;

	for (int i = 0; i < 2000; i++) {
		do
			call = next_random(&state) % RW_CALLS;
		while (call == TRYRDLOCK || call == TRYWRLOCK);
		OK(take(&ledger->lock, call, LONG_MS));
		for (EACH(j, ledger->words))
			CHECK_EQ(ledger->words[j], ledger->written);
		if (is_write(call)) {
			ledger->written++;
			for (EACH(j, ledger->words))
				ledger->words[j]++;
		}
		OK(pthread_rwlock_unlock(&ledger->lock));
	}
}

#endif
