package tap

import "time"

// Model draws how long the processor is held each time.
type Model interface {
	Next() time.Duration // 0: not at all
	String() string      // the model with its parameters, for reports
}
