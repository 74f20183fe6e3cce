package wire

import "math"

// HOT PATH: every item that crosses a link passes here, once in each direction.

func (r *reader) task() *Task {
	m := &Task{Isolated: r.bits(taskIsolated) != 0}
	n, ends, refs := r.count(minItem), r.count(minEpochEnd), r.count(minBlock)
	if r.reason != "" {
		return nil
	}
	m.Items, r.blocks = several[Item](n), several[Block](refs)
	var at place
	var next uint64
	for i := range m.Items {
		it := &m.Items[i]
		bits := r.bits(itemBits)
		if bits&^itemBlocks != 0 {
			r.odd(bits, it, &next, &at)
		}
		it.ID, it.Identity.Source, it.Identity.Epoch, it.Identity.Index = next, at.source, at.epoch, at.index
		next++
		at.index++
		if it.Identity.Index < 0 {
			r.fail(tooLarge)
		}
		it.Payload.Bytes = r.take(MaxPayload)
		if bits&itemBlocks != 0 {
			it.Payload.Blocks = r.refs()
		}
		if r.reason != "" {
			return nil
		}
	}
	m.Ends = r.epochs(ends, n)
	r.end(0)
	return m
}

// odd reads what is not usual of an item.
func (r *reader) odd(bits byte, it *Item, next *uint64, at *place) {
	if bits&itemID != 0 {
		*next += uint64(r.step())
	}
	it.Identity.Path = r.identity(bits, at)
	if bits&itemSkip != 0 {
		it.Skip = int(r.explicit(MaxCount))
	}
	if bits&itemAttempt != 0 {
		it.Attempt = int(r.explicit(MaxCount))
	}
}

// identity reads what is not usual of an identity: the path, which it returns, and the rest, which it makes *at.
func (r *reader) identity(bits byte, at *place) (path string) {
	if bits&hasSource != 0 {
		r.source(at)
	}
	if bits&hasIndex != 0 {
		at.index += r.step()
	}
	if bits&hasPath != 0 {
		path = r.path()
	}
	return path
}

// step reads by how much a number is not what it usually is.
func (r *reader) step() int64 { return unzigzag(r.explicit(math.MaxUint64)) }

// source reads a source and an epoch which are not those of at.
func (r *reader) source(at *place) {
	start := r.off
	source, epoch := r.stage(), r.epoch()
	if source == at.source && epoch == at.epoch && r.reason == "" {
		r.off = start
		r.fail(roundabout)
	}
	at.source, at.epoch = source, epoch
}

// refs reads the blocks of one payload.
func (r *reader) refs() []Block {
	list := cut(r, &r.blocks, r.explicit(MaxElements))
	r.readBlocks(list)
	return list
}

func (r *reader) readBlocks(list []Block) {
	for i := range list {
		b := &list[i]
		b.Offset = r.number(MaxIndex)
		b.Length = r.number(MaxIndex - b.Offset)
		b.Generation = uint32(r.number(maxVersion))
	}
}

func (r *reader) result() *Result {
	n := r.count(minEntry)
	outputs := int(r.number(MaxElements))
	r.announce(outputs, outputs+max(0, outputs-n)) // only the first of an entry may take a single byte
	failures := r.count(minFailure)
	refs := r.count(minBlock)
	if r.reason != "" {
		return nil
	}
	m := &Result{Entries: several[Entry](n)}
	all, failed := several[Output](outputs), several[Failure](failures)
	r.blocks = several[Block](refs)
	var next uint64
	var at place // of the failures
	for i := range m.Entries {
		e := &m.Entries[i]
		bits := r.bits(entryBits)
		if bits&entryID != 0 {
			next += uint64(r.step())
		}
		e.ID = next
		next++
		if bits&^entryID == 0 && len(all) > 0 {
			all[0].Payload.Bytes = r.take(MaxPayload)
			e.Outputs, all = all[:1:1], all[1:]
		} else {
			all = r.many(bits, e, all)
		}
		if bits&entryFailures != 0 {
			e.Failures = cut(r, &failed, r.explicit(MaxElements))
			r.failures(e.Failures, &at)
		}
		if r.reason != "" {
			return nil
		}
	}
	m.Finished = r.finished()
	r.end(len(all) + len(failed))
	return m
}

// finished reads what stages have finished.
func (r *reader) finished() []int64 {
	n := int(r.number(MaxStage))
	if n > len(r.b)-r.off {
		r.fail(tooMany)
		return nil
	}
	list := several[int64](n)
	for i := range list {
		list[i] = int64(r.number(MaxIndex))
	}
	return list
}

// many reads the outputs of an entry that has not only one which is plain, from the first of all, and returns the rest of all.
func (r *reader) many(bits byte, e *Entry, all []Output) []Output {
	switch bits & (entryMany | entryNone) {
	case 0:
		if e.Outputs = cut(r, &all, 1); e.Outputs != nil {
			e.Outputs[0].Payload.Bytes = r.take(MaxPayload)
		}
	case entryMany:
		e.Outputs = cut(r, &all, r.explicit(MaxElements))
		r.outputs(e.Outputs)
		if len(e.Outputs) == 1 && e.Outputs[0].bits() == 0 {
			r.fail(roundabout)
		}
	case entryMany | entryNone:
		r.fail(undefined)
	}
	return all
}

func (r *reader) outputs(list []Output) {
	for i := range list {
		o := &list[i]
		bits := r.bits(outputBits)
		if bits&outputPort != 0 {
			o.Port = int(r.explicit(MaxStage))
		}
		if bits&outputPath != 0 {
			o.Path = r.path()
		}
		o.Payload.Bytes = r.take(MaxPayload)
		if bits&outputBlocks != 0 {
			o.Payload.Blocks = r.refs()
		}
		if r.reason != "" {
			return
		}
	}
}

func (r *reader) part() *Part {
	m := &Part{ID: r.uvarint(), From: int(r.number(MaxCount))}
	n := r.count(minItem)
	refs := r.count(minBlock)
	if r.reason != "" {
		return nil
	}
	m.Outputs, r.blocks = several[Output](n), several[Block](refs)
	r.outputs(m.Outputs)
	return m
}

func (r *reader) failures(list []Failure, at *place) {
	for i := range list {
		f := &list[i]
		bits := r.bits(failureBits)
		f.Fatal, f.Hung, f.Lettered = bits&failureFatal != 0, bits&failureHung != 0, bits&failureLettered != 0
		f.Poison = bits&failurePoison != 0
		f.Identity.Path = r.identity(bits, at)
		if at.index < 0 {
			r.fail(tooLarge)
		}
		f.Identity.Source, f.Identity.Epoch, f.Identity.Index = at.source, at.epoch, at.index
		at.index++
		f.Stage, f.Attempts, f.Finished = r.stage(), int(r.number(MaxCount)), int64(r.number(MaxIndex))
		f.Error = r.take(MaxText)
		if f.Lettered {
			f.Letter.Bytes = r.take(MaxPayload)
			if bits&failureBlocks != 0 {
				f.Letter.Blocks = r.refs()
			}
		} else if bits&failureBlocks != 0 {
			r.fail(undefined)
		}
		if r.reason != "" {
			return
		}
	}
}
