// Package dash shows an arc.Agent in a browser: what waits for a person, what failed and why, what runs, what was
// learned, what it costs and whether memory helps.
//
//	pages, err := dash.New(agent, nil)
//	…
//	http.Handle("/dash/", signedIn(http.StripPrefix("/dash", pages)))
//
// [New] returns an http.Handler. It may be mounted below any path that ends in "/". Who may see it is for the host's
// middleware to say; [Options].Scope says what a request sees, and no page shows another scope.
//
// Pages are made on the server and work without scripts. With them a page renews itself when something has happened,
// by server-sent events, and what a person does is shown in place. A request that changes something must come from a
// page of the same origin. Texts are escaped where they stand, and the Content Security Policy allows the two files
// of this package alone, so nothing comes from another host.
//
// What lists are made of is read from the store at most every second for a scope, and kept for that time: all
// runs of the scope, some 15 µs each. That is well for some ten thousand runs in the retention. A run that is given
// an answer, or is tried again, goes on in a goroutine that ends with the run or with the Agent.
package dash

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act/queue"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta/proposal"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// Options configure a dashboard. Nil and the zero value are the defaults. The functions are called concurrently.
type Options struct {
	// Scope says which scope a request sees, of whatever tenant. An error is answered by 403, without its words. nil:
	// the Agent's Options.Scope.
	Scope func(*http.Request) (memory.Scope, error)

	// Who names the person who asks, for approvals and decisions. nil, or "": "dashboard".
	Who func(*http.Request) string

	// Queue returns the Queue of a scope's tenant; nil, or a nil Queue: there is no such page. Jobs of the scope and of
	// those below it are shown; for "", all of them.
	Queue func(memory.Scope) *queue.Queue

	// Proposals returns the proposals to show for a scope; nil, or a nil Book: there is no such page.
	Proposals func(memory.Scope) *proposal.Book

	Logger *slog.Logger     // is told why a page could not be made; nil: nobody is
	Now    func() time.Time // nil: time.Now
}

// Bounds of what one request does.
const (
	maxForm    = 256 << 10 // bytes of what a person sends
	maxStreams = 128       // of all pages; further pages look every few seconds
	perPage    = 50
)

type dash struct {
	agent   *arc.Agent
	opts    Options
	pages   map[string]*template.Template
	streams atomic.Int64

	runs  kept[[]*arc.Report]
	jobs  kept[[]queue.Job]
	known kept[reason.Known]
	worth kept[arc.Health]
}

// New returns the dashboard of an Agent, which it does not close.
func New(agent *arc.Agent, o *Options) (http.Handler, error) {
	if agent == nil {
		return nil, errors.New("dash: no agent")
	}
	d := &dash{agent: agent, pages: make(map[string]*template.Template)}
	if o != nil {
		d.opts = *o
	}
	if d.opts.Scope == nil {
		d.opts.Scope = func(*http.Request) (memory.Scope, error) { return "", nil }
	}
	if d.opts.Who == nil {
		d.opts.Who = func(*http.Request) string { return "" }
	}
	if d.opts.Queue == nil {
		d.opts.Queue = func(memory.Scope) *queue.Queue { return nil }
	}
	if d.opts.Proposals == nil {
		d.opts.Proposals = func(memory.Scope) *proposal.Book { return nil }
	}
	if d.opts.Now == nil {
		d.opts.Now = time.Now
	}
	if d.opts.Logger == nil {
		d.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := d.parse(); err != nil {
		return nil, fmt.Errorf("dash: %w", err)
	}
	mux := http.NewServeMux()
	for _, p := range places {
		path := "/" + p.Path
		if p.Path == "" {
			path = "/{$}"
		}
		mux.Handle("GET "+path, d.page(p))
		if p.act != nil {
			mux.Handle("POST "+path, d.act(p))
		}
	}
	mux.HandleFunc("GET /live", d.live)
	mux.Handle("GET /static/", http.HandlerFunc(asset))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { d.fail(w, r, store.ErrNotFound) })
	return guard(http.NewCrossOriginProtection().Handler(mux)), nil
}

// place is a page: what it shows, and what a person may do there. An act returns the key of what is said about it.
type place struct {
	Path, Title string
	show        func(*dash, *request) (any, error)
	act         func(*dash, *request) (string, error)
	has         func(*dash, *request) bool // nil: always
}

var places = []place{
	{Path: "", Title: "Now", show: (*dash).now},
	{Path: "runs", Title: "Runs", show: (*dash).list},
	{Path: "run", show: (*dash).run, act: (*dash).actRun},
	{Path: "learned", Title: "Learned", show: (*dash).learned},
	{Path: "memories", Title: "Memories", show: (*dash).memories, act: (*dash).actMemory},
	{Path: "worth", Title: "Worth", show: (*dash).value},
	{Path: "queue", Title: "Queue", show: (*dash).queue, act: (*dash).actQueue,
		has: func(d *dash, rq *request) bool { return d.opts.Queue(rq.scope) != nil }},
	{Path: "proposals", Title: "Proposals", show: (*dash).proposals, act: (*dash).actProposal,
		has: func(d *dash, rq *request) bool { return d.opts.Proposals(rq.scope) != nil }},
}

// request is what somebody asks for.
type request struct {
	arc.View
	*http.Request
	scope memory.Scope
	who   string
	form  url.Values
}

func (rq *request) page() int {
	n, _ := strconv.Atoi(rq.form.Get("page"))
	return max(1, min(n, 1_000_000))
}

var errForbidden = errors.New("dash: the scope is not this viewer's")

func (d *dash) asked(w http.ResponseWriter, r *http.Request) (*request, error) {
	scope, err := d.opts.Scope(r)
	if err != nil {
		d.opts.Logger.Info("dash: refused", "path", r.URL.Path, "error", err)
		return nil, errForbidden
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, fmt.Errorf("%w: the form: %w", errBad, err)
	}
	return &request{d.agent.In(scope), r, scope, cmp.Or(d.opts.Who(r), "dashboard"), r.Form}, nil
}

// screen is what the layout shows.
type screen struct {
	Title, At string
	Places    []place
	Waiting   int    // what waits for a person
	Said      string // about what the person has just done
	Live      string // where the page is told of news; "": nothing will change
	Now       time.Time
	Body      any
}

// live is a body that says whether, and where, the page is told of news.
type live interface{ live() string }

func (d *dash) page(p place) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq, err := d.asked(w, r)
		if err != nil || p.has != nil && !p.has(d, rq) {
			d.fail(w, r, cmp.Or(err, store.ErrNotFound))
			return
		}
		body, err := p.show(d, rq)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		s := &screen{Title: p.Title, At: p.Path, Said: said[rq.form.Get("said")], Body: body}
		if l, ok := body.(live); ok {
			s.Live = l.live()
		}
		d.write(w, rq, http.StatusOK, cmp.Or(p.Path, "now"), s)
	})
}

// act does what a person asks for, and sends the browser to the page that shows it.
func (d *dash) act(p place) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq, err := d.asked(w, r)
		if err == nil && p.has != nil && !p.has(d, rq) {
			err = store.ErrNotFound
		}
		word := ""
		if err == nil {
			word, err = p.act(d, rq)
			d.touch(rq, time.Now())
		}
		if errors.Is(err, arc.ErrState) || errors.Is(err, arc.ErrRunning) { // somebody was faster
			word, err = "late", nil
		}
		if err != nil {
			d.fail(w, r, err)
			return
		}
		w.Header().Set("Location", back(rq, p, word)) // relative: the host may have stripped a prefix
		w.WriteHeader(http.StatusSeeOther)
	})
}

// back is the address of the page that an act was made on, if it is one of these.
func back(rq *request, p place, word string) string {
	to, err := url.Parse(rq.form.Get("back"))
	if err != nil || to.IsAbs() || to.Host != "" || !slices.ContainsFunc(places, func(q place) bool { return q.Path == to.Path }) {
		to = &url.URL{Path: p.Path}
		if id := rq.form.Get("id"); p.Path == "run" {
			to.RawQuery = url.Values{"id": {id}}.Encode()
		}
	}
	q := to.Query()
	q.Set("said", word)
	return "./" + to.Path + "?" + q.Encode()
}

// said are the words about what a person has done.
var said = map[string]string{
	"answered": "Answered. The run goes on.", "allowed": "Allowed. The run goes on.", "denied": "Denied.",
	"canceled": "Canceled.", "retried": "It is tried again.", "judged": "Your verdict counts.",
	"trusted": "Trusted from now on.", "forgotten": "Forgotten.", "ranked": "The priority is changed.",
	"approved": "Approved.", "rejected": "Rejected.", "undone": "Undone.",
	"late": "Somebody was faster: this is how it stands now.", "empty": "Nothing was sent: the text was empty.",
}

var errBad = errors.New("dash: the request cannot be understood")

// fail answers with what is wrong. Only what the requester can mend is told.
func (d *dash) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, text := http.StatusInternalServerError, "The page could not be made. The log of the host says why."
	var large *http.MaxBytesError
	var limit *store.LimitError
	switch {
	case errors.Is(err, errForbidden):
		code, text = http.StatusForbidden, "You may not see this."
	case errors.Is(err, store.ErrNotFound):
		code, text = http.StatusNotFound, "There is no such thing here. It may have been deleted."
	case errors.As(err, &large), errors.As(err, &limit):
		code, text = http.StatusRequestEntityTooLarge, "The text is too long, or is not one."
	case errors.Is(err, errBad), errors.Is(err, proposal.ErrInvalid), errors.Is(err, queue.ErrInvalid), errors.Is(err, arc.ErrObjective):
		code, text = http.StatusBadRequest, "That cannot be done: "+err.Error()
	case r.Context().Err() != nil:
		return
	default:
		d.opts.Logger.Error("dash: a page", "path", r.URL.Path, "error", err)
	}
	d.write(w, nil, code, "error", &screen{Title: http.StatusText(code), At: "error", Body: text})
}

func (d *dash) write(w http.ResponseWriter, rq *request, code int, name string, s *screen) {
	s.Now = d.opts.Now()
	if rq != nil {
		for _, p := range places {
			if p.Title != "" && (p.has == nil || p.has(d, rq)) {
				s.Places = append(s.Places, p)
			}
		}
		if rs, err := d.reports(rq); err == nil {
			for _, r := range rs {
				if waits(r) {
					s.Waiting++
				}
			}
		}
	}
	var b bytes.Buffer
	if err := d.pages[name].ExecuteTemplate(&b, "layout", s); err != nil {
		d.opts.Logger.Error("dash: a page", "page", name, "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the browser has gone
}

func (d *dash) parse() error {
	layout, err := template.New("layout").Funcs(d.words()).ParseFS(templates, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return err
	}
	for _, name := range []string{"now", "runs", "run", "learned", "memories", "worth", "queue", "proposals", "error"} {
		t, err := layout.Clone()
		if err == nil {
			d.pages[name], err = t.ParseFS(templates, "templates/"+name+".html")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asset serves a file of the package, which browsers keep while it is the same.
func asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	raw, err := fs.ReadFile(static, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", fmt.Sprintf("%q", digest(raw)))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(raw))
}

// guard sets what browsers have to hold to.
func guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		set := w.Header().Set
		set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		set("X-Content-Type-Options", "nosniff")
		set("Referrer-Policy", "same-origin")
		set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}

// kept has what pages of a scope are made from, for a second or until something has happened.
type kept[T any] struct {
	flight singleflight.Group
	mu     sync.Mutex
	of     map[memory.Scope]*entry[T] // under mu
}

type entry[T any] struct {
	v       T
	made    time.Time // when making it began
	took    time.Duration
	touched time.Time // what was made before is out of date
}

// Bounds of what is kept.
const (
	keepFor   = time.Second
	maxScopes = 64
)

// get returns what is kept of a scope, or makes it: once for all who ask at the same time.
func (k *kept[T]) get(ctx context.Context, scope memory.Scope, read func(context.Context) (T, error)) (T, error) {
	k.mu.Lock()
	if e := k.of[scope]; e != nil && e.made.After(e.touched) && time.Since(e.made) < keepFor {
		defer k.mu.Unlock()
		return e.v, nil
	}
	k.mu.Unlock()
	v, err, _ := k.flight.Do(string(scope), func() (any, error) {
		made := time.Now()
		v, err := read(context.WithoutCancel(ctx)) // others wait for it, too
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			e := k.entry(scope)
			e.v, e.made, e.took = v, made, time.Since(made)
		}
		return v, err
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return v.(T), nil
}

// touch has what was made before a time made anew, also what is being made now.
func (k *kept[T]) touch(scope memory.Scope, at time.Time) {
	k.flight.Forget(string(scope))
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.entry(scope); at.After(e.touched) {
		e.touched = at
	}
}

// cost is how long it took to make what is kept.
func (k *kept[T]) cost(scope memory.Scope) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.entry(scope).took
}

// entry returns that of a scope. mu is held.
func (k *kept[T]) entry(scope memory.Scope) *entry[T] {
	if k.of == nil || len(k.of) >= maxScopes && k.of[scope] == nil {
		k.of = make(map[memory.Scope]*entry[T])
	}
	if k.of[scope] == nil {
		k.of[scope] = &entry[T]{}
	}
	return k.of[scope]
}
