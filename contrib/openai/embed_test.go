package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

var _ memory.Embedder = (*Embedder)(nil)

func TestEmbedder(t *testing.T) {
	answer := `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/v1/embeddings", r.URL.Path)
		require.Equal(t, "Bearer key-0123456789", r.Header.Get("Authorization"))
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	e := NewEmbedder("small", &Options{URL: server.URL + "/v1", Key: " key-0123456789\r\n"}) // as a file has it
	require.Equal(t, "small", e.Model())
	vectors, err := e.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 0}, {0, 1}}, vectors, "by their index")
	answer = `<html>`
	_, err = e.Embed(t.Context(), []string{"a", "b"})
	require.Equal(t, reason.Permanent, reason.Classify(err).Class)
	answer = `{"data":[{"index":0,"embedding":[1]}]}`
	vectors, err = e.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1}, nil}, vectors, "which memory refuses")
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Empty(t, r.Header.Values("Authorization"), "there is no key")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer closed.Close()
	_, err = NewEmbedder("small", &Options{URL: closed.URL, KeyEnv: "NO_SUCH_KEY"}).Embed(t.Context(),
		[]string{"a"})
	require.ErrorContains(t, err, "NO_SUCH_KEY")
}
