package exporter_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cswatch/cswatch/internal/exporter"
	"github.com/cswatch/cswatch/internal/tally"
)

// What is known becomes a document, here before the doctor has judged it.
func ExampleStatus() {
	t := tally.New("a boot")
	t.Observe("tsc", []string{"tsc", "hpet"}, tally.Moment{At: time.Unix(1000, 0)})
	b, err := exporter.Status(t.View(), exporter.About{Version: "v1.0.0", Host: "db01"}, time.Unix(1001, 0).UTC())
	if err != nil {
		fmt.Println(err)
		return
	}
	var d exporter.StatusDocument
	if err := json.Unmarshal(b, &d); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Schema, d.Status, d.Monitor.Clocks.Current, d.Monitor.Clocks.Best)
	// Output: cswatch.monitor/v1 unknown tsc tsc
}
