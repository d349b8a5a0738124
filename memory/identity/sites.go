package identity

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Site is what repeated visits to a site say about a person.
type Site struct {
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
var otherSites = map[string]Site{
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
var builtInSites = sync.OnceValue(func() map[string]Site {
	out := maps.Clone(otherSites)
	for domain, name := range developerSites {
		out[domain] = Site{name + developing, Expertise}
	}
	return out
})

// knownSites returns the built-in table with the host's entries in it.
func knownSites(more map[string]Site) map[string]Site {
	if len(more) == 0 {
		return builtInSites()
	}
	out := maps.Clone(builtInSites())
	for domain, site := range more {
		if strings.TrimSpace(site.Content) == "" {
			continue
		}
		if site.Category == "" {
			site.Category = Expertise
		}
		out[strings.ToLower(domain)] = site
	}
	return out
}

// siteOf tells what a host is about: the host itself or the domains above it
// in the table, else, unless it is a general one, the words in its name.
func (x *Identity) siteOf(host string) (Site, bool) {
	for domain := host; domain != ""; _, domain, _ = strings.Cut(domain, ".") {
		if site, ok := x.sites[domain]; ok {
			return site, true
		}
	}
	if within(host, general) {
		return Site{}, false
	}
	labels := strings.Split(host, ".")
	for _, in := range interests {
		for _, label := range labels[:len(labels)-1] {
			if slices.ContainsFunc(in.words, func(w string) bool { return strings.HasPrefix(label, w) || strings.HasSuffix(label, w) }) {
				return Site{in.content, Focus}, true
			}
		}
	}
	return Site{}, false
}
