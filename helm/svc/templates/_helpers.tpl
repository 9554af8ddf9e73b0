{{- define "svc.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "svc.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "svc.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "svc.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "svc.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The configuration, with the port of the guard and the directory of the clients in other ConfigMaps. */}}
{{- define "svc.config" -}}
{{- $added := dict "guard" (dict "port" (int (include "svc.guardPort" .))) -}}
{{- if .Values.clientConfigMaps }}{{ $_ := set $added "clients_directory" "/etc/svc-clients" }}{{ end -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $added) -}}
{{- end -}}

{{/* The port on which pods serve the guard. */}}
{{- define "svc.guardPort" -}}
{{- dig "port" 8001 (.Values.config.guard | default dict) | default 8001 | int -}}
{{- end -}}

{{/* The host of the public address. */}}
{{- define "svc.publicHost" -}}
{{- (urlParse (dig "app" "url" "" .Values.config)).hostname -}}
{{- end -}}

{{/* Whether a variable is set, in secret.env or in extraEnv: "true" or nothing. */}}
{{- define "svc.hasEnv" -}}
{{- $name := .name -}}
{{- if hasKey (.root.Values.secret.env | default dict) $name }}true{{ end -}}
{{- range .root.Values.extraEnv }}{{ if eq .name $name }}true{{ end }}{{ end -}}
{{- end -}}

{{/* The port of config.metrics, or nothing. */}}
{{- define "svc.metricsPort" -}}
{{- with .Values.config.metrics }}{{ with .port }}{{ int . }}{{ end }}{{ end -}}
{{- end -}}

{{/* The URL of the database that config names, as far as it can be read here. */}}
{{- define "svc.databaseUrl" -}}
{{- with .Values.config.database }}{{ with .url }}{{ toString . }}{{ end }}{{ end -}}
{{- end -}}

{{/* What would not run is refused before it is installed. */}}
{{- define "svc.check" -}}
{{- if not (dig "app" "url" "" .Values.config) -}}
{{- fail "config.app.url is required: the address that browsers and clients use" -}}
{{- end -}}
{{- if not (or (include "svc.hasEnv" (dict "root" . "name" "SVC_SECRET")) (dig "app" "secret" "" .Values.config)) -}}
{{- fail "no secret: add SVC_SECRET to secret.env or extraEnv, or name a file in config.app.secret" -}}
{{- end -}}
{{- $needsName := .Values.secret.files -}}
{{- range .Values.secret.env }}{{ if kindIs "string" . }}{{ $needsName = true }}{{ end }}{{ end -}}
{{- if and $needsName (not .Values.secret.name) -}}
{{- fail "secret.name is required: the existing Secret that secret.env and secret.files take from" -}}
{{- end -}}
{{- if and .Values.gateway.enabled (not .Values.gateway.parentRefs) -}}
{{- fail "gateway.parentRefs is required: the Gateway that passes requests to svc" -}}
{{- end -}}
{{- if and (not .Values.reload) (gt (len (include "svc.config" .)) 200000) -}}
{{- fail "config is too long for an annotation of the pods: set reload to true, or move clients to clientConfigMaps" -}}
{{- end -}}
{{- $url := include "svc.databaseUrl" . -}}
{{- $isElsewhere := or (include "svc.hasEnv" (dict "root" . "name" "DATABASE_URL")) (and $url (not (hasPrefix "file:" $url))) -}}
{{- if .Values.persistence.enabled -}}
{{- if or .Values.autoscaling.enabled (ne (int .Values.replicas) 1) -}}
{{- fail "persistence.enabled: the embedded database is for one replica; set replicas to 1, without autoscaling" -}}
{{- end -}}
{{- if $isElsewhere -}}
{{- fail "persistence.enabled: the database is elsewhere (DATABASE_URL or config.database.url); use one of them" -}}
{{- end -}}
{{- else if not $isElsewhere -}}
{{- fail "no database: add DATABASE_URL to secret.env or extraEnv, set config.database.url, or use persistence.enabled with one replica" -}}
{{- end -}}
{{- if and (eq (toString (dig "server" "workers" 1 .Values.config)) "auto") (not (dig "limits" "cpu" "" .Values.resources)) -}}
{{- fail "config.server.workers: auto needs resources.limits.cpu; without a limit svc starts a worker for each CPU of the node" -}}
{{- end -}}
{{- if and .Values.clientConfigMaps (dig "clients_directory" "" .Values.config) -}}
{{- fail "clientConfigMaps sets config.clients_directory; use one of them" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not (include "svc.metricsPort" .)) -}}
{{- fail "serviceMonitor.enabled needs config.metrics.port" -}}
{{- end -}}
{{- end -}}
