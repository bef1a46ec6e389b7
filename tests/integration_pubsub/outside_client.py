"""Google's own client as publisher and subscriber: PROJECT TOPIC SUBSCRIPTION COUNT. Publishes COUNT payouts, takes what
comes out at the other end, exits 0 when it is the same bytes with Dripgate's attributes."""
import concurrent.futures
import importlib.metadata
import sys
import threading

from google.cloud import pubsub_v1

project, topic, subscription, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
print("google-cloud-pubsub " + importlib.metadata.version("google-cloud-pubsub") + " for Python", flush=True)

publisher = pubsub_v1.PublisherClient()
sent = {b'{"payoutId":"py%d","merchant_id":"m","amount":2500.00}' % i for i in range(count)}
futures = [publisher.publish(publisher.topic_path(project, topic), body, origin="python") for body in sent]
concurrent.futures.wait(futures, timeout=30)

got, wrong, enough = set(), [], threading.Event()


def take(message):
    if message.attributes.get("origin") != "python" or not message.attributes.get("dripgate-id", "").startswith("py"):
        wrong.append(dict(message.attributes))
    got.add(message.data)
    message.ack()
    if len(got) == count:
        enough.set()


subscriber = pubsub_v1.SubscriberClient()
pulling = subscriber.subscribe(subscriber.subscription_path(project, subscription), callback=take)
enough.wait(timeout=40)
pulling.cancel()
print(f"{len(got & sent)} of {count}", wrong[:3], flush=True)
sys.exit(0 if got == sent and not wrong else 1)
