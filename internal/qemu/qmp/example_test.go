package qmp_test

import (
	"bufio"
	"context"
	"fmt"
	"net"

	"github.com/cswatch/cswatch/internal/qemu/qmp"
)

// Ask a machine for its state. The other end of the pipe plays QEMU here;
// qmp.Dial connects to a real one.
func ExampleClient_Execute() {
	conn, peer := net.Pipe()
	go func() {
		in := bufio.NewScanner(peer)
		fmt.Fprintln(peer, `{"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 22}}}}`)
		for id := 1; in.Scan(); id++ {
			fmt.Fprintf(peer, `{"return": {"status": "running"}, "id": %d}`+"\n", id)
		}
	}()
	ctx := context.Background()
	c, err := qmp.New(ctx, conn)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	var state struct {
		Status string `json:"status"`
	}
	if err := c.Execute(ctx, "query-status", nil, &state); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(state.Status)
	// Output: running
}
