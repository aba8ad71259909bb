#include "textflag.h"

// RDTSC may run before earlier instructions have finished and later ones may
// start before it. LFENCE in front waits until all earlier loads have delivered
// and all earlier instructions have finished; LFENCE behind keeps later ones
// from starting. On AMD processors LFENCE orders so because Linux sets the bit
// that makes it (4.15 and later). A serializing CPUID would trap in a guest and
// cost microseconds.

// func readCounter() uint64
TEXT ·readCounter(SB), NOSPLIT, $0-8
	LFENCE
	RDTSC
	LFENCE
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// RDTSCP waits for earlier instructions by itself, so it needs only the fence
// behind. It also returns what Linux stores for each CPU: node<<12 | cpu.
//
// func readTSCP() (tsc uint64, aux uint32)
TEXT ·readTSCP(SB), NOSPLIT, $0-12
	RDTSCP
	LFENCE
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, tsc+0(FP)
	MOVL CX, aux+8(FP)
	RET

// counterLoop reads the counter n times in one call, because a call for each
// read would cost as much as a tenth of the read.
//
// func counterLoop(n int) (first, last, minDelta uint64)
TEXT ·counterLoop(SB), NOSPLIT, $0-32
	MOVQ   n+0(FP), CX
	MOVQ   $-1, R9        // smallest difference so far
	LFENCE
	RDTSC
	SHLQ   $32, DX
	ORQ    DX, AX
	MOVQ   AX, R8         // first
	MOVQ   AX, R10        // previous
	JMP    test

	PCALIGN $32           // as compilers do, so that the loop is fetched in one piece

loop:
	LFENCE
	RDTSC
	SHLQ    $32, DX
	ORQ     DX, AX
	MOVQ    AX, R11
	SUBQ    R10, R11
	MOVQ    AX, R10
	CMPQ    R11, R9
	CMOVQCS R11, R9

test:
	DECQ CX
	JGT  loop
	MOVQ R8, first+8(FP)
	MOVQ R10, last+16(FP)
	MOVQ R9, minDelta+24(FP)
	RET

// The registers of a device are mapped uncached: loads from it reach it in
// program order, so only the counter of the processor needs fences.
//
// func readBackRegister(register *uint32, out *[4]uint64)
TEXT ·readBackRegister(SB), NOSPLIT, $0-16
	MOVQ register+0(FP), SI
	MOVQ out+8(FP), DI
	LFENCE
	MOVL (SI), R8
	LFENCE
	RDTSC
	LFENCE
	MOVL (SI), R9
	MOVL (SI), R10
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ R8, 0(DI)
	MOVQ AX, 8(DI)
	MOVQ R9, 16(DI)
	MOVQ R10, 24(DI)
	RET

// A thread without permission for the port gets a general protection fault,
// which Linux turns into SIGSEGV.
//
// func readBackPort(port uint16, out *[4]uint64)
TEXT ·readBackPort(SB), NOSPLIT, $0-16
	MOVQ    out+8(FP), DI
	MOVWLZX port+0(FP), R11
	LFENCE
	MOVL    R11, DX
	INL
	MOVL    AX, R8
	LFENCE
	RDTSC
	LFENCE
	SHLQ    $32, DX
	ORQ     DX, AX
	MOVQ    AX, R12
	MOVL    R11, DX
	INL
	MOVL    AX, R9
	INL
	MOVL    AX, R10
	MOVQ    R8, 0(DI)
	MOVQ    R12, 8(DI)
	MOVQ    R9, 16(DI)
	MOVQ    R10, 24(DI)
	RET

// The layout of out is three timespecs with the counter between the first two:
// sec, nsec, counter, sec, nsec, sec, nsec. System call 228 is clock_gettime; the
// kernel preserves all registers but AX, CX and R11.
//
// func readBackClock(id int64, out *[7]int64) (errno int64)
TEXT ·readBackClock(SB), NOSPLIT, $0-24
	MOVQ id+0(FP), R8
	MOVQ out+8(FP), R9

	MOVQ R8, DI
	MOVQ R9, SI
	MOVQ $228, AX
	SYSCALL
	MOVQ AX, R10

	LFENCE
	RDTSC
	LFENCE
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, 16(R9)

	MOVQ R8, DI
	LEAQ 24(R9), SI
	MOVQ $228, AX
	SYSCALL
	ORQ  AX, R10

	MOVQ R8, DI
	LEAQ 40(R9), SI
	MOVQ $228, AX
	SYSCALL
	ORQ  AX, R10

	NEGQ R10
	MOVQ R10, errno+16(FP)
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET
