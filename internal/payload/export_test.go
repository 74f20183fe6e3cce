package payload

// Limit is MaxInline of the tests: values of 64 MiB take them too long.
func (p *Packer) Limit(bytes int) { p.most = bytes }
