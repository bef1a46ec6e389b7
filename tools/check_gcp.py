#!/usr/bin/env python3
"""Checks the files of deploy/gcp against each other: `check_gcp.py FOLDER DRIPGATE`, with kubernetes-validate and python-hcl2.

The config passes `dripgate lint`; the Kubernetes documents pass their schemas (Gateway API and GKE kinds have none here); what
they name is there; the Terraform files are read by python-hcl2 and, where a terraform is installed, by `terraform fmt -check`;
topics, subscriptions, queues and accounts have the same names in all three. Then it breaks the files in the ways of MUTANTS and
must find each. Prints the faults; exit code 1 when there is one, or when a mutant is not found. Nothing of it is applied."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import hcl2
import kubernetes_validate
import yaml

from check_manifests import KUBERNETES, PROBES, Strict, containers, labels_of

SCHEMALESS = ("gateway.networking.k8s.io/", "networking.gke.io/", "kustomize.config.k8s.io/")
MUTANTS = [  # (file, text, what a mistake makes of it)
    ("dripgate.yaml", "payout-events-dripgate", "payout-event-dripgate"),
    ("dripgate.yaml", "queues: [payouts-1, payouts-2]", "queues: [payouts-1, payouts-3]"),
    ("dripgate.yaml", "dripgate-tasks@", "dripgate-task@"),
    ("dripgate.yaml", "maxDelay: 2h", "maxDelay: 2 hours"),
    ("kubernetes/worker.yaml", "[worker, -c", "[works, -c"),
    ("kubernetes/worker.yaml", "dripgate-worker@acme-payments", "dripgate-workers@acme-payments"),
    ("kubernetes/worker.yaml", "path: /readyz, port: http", "path: /readyz, port: web"),
    ("kubernetes/worker.yaml", "averageValue: \"20000\"", "averageValues: \"20000\""),
    ("kubernetes/consumer.yaml", "subscription_id: payout-events-overflow", "subscription_id: payout-overflow"),
    ("kubernetes/consumer.yaml", "kind: Deployment, name: dripgate-consumer", "kind: Deployment, name: dripgate-consume"),
    ("kubernetes/dispatcher.yaml", "hostname: dispatch.acme-payments.example", "hostname: dispatch.example"),
    ("kubernetes/dispatcher.yaml", "value: /v1/dispatch/ }", "value: /v1/dispatches/ }"),
    ("kubernetes/dispatcher.yaml", "minAvailable: 1", "minAvailable: 1\n  maxAvailable: 2"),
    ("kustomization.yaml", "kubernetes/consumer.yaml", "kubernetes/consume.yaml"),
    ("terraform/main.tf", "\"${var.stream}-events-overflow\"", "\"${var.stream}-overflow\""),
    ("terraform/main.tf", "  max_attempts  = -1", "  max_attempts  = = -1"),
]


def plain(value):
    """python-hcl2 keeps the quotes of a text."""
    if isinstance(value, str):
        return value.strip('"')
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def read_terraform(folder, say):
    """Names that Terraform makes, by kind of resource; variables at their defaults."""
    if shutil.which("terraform"):
        done = subprocess.run(["terraform", "fmt", "-check", "-diff", str(folder)], capture_output=True, text=True)
        if done.returncode != 0:
            say("terraform fmt: " + (done.stdout + done.stderr).strip())
    variables, resources, made = {}, {}, {}  # made: "kind.resource.name" to the name
    for file in sorted(folder.glob("*.tf")):
        parsed = hcl2.loads(file.read_text())
        for block in parsed.get("variable", []):
            for name, body in block.items():
                variables[plain(name)] = plain(body.get("default"))
        for block in parsed.get("resource", []):
            for kind, named in block.items():
                resources.setdefault(plain(kind), {}).update((plain(name), body) for name, body in named.items())

    def names(kind, member):
        for resource, body in resources.get(kind, {}).items():
            text = re.sub(r"\$\{var\.(\w+)\}", lambda found: str(variables[found[1]]), plain(body.get(member, "")))
            made[f"{kind}.{resource}.name"] = text = made.get(text.removeprefix("${").removesuffix("}"), text)
            yield text

    return {"topics": set(names("google_pubsub_topic", "name")),
            "subscriptions": set(names("google_pubsub_subscription", "name")),
            "accounts": {name for name in names("google_service_account", "account_id") if "${" not in name}
                        | {f"dripgate-{part}" for part in ("worker", "dispatcher", "consumer")},
            "queues": set(variables.get("queues") or []), "namespace": variables.get("namespace")}


def check_names(config, made, say):
    project = config["gcp"]["project"]
    for stream in config["streams"]:
        tasks = stream["timer"]["cloudTasks"]
        for topic in (stream["overflowTopic"], stream["deadLetterTopic"]):
            if topic not in made["topics"]:
                say(f"Terraform makes no topic {topic}")
        for subscription in (stream["source"]["pubsub"], stream["overflowTopic"]):
            if subscription not in made["subscriptions"]:
                say(f"Terraform makes no subscription {subscription}")
        if set(tasks["queues"]) != made["queues"]:
            say(f"Terraform makes queues {sorted(made['queues'])}, the config names {tasks['queues']}")
        account, _, domain = tasks["serviceAccount"].partition("@")
        if account not in made["accounts"] or domain != f"{project}.iam.gserviceaccount.com":
            say(f"Terraform makes no account {tasks['serviceAccount']}")


def check_part(part, documents, config, made, say):
    of_kind = lambda kind: [d for d in documents if d["kind"] == kind]
    name = f"dripgate-{part}"
    deployments = {d["metadata"]["name"]: d for d in of_kind("Deployment")}
    if name not in deployments:
        return say(f"there is no deployment {name}")
    pod = deployments[name]["spec"]["template"]["spec"]
    container = containers(pod)[0]
    verb = {"dispatcher": "dispatch", "consumer": "consume"}.get(part, part)
    if container["args"][0] != verb:
        say(f"{name} runs {container['args'][0]}, not {verb}")
    ports = {port["name"] for port in container["ports"]}
    for probe in PROBES:
        get = container.get(probe, {}).get("httpGet")
        if get and (get["port"] not in ports or get["path"] not in ("/healthz", "/readyz")):
            say(f"{probe} of {name} asks {get}")
    account = next((d for d in of_kind("ServiceAccount") if d["metadata"]["name"] == pod["serviceAccountName"]), None)
    google = account["metadata"]["annotations"]["iam.gke.io/gcp-service-account"] if account else "nobody"
    if google != f"{name}@{config['gcp']['project']}.iam.gserviceaccount.com" or name not in made["accounts"]:
        say(f"{name} acts as {google}, which Terraform does not make")
    if not any(d["spec"]["selector"]["matchLabels"].items() <= labels_of(deployments[name]) for d in of_kind("PodDisruptionBudget")):
        say(f"no disruption budget covers {name}")
    scalers = [d for d in of_kind("HorizontalPodAutoscaler") if d["spec"]["scaleTargetRef"]["name"] == name]
    if not scalers:
        say(f"nothing scales {name}")
    for metric in (m for d in scalers for m in d["spec"]["metrics"] if m["type"] == "External"):
        subscription = metric["external"]["metric"]["selector"]["matchLabels"]["resource.labels.subscription_id"]
        if subscription not in made["subscriptions"]:
            say(f"{name} is scaled by subscription {subscription}, which is none")
    for document in documents:
        if document["metadata"].get("namespace", made["namespace"]) != made["namespace"]:
            say(f"{document['kind']} {document['metadata']['name']} is in another namespace than Terraform binds")


def check_way_in(documents, config, say):
    target = config["streams"][0]["timer"]["cloudTasks"]["target"]
    hosts = {listener["hostname"] for d in documents if d["kind"] == "Gateway" for listener in d["spec"]["listeners"]}
    routes = [d for d in documents if d["kind"] == "HTTPRoute"]
    hosts |= {host for d in routes for host in d["spec"]["hostnames"]}
    if {f"https://{host}" for host in hosts} != {target}:
        say(f"tasks go to {target}, the door is {sorted(hosts)}")
    paths = {match["path"]["value"] for d in routes for rule in d["spec"]["rules"] for match in rule["matches"]}
    if paths != {"/v1/dispatch/"}:
        say(f"the door from outside leads to {sorted(paths)}, accepted: /v1/dispatch/ alone")


def check(root, binary):
    faults = []
    say = faults.append
    try:
        lint = subprocess.run([binary, "lint", str(root / "dripgate.yaml")], capture_output=True, text=True,
                              env={"DRIPGATE_ADMIN_TOKEN": "0123456789abcdef0123456789abcdef"})
        if lint.returncode != 0:
            say("the config does not pass lint: " + (lint.stderr + lint.stdout).strip())
        config = yaml.load((root / "dripgate.yaml").read_text(), Loader=Strict)
        resources = yaml.load((root / "kustomization.yaml").read_text(), Loader=Strict)["resources"]
        if {root / name for name in resources} != set((root / "kubernetes").glob("*.yaml")):
            say("kustomization.yaml does not name the files of kubernetes/")
        documents = [d for file in sorted((root / "kubernetes").glob("*.yaml")) for d in yaml.load_all(file.read_text(), Loader=Strict)]
        for document in documents:
            if not document["apiVersion"].startswith(SCHEMALESS):
                kubernetes_validate.validate(document, KUBERNETES, strict=True)
        made = read_terraform(root / "terraform", say)
        check_names(config, made, say)
        for part in ("worker", "dispatcher", "consumer"):
            check_part(part, documents, config, made, say)
        check_way_in(documents, config, say)
    except Exception as error:  # of YAML, HCL, a schema, or that something is not there: each is a fault
        say(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}")
    return faults


def mutants_not_found(root, binary):
    for file, text, mistake in MUTANTS:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "gcp"
            shutil.copytree(root, copy)
            original = (copy / file).read_text()
            if text not in original:
                yield f"{file}: no longer has {text!r}: mend MUTANTS"
            (copy / file).write_text(original.replace(text, mistake, 1))
            if not check(copy, binary):
                yield f"{file}: {mistake!r} in place of {text!r} is not found"


def main():
    root, binary = pathlib.Path(sys.argv[1]), str(pathlib.Path(sys.argv[2]).resolve())
    faults = check(root, binary) or list(mutants_not_found(root, binary))
    for fault in faults:
        print(fault)
    by = "python-hcl2 and terraform fmt" if shutil.which("terraform") else "python-hcl2"
    print(f"deploy/gcp: Terraform read by {by}, {len(MUTANTS)} mutants, {len(faults)} faults; nothing is applied")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
