{{/*
What the pods of the Deployment and of the configuration check share. Arguments: root (the context of the chart), and
optional: whether a missing Secret or ConfigMap does not stop the pod, so that svc can name what is missing.
*/}}

{{/* A deep copy of an environment variable or a volume whose references are optional. */}}
{{- define "svc.optional" -}}
{{- $copy := deepCopy . -}}
{{- range list "secretKeyRef" "configMapKeyRef" -}}
{{- with dig "valueFrom" . "" $copy }}{{ $_ := set . "optional" true }}{{ end -}}
{{- end -}}
{{- range list "secret" "configMap" -}}
{{- with index $copy . }}{{ $_ := set . "optional" true }}{{ end -}}
{{- end -}}
{{- range dig "projected" "sources" list $copy -}}
{{- range list .secret .configMap -}}{{- if . }}{{ $_ := set . "optional" true }}{{ end -}}{{- end -}}
{{- end -}}
{{- toYaml (list $copy) -}}
{{- end -}}

{{- define "svc.env" -}}
- name: SVC_CONFIG
  value: /etc/svc/svc.yaml
- name: PORT
  value: "8000"
{{- range $name, $source := .root.Values.secret.env }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      {{- if kindIs "string" $source }}
      name: {{ $.root.Values.secret.name }}
      key: {{ $source }}
      {{- else }}
      name: {{ $source.name }}
      key: {{ $source.key }}
      {{- end }}
      {{- if $.optional }}
      optional: true
      {{- end }}
{{- end }}
{{- range .root.Values.extraEnv }}
{{ if $.optional }}{{ include "svc.optional" . }}{{ else }}{{ toYaml (list .) }}{{ end }}
{{- end }}
{{- end -}}

{{- define "svc.volumeMounts" -}}
# Mount the directory: Kubernetes does not update a file that is mounted directly.
- name: config
  mountPath: /etc/svc
  readOnly: true
{{- if .root.Values.clientConfigMaps }}
- name: clients
  mountPath: /etc/svc-clients
  readOnly: true
{{- end }}
- name: tmp
  mountPath: /tmp
{{- if .root.Values.secret.files }}
- name: secret
  mountPath: /run/secrets/svc
  readOnly: true
{{- end }}
{{- with .root.Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Without reload, or for the check, the configuration is an annotation of the pod. */}}
{{- define "svc.volumes" -}}
- name: config
  {{- if and .root.Values.reload (not .optional) }}
  configMap:
    name: {{ include "svc.fullname" .root }}
  {{- else }}
  downwardAPI:
    items:
      - path: svc.yaml
        fieldRef: { fieldPath: "metadata.annotations['svc/config']" }
  {{- end }}
{{- if .root.Values.clientConfigMaps }}
- name: clients
  projected:
    sources:
      {{- range .root.Values.clientConfigMaps }}
      - configMap: { name: {{ . }}{{ if $.optional }}, optional: true{{ end }} }
      {{- end }}
{{- end }}
- name: tmp
  emptyDir: {}
{{- if .root.Values.secret.files }}
- name: secret
  secret:
    secretName: {{ .root.Values.secret.name }}
    defaultMode: 288 # 0440, for the group of fsGroup
    {{- if .optional }}
    optional: true
    {{- end }}
{{- end }}
{{- range .root.Values.extraVolumes }}
{{ if $.optional }}{{ include "svc.optional" . }}{{ else }}{{ toYaml (list .) }}{{ end }}
{{- end }}
{{- end -}}

{{/* Where pods may run, and with which image secrets. */}}
{{- define "svc.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
