package services

// Parameters of several tools.
var (
	theName      = req("name", "Name of the pod")
	theNamespace = opt("namespace", "Namespace of the deployment", or("default"))
)

// kubernetes has the tools of a cluster.
var kubernetes = service("kubernetes",
	fn("list_pods", "List the pods running in a namespace of the cluster, with their status and restarts.",
		opt("namespace", "Namespace to look in", or("default")), opt("selector", "Label selector, such as app=web"),
		returns(`"pods": [
			{"name": "web-7d9f-abc12", "status": "Running", "restarts": 0}, {"name": "worker-55c8-xk9p2",
			"status": "CrashLoopBackOff", "restarts": 14}]`)),
	fn("describe_pod", "Show a pod in detail: containers, images, conditions, and the reasons it is not starting.",
		theName, opt("namespace", "Namespace of the pod", or("default")),
		returns(`"node": "node-3", "phase": "Running",
			"containers": [{"name": "app", "image": "registry.example/app:1.8.2", "ready": true}], "last_event": "Pulled image"`)),
	fn("get_pod_logs", "Fetch the log output of a container, also of its previous run after a crash.", theName,
		opt("namespace", "Namespace of the pod", or("default")),
		opt("container", "Container in the pod, if it has several"),
		opt("tail", "How many lines from the end", integer, or(100)),
		opt("previous", "Read the run before the last restart", boolean, or(false)),
		returns(`"lines": ["level=info msg=\"listening\" port=8080", "level=error msg=\"cannot reach database\""]`)),
	fn("exec_in_pod", "Run a command inside a container of a running pod and return its output.", theName,
		req("command", "Command and its arguments", list()), opt("namespace", "Namespace of the pod", or("default"))),
	fn("delete_pod", "Delete a pod. If a deployment owns it, a fresh one takes its place.", theName,
		opt("namespace", "Namespace of the pod", or("default"))),
	fn("list_deployments", "List the deployments of a namespace with their images and how many replicas are ready.",
		opt("namespace", "Namespace to look in", or("default")),
		returns(`"deployments": [
			{"name": "web", "ready": "3/3", "image": "registry.example/web:2.4.0"},
			{"name": "worker", "ready": "1/2", "image": "registry.example/worker:2.4.0"}]`)),
	fn("scale_deployment", "Change how many replicas of a deployment run, to handle more load or save resources.",
		req("name", "Name of the deployment"), req("replicas", "Number of replicas wanted", integer), theNamespace),
	fn("restart_deployment", "Restart all pods of a deployment one after the other, without downtime.",
		req("name", "Name of the deployment"), theNamespace),
	fn("rollback_deployment", "Go back to an earlier revision of a deployment when a rollout went wrong.",
		req("name", "Name of the deployment"),
		opt("revision", "Revision to return to; leave out for the one before", integer), theNamespace),
	fn("apply_manifest", "Create or update cluster resources from a YAML manifest.",
		req("manifest", "One or more resources in YAML"),
		opt("namespace", "Namespace for resources that name none", or("default")),
		opt("dry_run", "Check the manifest without changing anything", boolean, or(false)),
		returns(`{"namespace": "{namespace}", "dry_run": "{dry_run}", "applied": [{"kind": "Deployment", "name": "web",
			"result": "configured"}], "manifest": "{manifest}"}`)),
	fn("list_events", "List recent cluster events, such as failed scheduling, image pull errors and evictions.",
		opt("namespace", "Namespace to look in", or("default")),
		opt("type", "Only events of this type", oneOf("Normal", "Warning")),
		returns(`"events": [
			{"reason": "BackOff", "object": "pod/worker-55c8-xk9p2", "message": "Back-off restarting failed container", "count": 14}]`)),
	fn("list_nodes", "List the machines of the cluster with their readiness and free CPU and memory.",
		returns(`{"nodes": [{"name": "node-1", "ready": true, "cpu_free": 2.4, "memory_free_gib": 9.1},
			{"name": "node-3", "ready": true, "cpu_free": 0.3, "memory_free_gib": 1.2}]}`)),
	fn("drain_node", "Move all workloads off a machine and keep new ones away, ahead of maintenance.",
		req("node", "Name of the node"), opt("grace_seconds", "Time pods get to shut down", integer, or(30))),
)
