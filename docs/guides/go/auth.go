package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

// Caller is the authenticated caller of a request.
type Caller struct {
	ID        string
	Abilities []string
}

// Can reports whether the caller has the ability.
func (c Caller) Can(ability string) bool { return slices.Contains(c.Abilities, ability) }

type claims struct {
	jwt.RegisteredClaims
	Scope        string         `json:"scope"`
	Confirmation map[string]any `json:"cnf"`
}

type callerKey struct{}

// CallerOf returns the caller of a request behind Require.
func CallerOf(r *http.Request) Caller { return r.Context().Value(callerKey{}).(Caller) }

// Guard verifies the access tokens of svc.
type Guard struct {
	keys   keyfunc.Keyfunc
	parser *jwt.Parser
}

// NewGuard fetches the keys of svc and refreshes them in the background until the context ends.
func NewGuard(ctx context.Context, issuer, audience string) (*Guard, error) {
	keys, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{issuer + "/.well-known/jwks.json"}, keyfunc.Override{
		HTTPTimeout:     5 * time.Second,
		RefreshInterval: 10 * time.Minute,
		// An unknown key id fetches the keys again, at most every 30 seconds. Other requests do not wait for it.
		RefreshUnknownKID: rate.NewLimiter(rate.Every(30*time.Second), 1),
		RateLimitWaitMax:  time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{"ES256", "RS256", "EdDSA"}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(5*time.Second),
	)
	return &Guard{keys, parser}, nil
}

// Require lets only callers with the ability through to the handler.
func (g *Guard) Require(ability string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := r.Header.Values("Authorization")
		if len(values) == 0 {
			reject(w, http.StatusUnauthorized, "Bearer")
			return
		}
		scheme, token, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "bearer") {
			reject(w, http.StatusUnauthorized, "Bearer")
			return
		}
		caller, err := g.verify(r.Context(), token)
		if err != nil {
			reject(w, http.StatusUnauthorized, `Bearer error="invalid_token"`)
			return
		}
		if !caller.Can(ability) {
			reject(w, http.StatusForbidden, fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, ability))
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

func (g *Guard) verify(ctx context.Context, token string) (Caller, error) {
	var c claims
	verified, err := g.parser.ParseWithClaims(token, &c, g.keys.KeyfuncCtx(ctx))
	if err != nil {
		return Caller{}, err
	}
	// svc signs ID tokens with the same keys. A bearer does not prove the key of a DPoP-bound token.
	if verified.Header["typ"] != "at+jwt" || c.Confirmation != nil || c.Subject == "" {
		return Caller{}, fmt.Errorf("not an access token for a bearer")
	}
	return Caller{c.Subject, strings.Fields(c.Scope)}, nil
}

func reject(w http.ResponseWriter, status int, challenge string) {
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, http.StatusText(status), status)
}
