package cli

import "github.com/spf13/cobra"

func newBenchCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		GroupID: groupExperiment,
		Short:   "Measure what reading the clock costs, and what the CPUs do",
		Long:    "bench measures what a clocksource costs on this machine, and whether a workload notices.",
	}
	cmd.AddCommand(newBenchClockCommand(env), newBenchNetCommand(env), newBenchProfileCommand(env), newBenchModelCommand(env))
	return cmd
}
