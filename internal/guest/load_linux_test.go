package guest

import (
	"testing"

	"github.com/cswatch/cswatch/internal/load"
)

func TestALoadHandsOverWhatItDid(t *testing.T) {
	var said []Record
	end, err := startLoad(load.CPU, func(r Record) { said = append(said, r) })
	if err != nil {
		t.Fatal(err)
	}
	end()
	if len(said) != 1 || said[0].Type != TypeLoad || said[0].Load.Kind != load.CPU || said[0].Load.Loops == 0 {
		t.Errorf("it said %+v", said)
	}
}

func TestAPlanWithoutALoadHandsOverNothingOfOne(t *testing.T) {
	for _, kind := range []load.Kind{"", load.None} {
		end, err := startLoad(kind, func(r Record) { t.Errorf("%q: it said %+v", kind, r) })
		if err != nil {
			t.Errorf("%q: %v", kind, err)
		}
		end()
	}
}

func TestALoadThatCannotBeDrivenIsAnErrorAtOnce(t *testing.T) {
	end, err := startLoad("io", func(r Record) { t.Errorf("it said %+v", r) })
	if err == nil {
		t.Error("a kind that does not exist was driven")
	}
	end()
}
