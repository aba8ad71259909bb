// Package alerting holds the files of the folder monitoring against the rest of the project.
//
// The folder has Prometheus rules with their tests, a Grafana dashboard, and two
// configurations of node-problem-detector: text that no compiler reads. The tests of
// this package see that every query ([ParseQuery], [Query.Check]) asks only for metrics, labels and
// values that [Metrics] lists, that each alert has its runbook and each runbook its
// alert, that the patterns of node-problem-detector ([Pattern]) hit the lines which
// package klog takes for such events and no others, and that a real Prometheus, started by [StartPrometheus],
// loads the rules and fires.
//
// The package judges no PromQL beyond names: promtool does, where it is installed. It is no part of the program.
package alerting
