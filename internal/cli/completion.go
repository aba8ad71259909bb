package cli

import "github.com/spf13/cobra"

// addCompletionCommand adds cobra's completion command now rather than when
// the program runs, so that it gets a group, a man page and our exit codes.
func addCompletionCommand(root *cobra.Command) {
	root.SetCompletionCommandGroupID(groupAbout)
	root.InitDefaultCompletionCmd()
}
