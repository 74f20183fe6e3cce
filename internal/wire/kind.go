package wire

// A kind is the first byte of a message. Numbers are never used again for something else.
type kind byte

const (
	kindOpen kind = iota + 1
	kindReady
	kindRefuse
	kindTask
	kindEnd
	kindLimit
	kindDrain
	kindStopped
	kindCancel
	kindResult
	kindPart
	kindFrame
	kindAbort
	kindEvent
	kindStats
	kindLog
	kindProfile
	kindRelease
	kindPing
	kindPong
	kindSkip
	kinds // one above the last
)

func (*Open) kind() kind    { return kindOpen }
func (*Ready) kind() kind   { return kindReady }
func (*Refuse) kind() kind  { return kindRefuse }
func (*Task) kind() kind    { return kindTask }
func (*End) kind() kind     { return kindEnd }
func (*Limit) kind() kind   { return kindLimit }
func (*Drain) kind() kind   { return kindDrain }
func (*Stopped) kind() kind { return kindStopped }
func (*Cancel) kind() kind  { return kindCancel }
func (*Result) kind() kind  { return kindResult }
func (*Part) kind() kind    { return kindPart }
func (*Frame) kind() kind   { return kindFrame }
func (*Abort) kind() kind   { return kindAbort }
func (*Event) kind() kind   { return kindEvent }
func (*Stats) kind() kind   { return kindStats }
func (*Log) kind() kind     { return kindLog }
func (*Profile) kind() kind { return kindProfile }
func (*Release) kind() kind { return kindRelease }
func (*Ping) kind() kind    { return kindPing }
func (*Pong) kind() kind    { return kindPong }
func (*Skip) kind() kind    { return kindSkip }

func (k kind) String() string {
	names := [...]string{
		kindOpen: "Open", kindReady: "Ready", kindRefuse: "Refuse", kindTask: "Task", kindEnd: "End", kindLimit: "Limit",
		kindDrain: "Drain", kindStopped: "Stopped", kindCancel: "Cancel", kindResult: "Result", kindPart: "Part",
		kindFrame: "Frame", kindAbort: "Abort", kindEvent: "Event", kindStats: "Stats", kindLog: "Log",
		kindProfile: "Profile", kindRelease: "Release", kindPing: "Ping", kindPong: "Pong", kindSkip: "Skip",
	}
	if k == 0 || k >= kinds {
		return "message"
	}
	return names[k]
}
