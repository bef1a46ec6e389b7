# Topics, subscriptions, queues and accounts of one stream, each account with what its part needs and no more.
# Not applied by the project's tests: its syntax is checked, nothing else.

terraform {
  required_version = ">= 1.5"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 5.0"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
}

locals {
  parts = toset(["worker", "dispatcher", "consumer"])
}

# --- Pub/Sub

resource "google_pubsub_topic" "events" {
  name = "${var.stream}-events"
}

resource "google_pubsub_topic" "overflow" {
  name                       = "${var.stream}-events-overflow"
  message_retention_duration = "604800s"
}

resource "google_pubsub_topic" "dead" {
  name                       = "${var.stream}-events-dlq"
  message_retention_duration = "2678400s"
}

# No dead_letter_policy: it would count our redeliveries. No ordering: an event that waits is passed by later ones.
resource "google_pubsub_subscription" "events" {
  name                         = "${var.stream}-events-dripgate"
  topic                        = google_pubsub_topic.events.id
  ack_deadline_seconds         = 60
  message_retention_duration   = "604800s"
  enable_exactly_once_delivery = true
  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_subscription" "overflow" {
  name                       = google_pubsub_topic.overflow.name
  topic                      = google_pubsub_topic.overflow.id
  ack_deadline_seconds       = 60
  message_retention_duration = "604800s"
  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_subscription" "dead" {
  name                       = google_pubsub_topic.dead.name
  topic                      = google_pubsub_topic.dead.id
  message_retention_duration = "2678400s"
  retain_acked_messages      = false
  expiration_policy {
    ttl = ""
  }
}

# --- Cloud Tasks

resource "google_cloud_tasks_queue" "queue" {
  for_each = toset(var.queues)
  name     = each.value
  location = var.region

  rate_limits {
    max_dispatches_per_second = 500
    # At most so many requests at the dispatchers at once, over all of them: below what they take (1,024 each).
    max_concurrent_dispatches = 200
  }
  # An event is never given up here: its horizon, its dead letters and its attempts are Dripgate's.
  retry_config {
    max_attempts  = -1
    min_backoff   = "1s"
    max_backoff   = "60s"
    max_doublings = 6
  }
}

# --- accounts

resource "google_service_account" "part" {
  for_each     = local.parts
  account_id   = "dripgate-${each.value}"
  display_name = "Dripgate ${each.value}"
}

# Whose identity token a task carries. It has no role anywhere: it is only a name that the dispatcher lets in.
resource "google_service_account" "tasks" {
  account_id   = "dripgate-tasks"
  display_name = "Identity of tasks at the Dripgate dispatcher"
}

resource "google_service_account_iam_member" "workload_identity" {
  for_each           = local.parts
  service_account_id = google_service_account.part[each.value].name
  role               = "roles/iam.workloadIdentityUser"
  member             = "serviceAccount:${var.project}.svc.id.goog[${var.namespace}/dripgate-${each.value}]"
}

# A task with the token of an account is created only by who may act as it. All parts create tasks: the worker books,
# the dispatcher rebooks, the consumer tries again later.
resource "google_service_account_iam_member" "acts_as_tasks" {
  for_each           = local.parts
  service_account_id = google_service_account.tasks.name
  role               = "roles/iam.serviceAccountUser"
  member             = "serviceAccount:${google_service_account.part[each.value].email}"
}

resource "google_cloud_tasks_queue_iam_member" "enqueuer" {
  for_each = { for pair in setproduct(var.queues, local.parts) : "${pair[0]}/${pair[1]}" => pair }
  name     = google_cloud_tasks_queue.queue[each.value[0]].name
  location = var.region
  role     = "roles/cloudtasks.enqueuer"
  member   = "serviceAccount:${google_service_account.part[each.value[1]].email}"
}

# To see that a queue is there again after trouble, without a task.
resource "google_cloud_tasks_queue_iam_member" "viewer" {
  for_each = { for pair in setproduct(var.queues, local.parts) : "${pair[0]}/${pair[1]}" => pair }
  name     = google_cloud_tasks_queue.queue[each.value[0]].name
  location = var.region
  role     = "roles/cloudtasks.viewer"
  member   = "serviceAccount:${google_service_account.part[each.value[1]].email}"
}

resource "google_pubsub_subscription_iam_member" "worker" {
  subscription = google_pubsub_subscription.events.name
  role         = "roles/pubsub.subscriber"
  member       = "serviceAccount:${google_service_account.part["worker"].email}"
}

resource "google_pubsub_subscription_iam_member" "consumer" {
  subscription = google_pubsub_subscription.overflow.name
  role         = "roles/pubsub.subscriber"
  member       = "serviceAccount:${google_service_account.part["consumer"].email}"
}

resource "google_pubsub_topic_iam_member" "overflow" {
  for_each = toset(["dispatcher"])
  topic    = google_pubsub_topic.overflow.name
  role     = "roles/pubsub.publisher"
  member   = "serviceAccount:${google_service_account.part[each.value].email}"
}

resource "google_pubsub_topic_iam_member" "dead" {
  for_each = local.parts
  topic    = google_pubsub_topic.dead.name
  role     = "roles/pubsub.publisher"
  member   = "serviceAccount:${google_service_account.part[each.value].email}"
}

# To look at its topics and subscriptions at start.
resource "google_project_iam_member" "viewer" {
  for_each = local.parts
  project  = var.project
  role     = "roles/pubsub.viewer"
  member   = "serviceAccount:${google_service_account.part[each.value].email}"
}

output "tasks_account" {
  description = "timer.cloudTasks.serviceAccount of the stream."
  value       = google_service_account.tasks.email
}
