package dash

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// desk makes the pages.
type desk struct {
	agent    *arc.Agent
	pages    map[string]*template.Template
	base     string
	token    bool // lets people in, under whatever name they type
	journal  *Journal
	queue    *queue.Queue
	logger   *slog.Logger
	now      func() time.Time
	sections []section
}

// byToken is in whose name rules who comes by the token alone.
const byToken = "token"

// section is a part of the navigation, and place a page in it.
type (
	section struct {
		Name   string
		Places []place
	}
	place struct{ Path, Name string }
)

// ask is a request for a page, by a viewer, about a scope.
type ask struct {
	*http.Request
	query  url.Values
	viewer viewing
	scope  memory.Scope
	view   arc.View
}

// sight is what every template gets.
type sight struct {
	Title, Path, Base string
	Viewer            string
	Scope             memory.Scope
	Scopes            []memory.Scope
	Sections          []section
	Said              string // what came of an action
	Leave             bool   // the viewer has come by a pass, and can hand it back
	Renew             string // the address of Part; "": it does not change
	Every             int    // seconds after which it is renewed
	Stream            string // tells when it is to be renewed; "": nothing does
	Part              template.HTML
	Door              bool // the page is the entry
	Now               time.Time
	Body              any
}

// live is what a handler returns for a page that is to be renewed: one that shows runs
// after their events, at intervals otherwise.
type live struct {
	body any
	runs bool
	run  string // the only one that the page shows
}

// busyShare bounds what a page that is open costs: of so many seconds, one is spent on
// it.
const busyShare = 40

// errBad is the error of a request that no page makes.
var errBad = errors.New("bad request")

// viewing is a Viewer, and whether a pass has let them in.
type viewing struct {
	Viewer
	pass bool
}

type viewerKey struct{}

// seenBy says in whose name a request is.
func seenBy(r *http.Request, v viewing) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), viewerKey{}, v))
}

func viewerOf(r *http.Request) viewing {
	v, _ := r.Context().Value(viewerKey{}).(viewing) // none: the zero one, who sees nothing
	return v
}

// parsed reads the templates: a page each, within the layout.
func parsed(files fs.FS) (map[string]*template.Template, error) {
	layout, err := template.New("").Funcs(helpers()).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, name := range names {
		page, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if page, err = page.ParseFS(files, name); err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = page
	}
	return pages, nil
}

// asked reads who asks for what. A scope that the viewer may not see is not found.
func (d *desk) asked(r *http.Request) (*ask, error) {
	q := &ask{Request: r, query: r.URL.Query(), viewer: viewerOf(r)}
	if len(q.viewer.Scopes) == 0 {
		return nil, store.ErrNotFound
	}
	q.scope = q.viewer.Scopes[0]
	if want := memory.Scope(r.FormValue("scope")); want != "" {
		if !slices.Contains(q.viewer.Scopes, want) {
			return nil, fmt.Errorf("scope: %w", store.ErrNotFound)
		}
		q.scope = want
	}
	if err := q.scope.Check(); err != nil {
		return nil, err
	}
	q.view = d.agent.In(q.scope)
	return q, nil
}

// page serves a page that a function fills.
func (d *desk) page(name, title string, fill func(*desk, *ask) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := d.now()
		q, err := d.asked(r)
		var body any
		if err == nil {
			body, err = fill(d, q)
		}
		if err != nil {
			d.fail(w, r, err)
			return
		}
		s := d.sight(q, title)
		if l, ok := body.(live); ok {
			body, s.Renew = l.body, r.URL.Path
			s.Every = max(2, int(busyShare*d.now().Sub(began).Seconds()))
			if l.runs && d.journal != nil {
				s.Stream = s.Link("/stream", "run", l.run)
			}
		}
		s.Body = body
		d.render(w, r, http.StatusOK, name, &s)
	})
}

// action serves what a person does, and goes back to the page it was done on.
func (d *desk) action(do func(*desk, *ask) (path, said string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			d.fail(w, r, fmt.Errorf("%w: %w", errBad, err))
			return
		}
		q, err := d.asked(r)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		path, said, err := do(d, q)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		s := d.sight(q, "")
		pairs := []any{"said", said}
		if path == s.Path { // what it was about is shown again
			pairs = append(pairs, "id", q.PostFormValue("id"))
		}
		http.Redirect(w, r, s.Link(path, pairs...), http.StatusSeeOther)
	})
}

func (d *desk) sight(q *ask, title string) sight {
	return sight{
		Title: title, Path: strings.TrimPrefix(q.URL.Path, d.base), Base: d.base, Viewer: q.viewer.Name,
		Scope: q.scope, Scopes: q.viewer.Scopes, Sections: d.sections, Said: said(q.query.Get("said")), Now: d.now(),
		Leave: q.viewer.pass,
	}
}

// said turns the word in an address into what a page says: no address puts words of
// its own on one.
func said(word string) string {
	return map[string]string{
		"allowed":  "Allowed. The run goes on by itself.",
		"agreed":   "Taken down. It waits until others have agreed, too.",
		"refused":  "Refused. The run goes on with your reason.",
		"late":     "Too late: nothing waits for this any more.",
		"busy":     "The run is just being gone on with. Try again in a moment.",
		"approved": "Approved, and applied.",
		"failed":   "It could not be applied. The reason stands below.",
		"rejected": "Rejected.",
		"undone":   "Undone.",
		"answered": "Answered. The run goes on.",
		"judged":   "Taken in: the memories and the workers that had a part in it are credited or charged.",
		"trusted":  "Trusted. It is shown to models from now on.",
		"archived": "Set aside. It is found when it is asked for.",
		"restored": "Brought back.",
	}[word]
}

// render writes a page or, for the script that renews it, its changing part: 204 if
// that has not changed.
func (d *desk) render(w http.ResponseWriter, r *http.Request, code int, name string, s *sight) {
	var out bytes.Buffer
	page := d.pages[name]
	frame, err := "layout", page.ExecuteTemplate(&out, "live", s)
	if err == nil && s.Renew != "" {
		sum := sha256.Sum256(out.Bytes())
		have := base64url(sum[:12])
		q := r.URL.Query()
		if r.Header.Get("HX-Request") != "" {
			if q.Get("have") == have {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			frame = "part"
		}
		q.Set("have", have)
		q.Del("said")
		s.Renew += "?" + q.Encode()
	}
	if err == nil {
		s.Part = template.HTML(out.String()) // this package has just made it
		out.Reset()
		err = page.ExecuteTemplate(&out, frame, s)
	}
	if err != nil {
		d.logger.ErrorContext(r.Context(), "dash: page", "page", name, "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	unturned(out.Bytes())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w) // a browser that has gone
}

// unturned puts U+FFFD for the characters in a page's text that set the direction of what
// follows them, with which a text reads as another one. Attributes stay as they are.
func unturned(page []byte) {
	text := false
	for i, c := range page {
		if c == '<' || c == '>' {
			text = c == '>'
		} else if r, _ := utf8.DecodeRune(page[i:]); text && (r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069) {
			copy(page[i:], "\uFFFD") // of as many bytes
		}
	}
}

// trouble is what an error page says.
type trouble struct{ Text, Reference string }

// fail says that a page cannot be shown. What is wrong inside is logged, and the
// page has a reference to it.
func (d *desk) fail(w http.ResponseWriter, r *http.Request, err error) {
	limit := new(store.LimitError)
	code, t := http.StatusInternalServerError, trouble{Text: "Something went wrong."}
	switch {
	case errors.Is(err, store.ErrNotFound):
		code, t.Text = http.StatusNotFound, "There is no such thing here."
	case errors.As(err, &limit), errors.Is(err, errBad), errors.Is(err, memory.ErrQuery), errors.Is(err, memory.ErrID),
		errors.Is(err, memory.ErrScope):
		code, t.Text = http.StatusBadRequest, "This cannot be asked: "+err.Error()
	default:
		t.Reference = rand.Text()[:8]
		d.logger.ErrorContext(r.Context(), "dash: "+r.URL.Path, "reference", t.Reference, "error", err)
	}
	q := &ask{Request: r, query: url.Values{}, viewer: viewerOf(r)}
	if len(q.viewer.Scopes) > 0 {
		q.scope = q.viewer.Scopes[0]
	}
	s := d.sight(q, http.StatusText(code))
	s.Body = t
	d.render(w, r, code, "trouble", &s)
}

// entry shows the form that takes a token.
func (d *desk) entry(w http.ResponseWriter, r *http.Request, wrong bool) {
	s := sight{Title: "Enter", Base: d.base, Door: true, Body: wrong}
	d.render(w, r, http.StatusUnauthorized, "entry", &s)
}

// assets serves the files of the package, which may be kept for an hour.
func assets(files fs.FS, base string) http.Handler {
	server := http.StripPrefix(base, http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "private, max-age=3600")
		server.ServeHTTP(w, r)
	})
}

// Link is the address of a page in the scope at hand. Pairs are the names and values
// of its query; empty values are left out.
func (s *sight) Link(path string, pairs ...any) string {
	q := url.Values{}
	if len(s.Scopes) > 0 && s.Scope != s.Scopes[0] {
		q.Set("scope", string(s.Scope))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" {
			q.Set(fmt.Sprint(pairs[i]), v)
		}
	}
	if len(q) == 0 {
		return s.Base + path
	}
	return s.Base + path + "?" + q.Encode()
}

// Ago says how long ago a time is.
func (s *sight) Ago(t time.Time) string { return ago(t, s.Now) }

// rows is what the parts of several pages get.
type rows struct {
	Sight *sight
	Rows  any
	Hits  any
}

// Of returns a table's rows with the page that they stand on.
func (s *sight) Of(list any) rows { return rows{s, list, list} }
