import type { Bench } from './bench.ts'
import type { Running } from './processes.ts'

/** nginx that guards a service by a route of this backend, as in docs/proxies/nginx.conf. The service is a constant response. */
export const guardingNginx = (bench: Bench, backend: string, path = '/svc/guard?redirect=401'): Promise<Running> =>
  bench.startNginx(
    (port) => `
  upstream guard { server ${backend}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 10000000;
    location = /ready { return 200; }
    location / {
      auth_request /_svc_guard;
      auth_request_set $svc_user_id $upstream_http_svc_user_id;
      auth_request_set $svc_authorization $upstream_http_authorization;
      add_header Svc-User-Id $svc_user_id;
      # try_files runs after the guard; "return" would run before it.
      try_files /none @service;
    }
    location @service { return 200 "{}"; }
    location = /_svc_guard {
      internal;
      proxy_pass http://guard${path};
      proxy_http_version 1.1;
      proxy_pass_request_body off;
      proxy_set_header Connection "";
      proxy_set_header Content-Length "";
      proxy_set_header X-Original-URL https://$host$request_uri;
      proxy_set_header X-Original-Method $request_method;
      proxy_set_header X-Forwarded-For $remote_addr;
    }
  }`,
  )

/** nginx that admits every request. */
export const admittingNginx = (bench: Bench): Promise<Running> =>
  bench.startNginx(
    (port) => `
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 10000000;
    location / { return 200; }
  }`,
  )
