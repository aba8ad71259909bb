package exporter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAThousandWhoAskAtOnceShareOneRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newRounds(func(forms) (bodies, error) {
			calls++
			time.Sleep(time.Second)
			return bodies{[]byte("text")}, nil
		})
		go func() { _, _ = r.ask(t.Context(), plain(0)) }() // is alone in the first
		synctest.Wait()
		var got [1000][]byte
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				var err error
				if got[i], err = r.ask(t.Context(), plain(0)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if calls != 2 {
			t.Errorf("the document was made %d times, not twice", calls)
		}
		for _, b := range got {
			if string(b) != "text" || &b[0] != &got[0][0] {
				t.Fatal("the bytes are not shared")
			}
		}
	})
}

func TestNoAnswerIsOlderThanTheQuestion(t *testing.T) {
	var value atomic.Int64
	r := newRounds(func(forms) (bodies, error) {
		return bodies{[]byte{byte(value.Load())}}, nil
	})
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() {
			for range 100 {
				asked := value.Load()
				got, err := r.ask(t.Context(), plain(0))
				if err != nil || int64(got[0]) < asked {
					t.Errorf("asked at %d, got %d (%v)", asked, got, err)
				}
			}
		})
	}
	for range 100 {
		value.Add(1)
		time.Sleep(time.Microsecond)
	}
	askers.Wait()
}

func TestOnlyTheFormsThatAreWantedAreMade(t *testing.T) {
	var wanted []forms
	r := newRounds(func(f forms) (bodies, error) {
		wanted = append(wanted, f)
		return bodies{}, nil
	})
	for _, f := range []form{plain(0), packed(1)} {
		if _, err := r.ask(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if want := []forms{1 << 0, 1 << 3}; !slices.Equal(wanted, want) {
		t.Errorf("asked for %v, not %v", wanted, want)
	}
}

func TestOneWhoGoesDoesNotEndTheRoundOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRounds(func(forms) (bodies, error) {
			time.Sleep(time.Second)
			return bodies{[]byte("text")}, nil
		})
		go func() { _, _ = r.ask(t.Context(), plain(0)) }() // so that both others share the second round
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		go func() {
			if _, err := r.ask(impatient, plain(0)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the impatient one got %v", err)
			}
		}()
		if b, err := r.ask(t.Context(), plain(0)); err != nil || string(b) != "text" {
			t.Errorf("the patient one got %q, %v", b, err)
		}
	})
}

func TestAPanicIsAnErrorOfItsRoundAlone(t *testing.T) {
	first := true
	r := newRounds(func(forms) (bodies, error) {
		if first {
			first = false
			panic("a collector broke")
		}
		return bodies{[]byte("text")}, nil
	})
	if _, err := r.ask(t.Context(), plain(0)); err == nil || !strings.Contains(err.Error(), "a collector broke") {
		t.Errorf("the panic became %v", err)
	}
	if b, err := r.ask(t.Context(), plain(0)); err != nil || string(b) != "text" {
		t.Errorf("the round after it gave %q, %v", b, err)
	}
}

func TestAfterTheEndNobodyIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRounds(func(forms) (bodies, error) {
			time.Sleep(time.Minute)
			return bodies{}, nil
		})
		go func() { _, _ = r.ask(t.Context(), plain(0)) }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.end(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the end did not report the round that goes on: %v", err)
		}
		if _, err := r.ask(t.Context(), plain(0)); !errors.Is(err, errEnding) {
			t.Errorf("after the end one got %v", err)
		}
		if err := r.end(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
