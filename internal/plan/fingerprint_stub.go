package plan

// Fingerprint is a placeholder.
func Fingerprint(*Graph) [32]byte { return [32]byte{} }
