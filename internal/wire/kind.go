package wire

// A kind is the first byte of a message.
type kind byte

func (*Open) kind() kind    { return 1 }
func (*Ready) kind() kind   { return 2 }
func (*Refuse) kind() kind  { return 3 }
func (*Task) kind() kind    { return 4 }
func (*End) kind() kind     { return 5 }
func (*Limit) kind() kind   { return 6 }
func (*Drain) kind() kind   { return 7 }
func (*Stopped) kind() kind { return 8 }
func (*Cancel) kind() kind  { return 9 }
func (*Result) kind() kind  { return 10 }
func (*Part) kind() kind    { return 11 }
func (*Frame) kind() kind   { return 12 }
func (*Abort) kind() kind   { return 13 }
func (*Event) kind() kind   { return 14 }
func (*Stats) kind() kind   { return 15 }
func (*Log) kind() kind     { return 16 }
func (*Profile) kind() kind { return 17 }
func (*Release) kind() kind { return 18 }
func (*Ping) kind() kind    { return 19 }
func (*Pong) kind() kind    { return 20 }
