package identity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// defaultLookback is how far back Infer looks unless told otherwise.
const defaultLookback = 7 * 24 * time.Hour

// The rules of inference.
const (
	inferFrom    = 3   // events about a topic
	inferBase    = 0.4 // confidence without any
	inferStep    = 0.05
	inferMost    = 0.8
	maxSuggested = 5
	suggestTimes = 2 // how often something is suggested before it is let be
	developing   = " development"
)

// Suggestion is a fact that events speak for. Validate keeps it as a candidate that
// was confirmed once, and Reject as one that was refused. To keep it as it is, Add
// its Draft.
type Suggestion struct {
	ID    ID // by which Validate and Reject make a fact of it; always the same
	Draft Draft
	Topic string
	Count int // visits, or other events
	Days  int // on which there were any, in UTC
}

// suggestion is what was suggested, and how often.
type suggestion struct {
	Times      int      `cbor:"1,keyasint"`
	Content    string   `cbor:"130,keyasint,omitempty"`
	Category   Category `cbor:"131,keyasint,omitempty"`
	Confidence float64  `cbor:"132,keyasint,omitempty"`
	Ref        string   `cbor:"133,keyasint,omitempty"`
	Topic      string   `cbor:"134,keyasint,omitempty"`
}

// Infer returns what the events of the last lookback (0: defaultLookback) speak
// for, the best founded first, five at most. Nothing is added to the facts.
//
// A topic needs events of a weight of three; its confidence is 0.4 + 0.05 of their
// weight, 0.8 at most. An event weighs as many minutes as its Dwell has, from 0.2 to
// 3, and 1 without. The topic is that of the event, or what is known of the site at its
// address. Left out are topics that were rejected or that a fact in use
// mentions already, both by whole words, and those that were suggested twice
// before: who has not taken them up by then does not want to. The same events
// always give the same suggestions.
func (x *Identity) Infer(ctx context.Context, lookback time.Duration) ([]Suggestion, error) {
	if lookback <= 0 {
		lookback = defaultLookback
	}
	found, err := x.infer(ctx, lookback)
	if err != nil {
		return nil, err
	}
	out := found[:0]
	for _, s := range found {
		if len(out) == maxSuggested {
			break
		}
		d, fresh := s.Draft, false
		err := x.change(ctx, func(b *batch) error {
			r, err := fetch[suggestion](ctx, x, idOf(suggestionPart, string(s.ID)))
			if fresh = r.v.Times < suggestTimes; err != nil || !fresh {
				return err
			}
			b.putSuggestion(r, string(s.ID), &suggestion{r.v.Times + 1, d.Content, d.Category, d.Confidence, d.Ref, s.Topic})
			return nil
		})
		if err != nil {
			return nil, err
		}
		if fresh {
			out = append(out, s)
		}
	}
	return out, nil
}

func (b *batch) putSuggestion(was row[suggestion], name string, s *suggestion) {
	put(b, was, memory.Record{ID: idOf(suggestionPart, name), Thread: suggestionPart}, s)
}

// suggested returns the fact that a suggestion would make, which is not stored yet, and
// its topic; or the fact that says the same, or store.ErrNotFound.
func (x *Identity) suggested(ctx context.Context, id ID) (r row[Fact], topic string, err error) {
	s, err := fetch[suggestion](ctx, x, idOf(suggestionPart, string(id)))
	if err == nil && s.v.Content == "" {
		err = fmt.Errorf("identity: fact %.64q: %w", string(id), store.ErrNotFound)
	}
	if err != nil {
		return r, "", err
	}
	f, err := x.fact(Draft{Content: s.v.Content, Category: s.v.Category, Confidence: s.v.Confidence, Ref: s.v.Ref, Source: Inferred})
	if err != nil {
		return r, "", err
	}
	if r, err = x.owner(ctx, &f); err == nil && !r.stored() {
		f.ID = id
		r.v = f
	}
	return r, s.v.Topic, err
}

// topic is what several events are about.
type topic struct {
	site   site
	topic  string
	n      int
	weight float64
	days   map[string]bool
	hosts  map[string]int
}

// infer returns all that the events speak for, the best founded first.
func (x *Identity) infer(ctx context.Context, lookback time.Duration) ([]Suggestion, error) {
	topics, err := x.topics(ctx, x.clock().Add(-lookback))
	if err != nil {
		return nil, err
	}
	known, err := x.List(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	refused, err := x.Rejections(ctx)
	if err != nil {
		return nil, err
	}
	var out []Suggestion
	for _, t := range topics {
		if t.weight < inferFrom ||
			slices.ContainsFunc(known, func(v View) bool { return overlaps(v.Content, t.topic) || overlaps(v.Content, t.site.Content) }) ||
			slices.ContainsFunc(refused, func(r Rejection) bool { return overlaps(r.Content, t.topic) || overlaps(r.Content, t.site.Content) }) {
			continue
		}
		out = append(out, Suggestion{
			ID: ID(digest("suggestion", string(t.site.Category), canonical(t.site.Content))),
			Draft: Draft{
				Content: t.site.Content, Category: t.site.Category, Source: Inferred, Ref: t.ref(),
				Confidence: min(roundOff(inferBase+inferStep*t.weight), inferMost),
			},
			Topic: t.topic, Count: t.n, Days: len(t.days),
		})
	}
	slices.SortFunc(out, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Days, a.Days), cmp.Compare(a.Draft.Content, b.Draft.Content), cmp.Compare(a.Draft.Category, b.Draft.Category))
	})
	return out, nil
}

// ref is browsing:host:count, by the host with the most events.
func (t *topic) ref() string {
	best := ""
	for host, n := range t.hosts {
		if n > t.hosts[best] || n == t.hosts[best] && host < best {
			best = host
		}
	}
	if ref := fmt.Sprintf("browsing:%s:%d", best, t.hosts[best]); best != "" && len(ref) <= key.MaxID {
		return ref
	}
	return best
}

// topics collects what the events since a time are about, those that were
// rolled up included as far as their whole day is within it.
func (x *Identity) topics(ctx context.Context, since time.Time) (map[string]*topic, error) {
	out := map[string]*topic{}
	add := func(c count, day string) {
		of, name, ok := about(&c)
		if !ok {
			return
		}
		k := string(of.Category) + "\x00" + canonical(of.Content)
		t := out[k]
		if t == nil {
			t = &topic{site: of, topic: name, days: map[string]bool{}, hosts: map[string]int{}}
			out[k] = t
		}
		if of.Content < t.site.Content { // of several spellings, one
			t.site, t.topic = of, name
		}
		t.n += c.N
		t.weight = roundOff(t.weight + float64(c.N) + c.More)
		t.days[day] = true
		if c.Host != "" {
			t.hosts[c.Host] += c.N
		}
	}
	ring, err := each[Event](ctx, x, eventPart)
	if err != nil {
		return nil, err
	}
	for i := range ring {
		if e := &ring[i].v; !e.At.Before(since) {
			add(countOf(e), e.At.Format(time.DateOnly))
		}
	}
	days, err := x.days(ctx)
	for _, name := range slices.Sorted(maps.Keys(days)) {
		if day, err := time.Parse(time.DateOnly, name); err == nil && !day.Before(since) {
			for _, c := range days[name].v.Counts {
				add(c, name)
			}
		}
	}
	return out, err
}

// about tells what an event would have one say, and of which topic.
func about(c *count) (site, string, bool) {
	if c.Topic != "" {
		return site{c.Topic, cmp.Or(c.Category, Expertise)}, c.Topic, true
	}
	s, ok := siteOf(c.Host)
	return s, strings.TrimSuffix(s.Content, developing), ok
}

// site is what repeated visits to a site say about a person.
type site struct {
	Content  string // of the fact
	Category Category
}

// developerSites are sites whose visitors work with what they are about.
var developerSites = map[string]string{
	"angular.dev": "Angular", "ansible.com": "Ansible", "astro.build": "Astro", "aws.amazon.com": "AWS",
	"bun.sh": "Bun", "clickhouse.com": "ClickHouse", "deno.com": "Deno", "djangoproject.com": "Django",
	"docker.com": "Docker", "elastic.co": "Elasticsearch", "elixir-lang.org": "Elixir", "fastapi.tiangolo.com": "FastAPI",
	"firebase.google.com": "Firebase", "flutter.dev": "Flutter", "go.dev": "Go", "grafana.com": "Grafana",
	"graphql.org": "GraphQL", "haskell.org": "Haskell", "huggingface.co": "machine learning", "julialang.org": "Julia",
	"kotlinlang.org": "Kotlin", "kubernetes.io": "Kubernetes", "laravel.com": "Laravel", "mongodb.com": "MongoDB",
	"mysql.com": "MySQL", "neo4j.com": "Neo4j", "netlify.com": "Netlify", "nextjs.org": "Next.js",
	"nodejs.org": "Node.js", "numpy.org": "NumPy", "php.net": "PHP", "postgresql.org": "PostgreSQL",
	"prisma.io": "Prisma", "prometheus.io": "Prometheus", "python.org": "Python", "pytorch.org": "PyTorch",
	"react.dev": "React", "reactjs.org": "React", "redis.io": "Redis", "ruby-lang.org": "Ruby",
	"rubyonrails.org": "Rails", "rust-lang.org": "Rust", "spring.io": "Spring", "sqlite.org": "SQLite",
	"stripe.com": "Stripe", "supabase.com": "Supabase", "svelte.dev": "Svelte", "swift.org": "Swift",
	"tailwindcss.com": "Tailwind CSS", "tensorflow.org": "TensorFlow", "terraform.io": "Terraform",
	"typescriptlang.org": "TypeScript", "vercel.com": "Vercel", "vuejs.org": "Vue", "ziglang.org": "Zig",
}

// interests are words that a part of a host's name begins or ends with, and
// what such a site is about, in the order in which they are tried.
var interests = []struct {
	content string
	words   []string
}{
	{"online shopping", []string{"shop", "shopping", "store"}},
	{"health & wellness", []string{"health", "clinic", "pharmacy", "fitness", "wellness"}},
	{"travel", []string{"travel", "flights", "hotel", "hotels", "airlines"}},
	{"personal finance", []string{"bank", "finance", "invest", "broker"}},
	{"news", []string{"news"}},
	{"cooking", []string{"recipes", "cooking", "kitchen"}},
	{"learning", []string{"academy", "courses", "university"}},
	{"gaming", []string{"games", "gaming"}},
	{"music", []string{"music"}},
	{"home & real estate", []string{"realestate", "homes", "apartments"}},
}

// otherSites are sites whose names do not say what they are about.
var otherSites = map[string]site{
	"ro.co": {"health & wellness", Focus},
}

// general are the domains that are visited for everything.
var general = []string{
	"google.com", "bing.com", "duckduckgo.com", "yahoo.com", "github.com", "gitlab.com", "youtube.com", "facebook.com",
	"twitter.com", "x.com", "linkedin.com", "instagram.com", "reddit.com", "stackoverflow.com", "wikipedia.org",
	"amazon.com", "netflix.com", "gmail.com", "outlook.com", "office.com", "microsoft.com", "apple.com", "slack.com",
	"discord.com", "zoom.us", "notion.so", "chatgpt.com", "openai.com", "claude.ai", "localhost",
}

// builtInSites returns the table, which must not be changed.
var builtInSites = sync.OnceValue(func() map[string]site {
	out := maps.Clone(otherSites)
	for domain, name := range developerSites {
		out[domain] = site{name + developing, Expertise}
	}
	return out
})

// siteOf tells what a host is about: the host itself or the domains above it
// in the table, else, unless it is a general one, the words in its name.
func siteOf(host string) (site, bool) {
	for domain := host; domain != ""; _, domain, _ = strings.Cut(domain, ".") {
		if s, ok := builtInSites()[domain]; ok {
			return s, true
		}
	}
	if within(host, general) {
		return site{}, false
	}
	labels := strings.Split(host, ".")
	for _, in := range interests {
		for _, label := range labels[:len(labels)-1] {
			if slices.ContainsFunc(in.words, func(w string) bool { return strings.HasPrefix(label, w) || strings.HasSuffix(label, w) }) {
				return site{in.content, Focus}, true
			}
		}
	}
	return site{}, false
}
