package match

// SetSizes lets a test see the borders of blocks in texts of few bytes.
func (b *Buffer) SetSizes(first, most, overlap int) { b.sizes = sizes{first, most, overlap} }
