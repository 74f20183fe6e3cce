// Package wire is the language of the link between a deploying program and the nodes that host its regions.
package wire
