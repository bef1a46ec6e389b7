"""Google's own client of Cloud Tasks: ENDPOINT QUEUE... . Looks at what Dripgate has put there, and makes tasks of its own:
the first one once more under another name, and one that is no event. Exits 0 when everything is as documented."""
import datetime
import importlib.metadata
import json
import sys

import grpc
from google.api_core import exceptions
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

endpoint, queues = sys.argv[1], sys.argv[2:]
print("google-cloud-tasks " + importlib.metadata.version("google-cloud-tasks") + " for Python", flush=True)
client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(endpoint)))

found = []
for queue in queues:
    assert client.get_queue(name=queue).state == tasks_v2.Queue.State.RUNNING
    found += client.list_tasks(request={"parent": queue, "response_view": tasks_v2.Task.View.FULL})
assert found, "nothing waits"
for task in found:
    body = json.loads(task.http_request.body)
    meta = body["rateLimitMeta"]
    assert body["isRatelimited"] is True and b'"amount": 2500.00' in task.http_request.body, task
    assert meta["overflowTopic"] == "payouts-overflow" and meta["key"] == "merchant_8421:payout", task
    due = datetime.datetime.fromisoformat(meta["scheduledFor"].replace("Z", "+00:00"))
    assert abs((due - task.schedule_time).total_seconds()) < 0.001, task
    assert task.http_request.http_method == tasks_v2.HttpMethod.POST and task.http_request.oidc_token.audience, task

first = client.get_task(name=found[0].name)
queue = first.name.rsplit("/tasks/", 1)[0]
try:
    client.create_task(parent=queue, task=first)
    sys.exit("a name that is taken was taken again")
except exceptions.AlreadyExists:
    pass
again = tasks_v2.Task(first)
again.name = queue + "/tasks/" + "f" * 32 + "-again"
assert client.create_task(parent=queue, task=again).name == again.name
foreign = tasks_v2.Task(first)
foreign.name = queue + "/tasks/" + "e" * 32 + "-foreign"
foreign.http_request.body = b'{"payoutId": "forged"}'
client.create_task(parent=queue, task=foreign)
print(f"{len(found)} tasks", flush=True)
