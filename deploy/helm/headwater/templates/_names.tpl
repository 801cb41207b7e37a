{{- define "headwater.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "headwater.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "headwater.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "headwater.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "headwater.selector" -}}
app.kubernetes.io/name: {{ include "headwater.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headwater.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "headwater.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "headwater.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "headwater.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Secret and key of the database's address; of the admin key. */}}
{{- define "headwater.databaseSecret" -}}
{{- default (include "headwater.fullname" .) .Values.database.existingSecret -}}
{{- end -}}
{{- define "headwater.databaseSecretKey" -}}
{{- if .Values.database.existingSecret }}{{ .Values.database.existingSecretKey }}{{ else }}url{{ end -}}
{{- end -}}
{{- define "headwater.accessSecret" -}}
{{- default (include "headwater.fullname" .) .Values.access.existingSecret -}}
{{- end -}}
{{- define "headwater.accessSecretKey" -}}
{{- if .Values.access.existingSecret }}{{ .Values.access.existingSecretKey }}{{ else }}admin-key{{ end -}}
{{- end -}}
{{- define "headwater.secretKeyKey" -}}
{{- if .Values.access.existingSecret }}{{ .Values.access.existingSecretSecretKey }}{{ else }}secret-key{{ end -}}
{{- end -}}

{{/* The sub-path with one slash before it and none after; empty at the root. */}}
{{- define "headwater.rootPath" -}}
{{- with .Values.server.rootPath | trimAll "/" }}/{{ . }}{{ end -}}
{{- end -}}
