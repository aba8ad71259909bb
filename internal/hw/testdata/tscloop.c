/* The loop of counterLoop in C: reads the processor's counter as often as the
 * first argument says and prints the price of a read in ns, the first and last
 * value and the smallest step. Built and compared by the script "bench". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t counter(void)
{
	_mm_lfence();
	return __rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t counter(void)
{
	uint64_t v;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v)::"memory");
	return v;
}
#else
#error "x86-64 or arm64 only"
#endif

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	double start = now_ns();
	uint64_t first = counter(), last = first, step = UINT64_MAX;
	for (long i = 1; i < n; i++) {
		uint64_t now = counter();
		uint64_t d = now - last;
		last = now;
		if (d < step)
			step = d;
	}
	double end = now_ns();
	printf("%.4f %llu %llu %llu\n", (end - start) / (double)n,
	       (unsigned long long)first, (unsigned long long)last, (unsigned long long)step);
	return 0;
}
