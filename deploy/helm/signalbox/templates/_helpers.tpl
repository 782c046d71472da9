{{- define "signalbox.name" -}}
{{- if contains "signalbox" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-signalbox{{ end }}
{{- end }}

{{- define "signalbox.selector" -}}
app.kubernetes.io/name: signalbox
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "signalbox.labels" -}}
{{ include "signalbox.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "signalbox.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "signalbox.keys" -}}
{{- if .Values.keys.values }}{{ include "signalbox.name" . }}-keys{{ else }}{{ .Values.keys.existingSecret }}{{ end }}
{{- end }}

{{- define "signalbox.policies" -}}
{{- if .Values.policies.files }}{{ include "signalbox.name" . }}-policies{{ else }}{{ .Values.policies.existingConfigMap }}{{ end }}
{{- end }}

{{- define "signalbox.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "signalbox.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "signalbox.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The Pod of a server: the same for the StatefulSet and the Deployment, except for the database and the stop. */ -}}
{{- define "signalbox.pod" -}}
metadata:
  labels:
    {{- include "signalbox.selector" . | nindent 4 }}
  annotations:
    # For a Prometheus that reads annotations. With the Prometheus Operator, write a PodMonitor instead.
    prometheus.io/scrape: "true"
    prometheus.io/port: "8787"
    prometheus.io/path: /metrics
    {{- if .Values.keys.values }}
    # A change of the chart's Secret replaces the servers, which read environment variables only when they start.
    signalbox/keys: {{ toJson .Values.keys.values | sha256sum }}
    {{- end }}
spec:
  serviceAccountName: {{ include "signalbox.name" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- include "signalbox.pullSecrets" . | nindent 2 }}
  # 25 s for running requests, then 10 s to send traces and write the log. With a database, 5 s before SIGTERM.
  terminationGracePeriodSeconds: {{ ternary 45 40 (ne .Values.database.existingSecret "") }}
  {{- if .Values.database.existingSecret }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "signalbox.selector" . | nindent 10 }}
      matchLabelKeys: [pod-template-hash]
  {{- end }}
  securityContext:
    {{- include "signalbox.podSecurity" . | nindent 4 }}
  containers:
    - name: signalbox
      image: {{ include "signalbox.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- if or (include "signalbox.policies" .) .Values.database.existingSecret .Values.env }}
      env:
        {{- if include "signalbox.policies" . }}
        - { name: SIGNALBOX_POLICIES, value: /policies }
        {{- end }}
        {{- if .Values.database.existingSecret }}
        - { name: DATABASE_URL_FILE, value: /database/url }
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with include "signalbox.keys" . }}
      envFrom:
        # Without the Secret, Signalbox serves only simulated models.
        - secretRef: { name: {{ . }}, optional: true }
      {{- end }}
      ports:
        - { name: http, containerPort: 8787, protocol: TCP }
      securityContext:
        {{- include "signalbox.containerSecurity" . | nindent 8 }}
      # No CPU limit: throttling would delay all streams at once.
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      {{- if .Values.database.existingSecret }}
      # Before SIGTERM, the cluster learns that the Pod is leaving.
      lifecycle:
        preStop:
          sleep: { seconds: 5 }
      {{- end }}
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 60
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      volumeMounts:
        - { name: data, mountPath: /data }
        {{- if .Values.database.existingSecret }}
        - { name: database, mountPath: /database, readOnly: true }
        {{- end }}
        {{- if include "signalbox.policies" . }}
        # The whole folder: a file mounted by subPath does not receive edits.
        - { name: policies, mountPath: /policies, readOnly: true }
        {{- end }}
        - { name: tmp, mountPath: /tmp }
  volumes:
    {{- if .Values.database.existingSecret }}
    # The spool: charges of answers that ended while the database was unavailable.
    - name: data
      emptyDir: { sizeLimit: 1Gi }
    - name: database
      secret: { secretName: {{ .Values.database.existingSecret }}, defaultMode: 288 }
    {{- end }}
    {{- with include "signalbox.policies" . }}
    - name: policies
      configMap: { name: {{ . }} }
    {{- end }}
    - name: tmp
      emptyDir: { sizeLimit: 64Mi }
{{- end }}
