#include "textflag.h"
#include "funcdata.h"

// The loops are in assembly so that each read costs what it costs a C program
// and nothing else, and so that Go can call the vDSO at all.

// A vDSO function is C: it uses the stack of its caller, a page of it in some
// kernels, and Go's stacks are smaller. These frames are that stack: the check in
// front of a function that is not NOSPLIT lets the goroutine's stack grow until
// they fit, and C runs inside the frame, below the few words at its upper end.
#define TOP 65408 // of the frame's 65536 bytes: below it C's, above it a timespec and the old SP

// ENTER_C moves SP into the frame and keeps the old one. SP is a multiple of 16 at
// a call of C. The timespec is at 0(SP). LEAVE_C moves it back.
#define ENTER_C \
	MOVQ SP, AX     \
	ADDQ $TOP, AX   \
	ANDQ $~15, AX   \
	MOVQ SP, 16(AX) \
	MOVQ AX, SP

#define LEAVE_C MOVQ 16(SP), SP

// C keeps BX, BP and R12 to R15; R14 and BP stay Go's.
//
// func vdsoBatch(fn uintptr, id int64, n int) (errno int64)
TEXT ·vdsoBatch(SB), 0, $65536-32
	NO_LOCAL_POINTERS
	MOVQ fn+0(FP), R12
	MOVQ id+8(FP), R13
	MOVQ n+16(FP), BX
	ENTER_C
	PCALIGN $32

loop:
	MOVQ R13, DI
	MOVQ SP, SI
	CALL R12
	TESTL AX, AX
	JNE  fail
	DECQ BX
	JGT  loop

fail:
	LEAVE_C
	MOVLQSX AX, AX
	NEGQ AX
	MOVQ AX, errno+24(FP)
	RET

// func vdsoValues(fn uintptr, id int64, out *uint64, n int) (errno int64)
TEXT ·vdsoValues(SB), 0, $65536-40
	NO_LOCAL_POINTERS
	MOVQ fn+0(FP), R12
	MOVQ id+8(FP), R13
	MOVQ out+16(FP), R15
	MOVQ n+24(FP), BX
	ENTER_C
	PCALIGN $32

loop:
	MOVQ  R13, DI
	MOVQ  SP, SI
	CALL  R12
	TESTL AX, AX
	JNE   fail
	MOVQ  SP, DX
	IMUL3Q $1000000000, 0(DX), CX
	ADDQ  8(DX), CX
	MOVQ  CX, (R15)
	ADDQ  $8, R15
	DECQ  BX
	JGT   loop

fail:
	LEAVE_C
	MOVLQSX AX, AX
	NEGQ AX
	MOVQ AX, errno+32(FP)
	RET

// System call 228 is clock_gettime; the kernel keeps all registers but AX, CX and R11.
//
// func syscallBatch(id int64, n int) (errno int64)
TEXT ·syscallBatch(SB), NOSPLIT, $16-24
	MOVQ id+0(FP), R8
	MOVQ n+8(FP), R9
	LEAQ 0(SP), R10
	PCALIGN $32

loop:
	MOVQ  R8, DI
	MOVQ  R10, SI
	MOVL  $228, AX
	SYSCALL
	TESTQ AX, AX
	JNE   fail
	DECQ  R9
	JGT   loop

fail:
	NEGQ AX
	MOVQ AX, errno+16(FP)
	RET

// func syscallValues(id int64, out *uint64, n int) (errno int64)
TEXT ·syscallValues(SB), NOSPLIT, $16-32
	MOVQ id+0(FP), R8
	MOVQ out+8(FP), BX
	MOVQ n+16(FP), R9
	LEAQ 0(SP), R10
	PCALIGN $32

loop:
	MOVQ  R8, DI
	MOVQ  R10, SI
	MOVL  $228, AX
	SYSCALL
	TESTQ AX, AX
	JNE   fail
	IMUL3Q $1000000000, 0(R10), CX
	ADDQ  8(R10), CX
	MOVQ  CX, (BX)
	ADDQ  $8, BX
	DECQ  R9
	JGT   loop

fail:
	NEGQ AX
	MOVQ AX, errno+24(FP)
	RET

// The ways of reading the TSC, each into AX as one number. RDTSC alone may run
// before earlier instructions have finished; LFENCE in front waits for them;
// RDTSCP waits by itself.
#define JOIN SHLQ $32, DX; ORQ DX, AX
#define RDTSC_ALONE RDTSC; JOIN
#define FENCED_RDTSC LFENCE; RDTSC; JOIN
#define WITH_RDTSCP RDTSCP; JOIN

// The values are added up in R8, so that none is read for nothing, as in the C program.
#define BATCH(READ) \
	XORL R8, R8 \
	PCALIGN $32 \
loop:          \
	READ        \
	ADDQ AX, R8 \
	DECQ R9     \
	JGT  loop

#define VALUES(READ) \
	PCALIGN $32  \
loop:           \
	READ         \
	MOVQ AX, (R8) \
	ADDQ $8, R8  \
	DECQ R9      \
	JGT  loop

// func rdtscBatch(n int) (sum uint64)
TEXT ·rdtscBatch(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), R9
	BATCH(RDTSC_ALONE)
	MOVQ R8, sum+8(FP)
	RET

// func rdtscValues(out *uint64, n int)
TEXT ·rdtscValues(SB), NOSPLIT, $0-16
	MOVQ out+0(FP), R8
	MOVQ n+8(FP), R9
	VALUES(RDTSC_ALONE)
	RET

// func fencedBatch(n int) (sum uint64)
TEXT ·fencedBatch(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), R9
	BATCH(FENCED_RDTSC)
	MOVQ R8, sum+8(FP)
	RET

// func fencedValues(out *uint64, n int)
TEXT ·fencedValues(SB), NOSPLIT, $0-16
	MOVQ out+0(FP), R8
	MOVQ n+8(FP), R9
	VALUES(FENCED_RDTSC)
	RET

// func rdtscpBatch(n int) (sum uint64)
TEXT ·rdtscpBatch(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), R9
	BATCH(WITH_RDTSCP)
	MOVQ R8, sum+8(FP)
	RET

// func rdtscpValues(out *uint64, n int)
TEXT ·rdtscpValues(SB), NOSPLIT, $0-16
	MOVQ out+0(FP), R8
	MOVQ n+8(FP), R9
	VALUES(WITH_RDTSCP)
	RET

// pointerTo returns an address outside Go's memory as a pointer.
//
// func pointerTo(address uintptr) unsafe.Pointer
TEXT ·pointerTo(SB), NOSPLIT, $0-16
	MOVQ address+0(FP), AX
	MOVQ AX, ret+8(FP)
	RET
