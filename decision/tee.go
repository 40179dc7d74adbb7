package decision

import "errors"

// Discard takes every record and keeps none.
type Discard struct{}

func (Discard) Decided(*Record, bool) error { return nil }
func (Discard) Completed(*Record)           {}
func (Discard) Event(*Record)               {}
func (Discard) Close() error                { return nil }

// Tee gives each record to every sink, in their order. A mutation is refused if one of them refuses it.
func Tee(sinks ...Sink) Sink {
	if len(sinks) == 1 {
		return sinks[0]
	}
	return tee(sinks)
}

type tee []Sink

func (t tee) Decided(r *Record, mutation bool) error {
	var errs []error
	for _, s := range t {
		if err := s.Decided(r, mutation); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (t tee) Completed(r *Record) {
	for _, s := range t {
		s.Completed(r)
	}
}

func (t tee) Event(r *Record) {
	for _, s := range t {
		s.Event(r)
	}
}

func (t tee) Close() error {
	var errs []error
	for _, s := range t {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
