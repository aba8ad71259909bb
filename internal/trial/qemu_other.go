//go:build !linux

package trial

import (
	"context"
	"errors"

	"github.com/cswatch/cswatch/internal/campaign"
	"github.com/cswatch/cswatch/internal/qemu"
)

// QEMU boots real kernels, on Linux.
type QEMU struct {
	Plan   *campaign.Plan
	Config qemu.Config
	States string
	Say    func(string)
}

var errLinux = errors.New("campaigns of real kernels need Linux, whose pipes delay the reads of a guest; the executor sim runs everywhere")

// Ready reports that this is not Linux.
func (q *QEMU) Ready(context.Context, []campaign.Cell, []*campaign.Result) error { return errLinux }

// Cost is never asked.
func (q *QEMU) Cost(*campaign.Trial, int) int { return 1 }

// Carry reports that this is not Linux.
func (q *QEMU) Carry(context.Context, *campaign.Trial) (Carried, error) { return Carried{}, errLinux }
