package dash

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	minToken = 16 // bytes
	maxName  = 64 // bytes of a name that is typed in
	// maxForm is in bytes: a note has at most 64 KiB, each of which may take three.
	maxForm  = 256 << 10
	stay     = 7 * 24 * time.Hour
	maxLeft  = 10_000 // passes handed back that are remembered
	passName = "arc_dash"
)

// door lets in who may see the pages.
type door struct {
	Options
	key   [sha256.Size]byte // signs passes
	cross *http.CrossOriginProtection

	mu    sync.Mutex
	left  map[string]int64 // passes that were handed back, until they would have ended
	after int64            // what holds ends later, in Unix seconds
}

// pass is what a cookie says: who has come in, and until when that holds.
type pass struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Until int64  `json:"until"` // in Unix seconds
}

func newDoor(o *Options) *door {
	d := &door{Options: *o, cross: http.NewCrossOriginProtection(), left: map[string]int64{}}
	if d.Token == "" && d.Who == nil {
		d.Token = rand.Text()
	}
	d.key = sha256.Sum256([]byte("arc dash pass\x00" + d.Token))
	return d
}

// guard lets a request through to the pages if its sender may see them. For others
// there is the entry, and its style sheet.
func (d *door) guard(pages http.Handler, entry func(http.ResponseWriter, *http.Request, bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unsafe := r.Method != http.MethodGet && r.Method != http.MethodHead
		bearer := d.isToken(bearerOf(r))
		if unsafe && !bearer && !d.sameOrigin(r) {
			http.Error(w, "the request comes from another site", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		var viewer viewing
		switch {
		case d.Who != nil:
			v, err := d.Who(r)
			if err != nil || len(v.Scopes) == 0 {
				d.Logger.WarnContext(r.Context(), "dash: not let in", "error", err)
				http.Error(w, "you may not see this", http.StatusForbidden)
				return
			}
			viewer.Viewer = v
		case bearer:
			viewer.Viewer = Viewer{byToken, d.Scopes}
		case r.URL.Path == d.Base+"/static/style.css":
		case r.URL.Path == d.Base+"/enter" && r.Method == http.MethodPost:
			if !d.isToken(r.PostFormValue("token")) {
				entry(w, r, true)
				return
			}
			d.admit(w, r, r.PostFormValue("name"), d.Base+"/")
			return
		case r.Method == http.MethodGet && d.isToken(r.URL.Query().Get("token")):
			q := r.URL.Query()
			q.Del("token")
			to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: q.Encode()}
			d.admit(w, r, "", to.String())
			return
		default:
			p, err := d.passOf(r)
			if err != nil {
				if r.Header.Get("HX-Request") != "" {
					w.Header().Set("HX-Refresh", "true") // to the entry
				}
				entry(w, r, false)
				return
			}
			if r.URL.Path == d.Base+"/leave" && unsafe {
				d.leave(w, r, p)
				return
			}
			viewer = viewing{Viewer{p.Name, d.Scopes}, true}
		}
		pages.ServeHTTP(w, seenBy(r, viewer))
	})
}

// sameOrigin reports whether a page of this origin has sent the request. Who says
// nothing about it has no browser of these days, or hides it.
func (d *door) sameOrigin(r *http.Request) bool {
	told := r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != ""
	return told && d.cross.Check(r) == nil
}

// isToken reports whether a token is the right one, in a time that does not tell how
// much of it is.
func (d *door) isToken(token string) bool {
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(d.Token))
	return d.Token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

func bearerOf(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// admit hands out a pass, and sends the browser on to a path without the token.
func (d *door) admit(w http.ResponseWriter, r *http.Request, name, to string) {
	name = strings.ToValidUTF8(strings.TrimSpace(name), "")
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, name)
	name = cmp.Or(strings.ToValidUTF8(name[:min(len(name), maxName)], ""), "dashboard")
	until := d.Now().Add(stay).Unix()
	d.mu.Lock()
	until = max(until, d.after+1)
	d.mu.Unlock()
	raw, err := json.Marshal(pass{rand.Text(), name, until})
	if err != nil {
		http.Error(w, "no pass could be made", http.StatusInternalServerError)
		return
	}
	d.setPass(w, r, base64url(raw)+"."+base64url(d.sign(raw)), int(stay.Seconds()))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// setPass sets the cookie, for so many seconds.
func (d *door) setPass(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: passName, Value: value, Path: d.Base + "/", MaxAge: age,
		HttpOnly: true, Secure: d.Secure || r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// leave takes a pass back: it lets nobody in any more, as long as the process lives. Where
// there is no room for it, all passes are taken back.
func (d *door) leave(w http.ResponseWriter, r *http.Request, p pass) {
	now := d.Now()
	d.mu.Lock()
	maps.DeleteFunc(d.left, func(_ string, until int64) bool { return until <= now.Unix() })
	if d.left[p.ID] = p.Until; len(d.left) > maxLeft {
		d.after = now.Add(stay).Unix()
		clear(d.left)
	}
	d.mu.Unlock()
	d.setPass(w, r, "", -1)
	http.Redirect(w, r, d.Base+"/", http.StatusSeeOther)
}

// errPass says nothing about what is wrong.
var errPass = errors.New("no valid pass")

// passOf returns the pass of a request that holds now.
func (d *door) passOf(r *http.Request) (p pass, err error) {
	c, err := r.Cookie(passName)
	if err != nil {
		return p, errPass
	}
	left, right, _ := strings.Cut(c.Value, ".")
	raw, err1 := base64.RawURLEncoding.DecodeString(left)
	mac, err2 := base64.RawURLEncoding.DecodeString(right)
	if err1 != nil || err2 != nil || !hmac.Equal(mac, d.sign(raw)) {
		return p, errPass
	}
	if json.Unmarshal(raw, &p) != nil || p.Until <= d.Now().Unix() {
		return p, errPass
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, gone := d.left[p.ID]; gone || p.Until <= d.after {
		return p, errPass
	}
	return p, nil
}

func (d *door) sign(raw []byte) []byte {
	mac := hmac.New(sha256.New, d.key[:])
	mac.Write(raw)
	return mac.Sum(nil)
}

func base64url(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// policy lets a page use files of this package, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// shielded sets what browsers are told of every answer.
func shielded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for k, v := range map[string]string{
			"Content-Security-Policy":      policy,
			"X-Frame-Options":              "DENY",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
			"Cache-Control":                "no-store",
		} {
			w.Header().Set(k, v)
		}
		h.ServeHTTP(w, r)
	})
}
