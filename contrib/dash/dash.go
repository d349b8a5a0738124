package dash

import (
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// Options configure a Dash. The zero value, and nil, are ready.
type Options struct {
	// Token lets in who knows it: at least 16 bytes. "": a random one, see
	// [Dash.Token]. It is one voice where several people have to agree
	// (act.Compound): such hosts have Who.
	Token string
	// Scopes are those that the token shows, the first of them at first. Empty: that
	// of the Agent's Options.
	Scopes []memory.Scope
	// Who says who asks, and what they may see, in place of the token: the host's
	// middleware has let them in. Its error is answered by 403, without its words.
	Who func(*http.Request) (Viewer, error)
	// Secure has the cookie sent over TLS alone, where a proxy ends TLS and speaks plain
	// HTTP to the Dash. A Dash that is served over TLS itself does so anyway.
	Secure bool
	// Base is the path below which the Dash is mounted, such as "/dash". "": at the
	// root.
	Base string

	// Journal has the events of runs, and tells open pages of them by server-sent
	// events. nil: a run's page is drawn from its record, which has fewer steps, and
	// open pages look again every two seconds.
	Journal *Journal
	// Queue are the jobs and sensors to show. nil: there are no such pages.
	Queue *queue.Queue

	// Logger is told why a page could not be made. nil: discards.
	Logger *slog.Logger
	// Now is the clock. nil: time.Now.
	Now func() time.Time
}

// Viewer is who looks at a Dash.
type Viewer struct {
	// Name is in whose name they rule and approve, at most 128 bytes.
	Name string
	// Scopes are those that they may see, at least one.
	Scopes []memory.Scope
}

// Dash is the dashboard of an Agent. It is safe for concurrent use, and does not
// close the Agent.
type Dash struct {
	door    *door
	handler http.Handler
}

// New returns the dashboard of an Agent. One error lists what is wrong with the
// options.
func New(agent *arc.Agent, opts *Options) (*Dash, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	var errs []error
	if agent == nil {
		errs = append(errs, errors.New("no agent"))
	}
	if o.Token != "" && len(o.Token) < minToken {
		errs = append(errs, fmt.Errorf("token: %d bytes, of at least %d", len(o.Token), minToken))
	}
	if o.Token != "" && o.Who != nil {
		errs = append(errs, errors.New("token and Who: one of them lets people in"))
	}
	for _, s := range o.Scopes {
		if err := s.Check(); err != nil {
			errs = append(errs, fmt.Errorf("scopes: %w", err))
		}
	}
	if o.Base != "" && (!strings.HasPrefix(o.Base, "/") || strings.HasSuffix(o.Base, "/") || strings.ContainsAny(o.Base, "{} ")) {
		errs = append(errs, fmt.Errorf("base: %q does not begin, or ends, with a slash", o.Base))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("dash: %w", err)
	}
	if len(o.Scopes) == 0 && agent != nil {
		o.Scopes = []memory.Scope{agent.In("").Memory().Scope()}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	pages, err := parsed(templates)
	if err != nil {
		return nil, fmt.Errorf("dash: %w", err)
	}
	t := &desk{
		agent: agent, pages: pages, base: o.Base, token: o.Who == nil, journal: o.Journal, queue: o.Queue,
		logger: o.Logger, now: o.Now, sections: sections(&o),
	}
	d := &Dash{door: newDoor(&o)}
	d.handler = shielded(d.door.guard(routes(t, &o), t.entry))
	return d, nil
}

// Token is what lets people in: Options.Token, or the one that was drawn. With
// Options.Who it is "".
func (d *Dash) Token() string { return d.door.Token }

// ServeHTTP serves a page, or takes what a person says on one.
func (d *Dash) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// routes says which page is where.
func routes(t *desk, o *Options) *http.ServeMux {
	mux := http.NewServeMux()
	at := func(pattern string, h http.Handler) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+o.Base+path, h)
	}
	at("GET /{$}", t.page("overview", "Overview", (*desk).overview))
	at("GET /runs", t.page("runs", "Runs", (*desk).runs))
	at("GET /run", t.page("run", "Run", (*desk).oneRun))
	at("POST /run", t.action((*desk).tellRun))
	at("GET /approvals", t.page("approvals", "Approvals", (*desk).approvals))
	at("POST /approvals", t.action((*desk).rule))
	at("GET /proposals", t.page("proposals", "Proposals", (*desk).proposals))
	at("POST /proposals", t.action((*desk).decideProposal))
	at("GET /memories", t.page("memories", "Memories", (*desk).memories))
	at("GET /memory", t.page("memory", "Memory", (*desk).memory))
	at("POST /memory", t.action((*desk).tellMemory))
	at("GET /why", t.page("why", "Why not", (*desk).whyNot))
	at("GET /chunks", t.page("chunks", "Chunks", (*desk).chunks))
	at("GET /ranking", t.page("ranking", "Ranking", (*desk).ranking))
	at("GET /costs", t.page("costs", "Costs", (*desk).costs))
	at("GET /fleet", t.page("fleet", "Fleet", (*desk).fleet))
	at("GET /health", t.page("health", "Health", (*desk).health))
	if o.Queue != nil {
		at("GET /queue", t.page("queue", "Queue", (*desk).jobs))
		at("GET /sensors", t.page("sensors", "Sensors", (*desk).sensors))
	}
	if o.Journal != nil {
		at("GET /stream", http.HandlerFunc(t.stream))
	}
	at("GET /static/", assets(static, o.Base))
	mux.HandleFunc(o.Base+"/", func(w http.ResponseWriter, r *http.Request) { t.fail(w, r, store.ErrNotFound) })
	return mux
}

// sections are what the navigation lists.
func sections(o *Options) []section {
	out := []section{
		{"", []place{{"/", "Overview"}, {"/runs", "Runs"}}},
		{"To decide", []place{{"/approvals", "Approvals"}, {"/proposals", "Proposals"}}},
		{"Learned", []place{{"/memories", "Memories"}, {"/why", "Why not"}, {"/chunks", "Chunks"}}},
		{"Work", []place{{"/ranking", "Ranking"}, {"/fleet", "Fleet"}, {"/costs", "Costs"}, {"/health", "Health"}}},
	}
	if o.Queue != nil {
		last := &out[len(out)-1]
		last.Places = append(last.Places, place{"/queue", "Queue"}, place{"/sensors", "Sensors"})
	}
	return out
}
