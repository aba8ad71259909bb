#include "textflag.h"
#include "funcdata.h"

// The loops are in assembly so that each read costs what it costs a C program
// and nothing else, and so that Go can call the vDSO at all.

// A vDSO function is C and uses the stack of its caller: see loops_amd64.s. It runs
// inside the frame, below the few words at its upper end. RSP is always a multiple of 16.
#define TOP 65408 // of the frame's 65536 bytes: below it C's, above it a timespec and the old RSP

#define ENTER_C \
	MOVD RSP, R1      \
	MOVD $TOP, R2     \
	ADD  R1, R2, R2   \
	MOVD R1, 16(R2)   \
	MOVD R2, RSP

// C keeps R19 to R28, of which R26 to R28 are Go's. R23 is the old RSP.
//
// func vdsoBatch(fn uintptr, id int64, n int) (errno int64)
TEXT ·vdsoBatch(SB), 0, $65536-32
	NO_LOCAL_POINTERS
	MOVD fn+0(FP), R19
	MOVD id+8(FP), R20
	MOVD n+16(FP), R21
	ENTER_C
	MOVD R1, R23
	MOVD R2, R24

loop:
	MOVD R20, R0
	MOVD R24, R1
	CALL (R19)
	CBNZW R0, fail
	SUBS $1, R21
	BGT  loop

fail:
	MOVD R23, RSP
	SXTW R0, R0
	NEG  R0, R0
	MOVD R0, errno+24(FP)
	RET

// func vdsoValues(fn uintptr, id int64, out *uint64, n int) (errno int64)
TEXT ·vdsoValues(SB), 0, $65536-40
	NO_LOCAL_POINTERS
	MOVD fn+0(FP), R19
	MOVD id+8(FP), R20
	MOVD out+16(FP), R22
	MOVD n+24(FP), R21
	ENTER_C
	MOVD R1, R23
	MOVD R2, R24
	MOVD $1000000000, R25

loop:
	MOVD  R20, R0
	MOVD  R24, R1
	CALL  (R19)
	CBNZW R0, fail
	MOVD  0(R24), R2
	MOVD  8(R24), R3
	MADD  R25, R3, R2, R2
	MOVD.P R2, 8(R22)
	SUBS  $1, R21
	BGT   loop

fail:
	MOVD R23, RSP
	SXTW R0, R0
	NEG  R0, R0
	MOVD R0, errno+32(FP)
	RET

// System call 113 is clock_gettime; the kernel keeps all registers but R0.
//
// func syscallBatch(id int64, n int) (errno int64)
TEXT ·syscallBatch(SB), NOSPLIT, $16-24
	MOVD id+0(FP), R9
	MOVD n+8(FP), R10
	MOVD $time-16(SP), R11
	MOVD $113, R8

loop:
	MOVD R9, R0
	MOVD R11, R1
	SVC
	CBNZ R0, fail
	SUBS $1, R10
	BGT  loop

fail:
	NEG  R0, R0
	MOVD R0, errno+16(FP)
	RET

// func syscallValues(id int64, out *uint64, n int) (errno int64)
TEXT ·syscallValues(SB), NOSPLIT, $16-32
	MOVD id+0(FP), R9
	MOVD out+8(FP), R12
	MOVD n+16(FP), R10
	MOVD $time-16(SP), R11
	MOVD $113, R8
	MOVD $1000000000, R13

loop:
	MOVD R9, R0
	MOVD R11, R1
	SVC
	CBNZ R0, fail
	MOVD 0(R11), R2
	MOVD 8(R11), R3
	MADD R13, R3, R2, R2
	MOVD.P R2, 8(R12)
	SUBS $1, R10
	BGT  loop

fail:
	NEG  R0, R0
	MOVD R0, errno+24(FP)
	RET

// A read of CNTVCT_EL0 may run ahead of earlier instructions; ISB in front waits for them.
//
// func cntvctBatch(n int) (sum uint64)
TEXT ·cntvctBatch(SB), NOSPLIT, $0-16
	MOVD n+0(FP), R1
	MOVD ZR, R2

loop:
	MRS  CNTVCT_EL0, R0
	ADD  R0, R2
	SUBS $1, R1
	BGT  loop
	MOVD R2, sum+8(FP)
	RET

// func cntvctValues(out *uint64, n int)
TEXT ·cntvctValues(SB), NOSPLIT, $0-16
	MOVD out+0(FP), R2
	MOVD n+8(FP), R1

loop:
	MRS  CNTVCT_EL0, R0
	MOVD.P R0, 8(R2)
	SUBS $1, R1
	BGT  loop
	RET

// func barredBatch(n int) (sum uint64)
TEXT ·barredBatch(SB), NOSPLIT, $0-16
	MOVD n+0(FP), R1
	MOVD ZR, R2

loop:
	ISB  $15
	MRS  CNTVCT_EL0, R0
	ADD  R0, R2
	SUBS $1, R1
	BGT  loop
	MOVD R2, sum+8(FP)
	RET

// func barredValues(out *uint64, n int)
TEXT ·barredValues(SB), NOSPLIT, $0-16
	MOVD out+0(FP), R2
	MOVD n+8(FP), R1

loop:
	ISB  $15
	MRS  CNTVCT_EL0, R0
	MOVD.P R0, 8(R2)
	SUBS $1, R1
	BGT  loop
	RET

// pointerTo returns an address outside Go's memory as a pointer.
//
// func pointerTo(address uintptr) unsafe.Pointer
TEXT ·pointerTo(SB), NOSPLIT, $0-16
	MOVD address+0(FP), R0
	MOVD R0, ret+8(FP)
	RET
