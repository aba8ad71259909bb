package page

// kind is what the page knows of one sort of document. A new one gets a file of
// its own and a line in kinds.
type kind interface {
	// amount is how many things it has for the heading of the page, and what to call one and several.
	amount() (n int, one, many string)
	// take reads a document. False says that it is of another kind; an error, that it
	// is of this one and cannot be read, and then it is shown as unknown kinds are.
	take(d *document) (bool, error)
	// verdicts say in short what the documents say, in the order in which they came.
	verdicts() []Verdict
	// section shows them, nil where none was taken.
	section() *Section
}

// kinds are all kinds, in the order of the page.
func kinds() []kind {
	return []kind{
		&doctors{},
		&runs{},
		&simulations{},
		&fits{},
		&campaigns{},
		&clocks{},
		&nets{},
		&profiles{},
		&models{},
		&others{}, // takes what no other does: the last one
	}
}

// verdictsOf returns what each document of a kind says in short.
func verdictsOf[T any](all []T, says func(*T) Verdict) []Verdict {
	var list []Verdict
	for i := range all {
		list = append(list, says(&all[i]))
	}
	return list
}

// doubtsOf lists the warnings of a document, each with its code.
func doubtsOf[T any](warnings []T, of func(T) (code, said string)) []Item {
	var items []Item
	list, left := bounded(warnings, mostItems)
	for _, w := range list {
		code, said := of(w)
		items = append(items, Item{Status: Warning, Lead: name(code), Text: text(said)})
	}
	return more(items, left)
}
