package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
)

func main() {
	guard, err := NewGuard(context.Background(), os.Getenv("SVC_ISSUER"), os.Getenv("SVC_AUDIENCE"))
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /orders", guard.Require("orders:read", func(w http.ResponseWriter, r *http.Request) {
		respond(w, http.StatusOK, map[string]any{"user": CallerOf(r).ID, "orders": []string{}})
	}))
	mux.Handle("POST /orders", guard.Require("orders:write", func(w http.ResponseWriter, r *http.Request) {
		respond(w, http.StatusCreated, map[string]any{"user": CallerOf(r).ID})
	}))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), mux))
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
