#include "textflag.h"

// A read of CNTVCT_EL0 may run ahead of earlier instructions. ISB in front waits
// until they are done; ISB behind keeps later ones from starting. Earlier loads
// of device memory have to have delivered, too, which only DSB waits for.

// func readCounter() uint64
TEXT ·readCounter(SB), NOSPLIT, $0-8
	ISB  $15
	MRS  CNTVCT_EL0, R0
	ISB  $15
	MOVD R0, ret+0(FP)
	RET

// func counterFrequency() uint64
TEXT ·counterFrequency(SB), NOSPLIT, $0-8
	MRS  CNTFRQ_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func counterLoop(n int) (first, last, minDelta uint64)
TEXT ·counterLoop(SB), NOSPLIT, $0-32
	MOVD n+0(FP), R1
	MOVD $-1, R2         // smallest difference so far
	ISB  $15
	MRS  CNTVCT_EL0, R3  // first
	MOVD R3, R4          // previous
	B    test

loop:
	ISB  $15
	MRS  CNTVCT_EL0, R0
	SUB  R4, R0, R5
	MOVD R0, R4
	CMP  R2, R5
	CSEL LO, R5, R2, R2

test:
	SUBS $1, R1
	BGT  loop
	MOVD R3, first+8(FP)
	MOVD R4, last+16(FP)
	MOVD R2, minDelta+24(FP)
	RET

// func readBackRegister(register *uint32, out *[4]uint64)
TEXT ·readBackRegister(SB), NOSPLIT, $0-16
	MOVD  register+0(FP), R0
	MOVD  out+8(FP), R1
	DSB   $15
	MOVWU (R0), R2
	DSB   $15
	ISB   $15
	MRS   CNTVCT_EL0, R3
	ISB   $15
	MOVWU (R0), R4
	DSB   $15
	MOVWU (R0), R5
	MOVD  R2, 0(R1)
	MOVD  R3, 8(R1)
	MOVD  R4, 16(R1)
	MOVD  R5, 24(R1)
	RET

// The layout of out is three timespecs with the counter between the first two:
// sec, nsec, counter, sec, nsec, sec, nsec. System call 113 is clock_gettime; the
// kernel preserves all registers but R0.
//
// func readBackClock(id int64, out *[7]int64) (errno int64)
TEXT ·readBackClock(SB), NOSPLIT, $0-24
	MOVD id+0(FP), R9
	MOVD out+8(FP), R10
	MOVD $113, R8

	MOVD R9, R0
	MOVD R10, R1
	SVC
	MOVD R0, R11

	ISB  $15
	MRS  CNTVCT_EL0, R0
	ISB  $15
	MOVD R0, 16(R10)

	MOVD R9, R0
	ADD  $24, R10, R1
	SVC
	ORR  R0, R11

	MOVD R9, R0
	ADD  $40, R10, R1
	SVC
	ORR  R0, R11

	NEG  R11, R11
	MOVD R11, errno+16(FP)
	RET
