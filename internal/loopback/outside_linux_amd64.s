#include "textflag.h"

// func interpret(p *program)
//
// BX is the program, R12 the step, R13 its number, R15 the bytes that a whole transfer has moved. Offsets are those of program and step.
TEXT ·interpret(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), BX

turn:
	MOVQ 40(BX), AX // end
	MOVL (AX), AX
	TESTL AX, AX
	JNE  ended
	MOVQ 0(BX), R12
	XORQ R13, R13

step:
	CMPQ R13, 8(BX)
	JGE  done
	XORQ R15, R15

again:
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	CMPQ DI, $-1
	JNE  named
	MOVQ 16(BX), DI // the connection that a step has opened

named:
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	XORQ R8, R8
	XORQ R9, R9
	CMPQ 40(R12), $2
	JNE  enter
	ADDQ R15, SI
	SUBQ R15, DX

enter:
	SYSCALL
	CMPQ AX, $-4 // EINTR
	JEQ  again
	MOVQ 40(R12), CX
	CMPQ CX, $4 // anything
	JEQ  next
	TESTQ AX, AX
	JLT  failed
	CMPQ CX, $0 // plain
	JEQ  next
	CMPQ CX, $1 // opens
	JNE  moved
	MOVQ AX, 16(BX)
	JMP  next

moved:
	TESTQ AX, AX
	JEQ  failed
	CMPQ CX, $3 // counts
	JEQ  count
	ADDQ AX, R15
	CMPQ R15, 24(R12)
	JLT  again
	JMP  next

count:
	MOVQ 24(BX), CX
	LOCK
	XADDQ AX, (CX)

next:
	ADDQ $48, R12
	INCQ R13
	JMP  step

done:
	MOVQ 24(BX), CX
	MOVQ 32(BX), AX
	LOCK
	XADDQ AX, (CX)
	JMP  turn

failed:
	MOVQ R13, 48(BX)
	MOVQ AX, 56(BX)
	RET

ended:
	MOVQ 8(BX), AX
	MOVQ AX, 48(BX)
	MOVQ $0, 56(BX)
	RET
