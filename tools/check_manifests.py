#!/usr/bin/env python3
"""Checks the Kubernetes manifests of deploy/kubernetes: `check_manifests.py FOLDER DRIPGATE`, with the packages of
`./dev test` (kubernetes-validate: the schemas of Kubernetes itself, strict).

Beyond the schemas: no key twice, what is named exists (ConfigMap, port, label, file of a kustomization, path of a probe),
and the config inside a ConfigMap passes `dripgate lint`. Then it breaks the manifests in the ways of MUTANTS and must find
each. Prints the faults; exit code 1 when there is one, or when a mutant is not found."""
import pathlib
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml

KUBERNETES = "1.37"
SECRETS = "/etc/dripgate/secrets/"
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
PROBE_PATHS = {"dripgate": {"/healthz", "/readyz"}}  # by container name; of others nothing is known
MUTANTS = [  # (file, text, what a mistake makes of it)
    ("deployment.yaml", "topologyKey: topology.kubernetes.io/zone", "topologyKeys: topology.kubernetes.io/zone"),
    ("deployment.yaml", "maxSkew: 1", 'maxSkew: "1"'),
    ("deployment.yaml", "configMap: { name: dripgate-gate }", "configMap: { name: dripgate }"),
    ("deployment.yaml", "path: /readyz", "path: /ready"),
    ("deployment.yaml", "containerPort: 8080", "containerPort: 8090"),
    ("deployment.yaml", "port: http }\n            periodSeconds: 10", "port: web }\n            periodSeconds: 10"),
    ("deployment.yaml", "automountServiceAccountToken: false", "automountServiceAccountToken: false\n      automountServiceAccountToken: true"),
    ("deployment.yaml", "component: gate }\n  template", "component: drip }\n  template"),
    ("deployment.yaml", "mountPath: /etc/dripgate/secrets", "mountPath: /etc/dripgate/tokens"),
    ("service.yaml", "targetPort: rls", "targetPort: grpc"),
    ("pdb.yaml", "matchLabels: { app.kubernetes.io/name: dripgate,", "matchLabels: { app.kubernetes.io/name: drip,"),
    ("pdb.yaml", "kind: PodDisruptionBudget", "kind: PodDisruptionBudgets"),
    ("config.yaml", "onStoreFailure: closed", "onStoreFailure: close"),
    ("kustomization.yaml", "- pdb.yaml\n", ""),
    ("sidecar/deployment.yaml", "restartPolicy: Always", "restartPolicy: OnFailure"),
]


class Strict(yaml.SafeLoader):
    """Refuses a key that is there twice: YAML readers disagree about which counts."""


def unique_mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"key '{key}' is there twice", node.start_mark)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, unique_mapping)


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


def check_pod(pod, config_maps, say):
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    for volume in volumes.values():
        name = volume.get("configMap", {}).get("name")
        if name and name not in config_maps:
            say(f"volume {volume['name']} is of ConfigMap {name}, which is not here")
    for container in containers(pod):
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in PROBES:
            get = container.get(probe, {}).get("httpGet")
            if get and get["port"] not in ports:
                say(f"{probe} of {container['name']} asks port {get['port']}, which it does not have")
            if get and container["name"] in PROBE_PATHS and get["path"] not in PROBE_PATHS[container["name"]]:
                say(f"{probe} of {container['name']} asks {get['path']}, which it does not serve")
        if "livenessProbe" not in container and container["name"] == "dripgate":
            say("dripgate has no livenessProbe")
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                say(f"{container['name']} mounts {mount['name']}, which is no volume")
    for container in pod.get("initContainers", []):
        if container.get("restartPolicy") != "Always":
            say(f"init container {container['name']} would have to end before the app starts")


def check_config(text, pods, binary, say):
    """Lints it with secrets that are there, and looks for its files and ports in the pods that mount it."""
    config = yaml.load(text, Loader=Strict)
    for container in (c for pod in pods for c in containers(pod) if c["name"] == "dripgate"):
        if not any(SECRETS.startswith(mount["mountPath"] + "/") for mount in container["volumeMounts"]):
            say(f"the config reads {SECRETS}, which no volume of dripgate is mounted at")
        ports = {str(port["containerPort"]) for port in container.get("ports", [])}
        listens = [config["server"]["listen"], config["server"].get("rls", {}).get("listen")]
        for listen in filter(None, listens):
            if not listen.startswith("127.0.0.1:") and listen.rsplit(":", 1)[1] not in ports:
                say(f"the config listens on {listen}, which is no port of the container")
    with tempfile.TemporaryDirectory() as folder:
        for word in text.split():
            if word.startswith(SECRETS):
                name = word[len(SECRETS):].rstrip(",}")
                (pathlib.Path(folder) / name).write_text(f"{name}-0123456789abcdef0123\n")
        file = pathlib.Path(folder) / "dripgate.yaml"
        file.write_text(text.replace(SECRETS, folder + "/"))
        lint = subprocess.run([binary, "lint", str(file)], capture_output=True, text=True)
        if lint.returncode != 0:
            say("the config does not pass lint: " + (lint.stderr + lint.stdout).strip())


def labels_of(deployment):
    return deployment["spec"]["template"]["metadata"]["labels"].items()


def check_folder(folder, binary):
    """The faults of the manifests that belong together, as texts."""
    faults, documents = [], []
    for file in sorted(folder.glob("*.yaml")):
        try:
            for document in yaml.load_all(file.read_text(), Loader=Strict):
                documents.append((file.name, document))
                if document["kind"] == "Kustomization":
                    left_out = {f.name for f in folder.glob("*.yaml")} - {file.name} - set(document["resources"])
                    missing = [name for name in document["resources"] if not (folder / name).is_file()]
                    faults += [f"{file}: {name} is not among the resources" for name in left_out]
                    faults += [f"{file}: there is no {name}" for name in missing]
                else:
                    kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except Exception as error:  # of YAML, of the schema, or that there is none: each is a fault
            faults.append(f"{file}: {str(error).splitlines()[0] if str(error) else repr(error)}")
    if faults:
        return faults
    of_kind = lambda kind: [d for _, d in documents if d["kind"] == kind]
    say = lambda what: faults.append(f"{folder}: {what}")
    config_maps = {d["metadata"]["name"] for d in of_kind("ConfigMap")}
    deployments = of_kind("Deployment")
    for deployment in deployments:
        if not deployment["spec"]["selector"]["matchLabels"].items() <= labels_of(deployment):
            say(f"deployment {deployment['metadata']['name']} does not select its own pods")
        check_pod(deployment["spec"]["template"]["spec"], config_maps, say)
    for service in of_kind("Service"):
        pods = [d for d in deployments if service["spec"]["selector"].items() <= labels_of(d)]
        ports = {p["name"] for d in pods for c in containers(d["spec"]["template"]["spec"]) for p in c.get("ports", [])}
        for port in service["spec"]["ports"]:
            if port["targetPort"] not in ports:
                say(f"service {service['metadata']['name']} leads to port {port['targetPort']}, which no pod of its has")
    for budget in of_kind("PodDisruptionBudget"):
        if not any(budget["spec"]["selector"]["matchLabels"].items() <= labels_of(d) for d in deployments):
            say(f"disruption budget {budget['metadata']['name']} covers no deployment")
    pods = [d["spec"]["template"]["spec"] for d in deployments]
    for config_map in of_kind("ConfigMap"):
        check_config(config_map["data"]["dripgate.yaml"], pods, binary, say)
    return faults


def check(root, binary):
    folders = sorted({file.parent for file in root.rglob("*.yaml")})
    return [fault for folder in folders for fault in check_folder(folder, binary)]


def mutants_not_found(root, binary):
    for file, text, mistake in MUTANTS:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for source in root.rglob("*.yaml"):
                target = copy / source.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(source.read_text())
            original = (copy / file).read_text()
            if text not in original:
                yield f"{file}: no longer has {text!r}: mend MUTANTS"
            (copy / file).write_text(original.replace(text, mistake, 1))
            if not check(copy, binary):
                yield f"{file}: {mistake!r} in place of {text!r} is not found"


def main():
    root, binary = pathlib.Path(sys.argv[1]), str(pathlib.Path(sys.argv[2]).resolve())
    faults = check(root, binary)
    if not faults:
        faults = list(mutants_not_found(root, binary))
    for fault in faults:
        print(fault)
    print(f"manifests: {len(list(root.rglob('*.yaml')))} files, {len(MUTANTS)} mutants, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
