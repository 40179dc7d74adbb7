package mcpfs

// ProgressEvery is how often a call that asked for it is told how far it has come.
const ProgressEvery = progressEvery

// Late gives limits by whose walks late tells that their time is over.
func (l Limits) Late(late func() bool) Limits {
	l.late = late
	return l
}
