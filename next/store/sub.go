package store

// Sub returns the part of st whose keys begin with prefix, as a Store of its own: keys in it have no prefix. It is
// a [Changer] and a [Compacter] where st is one. Its Close does nothing: the owner of st closes st.
func Sub(st Store, prefix string) Store { panic("contract") }
