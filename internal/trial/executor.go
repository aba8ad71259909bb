package trial

import (
	"context"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/store"
)

// Executor carries out trials. Its methods are called from several goroutines.
type Executor interface {
	// Ready finds out whether all cells of a campaign can be carried out, before any
	// is. earlier are results that the campaign has, none at its begin: what they
	// were made with must still be there.
	Ready(ctx context.Context, cells []campaign.Cell, earlier []*campaign.Result) error
	// Cost is how many of all slots a trial takes while it runs, 1 at least.
	Cost(t *campaign.Trial, slots int) int
	// Carry carries a trial out. An error means that it could not be: the campaign
	// cannot go on, or ctx has ended.
	Carry(ctx context.Context, t *campaign.Trial) (Carried, error)
}

// Carried is what a trial brought.
type Carried struct {
	Result campaign.Result
	Files  []store.File
}

// Names of a trial's files.
const (
	CommandFile = "command.txt"  // QEMU's command line, or what was simulated
	ConsoleFile = "console.txt"  // the first serial port
	LogFile     = "kmsg.txt"     // the kernel log
	EventsFile  = "events.jsonl" // what klog reads in it
	OutputFile  = "output.txt"   // of the program that ran inside
	StderrFile  = "stderr.txt"   // of QEMU
)

// checksBefore is how many checks the watchdog makes before the TSC goes wrong.
const checksBefore = 3
