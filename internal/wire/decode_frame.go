package wire

import "time"

// HOT PATH: every item that leaves a region with a source or an aggregate passes here.

func (r *reader) frame() *Frame {
	m := &Frame{Seq: r.uvarint()}
	yielded, done := r.count(minPosition), r.count(minSpan)
	n := r.count(minFrameOutput)
	members := int(r.number(MaxElements))
	r.announce(members, max(0, members-n)*minMember) // the only one of an output may take nothing
	failures, epochs, refs := r.count(minFailure), r.count(minEpochEnd), r.count(minBlock)
	if r.reason != "" {
		return nil
	}
	m.Yielded, m.Done = r.positions(yielded), r.spans(done)
	if r.reason != "" {
		return nil
	}
	m.Outputs, m.Failed = several[FrameOutput](n), several[Failure](failures)
	r.blocks = several[Block](refs)
	all := several[Member](members)
	var at place // where the next member begins
	epoch := 0
	for i := range m.Outputs {
		o := &m.Outputs[i]
		bits := r.bits(frameBits)
		if bits&frameEpoch != 0 {
			start := r.off
			if e := r.epoch(); e != epoch {
				epoch = e
			} else if r.reason == "" {
				r.off = start
				r.fail(roundabout)
			}
		}
		o.Epoch = epoch
		switch {
		case bits&frameSibling != 0:
			if o.Sibling = true; i == 0 || bits&frameMembers != 0 {
				r.fail(unannounced)
			}
		case bits&frameMembers != 0:
			all = r.members(o, all, &at)
		case len(all) > 0:
			r.member(&all[0], 0, &at)
			o.Members, all = all[:1:1], all[1:]
		default:
			r.fail(unannounced)
		}
		if bits&framePath != 0 {
			o.Path = r.path()
		}
		o.Payload.Bytes = r.take(MaxPayload)
		if bits&frameBlocks != 0 {
			o.Payload.Blocks = r.refs()
		}
		if o.Failed = bits&frameFailed != 0; o.Failed && (bits&(framePath|frameBlocks|frameSibling) != 0 || len(o.Payload.Bytes) > 0) {
			r.fail(noOutput)
		}
		if r.reason != "" {
			return nil
		}
	}
	var failed place
	r.failures(m.Failed, &failed)
	m.Epochs = r.epochs(epochs, n)
	m.Finished = r.finished()
	r.end(len(all))
	return m
}

// members reads those of o, of which there is not one that is usual, from the first of all, and returns the rest of all.
func (r *reader) members(o *FrameOutput, all []Member, at *place) []Member {
	start := r.off
	o.Members = cut(r, &all, r.number(MaxElements))
	var bits byte
	for i := range o.Members {
		bits = r.bits(memberBits)
		r.member(&o.Members[i], bits, at)
		if r.reason != "" {
			return all
		}
	}
	if len(o.Members) == 1 && bits == 0 {
		r.off = start
		r.fail(roundabout)
	}
	return all
}

// member reads one, and makes *at the place behind it.
func (r *reader) member(m *Member, bits byte, at *place) {
	m.N = 1
	if bits != 0 {
		if bits&memberSource != 0 {
			r.source(at)
		}
		if bits&memberIndex != 0 {
			at.index += r.step()
		}
		if bits&memberRun != 0 {
			m.N = 2 + int64(r.number(MaxIndex-2))
		}
		if bits&memberPath != 0 {
			m.Path = r.path()
		}
	}
	if at.index < 0 || m.Path == "" && at.index > MaxIndex-m.N || m.Path != "" && m.N > MaxCount {
		r.fail(tooLarge)
		return
	}
	m.Source, m.Epoch, m.Index = at.source, at.epoch, at.index
	*at = m.behind()
}

// epochs reads n ends of epochs among so many outputs or items.
func (r *reader) epochs(n, outputs int) []EpochEnd {
	list := several[EpochEnd](n)
	for i := range list {
		e := &list[i]
		e.Epoch, e.After = r.epoch(), int(r.number(uint64(outputs)))
		if i > 0 && (e.Epoch <= list[i-1].Epoch || e.After < list[i-1].After) {
			r.fail(unordered)
		}
		if r.reason != "" {
			return nil
		}
	}
	return list
}

func (r *reader) stage() int { return int(r.number(MaxStage)) }

func (r *reader) epoch() int { return int(r.number(MaxCount)) }

func (r *reader) duration() time.Duration { return time.Duration(r.number(MaxIndex)) }

// before reports whether p's source and epoch come before these.
func (p Position) before(source, epoch int) bool {
	return p.Source < source || p.Source == source && p.Epoch < epoch
}
