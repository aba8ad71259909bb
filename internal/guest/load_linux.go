package guest

import (
	"context"

	"github.com/cswatch/cswatch/internal/load"
)

// startLoad starts the load of a plan. The returned function, never nil, ends it
// and hands over what it did.
func startLoad(kind load.Kind, say func(Record)) (end func(), err error) {
	if kind.Quiet() {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	// The TSC of a virtual machine lasts as long as the machine.
	running, err := load.Driver{Kind: kind, AcceptLosingTSC: true}.Start(ctx)
	if err != nil {
		cancel()
		return func() {}, err
	}
	return func() {
		cancel()
		work, err := running.Wait()
		if err != nil {
			say(Record{Type: TypeTrouble, Trouble: err.Error()})
		}
		for _, idle := range work.Idle() {
			say(Record{Type: TypeTrouble, Trouble: "drive the load " + string(kind) + ": " + idle})
		}
		say(Record{Type: TypeLoad, Load: &work})
	}, nil
}
