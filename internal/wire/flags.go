package wire

// The bits of the byte that items, entries, outputs and the like begin with. Each says that something is there; what is
// usual has no bit, so that the byte of most elements is 0.
const (
	// Of an Item and of a Failure.
	hasIndex  = 0x02 // not one above the identity before
	hasSource = 0x04 // source and epoch are not those of the identity before
	hasPath   = 0x08

	// Of an Item.
	itemID      = 0x01 // not one above the item before
	itemSkip    = 0x10
	itemAttempt = 0x20
	itemBlocks  = 0x40
	itemBits    = 0x7f

	// Of a Failure.
	failureFatal    = 0x01
	failureHung     = 0x10
	failureLettered = 0x20
	failureBlocks   = 0x40 // of its letter
	failurePoison   = 0x80
	failureBits     = 0xff

	// Of an Entry.
	entryID       = 0x01 // not one above the entry before
	entryNone     = 0x02 // no output
	entryMany     = 0x04 // more than one output, or one with a byte of bits that is not 0
	entryFailures = 0x08
	entryBits     = 0x0f

	// Of an Output.
	outputPort   = 0x01
	outputPath   = 0x02
	outputBlocks = 0x04
	outputBits   = 0x07

	// Of a FrameOutput.
	frameEpoch   = 0x01 // not that of the output before
	frameMembers = 0x02 // not one member whose byte of bits is 0
	framePath    = 0x04
	frameBlocks  = 0x08
	frameSibling = 0x10 // there are no members
	frameFailed  = 0x20 // there is no output
	frameBits    = 0x3f

	// Of a Member.
	memberIndex  = 0x01 // not where the member before ends
	memberSource = 0x02 // source and epoch are not those of the member before
	memberRun    = 0x04 // more than one item
	memberPath   = 0x08
	memberBits   = 0x0f

	// Of a Span: the fate is its other two bits.
	spanSource = 0x01 // source and epoch are not those of the span before
	spanFate   = 1    // the shift
	spanBits   = 0x07

	// Of a Suspect.
	suspectExact  = 0x01
	suspectPoison = 0x02
	suspectPath   = 0x04
	suspectBits   = 0x07

	// Of a Task and of a Profile.
	taskIsolated = 0x01
	profileLast  = 0x01
)

// A place is where a list of identities is: what the next one is if nothing is said.
type place struct {
	source, epoch int
	index         int64
}

// bits are those of what must be said of id.
func (p *place) bits(id *Identity) (bits byte) {
	if id.Index != p.index {
		bits = hasIndex
	}
	if id.Source != p.source || id.Epoch != p.epoch {
		bits |= hasSource
	}
	if id.Path != "" {
		bits |= hasPath
	}
	return bits
}

// follow makes p the place behind id.
func (p *place) follow(id *Identity) { p.source, p.epoch, p.index = id.Source, id.Epoch, id.Index+1 }

// zigzag puts numbers near zero first: 0, -1, 1, -2.
func zigzag(d int64) uint64 { return uint64(d<<1) ^ uint64(d>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
