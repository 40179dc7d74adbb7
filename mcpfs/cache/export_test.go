package cache

// Held is about how many bytes are kept, and for how many authorities.
func (c *Cache) Held() (bytes, authorities int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held, len(c.owners)
}
