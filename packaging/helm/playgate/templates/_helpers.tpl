{{- define "playgate.name" -}}
{{- if contains "playgate" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-playgate" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "playgate.selector" -}}
app.kubernetes.io/name: playgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "playgate.labels" -}}
{{ include "playgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "playgate.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "playgate.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "playgate.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* The first port of the addresses of a section, such as 0.0.0.0:8080; empty for a socket or a missing section. */ -}}
{{- define "playgate.port" -}}
{{- $port := "" }}
{{- with index .Values.config .section }}
{{- $listed := .listen | default list }}
{{- range (kindIs "slice" $listed | ternary $listed (list $listed)) }}
{{- $address := . | toString }}
{{- if and (not $port) (regexMatch "^[^/]*:[0-9]+$" $address) }}{{ $port = regexFind "[0-9]+$" $address }}{{ end }}
{{- end }}
{{- end }}
{{- $port }}
{{- end }}
