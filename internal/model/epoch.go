package model

import "fmt"

// EPOCHS. A source yields epochs: 1 and 2, of which 2 is filtered; none; 3 and 4. The end of each must come to the
// consumer once, behind everything of its epoch and before anything of the next; no batch may hold items of two.

// epochInputs is how many inputs there are, epochEnds how many epochs.
const (
	epochInputs   = 4
	epochEnds     = 3
	epochFiltered = 2 // an input
)

// epochOrder is what the source yields: inputs, and 0 for the end of an epoch.
func epochOrder() [epochInputs + epochEnds]uint8 { return [...]uint8{1, 2, 0, 0, 3, 4, 0} }

func epochOf(input uint8) uint8 { return [epochInputs + 1]uint8{0, 0, 0, 2, 2}[input] }

// epochItems is what of an epoch comes to the consumer.
func epochItems(epoch uint8) uint8 {
	return [epochEnds]uint8{bit(1), 0, bit(3) | bit(4)}[epoch]
}

// An epochConsumer ranges over epochs, and over the outputs of each.
type epochConsumer struct {
	got  uint8
	ends uint8
}

type epochWrong uint8

const (
	epochRight epochWrong = iota
	epochRepeated
	epochMixed
	epochPlace
	epochOverfull
)

func (w epochWrong) String() string {
	return [...]string{"", "an output repeated", "a batch of two epochs", "an end out of its place, or twice", "buffer above its bound"}[w]
}

// output takes an output made of a set of inputs.
func (c *epochConsumer) output(inputs uint8) epochWrong {
	if c.got&inputs != 0 {
		return epochRepeated
	}
	c.got |= inputs
	of := uint8(0)
	for epoch := range uint8(epochEnds) {
		of |= number(inputs&epochItems(epoch) != 0) << epoch
	}
	switch {
	case size(of) > 1:
		return epochMixed
	case of != bit(c.ends):
		return epochPlace
	}
	return epochRight
}

// end takes the end of an epoch.
func (c *epochConsumer) end() epochWrong {
	if c.ends == epochEnds || epochItems(c.ends)&^c.got != 0 {
		return epochPlace
	}
	c.ends++
	return epochRight
}

func (c *epochConsumer) missing() string {
	if c.ends != epochEnds || c.got != upTo(epochInputs)&^bit(epochFiltered) {
		return fmt.Sprintf("lost: %d ends, outputs %b", c.ends, c.got)
	}
	return ""
}
