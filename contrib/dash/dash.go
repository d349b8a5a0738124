// Package dash shows an arc.Agent in a browser: what waits for a person, what failed and why, what runs, what
// was learned, what it costs and whether memory helps.
//
//	pages, err := dash.New(agent, nil)
//	…
//	http.Handle("/dash/", signedIn(http.StripPrefix("/dash", pages)))
//
// [New] returns an http.Handler. Mount it below any path that ends in "/". Who may see it is for the host's
// middleware to say; [Options].Scope says what a request sees, and no page shows more. [Local] needs none.
//
// Pages are made on the server and work without scripts. With them a page renews itself when something has
// happened, by server-sent events (some µs of a run for each page), and what a person does is shown in place.
// A request that changes something must come from a page of the same origin. Texts are escaped, and lose what
// hides or turns others; the Content Security Policy allows the two files of this package, and no other host.
//
// Lists are made from all runs of the scope. They are kept in memory, some 1 KB each, for up to 64 scopes:
// the first page reads them, later ones what has changed since. A run that is answered or tried again goes on
// in a goroutine that ends with it, or with the Agent.
package dash

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// Options configure a dashboard. Nil and the zero value are the defaults. Its functions run concurrently.
type Options struct {
	// Scope says which scope a request sees, of any tenant; nil: the Agent's. An error is a 403 without words.
	Scope func(*http.Request) (memory.Scope, error)

	// Who names the person who asks, for approvals and decisions. nil, or "": "dashboard".
	Who func(*http.Request) string

	// Queue returns the Queue of a scope's tenant; nil, or a nil Queue: there is no such page. Jobs of the scope
	// and of those below it are shown; for "", all of them.
	Queue func(memory.Scope) *queue.Queue

	Logger *slog.Logger     // is told who has done what, and why a page could not be made; nil: nobody is
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
	kept    kept
}

// New returns the dashboard of an Agent, which it does not close.
func New(agent *arc.Agent, o *Options) (http.Handler, error) {
	if agent == nil {
		return nil, errors.New("dash: no agent")
	}
	d := &dash{agent: agent, opts: *cmp.Or(o, new(Options)), pages: make(map[string]*template.Template)}
	if d.opts.Scope == nil {
		d.opts.Scope = func(*http.Request) (memory.Scope, error) { return "", nil }
	}
	if d.opts.Who == nil {
		d.opts.Who = func(*http.Request) string { return "" }
	}
	d.opts.Now = call.Clock(d.opts.Now)
	d.opts.Logger = cmp.Or(d.opts.Logger, slog.New(slog.DiscardHandler))
	layout := template.New("layout").Funcs(d.words())
	_, err := layout.ParseFS(templates, "templates/layout.html", "templates/parts.html")
	for _, p := range append(places, place{Path: "error"}) {
		if err != nil {
			return nil, fmt.Errorf("dash: %w", err)
		}
		d.pages[p.Path] = template.Must(layout.Clone())
		_, err = d.pages[p.Path].ParseFS(templates, "templates/"+cmp.Or(p.Path, "now")+".html")
	}
	mux := http.NewServeMux()
	for _, p := range places {
		path := "/" + cmp.Or(p.Path, "{$}") // "{$}": nothing else
		mux.Handle("GET "+path, d.handler(p, d.page))
		if p.act != nil {
			mux.Handle("POST "+path, d.handler(p, d.act))
		}
	}
	mux.Handle("GET /live", d.handler(place{}, d.live))
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { d.fail(w, r, store.ErrNotFound) })
	return guard(http.NewCrossOriginProtection().Handler(mux)), nil
}

// place is a page: what it shows, and what a person may do there. An act returns the key of its message.
type place struct {
	Path, Title string
	show        func(*dash, *request) (any, error)
	act         func(*dash, *request) (string, error)
	live        string // where it is told of news
}

var places = []place{
	{Path: "", Title: "Now", live: "live", show: (*dash).now},
	{Path: "runs", Title: "Runs", live: "live", show: (*dash).list},
	{Path: "run", show: (*dash).run, act: (*dash).actRun},
	{Path: "learned", Title: "Learned", show: (*dash).learned},
	{Path: "memories", Title: "Memories", show: (*dash).memories, act: (*dash).actMemory},
	{Path: "worth", Title: "Worth", live: "live", show: (*dash).value},
	{Path: "queue", Title: "Queue", live: "live", show: (*dash).queue, act: (*dash).actQueue},
}

// has reports whether there is such a page for a request.
func (d *dash) has(rq *request, p place) bool {
	return p.Path != "queue" || d.opts.Queue != nil && d.opts.Queue(rq.scope) != nil
}

// request is what somebody asks for.
type request struct {
	arc.View
	*http.Request
	scope memory.Scope
	who   string
}

var (
	errForbidden = errors.New("dash: the scope is not this viewer's")
	errBad       = errors.New("dash: the request cannot be understood")
)

// handler serves a page to those who may see it.
func (d *dash) handler(p place, serve func(http.ResponseWriter, *request, place) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope, err := d.opts.Scope(r)
		if err != nil {
			d.opts.Logger.Info("dash: refused", "path", r.URL.Path, "error", err)
			d.fail(w, r, errForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err = r.ParseForm(); err != nil {
			err = fmt.Errorf("%w: %w", errBad, err)
		}
		rq := &request{d.agent.In(scope), r, scope, cmp.Or(d.opts.Who(r), "dashboard")}
		if err == nil && !d.has(rq, p) {
			err = store.ErrNotFound
		}
		if err == nil {
			err = serve(w, rq, p)
		}
		if err != nil {
			d.fail(w, r, err)
		}
	})
}

// screen is what the layout shows.
type screen struct {
	Title, At string
	Places    []place
	Waiting   int    // what waits for a person
	Said      string // names what the person has just done
	Live      string // where the page is told of news; "": nothing will change
	Body      any
}

func (d *dash) page(w http.ResponseWriter, rq *request, p place) error {
	body, err := p.show(d, rq)
	runs, wrong := d.reports(rq)
	if err = cmp.Or(err, wrong); err != nil {
		return err
	}
	s := &screen{Title: p.Title, At: p.Path, Live: p.live, Said: rq.Form.Get("said"), Body: body}
	if r, ok := body.(*run); ok && open(r.Report) {
		s.Live = "live?" + url.Values{"id": {r.ID}}.Encode()
	}
	for _, p := range places {
		if p.Title != "" && d.has(rq, p) {
			s.Places = append(s.Places, p)
		}
	}
	for _, r := range runs {
		if waits(r) {
			s.Waiting++
		}
	}
	if n, ok := body.(*now); ok {
		s.Waiting += len(n.Below)
	}
	d.write(w, http.StatusOK, s)
	return nil
}

// act does what a person asks for, and sends the browser to the page that shows it.
func (d *dash) act(w http.ResponseWriter, rq *request, p place) error {
	word, err := p.act(d, rq)
	d.kept.touch(rq.scope)
	if errors.Is(err, arc.ErrState) || errors.Is(err, arc.ErrRunning) { // somebody was faster
		word, err = "late", nil
	}
	if err == nil {
		d.opts.Logger.Info("dash: "+rq.Form.Get("do"), "scope", rq.scope, "id", rq.Form.Get("id"), "by", rq.who)
		w.Header().Set("Location", back(rq, p, word)) // relative: the host may have stripped a prefix
		w.WriteHeader(http.StatusSeeOther)
	}
	return err
}

// back is the address of the page that an act was made on, if it is one of these.
func back(rq *request, p place, word string) string {
	to, err := url.Parse(strings.TrimPrefix(rq.Form.Get("back"), "./"))
	here := func(q place) bool { return q.Path == to.Path }
	if err != nil || !rq.Form.Has("back") || to.IsAbs() || to.Host != "" || !slices.ContainsFunc(places, here) {
		to = &url.URL{Path: p.Path}
		if id := rq.Form.Get("id"); p.Path == "run" {
			to.RawQuery = url.Values{"id": {id}}.Encode()
		}
	}
	q := to.Query()
	q.Set("said", word)
	return "./" + to.Path + "?" + q.Encode()
}

// fail answers with what is wrong. Only what the requester can mend is told.
func (d *dash) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, text := http.StatusInternalServerError, "The page could not be made. The log of the host says why."
	switch {
	case errors.Is(err, errForbidden):
		code, text = http.StatusForbidden, "You may not see this."
	case errors.Is(err, store.ErrNotFound):
		code, text = http.StatusNotFound, "There is no such thing here. It may have been deleted."
	case errors.As(err, new(*http.MaxBytesError)):
		code, text = http.StatusRequestEntityTooLarge, "The text is too long, or is not one."
	case errors.Is(err, errBad), errors.Is(err, store.ErrInvalid), errors.Is(err, arc.ErrObjective):
		code, text = http.StatusBadRequest, "That cannot be done: "+err.Error()
	case r.Context().Err() != nil:
		return
	default:
		d.opts.Logger.Error("dash: a page", "path", r.URL.Path, "error", err)
	}
	d.write(w, code, &screen{Title: http.StatusText(code), At: "error", Body: text})
}

func (d *dash) write(w http.ResponseWriter, code int, s *screen) {
	var b bytes.Buffer
	if err := d.pages[s.At].ExecuteTemplate(&b, "layout", s); err != nil {
		d.opts.Logger.Error("dash: a page", "page", s.At, "error", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	page := between.ReplaceAllStringFunc(b.String(), fence.Visible) // no text turns what a person rules on
	_, _ = io.WriteString(w, page)                                  // else the browser has gone
}

// guard sets what browsers have to hold to.
func guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		set := w.Header().Set
		set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; "+
			"connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		set("X-Content-Type-Options", "nosniff")
		set("Referrer-Policy", "same-origin")
		set("Cache-Control", "no-store, no-transform")
		if strings.HasPrefix(r.URL.Path, "/static/") {
			set("Cache-Control", "max-age=60")
		}
		h.ServeHTTP(w, r)
	})
}
