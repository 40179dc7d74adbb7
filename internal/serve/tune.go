package serve

import (
	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/guard"
	"github.com/rootbound/rootbound/mcpscope"
)

// Tune puts other settings in force while calls are under way: Mode, RootsTimeout, EmptyIsCeiling, NeverAskModern,
// AllowWide, Relative, FSTimeout, NoSlow, TreeLimit, Keep, Limits and Subscriptions of the options; nothing else of them is
// looked at. What the client's roots mean changes at once, as with Reload; a call that has begun ends with the limits it
// began with. argument_invalid if the mode becomes Client: then nothing has changed. Safe for concurrent use.
func (s *Service) Tune(o Options) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if o.Mode == authority.Client && s.means() != o.Mode {
		return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: "the client's roots cannot become the only grant while the server runs: restart it"}
	}
	if o.FSTimeout == 0 {
		o.FSTimeout = DefaultFSTimeout
	}
	door := o.door()
	s.guard.Tune(guard.Tuning{Relative: door.Relative, FSTimeout: door.FSTimeout, TreeLimit: door.TreeLimit, NoSlow: door.NoSlow, Keep: door.Keep})
	s.added.Limit(o.Limits)
	s.limit(o.Limits.Text, o.Limits.Media, o.Limits.List)
	s.hub.Limit(o.Subscriptions)
	s.mode.Store(o.Mode)
	s.scope.Govern(mcpscope.Terms{
		Terms:          authority.Terms{Mode: o.Mode, Timeout: o.RootsTimeout, EmptyIsCeiling: o.EmptyIsCeiling, AllowWide: o.AllowWide},
		NeverAskModern: o.NeverAskModern,
	})
	return nil
}

// means is what the client's roots mean now.
func (s *Service) means() authority.Mode { return s.mode.Load().(authority.Mode) }
