package wire

import "math"

// The limits of the format. Append does not look at them: a message that breaks one is refused where it arrives, and with
// it its session. Who makes a message of what users give makes sure of them before.
const (
	// MaxMessage is the most bytes of a message: a payload of MaxPayload, and what stands around it.
	MaxMessage = MaxPayload + 1<<20
	// MaxPayload is the most bytes of one encoded value, without what lies in an arena.
	MaxPayload = 64 << 20
	// MaxConfig is the most bytes of a pipeline's encoded configuration.
	MaxConfig = 16 << 20
	// MaxBody is the most bytes of an Event's body, of that of Stats, and of a part of a profile.
	MaxBody = 1 << 20
	// MaxText is the most bytes of an error, a reason and a line of output.
	MaxText = 64 << 10
	// MaxName is the most bytes of a name: of a run, a pipeline, a stage, a build, a profile.
	MaxName = 4 << 10
	// MaxPath is the most bytes of the path of an identity.
	MaxPath = 1 << 10
	// MaxVersions is the most versions that one program speaks.
	MaxVersions = 16
	// MaxElements is the most elements of all lists of a message together: items, entries, outputs, members, failures,
	// spans, paths, blocks and what else there is several of.
	MaxElements = 1 << 20

	// MaxStage is the highest index of a stage, and the highest number of a port.
	MaxStage = math.MaxUint16
	// MaxCount is the highest epoch, attempt, incarnation, copy and window, and the highest number of outputs and siblings.
	MaxCount = math.MaxInt32
	// MaxIndex is the highest index of an item in its source, and the longest time in nanoseconds.
	MaxIndex = math.MaxInt64
)
