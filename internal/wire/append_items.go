package wire

import "slices"

// HOT PATH: every item that crosses a link passes here, once in each direction.

// room is what an element takes at most in the usual case, beside its payload.
const room = 8

func appendTask(dst []byte, m *Task) []byte {
	size, refs := 0, 0
	for i := range m.Items {
		p := &m.Items[i].Payload
		size += len(p.Bytes)
		refs += len(p.Blocks)
	}
	dst = slices.Grow(dst, size+room*(len(m.Items)+len(m.Ends)+refs+1))
	var bits byte
	if m.Isolated {
		bits = taskIsolated
	}
	dst = append(dst, bits)
	dst = count(count(count(dst, len(m.Items)), len(m.Ends)), refs)
	var at place
	var next uint64
	for i := range m.Items {
		it := &m.Items[i]
		bits := at.bits(&it.Identity)
		if it.ID != next {
			bits |= itemID
		}
		if it.Skip != 0 {
			bits |= itemSkip
		}
		if it.Attempt != 0 {
			bits |= itemAttempt
		}
		if len(it.Payload.Blocks) > 0 {
			bits |= itemBlocks
		}
		dst = append(dst, bits)
		if bits&^itemBlocks != 0 {
			dst = appendOdd(dst, bits, it, next, &at)
		}
		dst = payload(dst, &it.Payload)
		next = it.ID + 1
		at.follow(&it.Identity)
	}
	return epochs(dst, m.Ends)
}

// appendOdd says what is not usual of an item.
func appendOdd(dst []byte, bits byte, it *Item, next uint64, at *place) []byte {
	if bits&itemID != 0 {
		dst = uvarint(dst, zigzag(int64(it.ID-next)))
	}
	dst = appendIdentity(dst, bits, &it.Identity, at)
	if bits&itemSkip != 0 {
		dst = count(dst, it.Skip)
	}
	if bits&itemAttempt != 0 {
		dst = count(dst, it.Attempt)
	}
	return dst
}

func appendIdentity(dst []byte, bits byte, id *Identity, at *place) []byte {
	if bits&hasSource != 0 {
		dst = count(count(dst, id.Source), id.Epoch)
	}
	if bits&hasIndex != 0 {
		dst = uvarint(dst, zigzag(id.Index-at.index))
	}
	if bits&hasPath != 0 {
		dst = text(dst, id.Path)
	}
	return dst
}

// payload appends the bytes of p and, if there are some, its blocks.
func payload(dst []byte, p *Payload) []byte {
	dst = bytes(dst, p.Bytes)
	if len(p.Blocks) > 0 {
		dst = blocks(dst, p.Blocks)
	}
	return dst
}

func appendResult(dst []byte, m *Result) []byte {
	size, outputs, failures, refs := 0, 0, 0, 0
	for i := range m.Entries {
		e := &m.Entries[i]
		outputs += len(e.Outputs)
		for k := range e.Outputs {
			p := &e.Outputs[k].Payload
			size += len(p.Bytes)
			refs += len(p.Blocks)
		}
		failures += len(e.Failures)
		refs += letters(e.Failures)
	}
	dst = slices.Grow(dst, size+room*(len(m.Entries)+outputs+failures+refs+1))
	dst = count(count(count(count(dst, len(m.Entries)), outputs), failures), refs)
	var next uint64
	var at place // of the failures
	for i := range m.Entries {
		e := &m.Entries[i]
		var bits byte
		if e.ID != next {
			bits = entryID
		}
		if len(e.Failures) > 0 {
			bits |= entryFailures
		}
		if len(e.Outputs) == 0 {
			bits |= entryNone
		} else if len(e.Outputs) > 1 || e.Outputs[0].bits() != 0 {
			bits |= entryMany
		}
		dst = append(dst, bits)
		if bits&entryID != 0 {
			dst = uvarint(dst, zigzag(int64(e.ID-next)))
		}
		next = e.ID + 1
		switch {
		case bits&entryMany != 0:
			dst = appendOutputs(count(dst, len(e.Outputs)), e.Outputs)
		case bits&entryNone == 0:
			dst = bytes(dst, e.Outputs[0].Payload.Bytes)
		}
		if bits&entryFailures != 0 {
			dst = appendFailures(count(dst, len(e.Failures)), e.Failures, &at)
		}
	}
	return finished(dst, m.Finished)
}

// finished appends what stages have finished.
func finished(dst []byte, list []int64) []byte {
	dst = count(dst, len(list))
	for _, n := range list {
		dst = uvarint(dst, uint64(n))
	}
	return dst
}

// bits are those of what must be said of o.
func (o *Output) bits() (bits byte) {
	if o.Port != 0 {
		bits = outputPort
	}
	if o.Path != "" {
		bits |= outputPath
	}
	if len(o.Payload.Blocks) > 0 {
		bits |= outputBlocks
	}
	return bits
}

func appendOutputs(dst []byte, list []Output) []byte {
	for i := range list {
		o := &list[i]
		bits := o.bits()
		dst = append(dst, bits)
		if bits&outputPort != 0 {
			dst = count(dst, o.Port)
		}
		if bits&outputPath != 0 {
			dst = text(dst, o.Path)
		}
		dst = payload(dst, &o.Payload)
	}
	return dst
}

func appendPart(dst []byte, m *Part) []byte {
	refs := 0
	for i := range m.Outputs {
		refs += len(m.Outputs[i].Payload.Blocks)
	}
	dst = count(uvarint(dst, m.ID), m.From)
	return appendOutputs(count(count(dst, len(m.Outputs)), refs), m.Outputs)
}

// letters counts the blocks of the letters.
func letters(list []Failure) (refs int) {
	for i := range list {
		if list[i].Lettered {
			refs += len(list[i].Letter.Blocks)
		}
	}
	return refs
}

func appendFailures(dst []byte, list []Failure, at *place) []byte {
	for i := range list {
		f := &list[i]
		bits := at.bits(&f.Identity)
		if f.Fatal {
			bits |= failureFatal
		}
		if f.Hung {
			bits |= failureHung
		}
		if f.Poison {
			bits |= failurePoison
		}
		if f.Lettered {
			bits |= failureLettered
			if len(f.Letter.Blocks) > 0 {
				bits |= failureBlocks
			}
		}
		dst = append(dst, bits)
		dst = appendIdentity(dst, bits, &f.Identity, at)
		at.follow(&f.Identity)
		dst = bytes(uvarint(count(count(dst, f.Stage), f.Attempts), uint64(f.Finished)), f.Error)
		if f.Lettered {
			dst = payload(dst, &f.Letter)
		}
	}
	return dst
}
