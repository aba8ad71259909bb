/* Reads a clock in a loop, as the loops of this package do, and prints what one
 * read costs in ns: the median of so many batches of so many reads.
 *
 *   clockloop vdso|libc|syscall|libc_syscall|rdtsc|lfence_rdtsc|rdtscp|cntvct|isb_cntvct READS BATCHES
 *
 * vdso calls the function of the vDSO itself, libc by way of the C library's
 * clock_gettime; syscall enters the kernel itself, libc_syscall by way of the C
 * library's syscall. Built and run by BenchmarkAgainstC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int (*vdso)(clockid_t, struct timespec *);
static volatile uint64_t sink;

static void by_vdso(long n)
{
	struct timespec t;
	while (n-- > 0)
		vdso(CLOCK_MONOTONIC, &t);
}

static void by_libc(long n)
{
	struct timespec t;
	while (n-- > 0)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

static void by_libc_syscall(long n)
{
	struct timespec t;
	while (n-- > 0)
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
}

#if defined(__x86_64__)
#include <x86intrin.h>
#define VDSO_FUNCTION "__vdso_clock_gettime"

static void by_syscall(long n)
{
	struct timespec t;
	while (n-- > 0) {
		long result;
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "0"(SYS_clock_gettime), "D"(CLOCK_MONOTONIC), "S"(&t)
				 : "rcx", "r11", "memory");
	}
}

static void by_rdtsc(long n)
{
	uint64_t sum = 0;
	while (n-- > 0)
		sum += __rdtsc();
	sink = sum;
}

static void by_lfence_rdtsc(long n)
{
	uint64_t sum = 0;
	while (n-- > 0) {
		_mm_lfence();
		sum += __rdtsc();
	}
	sink = sum;
}

static void by_rdtscp(long n)
{
	uint64_t sum = 0;
	unsigned aux;
	while (n-- > 0)
		sum += __rdtscp(&aux);
	sink = sum;
}
#elif defined(__aarch64__)
#define VDSO_FUNCTION "__kernel_clock_gettime"

static void by_syscall(long n)
{
	struct timespec t;
	while (n-- > 0) {
		register long number __asm__("x8") = SYS_clock_gettime;
		register long first __asm__("x0") = CLOCK_MONOTONIC;
		register void *second __asm__("x1") = &t;
		__asm__ volatile("svc #0" : "+r"(first) : "r"(number), "r"(second) : "memory");
	}
}

static void by_cntvct(long n)
{
	uint64_t sum = 0, v;
	while (n-- > 0) {
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v)::"memory");
		sum += v;
	}
	sink = sum;
}

static void by_isb_cntvct(long n)
{
	uint64_t sum = 0, v;
	while (n-- > 0) {
		__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v)::"memory");
		sum += v;
	}
	sink = sum;
}
#else
#error "x86-64 or arm64 only"
#endif

static const struct {
	const char *name;
	void (*loop)(long);
} ways[] = {
	{"vdso", by_vdso},
	{"libc", by_libc},
	{"syscall", by_syscall},
	{"libc_syscall", by_libc_syscall},
#if defined(__x86_64__)
	{"rdtsc", by_rdtsc},
	{"lfence_rdtsc", by_lfence_rdtsc},
	{"rdtscp", by_rdtscp},
#else
	{"cntvct", by_cntvct},
	{"isb_cntvct", by_isb_cntvct},
#endif
};

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	long reads = atol(argv[2]), batches = atol(argv[3]);
	void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		*(void **)&vdso = dlsym(library, VDSO_FUNCTION);
	if (!vdso || reads < 1 || batches < 1)
		return 2;
	double *price = malloc(sizeof(double) * (size_t)batches);
	if (!price)
		return 1;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		ways[i].loop(reads); /* warm up */
		for (long b = 0; b < batches; b++) {
			double start = now_ns();
			ways[i].loop(reads);
			price[b] = (now_ns() - start) / (double)reads;
		}
		qsort(price, (size_t)batches, sizeof(double), compare);
		printf("%.4f\n", price[batches / 2]);
		return 0;
	}
	return 2;
}
