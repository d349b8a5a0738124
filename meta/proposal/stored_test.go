package proposal_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/store"
)

// What a Monitor kept, when proposals were its own, is a Book's: the bytes are from
// that version.
func TestProposalsOfAMonitorAreRead(t *testing.T) {
	t.Parallel()
	k := "tenant\x00acme\x00meta\x00proposal\x00cb2f2c3f85d189511b1c753b-1800000000"
	value, err := hex.DecodeString("01f4b51016ad0166636f6e66696702666465706c6f79034b7b226c696d6974223a337d04686974206661696c7305183706183207" +
		"676170706c696564086361646109666167726565640a74323032372d30312d31355430383a30303a30305a0b74323032372d30312d31" +
		"355430383a30303a30305a0c74323032372d30312d32325430383a30303a30305a0d4c7b226c696d6974223a31307d")
	require.NoError(t, err)
	st := store.NewMem()
	_, err = st.Commit(t.Context(), store.Op{Key: k, Value: value})
	require.NoError(t, err)
	c := &config{limit: 3}
	b, err := proposal.Open(t.Context(), st, &proposal.Options{Tenant: "acme", Apply: c.apply})
	require.NoError(t, err)
	p, err := b.Decide(t.Context(), "cb2f2c3f85d189511b1c753b-1800000000", "undo", "bob", "it got worse")
	require.NoError(t, err)
	require.Equal(t, "undone", p.Status)
	require.Equal(t, 10, c.limit)
	made := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	got, err := b.Propose(t.Context(), draft(50)) // the same, so it rests
	require.NoError(t, err)
	require.Equal(t, p.ID, got.ID)
	require.Equal(t, []any{"deploy", "it fails", 55, made}, []any{got.Subject, got.Reason, got.Samples, got.Made})
}
