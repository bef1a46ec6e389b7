variable "project" {
  description = "Id of the project that holds topics, queues and accounts."
  type        = string
}

variable "region" {
  description = "Location of the queues."
  type        = string
  default     = "asia-south1"
}

variable "stream" {
  description = "Prefix of every name: the topic <stream>-events and what belongs to it."
  type        = string
  default     = "payout"
}

variable "queues" {
  description = "Cloud Tasks queues of the stream. Each dispatches at most 500 tasks per second."
  type        = list(string)
  default     = ["payouts-1", "payouts-2"]
}

variable "namespace" {
  description = "Kubernetes namespace of the parts, for Workload Identity."
  type        = string
  default     = "dripgate"
}
