{{/* The namespace that everything runs in. */}}
{{- define "koord.namespace" -}}
{{ .Values.installation.namespace }}
{{- end }}

{{/* koord.image (list root image): the name of an image. */}}
{{- define "koord.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 -}}
{{ with $root.Values.imageRepositoryHost }}{{ . }}/{{ end }}{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end }}

{{/* koord.gate (list gates name default): "true" when a feature gate is on. The stage of those that are off by default is alpha. */}}
{{- define "koord.gate" -}}
{{- $on := index . 2 -}}
{{- range splitList "," (index . 0) -}}
{{- $pair := splitList "=" (trim .) -}}
{{- if and (eq (index $pair 0) "AllAlpha") (not (index $ 2)) -}}{{- $on = eq (last $pair) "true" -}}{{- end -}}
{{- if eq (index $pair 0) (index $ 1) -}}{{- $on = eq (last $pair) "true" -}}{{- end -}}
{{- end -}}
{{- if $on }}true{{ end -}}
{{- end }}

{{/* koord.apiServer: environment of a container, where the API server is not where the kubelet says. */}}
{{- define "koord.apiServer" -}}
{{- with .Values.apiServer.host }}
- {name: KUBERNETES_SERVICE_HOST, value: {{ . | quote }}}
{{- end }}
{{- with .Values.apiServer.port }}
- {name: KUBERNETES_SERVICE_PORT, value: {{ . | quote }}}
{{- end }}
{{- end }}

{{/* koord.serviceAccount (list root name) */}}
{{- define "koord.serviceAccount" -}}
{{- $root := index . 0 -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ index . 1 }}
  namespace: {{ include "koord.namespace" $root }}
{{- with $root.Values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* koord.bind (list root binding role account [namespaced]): binds a role to an account of the installation. */}}
{{- define "koord.bind" -}}
{{- $root := index . 0 }}{{ $local := gt (len .) 4 -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" $local }}
metadata:
  name: {{ index . 1 }}
{{- if $local }}
  namespace: {{ include "koord.namespace" $root }}
{{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "Role" "ClusterRole" $local }}
  name: {{ index . 2 }}
subjects:
- kind: ServiceAccount
  name: {{ index . 3 }}
  namespace: {{ include "koord.namespace" $root }}
{{- end }}

{{/* koord.restricted: what Pod Security "restricted" asks of a container. */}}
{{- define "koord.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
capabilities: {drop: [ALL]}
{{- end }}

{{/* koord.control (list root name values): the parts of a control program's Deployment that are the same for all: metadata and
spec up to the containers of the pod. */}}
{{- define "koord.control" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $v := index . 2 -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ include "koord.namespace" $root }}
  labels:
    koord-app: {{ $name }}
spec:
  replicas: {{ $v.replicas }}
  minReadySeconds: 3
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 100%, maxUnavailable: 0}
  selector:
    matchLabels:
      koord-app: {{ $name }}
  template:
    metadata:
      labels:
        koord-app: {{ $name }}
    spec:
      serviceAccountName: {{ $name }}
      terminationGracePeriodSeconds: 10
{{- with $v.priorityClassName }}
      priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 6 }}
{{- end }}
{{- if $v.hostNetwork }}
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with $v.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
{{- end }}
{{- with $v.tolerations }}
      tolerations: {{- toYaml . | nindent 6 }}
{{- end }}
{{- with $v.topologySpreadConstraints }}
      topologySpreadConstraints: {{- toYaml . | nindent 6 }}
{{- end }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  koord-app: {{ $name }}
{{- with $v.nodeAffinity }}
        nodeAffinity: {{- toYaml . | nindent 10 }}
{{- end }}
{{- end }}

{{/* koord.budget (list root name values): at most so many replicas are away on purpose. */}}
{{- define "koord.budget" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $v := index . 2 -}}
{{- if and $v.podDisruptionBudget.enabled (gt (int $v.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ include "koord.namespace" $root }}
spec:
  maxUnavailable: {{ $v.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      koord-app: {{ $name }}
{{- end }}
{{- end }}

{{/* koord.ingress (list root name ports): a NetworkPolicy that lets these ports in. */}}
{{- define "koord.ingress" -}}
{{- $root := index . 0 }}{{ $name := index . 1 -}}
{{- if $root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $name }}
  namespace: {{ include "koord.namespace" $root }}
spec:
  podSelector:
    matchLabels:
      koord-app: {{ $name }}
  policyTypes: [Ingress]
  ingress:
  - ports:
{{- range index . 2 }}
    - {protocol: TCP, port: {{ . }}}
{{- end }}
{{- end }}
{{- end }}
