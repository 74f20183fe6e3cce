package wire

import "slices"

// HOT PATH: every item that leaves a region with a source or an aggregate passes here.

func appendFrame(dst []byte, m *Frame) []byte {
	size, members, refs := 0, 0, letters(m.Failed)
	for i := range m.Outputs {
		o := &m.Outputs[i]
		size += len(o.Payload.Bytes)
		members += len(o.Members)
		refs += len(o.Payload.Blocks)
	}
	dst = slices.Grow(dst, size+room*(len(m.Yielded)+len(m.Done)+len(m.Outputs)+members+len(m.Failed)+refs+2))
	dst = uvarint(dst, m.Seq)
	dst = count(count(dst, len(m.Yielded)), len(m.Done))
	dst = count(count(dst, len(m.Outputs)), members)
	dst = count(count(count(dst, len(m.Failed)), len(m.Epochs)), refs)
	dst = spans(positions(dst, m.Yielded), m.Done)
	var at place // where the next member begins
	epoch := 0
	for i := range m.Outputs {
		o := &m.Outputs[i]
		var bits byte
		if o.Epoch != epoch {
			bits = frameEpoch
		}
		switch {
		case o.Sibling:
			bits |= frameSibling
		case len(o.Members) != 1 || at.member(&o.Members[0]) != 0:
			bits |= frameMembers
		}
		if o.Path != "" {
			bits |= framePath
		}
		if len(o.Payload.Blocks) > 0 {
			bits |= frameBlocks
		}
		if o.Failed {
			bits |= frameFailed
		}
		dst = append(dst, bits)
		if bits&frameEpoch != 0 {
			epoch = o.Epoch
			dst = count(dst, epoch)
		}
		switch {
		case bits&frameMembers != 0:
			dst = appendMembers(count(dst, len(o.Members)), o.Members, &at)
		case bits&frameSibling == 0:
			at.index++
		}
		if bits&framePath != 0 {
			dst = text(dst, o.Path)
		}
		dst = payload(dst, &o.Payload)
	}
	var failed place
	dst = appendFailures(dst, m.Failed, &failed)
	return finished(epochs(dst, m.Epochs), m.Finished)
}

// member returns the bits of what must be said of m.
func (p *place) member(m *Member) (bits byte) {
	if m.Index != p.index {
		bits = memberIndex
	}
	if m.Source != p.source || m.Epoch != p.epoch {
		bits |= memberSource
	}
	if m.N != 1 {
		bits |= memberRun
	}
	if m.Path != "" {
		bits |= memberPath
	}
	return bits
}

// behind is where the next member usually begins: siblings of one input are followed by others.
func (m *Member) behind() place {
	p := place{source: m.Source, epoch: m.Epoch, index: m.Index}
	if m.Path == "" {
		p.index += m.N
	}
	return p
}

func appendMembers(dst []byte, list []Member, at *place) []byte {
	for i := range list {
		m := &list[i]
		bits := at.member(m)
		dst = append(dst, bits)
		if bits&memberSource != 0 {
			dst = count(count(dst, m.Source), m.Epoch)
		}
		if bits&memberIndex != 0 {
			dst = uvarint(dst, zigzag(m.Index-at.index))
		}
		if bits&memberRun != 0 {
			dst = uvarint(dst, uint64(m.N-2))
		}
		if bits&memberPath != 0 {
			dst = text(dst, m.Path)
		}
		*at = m.behind()
	}
	return dst
}
